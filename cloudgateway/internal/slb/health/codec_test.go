package health

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

func TestHealthDecode(t *testing.T) {
	tests := []struct {
		name, answer string
		want         *slbv1.ServerHealth // nil: an error
	}{
		{
			name:   "without a type",
			answer: `{"ListenerPort":80,"Protocol":"tcp","ServerId":"i-1","Port":8080,"ServerHealthStatus":"normal"}`,
			want: &slbv1.ServerHealth{
				Listener: &slbv1.ListenerKey{Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP},
				Type:     slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-1", Port: 8080, Status: "normal",
			},
		},
		{
			name: "an interface, with numbers as text",
			answer: `{"ListenerPort":"443","Protocol":"HTTPS","ServerId":"eni-1","ServerIp":"10.0.0.1","Type":"eni","Port":"8080",
				"ServerHealthStatus":"abnormal"}`,
			want: &slbv1.ServerHealth{
				Listener: &slbv1.ListenerKey{Port: 443, Protocol: slbv1.Protocol_PROTOCOL_HTTPS},
				Type:     slbv1.ServerType_SERVER_TYPE_ENI, ServerId: "eni-1", ServerIp: "10.0.0.1", Port: 8080, Status: "abnormal",
			},
		},
		{name: "no port", answer: `{"ListenerPort":80,"ServerId":"i-1"}`},
		{name: "no listener", answer: `{"ServerId":"i-1","Port":80}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := decode([]byte(tt.answer))
			if (err != nil) != (tt.want == nil) {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(tt.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("health (-want +got):\n%s", diff)
			}
		})
	}
}
