package writetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"path"
	"time"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"
)

func certificateOperations() []Operation {
	return []Operation{
		{
			Name: "UploadServerCertificate", Actions: []string{"UploadServerCertificate"}, Prepare: withPair, Run: uploadServer,
			Resume: func(ctx context.Context, c *gateway.Client, s *Site) error {
				listed, err := c.Certificates.ListServerCertificates(ctx, &slbv1.ListServerCertificatesRequest{Name: s.upload()})
				if err != nil || len(listed.GetServerCertificates()) > 0 {
					return err
				}
				return uploadServer(ctx, c, s)
			},
		},
		{
			Name: "UpdateServerCertificate", Actions: []string{"SetServerCertificateName", "TagResources", "UntagResources", "MoveResourceGroup"},
			Prepare: uploadServer,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Certificates.UpdateServerCertificate(ctx, &slbv1.UpdateServerCertificateRequest{
					ServerCertificateId: s.uploaded, Name: new(s.Name + "-renamed"),
					SetTags: []*commonv1.Tag{{Key: "more", Value: "1"}}, RemoveTagKeys: []string{"site"}, ResourceGroupId: new("rg-other"),
				})
				return err
			},
		},
		{
			Name: "DeleteServerCertificate", Actions: []string{"DeleteServerCertificate"}, Prepare: uploadServer,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Certificates.DeleteServerCertificate(ctx, &slbv1.DeleteServerCertificateRequest{ServerCertificateId: s.uploaded})
				return err
			},
		},
		{
			Name: "UploadCaCertificate", Actions: []string{"UploadCACertificate"}, Prepare: withPair, Run: uploadCA,
			Resume: func(ctx context.Context, c *gateway.Client, s *Site) error {
				listed, err := c.Certificates.ListCaCertificates(ctx, &slbv1.ListCaCertificatesRequest{Name: s.upload()})
				if err != nil || len(listed.GetCaCertificates()) > 0 {
					return err
				}
				return uploadCA(ctx, c, s)
			},
		},
		{
			Name: "UpdateCaCertificate", Actions: []string{"SetCACertificateName", "TagResources", "UntagResources",
				"MoveResourceGroup"}, Prepare: uploadCA,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Certificates.UpdateCaCertificate(ctx, &slbv1.UpdateCaCertificateRequest{
					CaCertificateId: s.uploaded, Name: new(s.Name + "-renamed"),
					SetTags: []*commonv1.Tag{{Key: "more", Value: "1"}}, RemoveTagKeys: []string{"site"}, ResourceGroupId: new("rg-other"),
				})
				return err
			},
		},
		{
			Name: "DeleteCaCertificate", Actions: []string{"DeleteCACertificate"}, Prepare: uploadCA,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Certificates.DeleteCaCertificate(ctx, &slbv1.DeleteCaCertificateRequest{CaCertificateId: s.uploaded})
				return err
			},
		},
	}
}

// upload is the name of what is uploaded.
func (s *Site) upload() string { return s.Name + "-uploaded" }

func uploadServer(ctx context.Context, c *gateway.Client, s *Site) error {
	if err := withPair(ctx, c, s); err != nil {
		return err
	}
	answer, err := c.Certificates.UploadServerCertificate(ctx, &slbv1.UploadServerCertificateRequest{
		RequestId: path.Join(s.Name, "server"), Name: s.upload(), Tags: []*commonv1.Tag{{Key: "site", Value: s.Name}},
		Source: &slbv1.UploadServerCertificateRequest_KeyPair{KeyPair: s.pair},
	})
	s.uploaded = answer.GetServerCertificate().GetServerCertificateId()
	return err
}

func uploadCA(ctx context.Context, c *gateway.Client, s *Site) error {
	if err := withPair(ctx, c, s); err != nil {
		return err
	}
	answer, err := c.Certificates.UploadCaCertificate(ctx, &slbv1.UploadCaCertificateRequest{
		RequestId: path.Join(s.Name, "ca"), Name: s.upload(), Tags: []*commonv1.Tag{{Key: "site", Value: s.Name}},
		CertificatePem: s.pair.GetCertificatePem(),
	})
	s.uploaded = answer.GetCaCertificate().GetCaCertificateId()
	return err
}

// withPair makes the site's certificate, once.
func withPair(_ context.Context, _ *gateway.Client, s *Site) (err error) {
	if s.pair == nil {
		s.pair, err = NewKeyPair(s.Name)
	}
	return err
}

// NewKeyPair makes a certificate that vouches for itself, and its private key.
func NewKeyPair(name string) (*slbv1.KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name + ".example.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return &slbv1.KeyPair{
		CertificatePem: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})),
		PrivateKeyPem:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	}, nil
}
