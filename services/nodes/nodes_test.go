package nodes_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/services/nodes"
)

func TestParseProviderID(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in string
		want     nodes.ID
		ok       bool
	}{
		{name: "canonical", in: "cn-hangzhou.i-bp1abc", want: nodes.ID{Region: "cn-hangzhou", InstanceID: "i-bp1abc"}, ok: true},
		{name: "with scheme", in: "alicloud://cn-hangzhou.i-bp1abc", want: nodes.ID{Region: "cn-hangzhou", InstanceID: "i-bp1abc"}, ok: true},
		{name: "with scheme and an empty segment", in: "alicloud:///cn-hangzhou.i-bp1abc",
			want: nodes.ID{Region: "cn-hangzhou", InstanceID: "i-bp1abc"}, ok: true},
		{name: "with scheme and segments", in: "alicloud://ack/cn-hangzhou-h/cn-hangzhou.i-bp1abc",
			want: nodes.ID{Region: "cn-hangzhou", InstanceID: "i-bp1abc"}, ok: true},
		{name: "segments without scheme", in: "ack/cn-hangzhou.i-bp1abc"},
		{name: "ends with a slash", in: "alicloud://cn-hangzhou.i-bp1abc/"},
		{name: "more parts", in: "cn-hangzhou.i-bp1abc.x", want: nodes.ID{Region: "cn-hangzhou", InstanceID: "i-bp1abc"}, ok: true},
		{name: "empty"},
		{name: "one part", in: "i-bp1abc"},
		{name: "no region", in: ".i-bp1abc"},
		{name: "no instance", in: "cn-hangzhou."},
		{name: "hybrid", in: "ack-hybrid://cn-hangzhou.i-bp1abc"},
		{name: "kwok", in: "kwok://node.0"},
		{name: "aws", in: "aws:///us-east-1a/i-0abc"},
		{name: "scheme twice", in: "alicloud://alicloud://cn-hangzhou.i-bp1abc"},
		{name: "far too long", in: "cn-hangzhou.i-" + strings.Repeat("x", 127)},
		{name: "blank", in: "cn-hangzhou. i-bp1abc"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, ok := nodes.ParseProviderID(tc.in)
			if got != tc.want || ok != tc.ok {
				t.Errorf("ParseProviderID(%q) = %v, %v, want %v, %v", tc.in, got, ok, tc.want, tc.ok)
			}
		})
	}
}

func FuzzParseProviderID(f *testing.F) {
	f.Add("cn-hangzhou.i-bp1abc")
	f.Add("alicloud://a.b.c")
	f.Fuzz(func(t *testing.T, in string) {
		id, ok := nodes.ParseProviderID(in)
		if !ok {
			if id != (nodes.ID{}) {
				t.Errorf("ParseProviderID(%q) gives %v without ok", in, id)
			}
			return
		}
		if !strings.Contains(in, id.String()) {
			t.Errorf("ParseProviderID(%q) = %s, which is not in it", in, id)
		}
		if again, ok := nodes.ParseProviderID(id.String()); !ok || again != id {
			t.Errorf("%s does not parse to itself", id)
		}
	})
}

func TestExclusion(t *testing.T) {
	t.Parallel()
	label := func(key, value string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{key: value}}}
	}
	type verdict struct{ excluded, fromLoadBalancer, controlPlane, virtual bool }
	for _, tc := range []struct {
		name string
		node *corev1.Node
		want verdict
	}{
		{name: "plain", node: &corev1.Node{}},
		{name: "exclude, any value", node: label("service.alibabacloud.com/exclude-node", "no"), want: verdict{excluded: true,
			fromLoadBalancer: true}},
		{name: "exclude, but false", node: label("service.alibabacloud.com/exclude-node", "False")},
		{name: "from load balancers, but false", node: label("node.kubernetes.io/exclude-from-external-load-balancers", "false")},
		{name: "from load balancers, old name, but false", node: label("alpha.service-controller.kubernetes.io/exclude-balancer", "false")},
		{name: "exclude, old name", node: label("service.beta.kubernetes.io/exclude-node", ""), want: verdict{excluded: true,
			fromLoadBalancer: true}},
		{name: "hybrid", node: &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "ack-hybrid://x"}},
			want: verdict{excluded: true, fromLoadBalancer: true}},
		{name: "from load balancers", node: label("node.kubernetes.io/exclude-from-external-load-balancers", ""),
			want: verdict{fromLoadBalancer: true}},
		{name: "from load balancers, old name", node: label("alpha.service-controller.kubernetes.io/exclude-balancer", ""),
			want: verdict{fromLoadBalancer: true}},
		{name: "master", node: label("node-role.kubernetes.io/master", ""), want: verdict{fromLoadBalancer: true, controlPlane: true}},
		{name: "control-plane", node: label("node-role.kubernetes.io/control-plane", ""), want: verdict{controlPlane: true}},
		{name: "virtual", node: label("type", "virtual-kubelet"), want: verdict{fromLoadBalancer: true, virtual: true}},
		{name: "other type", node: label("type", "kwok")},
		{name: "to be deleted", node: &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule},
		}}}},
		{name: "other taint", node: &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "dedicated"}}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := verdict{nodes.Excluded(tc.node), nodes.ExcludedFromLoadBalancer(tc.node), nodes.IsControlPlane(tc.node), nodes.IsVirtual(tc.node)}
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestReadyAndSilent(t *testing.T) {
	t.Parallel()
	conditions := func(c ...corev1.NodeCondition) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: c}}
	}
	for _, tc := range []struct {
		name   string
		node   *corev1.Node
		want   corev1.ConditionStatus
		silent bool
	}{
		{name: "has not begun to report", node: conditions(), want: corev1.ConditionUnknown},
		{name: "has stopped to report", node: conditions(corev1.NodeCondition{Type: corev1.NodeReady,
			Status: corev1.ConditionUnknown}), want: corev1.ConditionUnknown, silent: true},
		{name: "ready", node: conditions(
			corev1.NodeCondition{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
			corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
		), want: corev1.ConditionTrue},
		{name: "not ready", node: conditions(corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse}),
			want: corev1.ConditionFalse},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := nodes.Ready(tc.node); got != tc.want {
				t.Errorf("Ready = %s, want %s", got, tc.want)
			}
			if got := nodes.Silent(tc.node); got != tc.silent {
				t.Errorf("Silent = %t, want %t", got, tc.silent)
			}
		})
	}
}

func TestInstanceAbsent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		providerID, annotation string
		want                   bool
	}{
		{"cn-hangzhou.i-1", "i-1", true}, {"alicloud://cn-hangzhou.i-1", "i-1", true}, {"cn-hangzhou.i-1", "i-2", false},
		{"cn-hangzhou.i-1", "", false}, {"", "", false}, {"kwok://i-1", "i-1", false},
	} {
		node := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: tc.providerID}}
		node.Annotations = map[string]string{nodes.AnnotationInstanceAbsent: tc.annotation}
		if got := nodes.InstanceAbsent(node); got != tc.want {
			t.Errorf("%q with %q: %t, want %t", tc.providerID, tc.annotation, got, tc.want)
		}
	}
}

// TestDraining: planned maintenance drains a node only when it is imminent; work on the node drains it while it lasts.
func TestDraining(t *testing.T) {
	t.Parallel()
	const yes, no, unknown = corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown
	for _, tc := range []struct {
		kind   corev1.NodeConditionType
		status corev1.ConditionStatus
		reason string
		want   bool
	}{
		{nodes.ConditionDrainInProgress, yes, "", true},
		{nodes.ConditionDrainInProgress, no, "", false},
		{nodes.ConditionDrainInProgress, unknown, "", false},
		{nodes.ConditionMaintenanceInProgress, yes, "", true},
		{nodes.ConditionMaintenanceInProgress, no, "", false},
		{nodes.ConditionMaintenancePlanned, yes, nodes.ReasonEventImminent, true},
		{nodes.ConditionMaintenancePlanned, yes, "EventScheduled", false},
		{nodes.ConditionMaintenancePlanned, no, nodes.ReasonEventImminent, false},
		{corev1.NodeReady, yes, nodes.ReasonEventImminent, false},
	} {
		node := &corev1.Node{Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: tc.kind, Status: tc.status, Reason: tc.reason}},
		}}
		if got := nodes.Draining(node); got != tc.want {
			t.Errorf("%s=%s %s: %t, want %t", tc.kind, tc.status, tc.reason, got, tc.want)
		}
	}
	if nodes.Draining(&corev1.Node{}) {
		t.Error("a node without conditions is drained")
	}
}

func TestIsUninitialized(t *testing.T) {
	t.Parallel()
	node := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true"}}}}
	if !nodes.IsUninitialized(node) || nodes.IsUninitialized(&corev1.Node{}) {
		t.Error("IsUninitialized does not go by the taint")
	}
}

func TestCondition(t *testing.T) {
	t.Parallel()
	node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, {Type: corev1.NodeNetworkUnavailable, Reason: "NoRouteCreated"},
	}}}
	if got, ok := nodes.Condition(node, corev1.NodeNetworkUnavailable); !ok || got.Reason != "NoRouteCreated" {
		t.Errorf("condition %+v, %v", got, ok)
	}
	if got, ok := nodes.Condition(node, corev1.NodeDiskPressure); ok {
		t.Errorf("a condition that the node does not have: %+v", got)
	}
}
