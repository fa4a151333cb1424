package server

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func userUpload(t *testing.T, requestID, name string) *casv1.UploadCertificateRequest {
	t.Helper()
	pair := keyPair(t, name)
	return &casv1.UploadCertificateRequest{
		RequestId: requestID, Name: name, CertificatePem: pair.GetCertificatePem(), PrivateKeyPem: pair.GetPrivateKeyPem(),
	}
}

// TestUserCertificateFromBeginToEnd: what is uploaded to the Certificate Management Service can be read, and is gone after its deletion.
func TestUserCertificateFromBeginToEnd(t *testing.T) {
	w := newWorld(t)
	request := userUpload(t, "r-1", "web")
	answer, err := w.UserCertificates.UploadCertificate(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	id := answer.GetCertificate().GetCertificateId()
	if want := id + "-cn-hangzhou"; id == "" || answer.GetCertificate().GetIdentifier() != want {
		t.Errorf("listeners name it %q, want %q", answer.GetCertificate().GetIdentifier(), want)
	}
	if diff := cmp.Diff([]string{"UploadUserCertificate", "GetUserCertificateDetail"}, w.actions(true)); diff != "" {
		t.Errorf("calls of the upload (-want +got):\n%s", diff)
	}
	got, err := w.UserCertificates.GetCertificate(t.Context(), &casv1.GetCertificateRequest{CertificateId: id})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(answer.GetCertificate(), got.GetCertificate(), protocmp.Transform()); diff != "" {
		t.Errorf("read (-uploaded +read):\n%s", diff)
	}
	for _, call := range w.calls(true) {
		if call.Action == "GetUserCertificateDetail" && call.Params["CertFilter"] != "true" {
			t.Error("the cloud was asked for the private key")
		}
	}
	c := got.GetCertificate()
	if c.GetName() != "web" || c.GetCommonName() != "web" || c.GetSha256() == "" || c.GetSerialNumber() != "1" ||
		!cmp.Equal(c.GetSubjectAlternativeNames(), []string{"web.example.com"}) || c.GetExpirationTime().AsTime().Before(time.Now()) ||
		!strings.EqualFold(strings.ReplaceAll(c.GetFingerprint(), ":", ""),
			strings.ReplaceAll(fingerprint(t, keyPairOf(request)), ":", "")) {
		t.Errorf("got %v", c)
	}
	listed, err := w.UserCertificates.ListCertificates(t.Context(), &casv1.ListCertificatesRequest{Name: "web"})
	if err != nil || len(listed.GetCertificates()) != 1 || listed.GetCertificates()[0].GetCertificateId() != id {
		t.Errorf("listed by the name: %v, %v", listed, err)
	}
	_, err = w.UserCertificates.UploadCertificate(t.Context(), userUpload(t, "r-2", "web"))
	if rpcerr.ReasonOf(err) != rpcerr.AlreadyExists {
		t.Errorf("another with the name: got %v, want ALREADY_EXISTS", err)
	}
	for range 2 {
		if _, err := w.UserCertificates.DeleteCertificate(t.Context(), &casv1.DeleteCertificateRequest{CertificateId: id}); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	_, err = w.UserCertificates.GetCertificate(t.Context(), &casv1.GetCertificateRequest{CertificateId: id, MaxAge: durationpb.New(time.Hour)})
	wantNotFound(t, err, rpcerr.CertificateNotFound)
}

// TestExpiredUserCertificatesAreListed: the cloud leaves them out, unless it is asked for them.
func TestExpiredUserCertificatesAreListed(t *testing.T) {
	w := newWorld(t)
	if _, err := w.UserCertificates.ListCertificates(t.Context(), &casv1.ListCertificatesRequest{}); err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, call := range w.calls(true) {
		asked = append(asked, call.Params["OrderType"]+" "+call.Params["Status"])
	}
	if diff := cmp.Diff([]string{"UPLOAD ", "UPLOAD EXPIRED"}, asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

// TestLostUploadOfAUserCertificate: the answer is that of the first attempt, and there is one certificate.
func TestLostUploadOfAUserCertificate(t *testing.T) {
	w := newWorld(t)
	if err := w.sim.SetFaults(fault.Rule{Action: "UploadUserCertificate", Drop: true, When: fault.After, Times: 1}); err != nil {
		t.Fatal(err)
	}
	answer, err := w.UserCertificates.UploadCertificate(t.Context(), userUpload(t, "r-1", "web"))
	if err != nil {
		t.Fatal(err)
	}
	w.sim.View(func(c *state.Cloud) {
		if cert := c.UserCertificates[answer.GetCertificate().GetCertificateId()]; cert == nil || cert.Name != "web" {
			t.Errorf("got %v of %v", answer, c.UserCertificates)
		}
	})
}

// TestUserCertificatesByTheirNames: CAS shows no tags, so the names say whose a certificate is. Only one of the cluster can be
// uploaded and deleted by a caller that is kept to the cluster, and none by a caller that is kept to other tags.
func TestUserCertificatesByTheirNames(t *testing.T) {
	for name, forbidden := range map[string]bool{
		"k8s-c-1-0123456789ab": false, "k8s-c-2-0123456789ab": true, "k8s-c-1": true, "k8s-c-1-": true, "web": true, "c-1": true,
		"k8s-c-1-2-0123456789ab": true, "K8s-c-1-0123456789ab": true,
	} {
		for which, s := range map[string]config.Scope{
			"cluster": {ClusterID: "c-1"}, "controller": {ClusterID: "c-1", Controller: true}, "team": {Tags: map[string]string{"team": "web"}},
		} {
			w := newWorld(t, func(cfg *openapisim.Config) {
				cfg.Seed.UserCertificates = map[string]*state.UserCertificate{"100": {Name: name}}
			})
			s.Callers = []string{scoped}
			w.scopes = []config.Scope{s}
			w.startGateway(t)
			forbidden := forbidden || which == "team"
			_, err := w.UserCertificates.DeleteCertificate(t.Context(), &casv1.DeleteCertificateRequest{CertificateId: "100"})
			if got := rpcerr.ReasonOf(err) == rpcerr.CallerForbidden; got != forbidden || !forbidden && err != nil {
				t.Errorf("%s: delete %s: got %v", which, name, err)
			}
			if forbidden {
				w.sim.View(func(c *state.Cloud) {
					if c.UserCertificates["100"] == nil {
						t.Errorf("%s: %s is gone", which, name)
					}
				})
			}
			upload := userUpload(t, "r-1", "web")
			upload.Name = name + "ff"
			forbidden = forbidden && (name != "k8s-c-1-" || which == "team")
			_, err = w.UserCertificates.UploadCertificate(t.Context(), upload)
			if got := rpcerr.ReasonOf(err) == rpcerr.CallerForbidden; got != forbidden || !forbidden && err != nil {
				t.Errorf("%s: upload %s: got %v", which, upload.GetName(), err)
			}
		}
	}
}

func keyPairOf(r *casv1.UploadCertificateRequest) *slbv1.KeyPair {
	return &slbv1.KeyPair{CertificatePem: r.GetCertificatePem(), PrivateKeyPem: r.GetPrivateKeyPem()}
}
