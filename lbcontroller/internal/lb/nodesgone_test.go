package lb_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

func notReady(n *corev1.Node) { setReady(n, corev1.ConditionUnknown) }
func ready(n *corev1.Node)    { setReady(n, corev1.ConditionTrue) }

func setReady(n *corev1.Node, status corev1.ConditionStatus) {
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.Now()}}
}

func toBeDeleted(n *corev1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule})
}

func excluded(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""} }

// deleteNode deletes a Node without waiting.
func (w *world) deleteNode(name string) {
	w.t.Helper()
	if err := w.kube.CoreV1().Nodes().Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// TestNodesLeaveServers: nothing that happens to nodes takes the last servers, and an event and a metric say so until there are others.
func TestNodesLeaveServers(t *testing.T) {
	const nodes = 4
	each := func(w *world, change func(*corev1.Node)) {
		for n := range nodes {
			w.updateNode(n+1, change)
		}
	}
	for name, tt := range map[string]struct {
		service func(*corev1.Service)
		happens func(w *world)
		// left is the least that stays, and kept says that only for want of others.
		left int
		kept bool
	}{
		"nodes deleted together": {left: 4, kept: true, happens: func(w *world) {
			for n := range nodes {
				w.deleteNode(nodeName(n + 1))
			}
		}},
		"nodes deleted one by one": {left: 1, kept: true, happens: func(w *world) {
			for n := range nodes {
				w.deleteNode(nodeName(n + 1))
				w.after(90 * time.Second)
			}
		}},
		"falling 90 s apart": {left: 4, kept: true, happens: func(w *world) {
			for n := range nodes {
				w.updateNode(n+1, notReady)
				w.after(90 * time.Second)
			}
		}},
		"control plane away for an hour": {left: 4, kept: true, happens: func(w *world) {
			each(w, notReady)
			w.after(time.Hour)
		}},
		"restart while it is away":    {left: 4, kept: true, happens: func(w *world) { each(w, notReady); w.restart() }},
		"all excluded by their label": {left: 1, kept: true, happens: func(w *world) { each(w, excluded) }},
		"all to be deleted":           {left: 1, kept: true, happens: func(w *world) { each(w, toBeDeleted) }},
		"all to be deleted, and draining": {left: 1, kept: true, service: annotated(annotation.DrainTerminating, "on"),
			happens: func(w *world) { each(w, toBeDeleted) }},
		"a label that no node has": {left: 4, kept: true,
			happens: func(w *world) { w.update(annotated(annotation.BackendLabel, "pool=none")) }},
		"a subset of nodes that fall": {left: 2, kept: true, service: annotated(annotation.MaxNodes, "2"),
			happens: func(w *world) { each(w, notReady) }},
		"one that falls":       {left: 4, happens: func(w *world) { w.updateNode(1, notReady) }},
		"one that is excluded": {left: 3, happens: func(w *world) { w.updateNode(1, excluded) }},
		"one to be deleted":    {left: 3, happens: func(w *world) { w.updateNode(1, toBeDeleted) }},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nodes, func(w *world) {
				w.create(web(func(svc *corev1.Service) {
					if tt.service != nil {
						tt.service(svc)
					}
				}))
				w.events.take()
				tt.happens(w)
				w.after(5 * time.Hour)
				servers := slices.DeleteFunc(w.servers(), func(s string) bool { return strings.HasSuffix(s, "=0") })
				check(t, "servers with a weight", tt.left, len(servers))
				check(t, "event", tt.kept, slices.Contains(w.events.reasons(), "LastServersKept"))
				check(t, "metric", map[bool]float64{true: 1, false: 0}[tt.kept], w.gauge("lbcontroller_last_servers")[""])
				w.update(without(annotation.BackendLabel))
				w.addNode(9)
				w.settle()
				check(t, "the new node is a server", true, slices.Contains(w.servers(), "i-9:30080=100"))
				check(t, "metric with a new node", 0.0, w.gauge("lbcontroller_last_servers")[""])
			})
		})
	}
}

func nodeName(n int) string { return "node-" + string(rune('0'+n)) }
