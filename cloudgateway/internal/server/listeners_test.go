package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

func TestListenersOfEveryProtocol(t *testing.T) {
	health := func() *slbv1.HealthCheck {
		return &slbv1.HealthCheck{
			Enabled: new(true), ConnectPort: proto.Int32(8080), Interval: proto.Int32(7), HealthyThreshold: proto.Int32(4),
			UnhealthyThreshold: proto.Int32(5), Timeout: proto.Int32(9),
		}
	}
	web := func() *slbv1.HealthCheck {
		h := health()
		h.Uri, h.Domain, h.HttpCode = new("/healthz"), new("example.com"), new("http_2xx,http_3xx")
		return h
	}
	webWithMethod := func() *slbv1.HealthCheck {
		h := web()
		h.Method = new("head")
		return h
	}
	tcpCheck := web()
	tcpCheck.Type = new("http")
	tests := []struct {
		protocol slbv1.Protocol
		cfg      *slbv1.ListenerConfig
		change   *slbv1.ListenerConfig
	}{
		{
			protocol: slbv1.Protocol_PROTOCOL_TCP,
			cfg: &slbv1.ListenerConfig{
				Scheduler: new("wlc"), BandwidthMbps: proto.Int32(-1), PersistenceTimeout: proto.Int32(60),
				EstablishedTimeout: proto.Int32(100), ConnectionDrain: new(true), ConnectionDrainTimeout: proto.Int32(20),
				ProxyProtocolV2: new(true), HealthCheck: tcpCheck,
			},
			change: &slbv1.ListenerConfig{
				PersistenceTimeout: proto.Int32(0), ProxyProtocolV2: new(false),
				HealthCheck: &slbv1.HealthCheck{Interval: proto.Int32(8)},
			},
		},
		{
			protocol: slbv1.Protocol_PROTOCOL_UDP,
			cfg: &slbv1.ListenerConfig{
				Scheduler: new("sch"), BandwidthMbps: proto.Int32(-1), ProxyProtocolV2: new(true), HealthCheck: health(),
			},
			change: &slbv1.ListenerConfig{HealthCheck: &slbv1.HealthCheck{Timeout: proto.Int32(3)}},
		},
		{
			protocol: slbv1.Protocol_PROTOCOL_HTTP,
			cfg: &slbv1.ListenerConfig{
				Scheduler: new("rr"), IdleTimeout: proto.Int32(20), RequestTimeout: proto.Int32(30),
				StickySession: new(true), StickySessionType: new("insert"), CookieTimeout: proto.Int32(600),
				XForwardedForProto: new(true), XForwardedForSlbPort: new(true), XForwardedForClientSrcPort: new(true),
				HealthCheck: webWithMethod(),
			},
			change: &slbv1.ListenerConfig{XForwardedForProto: new(false), IdleTimeout: proto.Int32(10)},
		},
		{
			protocol: slbv1.Protocol_PROTOCOL_HTTPS,
			cfg: &slbv1.ListenerConfig{
				Scheduler: new("wrr"), BandwidthMbps: proto.Int32(-1), StickySession: new(true),
				StickySessionType: new("server"), Cookie: new("SESSION"), ServerCertificateId: new(testCert),
				TlsCipherPolicy: new("tls_cipher_policy_1_2"), Http2: new(false), HealthCheck: webWithMethod(),
			},
			change: &slbv1.ListenerConfig{Http2: new(true), TlsCipherPolicy: new("tls_cipher_policy_1_1")},
		},
	}
	for _, tt := range tests {
		t.Run(tt.protocol.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			lb := w.createBalancer(t, "lb-1")
			tt.cfg.Description, tt.cfg.ServerGroupId = new("k8s"), new(w.createGroup(t, lb))
			key := &slbv1.ListenerKey{LoadBalancerId: lb, Port: 443, Protocol: tt.protocol}
			if _, err := w.Listeners.CreateListener(t.Context(), &slbv1.CreateListenerRequest{Key: key, Config: tt.cfg}); err != nil {
				t.Fatal(err)
			}
			w.wantListener(t, key, tt.cfg)
			if _, err := w.Listeners.UpdateListener(t.Context(), &slbv1.UpdateListenerRequest{Key: key, Config: tt.change}); err != nil {
				t.Fatal(err)
			}
			proto.Merge(tt.cfg, tt.change)
			w.wantListener(t, key, tt.cfg)
		})
	}
}

// wantListener checks that a listener runs and has at least the attributes of cfg.
func (w *world) wantListener(t *testing.T, key *slbv1.ListenerKey, cfg *slbv1.ListenerConfig) {
	t.Helper()
	answer, err := w.Listeners.ListListeners(t.Context(),
		&slbv1.ListListenersRequest{LoadBalancerIds: []string{key.GetLoadBalancerId()}})
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.GetListeners()) != 1 || answer.GetListeners()[0].GetStatus() != "running" {
		t.Fatalf("got %v, want one running listener", answer.GetListeners())
	}
	got := answer.GetListeners()[0].GetConfig()
	merged := proto.CloneOf(got)
	proto.Merge(merged, cfg)
	if diff := cmp.Diff(merged, got, protocmp.Transform()); diff != "" {
		t.Errorf("listener (-with what was set +got):\n%s", diff)
	}
}
