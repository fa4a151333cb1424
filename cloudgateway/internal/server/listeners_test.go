package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
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
	talking := health()
	talking.Request, talking.Response = new("PING"), new("PONG")
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
				Scheduler: new("sch"), BandwidthMbps: proto.Int32(-1), ProxyProtocolV2: new(true), HealthCheck: talking,
			},
			change: &slbv1.ListenerConfig{HealthCheck: &slbv1.HealthCheck{Timeout: proto.Int32(3), Request: new("HELLO")}},
		},
		{
			protocol: slbv1.Protocol_PROTOCOL_HTTP,
			cfg: &slbv1.ListenerConfig{
				Scheduler: new("rr"), IdleTimeout: proto.Int32(20), RequestTimeout: proto.Int32(30),
				StickySession: new(true), StickySessionType: new("insert"), CookieTimeout: proto.Int32(600),
				XForwardedForProto: new(true), XForwardedForSlbPort: new(true), XForwardedForClientSrcPort: new(true),
				XForwardedFor: new(false), XForwardedForSlbId: new(true), XForwardedForSlbIp: new(true), Gzip: new(false),
				HealthCheck: webWithMethod(),
			},
			change: &slbv1.ListenerConfig{XForwardedForProto: new(false), XForwardedFor: new(true), IdleTimeout: proto.Int32(10)},
		},
		{
			protocol: slbv1.Protocol_PROTOCOL_HTTPS,
			cfg: &slbv1.ListenerConfig{
				Scheduler: new("wrr"), BandwidthMbps: proto.Int32(-1), StickySession: new(true),
				StickySessionType: new("server"), Cookie: new("SESSION"), ServerCertificateId: new(testCert),
				CaCertificateId: new(testCA), Gzip: new(true),
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
			if _, err := w.Listeners.CreateListener(t.Context(), &slbv1.CreateListenerRequest{
				Key: key, Config: tt.cfg, Tags: []*commonv1.Tag{{Key: "team", Value: "web"}},
			}); err != nil {
				t.Fatal(err)
			}
			if got := w.wantListener(t, key, tt.cfg).GetTags(); len(got) != 1 || got[0].GetKey() != "team" {
				t.Errorf("tags %v, want those of the creation", got)
			}
			if _, err := w.Listeners.UpdateListener(t.Context(), &slbv1.UpdateListenerRequest{Key: key, Config: tt.change}); err != nil {
				t.Fatal(err)
			}
			proto.Merge(tt.cfg, tt.change)
			w.wantListener(t, key, tt.cfg)
		})
	}
}

// TestListenerChanges: what changes in which calls.
func TestListenerChanges(t *testing.T) {
	const set, tag, untag = "SetLoadBalancerTCPListenerAttribute", "TagResources", "UntagResources"
	add := []*commonv1.Tag{{Key: "team", Value: "web"}}
	tests := []struct {
		name    string
		request *slbv1.UpdateListenerRequest
		want    []string
		params  map[string]string // some of the first call
	}{
		{
			name:    "SYN proxy",
			request: &slbv1.UpdateListenerRequest{Config: &slbv1.ListenerConfig{SynProxy: new(true)}},
			want:    []string{set}, params: map[string]string{"SynProxy": "enable"},
		},
		{
			name: "everything",
			request: &slbv1.UpdateListenerRequest{
				Config: &slbv1.ListenerConfig{Scheduler: new("wrr")}, SetTags: add, RemoveTagKeys: []string{"former"},
			},
			want: []string{set, tag, untag}, params: map[string]string{"Scheduler": "wrr"},
		},
		{
			name: "tags", request: &slbv1.UpdateListenerRequest{SetTags: add}, want: []string{tag},
			params: map[string]string{"ResourceType": "listener", "Tag.1.Key": "team", "Tag.1.Value": "web"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			at := withListener(t, w)
			w.forget()
			tt.request.Key = listenerRequest(at.lb, at.group).GetKey()
			if _, err := w.Listeners.UpdateListener(t.Context(), tt.request); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, w.actions(true)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			sent := w.calls(true)[0].Params
			for name, want := range tt.params {
				if sent[name] != want {
					t.Errorf("%s is %q, want %q", name, sent[name], want)
				}
			}
			got := w.wantListener(t, tt.request.GetKey(), nil).GetTags()
			if diff := cmp.Diff(tt.request.GetSetTags(), got, protocmp.Transform()); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTagsOfAListenerThatIsNotThere: the cloud has one word for everything that has tags, callers have one for listeners.
func TestTagsOfAListenerThatIsNotThere(t *testing.T) {
	w := newWorld(t)
	_, err := w.Listeners.UpdateListener(t.Context(), &slbv1.UpdateListenerRequest{
		Key:     &slbv1.ListenerKey{LoadBalancerId: w.createBalancer(t, "lb-1"), Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP},
		SetTags: []*commonv1.Tag{{Key: "team", Value: "web"}},
	})
	wantNotFound(t, err, rpcerr.ListenerNotFound)
}

// wantListener checks that a listener runs and has at least the attributes of cfg.
func (w *world) wantListener(t *testing.T, key *slbv1.ListenerKey, cfg *slbv1.ListenerConfig) *slbv1.Listener {
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
	return answer.GetListeners()[0]
}
