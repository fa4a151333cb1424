package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/deploy/local/world"
)

const (
	// gathered is the longest time for which nodes that join are gathered for a read.
	gathered = time.Second
	// routePending is how long the simulated cloud works on new routes, during which it takes no others of the VPC, and routesPerWrite how many
	// a write has.
	routePending, routesPerWrite = 3 * time.Second, 50
	// interfaceWrites is how many changes of network interfaces the cloud takes in a minute (source: limits.csv, ModifyNetworkInterfaceAttribute).
	interfaceWrites = 200
)

// TestNodesJoinAtOnce lets many nodes join at once. What this machine is slow at is measured and scales the bounds: how long it took until the
// last node was seen and had its labels, since nodes that come one by one are read one by one, and the cloud's own times.
//
// In a cloud that takes its usual three seconds for each fifty routes, 240 nodes have all their routes after 15 s at best. Of changes of
// network interfaces it takes 200 in a minute. Labels and addresses wait for neither. In a cloud that works at once, 199 nodes wait for
// nothing but this machine.
func TestNodesJoinAtOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		nodes int
		pace  pace
	}{"published limits": {240, realistic}, "a cloud that works at once": {199, instant}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := bootWith(t, world.Config{
				Nodes: 1, Controllers: []string{world.Node, world.Route}, Fast: bool(tt.pace), Route: map[string]any{"routeQuota": 1000},
			})
			if err := w.Cloud().Limits(t.Context(), func(doc *openapisim.LimitsDocument) { doc.Settings.Quotas.RouteEntries = 1000 }); err != nil {
				t.Fatal(err)
			}
			w.initialised(t)
			since := w.position(t)
			start := time.Now()
			w.addNodes(t, tt.nodes)
			registered := time.Since(start)
			w.labelled(t)
			labelled := time.Now()
			w.initialised(t)
			t.Logf("%d nodes were registered after %s, had labels and addresses after %s, and routes after %s",
				tt.nodes, registered, labelled.Sub(start), time.Since(start))
			calls, _ := w.settle(t, since)
			checkJoin(t, calls, tt.nodes, labelled.Sub(start))
			if tt.pace == realistic {
				checkLimited(t, calls, labelled)
			}
		})
	}
}

// labelled waits until all nodes have the labels and addresses of their instances.
func (w testWorld) labelled(t *testing.T) {
	t.Helper()
	eventually(t, "nodes have labels and addresses", func(ctx context.Context) error {
		list, err := w.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, node := range list.Items {
			if node.Labels[corev1.LabelTopologyZone] == "" || internalIP(&node) == "" {
				return fmt.Errorf("%s has labels %v and addresses %v", node.Name, node.Labels, node.Status.Addresses)
			}
		}
		return nil
	})
}

// timesOf are the times of the calls of an action that had an effect.
func timesOf(calls []journal.Call, action string) (times []time.Time) {
	for _, call := range calls {
		if call.Action == action && call.Effect {
			times = append(times, call.Time)
		}
	}
	return times
}

// checkJoin compares the calls for nodes that got their labels within a time with what they may be.
func checkJoin(t *testing.T, calls []journal.Call, nodes int, took time.Duration) {
	t.Helper()
	ecs, vpc := counts(calls, "ecs"), counts(calls, "vpc")
	t.Logf("ECS: %v, VPC: %v", ecs, vpc)
	for _, call := range calls {
		if call.Code == "TaskConflict" || strings.HasPrefix(call.Code, "Throttling") {
			t.Errorf("%s was refused: %s", call.Action, call.Code)
		}
	}
	reads, most := ecs["DescribeInstances"]+ecs["DescribeNetworkInterfaces"], 6*(1+int(took/gathered))
	if reads > most {
		t.Errorf("%d reads of instances and network interfaces, want at most six for each second of %s: %d", reads, took, most)
	}
	if n := len(timesOf(calls, "ModifyNetworkInterfaceAttribute")); n != nodes {
		t.Errorf("%d changes of network interfaces for %d nodes", n, nodes)
	}
	if n, most := vpc["CreateRouteEntries"], 2*(1+nodes/routesPerWrite); n > most {
		t.Errorf("%d writes of routes, want at most %d", n, most)
	}
}

// checkLimited checks that the limits of the cloud are used, and that nothing waits for them that needs not.
func checkLimited(t *testing.T, calls []journal.Call, labelled time.Time) {
	t.Helper()
	changes := timesOf(calls, "ModifyNetworkInterfaceAttribute")
	if len(changes) == 0 {
		t.Fatal("no network interface was changed")
	}
	windows := map[time.Time]int{} // by minute of the clock, as the cloud counts
	for _, at := range changes {
		windows[at.Truncate(time.Minute)]++
	}
	for minute, n := range windows {
		if n > interfaceWrites {
			t.Errorf("%d changes of network interfaces in the minute of %s, the cloud takes %d", n, minute, interfaceWrites)
		}
	}
	most := time.Duration(len(changes)) * time.Minute / (interfaceWrites * 95 / 100)
	if took := changes[len(changes)-1].Sub(changes[0]); took > most {
		t.Errorf("%d changes of network interfaces took %s, want 95 %% of the rate that the cloud allows: %s", len(changes), took, most)
	}
	if last := changes[len(changes)-1]; !labelled.Before(last) {
		t.Errorf("the last node had its labels %s after the last change of a network interface", labelled.Sub(last))
	}
	routes := timesOf(calls, "CreateRouteEntries")
	if len(routes) < 2 {
		t.Fatalf("%d writes of routes", len(routes))
	}
	took, own := routes[len(routes)-1].Sub(routes[0]), time.Duration(len(routes)-1)*routePending
	t.Logf("changes of network interfaces by minute: %v; %d writes of routes took %s, of which the cloud needed %s", windows, len(routes), took, own)
	// What comes on top is this machine's: the reads that see the routes in force, and whoever else it works for.
	if took > 2*own {
		t.Errorf("%d writes of routes took %s, want at most twice the cloud's own %s", len(routes), took, own)
	}
}

// TestNoRoutesNoInterfaceWrites lets nodes join a cluster whose network makes no routes of the VPC, such as Terway: nothing has to be switched
// on any network interface, and nothing has to be read about them.
func TestNoRoutesNoInterfaceWrites(t *testing.T) {
	t.Parallel()
	w := bootWith(t, world.Config{
		Nodes: 20, Controllers: []string{world.Node}, Fast: true, Node: map[string]any{"configureCloudRoutes": false},
	})
	eventually(t, "nodes are initialised", func(ctx context.Context) error {
		list, err := w.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, node := range list.Items {
			if len(node.Spec.Taints) > 0 {
				return fmt.Errorf("%s has taints %v", node.Name, node.Spec.Taints)
			}
		}
		return nil
	})
	w.labelled(t)
	calls, _ := w.settle(t, 0)
	ecs := counts(calls, "ecs")
	if ecs["DescribeInstances"] == 0 {
		t.Errorf("calls to ECS: %v", ecs)
	}
	for _, call := range calls {
		if call.Mutating || call.Action == "DescribeNetworkInterfaces" {
			t.Errorf("%s %v", call.Action, call.Params)
		}
	}
}
