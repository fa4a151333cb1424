package controller_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubetesting "k8s.io/client-go/testing"
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

// TestNodeMadeAnewIsNotWritten lets a node be made anew, for another instance, between the decision and the write.
func TestNodeMadeAnewIsNotWritten(t *testing.T) {
	prepare := func(w *world) {
		furnished(1)(w)
		w.conflictOnce(func(n *corev1.Node) { n.UID, n.Spec.ProviderID = "another", "cn-hangzhou.i-9" })
	}
	run(t, nil, prepare, func(w *world) {
		if labels := w.Node("node-0").Labels; len(labels) > 0 {
			t.Errorf("labels %v of the instance of the node before", labels)
		}
	})
}
