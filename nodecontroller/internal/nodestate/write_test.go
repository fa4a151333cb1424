package nodestate_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// TestWhatIsWritten: one thing that differs is enough for a write, and only of the part that it belongs to. A node
// whose labels alone differ would keep wrong ones, one without a provider id would never become ready.
func TestWhatIsWritten(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change         nodestate.Change
		status, object bool
	}{
		"nothing":      {},
		"addresses":    {change: nodestate.Change{AddressesDiffer: true}, status: true},
		"condition":    {change: nodestate.Change{Condition: &corev1.NodeCondition{}}, status: true},
		"labels":       {change: nodestate.Change{Labels: map[string]string{"a": "b"}}, object: true},
		"annotation":   {change: nodestate.Change{Managed: new("")}, object: true},
		"provider id":  {change: nodestate.Change{ProviderID: "cn-hangzhou.i-1"}, object: true},
		"taint":        {change: nodestate.Change{Taint: []corev1.Taint{{}}}, object: true},
		"no taint":     {change: nodestate.Change{Untaint: []string{"a"}}, object: true},
		"both parts":   {change: nodestate.Change{AddressesDiffer: true, ProviderID: "cn-hangzhou.i-1"}, status: true, object: true},
		"same address": {change: nodestate.Change{Addresses: []corev1.NodeAddress{{Address: "192.168.0.1"}}}},
	} {
		if c := tt.change; c.Status() != tt.status || c.Object() != tt.object || c.Empty() == (tt.status || tt.object) {
			t.Errorf("%s: status %t, object %t, empty %t", name, c.Status(), c.Object(), c.Empty())
		}
	}
}
