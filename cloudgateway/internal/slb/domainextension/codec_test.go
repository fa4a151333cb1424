package domainextension

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

func TestExtensionDecode(t *testing.T) {
	for text, certificate := range map[string]string{
		`{"DomainExtensionId":"de-1","Domain":"a.example.com","ServerCertificateId":"cert-1"}`: "cert-1",
		`{"DomainExtensionId":"de-1","Domain":"a.example.com",` +
			`"ServerCertificates":{"ServerCertificate":[{"ServerCertificateId":"cert-2"}]}}`: "cert-2",
		`{"DomainExtensionId":"de-1","Domain":"a.example.com"}`: "",
	} {
		got, err := decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		want := &slbv1.DomainExtension{DomainExtensionId: "de-1", Domain: "a.example.com", ServerCertificateId: certificate}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("domain extension (-want +got):\n%s", diff)
		}
	}
}
