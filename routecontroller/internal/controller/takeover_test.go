package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/routecontroller/internal/controller"
)

// TestTakeoverWritesNothing starts on a cluster with nodes and entries of all kinds that the existing CCM leaves behind or leaves
// alone. What there is stays as it is, for as long as nothing happens to the nodes.
func TestTakeoverWritesNothing(t *testing.T) {
	kinds := []func(*corev1.Node){
		func(*corev1.Node) {},
		func(n *corev1.Node) { n.Spec.ProviderID = "alicloud://" + n.Spec.ProviderID },
		func(n *corev1.Node) { n.Spec.PodCIDRs = nil },                                  // Of an API server before dual stack.
		func(n *corev1.Node) { n.Spec.PodCIDRs = append(n.Spec.PodCIDRs, "fd00::/64") }, // Routes are made for IPv4 only.
		func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse },
		func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, // Stopped.
		func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: time.Now()} },
		func(n *corev1.Node) { n.Labels[nodes.LabelExclude] = "" },
		func(n *corev1.Node) { n.Labels[nodes.LabelExcludeOld] = "" },
		func(n *corev1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = "172.16.9.0/24", []string{"172.16.9.0/24"} }, // Before --cluster-cidr was set.
		// From here on without a route.
		func(n *corev1.Node) { n.Spec.ProviderID = "" },
		func(n *corev1.Node) { n.Spec.ProviderID = "ack-hybrid://cn-hangzhou.i-11" },
		func(n *corev1.Node) { n.Spec.ProviderID = "aws:///us-east-1a/i-12" },
		func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown },
		func(n *corev1.Node) { n.Labels[nodes.LabelExclude] = "" },
	}
	const routed = 10
	all := makeNodes(len(kinds))
	for i, n := range all {
		n.Status.Conditions[1].Status, n.Status.Conditions[1].Reason = corev1.ConditionFalse, "RouteCreated"
		kinds[i](n)
	}
	prepare := func(w *world) {
		for _, id := range []string{tableA, tableB} {
			if id != tableA {
				w.table(id)
			}
			for i, n := range all[:routed] {
				w.entry(id, n.Spec.PodCIDR, fmt.Sprintf("i-%d", i), "")
			}
			w.entry(id, "10.0.200.0/24", "i-gone", "")                 // Leaked by the existing CCM.
			w.entry(id, "10.0.201.0/24", "i-0", "by hand")             // To a node, not its range.
			w.entry(id, "10.0.202.0/24", "i-other", "k8s/c-2/node-0")  // Another cluster's.
			w.entry(id, "10.0.0.0/16", "i-other", "")                  // Around all ranges.
			w.entry(id, "fd00:0:0:9::/64", "i-gone", "k8s/c-1/node-9") // IPv6 is not asked for.
			w.entry(id, "0.0.0.0/0", "i-0", "")
			w.entry(id, "10.0.203.0/24", "", "")
			w.edit(id, "10.0.203.0/24", func(e *state.RouteEntry) {
				e.NextHopType, e.NextHops = "", []state.NextHop{{ID: "i-0", Type: "Instance"}, {ID: "i-1", Type: "Instance"}}
			})
		}
	}
	both := func(cfg *controller.Config) { cfg.RouteTableIDs = []string{tableA, tableB} }
	run(t, both, all, prepare, func(w *world) {
		before := [2][]string{w.routes(tableA), w.routes(tableB)}
		if n := w.calls("ListRouteEntries"); n != 2 || len(w.cloud.Calls()) != 4 { // And one for the VPC, and one for its tables.
			t.Errorf("calls %v, want one reading per table", w.cloud.Calls())
		}
		w.Pass(time.Hour)
		if got := w.cloud.Writes(); len(got) != 0 {
			t.Errorf("cloud writes %v", got)
		}
		if diff := cmp.Diff(before, [2][]string{w.routes(tableA), w.routes(tableB)}); diff != "" {
			t.Errorf("routes (-before +after):\n%s", diff)
		}
		if got := w.Patches(); len(got) != 0 {
			t.Errorf("patches %v", got)
		}
		if got := strings.Join(w.Events.Matching(""), "\n"); got != "" {
			t.Errorf("events:\n%s", got)
		}
	})
}
