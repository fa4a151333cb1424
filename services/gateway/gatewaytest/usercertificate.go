package gatewaytest

import (
	"context"
	"crypto/tls"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// userCertificates serves the certificates that NLBs name. Listeners may name others, but none that was uploaded and is gone.
type userCertificates struct {
	casv1.UnimplementedCertificateServiceServer

	f *Fake
}

func (s *userCertificates) GetCertificate(_ context.Context, req *casv1.GetCertificateRequest) (*casv1.GetCertificateResponse, error) {
	s.f.enter()
	defer s.f.leave()
	c := s.f.UserCertificates[req.GetCertificateId()]
	if c == nil {
		return nil, notFound(rpcerr.CertificateNotFound, "user certificate", req.GetCertificateId())
	}
	return &casv1.GetCertificateResponse{Certificate: proto.CloneOf(c)}, nil
}

// ListCertificates leaves the identifiers out, as the cloud does.
func (s *userCertificates) ListCertificates(
	_ context.Context, req *casv1.ListCertificatesRequest,
) (*casv1.ListCertificatesResponse, error) {
	s.f.enter()
	defer s.f.leave()
	found := sorted(s.f.UserCertificates, func(c *casv1.Certificate) bool {
		return among(req.GetCertificateIds(), c.GetCertificateId()) && match(req.GetName(), c.GetName())
	})
	for _, c := range found {
		c.Identifier = ""
	}
	return &casv1.ListCertificatesResponse{Certificates: found}, nil
}

// UploadCertificate keeps no key, and nothing of a request beyond its certificate. Like the gateway it answers a repetition with the
// first result, also if that is gone.
func (s *userCertificates) UploadCertificate(
	_ context.Context, req *casv1.UploadCertificateRequest,
) (*casv1.UploadCertificateResponse, error) {
	s.f.enter()
	defer s.f.leave()
	earlier, err := s.f.replay(req.GetRequestId(), req)
	if err != nil {
		return nil, err
	}
	if response, ok := earlier.(*casv1.UploadCertificateResponse); ok && time.Since(s.f.answered[req.GetRequestId()].at) < repliesLife {
		return proto.CloneOf(response), nil
	}
	pair, err := tls.X509KeyPair([]byte(req.GetCertificatePem()), []byte(req.GetPrivateKeyPem()))
	if err != nil {
		return nil, invalid("certificate_pem", "%v", err)
	}
	for _, other := range s.f.UserCertificates {
		if other.GetName() == req.GetName() {
			return nil, refused(rpcerr.AlreadyExists.Code(), rpcerr.AlreadyExists, "another certificate has the name %s", req.GetName())
		}
	}
	s.f.ids["user certificate"]++
	number := strconv.Itoa(10_000_000 + s.f.ids["user certificate"])
	c := &casv1.Certificate{
		CertificateId: number, Identifier: number + "-" + s.f.Capabilities.GetRegionId(), Name: req.GetName(),
		ExpirationTime: timestamppb.New(pair.Leaf.NotAfter),
	}
	s.f.UserCertificates[number], s.f.uploaded[c.GetIdentifier()] = c, true
	response := &casv1.UploadCertificateResponse{Certificate: proto.CloneOf(c)}
	s.f.remember(req.GetRequestId(), req, response)
	return response, nil
}

// DeleteCertificate deletes one whether or not a listener uses it: no document says that the cloud refuses that.
func (s *userCertificates) DeleteCertificate(
	_ context.Context, req *casv1.DeleteCertificateRequest,
) (*casv1.DeleteCertificateResponse, error) {
	s.f.enter()
	defer s.f.leave()
	delete(s.f.UserCertificates, req.GetCertificateId())
	return &casv1.DeleteCertificateResponse{}, nil
}

// validUserCertificates refuses a certificate that was uploaded and is gone; f is locked.
func (f *Fake) validUserCertificates(identifiers []string) error {
	there := map[string]bool{}
	for _, c := range f.UserCertificates {
		there[c.GetIdentifier()] = true
	}
	for _, id := range identifiers {
		if f.uploaded[id] && !there[id] {
			return notFound(rpcerr.CertificateNotFound, "certificate", id)
		}
	}
	return nil
}
