package gatewaytest

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// accessLists serves access control lists.
type accessLists struct {
	slbv1.UnimplementedAccessControlListServiceServer

	f *Fake
}

// accessList finds a list; f is locked.
func (f *Fake) accessList(id string) (*slbv1.AccessControlList, error) {
	if err := required("acl_id", id); err != nil {
		return nil, err
	}
	l, ok := f.AccessControlLists[id]
	if !ok {
		return nil, notFound(rpcerr.AclNotFound, "access control list", id)
	}
	return l, nil
}

func (s *accessLists) GetAccessControlList(_ context.Context,
	req *slbv1.GetAccessControlListRequest) (*slbv1.GetAccessControlListResponse, error) {
	s.f.enter()
	defer s.f.leave()
	l, err := s.f.accessList(req.GetAclId())
	if err != nil {
		return nil, err
	}
	return &slbv1.GetAccessControlListResponse{AccessControlList: proto.CloneOf(l)}, nil
}

func (s *accessLists) ListAccessControlLists(_ context.Context,
	req *slbv1.ListAccessControlListsRequest) (*slbv1.ListAccessControlListsResponse, error) {
	s.f.enter()
	defer s.f.leave()
	found := sorted(s.f.AccessControlLists, func(l *slbv1.AccessControlList) bool {
		return among(req.GetAclIds(), l.GetAclId()) && match(req.GetName(), l.GetName()) && hasTags(l.GetTags(), req.GetTags())
	})
	for _, l := range found {
		l.Entries = nil
	}
	return &slbv1.ListAccessControlListsResponse{AccessControlLists: found}, nil
}

func (s *accessLists) CreateAccessControlList(_ context.Context,
	req *slbv1.CreateAccessControlListRequest) (*slbv1.CreateAccessControlListResponse, error) {
	s.f.enter()
	defer s.f.leave()
	earlier, err := s.f.replay(req.GetRequestId(), req)
	if err != nil {
		return nil, err
	}
	if response, ok := earlier.(*slbv1.CreateAccessControlListResponse); ok {
		return proto.CloneOf(response), nil
	}
	l := &slbv1.AccessControlList{
		AclId: s.f.nextID("acl"), Name: req.GetName(), IpVersion: max(req.GetIpVersion(), slbv1.IpVersion_IP_VERSION_IPV4),
		ResourceGroupId: req.GetResourceGroupId(), Tags: cloneAll(req.GetTags()),
	}
	if err := firstError(required("name", req.GetName()), tooManyTags(req.GetTags()), addEntries(l, req.GetEntries())); err != nil {
		return nil, err
	}
	s.f.AccessControlLists[l.GetAclId()] = l
	response := &slbv1.CreateAccessControlListResponse{AclId: l.GetAclId()}
	s.f.remember(req.GetRequestId(), req, response)
	return response, nil
}

// addEntries adds those that a list does not have, which must be of its family.
func addEntries(l *slbv1.AccessControlList, entries []*slbv1.AccessControlEntry) error {
	for _, e := range entries {
		if strings.Contains(e.GetCidr(), ":") != (l.GetIpVersion() == slbv1.IpVersion_IP_VERSION_IPV6) {
			return invalid("entries.cidr", "%s is not of the family of the list", e.GetCidr())
		}
		if !slices.ContainsFunc(l.GetEntries(), func(there *slbv1.AccessControlEntry) bool { return there.GetCidr() == e.GetCidr() }) {
			l.Entries = append(l.Entries, proto.CloneOf(e))
		}
	}
	return nil
}

func (s *accessLists) UpdateAccessControlList(_ context.Context,
	req *slbv1.UpdateAccessControlListRequest) (*slbv1.UpdateAccessControlListResponse, error) {
	s.f.enter()
	defer s.f.leave()
	l, err := s.f.accessList(req.GetAclId())
	if err != nil {
		return nil, err
	}
	if err := addEntries(l, req.GetAddEntries()); err != nil {
		return nil, err
	}
	l.Entries = slices.DeleteFunc(l.GetEntries(), func(e *slbv1.AccessControlEntry) bool {
		return slices.Contains(req.GetRemoveEntries(), e.GetCidr())
	})
	l.Tags = retagged(l.GetTags(), req)
	return &slbv1.UpdateAccessControlListResponse{}, nil
}

func (s *accessLists) DeleteAccessControlList(_ context.Context,
	req *slbv1.DeleteAccessControlListRequest) (*slbv1.DeleteAccessControlListResponse, error) {
	if err := required("acl_id", req.GetAclId()); err != nil {
		return nil, err
	}
	s.f.enter()
	defer s.f.leave()
	for _, l := range s.f.Listeners {
		if slices.Contains(l.GetConfig().GetAclIds(), req.GetAclId()) {
			return nil, refused(rpcerr.AclInUse.Code(), rpcerr.AclInUse, "the listener on port %d has the access control list %s",
				l.GetKey().GetPort(), req.GetAclId())
		}
	}
	delete(s.f.AccessControlLists, req.GetAclId())
	return &slbv1.DeleteAccessControlListResponse{}, nil
}
