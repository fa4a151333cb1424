package controller_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/routecontroller/internal/controller"
)

// TestRangesOfTheCloudAreRefused gives three nodes ranges of which one overlaps a vSwitch. Its node is told so and nobody is asked to make
// that route; the others get theirs.
func TestRangesOfTheCloudAreRefused(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	edit := func(cfg *controller.Config) { cfg.Registerer = registry }
	prepare := func(w *world) {
		w.entry(tableA, "10.0.1.128/25", "", "")
		w.cloud.Lock()
		w.cloud.Routes[gatewaytest.RouteKey{RouteTableID: tableA, DestinationCIDR: "10.0.1.128/25"}].Type = "System"
		w.cloud.Unlock()
	}
	run(t, edit, makeNodes(3), prepare, func(w *world) {
		want := []string{"10.0.0.0/24→i-0", "10.0.1.128/25→", "10.0.2.0/24→i-2"}
		if diff := cmp.Diff(want, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
		if len(w.Events.Matching("node-1 CreateRouteFailed: route table vtb-a: pod CIDR 10.0.1.0/24 overlaps 10.0.1.128/25, which is the range of a vSwitch")) != 1 {
			t.Errorf("events %v", w.Events.Matching("node-1"))
		}
		if got := w.network("node-1"); got != "True NoRouteCreated" {
			t.Errorf("NetworkUnavailable %s", got)
		}
		got := map[string]float64{}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				switch family.GetName() {
				case "routecontroller_routes":
					got[metric.GetLabel()[1].GetValue()] = metric.GetGauge().GetValue()
				case "routecontroller_route_entries", "routecontroller_route_quota_used_ratio":
					got[family.GetName()] = metric.GetGauge().GetValue()
				case "routecontroller_time_to_available_seconds":
					got[family.GetName()] = float64(metric.GetHistogram().GetSampleCount())
				}
			}
		}
		metrics := map[string]float64{
			"available": 2, "pending": 0, "missing": 0, "refused": 1, "orphan": 0, "routecontroller_route_entries": 2,
			"routecontroller_route_quota_used_ratio": 0.01, "routecontroller_time_to_available_seconds": 2,
		}
		if diff := cmp.Diff(metrics, got); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}
