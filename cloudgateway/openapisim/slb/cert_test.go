package slb

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// newPair returns a certificate and its key in PEM format.
func newPair(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "www.example.com"}, DNSNames: []string{"www.example.com", "example.com"},
		NotBefore: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	raw, err := x509.CreateCertificate(rand.Reader, &template, &template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	rawKey, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: rawKey}))
}

func TestUploadCertificates(t *testing.T) {
	t.Parallel()
	cert, key := newPair(t)
	_, otherKey := newPair(t)
	upload := params{"ServerCertificate": cert, "PrivateKey": key}
	testCodes(t, "UploadServerCertificate", []codeTest{
		{"ok", upload, ""},
		{"no certificate", upload.with("ServerCertificate", ""), "MissingParameter"},
		{"no key", upload.with("PrivateKey", ""), "MissingParameter"},
		{"no PEM", upload.with("ServerCertificate", "x"), "CertificateFormatInvalid"},
		{"broken certificate", upload.with("ServerCertificate",
			"-----BEGIN CERTIFICATE-----\neA==\n-----END CERTIFICATE-----\n"), "CertificateFormatInvalid"},
		{"other key", upload.with("PrivateKey", otherKey), "IllegalParam.ServerCertificate"},
		{"from the certificate service", params{"AliCloudCertificateId": "x"}, "InvalidParameter.AliCloudCertificateId"},
	})
	testCodes(t, "UploadCACertificate", []codeTest{
		{"ok", params{"CACertificate": cert}, ""},
		{"no PEM", params{"CACertificate": "x"}, "CertificateFormatInvalid"},
	})
	t.Run("shown", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		got := c.call("UploadServerCertificate", upload.with("ServerCertificateName", "n", "Tag.1.Key", "k"))
		for name, want := range map[string]any{"ServerCertificateName": "n", "CommonName": "www.example.com",
			"ExpireTime": "2027-01-01T00:00:00Z"} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
		if n := strings.Count(got.text("Fingerprint"), ":"); n != 19 {
			t.Errorf("the fingerprint %s has %d colons, want 19", got.text("Fingerprint"), n)
		}
		if strings.Contains(c.snapshot(), "PRIVATE KEY") {
			t.Error("the private key is kept")
		}
		listed := c.call("DescribeServerCertificates", params{"ServerCertificateId": got.text("ServerCertificateId")})
		if diff := cmp.Diff(map[string]any(got), listed.at("ServerCertificates.ServerCertificate.0")); diff != "" {
			t.Errorf("listed (-uploaded +listed):\n%s", diff)
		}
		ca := c.call("UploadCACertificate", params{"CACertificate": cert})
		listed = c.call("DescribeCACertificates", params{"CACertificateId": ca.text("CACertificateId")})
		if diff := cmp.Diff(map[string]any(ca), listed.at("CACertificates.CACertificate.0")); diff != "" {
			t.Errorf("listed CA (-uploaded +listed):\n%s", diff)
		}
	})
	t.Run("quota", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		c.settings.Quotas.Certificates = 3
		if got := c.code("UploadServerCertificate", upload); got != "OverQuota" {
			t.Errorf("got code %q, want OverQuota", got)
		}
		for _, want := range []string{"", "OverQuota"} { // CA certificates have a quota of their own, and there are two
			if got := c.code("UploadCACertificate", params{"CACertificate": cert}); got != want {
				t.Errorf("CA certificate: got code %q, want %q", got, want)
			}
		}
	})
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	for action, tests := range map[string][]codeTest{
		"SetServerCertificateName": {
			{"ok", params{"ServerCertificateId": "cert-1", "ServerCertificateName": "n"}, ""},
			{"long", params{"ServerCertificateId": "cert-1", "ServerCertificateName": strings.Repeat("x", 81)}, "InvalidParameter"},
			{"unknown", params{"ServerCertificateId": "x", "ServerCertificateName": "n"}, "ServerCertificateId.NotFound"},
		},
		"SetCACertificateName": {
			{"ok", params{"CACertificateId": "ca-1", "CACertificateName": "n"}, ""},
			{"long", params{"CACertificateId": "ca-1", "CACertificateName": strings.Repeat("x", 81)}, "InvalidParameter"},
			{"of a server", params{"CACertificateId": "cert-1", "CACertificateName": "n"}, "CACertificateId.NotFound"},
		},
		"DeleteServerCertificate": {
			{"ok", params{"ServerCertificateId": "cert-unused"}, ""},
			{"used by a listener", params{"ServerCertificateId": "cert-1"}, "CertificateAndPrivateKeyIsRefered"},
			{"used by a domain extension", params{"ServerCertificateId": "cert-2"}, "CertificateRelatedDomainExtensionExist"},
			{"unknown", params{"ServerCertificateId": "x"}, "ServerCertificateId.NotFound"},
		},
		"DeleteCACertificate": {
			{"ok", params{"CACertificateId": "ca-unused"}, ""},
			{"used", params{"CACertificateId": "ca-1"}, "CertificateAndPrivateKeyIsRefered"},
			{"unknown", params{"CACertificateId": "x"}, "CACertificateId.NotFound"},
		},
		"DescribeServerCertificates": {
			{"of another resource group", params{"ServerCertificateId": "cert-1", "ResourceGroupId": "rg-2"},
				"Abs.ServerCertificateIdAndResourceGroupId.MissMatch"},
			{"a CA", params{"ServerCertificateId": "ca-1", "ResourceGroupId": "rg-2"}, ""},
		},
		"DescribeCACertificates": {
			{"of another resource group", params{"CACertificateId": "ca-1", "ResourceGroupId": "rg-2"},
				"Abs.CACertificateIdAndResourceGroupId.MissMatch"},
		},
	} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			testCodes(t, action, tests)
		})
	}
	c := newCloud(t)
	for name, tt := range map[string]struct {
		params params
		want   []string
	}{
		"all":     {params{}, []string{"cert-1", "cert-2", "cert-unused"}},
		"one":     {params{"ServerCertificateId": "cert-2"}, []string{"cert-2"}},
		"unknown": {params{"ServerCertificateId": "x"}, []string{}},
		"a CA":    {params{"ServerCertificateId": "ca-1"}, []string{}},
	} {
		got := c.call("DescribeServerCertificates", tt.params).texts("ServerCertificates.ServerCertificate", "ServerCertificateId")
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
