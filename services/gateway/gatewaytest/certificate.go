package gatewaytest

import (
	"context"
	"slices"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

// certificates serves server certificates.
type certificates struct {
	slbv1.UnimplementedCertificateServiceServer

	f *Fake
}

func (s *certificates) ListServerCertificates(_ context.Context,
	req *slbv1.ListServerCertificatesRequest) (*slbv1.ListServerCertificatesResponse, error) {
	s.f.Lock()
	defer s.f.Unlock()
	ids := req.GetServerCertificateIds()
	return &slbv1.ListServerCertificatesResponse{ServerCertificates: sorted(s.f.ServerCertificates, func(c *slbv1.ServerCertificate) bool {
		return len(ids) == 0 || slices.Contains(ids, c.GetServerCertificateId())
	})}, nil
}
