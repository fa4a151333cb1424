// Package certificate serves CertificateService: server and CA certificates of listeners.
package certificate

import (
	"context"
	"crypto/sha1" //nolint:gosec // The fingerprints that SLB shows are SHA-1.
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// Service implements slbv1.CertificateServiceServer.
type Service struct {
	slbv1.UnimplementedCertificateServiceServer

	// servers are the certificates with which listeners prove their identity, authorities those by which they check clients.
	servers, authorities *store
}

// Owners are how the scopes of callers see certificates.
func (s *Service) Owners() []cloud.Owner {
	return []cloud.Owner{s.servers.certificates, s.authorities.certificates}
}

// New makes a Service.
func New(p *slb.Product) *Service {
	return &Service{servers: newStore(p, "Server", "server certificate"), authorities: newStore(p, "CA", "CA certificate")}
}

// ListServerCertificates reads every server certificate that matches, ordered by id.
func (s *Service) ListServerCertificates(
	ctx context.Context, r *slbv1.ListServerCertificatesRequest,
) (*slbv1.ListServerCertificatesResponse, error) {
	found, err := s.servers.certificates.List(ctx, r)
	return cloud.Answer(&slbv1.ListServerCertificatesResponse{ServerCertificates: each(found, (*cert).server)}, err)
}

// ListCaCertificates reads every CA certificate that matches, ordered by id.
func (s *Service) ListCaCertificates(
	ctx context.Context, r *slbv1.ListCaCertificatesRequest,
) (*slbv1.ListCaCertificatesResponse, error) {
	found, err := s.authorities.certificates.List(ctx, r)
	return cloud.Answer(&slbv1.ListCaCertificatesResponse{CaCertificates: each(found, (*cert).ca)}, err)
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

// store does the operations on certificates of one kind. The cloud has the same actions for both, with names that differ in a word.
type store struct {
	product      *slb.Product
	kind         string // that word: "Server" or "CA"
	certificates *cloud.Collection[cert]
	ledger       *write.Ledger
}

func newStore(p *slb.Product, kind, name string) *store {
	return &store{
		product: p, kind: kind, ledger: write.NewLedger(),
		// The cloud answers with all certificates of the region at once.
		certificates: cloud.NewCollection(p.API, p.Shared, cloud.Kind[cert]{
			Name: name, Cache: strings.ToLower(kind) + "certificates", NotFound: rpcerr.CertificateNotFound,
			IDs: strings.ToLower(kind) + "_certificate_ids",
			Listing: cloud.Listing[*cert]{
				Action: "Describe" + kind + "Certificates", Items: kind + "Certificates." + kind + "Certificate", Decode: decode,
				ID: func(c *cert) string { return c.id },
			},
			Filters:  map[string]cloud.Filter{strings.ToLower(kind) + "_certificate_ids": cloud.Here(), "name": cloud.Here()},
			SameName: true,
		}),
	}
}

// each gives certificates in the form of their kind.
func each[T any](found []*cert, as func(*cert) T) []T {
	list := make([]T, len(found))
	for i, c := range found {
		list[i] = as(c)
	}
	return list
}

// update changes the name, if there is one, and the rest that a request has.
func (s *store) update(ctx context.Context, id string, name *string, r slb.Metadata) error {
	defer s.certificates.ForgetLists() // Whatever happens, the cloud may hold something new.
	if name != nil {
		params := cloud.Params{s.kind + "CertificateId": id, s.kind + "CertificateName": *name}
		if err := s.product.Set(ctx, "Set"+s.kind+"CertificateName", params, nil); err != nil {
			return err
		}
	}
	return s.product.ChangeMetadata(ctx, "certificate", id, rpcerr.CertificateNotFound, r)
}

func (s *store) remove(ctx context.Context, id string) error {
	defer s.certificates.ForgetLists()
	err := s.product.Set(ctx, "Delete"+s.kind+"Certificate", cloud.Params{s.kind + "CertificateId": id}, nil)
	return cloud.Unless(err, rpcerr.CertificateNotFound)
}

// upload describes a new certificate.
type upload struct {
	RequestID, Name, ResourceGroupID string
	Tags                             []*commonv1.Tag
	// PEM is the certificate, empty if it comes from the certificate service.
	PEM string
	// PrivateKey is that of a server certificate.
	PrivateKey logging.Secret
	// Alicloud is a certificate of the certificate service.
	Alicloud *slbv1.AlicloudCertificate
}

// content identifies a certificate: its fingerprint, or its id at the certificate service.
func (u upload) content() string {
	if u.PEM == "" {
		return u.Alicloud.GetCertificateId()
	}
	block, _ := pem.Decode([]byte(u.PEM))
	if block == nil {
		return ""
	}
	sum := sha1.Sum(block.Bytes) //nolint:gosec // It identifies, it does not protect.
	return hex.EncodeToString(sum[:])
}

// upload uploads a certificate, once.
func (s *store) upload(ctx context.Context, u upload) (*cert, error) {
	// Of two uploads of the same certificate at the same time, neither could say which is whose.
	unlock, err := cloud.Lock(ctx, s.product.Locks, fmt.Sprintf("certificate %q with fingerprint or id %s", u.Name, u.content()))
	if err != nil {
		return nil, err
	}
	defer unlock()
	defer s.certificates.ForgetLists()
	creation := write.Create[cert]{
		Ledger: s.ledger, Key: u.key(ctx), API: "slb/Upload" + s.kind + "Certificate", Name: fmt.Sprintf("certificate %q", u.Name),
		Send: func(ctx context.Context) (*cert, error) { return s.send(ctx, u) },
		Find: func(ctx context.Context) ([]*cert, error) { return s.find(ctx, func(c *cert) bool { return c.is(u) }) },
		Read: func(ctx context.Context, id string) (*cert, error) {
			return cloud.First(s.find(ctx, func(c *cert) bool { return c.id == id }))
		},
		ID: func(c *cert) string { return c.id },
	}
	made, err := creation.Run(ctx)
	if err == nil {
		s.ledger.End(creation.Key)
	}
	return made, err
}

// key identifies the request: its private key does not.
func (u upload) key(ctx context.Context) write.Key {
	return write.KeyOf(ctx, u.RequestID, u.content()+" "+u.Name)
}

func (s *store) send(ctx context.Context, u upload) (*cert, error) {
	call := cloud.Write(openapi.SLB, "Upload"+s.kind+"Certificate", s.params(u))
	call.Form = s.form(u)
	var made *cert
	_, err := s.product.Caller.Do(ctx, call, cloud.One(&made, decode))
	return made, err
}

// find reads the certificates that are wanted. No cache is asked, and no filter that may lag behind.
func (s *store) find(ctx context.Context, wanted func(*cert) bool) ([]*cert, error) {
	all, err := s.certificates.Find(ctx, nil)
	return slices.DeleteFunc(all, func(c *cert) bool { return !wanted(c) }), err
}

func (s *store) params(u upload) cloud.Params {
	return cloud.Tags(cloud.Params{s.kind + "CertificateName": u.Name}.
		With("ResourceGroupId", u.ResourceGroupID).
		With("AliCloudCertificateId", u.Alicloud.GetCertificateId()).
		With("AliCloudCertificateName", u.Alicloud.GetName()).
		With("AliCloudCertificateRegionId", u.Alicloud.GetRegionId()), u.Tags)
}

func (s *store) form(u upload) cloud.Params {
	return cloud.Params{}.With(s.kind+"Certificate", u.PEM).With("PrivateKey", string(u.PrivateKey))
}

// is reports whether a certificate is what an upload makes.
func (c *cert) is(u upload) bool {
	content := strings.ToLower(strings.ReplaceAll(c.details.GetFingerprint(), ":", ""))
	if u.PEM == "" {
		content = c.alicloud.GetCertificateId()
	}
	return c.name == u.Name && content == u.content() && (u.ResourceGroupID == "" || c.group == u.ResourceGroupID) &&
		cloud.SameTags(c.tags, u.Tags)
}
