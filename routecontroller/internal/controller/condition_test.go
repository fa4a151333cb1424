package controller_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/services/kube/kubetest"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/routecontroller/internal/controller"

	"github.com/prometheus/client_golang/prometheus"
)

// TestExcludedNodeIsReleased excludes a node whose route can't be had, before the controller starts or after it: pods may run on it then.
func TestExcludedNodeIsReleased(t *testing.T) {
	exclude := func(n *corev1.Node) { n.Labels = map[string]string{nodes.LabelExclude: ""} }
	taken := func(w *world) { w.entry(tableA, "10.0.1.0/24", "i-foreign", "somebody's") }
	run(t, nil, makeNodes(3), taken, func(w *world) {
		if got := w.network("node-1"); got != "True NoRouteCreated" {
			t.Fatalf("NetworkUnavailable %s", got)
		}
		w.UpdateNode("node-1", exclude)
		w.settle()
		if got := w.network("node-1"); got != "False RouteNotWanted" {
			t.Errorf("NetworkUnavailable %s after the label has come", got)
		}
		w.UpdateNode("node-1", func(n *corev1.Node) { n.Labels[nodes.LabelExclude] = "false" })
		w.settle()
		if got := w.network("node-1"); got != "True NoRouteCreated" {
			t.Errorf("NetworkUnavailable %s after the label was taken back", got)
		}
	})
	before := makeNodes(3)
	exclude(before[1])
	before[2].Labels = map[string]string{nodes.LabelExclude: ""}
	before[2].Status.Conditions[1].Reason = "CiliumIsNotReady"
	run(t, nil, before, taken, func(w *world) {
		if got := w.network("node-1"); got != "False RouteNotWanted" {
			t.Errorf("NetworkUnavailable %s of a node that was excluded before the start", got)
		}
		if got := w.network("node-2"); got != "True CiliumIsNotReady" {
			t.Errorf("NetworkUnavailable %s of another component is written over", got)
		}
	})
}

// TestOverlappingRangesOfNodes has two nodes with ranges that overlap and are not equal: the older one has its route,
// and the other says why not.
func TestOverlappingRangesOfNodes(t *testing.T) {
	for _, larger := range []int{0, 1} { // The larger range is that of the older node, or of the younger one.
		ns := makeNodes(2)
		cidrs := []string{"10.0.0.128/25", "10.0.0.128/25"}
		cidrs[larger] = "10.0.0.0/24"
		for i, n := range ns {
			n.Spec.PodCIDR, n.Spec.PodCIDRs = cidrs[i], []string{cidrs[i]}
			n.CreationTimestamp = metav1.NewTime(time.Date(1999, 1, 1+i, 0, 0, 0, 0, time.UTC))
		}
		run(t, nil, ns, nil, func(w *world) {
			w.Pass(time.Minute)
			if got := w.routes(tableA); !slices.Equal(got, []string{cidrs[0] + "→i-0"}) {
				t.Errorf("routes %v", got)
			}
			if got := w.network("node-1"); got != "True NoRouteCreated" {
				t.Errorf("NetworkUnavailable %s", got)
			}
			text := "node-1 CreateRouteFailed: pod CIDR " + cidrs[1] + " overlaps " + cidrs[0] + " of node node-0"
			if got := w.Events.Matching(text); len(got) != 1 {
				t.Errorf("events %q, want one %q", w.Events.Matching(""), text)
			}
		})
	}
}

// TestConditionIsThatOfTheVeryNode lets a Node be made anew under its name before the condition of the old one is written.
func TestConditionIsThatOfTheVeryNode(t *testing.T) {
	first := makeNode(0)
	first.UID = "first"
	anew := false
	prepare := func(w *world) {
		w.Client.PrependReactor("patch", "nodes", func(action kubetesting.Action) (bool, runtime.Object, error) {
			var patch struct{ Metadata struct{ UID types.UID } }
			//nolint:forcetypeassert // A failure of the test.
			if err := json.Unmarshal(action.(kubetesting.PatchAction).GetPatch(), &patch); err != nil {
				return true, nil, err
			}
			if patch.Metadata.UID == "first" {
				anew = true
				return true, nil, apierrors.NewConflict(corev1.Resource("nodes"), "node-0", errors.New("the UID differs"))
			}
			return false, nil, nil
		})
	}
	run(t, nil, []*corev1.Node{first}, prepare, func(w *world) {
		if !anew || w.network("node-0") != "True NoRouteCreated" {
			t.Errorf("the patch named the Node that it is about: %t; NetworkUnavailable %s", anew, w.network("node-0"))
		}
	})
}

// TestRouteOfAnotherMachine has a node whose instance is gone though its kubelet reports, as nodecontroller has found
// out: its route does not count as available, stays where it is, and works again with the annotation gone.
func TestRouteOfAnotherMachine(t *testing.T) {
	registry := prometheus.NewRegistry()
	edit := func(cfg *controller.Config) { cfg.Registerer = registry }
	run(t, edit, makeNodes(3), nil, func(w *world) {
		w.release("i-1")
		w.UpdateNode("node-1", func(n *corev1.Node) { n.Annotations = map[string]string{nodes.AnnotationInstanceAbsent: "i-1"} })
		w.Pass(10 * time.Minute)
		if got := kubetest.Metric(t, registry, "routecontroller_routes")["available"]; got != 2 {
			t.Errorf("%v routes are available, want 2", got)
		}
		if got := w.routes(tableA); len(got) != 3 {
			t.Errorf("routes %v", got)
		}
		if got := w.network("node-1"); got != "True NoRouteCreated" {
			t.Errorf("NetworkUnavailable %s", got)
		}
		if got := w.Events.Matching("node-1 CreateRouteFailed: the cloud does not know instance i-1"); len(got) != 1 {
			t.Errorf("events %q", w.Events.Matching("node-1"))
		}
		w.instance(makeNode(1))
		w.UpdateNode("node-1", func(n *corev1.Node) { n.Annotations = nil })
		w.settle()
		if got := w.network("node-1"); got != "False RouteCreated" {
			t.Errorf("NetworkUnavailable %s once the instance is there", got)
		}
	})
}

// TestTablesWithDifferentRoutesForOneRange has two tables with different routes without a mark for a range that both
// nodes have had. Both are remembered, and the record is not written again and again.
func TestTablesWithDifferentRoutesForOneRange(t *testing.T) {
	prepare := func(w *world) {
		w.table(tableB)
		w.entry(tableA, "10.0.1.0/24", "i-1", "")
		w.entry(tableB, "10.0.1.0/24", "i-2", "")
	}
	both := func(cfg *controller.Config) { cfg.RouteTableIDs = []string{tableA, tableB} }
	second := makeNode(2)
	second.Spec.PodCIDR, second.Spec.PodCIDRs = "10.0.1.0/24", []string{"10.0.1.0/24"}
	second.Status.Conditions[0].Status = corev1.ConditionUnknown // It keeps its route, and asks for none.
	run(t, both, []*corev1.Node{makeNode(0), makeNode(1), second}, prepare, func(w *world) {
		w.Pass(time.Minute)
		record, err := w.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), "routecontroller-routes", metav1.GetOptions{})
		if err != nil || !strings.Contains(record.Data["record"], `"i-1"`) || !strings.Contains(record.Data["record"], `"i-2"`) {
			t.Fatalf("record %v, %v", record.Data, err)
		}
		w.Client.ClearActions()
		w.Pass(time.Hour)
		for _, action := range w.Client.Actions() {
			if action.GetResource().Resource == "configmaps" && action.GetVerb() == "update" {
				t.Error("the record is written again")
			}
		}
	})
}

// TestEventsOfTablesAreWhereTheControllerIs.
func TestEventsOfTablesAreWhereTheControllerIs(t *testing.T) {
	edit := func(cfg *controller.Config) { cfg.Namespace, cfg.RouteQuota = "alicloud", 1 }
	run(t, edit, makeNodes(1), nil, func(w *world) {
		if got := w.Events.Namespaces("RouteTableNearlyFull"); !slices.Equal(got, []string{"alicloud"}) {
			t.Errorf("namespaces %q", got)
		}
	})
}
