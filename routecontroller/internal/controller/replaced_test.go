package controller_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubetesting "k8s.io/client-go/testing"
)

// successor makes the node with another instance that takes the place of one, with its range.
func successor(old *corev1.Node) *corev1.Node {
	n := old.DeepCopy()
	n.Name, n.UID, n.CreationTimestamp = "new-"+old.Name, types.UID("new-"+old.Name), metav1.Now()
	n.Spec.ProviderID += "new"
	n.Status.Conditions = n.Status.Conditions[:1]
	return n
}

// TestReplacedNodesDoNotWait replaces many nodes within a moment, as an upgrade of a node pool does. That so many
// routes go brakes nothing: each deletion has a second fact. Every new node has its route within half a minute.
func TestReplacedNodesDoNotWait(t *testing.T) {
	t.Parallel()
	all := makeNodes(250)
	for name, tt := range map[string]struct {
		before []*corev1.Node
		after  func() []*corev1.Node
		gone   int
		// unseen lets the Nodes go while no leader watches.
		unseen bool
	}{
		"8 of 16, with the ranges of the old ones": {before: all[:16], gone: 8},
		"8 of 16 while the leader changes":         {before: all[:16], gone: 8, unseen: true},
		"100 of 150, in a table of 200":            {before: all[:150], gone: 100, after: func() []*corev1.Node { return all[150:] }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, nil, func(t *testing.T, w *world, _ func(time.Duration)) {
				for _, n := range tt.before {
					w.instance(n)
					w.CreateNode(n)
				}
				stop := w.reign(t, nil)
				w.Pass(5 * time.Minute)
				if tt.unseen {
					stop()
				}
				var joined []*corev1.Node
				for i, old := range tt.before[:tt.gone] {
					w.DeleteNode(old.Name)
					w.release(fmt.Sprintf("i-%d", i))
					if tt.after == nil {
						joined = append(joined, successor(old))
					}
				}
				if tt.after != nil {
					joined = tt.after()
				}
				for _, n := range joined {
					w.instance(n)
					w.CreateNode(n)
				}
				if tt.unseen {
					stop = w.reign(t, nil)
				}
				w.Pass(30 * time.Second)
				waiting := 0
				for _, n := range joined {
					if w.network(n.Name) != "False RouteCreated" {
						waiting++
					}
				}
				if waiting > 0 {
					t.Errorf("%d of %d new nodes have no route after 30 s: events %q", waiting, len(joined), w.Events.Matching("vtb-a"))
				}
				if got := w.Events.Matching("RouteDeletionHeld"); len(got) > 0 {
					t.Errorf("events %q", got)
				}
				w.Pass(5 * time.Minute)
				if n := len(w.routes(tableA)); n != len(tt.before)-tt.gone+len(joined) {
					t.Errorf("%d routes in the end", n)
				}
				stop()
			})
		})
	}
}

// TestDeletionsShareALook: before routes are deleted, all nodes are read from the API server, which is tens of megabytes for thousands.
// Nodes that leave one after the other, and whose places nobody waits for, share such a look.
func TestDeletionsShareALook(t *testing.T) {
	t.Parallel()
	run(t, nil, makeNodes(40), nil, func(w *world) {
		w.Pass(5 * time.Minute)
		var lists atomic.Int32
		w.Client.PrependReactor("list", "nodes", func(kubetesting.Action) (bool, runtime.Object, error) {
			lists.Add(1)
			return false, nil, nil
		})
		const leaving = 12
		for i := range leaving {
			w.DeleteNode(fmt.Sprintf("node-%d", i))
			w.release(fmt.Sprintf("i-%d", i))
			w.Pass(5 * time.Second)
		}
		w.Pass(40 * time.Second)
		if n := len(w.routes(tableA)); n != 40-leaving {
			t.Errorf("%d routes, want %d", n, 40-leaving)
		}
		if n := lists.Load(); n == 0 || n > 4 {
			t.Errorf("%d lists of all nodes for %d deletions in a minute and a half, want one in 30 s", n, leaving)
		}
	})
}
