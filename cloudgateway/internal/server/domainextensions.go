package server

import (
	"context"
	"regexp"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

type domainExtensions struct {
	slbv1.UnimplementedDomainExtensionServiceServer

	slb *slb.Client
}

func (s *domainExtensions) ListDomainExtensions(
	ctx context.Context, r *slbv1.ListDomainExtensionsRequest,
) (*slbv1.ListDomainExtensionsResponse, error) {
	var c check
	c.extensionListener(r.GetKey())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	extensions, err := s.slb.ListDomainExtensions(ctx, r.GetKey(), r.GetMaxAge().AsDuration())
	if err != nil {
		return nil, err
	}
	return &slbv1.ListDomainExtensionsResponse{DomainExtensions: extensions}, nil
}

func (s *domainExtensions) CreateDomainExtension(
	ctx context.Context, r *slbv1.CreateDomainExtensionRequest,
) (*slbv1.CreateDomainExtensionResponse, error) {
	var c check
	c.requestID(r.GetRequestId())
	c.extensionListener(r.GetKey())
	c.domain("domain", r.GetDomain())
	c.id("server_certificate_id", r.GetServerCertificateId())
	if err := c.err(); err != nil {
		return nil, err
	}
	id, err := s.slb.CreateDomainExtension(ctx, r)
	if err != nil {
		return nil, err
	}
	return &slbv1.CreateDomainExtensionResponse{DomainExtensionId: id}, nil
}

func (s *domainExtensions) UpdateDomainExtension(
	ctx context.Context, r *slbv1.UpdateDomainExtensionRequest,
) (*slbv1.UpdateDomainExtensionResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("load_balancer_id", r.GetLoadBalancerId())
	c.id("domain_extension_id", r.GetDomainExtensionId())
	c.id("server_certificate_id", r.GetServerCertificateId())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.slb.UpdateDomainExtension(ctx, r); err != nil {
		return nil, err
	}
	return &slbv1.UpdateDomainExtensionResponse{}, nil
}

func (s *domainExtensions) DeleteDomainExtension(
	ctx context.Context, r *slbv1.DeleteDomainExtensionRequest,
) (*slbv1.DeleteDomainExtensionResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("load_balancer_id", r.GetLoadBalancerId())
	c.id("domain_extension_id", r.GetDomainExtensionId())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.slb.DeleteDomainExtension(ctx, r.GetLoadBalancerId(), r.GetDomainExtensionId()); err != nil {
		return nil, err
	}
	return &slbv1.DeleteDomainExtensionResponse{}, nil
}

func (c *check) extensionListener(key *slbv1.ListenerKey) {
	c.listenerKey(key)
	switch key.GetProtocol() {
	case slbv1.Protocol_PROTOCOL_TCP, slbv1.Protocol_PROTOCOL_UDP, slbv1.Protocol_PROTOCOL_HTTP:
		c.addf("key.protocol", "only HTTPS listeners have domain extensions")
	case slbv1.Protocol_PROTOCOL_HTTPS, slbv1.Protocol_PROTOCOL_UNSPECIFIED:
	}
}

var domainForm = regexp.MustCompile(`^[A-Za-z0-9*-]+(\.[A-Za-z0-9*-]+)+$`)

// domain checks a host name, in which an asterisk stands for anything. What is right in detail is for the cloud to say.
func (c *check) domain(field, value string) {
	const longest = 253
	if len(value) > longest || !domainForm.MatchString(value) {
		c.addf(field, `%q is not of the form "www.example.com" or "*.example.com", with at most %d characters`, shorten(value), longest)
	}
}
