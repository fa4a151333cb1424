// Package domainextension serves DomainExtensionService: certificates of HTTPS listeners for single domains.
package domainextension

import (
	"context"
	"fmt"
	"slices"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// Service implements slbv1.DomainExtensionServiceServer.
type Service struct {
	slbv1.UnimplementedDomainExtensionServiceServer

	product    *slb.Product
	extensions *batch.Reader[string, []*slbv1.DomainExtension] // by listener
	owners     *slb.Owners
	ledger     *write.Ledger
}

// New makes a Service.
func New(p *slb.Product) *Service {
	s := &Service{
		product: p, extensions: cloud.NewCache[[]*slbv1.DomainExtension](p.Shared, "domain_extensions"),
		ledger: write.NewLedger(),
	}
	s.owners = slb.NewOwners(p, "domain extension", rpcerr.DomainExtensionNotFound, s.findOwner)
	p.OnWrite(func(loadBalancerID string) { s.extensions.InvalidateFunc(slb.OfListeners(loadBalancerID)) })
	return s
}

// ListDomainExtensions reads the domain extensions of one listener, ordered by id.
func (s *Service) ListDomainExtensions(
	ctx context.Context, r *slbv1.ListDomainExtensionsRequest,
) (*slbv1.ListDomainExtensionsResponse, error) {
	found, err := s.extensions.Do(ctx, slb.ListenerName(r.GetKey()), r.GetMaxAge().AsDuration(),
		func(ctx context.Context) ([]*slbv1.DomainExtension, error) { return s.describe(ctx, r.GetKey()) })
	return cloud.Answer(&slbv1.ListDomainExtensionsResponse{DomainExtensions: found}, err)
}

// describe reads the domain extensions of one listener now; the cloud has no pages for them.
func (s *Service) describe(ctx context.Context, key *slbv1.ListenerKey) ([]*slbv1.DomainExtension, error) {
	var extensions []*slbv1.DomainExtension
	err := s.product.Read(ctx, "DescribeDomainExtensions", slb.KeyParams(key), &cloud.Fields{
		"DomainExtensions": cloud.Fields{"DomainExtension": cloud.Each(&extensions, decode)},
	})
	for _, e := range extensions {
		s.owners.Learn(e.GetDomainExtensionId(), key.GetLoadBalancerId())
	}
	return cloud.SortedBy(extensions, (*slbv1.DomainExtension).GetDomainExtensionId), err
}

// CreateDomainExtension gives a listener a certificate for a domain. What is there already is taken for the work of the request only if
// it has the certificate that was asked for.
func (s *Service) CreateDomainExtension(
	ctx context.Context, r *slbv1.CreateDomainExtensionRequest,
) (*slbv1.CreateDomainExtensionResponse, error) {
	params := slb.KeyParams(r.GetKey()).With("Domain", r.GetDomain()).With("ServerCertificateId", r.GetServerCertificateId())
	var made *slbv1.DomainExtension
	err := s.product.Exclusively(ctx, r.GetKey().GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) (err error) {
		creation := write.Unique[slbv1.DomainExtension]{
			Ledger: s.ledger, Key: write.KeyOf(ctx, r.GetRequestId(), slb.ListenerName(r.GetKey())+" "+strings.ToLower(r.GetDomain())),
			Name: fmt.Sprintf("the domain extension of %q", r.GetDomain()), Exists: rpcerr.AlreadyExists,
			Send: func(ctx context.Context) (*slbv1.DomainExtension, error) {
				var created *slbv1.DomainExtension
				err := w.Send(ctx, "CreateDomainExtension", params, cloud.One(&created, decode))
				return created, err
			},
			Find: func(ctx context.Context) (*slbv1.DomainExtension, error) {
				found, err := s.find(ctx, r.GetKey(), r.GetDomain())
				if found.GetServerCertificateId() != r.GetServerCertificateId() {
					return nil, err
				}
				return found, err
			},
		}
		if made, err = creation.Run(ctx); err == nil {
			s.ledger.End(creation.Key)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.owners.Learn(made.GetDomainExtensionId(), r.GetKey().GetLoadBalancerId())
	return &slbv1.CreateDomainExtensionResponse{DomainExtensionId: made.GetDomainExtensionId()}, nil
}

// find reads the domain extension of a domain now; nil if there is none.
func (s *Service) find(ctx context.Context, key *slbv1.ListenerKey, domain string) (*slbv1.DomainExtension, error) {
	all, err := s.describe(ctx, key)
	return cloud.First(slices.DeleteFunc(all, func(e *slbv1.DomainExtension) bool { return !strings.EqualFold(e.GetDomain(), domain) }), err)
}

// LoadBalancerOf finds the load balancer of a domain extension.
func (s *Service) LoadBalancerOf(ctx context.Context, id string) (string, error) {
	return s.owners.Find(ctx, id)
}

// findOwner reads of which load balancer a domain extension is; "" if there is no such extension.
func (s *Service) findOwner(ctx context.Context, id, _ string) (string, error) {
	of := ""
	err := s.product.Read(ctx, "DescribeDomainExtensionAttribute", cloud.Params{"DomainExtensionId": id}, &cloud.Fields{"LoadBalancerId": &of})
	return of, cloud.Unless(err, rpcerr.DomainExtensionNotFound)
}

// UpdateDomainExtension changes the certificate.
func (s *Service) UpdateDomainExtension(
	ctx context.Context, r *slbv1.UpdateDomainExtensionRequest,
) (*slbv1.UpdateDomainExtensionResponse, error) {
	id := r.GetDomainExtensionId()
	params := cloud.Params{"DomainExtensionId": id, "ServerCertificateId": r.GetServerCertificateId()}
	err := s.owners.Exclusively(ctx, id, r.GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) error {
		return w.Set(ctx, "SetDomainExtensionAttribute", params)
	})
	return cloud.Answer(&slbv1.UpdateDomainExtensionResponse{}, err)
}

// DeleteDomainExtension removes a domain extension.
func (s *Service) DeleteDomainExtension(
	ctx context.Context, r *slbv1.DeleteDomainExtensionRequest,
) (*slbv1.DeleteDomainExtensionResponse, error) {
	id := r.GetDomainExtensionId()
	err := s.owners.Exclusively(ctx, id, r.GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) error {
		err := w.Set(ctx, "DeleteDomainExtension", cloud.Params{"DomainExtensionId": id})
		return cloud.Unless(err, rpcerr.DomainExtensionNotFound)
	})
	return cloud.Answer(&slbv1.DeleteDomainExtensionResponse{}, err)
}
