package controller_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/budget"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/kube/kubetest"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/routecontroller/internal/controller"
	"alicloud-controllers.dev/routecontroller/internal/orphan"
)

// TestLeaderDiesAtEveryCall kills the leader at each of its calls of the cloud and writes to the API server, before and
// after the call has an effect. The next one comes to the same end, and makes no route twice.
func TestLeaderDiesAtEveryCall(t *testing.T) {
	t.Parallel()
	kubetest.AtEveryCall(t, func(t *testing.T, d *kubetest.Death) {
		inWorld(t, nil, func(t *testing.T, w *world, reign func(time.Duration)) {
			for _, node := range makeNodes(3) {
				w.instance(node)
				w.CreateNode(node)
			}
			w.entry(tableA, "10.0.0.0/24", "i-2", "")               // In the way of node-0, to a node of ours.
			w.entry(tableA, "10.0.1.0/24", "i-1", "")               // Taken over.
			w.entry(tableA, "10.0.8.0/24", "i-8", "k8s/c-1/node-8") // Left over.
			d.Reign(w.Cluster, w.cloud.Connection, 10*time.Minute, func() func() { return w.reign(t, nil) })
			_, err := w.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), "routecontroller-routes", metav1.GetOptions{})
			w.DeleteNode("node-1") // While nobody looks.
			w.release("i-1")
			reign(30 * time.Minute)
			want := "10.0.0.0/24→i-0 10.0.2.0/24→i-2"
			if apierrors.IsNotFound(err) { // No leader lived long enough to see the Node of the route without a mark.
				want = "10.0.0.0/24→i-0 10.0.1.0/24→i-1 10.0.2.0/24→i-2"
			}
			if got := strings.Join(w.routes(tableA), " "); got != want {
				t.Errorf("routes %s, want %s", got, want)
			}
			for _, name := range []string{"node-0", "node-2"} {
				if got := w.network(name); got != "False RouteCreated" {
					t.Errorf("%s: NetworkUnavailable %s", name, got)
				}
			}
		})
	})
}

// reign lets a controller lead until stop.
func (w *world) reign(t *testing.T, edit func(*controller.Config)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := w.start(ctx, t, edit)
	return func() {
		cancel()
		done()
	}
}

// TestRandomWalk plays random histories with faults: nodes come, go, are missing for a while, are excluded, and belong
// to other machines than their instances; calls fail; leaders die. At no time is the route of a node deleted that
// exists, and in the end every node has its route and no other route of ours is left.
func TestRandomWalk(t *testing.T) {
	t.Parallel()
	kubetest.Walk(t, walk)
}

// impatient makes the graces short, so that a history is.
func impatient(cfg *controller.Config) {
	cfg.Orphans = orphan.Policy{
		GoneGrace: time.Minute, Grace: 10 * time.Minute, Policy: budget.Policy{Window: time.Minute, Minimum: 3, Percent: 5},
	}
}

func walk(t *testing.T, random *rand.Rand) {
	t.Helper()
	inWorld(t, nil, func(t *testing.T, w *world, _ func(time.Duration)) {
		const most = 5
		exists, excluded, aliens := map[int]bool{}, map[int]bool{}, map[int]time.Time{}
		for i := range 3 {
			w.instance(makeNode(i))
			w.CreateNode(makeNode(i))
			exists[i] = true
		}
		faults := w.Flaky(w.cloud.Connection, rand.New(rand.NewPCG(random.Uint64(), 1)))
		stop := w.reign(t, impatient)
		w.settle()
		for range 5 {
			i := random.IntN(most)
			switch act := random.IntN(8); {
			case act == 5 && !exists[i] && aliens[i].IsZero(): // Another cluster with our id has a node with this range.
				id := fmt.Sprintf("i-alien-%d", i)
				w.instance(&corev1.Node{Spec: corev1.NodeSpec{ProviderID: region + "." + id}}, tag("ack.aliyun.com", cluster))
				if !strings.Contains(strings.Join(w.routes(tableA), " "), fmt.Sprintf("10.0.%d.0/24", i)) {
					w.entry(tableA, fmt.Sprintf("10.0.%d.0/24", i), id, marked(i))
					aliens[i] = time.Now()
				}
			case act == 6 && exists[i]: // Another machine reports under its name, or the instance is back.
				w.UpdateNode(fmt.Sprintf("node-%d", i), func(n *corev1.Node) {
					if nodes.InstanceAbsent(n) {
						n.Annotations = nil
					} else {
						n.Annotations = map[string]string{nodes.AnnotationInstanceAbsent: fmt.Sprintf("i-%d", i)}
					}
				})
			case act == 7 && exists[i]:
				excluded[i] = !excluded[i]
				w.UpdateNode(fmt.Sprintf("node-%d", i), func(n *corev1.Node) {
					n.Labels = map[string]string{nodes.LabelExclude: strconv.FormatBool(excluded[i])}
				})
			case act == 0: // The leader dies.
				stop()
				stop = w.reign(t, impatient)
				w.settle()
			case act == 1:
				faults(true)
			case act == 2:
				faults(false)
			case exists[i] && excluded[i]: // Its route would stay, as somebody else's.
			case exists[i]:
				w.DeleteNode(fmt.Sprintf("node-%d", i))
				delete(exists, i)
				if random.IntN(2) == 0 {
					w.release(fmt.Sprintf("i-%d", i))
				}
			default:
				w.instance(makeNode(i))
				w.CreateNode(makeNode(i))
				exists[i] = true
			}
			before := w.routes(tableA)
			w.Pass(time.Duration(1+random.IntN(180)) * time.Second)
			now := w.routes(tableA)
			for i := range exists {
				if route := fmt.Sprintf("10.0.%d.0/24→i-%d", i, i); slices.Contains(before, route) && !slices.Contains(now, route) {
					t.Errorf("the route of node-%d is gone", i)
				}
			}
			for i, since := range aliens {
				route := fmt.Sprintf("10.0.%d.0/24→i-alien-%d", i, i)
				if time.Since(since) < 10*time.Minute && !slices.Contains(now, route) {
					t.Errorf("the route of another cluster's living instance is gone after %s: %s", time.Since(since), route)
				}
			}
		}
		faults(false)
		for i := range exists {
			w.UpdateNode(fmt.Sprintf("node-%d", i), func(n *corev1.Node) { n.Labels, n.Annotations = map[string]string{}, nil })
		}
		spare := makeNode(most) // A cluster without any node deletes nothing.
		w.instance(spare)
		w.CreateNode(spare)
		exists[most] = true
		w.Pass(20 * time.Minute)
		stop()
		var want []string
		for i := range exists {
			want = append(want, fmt.Sprintf("10.0.%d.0/24→i-%d", i, i))
			if got := w.network(fmt.Sprintf("node-%d", i)); got != "False RouteCreated" {
				t.Errorf("node-%d: NetworkUnavailable %s", i, got)
			}
		}
		slices.Sort(want)
		if got := w.routes(tableA); !slices.Equal(got, want) {
			t.Errorf("routes %v, want %v", got, want)
		}
	})
}

// TestTwoClustersWithOneID lets this cluster run for an hour beside another with the same id and overlapping ranges,
// whose Nodes it does not see. None of the other's routes goes, and an event says that there are routes without a Node.
func TestTwoClustersWithOneID(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) {
		for i := 10; i < 20; i++ {
			w.entry(tableA, fmt.Sprintf("10.0.%d.0/24", i), fmt.Sprintf("i-%d", i), marked(i))
			w.instance(makeNode(i), tag("ack.aliyun.com", cluster))
		}
	}
	run(t, nil, makeNodes(10), prepare, func(w *world) {
		w.Pass(59 * time.Minute)
		if n := len(w.routes(tableA)); n != 20 {
			t.Errorf("%d routes, want all 20", n)
		}
		if n := len(w.Events.Matching("vtb-a RoutesWithoutNode: 10 routes of cluster c-1 have no Node")); n == 0 || n > 3 {
			t.Errorf("events %v", w.Events.Matching("vtb-a"))
		}
	})
}

// TestNodesDoNotWaitForAQuestion lets the question about the instance of an orphan wait in the gateway, as when the cloud throttles. A node
// that joins then gets its route all the same.
func TestNodesDoNotWaitForAQuestion(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) {
		w.entry(tableA, "10.0.9.0/24", "i-9", marked(9))
		w.instance(makeNode(9), tag("ack.aliyun.com", cluster))
	}
	run(t, nil, makeNodes(3), prepare, func(w *world) {
		held := make(chan struct{})
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method == "ConfirmAbsent" {
				<-held
			}
			return gatewaytest.Fault{}
		})
		w.Pass(2 * time.Minute) // The orphan has been one for as long as makes its instance worth a question.
		w.instance(makeNode(3))
		w.CreateNode(makeNode(3))
		w.Pass(40 * time.Second)
		close(held)
		want := "10.0.0.0/24→i-0 10.0.1.0/24→i-1 10.0.2.0/24→i-2 10.0.3.0/24→i-3 10.0.9.0/24→i-9"
		if got := strings.Join(w.routes(tableA), " "); got != want {
			t.Errorf("routes %s, want %s", got, want)
		}
	})
}

// TestTwoClustersWithOneIDAndRange lets this cluster run for an hour beside another with the same id and the same
// ranges, whose routes have the places of five of our nodes. None of the other's routes goes, whichever leader looks,
// and the nodes say what keeps their routes away. Then one of the instances is released, and its place is free. In the
// end the entries have been reported for an hour, and go in the budget.
func TestTwoClustersWithOneIDAndRange(t *testing.T) {
	t.Parallel()
	var registry *prometheus.Registry // of the last leader
	edit := func(cfg *controller.Config) {
		registry = prometheus.NewRegistry()
		cfg.Registerer = registry
	}
	inWorld(t, edit, func(t *testing.T, w *world, reign func(time.Duration)) {
		var theirs []string
		for i, node := range makeNodes(10) {
			w.instance(node)
			w.CreateNode(node)
			if i < 5 {
				other := fmt.Sprintf("i-other-%d", i)
				w.entry(tableA, node.Spec.PodCIDR, other, marked(i))
				w.instance(&corev1.Node{Spec: corev1.NodeSpec{ProviderID: region + "." + other}}, tag("ack.aliyun.com", cluster))
				theirs = append(theirs, node.Spec.PodCIDR+"→"+other)
			}
		}
		kept := func() (n int) {
			for _, route := range theirs {
				if slices.Contains(w.routes(tableA), route) {
					n++
				}
			}
			return n
		}
		for range 3 {
			reign(19 * time.Minute)
		}
		if n := w.calls("BatchDeleteRouteEntries"); n != 0 || kept() != 5 || len(w.routes(tableA)) != 10 {
			t.Errorf("%d deletions in an hour, routes %v", n, w.routes(tableA))
		}
		if metrics := kubetest.Metric(t, registry, "routecontroller_routes"); metrics["blocked"] != 5 {
			t.Errorf("routes by state: %v", metrics)
		}
		for i := range 5 {
			text := fmt.Sprintf(
				"route table vtb-a: destination 10.0.%d.0/24 has an entry of this cluster to i-other-%d, which is the instance of no Node here; "+
					"the entry stays until that instance is gone, or until 2000-01-01T01:00:", i, i)
			event := fmt.Sprintf("node-%d CreateRouteFailed: %s", i, text)
			if n := len(w.Events.Matching(event)); n == 0 || n > 3 { // One of each leader.
				t.Errorf("%d events with %q: %q", n, event, w.Events.Matching(fmt.Sprintf("node-%d", i)))
			}
			got, _ := nodes.Condition(w.Node(fmt.Sprintf("node-%d", i)), corev1.NodeNetworkUnavailable)
			if got.Status != corev1.ConditionTrue || got.Reason != "NoRouteCreated" ||
				!strings.HasPrefix(got.Message, "RouteController failed to create a route: "+text) {
				t.Errorf("condition of node-%d: %+v", i, got)
			}
		}
		w.release("i-other-0")
		reign(30 * time.Second) // The record has it that the entry was there for longer than the short grace.
		if got := w.routes(tableA); kept() != 4 || !slices.Contains(got, "10.0.0.0/24→i-0") {
			t.Errorf("routes %v after one instance was released", got)
		}
		if got, _ := nodes.Condition(w.Node("node-0"), corev1.NodeNetworkUnavailable); got.Message != "RouteController created a route" {
			t.Errorf("condition %+v", got)
		}
		reign(5 * time.Minute)
		if n := kept(); n != 1 {
			t.Errorf("%d of the other's routes after the long grace, want one of four that the budget holds: %v", n, w.routes(tableA))
		}
		reign(10 * time.Minute)
		if n := kept(); n != 0 {
			t.Errorf("%d of the other's routes in the end", n)
		}
	})
}

// TestPlaceOfAFormerNode lets a node have the range of another that was seen to go, and whose instance lives on. It waits for nothing.
func TestPlaceOfAFormerNode(t *testing.T) {
	t.Parallel()
	keep := func(cfg *controller.Config) { cfg.GatherQuiet, cfg.GatherMax = time.Minute, time.Minute }
	run(t, keep, makeNodes(8), nil, func(w *world) {
		w.DeleteNode("node-1")
		joining := makeNode(9)
		joining.Spec.PodCIDR, joining.Spec.PodCIDRs = "10.0.1.0/24", []string{"10.0.1.0/24"}
		w.instance(joining)
		w.CreateNode(joining)
		w.Pass(time.Minute + time.Second)
		if got := w.routes(tableA); !slices.Contains(got, "10.0.1.0/24→i-9") || w.network("node-9") != "False RouteCreated" {
			t.Errorf("routes %v, NetworkUnavailable %s", got, w.network("node-9"))
		}
	})
}

// TestBadAnswersAboutInstances lets the cloud answer wrongly about instances for an hour, while ten Nodes are missing
// in the API. No route goes.
func TestBadAnswersAboutInstances(t *testing.T) {
	t.Parallel()
	failing := func(err *rpcerr.Error) func(*world) {
		return func(w *world) { w.cloud.Fail("ConfirmAbsent", 1<<30, err) }
	}
	// The gateway answers a read of many instances even if it can't read one of them, with an error for each.
	unreadable := func(code, message string) func(*world) {
		return func(w *world) { w.spoil("DescribeInstances", code, message) }
	}
	hide := func(from, to int) func(*world) {
		return func(w *world) {
			for i := from; i < to; i++ {
				w.hide(fmt.Sprintf("i-%d", i))
			}
		}
	}
	bare := func(w *world) { w.cloud.Sim.Update(func(c *state.Cloud) { clear(c.Interfaces) }) }
	for name, tt := range map[string]struct {
		spoil        func(*world)
		cause, event string
	}{
		"no instance at all": {hide(0, 20), "nothing_found",
			"the cloud knows none of 10 instances that have to be there (NOTHING_FOUND); next: check the credentials and the region of the gateway"},
		// All that are asked about, and four of ten nodes.
		"some of the instances": {hide(6, 20), "partial", "the cloud does not know 4 of 10 instances that have to be there"},
		"of another region": {func(w *world) {
			hide(0, 20)(w)
			bare(w)
			w.move("cn-beijing")
		}, "region", "the gateway works in region cn-beijing, and the instances are in cn-hangzhou"},
		"of another region that has instances of the same ids": {func(w *world) {
			hide(10, 20)(w)
			for i := 10; i < 20; i++ {
				w.release(fmt.Sprintf("i-%d", i))
			}
			w.move("cn-beijing")
		}, "region", "the gateway works in region cn-beijing, and the instances are in cn-hangzhou"},
		"all but those that are asked about": {hide(10, 20), "inconsistent",
			"the cloud does not list instance i-10, but its network interface eni-i-10 exists"},
		"all but those that are asked about, and no network interface": {func(w *world) {
			hide(10, 20)(w)
			bare(w)
		}, "inconsistent", "the cloud lists no network interface of instances that are there, such as i-0"},
		"all but those that are asked about, and network interfaces can't be read": {func(w *world) {
			hide(10, 20)(w)
			w.spoil("DescribeNetworkInterfaces", "Forbidden.RAM", "no")
		}, "credentials", "list the network interfaces of instance i-0: no (CLOUD_FORBIDDEN"},
		"throttled": {unreadable("Throttling", "slow down"), "throttled", "slow down (THROTTLED"},
		"expired token": {
			unreadable("InvalidSecurityToken.Expired", "token expired"), "credentials", "token expired (CLOUD_CREDENTIALS, Inval",
		},
		"gateway away": {
			failing(&rpcerr.Error{Code: codes.Unavailable, Message: "connection refused"}),
			"unavailable", "connection refused (Unavailable); next: look whether cloudgateway runs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepare := func(w *world) {
				for i := range 20 {
					w.entry(tableA, fmt.Sprintf("10.0.%d.0/24", i), fmt.Sprintf("i-%d", i), marked(i))
					w.instance(makeNode(i), tag("ack.aliyun.com", cluster))
				}
				tt.spoil(w)
			}
			registry := prometheus.NewRegistry()
			edit := func(cfg *controller.Config) { cfg.Registerer = registry }
			run(t, edit, makeNodes(10), prepare, func(w *world) {
				w.Pass(59 * time.Minute)
				if n := len(w.routes(tableA)); n != 20 || len(w.cloud.Writes()) != 0 {
					t.Errorf("%d routes, want all 20; writes %v", n, w.cloud.Writes())
				}
				if got := kubetest.Metric(t, registry, "routecontroller_routes")["orphan"]; got != 10 {
					t.Errorf("metric of routes without a Node: %v, want 10", got)
				}
				if got := causes(t, registry, "routecontroller_unconfirmed_routes"); !maps.Equal(got, map[string]float64{tt.cause: 10}) {
					t.Errorf("metric of routes of which nothing can be found out: %v, want 10 of %s", got, tt.cause)
				}
				text := "are gone can't be found out: " + tt.event
				if got := w.Events.Matching("vtb-a RoutesWithoutNode"); len(got) < 2 || len(got) > 3 || !strings.Contains(got[len(got)-1], text) {
					t.Errorf("events %q, want a first one and one or two with %q", got, text)
				}
			})
		})
	}
}

// causes gives the values of a metric that are not 0, by the label cause.
func causes(t *testing.T, registry *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if value := metric.GetGauge().GetValue(); family.GetName() == name && label.GetName() == "cause" && value != 0 {
					values[label.GetValue()] = value
				}
			}
		}
	}
	return values
}

// TestUnreadableTable lets the gateway be away for an hour, or be one that can't read the table, while ten Nodes are missing in the API. No
// route goes, an event and a metric say why, and the Nodes that are there keep their condition.
func TestUnreadableTable(t *testing.T) {
	t.Parallel()
	for cause, err := range map[string]*rpcerr.Error{
		"unavailable": {Code: codes.Unavailable, Message: "connection refused"}, // The gateway is away.
		"credentials": {Code: codes.FailedPrecondition, Reason: rpcerr.CloudCredentials, Message: "token expired"},
		"other":       {Code: codes.NotFound, Reason: rpcerr.RouteTableNotFound, Message: "no such table"}, // It is in another region.
	} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			registry := prometheus.NewRegistry()
			edit := func(cfg *controller.Config) { cfg.Registerer = registry }
			prepare := func(w *world) {
				for i := range 20 {
					w.entry(tableA, fmt.Sprintf("10.0.%d.0/24", i), fmt.Sprintf("i-%d", i), marked(i))
					w.instance(makeNode(i), tag("ack.aliyun.com", cluster))
				}
			}
			run(t, edit, makeNodes(10), prepare, func(w *world) {
				for _, method := range []string{"ListRouteEntries", "ListRouteTables", "ConfirmAbsent"} {
					w.cloud.Fail(method, 1<<30, err)
				}
				w.Pass(59 * time.Minute)
				if n := len(w.routes(tableA)); n != 20 || len(w.cloud.Writes()) != 0 {
					t.Errorf("%d routes, want all 20; writes %v", n, w.cloud.Writes())
				}
				if got := w.Events.Matching("vtb-a SyncRouteFailed: list the entries of route table vtb-a: " +
					err.Message); len(got) == 0 || len(got) > 3 {
					t.Errorf("events %v", w.Events.Matching("vtb-a"))
				}
				if got := causes(t, registry, "routecontroller_table_unread"); !maps.Equal(got, map[string]float64{cause: 1}) {
					t.Errorf("metric of tables that can't be read: %v, want %s", got, cause)
				}
				if got := w.network("node-3"); got != "False RouteCreated" {
					t.Errorf("NetworkUnavailable %s", got)
				}
			})
		})
	}
}
