package e2e

import (
	"context"
	"fmt"
	"math/bits"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

const (
	// secondTable is a route table that a world doesn't have by itself.
	secondTable = "vtb-second"
	// routeQuota is room for all routes of the tests, and routesPerPage how many the cloud lists in a page.
	routeQuota, routesPerPage = 2000, 500
)

// TestRoutesOfManyNodes gives 200 nodes routes in two empty tables, and takes 60 of them away again. Each write has as
// many routes as the cloud takes at once. Nodes whose routes are there don't wait for those whose routes the cloud
// refuses for a while: they are available before the last write.
//
// The controller is held until all nodes are there, and gathers those that leave for longer than this machine may halt
// between two of them, so that the bounds are the same on any machine. Only refused writes grow with the time that
// passes, as the delays between attempts let them.
func TestRoutesOfManyNodes(t *testing.T) {
	t.Parallel()
	const many, removed = 200, 60
	overrides := unlimitedJoin()
	overrides["vpc/DeleteRouteEntries"] = overrides["vpc/CreateRouteEntries"]
	w := bootWith(t, world.Config{
		Controllers: []string{world.Route}, Fast: true, Gateway: map[string]any{"budget": map[string]any{"overrides": overrides}},
		Route: map[string]any{
			"routeQuota": routeQuota, "gather": map[string]any{"quiet": "10s", "max": "5m"}, "deletion": map[string]any{"percent": 100},
			"syncInterval": "1h", // Only reads that follow from changes are counted.
		},
	})
	tables := []string{world.RouteTableID, secondTable}
	w.addTable(t, tables)
	names, err := w.AddNodes(t.Context(), many)
	if err != nil {
		t.Fatal(err)
	}
	w.ranged(t)
	// The last quarter of the writes has to wait.
	patient := len(tables) * many / routesPerWrite * 3 / 4
	refused := &fault.Error{Code: "QuotaExceeded", Message: "no more"}
	if err := w.Cloud().SetFaults(t.Context(), fault.Rule{Action: "CreateRouteEntr*", Nth: patient + 1, Error: refused}); err != nil {
		t.Fatal(err)
	}
	since, start := w.position(t), time.Now()
	if err := w.Restart(t.Context(), world.Route); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first nodes are available", func(context.Context) error { return w.available(t, 1) })
	first := w.writes(t, since, "CreateRouteEntries")
	if err := w.Cloud().ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventuallyEvery(t, gathered, "all nodes are available", func(context.Context) error { return w.available(t, many) })
	w.checkTables(t, tables)
	calls, since := w.settle(t, since)
	took := time.Since(start)
	made := w.writesOf(t, calls, "CreateRouteEntries")
	refusals := 0
	for _, call := range calls {
		if call.Code == refused.Code {
			refusals++
		}
	}
	t.Logf("%d nodes in %s: writes by table %v, of which %v were made when the first node was available, %d refused; VPC %v, ECS %v",
		many, took, made, first, refusals, counts(calls, "vpc"), counts(calls, "ecs"))
	for _, table := range tables {
		if n := made[table]; n > many/routesPerWrite {
			t.Errorf("%d writes made the routes of %s, want at most %d", n, table, many/routesPerWrite)
		}
	}
	if most := (len(tables)*many/routesPerWrite - patient) * attemptsWithin(took); refusals > most {
		t.Errorf("%d writes were refused in %s, want at most %d", refusals, took, most)
	}
	// A table is read at first, after each write, and after each that the cloud refuses, page by page.
	pages := func(routes int) int { return max(1, (routes+routesPerPage-1)/routesPerPage) }
	most := len(tables) + refusals*pages(many)
	for routes := routesPerWrite; routes <= many; routes += routesPerWrite {
		most += len(tables) * pages(routes)
	}
	if reads := counts(calls, "vpc")["DescribeRouteEntryList"]; reads > most {
		t.Errorf("%d reads of the tables, want at most %d", reads, most)
	}
	if total(first) >= total(made) {
		t.Errorf("the first node was available after %d writes, and there were %d in all", total(first), total(made))
	}

	w.removeNodes(t, names[:removed])
	eventuallyEvery(t, gathered, "routes go", func(context.Context) error { return w.tablesDiffer(t, tables) })
	calls, _ = w.settle(t, since)
	gone := w.writesOf(t, calls, "DeleteRouteEntries")
	t.Logf("%d nodes less: writes by table %v; VPC %v, ECS %v", removed, gone, counts(calls, "vpc"), counts(calls, "ecs"))
	for _, table := range tables {
		if n := gone[table]; n > 1+(removed+routesPerWrite-1)/routesPerWrite {
			t.Errorf("%d writes deleted the routes of %s, want at most %d", n, table, 1+(removed+routesPerWrite-1)/routesPerWrite)
		}
	}
}

// addTable stops the routecontroller, adds the second table to the cloud, and gives the controller both, for when it starts again.
func (w testWorld) addTable(t *testing.T, tables []string) {
	t.Helper()
	if err := w.Process(world.Route).Stop(); err != nil {
		t.Fatal(err)
	}
	off := false
	err := w.Cloud().Limits(t.Context(), func(doc *openapisim.LimitsDocument) {
		doc.Enabled,
			doc.Settings.Quotas.RouteEntries = &off, routeQuota
	})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Cloud().Seed(t.Context(), &state.Cloud{RouteTables: map[string]*state.RouteTable{
		secondTable: {ID: secondTable, VpcID: world.VpcID, Name: "second", Type: "Custom"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Reconfigure(world.Route, map[string]any{"routeTableIDs": tables}); err != nil {
		t.Fatal(err)
	}
}

// ranged waits until all nodes have their ranges of pods.
func (w testWorld) ranged(t *testing.T) {
	t.Helper()
	eventuallyEvery(t, gathered, "nodes have ranges", func(context.Context) error {
		for _, node := range w.nodes(t) {
			if len(node.Spec.PodCIDRs) == 0 {
				return fmt.Errorf("%s has none", node.Name)
			}
		}
		return nil
	})
}

// available gives nil if so many nodes have their routes, as their conditions say.
func (w testWorld) available(t *testing.T, want int) error {
	t.Helper()
	got := 0
	for _, node := range w.nodes(t) {
		if condition(&node, corev1.NodeNetworkUnavailable) == corev1.ConditionFalse {
			got++
		}
	}
	if got < want {
		return fmt.Errorf("%d are, want %d", got, want)
	}
	return nil
}

// tablesDiffer gives an error if a table has other routes than the nodes want.
func (w testWorld) tablesDiffer(t *testing.T, tables []string) error {
	t.Helper()
	want, cloud := wantedRoutes(w.nodes(t)), w.state(t)
	for _, table := range tables {
		got := map[netip.Prefix]string{}
		for _, e := range cloud.RouteTables[table].Entries {
			if e.Type == "Custom" {
				got[netip.MustParsePrefix(e.Cidr)] = e.NextHopID
			}
		}
		if diff := diffRoutes(want, got); diff != "" {
			return fmt.Errorf("routes of %s (-want +got):\n%s", table, diff)
		}
	}
	return nil
}

func (w testWorld) checkTables(t *testing.T, tables []string) {
	t.Helper()
	if err := w.tablesDiffer(t, tables); err != nil {
		t.Error(err)
	}
}

// writes counts the writes since a position of the journal, by table.
func (w testWorld) writes(t *testing.T, since int64, action string) map[string]int {
	t.Helper()
	calls, _, err := w.Cloud().Calls(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	return w.writesOf(t, calls, action)
}

// writesOf counts the writes that had an effect, by table. No other action writes to a table, and the cloud is never
// asked while it is busy.
func (w testWorld) writesOf(t *testing.T, calls []journal.Call, action string) map[string]int {
	t.Helper()
	writes := map[string]int{}
	for _, call := range calls {
		switch {
		case call.Code == "TaskConflict":
			t.Errorf("%s %v: %s", call.Action, call.Params, call.Code)
		case !call.Effect || call.Product != "vpc":
		case call.Action != action:
			t.Errorf("a write: %s %v", call.Action, call.Params)
		case len(entriesOf(call)) > routesPerWrite:
			t.Errorf("%d routes in one write", len(entriesOf(call)))
		default:
			writes[call.Params["RouteEntries.1.RouteTableId"]]++
		}
	}
	return writes
}

// removeNodes deletes nodes and their instances, several at a time.
func (w testWorld) removeNodes(t *testing.T, names []string) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for _, name := range names {
		group.Go(func() error { return w.RemoveNode(ctx, name) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// attemptsWithin is how often one node is tried at most in a time: the delay after the first attempt is a second, and
// each is at least twice the one before.
func attemptsWithin(d time.Duration) int { return bits.Len(uint(d/time.Second) + 1) }
