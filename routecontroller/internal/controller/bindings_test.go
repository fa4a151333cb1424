package controller_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/routecontroller/internal/controller"
)

// bind lets the VPC have a custom table with the vSwitch vsw-2, and some instances be there.
func (w *world) bind(instances ...string) {
	w.table(tableB)
	w.cloud.Sim.Update(func(c *state.Cloud) {
		c.VSwitches["vsw-2"].RouteTableID = tableB
		for _, id := range instances {
			c.Instances[id].VSwitchID = "vsw-2"
		}
	})
}

// TestNodeOfAnotherTable has a node in a vSwitch that is bound to a table which gets no routes: its condition says so,
// an event names the table, and a table that is named, or bound later, or bound no more is noticed.
func TestNodeOfAnotherTable(t *testing.T) {
	t.Parallel()
	event := "vtb-b RouteTableNotManaged: the vSwitches vsw-2 of " + vpcID + " are bound to route table vtb-b"
	unreached := func(t *testing.T, w *world) {
		t.Helper()
		condition, _ := nodes.Condition(w.Node("node-0"), corev1.NodeNetworkUnavailable)
		if condition.Status != corev1.ConditionTrue || !strings.Contains(condition.Message, "vtb-b") ||
			!strings.Contains(condition.Message, "routeTableIDs") {
			t.Errorf("condition of the node of the other table: %+v", condition)
		}
		if got := w.network("node-1"); got != "False RouteCreated" {
			t.Errorf("condition of the other node: %s", got)
		}
		if len(w.Events.Matching(event)) == 0 {
			t.Errorf("no event %q in %q", event, w.Events.Matching(""))
		}
	}
	named := func(ids ...string) func(*controller.Config) {
		return func(cfg *controller.Config) { cfg.RouteTableIDs = ids }
	}
	t.Run("found", func(t *testing.T) {
		t.Parallel()
		run(t, named(), makeNodes(2), func(w *world) { w.bind("i-0") }, func(w *world) {
			w.Pass(10 * time.Second)
			unreached(t, w)
		})
	})
	t.Run("the other one is named", func(t *testing.T) {
		t.Parallel()
		run(t, named(tableA), makeNodes(2), func(w *world) { w.bind("i-0") }, func(w *world) {
			w.Pass(10 * time.Second)
			unreached(t, w)
		})
	})
	t.Run("both are named", func(t *testing.T) {
		t.Parallel()
		run(t, named(tableA, tableB), makeNodes(2), func(w *world) { w.bind("i-0") }, func(w *world) {
			w.Pass(10 * time.Second)
			if got := w.network("node-0"); got != "False RouteCreated" || len(w.Events.Matching("RouteTableNotManaged")) > 0 {
				t.Errorf("condition %s, events %q", got, w.Events.Matching(""))
			}
		})
	})
	t.Run("bound later, and no more", func(t *testing.T) {
		t.Parallel()
		run(t, named(), makeNodes(2), nil, func(w *world) {
			w.Pass(time.Minute)
			if got := w.network("node-0"); got != "False RouteCreated" {
				t.Errorf("condition %s before", got)
			}
			w.bind("i-0")
			w.Pass(6 * time.Minute)
			unreached(t, w)
			node := makeNode(2)
			w.instance(node)
			w.CreateNode(node)
			w.Pass(10 * time.Second)
			if got := w.network("node-2"); got != "False RouteCreated" {
				t.Errorf("condition of a node that joins: %s", got)
			}
			w.cloud.Sim.Update(func(c *state.Cloud) { c.VSwitches["vsw-2"].RouteTableID = tableA })
			w.Pass(6 * time.Minute)
			if got := w.network("node-0"); got != "False RouteCreated" {
				t.Errorf("condition %s once the table is bound no more", got)
			}
			if len(w.Events.Matching("vtb-b Resolved")) != 1 {
				t.Errorf("no event says that it is over: %q", w.Events.Matching("vtb-b"))
			}
		})
	})
	t.Run("nodes are read once in a while, and those that join", func(t *testing.T) {
		t.Parallel()
		run(t, named(), makeNodes(2), func(w *world) { w.bind("i-0") }, func(w *world) {
			w.Pass(10 * time.Second)
			w.cloud.ResetCalls()
			for i := range 20 { // One joins each half minute.
				node := makeNode(i + 2)
				w.instance(node)
				w.CreateNode(node)
				w.Pass(30 * time.Second)
			}
			read := map[string]int{}
			for _, call := range w.cloud.CallsOf("BatchGetInstances") {
				asked, ok := call.Request.(*ecsv1.BatchGetInstancesRequest)
				if !ok {
					t.Fatalf("request %T", call.Request)
				}
				for _, id := range asked.GetInstanceIds() {
					read[id]++
				}
			}
			if n := read["i-0"]; n < 2 || n > 3 || read["i-2"] == 0 {
				t.Errorf("reads within ten minutes: %v", read)
			}
			w.cloud.Sim.Update(func(c *state.Cloud) { c.Instances["i-0"].VSwitchID = "vsw-1" }) // It is moved to another vSwitch.
			w.Pass(6 * time.Minute)
			if got := w.network("node-0"); got != "False RouteCreated" {
				t.Errorf("condition %s of a node that has left the vSwitch", got)
			}
		})
	})
	t.Run("named, and no node is there", func(t *testing.T) {
		t.Parallel()
		run(t, named(tableA), makeNodes(2), func(w *world) { w.bind() }, func(w *world) {
			w.Pass(10 * time.Minute)
			if events := w.Events.Matching("RouteTableNotManaged"); len(events) > 0 {
				t.Errorf("events %q", events)
			}
		})
	})
	t.Run("the system table lists the vSwitch, too", func(t *testing.T) {
		t.Parallel()
		run(t, named(tableB), makeNodes(2), func(w *world) {
			w.bind("i-0")
			w.cloud.Behind = edited{w.cloud.Behind, func(answer any) {
				list, _ := answer.(*vpcv1.ListRouteTablesResponse)
				for _, listed := range list.GetRouteTables() {
					if listed.GetRouteTableId() == tableA {
						listed.VswitchIds = []string{"vsw-1", "vsw-2"}
					}
				}
			}}
		}, func(w *world) {
			w.Pass(10 * time.Second)
			if got := w.network("node-0"); got != "False RouteCreated" {
				t.Errorf("condition %s of the node whose table is managed", got)
			}
			if got := w.network("node-1"); got != "True NoRouteCreated" {
				t.Errorf("condition %s of the node of the system table", got)
			}
		})
	})
	for _, method := range []string{"ListRouteTables", "BatchGetInstances"} {
		t.Run(method+" is refused", func(t *testing.T) {
			t.Parallel()
			run(t, named(tableA), makeNodes(2), func(w *world) {
				w.bind()
				w.cloud.Interpose(func(_ int, called string, _ proto.Message) gatewaytest.Fault {
					if called == method {
						return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.PermissionDenied, Reason: rpcerr.CallerForbidden, Message: "no"}}
					}
					return gatewaytest.Fault{}
				})
			}, func(w *world) {
				w.Pass(10 * time.Minute)
				if got := w.network("node-0"); got != "False RouteCreated" {
					t.Errorf("condition %s of a node whose route is there", got)
				}
				if len(w.Events.Matching("route-controller SyncRouteFailed")) == 0 {
					t.Errorf("no event says that the bindings are not known: %q", w.Events.Matching(""))
				}
			})
		})
	}
	t.Run("a node joins while instances can't be read", func(t *testing.T) {
		t.Parallel()
		var away atomic.Bool
		run(t, named(), makeNodes(2), func(w *world) {
			w.bind("i-0")
			w.cloud.Interpose(func(_ int, called string, _ proto.Message) gatewaytest.Fault {
				if away.Load() && called == "BatchGetInstances" {
					return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.Internal, Reason: rpcerr.Internal, Message: "no"}}
				}
				return gatewaytest.Fault{}
			})
		}, func(w *world) {
			w.Pass(time.Minute)
			away.Store(true)
			node := makeNode(2)
			w.instance(node)
			before := w.calls("BatchGetInstances")
			w.CreateNode(node)
			w.Pass(10 * time.Minute)
			if n := w.calls("BatchGetInstances") - before; n == 0 || n > 60 {
				t.Errorf("%d reads that fail in ten minutes", n)
			}
			if got := w.network("node-2"); got != "True NoRouteCreated" {
				t.Errorf("condition %s before its vSwitch is known", got)
			}
			away.Store(false)
			w.Pass(6 * time.Minute)
			if got := w.network("node-2"); got != "False RouteCreated" {
				t.Errorf("condition %s afterwards", got)
			}
		})
	})
}
