package controller_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/gateway"
)

// TestPriorities: a node that waits for its routes is a user's change. What is only checked is background, also by a new leader.
func TestPriorities(t *testing.T) {
	check := func(t *testing.T, w *world, name string, want map[string]gateway.Priority) {
		t.Helper()
		for method, priority := range want {
			calls := w.cloud.CallsOf(method)
			if len(calls) == 0 {
				t.Errorf("%s: no call of %s", name, method)
			}
			for _, c := range calls {
				if c.Priority != priority {
					t.Errorf("%s: %s has priority %s, want %s", name, method, c.Priority, priority)
				}
			}
		}
		w.cloud.ResetCalls()
	}
	run(t, nil, makeNodes(3), nil, func(w *world) {
		check(t, w, "nodes that join", map[string]gateway.Priority{"ListRouteEntries": gateway.User, "BatchCreateRouteEntries": gateway.User})
		w.Pass(2 * time.Hour)
		check(t, w, "check for drift", map[string]gateway.Priority{"ListRouteEntries": gateway.Background})
		w.DeleteNode("node-1")
		w.Pass(2 * time.Hour)
		check(t, w, "a node that left", map[string]gateway.Priority{"BatchDeleteRouteEntries": gateway.Deletion})
	})
	settled := func(w *world) {
		for i := range 3 {
			w.entry(tableA, fmt.Sprintf("10.0.%d.0/24", i), fmt.Sprintf("i-%d", i), fmt.Sprintf("k8s/c-1/node-%d", i))
			w.UpdateNode(fmt.Sprintf("node-%d", i), func(n *corev1.Node) { n.Status.Conditions[1].Status = corev1.ConditionFalse })
		}
	}
	run(t, nil, makeNodes(3), settled, func(w *world) {
		check(t, w, "a new leader, all nodes have their routes", map[string]gateway.Priority{"ListRouteEntries": gateway.Background})
	})
	waiting := func(w *world) {
		settled(w)
		w.UpdateNode("node-2", func(n *corev1.Node) { n.Status.Conditions[1].Status = corev1.ConditionTrue })
	}
	run(t, nil, makeNodes(3), waiting, func(w *world) {
		check(t, w, "a new leader, a node waits", map[string]gateway.Priority{"ListRouteEntries": gateway.User})
	})
}
