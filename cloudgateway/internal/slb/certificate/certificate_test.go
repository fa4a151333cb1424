package certificate

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// fakeCloud lists nothing at first, and then what it is given. It loses the answers to uploads, which were carried out
// only if it lists them.
type fakeCloud struct {
	listed string // the answer to the listing after an upload
	calls  []openapi.Call
}

func (f *fakeCloud) Do(_ context.Context, call openapi.Call, out any) (openapi.Result, error) {
	f.calls = append(f.calls, call)
	if strings.HasPrefix(call.Action, "Describe") {
		if len(f.calls) == 1 {
			return openapi.Result{}, nil // There was nothing before.
		}
		return openapi.Result{}, json.Unmarshal([]byte(f.listed), out)
	}
	return openapi.Result{}, &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown}
}

func newService(listed string) (*Service, *fakeCloud) {
	f := &fakeCloud{listed: listed}
	return New(slb.New(f, cloud.Shared{Locks: &flow.Keyed[string]{}, Logger: slog.New(slog.DiscardHandler)}, nil)), f
}

// TestAnswerOfTheCertificateService: a certificate that came from there is identified by its id, and everything that the cloud
// returns about it is in the answer.
func TestAnswerOfTheCertificateService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := newService(`{"ServerCertificates":{"ServerCertificate":[
			{"ServerCertificateId":"1_b","ServerCertificateName":"web","IsAliCloudCertificate":1,"AliCloudCertificateId":"124"},
			{"ServerCertificateId":"1_a","ServerCertificateName":"web","IsAliCloudCertificate":1,"AliCloudCertificateId":"123",
			 "CACertificateId":"","CACertificateName":"","AliCloudCertificateName":"service","CommonName":"example.com",
			 "Fingerprint":"02:DF","EncryptionAlgorithm":"RSA","EncryptionKeyLength":2048,
			 "ResourceGroupId":"rg-1","CreateTimeStamp":1000,"ExpireTimeStamp":2000,"Tags":{"Tag":[{"TagKey":"k","TagValue":"v"}]},
			 "SubjectAlternativeNames":{"SubjectAlternativeName":["example.com","*.example.com"]}}]}}`)
		made, err := c.servers.upload(t.Context(), upload{
			RequestID: "r", Name: "web", Alicloud: &slbv1.AlicloudCertificate{CertificateId: "123"}, Tags: []*commonv1.Tag{{Key: "k", Value: "v"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := made.server()
		if got.GetDetails().GetCreationTime().AsTime().Unix() != 1 || got.GetDetails().GetExpirationTime().AsTime().Unix() != 2 {
			t.Errorf("times: %v", got.GetDetails())
		}
		want := &slbv1.ServerCertificate{
			ServerCertificateId: "1_a", Name: "web", ResourceGroupId: "rg-1", SubjectAlternativeNames: []string{"example.com", "*.example.com"},
			Details:             &slbv1.CertificateDetails{CommonName: "example.com", Fingerprint: "02:DF", KeyAlgorithm: "RSA", KeyBits: 2048},
			AlicloudCertificate: &slbv1.AlicloudCertificate{CertificateId: "123", Name: "service"},
		}
		ignored := []cmp.Option{
			protocmp.Transform(), protocmp.IgnoreFields(&slbv1.CertificateDetails{}, "creation_time", "expiration_time"),
			protocmp.IgnoreFields(&slbv1.ServerCertificate{}, "tags"),
		}
		if diff := cmp.Diff(want, got, ignored...); diff != "" {
			t.Errorf("certificate (-want +got):\n%s", diff)
		}
		if len(got.GetTags()) != 1 || got.GetTags()[0].GetKey() != "k" || got.GetTags()[0].GetValue() != "v" {
			t.Errorf("tags: %v", got.GetTags())
		}
		if len(f.calls) != 3 {
			t.Errorf("%d calls, want the upload and a look before and after", len(f.calls))
		}
	})
}

// TestSecretsAreInTheBody: proxies log URLs.
func TestSecretsAreInTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := newService(`{"ServerCertificates":{"ServerCertificate":[
			{"ServerCertificateId":"a","ServerCertificateName":"web","Fingerprint":"x"},
			{"ServerCertificateId":"b","ServerCertificateName":"web","Fingerprint":"x"}]}}`)
		u := upload{RequestID: "r", Name: "web", PEM: "certificate", PrivateKey: "secret"}
		ctx, cancel := context.WithTimeout(t.Context(), 1) // no time for a second attempt
		defer cancel()
		if _, err := c.servers.upload(ctx, u); rpcerr.ReasonOf(err) != rpcerr.OutcomeUnknown {
			t.Errorf("got %v, want OUTCOME_UNKNOWN", err)
		}
		if diff := cmp.Diff(map[string]string{"ServerCertificate": "certificate", "PrivateKey": "secret"}, f.calls[1].Form); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]string{"ServerCertificateName": "web"}, f.calls[1].Params); diff != "" {
			t.Errorf("URL (-want +got):\n%s", diff)
		}
		if text := fmt.Sprintf("%v %+v", u, u); strings.Contains(text, "secret") {
			t.Errorf("the key is printed: %s", text)
		}
	})
}

// TestKeysOfUploads: repetitions are known by what the cloud will show of them, not by the private key.
func TestKeysOfUploads(t *testing.T) {
	const one, two = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		"-----BEGIN CERTIFICATE-----\nAAAB\n-----END CERTIFICATE-----\n"
	base := upload{RequestID: "r", Name: "web", PEM: one, PrivateKey: logging.Secret("k")}
	for name, other := range map[string]upload{
		"request":     {RequestID: "s", Name: "web", PEM: one},
		"name":        {RequestID: "r", Name: "api", PEM: one},
		"certificate": {RequestID: "r", Name: "web", PEM: two},
		"service":     {RequestID: "r", Name: "web", Alicloud: &slbv1.AlicloudCertificate{CertificateId: "123"}},
	} {
		if base.key(t.Context()) == other.key(t.Context()) {
			t.Errorf("another %s has the same key %v", name, base.key(t.Context()))
		}
	}
	if same := (upload{RequestID: "r", Name: "web", PEM: "text before\n" + one + two}); base.key(t.Context()) != same.key(t.Context()) {
		t.Errorf("a chain has the key %v, want that of its first certificate %v", same.key(t.Context()), base.key(t.Context()))
	}
}
