package certificate

import (
	"testing"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
	"alicloud-controllers.dev/cloudgateway/writetest"
)

func TestChecks(t *testing.T) {
	pair, err := writetest.NewKeyPair("web")
	if err != nil {
		t.Fatal(err)
	}
	other, err := writetest.NewKeyPair("other")
	if err != nil {
		t.Fatal(err)
	}
	upload := func(certificate, key string) *casv1.UploadCertificateRequest {
		return &casv1.UploadCertificateRequest{RequestId: "r", Name: "web", CertificatePem: certificate, PrivateKeyPem: key}
	}
	checktest.Run(t, Checks(), []checktest.Case{
		{Name: "right", Request: upload(pair.GetCertificatePem(), pair.GetPrivateKeyPem())},
		{Name: "of nothing", Request: &casv1.UploadCertificateRequest{RequestId: "r", Name: "web"}, Want: []string{
			"certificate_pem: is required", "private_key_pem: is required",
		}},
		{Name: "with the key of another", Request: upload(pair.GetCertificatePem(), other.GetPrivateKeyPem()), Want: []string{
			"private_key_pem: is not the private key of certificate_pem",
		}},
	})
}
