package controller_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
)

// legacy makes node-1 as the existing CCM leaves it, with the labels of its last version.
func legacy(edits ...func(*corev1.Node)) *corev1.Node {
	n := fresh(1)
	n.Spec.Taints = nil
	n.Labels = map[string]string{
		"beta.kubernetes.io/instance-type": "ecs.g7.xlarge", "node.kubernetes.io/instance-type": "ecs.g7.xlarge",
		"failure-domain.beta.kubernetes.io/zone": region + "-h", "topology.kubernetes.io/zone": region + "-h",
		"failure-domain.beta.kubernetes.io/region": region, "topology.kubernetes.io/region": region,
		"node.alibabacloud.com/instance-charge-type": "PostPaid", "node.alibabacloud.com/spot-strategy": "NoSpot",
		"node.alibabacloud.com/nodepool-id": "np-1", "kubernetes.io/hostname": "node-1",
	}
	n.Status.Addresses = addresses(corev1.NodeInternalIP, "192.168.0.1", corev1.NodeHostName, "node-1")
	n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
		Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: "RouteCreated", Message: "RouteController created a route",
	})
	for _, edit := range edits {
		edit(n)
	}
	return n
}

// addresses makes a list of pairs of type and address.
func addresses(pairs ...any) []corev1.NodeAddress {
	var list []corev1.NodeAddress
	for pair := range slices.Chunk(pairs, 2) {
		kind, _ := pair[0].(corev1.NodeAddressType)
		text, _ := pair[1].(string)
		list = append(list, corev1.NodeAddress{Type: kind, Address: text})
	}
	return list
}

// TestTakeover starts on nodes that versions of the existing CCM have initialised. Nothing is written to the cloud, ever, and to the
// node only what that version did not know of.
func TestTakeover(t *testing.T) {
	without := func(labels ...string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			maps.DeleteFunc(n.Labels, func(key, _ string) bool { return slices.Contains(labels, key) })
		}
	}
	has := func(pairs ...any) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Status.Addresses = addresses(pairs...) }
	}
	inner, outer, host := corev1.NodeInternalIP, corev1.NodeExternalIP, corev1.NodeHostName
	tests := []struct {
		name     string
		node     *corev1.Node
		instance func(*state.Instance)
		ipv6     bool
		edit     func(*controller.Config)
		reads    int
		want     []string // patches
	}{
		{name: "last version", node: legacy(), reads: 1},
		{name: "kubernetes' form of the provider id", reads: 1,
			node: legacy(func(n *corev1.Node) { n.Spec.ProviderID = "alicloud://" + n.Spec.ProviderID })},
		{name: "public address and EIP", node: legacy(has(outer, "47.0.0.1", outer, "47.0.0.2", inner, "192.168.0.1", host, "node-1")),
			instance: func(i *state.Instance) { i.PublicIPs, i.EipID = []string{"47.0.0.1"}, "47.0.0.2" }, reads: 1},
		{name: "--node-ip, which took the host name away", reads: 1, node: legacy(has(inner, "192.168.0.1"), func(n *corev1.Node) {
			n.Annotations = map[string]string{nodes.AnnotationProvidedIP: "192.168.0.1"}
		})},
		{name: "gate IPv6DualStack", node: legacy(has(inner, "192.168.0.1", inner, "2408::1", host, "node-1")),
			ipv6: true, reads: 1,
			edit: func(cfg *controller.Config) { cfg.Options.IPv6 = true }},
		{name: "not dual stack, though the instance is", node: legacy(), reads: 1,
			ipv6: true},
		{name: "waits for its route", reads: 1, node: legacy(func(n *corev1.Node) {
			c := condition(n, corev1.NodeNetworkUnavailable)
			c.Status, c.Reason = corev1.ConditionTrue, "NoRouteCreated"
		})},
		{name: "stopped", node: legacy(silent), instance: func(i *state.Instance) { i.Status = "Stopped" }, reads: 1},
		{name: "v2.9, before the labels of charge, spot and node pool", reads: 1, want: []string{"node-1"}, node: legacy(without(
			"node.alibabacloud.com/instance-charge-type", "node.alibabacloud.com/spot-strategy", "node.alibabacloud.com/nodepool-id"))},
		{name: "v1.9, with the beta labels only", reads: 1, want: []string{"node-1"}, node: legacy(without(
			"node.kubernetes.io/instance-type", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
			"node.alibabacloud.com/instance-charge-type", "node.alibabacloud.com/spot-strategy", "node.alibabacloud.com/nodepool-id"))},
		{name: "its condition is left over from the time of routes", reads: 1, want: []string{"node-1 status"},
			edit: func(cfg *controller.Config) { cfg.Options.CloudRoutes = false }, node: legacy(func(n *corev1.Node) {
				c := condition(n, corev1.NodeNetworkUnavailable)
				c.Status, c.Reason = corev1.ConditionTrue, "NoRouteCreated"
			})},
		{name: "excluded, with labels of its own", node: legacy(without("topology.kubernetes.io/zone"),
			func(n *corev1.Node) { n.Labels[nodes.LabelExclude] = "" })},
		{name: "excluded by the older label", node: legacy(func(n *corev1.Node) {
			n.Labels[nodes.LabelExcludeOld],
				n.Status.Addresses = "", nil
		})},
		{name: "hybrid", node: legacy(func(n *corev1.Node) { n.Spec.ProviderID, n.Labels = "ack-hybrid://cn-hangzhou.i-1", nil })},
		{name: "Lingjun", node: legacy(func(n *corev1.Node) {
			n.Spec.ProviderID, n.Labels = "e01-cn-x", map[string]string{"alibabacloud.com/lingjun-worker": "true"}
		})},
		{name: "virtual", node: legacy(func(n *corev1.Node) { n.Spec.ProviderID, n.Labels = "", map[string]string{"type": "virtual-kubelet"} })},
		{name: "without provider id", node: legacy(func(n *corev1.Node) { n.Spec.ProviderID = "" })},
		{name: "of another region", node: legacy(func(n *corev1.Node) { n.Spec.ProviderID = "cn-beijing.i-1" })},
		{name: "of another provider", node: legacy(func(n *corev1.Node) { n.Spec.ProviderID = "aws:///us-east-1a/i-1" })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			prepare := func(w *world) {
				w.instance(1)
				w.open(1)
				w.cloud.Lock()
				instance := w.cloud.Instances["i-1"]
				instance.ChargeType, instance.SpotStrategy = "PostPaid", "NoSpot"
				instance.Tags = append(instance.Tags, state.Tag{Key: "ack.alibabacloud.com/nodepool-id", Value: "np-1"})
				if tt.instance != nil {
					tt.instance(instance)
				}
				if instance.EipID != "" {
					eip(w.cloud.Cloud, instance, instance.EipID)
				}
				if tt.ipv6 {
					w.cloud.Interfaces["eni-1"].Ipv6Addresses = []string{"2408::1"}
				}
				w.cloud.Unlock()
				w.CreateNode(tt.node)
			}
			run(t, tt.edit, prepare, func(w *world) {
				if n := len(w.cloud.Calls()); n != tt.reads+w.calls("BatchGetNetworkInterfaces") || w.calls("BatchGetInstances") != tt.reads {
					t.Errorf("%d calls, %d of the sweep, want %d", n, w.calls("BatchGetInstances"), tt.reads)
				}
				if got := w.Patches(); !slices.Equal(got, tt.want) {
					t.Errorf("patches %v, want %v", got, tt.want)
				}
				w.Client.ClearActions()
				w.Pass(time.Hour)
				if got := w.Patches(); len(got) != 0 || len(w.cloud.Writes()) != 0 || len(w.NodeNames()) != 1 {
					t.Errorf("within an hour: patches %v, %d cloud writes, nodes %v", got, len(w.cloud.Writes()), w.NodeNames())
				}
			})
		})
	}
}
