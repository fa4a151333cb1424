package controller_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kubetesting "k8s.io/client-go/testing"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/nodes"
)

// liveNode lets the API server know a state of node-1 that the cache of the controller does not have yet.
func (w *world) liveNode(edit func(*corev1.Node)) {
	w.Client.PrependReactor("get", "nodes", func(kubetesting.Action) (bool, runtime.Object, error) {
		object, err := w.Client.Tracker().Get(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "", "node-1")
		if err != nil {
			return true, nil, err
		}
		node := object.DeepCopyObject().(*corev1.Node) //nolint:forcetypeassert // A failure of the test.
		edit(node)
		return true, node, nil
	})
}

func TestNodeThatHasChangedIsNotDeleted(t *testing.T) {
	for name, edit := range map[string]func(*corev1.Node){
		"the kubelet reports again": ready,
		"it was made anew":          func(n *corev1.Node) { n.UID = "another" },
	} {
		t.Run(name, func(t *testing.T) {
			prepare := func(w *world) {
				furnished(3)(w)
				w.vanish(1)
				w.UpdateNode("node-1", silent)
				w.liveNode(edit)
			}
			run(t, nil, prepare, func(w *world) {
				w.Pass(7 * time.Minute)
				if n := len(w.NodeNames()); n != 3 {
					t.Errorf("%d nodes left, want 3", n)
				}
				if len(w.Events.Matching("node-1 DeleteNodeFailed: the node has changed meanwhile")) == 0 {
					t.Errorf("events %v", w.Events.Matching("node-1"))
				}
			})
		})
	}
}

// TestDeletionHoldsForTheVersionReadOnly checks what protects a node that changes while the deletion is on its way.
func TestDeletionHoldsForTheVersionReadOnly(t *testing.T) {
	prepare := func(w *world) {
		furnished(3)(w)
		w.UpdateNode("node-1", func(n *corev1.Node) { n.UID, n.ResourceVersion = "uid-1", "77" })
	}
	run(t, nil, prepare, func(w *world) {
		w.vanish(1)
		w.UpdateNode("node-1", func(n *corev1.Node) { silent(n); n.ResourceVersion = "78" })
		w.Pass(7 * time.Minute)
		var guards []string
		for _, action := range w.Client.Actions() {
			if deletion, ok := action.(kubetesting.DeleteActionImpl); ok && action.GetResource().Resource == "nodes" {
				guard := deletion.DeleteOptions.Preconditions
				guards = append(guards, deletion.Name, string(*guard.UID), *guard.ResourceVersion)
			}
		}
		if !slices.Equal(guards, []string{"node-1", "uid-1", "78"}) {
			t.Errorf("deletions %v, want node-1 in its very version", guards)
		}
	})
}

// TestDeletionThatFailsIsNotPutOff lets each first deletion of a node fail: what has had no effect must not use up what may go within the
// window. A leader that dies before it deletes what it has counted leaves the same record behind.
func TestDeletionThatFailsIsNotPutOff(t *testing.T) {
	prepare := func(w *world) {
		furnished(20)(w)
		tried := map[string]bool{}
		w.Client.PrependReactor("delete", "nodes", func(action kubetesting.Action) (bool, runtime.Object, error) {
			name := action.(kubetesting.DeleteAction).GetName() //nolint:forcetypeassert // A failure of the test.
			if tried[name] {
				return false, nil, nil
			}
			tried[name] = true
			return true, nil, apierrors.NewConflict(corev1.Resource("nodes"), name, errors.New("the node was written meanwhile"))
		})
	}
	run(t, nil, prepare, func(w *world) {
		for i := range 8 {
			w.vanish(i)
			w.UpdateNode(fmt.Sprintf("node-%d", i), silent)
		}
		w.Pass(5 * time.Minute) // Each of the eight has failed by then, three in a minute at most.
		if n := len(w.NodeNames()); n != 17 {
			t.Errorf("%d nodes left after the first minutes, want 17", n)
		}
		w.Pass(7 * time.Minute)
		if n := len(w.NodeNames()); n != 17 {
			t.Errorf("%d nodes left within ten minutes, want 17", n)
		}
		w.Pass(time.Hour)
		if n := len(w.NodeNames()); n != 12 {
			t.Errorf("%d nodes left at last, want 12", n)
		}
	})
}

// TestUndeletableNodesKeepNoOthers lets the API server refuse the deletion of as many nodes as may go within the
// budget's window. Others go, and each of the refused ones is tried no more often than the sweep looks.
func TestUndeletableNodesKeepNoOthers(t *testing.T) {
	var tries atomic.Int32
	prepare := func(w *world) {
		furnished(20)(w)
		w.Client.PrependReactor("delete", "nodes", func(action kubetesting.Action) (bool, runtime.Object, error) {
			name := action.(kubetesting.DeleteAction).GetName() //nolint:forcetypeassert // A failure of the test.
			if !slices.Contains([]string{"node-0", "node-1", "node-2"}, name) {
				return false, nil, nil
			}
			tries.Add(1)
			return true, nil, apierrors.NewForbidden(corev1.Resource("nodes"), name, errors.New("a policy protects it"))
		})
	}
	run(t, nil, prepare, func(w *world) {
		for i := range 8 {
			w.vanish(i)
			w.UpdateNode(fmt.Sprintf("node-%d", i), silent)
		}
		w.Pass(25 * time.Minute) // Two windows for five nodes.
		if n := len(w.NodeNames()); n != 15 {
			t.Errorf("%d nodes left, want those of the 12 instances and the 3 that can't be deleted: %v", n, w.NodeNames())
		}
		w.Pass(10 * time.Minute)
		tries.Store(0)
		w.Pass(time.Hour)
		if n := tries.Load(); n < 3 || n > 3*12 {
			t.Errorf("%d tries in an hour, want one in five minutes for each of three nodes at most", n)
		}
	})
}

// TestNodesThatWaitForAFinalizer has as many nodes as may go within the budget's window wait for somebody's finalizer
// when they are deleted. Each is deleted and reported once, and others go.
func TestNodesThatWaitForAFinalizer(t *testing.T) {
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	prepare := func(w *world) {
		furnished(20)(w)
		w.Client.PrependReactor("delete", "nodes", func(action kubetesting.Action) (bool, runtime.Object, error) {
			name := action.(kubetesting.DeleteAction).GetName() //nolint:forcetypeassert // A failure of the test.
			if !slices.Contains([]string{"node-0", "node-1", "node-2"}, name) {
				return false, nil, nil
			}
			object, err := w.Client.Tracker().Get(gvr, "", name)
			if err != nil {
				return true, nil, err
			}
			node := object.DeepCopyObject().(*corev1.Node) //nolint:forcetypeassert // A failure of the test.
			node.DeletionTimestamp = new(metav1.Now())
			return true, node, w.Client.Tracker().Update(gvr, node, "")
		})
	}
	run(t, nil, prepare, func(w *world) {
		for i := range 8 {
			w.vanish(i)
			w.UpdateNode(fmt.Sprintf("node-%d", i), silent)
		}
		w.Pass(36 * time.Minute)
		if n := len(w.NodeNames()); n != 15 {
			t.Errorf("%d nodes left, want those of the 12 instances and the 3 that wait: %v", n, w.NodeNames())
		}
		for i := range 8 {
			if got := w.Events.Matching(fmt.Sprintf("node-%d DeletedNode", i)); len(got) != 1 {
				t.Errorf("events %q, want one", got)
			}
		}
	})
}

// TestDeletionWithoutAnswer lets the first answers of the API server to deletions be lost, and its watch be behind.
// What went is not taken for a failure, so that no more nodes go than may.
func TestDeletionWithoutAnswer(t *testing.T) {
	gone := map[string]bool{} // but still in the cache
	prepare := func(w *world) {
		furnished(20)(w)
		w.Client.PrependReactor("delete", "nodes", func(action kubetesting.Action) (bool, runtime.Object, error) {
			name := action.(kubetesting.DeleteAction).GetName() //nolint:forcetypeassert // A failure of the test.
			gone[name] = true
			return true, nil, errors.New("the connection is lost")
		})
		w.Client.PrependReactor("get", "nodes", func(action kubetesting.Action) (bool, runtime.Object, error) {
			name := action.(kubetesting.GetAction).GetName() //nolint:forcetypeassert // A failure of the test.
			return gone[name], nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
		})
	}
	run(t, nil, prepare, func(w *world) {
		for i := range 8 {
			w.vanish(i)
			w.UpdateNode(fmt.Sprintf("node-%d", i), silent)
		}
		w.Pass(10 * time.Minute)
		if n := len(gone); n != 3 {
			t.Errorf("%d nodes went within ten minutes, at most 3 may", n)
		}
	})
}

// A node whose instance went before its initialisation would keep its taint, and its name, for ever.
func TestUninitialisedNodeWhoseInstanceIsGone(t *testing.T) {
	prepare := func(w *world) {
		furnished(3)(w)
		w.vanish(1)
		w.UpdateNode("node-1", silent)
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(10 * time.Minute)
		if got := w.NodeNames(); !slices.Equal(got, []string{"node-0", "node-2"}) {
			t.Errorf("nodes %v", got)
		}
	})
}

// TestNodeWithoutProviderIDWhoseInstanceIsGone: nothing proves which instance it was, so that the Node stays. It says who
// may delete it, and the cloud is not asked for ever.
func TestNodeWithoutProviderIDWhoseInstanceIsGone(t *testing.T) {
	prepare := func(w *world) {
		furnished(3)(w)
		w.vanish(1)
		w.UpdateNode("node-1", func(n *corev1.Node) {
			silent(n)
			n.Spec.ProviderID = ""
			n.Annotations = map[string]string{nodes.AnnotationProvidedIP: "192.168.0.111"}
		})
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(time.Hour)
		told := w.Events.Matching("node-1 SyncNodeFailed")
		if len(told) == 0 || !strings.Contains(told[len(told)-1], "if its machine is gone, delete the Node") {
			t.Errorf("events %q", told)
		}
		before := w.calls("ListInstances")
		w.Pass(24 * time.Hour)
		if got := w.calls("ListInstances") - before; got > 0 {
			t.Errorf("%d lists of instances in a day", got)
		}
		if got := w.NodeNames(); !slices.Equal(got, []string{"node-0", "node-1", "node-2"}) {
			t.Errorf("nodes %v", got)
		}
	})
}

// guardUIDs lets the API server refuse patches that name the UID of another node than the one that is there, as the real one does.
func (w *world) guardUIDs() {
	w.Client.PrependReactor("patch", "nodes", func(action kubetesting.Action) (bool, runtime.Object, error) {
		patch := action.(kubetesting.PatchAction) //nolint:forcetypeassert // A failure of the test.
		var body struct{ Metadata struct{ UID types.UID } }
		if err := json.Unmarshal(patch.GetPatch(), &body); err != nil {
			return true, nil, err
		}
		gvr := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
		object, err := w.Client.Tracker().Get(gvr, "", patch.GetName())
		if err != nil {
			return true, nil, err
		}
		//nolint:forcetypeassert // A failure of the test.
		if node := object.(*corev1.Node); body.Metadata.UID != "" && body.Metadata.UID != node.UID {
			return true, nil, apierrors.NewConflict(gvr.GroupResource(), node.Name, errors.New("the UID differs"))
		}
		return false, nil, nil
	})
}

// TestNodeMadeAnewIsNotWritten lets a node be made anew, for another instance, between the decision and the write.
func TestNodeMadeAnewIsNotWritten(t *testing.T) {
	prepare := func(w *world) {
		w.instance(0)
		node := fresh(0)
		node.UID = "uid-0"
		w.CreateNode(node)
		w.guardUIDs()
		w.conflictOnce(func(n *corev1.Node) { n.UID, n.Spec.ProviderID = "another", "cn-hangzhou.i-9" })
	}
	run(t, nil, prepare, func(w *world) {
		if labels := w.Node("node-0").Labels; len(labels) > 0 {
			t.Errorf("labels %v of the instance of the node before", labels)
		}
	})
}

// TestNodeWithABadAddressKeepsNoOthers lets the kubelet of a node have written nonsense for its address, which the gateway refuses.
func TestNodeWithABadAddressKeepsNoOthers(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) {
		furnished(20)(w)
		w.cloud.Interpose(func(_ int, _ string, request proto.Message) gatewaytest.Fault {
			asked, _ := request.(*ecsv1.BatchGetNetworkInterfacesRequest)
			if slices.Contains(asked.GetIpAddresses(), "nonsense") {
				return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.InvalidArgument, Reason: rpcerr.InvalidField, Message: "ip_addresses[1]"}}
			}
			return gatewaytest.Fault{}
		})
	}
	run(t, nil, prepare, func(w *world) {
		for i := range 2 {
			w.vanish(i)
			w.UpdateNode(fmt.Sprintf("node-%d", i), silent)
		}
		w.UpdateNode("node-0", func(n *corev1.Node) {
			n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "nonsense"}}
		})
		w.Pass(20 * time.Minute)
		if got := w.NodeNames(); len(got) != 18 {
			t.Errorf("%d nodes, want the 18 whose instances are there: events %v", len(got), w.Events.Matching("DeleteNodeFailed"))
		}
	})
}
