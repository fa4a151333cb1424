package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestHealthStatus: what the listeners of one instance find, in one call.
func TestHealthStatus(t *testing.T) {
	w := newWorld(t)
	lb := w.createBalancer(t, "lb-1")
	group := w.createGroup(t, lb, ecsServers(0, 2)...)
	for _, protocol := range []slbv1.Protocol{slbv1.Protocol_PROTOCOL_UDP, slbv1.Protocol_PROTOCOL_TCP} {
		r := listenerRequest(lb, group)
		r.Key.Protocol = protocol
		if _, err := w.Listeners.CreateListener(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	w.sim.Update(func(c *state.Cloud) { c.Instances[instanceID(1)].Status = "Stopped" })
	const tcp, udp = slbv1.Protocol_PROTOCOL_TCP, slbv1.Protocol_PROTOCOL_UDP
	tests := []struct {
		name     string
		port     int32
		protocol slbv1.Protocol
		want     []string
	}{
		{name: "of the instance", want: []string{
			"80/TCP i-0000:30080 normal", "80/TCP i-0001:30080 abnormal", "80/UDP i-0000:30080 normal", "80/UDP i-0001:30080 abnormal",
		}},
		{name: "of a protocol", protocol: udp, want: []string{"80/UDP i-0000:30080 normal", "80/UDP i-0001:30080 abnormal"}},
		{name: "of a listener", port: 80, protocol: tcp, want: []string{"80/TCP i-0000:30080 normal", "80/TCP i-0001:30080 abnormal"}},
	}
	for _, tt := range tests {
		w.forget()
		answer, err := w.ServerHealth.ListServerHealth(t.Context(), &slbv1.ListServerHealthRequest{
			LoadBalancerId: lb, Port: tt.port, Protocol: tt.protocol,
		})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, healthTexts(answer)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff([]string{"DescribeHealthStatus"}, w.actions(true)); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", tt.name, diff)
		}
	}
}

func healthTexts(answer *slbv1.ListServerHealthResponse) (list []string) {
	for _, h := range answer.GetServers() {
		protocol := h.GetListener().GetProtocol().String()[len("PROTOCOL_"):]
		list = append(list, fmt.Sprintf("%d/%s %s:%d %s", h.GetListener().GetPort(), protocol, h.GetServerId(), h.GetPort(), h.GetStatus()))
	}
	return list
}

func TestHealthStatusOfWhatIsNotThere(t *testing.T) {
	w := newWorld(t)
	_, err := w.ServerHealth.ListServerHealth(t.Context(), &slbv1.ListServerHealthRequest{LoadBalancerId: "lb-gone"})
	wantNotFound(t, err, rpcerr.LoadBalancerNotFound)
	_, err = w.ServerHealth.ListServerHealth(t.Context(), &slbv1.ListServerHealthRequest{
		LoadBalancerId: w.createBalancer(t, "lb-1"), Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP,
	})
	wantNotFound(t, err, rpcerr.ListenerNotFound)
}

// TestHealthStatusIsRemembered for those who accept an age, until the gateway changes something.
func TestHealthStatusIsRemembered(t *testing.T) {
	w := newWorld(t)
	at := withListener(t, w)
	read := func() int {
		w.forget()
		answer, err := w.ServerHealth.ListServerHealth(t.Context(), &slbv1.ListServerHealthRequest{
			LoadBalancerId: at.lb, MaxAge: durationpb.New(time.Hour),
		})
		if err != nil || len(answer.GetServers()) == 0 {
			t.Fatalf("%d servers and %v", len(answer.GetServers()), err)
		}
		return len(w.actions(true))
	}
	if first, second := read(), read(); first != 1 || second != 0 {
		t.Errorf("%d and %d calls, want 1 and 0", first, second)
	}
	if _, err := w.Listeners.UpdateListener(t.Context(), &slbv1.UpdateListenerRequest{
		Key:    listenerRequest(at.lb, at.group).GetKey(),
		Config: &slbv1.ListenerConfig{HealthCheck: &slbv1.HealthCheck{Interval: proto.Int32(5)}},
	}); err != nil {
		t.Fatal(err)
	}
	if calls := read(); calls != 1 {
		t.Errorf("%d calls after a change, want 1", calls)
	}
}
