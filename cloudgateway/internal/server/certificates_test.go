package server

import (
	"crypto/sha1"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/cloudgateway/writetest"
)

func keyPair(t *testing.T, name string) *slbv1.KeyPair {
	t.Helper()
	pair, err := writetest.NewKeyPair(name)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// fingerprint is SHA-1 as the cloud writes it.
func fingerprint(t *testing.T, pair *slbv1.KeyPair) string {
	t.Helper()
	block, _ := pem.Decode([]byte(pair.GetCertificatePem()))
	if block == nil {
		t.Fatal("no certificate")
	}
	sum := sha1.Sum(block.Bytes)
	return strings.ReplaceAll(fmt.Sprintf("% x", sum), " ", ":")
}

func serverUpload(requestID string, pair *slbv1.KeyPair) *slbv1.UploadServerCertificateRequest {
	return &slbv1.UploadServerCertificateRequest{
		RequestId: requestID, Name: "web", Tags: []*commonv1.Tag{{Key: "owner", Value: "web"}},
		Source: &slbv1.UploadServerCertificateRequest_KeyPair{KeyPair: pair},
	}
}

// TestServerCertificateFromBeginToEnd: what is uploaded can be read, can serve a listener, and can't be deleted meanwhile.
func TestServerCertificateFromBeginToEnd(t *testing.T) {
	w := newWorld(t)
	pair := keyPair(t, "web")
	answer, err := w.Certificates.UploadServerCertificate(t.Context(), serverUpload("r-1", pair))
	if err != nil {
		t.Fatal(err)
	}
	id := answer.GetServerCertificate().GetServerCertificateId()
	if diff := cmp.Diff([]string{"DescribeServerCertificates", "UploadServerCertificate"}, w.actions(true)); diff != "" {
		t.Errorf("calls of the upload (-want +got):\n%s", diff)
	}
	w.forget()
	list := func(r *slbv1.ListServerCertificatesRequest) []*slbv1.ServerCertificate {
		t.Helper()
		r.MaxAge = durationpb.New(time.Hour)
		listed, err := w.Certificates.ListServerCertificates(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return listed.GetServerCertificates()
	}
	got := list(&slbv1.ListServerCertificatesRequest{ServerCertificateIds: []string{id, "cert-gone"}})
	want := &slbv1.ServerCertificate{
		ServerCertificateId: id, Name: "web", ResourceGroupId: answer.GetServerCertificate().GetResourceGroupId(),
		Tags: []*commonv1.Tag{{Key: "owner", Value: "web"}}, SubjectAlternativeNames: []string{"web.example.com"},
		Details: &slbv1.CertificateDetails{CommonName: "web", Fingerprint: fingerprint(t, pair)},
	}
	times := protocmp.IgnoreFields(&slbv1.CertificateDetails{}, "creation_time", "expiration_time")
	if diff := cmp.Diff([]*slbv1.ServerCertificate{want}, got, protocmp.Transform(), times); diff != "" {
		t.Errorf("certificate (-want +got):\n%s", diff)
	}
	details := got[0].GetDetails()
	if life := details.GetExpirationTime().AsTime().Sub(details.GetCreationTime().AsTime()); life < 23*time.Hour || life > 25*time.Hour {
		t.Errorf("it lives for %s, want a day", life)
	}
	for _, r := range []*slbv1.ListServerCertificatesRequest{{}, {Name: "web"}} { // also that of the seed
		if found := len(list(r)); found != 2-len(r.GetName())/3 {
			t.Errorf("%v: %d certificates", r, found)
		}
	}
	if calls := w.actions(true); len(calls) != 1 {
		t.Errorf("calls %q, want one for all that have the same filter in the cloud", calls)
	}

	at := withGroup(t, w)
	listener := listenerRequest(at.lb, at.group)
	listener.Key.Protocol, listener.Config.HealthCheck = slbv1.Protocol_PROTOCOL_HTTPS, nil
	listener.Config.ServerCertificateId = new(id)
	if _, err := w.Listeners.CreateListener(t.Context(), listener); err != nil {
		t.Fatal(err)
	}
	remove := func(id string) error {
		return second(w.Certificates.DeleteServerCertificate(t.Context(), &slbv1.DeleteServerCertificateRequest{ServerCertificateId: id}))
	}
	if err := remove(id); rpcerr.ReasonOf(err) != rpcerr.CertificateInUse {
		t.Errorf("deletion while a listener uses it: got %v, want CERTIFICATE_IN_USE", err)
	}
	w.forget()
	if _, err := w.Certificates.UpdateServerCertificate(t.Context(), &slbv1.UpdateServerCertificateRequest{
		ServerCertificateId: id, Name: new("renamed"), SetTags: []*commonv1.Tag{{Key: "more"}}, RemoveTagKeys: []string{"owner"},
		ResourceGroupId: new("rg-2"),
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"SetServerCertificateName", "TagResources", "UntagResources", "MoveResourceGroup"},
		w.actions(true)); diff != "" {
		t.Errorf("calls of the update (-want +got):\n%s", diff)
	}
	if got := list(&slbv1.ListServerCertificatesRequest{
		Name: "renamed", Tags: []*commonv1.Tag{{Key: "more"}}, ResourceGroupId: "rg-2",
	}); len(got) != 1 || len(got[0].GetTags()) != 1 {
		t.Errorf("after the update: %v", got)
	}
	for range 2 { // one that is gone is a success
		if err := remove(testCert); err != nil {
			t.Error(err)
		}
	}
	_, err = w.Certificates.UpdateServerCertificate(t.Context(),
		&slbv1.UpdateServerCertificateRequest{ServerCertificateId: testCert, Name: new("x")})
	wantNotFound(t, err, rpcerr.CertificateNotFound)
}

func TestCaCertificateFromBeginToEnd(t *testing.T) {
	w := newWorld(t)
	pair := keyPair(t, "authority")
	answer, err := w.Certificates.UploadCaCertificate(t.Context(), &slbv1.UploadCaCertificateRequest{
		RequestId: "r-1", Name: "clients", CertificatePem: pair.GetCertificatePem(),
	})
	if err != nil {
		t.Fatal(err)
	}
	id := answer.GetCaCertificate().GetCaCertificateId()
	if _, err := w.Certificates.UpdateCaCertificate(t.Context(), &slbv1.UpdateCaCertificateRequest{
		CaCertificateId: id, Name: new("renamed"), ResourceGroupId: new("rg-2"),
	}); err != nil {
		t.Fatal(err)
	}
	listed, err := w.Certificates.ListCaCertificates(t.Context(), &slbv1.ListCaCertificatesRequest{CaCertificateIds: []string{id}})
	if err != nil || len(listed.GetCaCertificates()) != 1 {
		t.Fatalf("got %v, %v", listed, err)
	}
	if got := listed.GetCaCertificates()[0]; got.GetName() != "renamed" || got.GetDetails().GetFingerprint() != fingerprint(t, pair) {
		t.Errorf("got %v", got)
	}
	for range 2 {
		if _, err := w.Certificates.DeleteCaCertificate(t.Context(), &slbv1.DeleteCaCertificateRequest{CaCertificateId: id}); err != nil {
			t.Error(err)
		}
	}
	want := []string{
		"DescribeCACertificates", "UploadCACertificate", "SetCACertificateName", "MoveResourceGroup",
		"DescribeCACertificates", "DeleteCACertificate", "DeleteCACertificate",
	}
	if diff := cmp.Diff(want, w.actions(true)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestUploadThatCanNotBeIdentified: an upload whose answer was lost is looked for by name, fingerprint and tags.
func TestUploadThatCanNotBeIdentified(t *testing.T) {
	pair, other := keyPair(t, "web"), keyPair(t, "web")
	owner := []state.Tag{{Key: "owner", Value: "web"}}
	lost := []fault.Rule{{Action: "UploadServerCertificate", Times: 1, When: fault.After, Drop: true}}
	tests := []struct {
		name   string
		others []*state.Certificate
		faults []fault.Rule
		want   rpcerr.Reason
		count  int // at the end
	}{
		{name: "alone", faults: lost, count: 1},
		{name: "not carried out", faults: []fault.Rule{{Action: "UploadServerCertificate", Times: 1, Drop: true}}, count: 1},
		{
			name: "others differ", faults: lost, count: 5,
			others: []*state.Certificate{
				{Name: "web", PEM: other.GetCertificatePem(), Tags: owner}, {Name: "web-2", PEM: pair.GetCertificatePem(), Tags: owner},
				{Name: "web", PEM: pair.GetCertificatePem()}, {Name: "web", PEM: pair.GetCertificatePem(), Tags: owner, CA: true},
			},
		},
		{
			name: "the same before", faults: lost, count: 2,
			others: []*state.Certificate{{Name: "web", PEM: pair.GetCertificatePem(), Tags: owner}},
		},
		{
			name: "the same before, and not carried out", faults: []fault.Rule{{Action: "UploadServerCertificate", Times: 1, Drop: true}}, count: 2,
			others: []*state.Certificate{{Name: "web", PEM: pair.GetCertificatePem(), Tags: owner}},
		},
		{
			name: "the certificates can't be read", want: rpcerr.OutcomeUnknown, count: 1,
			faults: append(slices.Clone(lost), fault.Rule{
				Action: "DescribeServerCertificates", Nth: 2, Error: &fault.Error{Status: 403, Code: "Forbidden.RAM", Message: "no"},
			}),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *openapisim.Config) {
				clear(c.Seed.Certificates)
				for i, cert := range tt.others {
					c.Seed.Certificates[fmt.Sprintf("cert-%d", i)] = cert
				}
			})
			w.strike(t, tt.faults...)
			_, err := w.Certificates.UploadServerCertificate(t.Context(), serverUpload("r-1", pair))
			if rpcerr.ReasonOf(err) != tt.want || (err == nil) != (tt.want == "") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			count := 0
			if w.sim.View(func(c *state.Cloud) { count = len(c.Certificates) }); count != tt.count {
				t.Errorf("%d certificates, want %d", count, tt.count)
			}
			if tt.want == "" || len(tt.others) > 0 {
				return
			}
			// An unknown outcome can be known later: the repetition finds the certificate of the first attempt.
			w.strike(t)
			if _, err := w.Certificates.UploadServerCertificate(t.Context(), serverUpload("r-1", pair)); err != nil {
				t.Errorf("repeated: %v", err)
			}
			if w.sim.View(func(c *state.Cloud) { count = len(c.Certificates) }); count != tt.count {
				t.Errorf("%d certificates after the repetition, want %d", count, tt.count)
			}
		})
	}
}

// TestChainsAndParameters: what tools write into PEM files besides is no obstacle.
func TestChainsAndParameters(t *testing.T) {
	const parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
	w := newWorld(t)
	pair := keyPair(t, "web")
	pair.CertificatePem = "Bag Attributes\n" + pair.GetCertificatePem() + "\n" + keyPair(t, "authority").GetCertificatePem()
	pair.PrivateKeyPem = parameters + pair.GetPrivateKeyPem()
	if _, err := w.Certificates.UploadServerCertificate(t.Context(), serverUpload("r-1", pair)); err != nil {
		t.Error(err)
	}
}

// TestUploadOfTheCertificateService: the simulated cloud has no such service, and says so of what it is asked for.
func TestUploadOfTheCertificateService(t *testing.T) {
	w := newWorld(t)
	_, err := w.Certificates.UploadServerCertificate(t.Context(), &slbv1.UploadServerCertificateRequest{
		RequestId: "r-1", Name: "web", Source: &slbv1.UploadServerCertificateRequest_AlicloudCertificate{
			AlicloudCertificate: &slbv1.AlicloudCertificate{CertificateId: "123", Name: "of the service", RegionId: "cn-hangzhou"},
		},
	})
	if e, ok := rpcerr.From(err); !ok || e.CloudCode != "InvalidParameter.AliCloudCertificateId" || e.Reason != rpcerr.InvalidField {
		t.Errorf("got %v", err)
	}
	got := w.calls(false)[0].Params
	for name, want := range map[string]string{
		"AliCloudCertificateId": "123", "AliCloudCertificateName": "of the service", "AliCloudCertificateRegionId": "cn-hangzhou",
		"ServerCertificateName": "web", "ServerCertificate": "", "PrivateKey": "",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}
