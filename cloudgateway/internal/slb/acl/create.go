package acl

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// creation identifies a request to create a list. The cloud has no token for it.
type creation struct{ requestID, name string }

// CreateAccessControlList makes a list with its entries. A repetition of a request that failed half-way goes on with the list of that.
func (s *Service) CreateAccessControlList(
	ctx context.Context, r *slbv1.CreateAccessControlListRequest,
) (*slbv1.CreateAccessControlListResponse, error) {
	// Of two creations of the same name at the same time, neither could tell whose a list is.
	unlock, err := cloud.Lock(ctx, s.product.Locks, fmt.Sprintf("access control list %q", r.GetName()))
	if err != nil {
		return nil, err
	}
	defer unlock()
	defer s.listings.Clear()
	key := creation{requestID: r.GetRequestId(), name: r.GetName()}
	list, err := s.recall(ctx, key, r)
	if err == nil && list == nil {
		list, err = s.create(ctx, key, r)
	}
	if err != nil {
		return nil, err
	}
	id := list.GetAclId()
	s.ledger.Put(key, id, slb.LedgerLife)
	missing := change{add, r.GetEntries()}.rest(list.GetEntries())
	if err := s.writes.Do(ctx, id, func(ctx context.Context) error { return s.apply(ctx, id, []change{{add, missing}}) }); err != nil {
		return nil, fmt.Errorf("add entries to the new access control list %s: %w", id, err)
	}
	s.ledger.Put(key, "", 0)
	return &slbv1.CreateAccessControlListResponse{AclId: id}, nil
}

// recall finds the list that an earlier attempt at the same request made; nil if there was none, or if it is gone again.
func (s *Service) recall(
	ctx context.Context, key creation, r *slbv1.CreateAccessControlListRequest,
) (*slbv1.AccessControlList, error) {
	id, seen := s.ledger.Get(key)
	switch {
	case !seen:
		return nil, nil //nolint:nilnil // Absence is an answer.
	case id == "":
		return s.twin(ctx, r)
	}
	list, err := s.describe(ctx, id)
	if rpcerr.ReasonOf(err) == rpcerr.AclNotFound {
		return nil, nil //nolint:nilnil // Absence is an answer.
	}
	return list, err
}

// create makes the list without entries, and looks it up if the answer is lost.
func (s *Service) create(
	ctx context.Context, key creation, r *slbv1.CreateAccessControlListRequest,
) (*slbv1.AccessControlList, error) {
	params := cloud.Tags(cloud.Params{"AclName": r.GetName()}.
		With("AddressIPVersion", slb.IPVersions()[r.GetIpVersion()]).
		With("ResourceGroupId", r.GetResourceGroupId()), r.GetTags())
	return cloud.Create(ctx, func(ctx context.Context) (*slbv1.AccessControlList, error) {
		var answer listAnswer
		if _, err := s.product.Caller.Do(ctx, cloud.Write(openapi.SLB, "CreateAccessControlList", params), &answer); err != nil {
			return nil, err
		}
		return answer.decode(), nil
	}, func(ctx context.Context) (*slbv1.AccessControlList, error) {
		s.ledger.Put(key, "", slb.LedgerLife)
		return s.twin(ctx, r)
	})
}

// twin looks for the list that a request whose answer was lost may have made: the only one of its name, family, group and tags that
// has no entries. Nil means that the request was not carried out; an error, that nobody can tell.
func (s *Service) twin(ctx context.Context, r *slbv1.CreateAccessControlListRequest) (*slbv1.AccessControlList, error) {
	unknown := func(format string, args ...any) error {
		return &rpcerr.Error{
			Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, API: "slb/CreateAccessControlList",
			Message: fmt.Sprintf("the answer to the creation of access control list %q was lost: ", r.GetName()) + fmt.Sprintf(format, args...),
		}
	}
	// No cache and no filter that may lag behind: what was made a moment ago has to be seen.
	named, err := s.describeAll(ctx, cloud.Params{"AclName": r.GetName()})
	if err != nil {
		return nil, unknown("reading the lists back failed: %v", err)
	}
	var twins []*slbv1.AccessControlList
	for _, n := range named {
		if !fits(n, r) {
			continue
		}
		list, err := s.describe(ctx, n.GetAclId())
		switch {
		case rpcerr.ReasonOf(err) == rpcerr.AclNotFound:
		case err != nil:
			return nil, unknown("reading list %s back failed: %v", n.GetAclId(), err)
		case len(list.GetEntries()) == 0:
			twins = append(twins, list)
		}
	}
	switch len(twins) {
	case 0:
		return nil, nil //nolint:nilnil // Absence is an answer.
	case 1:
		return twins[0], nil
	}
	return nil, unknown("there are %d empty lists of that name, family and tags", len(twins))
}

// fits reports whether a list is as the request wants it, entries aside.
func fits(list *slbv1.AccessControlList, r *slbv1.CreateAccessControlListRequest) bool {
	six := slbv1.IpVersion_IP_VERSION_IPV6
	return list.GetName() == r.GetName() && (list.GetIpVersion() == six) == (r.GetIpVersion() == six) &&
		(r.GetResourceGroupId() == "" || list.GetResourceGroupId() == r.GetResourceGroupId()) && cloud.HasTags(list.GetTags(), r.GetTags())
}
