package gatewaytest

import (
	"context"
	"crypto/tls"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// certificates serves server certificates. Listeners may name others, but none that was uploaded and is gone.
type certificates struct {
	slbv1.UnimplementedCertificateServiceServer

	f *Fake
}

func (s *certificates) ListServerCertificates(_ context.Context,
	req *slbv1.ListServerCertificatesRequest) (*slbv1.ListServerCertificatesResponse, error) {
	s.f.enter()
	defer s.f.leave()
	return &slbv1.ListServerCertificatesResponse{ServerCertificates: sorted(s.f.ServerCertificates, func(c *slbv1.ServerCertificate) bool {
		return among(req.GetServerCertificateIds(), c.GetServerCertificateId()) && hasTags(c.GetTags(), req.GetTags())
	})}, nil
}

// repliesLife is how long the gateway answers a repeated request_id with the first result.
const repliesLife = time.Hour

// UploadServerCertificate keeps no key, and nothing of a request beyond its certificate. Like the gateway it answers a repetition with the
// first result, also if that is gone.
func (s *certificates) UploadServerCertificate(_ context.Context,
	req *slbv1.UploadServerCertificateRequest) (*slbv1.UploadServerCertificateResponse, error) {
	s.f.enter()
	defer s.f.leave()
	earlier, err := s.f.replay(req.GetRequestId(), req)
	if err != nil {
		return nil, err
	}
	if response, ok := earlier.(*slbv1.UploadServerCertificateResponse); ok && time.Since(s.f.answered[req.GetRequestId()].at) < repliesLife {
		return proto.CloneOf(response), nil
	}
	pair, err := tls.X509KeyPair([]byte(req.GetKeyPair().GetCertificatePem()), []byte(req.GetKeyPair().GetPrivateKeyPem()))
	if err != nil {
		return nil, invalid("key_pair", "%v", err)
	}
	cert := &slbv1.ServerCertificate{
		ServerCertificateId: s.f.nextID("cert"), Name: req.GetName(), Tags: cloneAll(req.GetTags()),
		Details: &slbv1.CertificateDetails{ExpirationTime: timestamppb.New(pair.Leaf.NotAfter)},
	}
	s.f.ServerCertificates[cert.GetServerCertificateId()], s.f.uploaded[cert.GetServerCertificateId()] = cert, true
	response := &slbv1.UploadServerCertificateResponse{ServerCertificate: proto.CloneOf(cert)}
	s.f.remember(req.GetRequestId(), req, response)
	return response, nil
}

func (s *certificates) DeleteServerCertificate(_ context.Context,
	req *slbv1.DeleteServerCertificateRequest) (*slbv1.DeleteServerCertificateResponse, error) {
	s.f.enter()
	defer s.f.leave()
	id := req.GetServerCertificateId()
	for _, l := range s.f.Listeners {
		if l.GetConfig().GetServerCertificateId() == id {
			return nil, refused(codes.FailedPrecondition, rpcerr.CertificateInUse, "a listener uses certificate %s", id)
		}
	}
	for _, e := range s.f.DomainExtensions {
		if e.Extension.GetServerCertificateId() == id {
			return nil, refused(codes.FailedPrecondition, rpcerr.CertificateInUse, "a domain extension uses certificate %s", id)
		}
	}
	delete(s.f.ServerCertificates, id)
	return &slbv1.DeleteServerCertificateResponse{}, nil
}

// validCertificate refuses a certificate that was uploaded and is gone; f is locked.
func (f *Fake) validCertificate(id string) error {
	if f.uploaded[id] && f.ServerCertificates[id] == nil {
		return notFound(rpcerr.CertificateNotFound, "server certificate", id)
	}
	return nil
}
