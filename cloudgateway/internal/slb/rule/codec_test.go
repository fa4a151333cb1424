package rule

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

func TestRuleParams(t *testing.T) {
	tests := []struct {
		name string
		cfg  *slbv1.ForwardingRuleConfig
		want map[string]string
	}{
		{name: "nothing", cfg: nil, want: map[string]string{}},
		{
			name: "another group, without the switch that listeners have", cfg: &slbv1.ForwardingRuleConfig{ServerGroupId: new("rsp-1")},
			want: map[string]string{"VServerGroupId": "rsp-1"},
		},
		{
			name: "everything",
			cfg: &slbv1.ForwardingRuleConfig{
				Name: new("n"), ServerGroupId: new("rsp-1"), ListenerSync: new(false), Scheduler: new("wlc"), StickySession: new(true),
				StickySessionType: new("server"), Cookie: new("SESSION"), CookieTimeout: proto.Int32(5),
				HealthCheck: &slbv1.HealthCheck{
					Enabled: new(false), Uri: new("/h"), Domain: new("$_ip"), HttpCode: new("http_2xx"), ConnectPort: proto.Int32(-520),
					Interval: proto.Int32(2), HealthyThreshold: proto.Int32(3), UnhealthyThreshold: proto.Int32(4), Timeout: proto.Int32(5),
				},
			},
			want: map[string]string{
				"RuleName": "n", "VServerGroupId": "rsp-1", "ListenerSync": "off", "Scheduler": "wlc", "StickySession": "on",
				"StickySessionType": "server", "Cookie": "SESSION", "CookieTimeout": "5", "HealthCheck": "off", "HealthCheckURI": "/h",
				"HealthCheckDomain": "$_ip", "HealthCheckHttpCode": "http_2xx", "HealthCheckConnectPort": "-520",
				"HealthCheckInterval": "2", "HealthyThreshold": "3", "UnhealthyThreshold": "4", "HealthCheckTimeout": "5",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, configParams(tt.cfg)); diff != "" {
				t.Errorf("params (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRuleAttributesFitTheMessage: every field can be set, unless it is one of a health check that rules don't have.
func TestRuleAttributesFitTheMessage(t *testing.T) {
	covered := map[string]bool{}
	for _, a := range rows() {
		if covered[a.Field] {
			t.Errorf("%s has two rows", a.Field)
		}
		covered[a.Field] = true
	}
	fields := (&slbv1.ForwardingRuleConfig{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.Kind() != protoreflect.MessageKind && !covered[string(f.Name())] {
			t.Errorf("%s has no row", f.Name())
		}
	}
}

func TestRuleDecode(t *testing.T) {
	tests := []struct {
		name, answer string
		want         *slbv1.ForwardingRule
	}{
		{
			name: "one that follows its listener, with zeros for what does not apply",
			answer: `{"RuleId":"rule-1","RuleName":"n","Domain":"","Url":"/a","VServerGroupId":"rsp-1","ListenerSync":"on","CookieTimeout":0,
				"HealthCheckInterval":0,"Scheduler":"","ServiceManagedMode":"Unmanaged"}`,
			want: &slbv1.ForwardingRule{RuleId: "rule-1", Url: "/a", Config: &slbv1.ForwardingRuleConfig{
				Name: new("n"), ServerGroupId: new("rsp-1"), ListenerSync: new(true),
			}},
		},
		{
			name: "numbers as the cloud pleases",
			answer: `{"RuleId":"rule-1","Domain":"a.example.com","ListenerSync":"off","StickySession":"on","CookieTimeout":"60",
				"HealthCheck":"on","HealthCheckConnectPort":-520,"HealthCheckTimeout":"5"}`,
			want: &slbv1.ForwardingRule{RuleId: "rule-1", Domain: "a.example.com", Config: &slbv1.ForwardingRuleConfig{
				ListenerSync: new(false), StickySession: new(true), CookieTimeout: proto.Int32(60),
				HealthCheck: &slbv1.HealthCheck{Enabled: new(true), ConnectPort: proto.Int32(-520), Timeout: proto.Int32(5)},
			}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := decode([]byte(tt.answer))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("rule (-want +got):\n%s", diff)
			}
		})
	}
}
