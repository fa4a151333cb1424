package controller_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/kube/kubetest"

	"alicloud-controllers.dev/routecontroller/internal/controller"
)

// TestFiveThousandNodes starts on 5 000 nodes that have their routes, made by the existing CCM. One read of the table
// is all it takes, which the gateway does in pages; nothing is written to the cloud, and an hour, with ten thousand
// heartbeats, costs a read in five minutes. The memory is that of the controller, with the journals of the fakes; the
// processor time is that of the fakes, too.
func TestFiveThousandNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute of processor time: make test runs it, make quick and -short do not")
	}
	const many = 5000
	var before int64
	edit := func(cfg *controller.Config) {
		cfg.RouteQuota, cfg.ClusterCIDRs = 10_000, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	}
	prepare := func(w *world) {
		for i := range many {
			node := kubetest.Laden(makeNode(i))
			cidr := fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)
			node.Spec.PodCIDR, node.Spec.PodCIDRs = cidr, []string{cidr}
			node.Status.Conditions[1].Status = corev1.ConditionFalse
			if err := w.Client.Tracker().Add(node); err != nil {
				t.Fatal(err)
			}
		}
		w.cloud.Sim.Update(func(c *state.Cloud) {
			for i := range many {
				addEntry(c, tableA, fmt.Sprintf("10.%d.%d.0/24", i/256, i%256), fmt.Sprintf("i-%d", i), "")
			}
		})
		before = kubetest.HeapMiB()
	}
	run(t, edit, nil, prepare, func(w *world) {
		w.Pass(10 * time.Second)
		if n := w.calls("ListRouteEntries"); n != 1 || len(w.cloud.Calls()) > 4 {
			t.Errorf("%d reads of the table among %d calls, want one", n, len(w.cloud.Calls()))
		}
		grown := kubetest.HeapMiB() - before
		if grown > 120 {
			t.Errorf("%d MiB in use, want at most 120", grown)
		}
		w.cloud.ResetCalls()
		used := kubetest.WantCPU(t, 10, func() {
			for range 2 { // Every one is the same, and each costs the fakes more than all else.
				w.Heartbeats(5 * time.Minute)
			}
			w.Pass(50 * time.Minute)
		})
		if n := w.calls("ListRouteEntries"); n < 10 || n > 12 || len(w.cloud.Calls()) != n+w.calls("ListRouteTables") {
			t.Errorf("%d reads of the table among %d calls in an hour, want one in five minutes", n, len(w.cloud.Calls()))
		}
		if got := w.Patches(); len(got)+len(w.cloud.Writes()) != 0 {
			t.Errorf("%d patches, %d writes", len(got), len(w.cloud.Writes()))
		}
		t.Logf("%d MiB in use; %.1f s of processor time for an hour", grown, used)
	})
}

// TestThousandNodesInTwoTables gives 1 000 nodes routes in two empty tables and takes 300 of them away again. A write of the cloud takes
// 50 entries, into which the gateway divides what it is asked for.
func TestThousandNodesInTwoTables(t *testing.T) {
	t.Parallel()
	const many, removed, perWrite = 1000, 300, 50
	edit := func(cfg *controller.Config) {
		cfg.RouteQuota, cfg.RouteTableIDs = 2000, []string{tableA, tableB}
		cfg.ClusterCIDRs = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		cfg.Orphans.Percent = 100
	}
	prepare := func(w *world) {
		w.table(tableB)
		w.quota(2000)
		for i := range many {
			node := makeNode(i)
			cidr := fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)
			node.Spec.PodCIDR, node.Spec.PodCIDRs = cidr, []string{cidr}
			w.instance(node)
			w.CreateNode(node)
		}
	}
	writes := func(t *testing.T, w *world) map[string]int {
		t.Helper()
		count := map[string]int{}
		for _, call := range w.cloud.Writes() {
			var entries []*vpcv1.RouteEntry
			switch request := call.Request.(type) {
			case *vpcv1.BatchCreateRouteEntriesRequest:
				entries = request.GetRouteEntries()
			case *vpcv1.BatchDeleteRouteEntriesRequest:
				entries = request.GetRouteEntries()
			}
			if call.Err != nil || len(entries) == 0 {
				t.Errorf("%s: %d entries, error %v", call.Method, len(entries), call.Err)
				continue
			}
			count[entries[0].GetRouteTableId()] += (len(entries) + perWrite - 1) / perWrite
		}
		return count
	}
	run(t, edit, nil, prepare, func(w *world) {
		w.settle()
		for _, table := range []string{tableA, tableB} {
			if n := writes(t, w)[table]; n > many/perWrite || len(w.routes(table)) != many {
				t.Errorf("%s: %d routes by %d writes, want %d by at most %d", table, len(w.routes(table)), n, many, many/perWrite)
			}
		}
		if reads := len(w.cloud.Calls()) - len(w.cloud.Writes()); reads > 60 {
			t.Errorf("%d reads, want at most 60", reads)
		}
		for i := range many {
			if got := w.network(fmt.Sprintf("node-%d", i)); got != "False RouteCreated" {
				t.Fatalf("node-%d: NetworkUnavailable %q", i, got)
			}
		}
		w.cloud.ResetCalls()
		for i := range removed {
			w.DeleteNode(fmt.Sprintf("node-%d", i))
			w.release(fmt.Sprintf("i-%d", i))
		}
		w.Pass(10 * time.Minute)
		for _, table := range []string{tableA, tableB} {
			if n := writes(t, w)[table]; n > removed/perWrite || len(w.routes(table)) != many-removed {
				t.Errorf("%s: %d routes are left after %d writes, want %d after at most %d",
					table, len(w.routes(table)), n, many-removed, removed/perWrite)
			}
		}
	})
}

// TestFirstNodesDoNotWaitForTheLast lets 1 000 nodes join where the cloud takes five seconds for each 50 routes of a VPC, among them 120
// whose instances it does not know. The first are in service within seconds though there are two tables, and the routes that can't be had
// hold up nobody.
func TestFirstNodesDoNotWaitForTheLast(t *testing.T) {
	t.Parallel()
	const many, bad, perWrite, perCall = 1000, 120, 50, 5 * time.Second
	edit := func(cfg *controller.Config) {
		cfg.RouteQuota, cfg.RouteTableIDs = 2000, []string{tableA, tableB}
		cfg.ClusterCIDRs = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	}
	node := func(i int) *corev1.Node {
		node := makeNode(i)
		node.Spec.PodCIDR = fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)
		node.Spec.PodCIDRs = []string{node.Spec.PodCIDR}
		return node
	}
	prepare := func(w *world) {
		w.table(tableB)
		w.quota(2000)
		for i := range many {
			if i >= bad {
				w.instance(node(i))
			}
			w.CreateNode(node(i))
		}
		turn := make(chan struct{}, 1)
		w.cloud.Interpose(func(_ int, _ string, request proto.Message) gatewaytest.Fault {
			if create, ok := request.(*vpcv1.BatchCreateRouteEntriesRequest); ok {
				turn <- struct{}{}
				<-time.After(perCall * time.Duration((len(create.GetRouteEntries())+perWrite-1)/perWrite))
				<-turn
			}
			return gatewaytest.Fault{}
		})
	}
	served := func(w *world) (n int) {
		for i := range many {
			if w.network(fmt.Sprintf("node-%d", i)) == "False RouteCreated" {
				n++
			}
		}
		return n
	}
	run(t, edit, nil, prepare, func(w *world) {
		// Two requests of 100 routes for each table, a second of gathering and the failures before.
		w.Pass(8*perCall + 5*time.Second)
		if n := served(w); n < 80 || n > 200 {
			t.Errorf("%d nodes are in service at first, want those of the first requests", n)
		}
		w.Pass((many/perWrite)*2*perCall + time.Minute)
		if n := served(w); n != many-bad {
			t.Errorf("%d nodes are in service in the end, want %d", n, many-bad)
		}
		for _, id := range []string{tableA, tableB} {
			if n := len(w.Events.Matching("CreateRouteFailed: route table " + id)); n != bad {
				t.Errorf("%d events about routes in %s that failed, want one for each of %d", n, id, bad)
			}
		}
		w.cloud.Interpose(nil)
		w.Pass(time.Minute) // What is under way comes to its end.
	})
}
