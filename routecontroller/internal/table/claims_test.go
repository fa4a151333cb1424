package table_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/routecontroller/internal/table"
)

const region = "cn-hangzhou"

// node makes a node that has everything, changed by edits.
func node(name string, edits ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Spec: corev1.NodeSpec{
			ProviderID: region + ".i-" + name, PodCIDR: "10.0.1.0/24", PodCIDRs: []string{"10.0.1.0/24"},
		},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	for _, edit := range edits {
		edit(n)
	}
	return n
}

func podCIDRs(cidrs ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.PodCIDRs, n.Spec.PodCIDR = cidrs, ""
		if len(cidrs) > 0 {
			n.Spec.PodCIDR = cidrs[0]
		}
	}
}

func ready(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Conditions[0].Status = status }
}

func providerID(id string) func(*corev1.Node) { return func(n *corev1.Node) { n.Spec.ProviderID = id } }

func age(t int64) func(*corev1.Node) {
	return func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(time.Unix(t, 0)) }
}

// foreign and absent are what nodecontroller says of a node's instance.
func foreign(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: nodes.TaintForeign, Effect: corev1.TaintEffectNoSchedule}}
}

func absent(n *corev1.Node) { n.Annotations = map[string]string{nodes.AnnotationInstanceAbsent: "i-a"} }

func label(key string) func(*corev1.Node) { return func(n *corev1.Node) { n.Labels[key] = "" } }

func route(cidr, name string) table.Route {
	return table.Route{Key: table.Key{CIDR: netip.MustParsePrefix(cidr), InstanceID: "i-" + name}, Node: name}
}

var opts = cmp.Options{cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmpopts.EquateEmpty()}

// sameRange is why the newer of two nodes with one range gets no route.
func sameRange(older, newer, cidr string) string {
	return fmt.Sprintf(
		"nodes %s and %s have the same pod CIDR %s, and the older one, %s, has the first claim to its route; delete one of the two Nodes, "+
			"so that it gets another range when its kubelet registers again", older, newer, cidr, older)
}

// routeOf is the route of a node whose instance has another name.
func routeOf(cidr, instance, node string) table.Route {
	return table.Route{Key: table.Key{CIDR: netip.MustParsePrefix(cidr), InstanceID: instance}, Node: node}
}

// sameInstance is why the newer of two nodes with one provider ID gets no route.
func sameInstance(older, newer, id string) string {
	return fmt.Sprintf("nodes %s and %s have the same instance %s in spec.providerID, and the older one, %s, has its routes; "+
		"if the kubelet was renamed, delete the Node that is not its own any more, else correct --provider-id of %s and delete that Node",
		older, newer, id, older, newer)
}

func TestClaims(t *testing.T) {
	t.Parallel()
	wanted := table.Claims{Wanted: []table.Route{route("10.0.1.0/24", "a")}}
	held := table.Claims{Held: []table.Route{route("10.0.1.0/24", "a")}}
	excluded := table.Claims{Excluded: []table.Route{route("10.0.1.0/24", "a")}}
	tests := []struct {
		name  string
		nodes []*corev1.Node
		ipv6  bool
		want  table.Claims
	}{
		{name: "complete", nodes: []*corev1.Node{node("a")}, want: wanted},
		{name: "provider id with scheme", nodes: []*corev1.Node{node("a", providerID("alicloud://cn-hangzhou.i-a"))}, want: wanted},
		{name: "not ready", nodes: []*corev1.Node{node("a", ready(corev1.ConditionFalse))}, want: wanted},
		{name: "has not reported yet", nodes: []*corev1.Node{node("a", func(n *corev1.Node) { n.Status.Conditions = nil })}, want: wanted},
		{name: "silent", nodes: []*corev1.Node{node("a", ready(corev1.ConditionUnknown))}, want: held},
		{name: "leaving", nodes: []*corev1.Node{node("a", func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{} })}, want: held},
		{name: "excluded", nodes: []*corev1.Node{node("a", label(nodes.LabelExclude))}, want: excluded},
		{name: "excluded and silent", nodes: []*corev1.Node{node("a", label(nodes.LabelExclude),
			ready(corev1.ConditionUnknown))}, want: excluded},
		{name: "excluded, old label", nodes: []*corev1.Node{node("a", label(nodes.LabelExcludeOld))}, want: excluded},
		{name: "of another cluster", nodes: []*corev1.Node{node("a", foreign)}, want: table.Claims{Unroutable: []table.Unroutable{{
			Key: route("10.0.1.0/24", "a").Key, Node: "a", Reason: "instance i-a of spec.providerID is of another VPC or cluster, " +
				"the events of the Node say which (SyncNodeFailed); it gets no route"}}}},
		{name: "without the instance", nodes: []*corev1.Node{node("a", absent)}, want: table.Claims{Held: held.Held,
			Unroutable: []table.Unroutable{{Key: route("10.0.1.0/24", "a").Key, Node: "a", Reason: "the cloud does not know instance " +
				"i-a of spec.providerID, so that a route to it leads nowhere; the machine is another one: delete the Node and restart the " +
				"kubelet, so that it registers anew"}}}},
		{name: "without provider id", nodes: []*corev1.Node{node("a", providerID(""))}, want: table.Claims{Unclear: []string{"a"}}},
		{name: "hybrid", nodes: []*corev1.Node{node("a", providerID("ack-hybrid://x.y"))}, want: table.Claims{Unclear: []string{"a"}}},
		{name: "podCIDR only", nodes: []*corev1.Node{node("a", func(n *corev1.Node) { n.Spec.PodCIDRs = nil })}, want: wanted},
		{name: "host bits", nodes: []*corev1.Node{node("a", podCIDRs("10.0.1.7/24"))}, want: wanted},
		{name: "dual stack", nodes: []*corev1.Node{node("a", podCIDRs("fd00::/64", "10.0.1.0/24"))}, want: wanted},
		{name: "IPv6 only", nodes: []*corev1.Node{node("a", podCIDRs("fd00::/64"))}, want: table.Claims{
			Unclear: []string{"a"},
			Unroutable: []table.Unroutable{{Node: "a",
				Reason: "spec.podCIDRs: no IPv4 range in fd00::/64; with ipv6 on, IPv6 ranges get routes, too"}},
		}},
		{name: "IPv6 only, wanted", nodes: []*corev1.Node{node("a", podCIDRs("fd00::/64"))}, ipv6: true,
			want: table.Claims{Wanted: []table.Route{route("fd00::/64", "a")}}},
		{name: "IPv4 only, IPv6 wanted", nodes: []*corev1.Node{node("a")}, ipv6: true, want: wanted},
		{name: "dual stack, both wanted", nodes: []*corev1.Node{node("a", podCIDRs("fd00::7/64", "10.0.1.0/24"))}, ipv6: true,
			want: table.Claims{Wanted: []table.Route{route("10.0.1.0/24", "a"), route("fd00::/64", "a")}}},
		{name: "dual stack, silent", nodes: []*corev1.Node{node("a", podCIDRs("10.0.1.0/24", "fd00::/64"), ready(corev1.ConditionUnknown))},
			ipv6: true, want: table.Claims{Held: []table.Route{route("10.0.1.0/24", "a"), route("fd00::/64", "a")}}},
		{name: "two of a family", nodes: []*corev1.Node{node("a", podCIDRs("10.0.1.0/24", "10.0.2.0/24", "fd00::/64", "fd01::/64"))},
			ipv6: true, want: table.Claims{Wanted: []table.Route{route("10.0.1.0/24", "a"), route("fd00::/64", "a")}}},
		{name: "bad second range", nodes: []*corev1.Node{node("a", podCIDRs("10.0.1.0/24", "fd00:/64"))}, ipv6: true, want: table.Claims{
			Unclear: []string{"a"}, Unroutable: []table.Unroutable{{Node: "a", Reason: `spec.podCIDRs: "fd00:/64" is no CIDR`}},
		}},
		{name: "the older of two with one IPv6 range", nodes: []*corev1.Node{
			node("a", age(9), podCIDRs("10.0.1.0/24", "fd00::/64")), node("b", age(5), podCIDRs("10.0.2.0/24", "fd00::/64")),
		}, ipv6: true, want: table.Claims{
			Wanted:     []table.Route{route("10.0.1.0/24", "a"), route("10.0.2.0/24", "b"), route("fd00::/64", "b")},
			Held:       []table.Route{route("fd00::/64", "a")},
			Unroutable: []table.Unroutable{{Key: route("fd00::/64", "a").Key, Node: "a", Reason: sameRange("b", "a", "fd00::/64")}},
		}},
		{name: "bad range", nodes: []*corev1.Node{node("a", podCIDRs("10.0.1/24"))}, want: table.Claims{
			Unclear: []string{"a"}, Unroutable: []table.Unroutable{{Node: "a", Reason: `spec.podCIDRs: "10.0.1/24" is no CIDR`}},
		}},
		{name: "no range", nodes: []*corev1.Node{node("a", podCIDRs())}, want: table.Claims{
			Unclear: []string{"a"}, Unroutable: []table.Unroutable{{
				Node: "a", Reason: "spec.podCIDR is not set; kube-controller-manager sets it with --allocate-node-cidrs",
			}},
		}},
		{name: "no range, excluded", nodes: []*corev1.Node{node("a", podCIDRs(), label(nodes.LabelExclude))},
			want: table.Claims{Unclear: []string{"a"}}},
		{name: "other region", nodes: []*corev1.Node{node("a", providerID("cn-beijing.i-a"))}, want: table.Claims{
			Held: []table.Route{route("10.0.1.0/24", "a")},
			Unroutable: []table.Unroutable{{
				Key: route("10.0.1.0/24", "a").Key, Node: "a",
				Reason: `spec.providerID "cn-beijing.i-a" is of another region than the route tables (cn-hangzhou); if the instance is there, ` +
					"start the kubelet with --provider-id=cn-hangzhou.i-a and delete the Node, else label it service.alibabacloud.com/exclude-node",
			}},
		}},
		{name: "the older of two with one range", nodes: []*corev1.Node{node("b", age(9)), node("c", age(5)), node("a", age(7))},
			want: table.Claims{
				Wanted: []table.Route{route("10.0.1.0/24", "c")},
				Held:   []table.Route{route("10.0.1.0/24", "a"), route("10.0.1.0/24", "b")},
				Unroutable: []table.Unroutable{
					{Key: route("10.0.1.0/24", "a").Key, Node: "a", Reason: sameRange("c", "a", "10.0.1.0/24")},
					{Key: route("10.0.1.0/24", "b").Key, Node: "b", Reason: sameRange("c", "b", "10.0.1.0/24")},
				},
			}},
		{name: "two nodes of one instance", nodes: []*corev1.Node{
			node("b", age(9), podCIDRs("10.0.2.0/24"), providerID("cn-hangzhou.i-a")), node("a", age(5)),
		}, want: table.Claims{
			Wanted: []table.Route{route("10.0.1.0/24", "a")},
			Held:   []table.Route{routeOf("10.0.2.0/24", "i-a", "b")},
			Unroutable: []table.Unroutable{
				{Key: routeOf("10.0.2.0/24", "i-a", "b").Key, Node: "b", Reason: sameInstance("a", "b", "i-a")},
			},
		}},
		{name: "two nodes of one instance, with and without scheme, of two families", ipv6: true, nodes: []*corev1.Node{
			node("b", age(9), podCIDRs("10.0.2.0/24", "fd02::/64"), providerID("alicloud://cn-hangzhou.i-a")),
			node("a", age(5), podCIDRs("10.0.1.0/24", "fd01::/64")),
		}, want: table.Claims{
			Wanted: []table.Route{route("10.0.1.0/24", "a"), route("fd01::/64", "a")},
			Held:   []table.Route{routeOf("10.0.2.0/24", "i-a", "b"), routeOf("fd02::/64", "i-a", "b")},
			Unroutable: []table.Unroutable{
				{Key: routeOf("10.0.2.0/24", "i-a", "b").Key, Node: "b", Reason: sameInstance("a", "b", "i-a")},
				{Key: routeOf("fd02::/64", "i-a", "b").Key, Node: "b", Reason: sameInstance("a", "b", "i-a")},
			},
		}},
		{name: "a renamed kubelet: the old node is silent", nodes: []*corev1.Node{node("a", age(5), ready(corev1.ConditionUnknown)),
			node("b", age(9), podCIDRs("10.0.2.0/24"), providerID("cn-hangzhou.i-a"))}, want: table.Claims{
			Wanted: []table.Route{routeOf("10.0.2.0/24", "i-a", "b")},
			Held:   []table.Route{route("10.0.1.0/24", "a")},
		}},
		{name: "a renamed kubelet: the old node is excluded", nodes: []*corev1.Node{node("a", age(5), label(nodes.LabelExclude)),
			node("b", age(9), podCIDRs("10.0.2.0/24"), providerID("cn-hangzhou.i-a"))}, want: table.Claims{
			Wanted:   []table.Route{routeOf("10.0.2.0/24", "i-a", "b")},
			Excluded: []table.Route{route("10.0.1.0/24", "a")},
		}},
		{name: "one instance id in two regions", nodes: []*corev1.Node{node("a", age(5), providerID("cn-beijing.i-a")),
			node("b", age(9), podCIDRs("10.0.2.0/24"), providerID("cn-hangzhou.i-a"))}, want: table.Claims{
			Wanted: []table.Route{routeOf("10.0.2.0/24", "i-a", "b")},
			Held:   []table.Route{route("10.0.1.0/24", "a")},
			Unroutable: []table.Unroutable{{
				Key: route("10.0.1.0/24", "a").Key, Node: "a",
				Reason: `spec.providerID "cn-beijing.i-a" is of another region than the route tables (cn-hangzhou); if the instance is there, ` +
					"start the kubelet with --provider-id=cn-hangzhou.i-a and delete the Node, else label it service.alibabacloud.com/exclude-node",
			}},
		}},
		{name: "ordered by destination", nodes: []*corev1.Node{node("a", podCIDRs("10.0.10.0/24")), node("b", podCIDRs("10.0.9.0/24"))},
			want: table.Claims{Wanted: []table.Route{route("10.0.9.0/24", "b"), route("10.0.10.0/24", "a")}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, table.Scope{Region: region, IPv6: tt.ipv6}.Claims(tt.nodes), opts); diff != "" {
				t.Errorf("Claims (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRangeOfAnotherNode: a kubelet may register a Node with any range of pods. A route to a part of the range of an older
// Node, or to one around it, would lead the traffic of that one elsewhere, also while it has no route itself.
func TestRangeOfAnotherNode(t *testing.T) {
	t.Parallel()
	older := map[string]func(*corev1.Node){
		"serving": func(*corev1.Node) {}, "silent": ready(corev1.ConditionUnknown), "excluded": label(nodes.LabelExclude),
		"leaving": func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{} }, "absent": absent, "not initialised yet": providerID(""),
		"virtual":           func(n *corev1.Node) { n.Labels[nodes.LabelType] = nodes.ValueVirtual },
		"of another region": providerID("cn-beijing.i-a"), "of another cluster": foreign,
	}
	for name, edit := range older {
		for _, claimed := range []string{"10.0.1.0/24", "10.0.1.128/25", "10.0.0.0/16"} {
			got := table.Scope{Region: region}.Claims([]*corev1.Node{node("a", age(5), edit), node("b", age(9), podCIDRs(claimed))})
			var wanted, refused bool
			for _, r := range got.Wanted {
				wanted = wanted || r.Node == "b"
			}
			for _, u := range got.Unroutable {
				refused = refused || u.Node == "b"
			}
			// What a foreign Node claims counts for nothing.
			if want := name == "of another cluster"; wanted != want || refused == want {
				t.Errorf("older Node %s: %s of a newer one is wanted: %t, refused: %t", name, claimed, wanted, refused)
			}
		}
	}
}

func TestSameClaim(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*corev1.Node)
		want   bool
	}{
		{name: "heartbeat", change: func(n *corev1.Node) { n.ResourceVersion = "2" }, want: true},
		{name: "not ready", change: ready(corev1.ConditionFalse), want: true},
		{name: "another label", change: label("x"), want: true},
		{name: "silent", change: ready(corev1.ConditionUnknown)},
		{name: "excluded", change: label(nodes.LabelExclude)},
		{name: "other instance", change: providerID("cn-hangzhou.i-z")},
		{name: "other range", change: podCIDRs("10.0.2.0/24")},
		{name: "made anew", change: func(n *corev1.Node) { n.UID = "2" }},
		{name: "of another cluster", change: foreign},
		{name: "without the instance", change: absent},
		{name: "leaving", change: func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := table.SameClaim(node("a"), node("a", tt.change)); got != tt.want {
				t.Errorf("SameClaim = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestKeysOf(t *testing.T) {
	t.Parallel()
	unknown := []table.Key{{}}
	six, four := netip.MustParsePrefix("fd00::/64"), netip.MustParsePrefix("10.0.1.0/24")
	for name, tt := range map[string]struct {
		node *corev1.Node
		want []table.Key
	}{
		"one family": {node("a"), []table.Key{{CIDR: four, InstanceID: "i-a"}}},
		"two families": {node("a", podCIDRs("10.0.1.0/24", "fd00::/64")),
			[]table.Key{{CIDR: four, InstanceID: "i-a"}, {CIDR: six, InstanceID: "i-a"}}},
		"of another region, all the same": {node("a", providerID("cn-beijing.i-a")), []table.Key{{CIDR: four, InstanceID: "i-a"}}},
		"no instance yet":                 {node("a", providerID("")), unknown},
		"no range yet":                    {node("a", podCIDRs()), unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, table.Scope{Region: region, IPv6: true}.KeysOf(tt.node), opts); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}
