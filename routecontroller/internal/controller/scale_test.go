package controller_test

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/routecontroller/internal/controller"
)

// TestFiveThousandNodes starts on 5 000 nodes that have their routes, made by the existing CCM. One read of the table is all it takes, which
// the gateway does in pages of 500; nothing is written to the cloud. The memory is that of the controller, the fake API server and
// the fake cloud together.
func TestFiveThousandNodes(t *testing.T) {
	const many = 5000
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	edit := func(cfg *controller.Config) {
		cfg.RouteQuota, cfg.ClusterCIDRs = 10_000, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	}
	prepare := func(w *world) {
		for i := range many {
			node := makeNode(i)
			cidr := fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)
			node.Spec.PodCIDR, node.Spec.PodCIDRs = cidr, []string{cidr}
			node.Status.Conditions[1].Status = corev1.ConditionFalse
			w.entry(tableA, cidr, fmt.Sprintf("i-%d", i), "")
			if err := w.Client.Tracker().Add(node); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(t, edit, nil, prepare, func(w *world) {
		w.Pass(10 * time.Second)
		if n := w.calls("ListRouteEntries"); n != 1 || len(w.cloud.Calls()) > 3 {
			t.Errorf("%d reads of the table among %d calls, want one", n, len(w.cloud.Calls()))
		}
		if got := w.Patches(); len(got)+len(w.cloud.Writes()) != 0 {
			t.Errorf("%d patches, %d writes", len(got), len(w.cloud.Writes()))
		}
		var after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&after)
		grown := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20
		t.Logf("%d MiB in use", grown)
		if grown > 120 {
			t.Errorf("%d MiB in use, want at most 120", grown)
		}
	})
}
