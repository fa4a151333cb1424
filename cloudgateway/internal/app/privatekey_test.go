package app

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/status"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/tracing/tracingtest"

	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/writetest"
)

// upload sends a certificate and its key to the cloud, to one of the two places where it keeps them.
type upload struct {
	action, span string
	send         func(ctx context.Context, client *gateway.Client, n int, pair *slbv1.KeyPair) error
}

func uploads() map[string]upload {
	return map[string]upload{
		"of a CLB": {"UploadServerCertificate", "Slb.UploadServerCertificate",
			func(ctx context.Context, client *gateway.Client, n int, pair *slbv1.KeyPair) error {
				_, err := client.Certificates.UploadServerCertificate(ctx, &slbv1.UploadServerCertificateRequest{
					RequestId: fmt.Sprintf("r-%d", n), Name: fmt.Sprintf("web-%d", n),
					Source: &slbv1.UploadServerCertificateRequest_KeyPair{KeyPair: pair},
				})
				return err
			}},
		"of the Certificate Management Service": {"UploadUserCertificate", "Cas.UploadUserCertificate",
			func(ctx context.Context, client *gateway.Client, n int, pair *slbv1.KeyPair) error {
				_, err := client.UserCertificates.UploadCertificate(ctx, &casv1.UploadCertificateRequest{
					RequestId: fmt.Sprintf("r-%d", n), Name: fmt.Sprintf("web-%d", n),
					CertificatePem: pair.GetCertificatePem(), PrivateKeyPem: pair.GetPrivateKeyPem(),
				})
				return err
			}},
	}
}

// TestPrivateKeysAreSeenNowhere: whatever becomes of the upload of a certificate, its private key is in no log, also at level debug,
// no audit line, no trace, no metric and no error, and not in what the simulated cloud remembers of calls.
func TestPrivateKeysAreSeenNowhere(t *testing.T) {
	for name, upload := range uploads() {
		t.Run(name, upload.isSeenNowhere)
	}
}

func (u upload) isSeenNowhere(t *testing.T) {
	pair, err := writetest.NewKeyPair("web")
	if err != nil {
		t.Fatal(err)
	}
	other, err := writetest.NewKeyPair("other")
	if err != nil {
		t.Fatal(err)
	}
	key := pair.GetPrivateKeyPem()
	quoted := fmt.Sprintf("We don't like PrivateKey=%s or PrivateKey=%s or {\"PrivateKey\": %q} or %s",
		url.QueryEscape(key), key, key, strings.Join(strings.Fields(key), " "))
	refusal := func(status int, code string) *fault.Error {
		return &fault.Error{Status: status, Code: code, Message: quoted}
	}
	tests := []struct {
		name    string
		request *slbv1.KeyPair
		fault   fault.Rule
		want    rpcerr.Reason
	}{
		{name: "done", request: pair},
		{name: "answer lost", request: pair, fault: fault.Rule{Drop: true, When: fault.After}},
		{name: "refused with a quotation", request: pair,
			fault: fault.Rule{Error: refusal(400, "InvalidParameter")}, want: rpcerr.InvalidField},
		{name: "server error with a quotation", request: pair, fault: fault.Rule{Error: refusal(500, "InternalError")}},
		{name: "key of another", request: &slbv1.KeyPair{CertificatePem: other.GetCertificatePem(), PrivateKeyPem: key},
			want: rpcerr.InvalidField},
		{name: "swapped", request: &slbv1.KeyPair{CertificatePem: key, PrivateKeyPem: pair.GetCertificatePem()}, want: rpcerr.InvalidField},
		{name: "broken", request: &slbv1.KeyPair{CertificatePem: pair.GetCertificatePem(), PrivateKeyPem: key[:len(key)/2]},
			want: rpcerr.InvalidField},
		// At the end, since nothing is uploaded for a while then.
		{name: "throttled with a quotation", request: pair, fault: fault.Rule{Error: refusal(400, "Throttling.User")}, want: rpcerr.Throttled},
	}
	collector := tracingtest.Start(t)
	w := newWorld(t)
	text := string(must(os.ReadFile(w.file)))
	w.file = w.write("gateway.yaml", strings.Replace(text, "endpoints: {", fmt.Sprintf("endpoints: {cas: %q, ", w.serve("cas")), 1))
	w.traced(collector, "")
	w.start()
	seen := map[string]string{}
	w.controller(collector, func(ctx context.Context, client *gateway.Client) error {
		for i, tt := range tests {
			var rules []fault.Rule
			if tt.fault.Drop || tt.fault.Error != nil {
				rule := tt.fault
				rule.Action, rule.Times = u.action, 1
				rules = append(rules, rule)
			}
			if err := w.sim.SetFaults(rules...); err != nil {
				t.Error(err)
			}
			err := u.send(ctx, client, i, tt.request)
			if got := rpcerr.ReasonOf(err); got != tt.want {
				t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
			}
			seen["the error of "+tt.name] = fmt.Sprintf("%v\n%+v\n%v\n%v", err, err, status.Convert(err).Proto(), status.Convert(err).Details())
		}
		return nil
	})
	_, seen["the metrics"] = w.get("/metrics")
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	seen["the log"], seen["the traces"] = w.log.String(), collector.Text()
	seen["the simulator's journal"] = fmt.Sprintf("%+v", w.sim.Calls(0))
	if !strings.Contains(seen["the simulator's journal"], u.action) {
		t.Error("the journal doesn't show the uploads; the test is wrong")
	}
	if audits := strings.Count(seen["the log"], `"msg":"audit"`); audits != len(tests) {
		t.Errorf("%d audit lines, want %d:\n%s", audits, len(tests), seen["the log"])
	}
	if !strings.Contains(seen["the traces"], u.span) {
		t.Error("the traces don't show the uploads; the test is wrong")
	}
	for where, text := range seen {
		for _, part := range strings.FieldsFunc(key, func(r rune) bool { return strings.ContainsRune("\n+/=", r) }) {
			const revealing = 8 // letters; shorter ones may be anything
			if len(part) >= revealing && !strings.Contains(part, "-----") && strings.Contains(text, part) {
				t.Errorf("%s shows %q of the private key:\n%s", where, part, text)
				break
			}
		}
		if strings.Contains(text, "PRIVATE KEY-----") {
			t.Errorf("%s shows the head of a private key:\n%s", where, text)
		}
	}
}
