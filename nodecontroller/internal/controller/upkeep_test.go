package controller_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/kube/kubetest"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// refuse lets calls of a method fail while on is set; an empty method is every one.
func (w *world) refuse(on *atomic.Bool, method string, reason rpcerr.Reason, code codes.Code) {
	w.cloud.Interpose(func(_ int, called string, _ proto.Message) gatewaytest.Fault {
		if on.Load() && (method == "" || called == method) {
			return gatewaytest.Fault{Before: &rpcerr.Error{Code: code, Reason: reason, Message: "no"}}
		}
		return gatewaytest.Fault{}
	})
}

func exclude(n *corev1.Node) {
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[nodes.LabelExclude] = "true"
}

// TestReadyNodeLosesTheShutdownTaint starts a stopped machine while the gateway is away: a ready kubelet is proof
// enough.
func TestReadyNodeLosesTheShutdownTaint(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	run(t, shutdownTaint, func(w *world) {
		furnished(2)(w)
		w.refuse(&away, "", rpcerr.CloudUnavailable, codes.Unavailable)
	}, func(w *world) {
		w.status("i-1", "Stopped")
		w.UpdateNode("node-1", silent)
		w.Pass(time.Minute)
		if !w.shutDown("node-1") {
			t.Fatal("the node of a stopped instance is not tainted")
		}
		away.Store(true)
		w.UpdateNode("node-1", ready)
		w.Pass(10 * time.Second)
		if w.shutDown("node-1") {
			t.Error("the kubelet is ready, and the node is still tainted")
		}
	})
}

// TestReadyNodeLosesTheShutdownTaintLater has the machine started while nobody led, and the gateway away then.
func TestReadyNodeLosesTheShutdownTaintLater(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	away.Store(true)
	standBy(t, shutdownTaint, func(w *world) {
		w.instance(1)
		node := initialised(1)
		node.Spec.Taints = []corev1.Taint{{Key: nodes.TaintShutdown, Effect: corev1.TaintEffectNoSchedule}}
		w.CreateNode(node)
		w.refuse(&away, "", rpcerr.CloudUnavailable, codes.Unavailable)
	}, func(w *world) {
		w.lead()
		w.Pass(time.Minute)
		if w.shutDown("node-1") {
			t.Error("the kubelet is ready, and the node is still tainted")
		}
	})
}

// TestExcludedNodeIsReleased takes off a node that leaves the controller's hands what goes with the state and the tags
// of its instance.
func TestExcludedNodeIsReleased(t *testing.T) {
	t.Parallel()
	edit := func(cfg *controller.Config) {
		shutdownTaint(cfg)
		cfg.Options.Rules = []nodestate.Rule{{Tag: "team", Label: "example.com/team"}, {Tag: "team", Annotation: "example.com/note"},
			{Tag: "team", Taint: "example.com/dedicated", Effect: corev1.TaintEffectNoSchedule}}
	}
	for _, standsBy := range []bool{false, true} {
		body := func(w *world) {
			if standsBy {
				w.UpdateNode("node-1", exclude)
				w.lead()
			}
			w.Pass(time.Minute)
			node := w.Node("node-1")
			for _, key := range []string{nodes.TaintShutdown, "example.com/dedicated"} {
				if nodes.HasTaint(node, key) {
					t.Errorf("the excluded node has taint %s", key)
				}
			}
			_, label := node.Labels["example.com/team"]
			_, note := node.Annotations["example.com/note"]
			_, absent := node.Annotations[nodes.AnnotationInstanceAbsent]
			if label || note || absent || node.Labels[corev1.LabelTopologyZone] == "" || !nodes.HasTaint(node, "example.com/other") {
				t.Errorf("labels %v, annotations %v, taints %v", node.Labels, node.Annotations, node.Spec.Taints)
			}
		}
		prepare := func(w *world) {
			furnished(3)(w)
			w.cloud.Lock()
			w.cloud.Instances["i-1"].Tags = append(w.cloud.Instances["i-1"].Tags, state.Tag{Key: "team", Value: "a"})
			w.cloud.Unlock()
		}
		if standsBy { // The node was excluded while no controller led.
			standBy(t, edit, func(w *world) {
				prepare(w)
				w.UpdateNode("node-1", func(n *corev1.Node) {
					*n = *initialised(1)
					n.Spec.Taints = []corev1.Taint{{Key: nodes.TaintShutdown, Effect: corev1.TaintEffectNoSchedule}, {Key: "example.com/other"},
						{Key: "example.com/dedicated", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
					n.Labels["example.com/team"] = "a"
					n.Annotations = map[string]string{
						nodes.AnnotationCloudLabels: "example.com/team,annotation:example.com/note,taint:example.com/dedicated",
						"example.com/note":          "a", nodes.AnnotationInstanceAbsent: "i-1"}
				})
			}, body)
			continue
		}
		run(t, edit, prepare, func(w *world) {
			w.status("i-1", "Stopped")
			w.UpdateNode("node-1", silent)
			w.Pass(time.Minute)
			if node := w.Node("node-1"); !w.shutDown("node-1") || !nodes.HasTaint(node, "example.com/dedicated") ||
				node.Labels["example.com/team"] == "" {
				t.Fatalf("before: taints %v, labels %v", node.Spec.Taints, node.Labels)
			}
			w.UpdateNode("node-1", exclude)
			body(w)
		})
	}
}

// TestCheckIsSwitchedOffAgain has somebody switch the source/destination check of a node in service on, which the sweep
// finds.
func TestCheckIsSwitchedOffAgain(t *testing.T) {
	t.Parallel()
	run(t, nil, furnished(3), func(w *world) {
		w.Pass(time.Minute)
		w.cloud.Lock()
		w.cloud.Interfaces["eni-1"].SourceDestCheck = true
		w.cloud.Unlock()
		before := len(w.cloud.Writes())
		w.Pass(6 * time.Minute)
		w.cloud.Lock()
		on := w.cloud.Interfaces["eni-1"].SourceDestCheck
		w.cloud.Unlock()
		if n := len(w.cloud.Writes()) - before; on || n != 1 {
			t.Errorf("after a sweep the check is on: %t, %d writes", on, n)
		}
		if n := len(w.Events.Matching("node-1 SourceDestCheckDisabled")); n != 1 || len(w.Events.Matching("node-1 InitializedNode")) != 1 {
			t.Errorf("events %q", w.Events.Matching("node-1"))
		}
	})
}

// TestRefusedChangeIsNoWait says of a node whose network interface may not be changed what is wrong, and not that it
// has to wait.
func TestRefusedChangeIsNoWait(t *testing.T) {
	t.Parallel()
	var forbidden atomic.Bool
	forbidden.Store(true)
	run(t, nil, func(w *world) {
		furnished(2)(w)
		w.refuse(&forbidden, "UpdateNetworkInterface", rpcerr.CloudForbidden, codes.PermissionDenied)
	}, func(w *world) {
		w.Pass(10 * time.Minute)
		if n := len(w.Events.Matching("WaitingForCloud")); n != 0 || len(w.Events.Matching("node-1 SyncNodeFailed")) == 0 {
			t.Errorf("events %q", w.Events.Matching("node-1"))
		}
	})
}

// TestDelayedChangeIsAWait says of a node whose network interface the cloud changes later that it waits, and of no
// failure.
func TestDelayedChangeIsAWait(t *testing.T) {
	t.Parallel()
	run(t, nil, func(w *world) {
		furnished(2)(w)
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method == "UpdateNetworkInterface" {
				return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, Message: "no",
					RetryAfter: 10 * time.Second}}
			}
			return gatewaytest.Fault{}
		})
	}, func(w *world) {
		w.Pass(10 * time.Minute)
		if n := len(w.Events.Matching("node-1 WaitingForCloud")); n != 1 || len(w.Events.Matching("SyncNodeFailed")) != 0 {
			t.Errorf("events %q", w.Events.Matching("node-1"))
		}
	})
}

// TestCertificateAfterAnOutage has a kubelet ask for a certificate while the gateway is away for long: it gets it once
// its node is initialised.
func TestCertificateAfterAnOutage(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	away.Store(true)
	run(t, approves, func(w *world) {
		named(2)(w)
		w.refuse(&away, "", rpcerr.CloudUnavailable, codes.Unavailable)
	}, func(w *world) {
		w.ask(t, 0, "192.168.0.0", "node-0")
		w.Pass(time.Hour)
		away.Store(false)
		w.started.Resume()
		w.Pass(time.Minute)
		if !w.approved(t, 0) || len(w.Events.Matching("CertificateNotApproved")) > 0 {
			t.Errorf("approved %t, events %q", w.approved(t, 0), w.Events.Matching("CertificateNotApproved"))
		}
	})
}

// TestMachinesOutsideOfTheCloud asks about an excluded machine without a provider ID once, and about a silent one that
// has no instance, too.
func TestMachinesOutsideOfTheCloud(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	run(t, func(cfg *controller.Config) { cfg.Registerer = registry }, func(w *world) {
		furnished(2)(w)
		for i, edit := range map[int]func(*corev1.Node){7: exclude, 8: exclude, 9: silent} {
			node := fresh(i)
			node.Spec.ProviderID = ""
			node.Annotations = map[string]string{nodes.AnnotationProvidedIP: "172.16.0.7"}
			edit(node)
			w.CreateNode(node)
		}
	}, func(w *world) {
		w.Pass(24 * time.Hour)
		if n := w.calls("ListInstances"); n > 3 {
			t.Errorf("%d questions about 3 machines", n)
		}
		for text, want := range map[string]int{
			"node-7 ExcludedNode": 1, "node-7 SyncNodeFailed": 0, "node-9 SyncNodeFailed: there is no instance": 1,
		} {
			if got := w.Events.Matching(text); len(got) != want {
				t.Errorf("events %q: %q, want %d", text, got, want)
			}
		}
		if got := kubetest.Metric(t, registry, "nodecontroller_nodes"); got["other"] != 2 || got["uninitialized"] != 1 {
			t.Errorf("nodes by state: %v", got)
		}
	})
}

// TestTwoNodesOfOneInstance says of the Node of a renamed kubelet that another one is its instance by now.
func TestTwoNodesOfOneInstance(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	run(t, func(cfg *controller.Config) { cfg.Registerer = registry }, func(w *world) {
		furnished(3)(w)
		w.UpdateNode("node-1", silent)
		renamed := fresh(7)
		renamed.Spec.ProviderID = region + ".i-1"
		w.CreateNode(renamed)
	}, func(w *world) {
		w.Pass(6 * time.Minute)
		if got := w.Events.Matching("DuplicateNode"); len(got) == 0 || !strings.HasPrefix(got[0], "node-1 DuplicateNode: ") ||
			!strings.Contains(got[0], "node-7") {
			t.Errorf("events %q", got)
		}
		if got := kubetest.Metric(t, registry, "nodecontroller_nodes")["duplicate"]; got != 1 {
			t.Errorf("%v duplicates", got)
		}
		if got := w.Events.Matching("node-1 Resolved"); len(got) > 0 {
			t.Errorf("it is over while it lasts: %q", got)
		}
		w.UpdateNode("node-1", ready) // Now the younger is the duplicate: the kubelet that was thought renamed is another machine.
		w.Pass(6 * time.Minute)
		if got := w.Events.Matching("node-1 Resolved"); len(got) != 1 || len(w.Events.Matching("node-7 DuplicateNode")) == 0 {
			t.Errorf("events %q", w.Events.Matching("node-"))
		}
		w.DeleteNode("node-1")
		w.Pass(6 * time.Minute)
		if got := kubetest.Metric(t, registry, "nodecontroller_nodes")["duplicate"]; got != 0 {
			t.Errorf("%v duplicates in the end", got)
		}
	})
}

// TestStaleIDInTheLastPart finds a node without an instance though the number of nodes leaves it alone behind full parts.
func TestStaleIDInTheLastPart(t *testing.T) {
	t.Parallel()
	run(t, nil, furnished(101), func(w *world) {
		w.Pass(time.Minute)
		w.vanish(99) // the last by name
		w.Pass(20 * time.Minute)
		if !nodes.InstanceAbsent(w.Node("node-99")) {
			t.Errorf("annotations %v", w.Node("node-99").Annotations)
		}
	})
}

// TestKeyIsGone refuses the gateway's credentials: an event and a figure say so after the next sweep.
func TestKeyIsGone(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	var gone atomic.Bool
	run(t, func(cfg *controller.Config) { cfg.Registerer = registry }, func(w *world) {
		furnished(3)(w)
		w.refuse(&gone, "", rpcerr.CloudCredentials, codes.FailedPrecondition)
	}, func(w *world) {
		w.Pass(time.Minute)
		gone.Store(true)
		w.Pass(6 * time.Minute)
		if got := w.Events.Matching("kube-system SyncNodeFailed: the instances of nodes can't be read"); len(got) != 1 {
			t.Errorf("events %q", w.Events.Matching(""))
		}
		if got := kubetest.Metric(t, registry, "nodecontroller_instances_unread")["credentials"]; got != 1 {
			t.Errorf("unread because of credentials: %v", got)
		}
		gone.Store(false)
		w.Pass(6 * time.Minute)
		if got := kubetest.Metric(t, registry, "nodecontroller_instances_unread")["credentials"]; got != 0 {
			t.Errorf("unread in the end: %v", got)
		}
	})
}

// TestLastNode tells the operator what to do about the last node of a cluster, whose end nothing can prove.
func TestLastNode(t *testing.T) {
	t.Parallel()
	run(t, nil, furnished(1), func(w *world) {
		w.Pass(time.Minute)
		w.vanish(0)
		w.UpdateNode("node-0", silent)
		w.Pass(time.Hour)
		if got := w.Events.Matching("node-0 DeleteNodeFailed"); len(got) == 0 || !strings.Contains(got[0], "delete the Node by hand") {
			t.Errorf("events %q", got)
		}
	})
}
