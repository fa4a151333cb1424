package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

// createBalancer makes an intranet instance and gives its id.
func (w *world) createBalancer(t *testing.T, requestID string) string {
	t.Helper()
	answer, err := w.LoadBalancers.CreateLoadBalancer(t.Context(), balancerRequest(requestID))
	if err != nil {
		t.Fatalf("create load balancer: %v", err)
	}
	return answer.GetLoadBalancer().GetLoadBalancerId()
}

func balancerRequest(requestID string) *slbv1.CreateLoadBalancerRequest {
	return &slbv1.CreateLoadBalancerRequest{
		RequestId: requestID, Name: "web", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTRANET,
		VpcId: testVPC, VswitchId: testVSwitch, Spec: "slb.s1.small",
		InstanceChargeType:     slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC,
		DeleteProtection:       true,
		ModificationProtection: &slbv1.ModificationProtection{Enabled: true, Reason: "managed.by.ack"},
		Tags:                   []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-1"}, {Key: "kubernetes.do.not.delete", Value: "web"}},
	}
}

func (w *world) createGroup(t *testing.T, lb string, servers ...*slbv1.Server) string {
	t.Helper()
	answer, err := w.ServerGroups.CreateServerGroup(t.Context(), groupRequest(lb, servers...))
	if err != nil {
		t.Fatalf("create vServer group: %v", err)
	}
	return answer.GetServerGroupId()
}

func groupRequest(lb string, servers ...*slbv1.Server) *slbv1.CreateServerGroupRequest {
	return &slbv1.CreateServerGroupRequest{RequestId: "group-1", LoadBalancerId: lb, Name: "k8s/80/web", Servers: servers}
}

func listenerRequest(lb, group string) *slbv1.CreateListenerRequest {
	return &slbv1.CreateListenerRequest{
		Key: &slbv1.ListenerKey{LoadBalancerId: lb, Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP},
		Config: &slbv1.ListenerConfig{
			Description: proto.String("k8s/80/web"), ServerGroupId: proto.String(group), Scheduler: proto.String("rr"),
			HealthCheck: &slbv1.HealthCheck{Interval: proto.Int32(4)},
		},
	}
}

func TestColdCreateTakesFourCalls(t *testing.T) {
	w := newWorld(t)
	lb := w.createBalancer(t, "lb-1")
	group := w.createGroup(t, lb, ecsServers(0, 20)...)
	if _, err := w.Listeners.CreateListener(t.Context(), listenerRequest(lb, group)); err != nil {
		t.Fatalf("create listener: %v", err)
	}
	want := []string{"CreateLoadBalancer", "CreateVServerGroup", "CreateLoadBalancerTCPListener", "StartLoadBalancerListener"}
	if diff := cmp.Diff(want, w.actions(true)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	answer, err := w.LoadBalancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{
		LoadBalancerId: lb, View: slbv1.View_VIEW_FULL,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v", answer)
}
