// Package certificate serves CertificateService: server and CA certificates of listeners.
package certificate

import (
	"context"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// Service implements slbv1.CertificateServiceServer.
type Service struct {
	slbv1.UnimplementedCertificateServiceServer

	// servers are the certificates with which listeners prove who they are, authorities those by which they check clients.
	servers, authorities *store
}

// New makes a Service.
func New(p *slb.Product) *Service {
	return &Service{servers: newStore(p, "Server", "servercertificates"), authorities: newStore(p, "CA", "cacertificates")}
}

// ListServerCertificates reads every server certificate that matches, ordered by id.
func (s *Service) ListServerCertificates(
	ctx context.Context, r *slbv1.ListServerCertificatesRequest,
) (*slbv1.ListServerCertificatesResponse, error) {
	found, err := s.servers.list(ctx, r.GetServerCertificateIds(), r)
	if err != nil {
		return nil, err
	}
	response := &slbv1.ListServerCertificatesResponse{}
	for _, c := range found {
		response.ServerCertificates = append(response.ServerCertificates, c.server())
	}
	return response, nil
}

// ListCaCertificates reads every CA certificate that matches, ordered by id.
func (s *Service) ListCaCertificates(
	ctx context.Context, r *slbv1.ListCaCertificatesRequest,
) (*slbv1.ListCaCertificatesResponse, error) {
	found, err := s.authorities.list(ctx, r.GetCaCertificateIds(), r)
	if err != nil {
		return nil, err
	}
	response := &slbv1.ListCaCertificatesResponse{}
	for _, c := range found {
		response.CaCertificates = append(response.CaCertificates, c.ca())
	}
	return response, nil
}

// UploadServerCertificate uploads a certificate with its private key, or takes one from the certificate service.
func (s *Service) UploadServerCertificate(
	ctx context.Context, r *slbv1.UploadServerCertificateRequest,
) (*slbv1.UploadServerCertificateResponse, error) {
	made, err := s.servers.upload(ctx, upload{
		RequestID: r.GetRequestId(), Name: r.GetName(), ResourceGroupID: r.GetResourceGroupId(), Tags: r.GetTags(),
		PEM: r.GetKeyPair().GetCertificatePem(), PrivateKey: logging.Secret(r.GetKeyPair().GetPrivateKeyPem()),
		Alicloud: r.GetAlicloudCertificate(),
	})
	if err != nil {
		return nil, err
	}
	return &slbv1.UploadServerCertificateResponse{ServerCertificate: made.server()}, nil
}

// UploadCaCertificate uploads a CA certificate.
func (s *Service) UploadCaCertificate(
	ctx context.Context, r *slbv1.UploadCaCertificateRequest,
) (*slbv1.UploadCaCertificateResponse, error) {
	made, err := s.authorities.upload(ctx, upload{
		RequestID: r.GetRequestId(), Name: r.GetName(), ResourceGroupID: r.GetResourceGroupId(), Tags: r.GetTags(),
		PEM: r.GetCertificatePem(),
	})
	if err != nil {
		return nil, err
	}
	return &slbv1.UploadCaCertificateResponse{CaCertificate: made.ca()}, nil
}

// UpdateServerCertificate changes what is present in the request.
func (s *Service) UpdateServerCertificate(
	ctx context.Context, r *slbv1.UpdateServerCertificateRequest,
) (*slbv1.UpdateServerCertificateResponse, error) {
	return cloud.Answer(&slbv1.UpdateServerCertificateResponse{}, s.servers.update(ctx, r.GetServerCertificateId(), r.Name, r))
}

// UpdateCaCertificate changes what is present in the request.
func (s *Service) UpdateCaCertificate(
	ctx context.Context, r *slbv1.UpdateCaCertificateRequest,
) (*slbv1.UpdateCaCertificateResponse, error) {
	return cloud.Answer(&slbv1.UpdateCaCertificateResponse{}, s.authorities.update(ctx, r.GetCaCertificateId(), r.Name, r))
}

// DeleteServerCertificate removes a server certificate.
func (s *Service) DeleteServerCertificate(
	ctx context.Context, r *slbv1.DeleteServerCertificateRequest,
) (*slbv1.DeleteServerCertificateResponse, error) {
	return cloud.Answer(&slbv1.DeleteServerCertificateResponse{}, s.servers.remove(ctx, r.GetServerCertificateId()))
}

// DeleteCaCertificate removes a CA certificate.
func (s *Service) DeleteCaCertificate(
	ctx context.Context, r *slbv1.DeleteCaCertificateRequest,
) (*slbv1.DeleteCaCertificateResponse, error) {
	return cloud.Answer(&slbv1.DeleteCaCertificateResponse{}, s.authorities.remove(ctx, r.GetCaCertificateId()))
}
