package lb_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
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

func included(n *corev1.Node) { n.Labels = nil }

// deleteNode deletes a Node without waiting.
func (w *world) deleteNode(name string) {
	w.t.Helper()
	if err := w.kube.CoreV1().Nodes().Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// downPod is a pod that its node no longer reports to be ready, or that is evicted from there.
func downPod(ip, node string, terminating bool) discoveryv1.Endpoint {
	e := pod(ip, node)
	e.Conditions = discoveryv1.EndpointConditions{Ready: new(false), Serving: new(false), Terminating: new(terminating)}
	return e
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

// TestNotReadyNode: it stays a server without a call, it isn't made one, and it takes no traffic of a Service that
// subsets while others can.
func TestNotReadyNode(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.updateNode(3, notReady)
		w.create(web())
		check(t, "servers", []string{"i-1:30080=100", "i-2:30080=100"}, w.servers())
		w.calls()
		w.updateNode(2, notReady)
		w.updateNode(2, ready)
		w.updateNode(2, notReady)
		w.restart()
		check(t, "calls that write", 0, len(w.cloud.Writes()))
		w.updateNode(3, ready)
		check(t, "servers", []string{"i-1:30080=100", "i-2:30080=100", "i-3:30080=100"}, w.servers())
		w.deleteNode("node-2")
		w.settle()
		check(t, "servers when it is deleted", []string{"i-1:30080=100", "i-3:30080=100"}, w.servers())
	})
	inWorld(t, 5, func(w *world) {
		w.create(web(annotated(annotation.MaxNodes, "2")))
		for _, server := range w.servers() {
			w.updateNode(int(server[2]-'0'), notReady)
		}
		check(t, "servers of a subset", 2, len(w.servers()))
	})
}

// TestPodsOfNotReadyNodes: what a node reports of its pods is no better than what it reports of itself. The last pod
// that goes from a ready node leaves the group empty.
func TestPodsOfNotReadyNodes(t *testing.T) {
	for name, mode := range map[string]func(*corev1.Service){"Local": local, "pods": eniMode} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				w.addENI("eni-1", "10.0.0.1")
				w.addENI("eni-2", "10.0.0.2")
				w.pods(pod("10.0.0.1", "node-1"), pod("10.0.0.2", "node-2"))
				w.create(web(mode))
				check(t, "servers", 2, len(w.servers()))
				w.updateNode(1, notReady)
				w.updateNode(2, notReady)
				w.pods(downPod("10.0.0.1", "node-1", false), downPod("10.0.0.2", "node-2", false))
				check(t, "servers when the nodes are not ready", 2, len(w.servers()))
				w.after(5 * time.Minute)
				w.pods(downPod("10.0.0.1", "node-1", true), downPod("10.0.0.2", "node-2", true))
				w.after(time.Hour)
				check(t, "servers when the pods are evicted", 2, len(w.servers()))
				w.updateNode(1, ready)
				check(t, "servers when a node has come back without its pod", 1, len(w.servers()))
				w.updateNode(2, ready)
				check(t, "servers when no pod is ready", 0, len(w.servers()))
				w.pods(pod("10.0.0.1", "node-1"))
				w.pods()
				check(t, "servers when the last pod is gone", 0, len(w.servers()))
			})
		})
	}
}

// TestNodeDrains: a node that is about to be deleted takes no new connections and goes with its Node, if the Service asks for that.
func TestNodeDrains(t *testing.T) {
	for _, subset := range []string{"", "2"} {
		inWorld(t, 2, func(w *world) {
			w.create(web(annotated(annotation.DrainTerminating, "on"), annotated(annotation.MaxNodes, subset)))
			w.updateNode(1, toBeDeleted)
			check(t, "servers", []string{"i-1:30080=0", "i-2:30080=100"}, w.servers())
			w.deleteNode("node-1")
			w.settle()
			check(t, "servers without the node", []string{"i-2:30080=100"}, w.servers())
		})
	}
	inWorld(t, 2, func(w *world) {
		w.create(web(annotated(annotation.DrainTerminating, "on"), annotated(annotation.RemoveUnscheduled, "on")))
		w.updateNode(1, func(n *corev1.Node) { n.Spec.Unschedulable = true })
		check(t, "servers", []string{"i-1:30080=0", "i-2:30080=100"}, w.servers())
		w.updateNode(1, func(n *corev1.Node) { n.Spec.Unschedulable = false })
		check(t, "servers when it is schedulable again", []string{"i-1:30080=100", "i-2:30080=100"}, w.servers())
	})
}
