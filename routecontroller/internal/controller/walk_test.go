package controller_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/budget"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/kube/kubetest"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/routecontroller/internal/controller"
	"alicloud-controllers.dev/routecontroller/internal/orphan"
)

// TestLeaderDiesAtEveryCall kills the leader at each of its calls, before and after the call has an effect. The next one comes to the same
// end, and makes no route twice.
func TestLeaderDiesAtEveryCall(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		for bad := 0; ; bad++ {
			happened := false
			t.Run(fmt.Sprintf("call %d, with effect %t", bad, after), func(t *testing.T) {
				happened = dieAt(t, bad, after)
			})
			if !happened {
				break
			}
		}
	}
}

// dieAt plays a story until the given call, and to its end with another leader. It reports whether the call was made.
func dieAt(t *testing.T, bad int, after bool) bool {
	t.Helper()
	happened := false
	inWorld(t, nil, func(t *testing.T, w *world, reign func(time.Duration)) {
		for _, node := range makeNodes(3) {
			w.instance(node)
			w.CreateNode(node)
		}
		w.entry(tableA, "10.0.0.0/24", "i-2", "")               // In the way of node-0, to a node of ours.
		w.entry(tableA, "10.0.1.0/24", "i-1", "")               // Taken over.
		w.entry(tableA, "10.0.8.0/24", "i-8", "k8s/c-1/node-8") // Left over.
		lost := &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "the process died"}
		var mu sync.Mutex
		dead := make(chan struct{})
		w.cloud.Interpose(func(seq int, _ string, _ proto.Message) gatewaytest.Fault {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case seq < bad:
				return gatewaytest.Fault{}
			case seq == bad:
				happened = true
				close(dead)
				if after {
					return gatewaytest.Fault{After: lost}
				}
			}
			return gatewaytest.Fault{Before: lost}
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := w.make(ctx, t, nil)
		w.reigns()
		select {
		case <-dead:
		case <-time.After(10 * time.Minute):
		}
		cancel()
		done()
		w.cloud.Interpose(nil)
		w.DeleteNode("node-1") // While nobody looks.
		w.cloud.Lock()
		delete(w.cloud.Instances, "i-1")
		w.cloud.Unlock()
		reign(30 * time.Minute)
		routes := w.routes(tableA)
		// The route without a mark is known to be ours only if a leader has lived long enough to see its Node.
		routes = slices.DeleteFunc(routes, func(r string) bool { return r == "10.0.1.0/24→i-1" && bad < 4 })
		if got, want := strings.Join(routes, " "), "10.0.0.0/24→i-0 10.0.2.0/24→i-2"; got != want {
			t.Errorf("routes %s, want %s", got, want)
		}
	})
	return happened
}

// walks is how many random histories are played, unless WALKS says so.
const walks = 200

// TestRandomWalk plays random histories with faults: nodes come, go, and are missing for a while; calls fail; leaders die. At no time is the
// route of a node deleted that exists, and in the end every node has its route and no other route of ours is left. WALK_SEED chooses others, and
// WALKS how many.
func TestRandomWalk(t *testing.T) {
	t.Parallel()
	number := func(name string, otherwise uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	seed := number("WALK_SEED", 1)
	t.Logf("WALK_SEED=%d", seed)
	for i := range number("WALKS", walks) {
		if !t.Run("", func(t *testing.T) { walk(t, seed, i) }) {
			t.Fatalf("seed %d, walk %d", seed, i)
		}
	}
}

// impatient makes the graces short, so that a history is.
func impatient(cfg *controller.Config) {
	cfg.Orphans = orphan.Policy{
		GoneGrace: time.Minute, Grace: 10 * time.Minute, Policy: budget.Policy{Window: time.Minute, Minimum: 3, Percent: 5},
	}
}

func walk(t *testing.T, seed, number uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, number))
	synctest.Test(t, func(t *testing.T) {
		w := &world{Cluster: kubetest.New(t), cloud: gatewaytest.New(t)}
		w.cloud.Lock()
		w.cloud.RouteTables[tableA] = &vpcv1.RouteTable{RouteTableId: tableA, VpcId: vpcID}
		w.cloud.Unlock()
		const most = 5
		exists := map[int]bool{}
		for i := range 3 {
			w.instance(makeNode(i))
			w.CreateNode(makeNode(i))
			exists[i] = true
		}
		faults := w.flaky(random.Uint64())
		var cancel context.CancelFunc
		done := func() {}
		lead := func() {
			var ctx context.Context
			ctx, cancel = context.WithCancel(t.Context())
			done = w.make(ctx, t, impatient)
			w.reigns()
			w.Pass(8 * time.Second)
		}
		lead()
		for range 5 {
			i := random.IntN(most)
			switch act := random.IntN(5); {
			case act == 0: // The leader dies.
				cancel()
				done()
				lead()
			case act == 1:
				faults(true)
			case act == 2:
				faults(false)
			case exists[i]:
				w.DeleteNode(fmt.Sprintf("node-%d", i))
				delete(exists, i)
				if random.IntN(2) == 0 {
					w.cloud.Lock()
					delete(w.cloud.Instances, fmt.Sprintf("i-%d", i))
					w.cloud.Unlock()
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
		}
		faults(false)
		spare := makeNode(most) // A cluster without any node deletes nothing.
		w.instance(spare)
		w.CreateNode(spare)
		exists[most] = true
		w.Pass(20 * time.Minute)
		cancel()
		done()
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

// flaky lets a third of the calls fail while the function that it gives says so.
func (w *world) flaky(seed uint64) func(bool) {
	random := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	failing := false
	w.cloud.Interpose(func(int, string, proto.Message) gatewaytest.Fault {
		mu.Lock()
		defer mu.Unlock()
		err := &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "no"}
		switch n := random.IntN(6); {
		case failing && n == 0:
			return gatewaytest.Fault{Before: err}
		case failing && n == 1:
			return gatewaytest.Fault{After: err}
		default:
			return gatewaytest.Fault{}
		}
	})
	return func(on bool) {
		mu.Lock()
		defer mu.Unlock()
		failing = on
	}
}

// TestTwoClustersWithOneID lets this cluster run for an hour beside another with the same id and overlapping ranges, whose Nodes it does not
// see. None of the other's routes goes, and an event says that there are routes without a Node.
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

// TestBadAnswersAboutInstances lets the cloud answer wrongly about instances for an hour, while ten Nodes are missing in the API. No route goes.
func TestBadAnswersAboutInstances(t *testing.T) {
	t.Parallel()
	failing := func(err *rpcerr.Error) func(*world) {
		return func(w *world) { w.cloud.Fail("BatchGetInstances", 1<<30, err) }
	}
	for name, spoil := range map[string]func(*world){
		"no instance at all": func(w *world) {
			w.cloud.Lock()
			defer w.cloud.Unlock()
			clear(w.cloud.Instances)
		},
		"throttled": failing(&rpcerr.Error{
			Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, Message: "slow down", RetryAfter: 10 * time.Second,
		}),
		"expired token": failing(&rpcerr.Error{Code: codes.PermissionDenied, Reason: rpcerr.CloudForbidden, Message: "token expired"}),
		"gateway away":  failing(&rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "connection refused"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepare := func(w *world) {
				for i := range 20 {
					w.entry(tableA, fmt.Sprintf("10.0.%d.0/24", i), fmt.Sprintf("i-%d", i), marked(i))
					w.instance(makeNode(i), tag("ack.aliyun.com", cluster))
				}
				spoil(w)
			}
			run(t, nil, makeNodes(10), prepare, func(w *world) {
				w.Pass(59 * time.Minute)
				if n := len(w.routes(tableA)); n != 20 || len(w.cloud.Writes()) != 0 {
					t.Errorf("%d routes, want all 20; writes %v", n, w.cloud.Writes())
				}
				if len(w.Events.Matching("vtb-a RoutesWithoutNode")) == 0 {
					t.Errorf("events %v", w.Events.Matching("vtb-a"))
				}
			})
		})
	}
}
