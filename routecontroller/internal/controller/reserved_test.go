package controller_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/services/kube/kubetest"

	"alicloud-controllers.dev/routecontroller/internal/controller"
)

// TestRangesOfTheCloudAreRefused gives three nodes ranges of which one overlaps a vSwitch. An event on its node says
// so, and the cloud is not asked for that route; the others get theirs.
func TestRangesOfTheCloudAreRefused(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	edit := func(cfg *controller.Config) { cfg.Registerer = registry }
	prepare := func(w *world) {
		w.cloud.Add(&state.Cloud{VSwitches: map[string]*state.VSwitch{"vsw-pods": {VpcID: vpcID, CidrBlock: "10.0.1.128/25"}}})
	}
	run(t, edit, makeNodes(3), prepare, func(w *world) {
		want := []string{"10.0.0.0/24→i-0", "10.0.2.0/24→i-2"}
		if diff := cmp.Diff(want, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
		if len(w.Events.Matching(
			"node-1 CreateRouteFailed: route table vtb-a: pod CIDR 10.0.1.0/24 overlaps 10.0.1.128/25, which is the range of a vSwitch")) != 1 {
			t.Errorf("events %v", w.Events.Matching("node-1"))
		}
		if got := w.network("node-1"); got != "True NoRouteCreated" {
			t.Errorf("NetworkUnavailable %s", got)
		}
		got := kubetest.Metric(t, registry, "routecontroller_routes")
		for _, name := range []string{
			"routecontroller_route_entries", "routecontroller_route_quota_used_ratio", "routecontroller_time_to_available_seconds",
		} {
			for _, value := range kubetest.Metric(t, registry, name) {
				got[name] += value
			}
		}
		got["orphan"] = kubetest.Metric(t, registry, "routecontroller_routes")["orphan"]
		metrics := map[string]float64{
			"available": 2, "pending": 0, "missing": 0, "unusable": 0, "refused": 1, "blocked": 0, "orphan": 0, "routecontroller_route_entries": 2,
			"routecontroller_route_quota_used_ratio": 0.01, "routecontroller_time_to_available_seconds": 2,
		}
		if diff := cmp.Diff(metrics, got); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

// TestRoutesThatNobodyClaims has a table with routes whose Nodes are gone and an entry of somebody else in the range of a node.
func TestRoutesThatNobodyClaims(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	edit := func(cfg *controller.Config) {
		cfg.Registerer, cfg.Orphans.Grace = registry, 2*time.Minute+30*time.Second
	}
	prepare := func(w *world) {
		for i := 10; i < 15; i++ { // Their instances live: three may go at once.
			w.instance(makeNode(i))
			w.entry(tableA, fmt.Sprintf("10.0.%d.0/24", i), fmt.Sprintf("i-%d", i), marked(i))
		}
		w.entry(tableA, "10.0.20.0/24", "i-20", marked(20))
		w.instance(makeNode(20))
		w.entry(tableA, "10.0.1.128/25", "i-stranger", "by hand")
	}
	metrics := func() map[string]float64 {
		got := map[string]float64{}
		for _, name := range []string{"held_deletions", "foreign_overlaps", "no_node_claims", "record_unusable"} {
			for _, value := range kubetest.Metric(t, registry, "routecontroller_"+name) {
				got[name] += value
			}
		}
		got["orphan"] = kubetest.Metric(t, registry, "routecontroller_routes")["orphan"]
		return got
	}
	run(t, edit, makeNodes(3), prepare, func(w *world) {
		w.Pass(3 * time.Minute)
		want := map[string]float64{"orphan": 3, "held_deletions": 3, "foreign_overlaps": 1, "no_node_claims": 0, "record_unusable": 0}
		if diff := cmp.Diff(want, metrics()); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
		for i := range 3 {
			w.DeleteNode(fmt.Sprintf("node-%d", i))
		}
		w.Pass(30 * time.Minute)
		if got := metrics()["no_node_claims"]; got != 1 {
			t.Errorf("no_node_claims is %v without any node", got)
		}
	})
}
