package initialize_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/nodecontroller/internal/initialize"
)

// TestWhatIsWritten: one thing that differs is enough for a write, and only of the part that it belongs to. A node whose labels alone differ
// would keep wrong ones, one without a provider id would never become ready.
func TestWhatIsWritten(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change         initialize.Change
		status, object bool
	}{
		"nothing":      {},
		"addresses":    {change: initialize.Change{AddressesDiffer: true}, status: true},
		"condition":    {change: initialize.Change{Condition: &corev1.NodeCondition{}}, status: true},
		"labels":       {change: initialize.Change{Labels: map[string]string{"a": "b"}}, object: true},
		"annotation":   {change: initialize.Change{Managed: new("")}, object: true},
		"provider id":  {change: initialize.Change{ProviderID: "cn-hangzhou.i-1"}, object: true},
		"taint":        {change: initialize.Change{Taint: []corev1.Taint{{}}}, object: true},
		"no taint":     {change: initialize.Change{Untaint: []string{"a"}}, object: true},
		"both parts":   {change: initialize.Change{AddressesDiffer: true, ProviderID: "cn-hangzhou.i-1"}, status: true, object: true},
		"same address": {change: initialize.Change{Addresses: []corev1.NodeAddress{{Address: "192.168.0.1"}}}},
	} {
		if c := tt.change; c.Status() != tt.status || c.Object() != tt.object || c.Empty() == (tt.status || tt.object) {
			t.Errorf("%s: status %t, object %t, empty %t", name, c.Status(), c.Object(), c.Empty())
		}
	}
}
