package nlb_test

import (
	"testing"
	"testing/synctest"
	"time"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"

	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// TestListenerComesBack: a listener of each protocol that was deleted for another one is made again as it was.
func TestListenerComesBack(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*state.NLBListener{
		"tcp":     {Protocol: "TCP", Port: 80, IdleTimeout: 60, ProxyProtocol: true},
		"a range": {Protocol: "TCP", StartPort: 80, EndPort: 90, IdleTimeout: 900, Description: "ours"},
		"udp":     {Protocol: "UDP", Port: 53, IdleTimeout: 20, Cps: 7, Description: "ours"},
		"tls": {Protocol: "TCPSSL", Port: 443, IdleTimeout: 900, SecurityPolicyID: "tls_cipher_policy_1_2",
			CertificateIDs: []string{"cert-1"}},
		"tls, all": {Protocol: "TCPSSL", Port: 443, IdleTimeout: 900, SecurityPolicyID: "tls_cipher_policy_1_0",
			CertificateIDs: []string{"cert-1"},
			Ca:             true, CaCertificateIDs: []string{"ca-1"}, Alpn: true, AlpnPolicy: "HTTP2Only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cloud := inprocess.New(t, "vpc-test", network())
				l.NLBID, l.ServerGroupID = "nlb-1", "sgp-1"
				cloud.Add(&state.Cloud{
					NLBs: map[string]*state.NLB{"nlb-1": {VpcID: "vpc-test"}},
					NLBServerGroups: map[string]*state.NLBServerGroup{"sgp-1": {VpcID: "vpc-test", Protocol: l.Protocol,
						ClientIPOff: l.Protocol == "TCPSSL", AnyPort: l.EndPort > 0, HealthCheck: state.NLBHealthCheck{ConnectPort: 80}}},
					NLBListeners: map[string]*state.NLBListener{"lsn-1": l},
				})
				product := nlb.Product{Gateway: cloud.Client(), VPCID: "vpc-test"}
				there, err := product.Read(t.Context(), "nlb-1", observe.Extent{View: observe.Full})
				if err != nil || len(there.Listeners) != 1 {
					t.Fatalf("read %v, %v", there.Listeners, err)
				}
				before := the(cloud)
				gone := plan.DeleteListener{Key: there.Listeners[0].Key, GroupID: "sgp-1", Old: there.Listeners[0]}
				for _, action := range append([]plan.Action{gone}, gone.Back()...) {
					result, err := product.Call(t.Context(), apply.Work{}, there, action)
					if err != nil {
						t.Errorf("%s: %v", action, err)
					}
					if result.ListenerID != "" {
						there.Listeners[0] = model.Listener{Key: gone.Key, ID: result.ListenerID}
					}
				}
				check(t, "the listener", before, the(cloud))
			})
		})
	}
}

// the is the only listener, without its id and when it was made.
func the(cloud *inprocess.Cloud) (found state.NLBListener) {
	cloud.Look(func(c *state.Cloud) {
		for _, l := range c.NLBListeners {
			found = *l
		}
	})
	found.ID, found.Number, found.Created, found.Spelling = "", 0, time.Time{}, nil
	return found
}
