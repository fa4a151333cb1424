package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

const (
	// gathered is the least time between two reads for nodes that join.
	gathered = time.Second
	// routePending is how long the simulated cloud works on new routes, during which it takes no others of the VPC, and
	// routesPerWrite how many a write has.
	routePending, routesPerWrite = 3 * time.Second, 50
	// interfaceWrites is how many changes of network interfaces the cloud takes in a minute (source: limits.csv,
	// ModifyNetworkInterfaceAttribute).
	interfaceWrites = 200
	// uninitialized is the taint of a node that waits for its initialisation.
	uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
)

// TestNodesJoinAtOnce lets many nodes join at once.
//
// In a cloud that takes its usual three seconds for each fifty routes, 240 nodes have all their routes after 15 s at best. Of changes of
// network interfaces it takes 200 in a minute. Labels and addresses wait for neither, and 20 nodes that join later wait
// behind the others. Nodes that come one after the other are read one after the other, so that the bounds of this case
// grow with the time in which this machine can register them.
//
// In a cloud without limits that works at once, 200 nodes wait for nothing but this machine. The controllers are held until all are
// registered, so that they come at once however slow the machine is, and the bounds are the same anywhere.
//
// All the time no pod may land on a node before its route is there.
func TestNodesJoinAtOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		nodes, later int
		pace         pace
		limits       bool
	}{
		"published limits":                          {nodes: 240, later: 20, pace: realistic, limits: true},
		"a cloud without limits that works at once": {nodes: 200, pace: instant},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := world.Config{
				Nodes: 1, Controllers: []string{world.Node, world.Route}, Fast: bool(tt.pace), Route: map[string]any{"routeQuota": 1000},
				Node: seldom(),
			}
			if !tt.limits {
				cfg.BinDir = racing(t)
				cfg.Gateway = map[string]any{"budget": map[string]any{"overrides": unlimitedJoin()}}
			}
			w := bootWith(t, cfg)
			err := w.Cloud().Limits(t.Context(), func(doc *openapisim.LimitsDocument) {
				doc.Enabled, doc.Settings.Quotas.RouteEntries = &tt.limits, 1000
			})
			if err != nil {
				t.Fatal(err)
			}
			w.initialised(t)
			if !tt.limits {
				w.hold(t)
			}
			since, before := w.position(t), w.routePasses(t)
			joining := w.follow(t)
			start := time.Now()
			w.addNodes(t, tt.nodes)
			registered := time.Since(start)
			ranged := joining.await(t, hasRange, tt.nodes)
			if !tt.limits {
				start, before = time.Now(), 0 // A process that starts again counts anew.
				w.release(t)
			}
			labelled := joining.await(t, hasLabels, tt.nodes)
			late, err := w.AddNodes(t.Context(), tt.later)
			if err != nil {
				t.Fatal(err)
			}
			all := joining.await(t, hasLabels, tt.nodes+tt.later)
			served := joining.await(t, serves, tt.nodes+tt.later)
			last := joining.await(t, bare, tt.nodes+tt.later)
			joining.end()
			calls, _ := w.settle(t, since)
			routes := timesOf(calls, "CreateRouteEntries")
			if len(routes) == 0 {
				t.Fatal("no routes were made")
			}
			passes := w.routePasses(t) - before
			t.Logf("%d nodes were registered within %s. They had labels and addresses after %s; with %d more, the last write "+
				"of routes was after %s, "+
				"pods could land on the first one after %s and on all after %s, and the last taint not-ready went after %s",
				tt.nodes, registered, labelled.Sub(start), tt.later, routes[len(routes)-1].Sub(start),
				joining.times(serves)[0].Sub(start), served.Sub(start), last.Sub(start))
			checkJoin(t, calls, tt.nodes+tt.later)
			reads, writes := joinReads(calls), len(routes)
			if tt.limits {
				// What comes within a second is read together, a hundred instances or network interfaces with each call.
				if most := 2 * (2 + int(all.Sub(start)/gathered) + (tt.nodes+tt.later)/100); reads > most {
					t.Errorf("%d reads of instances and network interfaces within %s, want at most %d", reads, all.Sub(start), most)
				}
				// One call has fewer than it could have with each look at the table.
				if most := passes + (tt.nodes+tt.later)/routesPerWrite; writes > most {
					t.Errorf("%d writes of routes with %d looks at the table, want at most %d", writes, passes, most)
				}
				isLate := w.areLate(t, late)
				checkLimited(t, calls, labelled, ranged, isLate)
				w.checkOrder(t, calls, isLate)
				return
			}
			if reads > 6 || writes > tt.nodes/routesPerWrite {
				t.Errorf(
					"%d reads of instances and network interfaces and %d writes of routes, want at most 6 and %d; instances were "+
						"read at %v, interfaces at %v",
					reads, writes, tt.nodes/routesPerWrite, timesOf(calls, "DescribeInstances"), timesOf(calls, "DescribeNetworkInterfaces"))
				w.stayed(t)
			}
		})
	}
}

// hold stops the controllers until release.
func (w testWorld) hold(t *testing.T) {
	t.Helper()
	for _, name := range []string{world.Node, world.Route} {
		if err := w.Process(name).Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// release starts the controllers that were held.
func (w testWorld) release(t *testing.T) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	for _, name := range []string{world.Node, world.Route} {
		group.Go(func() error { return w.Restart(ctx, name) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// routePasses is how many looks at the route table have led to new routes since the routecontroller was started.
func (w testWorld) routePasses(t *testing.T) int {
	t.Helper()
	return max(0, int(w.metric(t.Context(), world.Route, `ccm_route_latencies_duration_milliseconds_count{verb="create"}`)))
}

// unlimitedJoin are limits of the gateway that nodes which join never reach.
func unlimitedJoin() map[string]any {
	overrides := map[string]any{}
	for _, action := range []string{
		"ecs/DescribeInstances", "ecs/DescribeNetworkInterfaces", "ecs/ModifyNetworkInterfaceAttribute",
		"vpc/CreateRouteEntries", "vpc/CreateRouteEntry", "vpc/DescribeRouteEntryList",
	} {
		overrides[action] = map[string]any{"calls": 60_000, "window": "60s"}
	}
	return overrides
}

// stage is how far a node has come that joins.
type stage string

const (
	hasRange  stage = "range of pods"
	hasLabels stage = "labels and addresses"
	serves    stage = "no taint that keeps pods away until it is initialised and has its route"
	bare      stage = "no taint"
)

// stages gives those that a node has reached.
func stages(node *corev1.Node) []stage {
	var reached []stage
	for at, ok := range map[stage]bool{
		hasRange:  node.Spec.PodCIDR != "",
		hasLabels: node.Labels[corev1.LabelTopologyZone] != "" && internalIP(node) != "",
		serves: !slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Key == uninitialized || taint.Key == corev1.TaintNodeNetworkUnavailable
		}),
		bare: len(node.Spec.Taints) == 0,
	} {
		if ok {
			reached = append(reached, at)
		}
	}
	return reached
}

// joining is what a watch has seen of the nodes that joined since it began.
type joining struct {
	changes  *watchtools.RetryWatcher
	follower sync.WaitGroup

	mu sync.Mutex
	// reached says when each node was first seen to have come so far.
	reached map[stage]map[string]time.Time
}

// follow follows each change of the nodes from now on. A node that pods may land on has its routes: the taint of an uninitialised node goes
// together with the coming of the one that says it has no network, which goes once the condition is False. A watch
// costs the API server, on whose speed the times depend, less than asking it again and again.
func (w testWorld) follow(t *testing.T) *joining {
	t.Helper()
	nodes := w.Client().CoreV1().Nodes()
	before, err := nodes.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("list nodes: %v", err)
	}
	changes, err := watchtools.NewRetryWatcherWithContext(t.Context(), before.ResourceVersion,
		&cache.ListWatch{WatchFuncWithContext: nodes.Watch})
	if err != nil {
		t.Fatalf("watch nodes: %v", err)
	}
	j := &joining{changes: changes, reached: map[stage]map[string]time.Time{hasRange: {}, hasLabels: {}, serves: {}, bare: {}}}
	known, gaps := map[string]bool{}, map[string]bool{}
	for _, node := range before.Items {
		known[node.Name] = true
	}
	j.follower.Go(func() {
		for change := range changes.ResultChan() {
			node, ok := change.Object.(*corev1.Node)
			if !ok {
				continue
			}
			reached := stages(node)
			if !known[node.Name] {
				j.note(node.Name, reached)
			}
			status := condition(node, corev1.NodeNetworkUnavailable)
			if slices.Contains(reached, serves) && status != corev1.ConditionFalse && !gaps[node.Name] {
				gaps[node.Name] = true
				t.Errorf("pods may land on %s (version %s), whose condition NetworkUnavailable is %q; taints %v", node.Name,
					node.ResourceVersion, status, node.Spec.Taints)
			}
		}
	})
	t.Cleanup(j.end)
	return j
}

func (j *joining) note(node string, reached []stage) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, at := range reached {
		if _, known := j.reached[at][node]; !known {
			j.reached[at][node] = time.Now()
		}
	}
}

// times are when nodes came so far, the earliest first.
func (j *joining) times(at stage) []time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.SortedFunc(maps.Values(j.reached[at]), time.Time.Compare)
}

// await waits until n nodes have come so far, and gives when the last of them had.
func (j *joining) await(t *testing.T, at stage, n int) time.Time {
	t.Helper()
	var times []time.Time
	eventually(t, "nodes join", func(context.Context) error {
		if times = j.times(at); len(times) < n {
			return fmt.Errorf("%d nodes have %s, want %d", len(times), at, n)
		}
		return nil
	})
	return times[n-1]
}

// end stops to follow.
func (j *joining) end() {
	j.changes.Stop()
	j.follower.Wait()
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

// timesOf are the times of the calls of an action: of reads all, of writes those that had an effect.
func timesOf(calls []journal.Call, action string) (times []time.Time) {
	for _, call := range calls {
		if call.Action == action && (call.Effect || !call.Mutating) {
			times = append(times, call.Time)
		}
	}
	return times
}

// joinReads counts the reads of instances and network interfaces.
func joinReads(calls []journal.Call) int {
	ecs := counts(calls, "ecs")
	return ecs["DescribeInstances"] + ecs["DescribeNetworkInterfaces"]
}

// checkJoin checks that nothing was refused, and that each network interface was changed once.
func checkJoin(t *testing.T, calls []journal.Call, nodes int) {
	t.Helper()
	t.Logf("ECS: %v, VPC: %v", counts(calls, "ecs"), counts(calls, "vpc"))
	for _, call := range calls {
		if call.Code == "TaskConflict" || strings.HasPrefix(call.Code, "Throttling") {
			t.Errorf("%s was refused: %s", call.Action, call.Code)
		}
	}
	if n := len(timesOf(calls, "ModifyNetworkInterfaceAttribute")); n != nodes {
		t.Errorf("%d changes of network interfaces for %d nodes", n, nodes)
	}
}

// checkLimited checks that the limits of the cloud are used, and that nothing waits for them that needs not.
// The routes of nodes that joined later are not counted, for when these came is this machine's.
func checkLimited(t *testing.T, calls []journal.Call, labelled, ranged time.Time, isLate map[string]bool) {
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
	// The rate can't be kept before all nodes wait for it, and until when they do depends on the machine.
	most := time.Duration(len(changes))*time.Minute/(interfaceWrites*95/100) + max(0, labelled.Sub(changes[0]))
	if took := changes[len(changes)-1].Sub(changes[0]); took > most {
		t.Errorf("%d changes of network interfaces took %s, want 95 %% of the rate that the cloud allows: %s", len(changes), took, most)
	}
	if last := changes[len(changes)-1]; !labelled.Before(last) {
		t.Errorf("the last node had its labels %s after the last change of a network interface", labelled.Sub(last))
	}
	routes := timesOf(slices.DeleteFunc(slices.Clone(calls), func(call journal.Call) bool {
		return !slices.ContainsFunc(entriesOf(call), func(e routeEntry) bool { return !isLate[e.instance] })
	}), "CreateRouteEntries")
	if len(routes) < 2 {
		t.Fatalf("%d writes of routes", len(routes))
	}
	took, own := routes[len(routes)-1].Sub(routes[0]), time.Duration(len(routes)-1)*routePending
	t.Logf("changes of network interfaces by minute: %v; %d writes of routes took %s, of which the cloud needed %s",
		windows, len(routes), took, own)
	// What comes on top is this machine's: the reads that see the routes in force, and whoever else it works for. Until
	// all nodes have their ranges of pods, writes wait for these.
	if most := 2*own + max(0, ranged.Sub(routes[0])); took > most {
		t.Errorf("%d writes of routes took %s, want at most twice the cloud's own %s and until nodes had ranges, %s",
			len(routes), took, own, most)
	}
}

// areLate says of the instances of all nodes whether these joined later.
func (w testWorld) areLate(t *testing.T, late []string) map[string]bool {
	t.Helper()
	isLate := map[string]bool{}
	for _, node := range w.nodes(t) {
		isLate[instanceOf(&node)] = slices.Contains(late, node.Name)
	}
	return isLate
}

// checkOrder checks that the network interfaces of nodes which joined later were changed after those of all others: the
// cloud takes few changes in a minute, and who comes last waits for longest. The order is not exact, since several
// changes are under way at a time.
func (w testWorld) checkOrder(t *testing.T, calls []journal.Call, isLate map[string]bool) {
	t.Helper()
	const together = 10 // workers of the nodecontroller for these changes
	interfaces := w.state(t).Interfaces
	lates, before, overtaken := 0, 0, 0
	for _, call := range calls {
		switch {
		case call.Action != "ModifyNetworkInterfaceAttribute" || !call.Effect:
		case isLate[interfaces[call.Params["NetworkInterfaceId"]].InstanceID]:
			lates++
		case lates > 0:
			overtaken++
		default:
			before++
		}
	}
	t.Logf("network interfaces were changed of %d nodes, then of %d that joined later, and of %d among these", before, lates, overtaken)
	if lates == 0 || overtaken >= together {
		t.Errorf("%d nodes were overtaken by one that joined later, at most %d may be", overtaken, together-1)
	}
}

// TestNoRoutesNoInterfaceWrites lets nodes join a cluster whose network makes no routes of the VPC, such as Terway:
// nothing has to be switched on any network interface, and nothing has to be read about them.
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

// metric reads a value off the page of a process; -1 if it isn't there.
func (w testWorld) metric(ctx context.Context, process, series string) float64 {
	page, err := fetch(ctx, w.AdminURL(process)+"/metrics")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(page) {
		if text, ok := strings.CutPrefix(line, series+" "); ok {
			if value, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
				return value
			}
		}
	}
	return -1
}
