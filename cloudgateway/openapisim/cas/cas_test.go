package cas_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/cas"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// pair is a certificate that is valid in the time of callers, and its key.
func pair(t *testing.T, name string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(255), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}))
}

func newCaller(t *testing.T) *apitest.Caller {
	t.Helper()
	return apitest.New(t, cas.Product(), state.New(apitest.Region, apitest.Account))
}

// What is uploaded can be listed by its name, by its domain and by whether it is still valid, until it is deleted.
func TestCertificates(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	ids := map[string]string{}
	for _, name := range []string{"a.example", "b.example"} {
		certificate, key := pair(t, name)
		ids[name] = fmt.Sprintf("%.0f", c.Must("UploadUserCertificate", "Name", "of-"+name, "Cert", certificate, "Key", key,
			"Tags.1.Key", "k", "Tags.1.Value", "v")["CertId"])
	}
	for _, tt := range []struct {
		params []string
		want   float64
	}{
		{nil, 2}, {[]string{"Keyword", "a.example"}, 1}, {[]string{"OrderType", "BUY"}, 0}, {[]string{"Status", "EXPIRED"}, 0},
		{[]string{"Status", "ISSUED", "ResourceGroupId", state.DefaultResourceGroup}, 2}, {[]string{"ResourceGroupId", "rg-none"}, 0},
		{[]string{"ShowSize", "1", "CurrentPage", "2"}, 2},
	} {
		if got := c.Must("ListUserCertificateOrder", tt.params...); got["TotalCount"] != tt.want {
			t.Errorf("%v: %v", tt.params, got)
		}
	}
	c.Pass(2 * 365 * 24 * time.Hour)
	if got := c.Must("ListCert", "Status", "EXPIRED", "KeyWord", "b.example", "SourceType", "upload")["TotalCount"]; got != 1.0 {
		t.Errorf("%v have expired", got)
	}
	detail := c.Must("GetUserCertificateDetail", "CertId", ids["a.example"])
	for member, want := range map[string]any{
		"Common": "a.example", "Expired": true, "StartDate": "2025-01-01", "EndDate": "2027-01-01", "SerialNo": "ff", "Sans": "a.example",
		"CertIdentifier": ids["a.example"] + "-" + apitest.Region, "Name": "of-a.example",
	} {
		if detail[member] != want {
			t.Errorf("%s is %v, want %v", member, detail[member], want)
		}
	}
	if detail := c.Must("GetUserCertificateDetail", "CertId", ids["a.example"], "CertFilter", "true"); detail["Cert"] != "" {
		t.Errorf("filtered: %v", detail["Cert"])
	}
	c.Must("DeleteUserCertificate", "CertId", ids["a.example"])
	if got := c.Must("ListCert")["TotalCount"]; got != 1.0 {
		t.Errorf("%v are left", got)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	certificate, key := pair(t, "a.example")
	_, other := pair(t, "a.example")
	for _, tt := range []struct {
		action string
		params []string
		want   string
	}{
		{"UploadUserCertificate", []string{"Cert", "x", "Key", key}, "CertificateInvalid"},
		{"UploadUserCertificate", []string{"Cert", certificate, "Key", other}, "PrivateKeyInvalid"},
		{"UploadUserCertificate", []string{"Cert", certificate, "Key", key, "Name", "taken"}, "NameRepeat"},
		{"UploadUserCertificate", []string{"Cert", certificate}, "MissingParameter"},
		{"GetUserCertificateDetail", []string{"CertId", "1"}, "NotFound"},
		{"DeleteUserCertificate", []string{"CertId", "1"}, "NotFound"},
		{"DeleteUserCertificate", []string{"CertId", "x"}, "InvalidParameter"},
	} {
		c := newCaller(t)
		c.Must("UploadUserCertificate", "Cert", certificate, "Key", key, "Name", "taken")
		if _, code := c.Call(tt.action, tt.params...); code != tt.want {
			t.Errorf("%s %v: %q, want %q", tt.action, tt.params, code, tt.want)
		}
	}
}
