package controller_test

import (
	"slices"
	"testing"
	"time"

	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/nodes"
)

// TestPriorities: nodes that join are waited for; the sweep, also that of a new leader, is not, and a deletion waits for both.
func TestPriorities(t *testing.T) {
	priorities := func(t *testing.T, w *world, name string, want map[string]gateway.Priority) {
		t.Helper()
		for _, call := range w.cloud.Calls() {
			if expected, known := want[call.Method]; !known && call.Method != "GetCapabilities" && call.Method != "GetVpc" ||
				known && call.Priority != expected {
				t.Errorf("%s: %s has priority %s, want %q", name, call.Method, call.Priority, expected)
			}
		}
		for method := range want {
			if w.calls(method) == 0 {
				t.Errorf("%s: no call of %s", name, method)
			}
		}
		w.cloud.ResetCalls()
	}
	run(t, nil, furnished(3), func(w *world) {
		priorities(t, w, "nodes that join together", map[string]gateway.Priority{
			"BatchGetInstances": gateway.User, "BatchGetNetworkInterfaces": gateway.Backend, "UpdateNetworkInterface": gateway.User,
		})
		w.instance(3)
		w.CreateNode(fresh(3))
		w.Pass(5 * time.Second)
		priorities(t, w, "a node that joins", map[string]gateway.Priority{
			"GetInstance": gateway.User, "GetNetworkInterface": gateway.User, "UpdateNetworkInterface": gateway.User,
		})
		w.instance(4)
		lost := fresh(4)
		lost.Spec.ProviderID = ""
		lost.Annotations = map[string]string{nodes.AnnotationProvidedIP: "192.168.0.4"}
		w.CreateNode(lost)
		w.Pass(5 * time.Second)
		if calls := w.cloud.CallsOf("ListInstances"); len(calls) != 1 || calls[0].Priority != gateway.User {
			t.Errorf("a node without provider ID: %v", calls)
		}
		w.cloud.ResetCalls()
		w.Pass(6 * time.Minute)
		priorities(t, w, "sweep", map[string]gateway.Priority{
			"BatchGetInstances": gateway.Background, "BatchGetNetworkInterfaces": gateway.Background})
		w.vanish(1)
		w.UpdateNode("node-1", silent)
		w.Pass(12 * time.Minute)
		calls := w.cloud.CallsOf("ConfirmAbsent")
		if len(calls) == 0 || slices.ContainsFunc(calls, func(c gatewaytest.Call) bool { return c.Priority != gateway.Deletion }) {
			t.Errorf("the question whether an instance is gone: %v", calls)
		}
		for _, c := range w.cloud.CallsOf("BatchGetInstances") {
			if c.Priority != gateway.Background {
				t.Errorf("the sweep that finds an instance gone has priority %s", c.Priority)
			}
		}
	})
}
