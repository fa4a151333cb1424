package lb_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
)

// slow makes every call take its time. One to a CLB waits besides until the last one has taken effect, as in the gateway.
func (w *world) slow(latency, busy time.Duration) {
	var mu sync.Mutex
	free := map[string]time.Time{} // when the next write to a CLB may begin
	w.cloud.Interpose(func(_ int, _ string, request proto.Message) gatewaytest.Fault {
		wait := latency
		id := ""
		switch r := request.(type) {
		case interface{ GetLoadBalancerId() string }:
			id = r.GetLoadBalancerId()
		case interface{ GetKey() *slbv1.ListenerKey }:
			id = r.GetKey().GetLoadBalancerId()
		}
		if id != "" {
			mu.Lock()
			begin := time.Now()
			if free[id].After(begin) {
				begin = free[id]
			}
			wait += time.Until(begin)
			free[id] = begin.Add(latency + busy)
			mu.Unlock()
		}
		<-time.After(wait)
		return gatewaytest.Fault{}
	})
}

// TestWaitingHoldsNobodyUp: 300 Services with 200 nodes have their addresses about as soon as one has, though each waits for its CLB.
func TestWaitingHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	services, nodes := 300, 200
	if testing.Short() {
		services, nodes = 60, 50
	}
	took := func(n int) (last time.Duration) {
		inWorld(t, nodes, func(w *world) {
			w.slow(50*time.Millisecond, 300*time.Millisecond)
			start := time.Now()
			for i := range n {
				w.put(numbered(i))
			}
			for ; w.served("default") < n; w.after(50 * time.Millisecond) {
				if time.Since(start) > time.Hour {
					t.Fatalf("%d of %d Services have an address after an hour", w.served("default"), n)
				}
			}
			last = time.Since(start)
		})
		return last
	}
	one, all := took(1), took(services)
	t.Logf("one Service has its address after %s, %d after %s", one, services, all)
	// A pass that a change of its Service overtakes is made once more. One after the other, they would take minutes.
	if all > 2*one+time.Second {
		t.Errorf("%d Services take %s, one takes %s: more than twice as long, and a second", services, all, one)
	}
}

// TestAddressComesBeforeAllServers: a Service has its address as soon as its vServer group has the servers of one call.
// The others follow in a call of their own, with nothing read.
func TestAddressComesBeforeAllServers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		nodes int
		want  []string
	}{
		"one call takes all": {lb.FirstServers, []string{"CreateLoadBalancer", "CreateServerGroup: 40", "CreateListener", "address"}},
		"more": {lb.FirstServers + 60, []string{
			"CreateLoadBalancer", "CreateServerGroup: 40", "CreateListener", "address", "ApplyServerChanges: 60",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, tt.nodes, func(w *world) {
				withRecords(w)
				var lock sync.Mutex
				var order []string
				w.cloud.Interpose(func(_ int, method string, request proto.Message) gatewaytest.Fault {
					lock.Lock()
					defer lock.Unlock()
					if len(w.service().Status.LoadBalancer.Ingress) > 0 && !slices.Contains(order, "address") {
						order = append(order, "address")
					}
					switch r := request.(type) {
					case *slbv1.CreateServerGroupRequest:
						method += fmt.Sprintf(": %d", len(r.GetServers()))
					case *slbv1.ApplyServerChangesRequest:
						method += fmt.Sprintf(": %d", len(r.GetAdd()))
					}
					if method != "ListListeners" { // Whether they run.
						order = append(order, method)
					}
					return gatewaytest.Fault{}
				})
				w.create(web())
				if len(w.service().Status.LoadBalancer.Ingress) > 0 && !slices.Contains(order, "address") {
					order = append(order, "address")
				}
				check(t, "order", tt.want, order)
				if n := len(w.servers()); n != tt.nodes {
					t.Errorf("%d servers, want %d", n, tt.nodes)
				}
				w.restart() // All is recorded.
				w.cloud.ResetCalls()
				w.settle()
				check(t, "calls after a restart", []string(nil), w.calls())
			})
		})
	}
}

func isRead(method string) bool {
	return strings.HasPrefix(method, "Get") || strings.HasPrefix(method, "List")
}

// TestDeferredCallsNeedNoReads: what the gateway certainly has not sent changes nothing of what is known, so that the
// next attempt goes on where the last one stopped. Of a call that may have been made the outcome is looked up.
func TestDeferredCallsNeedNoReads(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		method string
		nodes  int
		want   []string // the calls from the first one that fails on
	}{
		"CLB": {
			method: "CreateLoadBalancer", nodes: 2,
			want: []string{"CreateLoadBalancer", "CreateLoadBalancer", "CreateServerGroup", "CreateListener"},
		},
		"server group": {
			method: "CreateServerGroup", nodes: 2,
			want: []string{"CreateServerGroup", "CreateServerGroup", "CreateListener"},
		},
		"servers": {
			method: "ApplyServerChanges", nodes: lb.FirstServers + 1,
			want: []string{"ApplyServerChanges", "ApplyServerChanges"},
		},
	} {
		for _, unsent := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, unsent %t", name, unsent), func(t *testing.T) {
				t.Parallel()
				inWorld(t, tt.nodes, func(w *world) {
					var refused atomic.Bool
					w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
						if method != tt.method || !refused.CompareAndSwap(false, true) {
							return gatewaytest.Fault{}
						}
						w.cloud.ResetCalls()
						return gatewaytest.Fault{Before: &rpcerr.Error{
							Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, RetryAfter: 5 * time.Second, Unsent: unsent,
						}}
					})
					w.create(web())
					w.after(time.Minute)
					calls := slices.DeleteFunc(w.calls(), func(method string) bool { return method == "ListListeners" }) // Whether they run.
					if looks := slices.ContainsFunc(calls, isRead); !unsent && !looks {
						t.Errorf("nothing is looked up: %v", calls)
					}
					if unsent {
						check(t, "calls", tt.want, calls)
					}
					if n := len(w.servers()); n != tt.nodes {
						t.Errorf("%d servers, want %d", n, tt.nodes)
					}
				})
			})
		}
	}
}

// noRoomFor is the gateway's word that it had no room to send a call, and when it is to be repeated.
func noRoomFor(method string, after time.Duration) *rpcerr.Error {
	return &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, RetryAfter: after, Message: "no room",
		Unsent: true, API: "slb/" + method}
}

// TestDeletionWhileTheCreationWaits: a Service that moves from a user's CLB to its own and is deleted while the gateway
// has no room for the creation takes what is its own off the user's CLB.
func TestDeletionWhileTheCreationWaits(t *testing.T) {
	t.Parallel()
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		before := w.parts(usersLB)
		w.create(web(naming(usersLB), override))
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method == "CreateLoadBalancer" {
				return gatewaytest.Fault{Before: noRoomFor("CreateLoadBalancer", 5*time.Minute)}
			}
			return gatewaytest.Fault{}
		})
		w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.ID) })
		w.clearStatus()
		w.remove()
		check(t, "the user's load balancer", before, w.parts(usersLB))
	})
}

// TestDeletionAfterALateCreation: of a creation that was given up the cloud may bring the CLB later. The next one is
// put off, and the Service deleted.
func TestDeletionAfterALateCreation(t *testing.T) {
	t.Parallel()
	inWorld(t, 1, func(w *world) {
		var lost *slbv1.CreateLoadBalancerRequest
		w.cloud.Interpose(func(_ int, method string, request proto.Message) gatewaytest.Fault {
			creation, ok := request.(*slbv1.CreateLoadBalancerRequest)
			switch {
			case !ok:
				return gatewaytest.Fault{}
			case lost == nil:
				lost = proto.CloneOf(creation)
				return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown}}
			}
			return gatewaytest.Fault{Before: noRoomFor("CreateLoadBalancer", 5*time.Minute)}
		})
		w.create(web())
		w.after(time.Minute)
		w.cloud.Interpose(nil)
		if _, err := w.cloud.Client().LoadBalancers.CreateLoadBalancer(w.t.Context(), lost); err != nil {
			t.Fatal(err)
		}
		w.remove()
		check(t, "CLBs", 0, len(w.instances()))
	})
}
