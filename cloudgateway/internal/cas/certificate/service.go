// Package certificate serves cas.v1.CertificateService: certificates that the account has uploaded.
package certificate

import (
	"context"
	"crypto/sha1" //nolint:gosec // The fingerprints that CAS shows are SHA-1.
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cas"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// Service implements casv1.CertificateServiceServer.
type Service struct {
	casv1.UnimplementedCertificateServiceServer

	product      *cas.Product
	ledger       *write.Ledger
	certificates *cloud.Collection[casv1.Certificate]
}

// New makes a Service.
func New(p *cas.Product) *Service {
	return &Service{product: p, ledger: write.NewLedger(), certificates: cloud.NewCollection(p.API, p.Shared, kind(p))}
}

// kind describes certificates.
func kind(p *cas.Product) cloud.Kind[casv1.Certificate] {
	return cloud.Kind[casv1.Certificate]{
		Name: "user certificate", Cache: "usercertificates", NotFound: rpcerr.CertificateNotFound, IDs: "certificate_ids",
		Listing: cloud.Listing[*casv1.Certificate]{
			Action: "ListUserCertificateOrder", Items: "CertificateOrderList", Decode: decode,
			ID: (*casv1.Certificate).GetCertificateId, PerPage: cas.PageSize, Page: "CurrentPage", Size: "ShowSize",
		},
		// Without a status the cloud leaves out what has expired.
		Passes: []cloud.Params{{"OrderType": "UPLOAD"}, {"OrderType": "UPLOAD", "Status": "EXPIRED"}},
		// The cloud searches by domain and id only.
		Filters: map[string]cloud.Filter{"certificate_ids": cloud.Here(), "name": cloud.Here()}, SameName: true,
		Read: func(ctx context.Context, id string) (*casv1.Certificate, error) { return read(ctx, p, id) },
		Mark: func(c *casv1.Certificate) string { return c.GetName() },
	}
}

// read reads one certificate; nil: there is none. The cloud is told to keep the private key to itself.
func read(ctx context.Context, p *cas.Product, id string) (found *casv1.Certificate, err error) {
	err = p.Read(ctx, "GetUserCertificateDetail", cloud.Params{"CertId": id, "CertFilter": "true"}, cloud.One(&found, decode))
	return found, cloud.Unless(err, rpcerr.CertificateNotFound)
}

// Owner is how the scopes of callers see certificates.
func (s *Service) Owner() cloud.Owner { return s.certificates }

// GetCertificate reads one certificate.
func (s *Service) GetCertificate(ctx context.Context, r *casv1.GetCertificateRequest) (*casv1.GetCertificateResponse, error) {
	found, err := s.certificates.Get(ctx, r.GetCertificateId(), r.GetMaxAge())
	return cloud.Answer(&casv1.GetCertificateResponse{Certificate: found}, err)
}

// ListCertificates reads every uploaded certificate that matches, ordered by id.
func (s *Service) ListCertificates(ctx context.Context, r *casv1.ListCertificatesRequest) (*casv1.ListCertificatesResponse, error) {
	found, err := s.certificates.List(ctx, r)
	return cloud.Answer(&casv1.ListCertificatesResponse{Certificates: found}, err)
}

// UploadCertificate uploads a certificate with its private key, once.
func (s *Service) UploadCertificate(
	ctx context.Context, r *casv1.UploadCertificateRequest,
) (*casv1.UploadCertificateResponse, error) {
	hash := fingerprint(r.GetCertificatePem())
	unlock, err := cloud.Lock(ctx, s.product.Locks, fmt.Sprintf("user certificate %q", r.GetName()))
	if err != nil {
		return nil, err
	}
	defer unlock()
	creation := write.Create[casv1.Certificate]{
		Ledger: s.ledger, Key: write.KeyOf(ctx, r.GetRequestId(), hash+" "+r.GetName()), API: "cas/UploadUserCertificate",
		Name: fmt.Sprintf("user certificate %q", r.GetName()),
		Send: func(ctx context.Context) (*casv1.Certificate, error) { return s.send(ctx, r) },
		// A name is given once in an account.
		Unmistakable: true,
		Find: func(ctx context.Context) ([]*casv1.Certificate, error) {
			all, err := s.certificates.Find(ctx, nil)
			return slices.DeleteFunc(all, func(c *casv1.Certificate) bool {
				return c.GetName() != r.GetName() || digits(c.GetFingerprint()) != hash
			}), err
		},
		Read: s.certificates.Look,
		ID:   (*casv1.Certificate).GetCertificateId,
	}
	made, err := creation.Run(ctx)
	s.certificates.ForgetLists()
	if err != nil {
		return nil, err
	}
	made, err = s.certificates.Look(ctx, made.GetCertificateId()) // Only this shows what listeners name.
	if err == nil && made == nil {
		err = rpcerr.Errorf(rpcerr.OutcomeUnknown, "user certificate %q was uploaded, and is not there", r.GetName()).WithAPI(creation.API)
	}
	if err != nil {
		return nil, err
	}
	s.ledger.End(creation.Key)
	return &casv1.UploadCertificateResponse{Certificate: made}, nil
}

func (s *Service) send(ctx context.Context, r *casv1.UploadCertificateRequest) (*casv1.Certificate, error) {
	call := cloud.Write(s.product.Product, "UploadUserCertificate",
		cloud.Params{"Name": r.GetName()}.With("ResourceGroupId", r.GetResourceGroupId()))
	call.Form = cloud.Params{"Cert": r.GetCertificatePem(), "Key": r.GetPrivateKeyPem()}
	made := &casv1.Certificate{}
	_, err := s.product.Caller.Do(ctx, call, &cloud.Fields{"CertId": cloud.Required(&made.CertificateId)})
	return made, err
}

// DeleteCertificate removes a certificate.
func (s *Service) DeleteCertificate(
	ctx context.Context, r *casv1.DeleteCertificateRequest,
) (*casv1.DeleteCertificateResponse, error) {
	defer s.certificates.Forget(r.GetCertificateId()) // Whatever happens, the cloud may hold something new.
	err := s.product.Set(ctx, "DeleteUserCertificate", cloud.Params{"CertId": r.GetCertificateId()}, nil)
	return cloud.Answer(&casv1.DeleteCertificateResponse{}, cloud.Unless(err, rpcerr.CertificateNotFound))
}

// fingerprint is that of the first certificate of a text.
func fingerprint(text string) string {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return ""
	}
	sum := sha1.Sum(block.Bytes) //nolint:gosec // It identifies, it does not protect.
	return hex.EncodeToString(sum[:])
}

// digits leaves of a fingerprint what all spellings have in common.
func digits(fingerprint string) string {
	return strings.ToLower(strings.ReplaceAll(fingerprint, ":", ""))
}
