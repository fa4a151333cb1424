package listener

import (
	"testing"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

func TestChecks(t *testing.T) {
	const tcp, tcpssl = nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCP, nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCPSSL
	of := func(protocol nlbv1.ListenerProtocol, change func(*nlbv1.CreateListenerRequest)) *nlbv1.CreateListenerRequest {
		r := &nlbv1.CreateListenerRequest{
			RequestId: "r", LoadBalancerId: "nlb-1", Protocol: protocol, Port: 80, Config: &nlbv1.ListenerConfig{ServerGroupId: new("sgp-1")},
		}
		change(r)
		return r
	}
	ports := func(first, last int32) *nlbv1.CreateListenerRequest {
		return of(tcp, func(r *nlbv1.CreateListenerRequest) { r.Port, r.StartPort, r.EndPort = 0, first, last })
	}
	secure := func(certificates, additional []string) *nlbv1.CreateListenerRequest {
		return of(tcpssl, func(r *nlbv1.CreateListenerRequest) {
			r.Config.CertificateIds, r.AdditionalCertificateIds = certificates, additional
		})
	}
	checktest.Run(t, Checks(), []checktest.Case{
		{Name: "of a port", Request: of(tcp, func(*nlbv1.CreateListenerRequest) {})},
		{Name: "without a group", Request: of(tcp, func(r *nlbv1.CreateListenerRequest) { r.Config = nil }),
			Want: []string{"config.server_group_id: is required"}},
		{Name: "of two ports", Request: ports(80, 81)},
		{Name: "of a range of one port", Request: ports(80, 80), Want: []string{"end_port: must be greater than start_port"}},
		{Name: "of a range that runs back", Request: ports(80, 79), Want: []string{"end_port: must be greater than start_port"}},
		{Name: "of a range without an end", Request: ports(80, 0), Want: []string{"end_port: is required with start_port"}},
		{Name: "with certificates", Request: secure([]string{"cert-1"}, []string{"cert-2"})},
		{Name: "of TCPSSL without a certificate", Request: secure(nil, []string{"cert-2"}),
			Want: []string{"config.certificate_ids: is required for TCPSSL"}},
		{Name: "of TCP with further certificates", Request: of(tcp, func(r *nlbv1.CreateListenerRequest) {
			r.AdditionalCertificateIds = []string{"cert-2"}
		}), Want: []string{"additional_certificate_ids: only TCPSSL listeners have certificates"}},
	})
}
