package domainextension

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"google.golang.org/grpc/codes"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// callerFunc is a cloud in one function.
type callerFunc func(call openapi.Call, out any) error

func (f callerFunc) Do(_ context.Context, call openapi.Call, out any) (openapi.Result, error) {
	return openapi.Result{}, f(call, out)
}

// TestDomainInOtherLetters: a domain extension is known by its domain however the cloud writes it.
func TestDomainInOtherLetters(t *testing.T) {
	service := New(slb.New(callerFunc(func(call openapi.Call, out any) error {
		if call.Action == "CreateDomainExtension" {
			return &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown}
		}
		return json.Unmarshal([]byte(`{"DomainExtensions":{"DomainExtension":[
			{"DomainExtensionId":"de-1","Domain":"www.example.com","ServerCertificateId":"cert-1"}]}}`), out)
	}), cloud.Shared{Logger: slog.New(slog.DiscardHandler), Locks: &flow.Keyed[string]{}}, nil))
	made, err := service.CreateDomainExtension(t.Context(), &slbv1.CreateDomainExtensionRequest{
		RequestId: "r-1", Key: &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 443, Protocol: slbv1.Protocol_PROTOCOL_HTTPS},
		Domain: "WWW.Example.com", ServerCertificateId: "cert-1",
	})
	if made.GetDomainExtensionId() != "de-1" || err != nil {
		t.Errorf("got %v, %v, want de-1", made, err)
	}
}
