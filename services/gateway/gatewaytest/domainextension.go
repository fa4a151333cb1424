package gatewaytest

import (
	"context"
	"maps"
	"strings"

	"google.golang.org/grpc/codes"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/proto/rpcerr"
)

// DomainExtension is a further certificate of a listener.
type DomainExtension struct {
	Listener ListenerKey
	// Extension is what is answered.
	Extension *slbv1.DomainExtension
}

// domainExtensions serves domain extensions.
type domainExtensions struct {
	slbv1.UnimplementedDomainExtensionServiceServer

	f *Fake
}

// extensionsOf lists those of a listener; f is locked.
func (f *Fake) extensionsOf(key *slbv1.ListenerKey) ([]*slbv1.DomainExtension, error) {
	if _, err := f.listener(key); err != nil {
		return nil, err
	}
	if key.GetProtocol() != slbv1.Protocol_PROTOCOL_HTTPS {
		return nil, invalid("key.protocol", "must be HTTPS")
	}
	k := ListenerKey{LoadBalancerID: key.GetLoadBalancerId(), Port: key.GetPort(), Protocol: key.GetProtocol()}
	all := map[string]*slbv1.DomainExtension{}
	for id, e := range f.DomainExtensions {
		if e.Listener == k {
			all[id] = e.Extension
		}
	}
	return sorted(all, func(*slbv1.DomainExtension) bool { return true }), nil
}

func (s *domainExtensions) ListDomainExtensions(_ context.Context,
	req *slbv1.ListDomainExtensionsRequest) (*slbv1.ListDomainExtensionsResponse, error) {
	s.f.enter()
	defer s.f.leave()
	list, err := s.f.extensionsOf(req.GetKey())
	if err != nil {
		return nil, err
	}
	return &slbv1.ListDomainExtensionsResponse{DomainExtensions: list}, nil
}

func (s *domainExtensions) CreateDomainExtension(_ context.Context,
	req *slbv1.CreateDomainExtensionRequest) (*slbv1.CreateDomainExtensionResponse, error) {
	s.f.enter()
	defer s.f.leave()
	earlier, err := s.f.replay(req.GetRequestId(), req)
	if response, ok := earlier.(*slbv1.CreateDomainExtensionResponse); ok && err == nil {
		return response, nil
	}
	if err := firstError(err, required("domain", req.GetDomain()), required("server_certificate_id",
		req.GetServerCertificateId())); err != nil {
		return nil, err
	}
	list, err := s.f.extensionsOf(req.GetKey())
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if strings.EqualFold(e.GetDomain(), req.GetDomain()) {
			return nil, refused(codes.AlreadyExists, rpcerr.AlreadyExists, "the listener has a certificate for %s", req.GetDomain())
		}
	}
	id := s.f.nextID("de")
	s.f.DomainExtensions[id] = &DomainExtension{
		Listener: ListenerKey{LoadBalancerID: req.GetKey().GetLoadBalancerId(), Port: req.GetKey().GetPort(),
			Protocol: req.GetKey().GetProtocol()},
		Extension: &slbv1.DomainExtension{
			DomainExtensionId: id, Domain: req.GetDomain(), ServerCertificateId: req.GetServerCertificateId(),
		},
	}
	response := &slbv1.CreateDomainExtensionResponse{DomainExtensionId: id}
	s.f.remember(req.GetRequestId(), req, response)
	return response, nil
}

func (s *domainExtensions) UpdateDomainExtension(_ context.Context,
	req *slbv1.UpdateDomainExtensionRequest) (*slbv1.UpdateDomainExtensionResponse, error) {
	s.f.enter()
	defer s.f.leave()
	e, ok := s.f.DomainExtensions[req.GetDomainExtensionId()]
	if !ok || e.Listener.LoadBalancerID != req.GetLoadBalancerId() {
		return nil, notFound(rpcerr.DomainExtensionNotFound, "domain extension", req.GetDomainExtensionId())
	}
	if err := required("server_certificate_id", req.GetServerCertificateId()); err != nil {
		return nil, err
	}
	e.Extension.ServerCertificateId = req.GetServerCertificateId()
	return &slbv1.UpdateDomainExtensionResponse{}, nil
}

func (s *domainExtensions) DeleteDomainExtension(_ context.Context,
	req *slbv1.DeleteDomainExtensionRequest) (*slbv1.DeleteDomainExtensionResponse, error) {
	s.f.enter()
	defer s.f.leave()
	if e, ok := s.f.DomainExtensions[req.GetDomainExtensionId()]; ok && e.Listener.LoadBalancerID == req.GetLoadBalancerId() {
		delete(s.f.DomainExtensions, req.GetDomainExtensionId())
	}
	return &slbv1.DeleteDomainExtensionResponse{}, nil
}

// dropExtensions removes those of listeners that go; f is locked.
func (f *Fake) dropExtensions(goes func(ListenerKey) bool) {
	maps.DeleteFunc(f.DomainExtensions, func(_ string, e *DomainExtension) bool { return goes(e.Listener) })
}
