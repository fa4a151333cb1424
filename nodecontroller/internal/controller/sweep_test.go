package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
)

func TestSweepOfNothingNewWritesNothing(t *testing.T) {
	run(t, nil, furnished(20), func(w *world) {
		w.cloud.ResetCalls()
		w.Client.ClearActions()
		w.Pass(5 * time.Minute)
		if n := len(w.cloud.Calls()); n != 2 || w.calls("BatchGetInstances", "BatchGetNetworkInterfaces") != 2 {
			t.Errorf("%d calls, want one for all", n)
		}
		if got := w.Patches(); len(got) != 0 {
			t.Errorf("patches %v", got)
		}
	})
}

func TestSweepRepairs(t *testing.T) {
	run(t, nil, furnished(3), func(w *world) {
		w.Client.ClearActions()
		w.cloud.Lock()
		eip(w.cloud.Cloud, w.cloud.Instances["i-1"], "47.1.1.1")
		w.cloud.Unlock()
		w.UpdateNode("node-2", func(n *corev1.Node) { n.Labels["topology.kubernetes.io/zone"] = "edited" })
		w.Pass(6 * time.Minute)
		if got := w.Node("node-1").Status.Addresses[0].Address; got != "47.1.1.1" {
			t.Errorf("first address %s", got)
		}
		if got := w.Node("node-2").Labels["topology.kubernetes.io/zone"]; got != region+"-h" {
			t.Errorf("zone %s", got)
		}
		got := w.Patches()
		slices.Sort(got)
		if !slices.Equal(got, []string{"node-1 status", "node-2"}) {
			t.Errorf("patches %v, want one per changed node", got)
		}
	})
}

// TestAddressesThatFlap: kube-proxy of Kubernetes 1.37 ends when the first address of a family changes. What one answer
// orders anew or lacks is no change; what two lack that are a sweep apart is gone.
func TestAddressesThatFlap(t *testing.T) {
	edit := func(cfg *controller.Config) { cfg.Options.IPv6 = true }
	ipv6 := func(w *world, addresses ...string) {
		w.cloud.Lock()
		w.cloud.Interfaces["eni-1"].Ipv6Addresses = addresses
		w.cloud.Unlock()
	}
	run(t, edit, func(w *world) {
		furnished(3)(w)
		ipv6(w, "2408::1", "2408::2")
	}, func(w *world) {
		settled := w.Node("node-1").Status.Addresses
		if len(settled) != 4 {
			t.Fatalf("addresses %v, want those of the instance and the host name", settled)
		}
		w.Client.ClearActions()
		for _, answer := range [][]string{{"2408::2", "2408::1"}, nil, {"2408::1", "2408::2"}, {}, {"2408::2", "2408::1"}} {
			ipv6(w, answer...)
			w.Pass(5 * time.Minute)
			if got := w.Patches(); len(got) != 0 {
				t.Fatalf("patches %v when the cloud answers %v; addresses %v", got, answer, w.Node("node-1").Status.Addresses)
			}
		}
		ipv6(w)
		w.Pass(10 * time.Minute)
		if got := w.Patches(); !slices.Equal(got, []string{"node-1 status"}) || len(w.Node("node-1").Status.Addresses) != 2 {
			t.Errorf("patches %v, addresses %v when IPv6 is gone for good", got, w.Node("node-1").Status.Addresses)
		}
	})
}

func TestNodeWhoseInstanceIsGone(t *testing.T) {
	run(t, nil, furnished(3), func(w *world) {
		w.vanish(1)
		w.vanish(2)
		w.UpdateNode("node-1", silent)
		w.Pass(time.Minute)
		if n := len(w.NodeNames()); n != 3 {
			t.Fatalf("%d nodes after one answer, want 3", n)
		}
		w.Pass(5 * time.Second)
		if got := w.NodeNames(); !slices.Equal(got, []string{"node-0", "node-2"}) { // node-2 talks.
			t.Errorf("nodes %v", got)
		}
		if len(w.Events.Matching("node-1 DeletedNode")) != 1 {
			t.Errorf("events %v", w.Events.Matching("node-1"))
		}
	})
}

// With credentials of another account, the existing CCM deletes every node that is silent.
func TestNoInstanceFoundAtAllDeletesNothing(t *testing.T) {
	run(t, nil, furnished(5), func(w *world) {
		for i := range 5 {
			w.vanish(i)
			w.UpdateNode(fmt.Sprintf("node-%d", i), silent)
		}
		w.Pass(time.Hour)
		if n := len(w.NodeNames()); n != 5 {
			t.Errorf("%d nodes left, want 5", n)
		}
		if len(w.Events.Matching(
			"node-3 DeleteNodeFailed: whether the instance exists can't be found out: the cloud knows none of the 5 instances")) == 0 {
			t.Errorf("events %v", w.Events.Matching("node-3"))
		}
	})
}

// TestTheLastNodesAreLeftToPeople: when the last instances of a cluster are released, nobody is left to prove it. The Nodes stay, and say
// who may delete them.
func TestTheLastNodesAreLeftToPeople(t *testing.T) {
	for _, n := range []int{1, 3} {
		run(t, nil, furnished(n), func(w *world) {
			for i := range n {
				w.vanish(i)
				w.UpdateNode(fmt.Sprintf("node-%d", i), silent)
			}
			w.Pass(24 * time.Hour)
			if got := len(w.NodeNames()); got != n {
				t.Errorf("%d nodes left, want %d", got, n)
			}
			for i := range n {
				told := w.Events.Matching(fmt.Sprintf("node-%d DeleteNodeFailed", i))
				const advice = "If it was the last one of the cluster and is released, delete the Node by hand"
				if len(told) == 0 || !strings.Contains(told[len(told)-1], advice) {
					t.Errorf("%d of %d: events %q", i, n, told)
				}
			}
		})
	}
}

func TestDeletionsAreSpread(t *testing.T) {
	run(t, nil, furnished(20), func(w *world) {
		for i := range 8 {
			w.vanish(i)
			w.UpdateNode(fmt.Sprintf("node-%d", i), silent)
		}
		w.Pass(7 * time.Minute)
		if n := len(w.NodeNames()); n != 17 {
			t.Errorf("%d nodes left after the first minutes, want 17", n)
		}
		if len(w.Events.Matching("DeleteNodeFailed")) == 0 {
			t.Error("no event about deletions put off")
		}
		w.Pass(time.Hour)
		if n := len(w.NodeNames()); n != 12 {
			t.Errorf("%d nodes left at last, want 12", n)
		}
	})
}

func TestFailedReadDeletesNothing(t *testing.T) {
	run(t, nil, furnished(3), func(w *world) {
		w.UpdateNode("node-1", silent)
		w.cloud.Fail("BatchGetInstances", 100, &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable})
		w.Pass(time.Hour)
		if n := len(w.NodeNames()); n != 3 {
			t.Errorf("%d nodes left, want 3", n)
		}
	})
}

// An error about one instance is no evidence that it is gone, however often it comes.
func TestUnreadableInstanceDeletesNothing(t *testing.T) {
	for name, err := range map[string]error{
		"forbidden":                     &rpcerr.Error{Code: codes.PermissionDenied, Reason: rpcerr.CloudForbidden, Message: "no"},
		"unavailable":                   &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "no"},
		"not found, but something else": &rpcerr.Error{Code: codes.NotFound, Reason: rpcerr.VpcNotFound, Message: "no"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, furnished(3), func(w *world) {
				w.UpdateNode("node-1", silent)
				w.unreadable(map[string]error{"i-1": err})
				w.Pass(time.Hour)
				if n := len(w.NodeNames()); n != 3 {
					t.Errorf("%d nodes left, want 3", n)
				}
			})
		})
	}
}

func TestDeletionIsOff(t *testing.T) {
	off := func(cfg *controller.Config) { cfg.Deletion = nil }
	run(t, off, furnished(3), func(w *world) {
		w.vanish(1)
		w.UpdateNode("node-1", silent)
		w.Pass(time.Hour)
		if n := len(w.NodeNames()); n != 3 {
			t.Errorf("%d nodes left, want 3", n)
		}
	})
}

// TestTagThatIsGoneTakesItsLabelAlong sets a label by a tag and takes the tag away. Every patch names the UID of its node, so that none can
// hit one that was made anew.
func TestTagThatIsGoneTakesItsLabelAlong(t *testing.T) {
	const label = "node.alibabacloud.com/nodepool-id"
	prepare := func(w *world) {
		w.instance(0)
		w.cloud.Lock()
		pool := state.Tag{Key: "ack.alibabacloud.com/nodepool-id", Value: "np-1"}
		w.cloud.Instances["i-0"].Tags = append(w.cloud.Instances["i-0"].Tags, pool)
		w.cloud.Unlock()
		node := fresh(0)
		node.UID = "uid-0"
		w.CreateNode(node)
	}
	run(t, nil, prepare, func(w *world) {
		if got := w.Node("node-0").Labels[label]; got != "np-1" {
			t.Fatalf("label %q", got)
		}
		w.cloud.Lock()
		w.cloud.Instances["i-0"].Tags = w.cloud.Instances["i-0"].Tags[:1]
		w.cloud.Unlock()
		w.Pass(6 * time.Minute)
		node := w.Node("node-0")
		if got, has := node.Labels[label]; has {
			t.Errorf("the label is %q still", got)
		}
		if got, has := node.Annotations[nodes.AnnotationCloudLabels]; has {
			t.Errorf("the annotation is %q still", got)
		}
		for _, action := range w.Client.Actions() {
			patch, ok := action.(kubetesting.PatchAction)
			if ok && !strings.Contains(string(patch.GetPatch()), `"uid":"uid-0"`) {
				t.Errorf("patch %s", patch.GetPatch())
			}
		}
		w.Client.ClearActions()
		w.Pass(time.Hour)
		if got := w.Patches(); len(got) != 0 {
			t.Errorf("patches %v", got)
		}
	})
}
