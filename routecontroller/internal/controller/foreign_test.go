package controller_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/nodes"
)

// TestDescribedEntryStays lets people have entries of their own to instances that are nodes: inside of a node's range,
// and at the range of a node that joins. They stay, and events name them.
func TestDescribedEntryStays(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) {
		w.entry(tableA, "10.0.1.77/32", "i-2", "VIP of the legacy database, do not delete")
		w.entry(tableA, "10.0.1.78/32", "i-2", "")
		w.entry(tableA, "10.0.3.0/24", "i-0", "VPN appliance (terraform)")
	}
	run(t, nil, makeNodes(3), prepare, func(w *world) {
		node := makeNode(3)
		w.instance(node)
		w.CreateNode(node)
		w.Pass(2 * time.Hour)
		want := []string{"10.0.0.0/24→i-0", "10.0.1.0/24→i-1", "10.0.1.77/32→i-2", "10.0.1.78/32→i-2",
			"10.0.2.0/24→i-2", "10.0.3.0/24→i-0"}
		if diff := cmp.Diff(want, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
		for _, text := range []string{`node-1 ForeignRoute: route table vtb-a: entry 10.0.1.77/32 to i-2 ("VIP of the legacy database`,
			"node-1 ForeignRoute: route table vtb-a: entry 10.0.1.78/32 to i-2 is not",
			`node-3 CreateRouteFailed: route table vtb-a: destination 10.0.3.0/24 is taken by an entry to i-0 ("VPN appliance`} {
			if len(w.Events.Matching(text)) == 0 {
				t.Errorf("no event %q in %q", text, w.Events.Matching(""))
			}
		}
		if events := w.Events.Matching("DeletedRoute"); len(events) > 0 {
			t.Errorf("events %q", events)
		}
	})
}

// TestDescribedEntryAsksNothing has a described entry to an instance that is no node: what the cloud says of that
// changes nothing, so that it is not asked.
func TestDescribedEntryAsksNothing(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) { w.entry(tableA, "10.0.1.77/32", "i-9", "VIP of the legacy database") }
	run(t, nil, makeNodes(3), prepare, func(w *world) {
		w.Pass(2 * time.Hour)
		if n := w.calls("ConfirmAbsent"); n > 0 || len(w.Events.Matching("node-1 ForeignRoute")) == 0 {
			t.Errorf("%d questions, events %q", n, w.Events.Matching("node-1"))
		}
	})
}

// TestDescribedRouteOfANodeThatGoes gives the route of a node a description of somebody: it stays when the node goes.
func TestDescribedRouteOfANodeThatGoes(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) { w.entry(tableA, "10.0.1.0/24", "i-1", "VPN appliance") }
	run(t, nil, makeNodes(3), prepare, func(w *world) {
		w.DeleteNode("node-1")
		w.release("i-1")
		w.Pass(3 * time.Hour)
		if diff := cmp.Diff([]string{"10.0.0.0/24→i-0", "10.0.1.0/24→i-1", "10.0.2.0/24→i-2"}, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
	})
}

// TestDeletedRoutesAreReported names every route that is deleted in an event, and why.
func TestDeletedRoutesAreReported(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) { w.entry(tableA, "10.0.1.0/24", "i-0", "") }
	run(t, nil, makeNodes(3), prepare, func(w *world) {
		w.DeleteNode("node-2")
		w.Pass(time.Minute)
		for _, text := range []string{"vtb-a DeletedRoute: Deleted 10.0.1.0/24 to i-0: in the way of node node-1, which has 10.0.1.0/24",
			`vtb-a DeletedRoute: Deleted 10.0.2.0/24 to i-2 ("k8s/`} {
			if len(w.Events.Matching(text)) != 1 {
				t.Errorf("no event %q in %q", text, w.Events.Matching(""))
			}
		}
	})
}

// TestForeignNodes gives no route to a Node whose instance nodecontroller has found to be none of the cluster's, and
// takes the one away that was made before.
func TestForeignNodes(t *testing.T) {
	t.Parallel()
	foreign := []corev1.Taint{{Key: nodes.TaintForeign, Effect: corev1.TaintEffectNoSchedule}}
	refused := makeNode(1)
	refused.Spec.Taints = foreign
	run(t, nil, []*corev1.Node{makeNode(0), refused, makeNode(2)}, nil, func(w *world) {
		w.UpdateNode("node-0", func(n *corev1.Node) { n.Spec.Taints = foreign })
		w.Pass(2 * time.Hour)
		if diff := cmp.Diff([]string{"10.0.2.0/24→i-2"}, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
		if len(w.Events.Matching("node-1 CreateRouteFailed: instance i-1 of spec.providerID is of another VPC or cluster")) == 0 {
			t.Errorf("no event about the refused node: %q", w.Events.Matching(""))
		}
		w.UpdateNode("node-1", func(n *corev1.Node) { n.Spec.Taints = nil })
		w.Pass(10 * time.Second)
		if diff := cmp.Diff([]string{"10.0.1.0/24→i-1", "10.0.2.0/24→i-2"}, w.routes(tableA)); diff != "" {
			t.Errorf("routes once the node is accepted (-want +got):\n%s", diff)
		}
	})
}

// TestVirtualNodesGetNoRoute has a kubelet call its Node virtual, so that nobody looks whether the instance that it
// names is the cluster's. A route that is there stays.
func TestVirtualNodesGetNoRoute(t *testing.T) {
	t.Parallel()
	virtual := makeNode(1)
	virtual.Labels = map[string]string{nodes.LabelType: nodes.ValueVirtual}
	run(t, nil, []*corev1.Node{makeNode(0), virtual, makeNode(2)}, nil, func(w *world) {
		w.Pass(10 * time.Minute)
		if diff := cmp.Diff([]string{"10.0.0.0/24→i-0", "10.0.2.0/24→i-2"}, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
		w.UpdateNode("node-1", func(n *corev1.Node) { n.Labels = nil })
		w.UpdateNode("node-2", func(n *corev1.Node) { n.Labels = map[string]string{nodes.LabelType: nodes.ValueVirtual} })
		w.Pass(2 * time.Hour)
		if diff := cmp.Diff([]string{"10.0.0.0/24→i-0", "10.0.1.0/24→i-1", "10.0.2.0/24→i-2"}, w.routes(tableA)); diff != "" {
			t.Errorf("routes after the labels have changed (-want +got):\n%s", diff)
		}
	})
}
