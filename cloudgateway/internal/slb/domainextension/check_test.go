package domainextension

import (
	"testing"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

func TestChecks(t *testing.T) {
	key := func(protocol slbv1.Protocol) *slbv1.ListenerKey {
		return &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 443, Protocol: protocol}
	}
	const wrong = "key.protocol: only HTTPS listeners have domain extensions"
	https := key(slbv1.Protocol_PROTOCOL_HTTPS)
	checktest.Run(t, Checks(), []checktest.Case{
		{Request: &slbv1.ListDomainExtensionsRequest{Key: https}},
		{Name: "of HTTP", Request: &slbv1.ListDomainExtensionsRequest{Key: key(slbv1.Protocol_PROTOCOL_HTTP)}, Want: []string{wrong}},
		{Name: "of TCP", Request: &slbv1.ListDomainExtensionsRequest{Key: key(slbv1.Protocol_PROTOCOL_TCP)}, Want: []string{wrong}},
		{Name: "of UDP", Request: &slbv1.ListDomainExtensionsRequest{Key: key(slbv1.Protocol_PROTOCOL_UDP)}, Want: []string{wrong}},
		{Name: "of none", Request: &slbv1.ListDomainExtensionsRequest{}, Want: []string{
			"key.load_balancer_id: is required", "key.port: 0 is out of range, must be 1 to 65535", "key.protocol: is required",
		}},
		{Request: &slbv1.CreateDomainExtensionRequest{RequestId: "r", Key: https, Domain: "*.example.com", ServerCertificateId: "cert-1"}},
		{Request: &slbv1.CreateDomainExtensionRequest{Domain: "example"}, Want: []string{
			"request_id: must be 1 to 64 printable ASCII characters",
			"key.load_balancer_id: is required", "key.port: 0 is out of range, must be 1 to 65535", "key.protocol: is required",
			`domain: "example" is not of the form "www.example.com" or "*.example.com", with at most 253 characters`,
			"server_certificate_id: is required",
		}},
		{Request: &slbv1.UpdateDomainExtensionRequest{LoadBalancerId: "lb-1", DomainExtensionId: "de-1", ServerCertificateId: "cert-1"}},
		{Request: &slbv1.UpdateDomainExtensionRequest{}, Want: []string{
			"domain_extension_id: is required", "server_certificate_id: is required",
		}},
		{Request: &slbv1.DeleteDomainExtensionRequest{LoadBalancerId: "lb-1", DomainExtensionId: "de-1"}},
		{Request: &slbv1.DeleteDomainExtensionRequest{}, Want: []string{"domain_extension_id: is required"}},
	})
}
