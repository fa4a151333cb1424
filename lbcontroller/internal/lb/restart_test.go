package lb_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
)

// recordName is the ConfigMap of the record.
const recordName = "lbcontroller-backends"

// withRecords makes each controller keep the record, as a process does.
func withRecords(w *world) {
	w.config = func(cfg *settings) {
		cfg.Kind.Records = knowledge.NewRecord(knowledge.RecordConfig{Client: w.kube, Namespace: "kube-system",
			Name: recordName, Logger: slog.New(slog.DiscardHandler)})
	}
	w.restart()
}

// numbered is one of many Services.
func numbered(n int) *corev1.Service { return named(fmt.Sprintf("web-%d", n), n) }

// many creates Services web-0 to web-(n-1).
func (w *world) many(n int) {
	w.t.Helper()
	for i := range n {
		w.put(numbered(i))
	}
	w.after(time.Minute)
}

// TestRestartWithManyServices: a new leader serves a fresh change before it looks at the CLBs of the Services that have what they ask
// for; these are spread over the time between two checks for drift, and nothing is written.
func TestRestartWithManyServices(t *testing.T) {
	t.Parallel()
	services := 300
	if testing.Short() {
		services = 80
	}
	inWorld(t, 2, func(w *world) {
		withRecords(w)
		w.many(services)
		w.stop()
		w.calls()
		w.start()
		w.create(web())
		early := w.cloud.Calls()
		written := slices.IndexFunc(early, func(c gatewaytest.Call) bool { return c.Method == "CreateLoadBalancer" })
		if reads := written; reads < 0 || reads > 10 {
			t.Errorf("%d reads before a fresh change is served, of %v", reads, w.calls())
		}
		const periods = 8
		most, read := 0, map[string]bool{}
		for range periods {
			before := len(read)
			w.after(4 * time.Hour / periods)
			for _, call := range w.cloud.CallsOf("GetLoadBalancer") {
				request, ok := call.Request.(*slbv1.GetLoadBalancerRequest)
				if !ok {
					t.Fatalf("unexpected request %T", call.Request)
				}
				read[request.GetLoadBalancerId()] = true
			}
			most = max(most, len(read)-before)
		}
		check(t, "load balancers read within the time between two checks", services, len(read))
		if most > 2*services/periods {
			t.Errorf("%d of %d load balancers are read within an eighth of the time", most, services)
		}
		check(t, "writes", 3, len(w.cloud.Writes()))
	})
}

// TestRestartFindsWhatChanged: what happened to nodes and Services while nobody led is seen at once.
func TestRestartFindsWhatChanged(t *testing.T) {
	tests := map[string]struct {
		change func(w *world)
		calls  []string
	}{
		"nothing": {func(*world) {}, nil},
		"a node":  {func(w *world) { w.addNode(3) }, []string{"ListServerGroups", "GetServerGroup", "ApplyServerChanges"}},
		"an annotation": {func(w *world) { w.update(annotated(annotation.Scheduler, "wlc")) },
			[]string{"GetLoadBalancer", "UpdateListener"}},
		"the record": {func(w *world) {
			if err := w.kube.CoreV1().ConfigMaps("kube-system").Delete(w.t.Context(), recordName, metav1.DeleteOptions{}); err != nil {
				w.t.Fatal(err)
			}
		}, []string{"ListServerGroups", "GetServerGroup"}},
		"deleted": {func(w *world) { w.remove() },
			[]string{"GetLoadBalancer", "ListAccessControlLists", "UpdateLoadBalancer", "DeleteLoadBalancer"}},
		"deleted and another's record": {func(w *world) {
			w.update(func(svc *corev1.Service) { svc.UID = "33333333-2222-3333-4444-555555555555" })
			w.remove()
		}, []string{"GetLoadBalancer", "ListLoadBalancers", "ListLoadBalancers", "GetLoadBalancer", "ListEips",
			"ListAccessControlLists"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				withRecords(w)
				w.create(web())
				w.stop()
				w.calls()
				test.change(w)
				w.start()
				check(t, "calls", test.calls, w.calls())
				w.restart()
				if !strings.HasPrefix(name, "deleted") {
					check(t, "calls of the next start", []string(nil), w.calls())
				}
			})
		})
	}
}

// TestManyDeletionsAtARestart: fifty Services that are deleted at once, while nobody leads or right after somebody
// has begun to, cost two writes each and one read. That of the access lists of the cluster may be a minute old: to
// the cloud it is one.
func TestManyDeletionsAtARestart(t *testing.T) {
	const services = 20
	for _, leading := range []bool{false, true} {
		inWorld(t, 2, func(w *world) {
			withRecords(w)
			w.many(services)
			w.stop()
			w.calls()
			if leading {
				w.start()
			}
			for n := range services {
				w.patch(numbered(n).Name, map[string]any{"metadata": map[string]any{"deletionTimestamp": metav1.Now()}})
			}
			if !leading {
				w.start()
			}
			w.after(time.Minute)
			calls := map[string]int{}
			for _, method := range w.calls() {
				calls[method]++
			}
			check(t, "calls", map[string]int{"GetLoadBalancer": services, "ListAccessControlLists": services,
				"UpdateLoadBalancer": services, "DeleteLoadBalancer": services}, calls)
			check(t, "load balancers in the end", 0, len(w.instances()))
		})
	}
}

// TestRestartAfterACrashOfASecondChange: the same, when the pass right before has changed nothing, and that isn't recorded yet either.
func TestRestartAfterACrashOfASecondChange(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		withRecords(w)
		w.addENI("eni-1", "10.0.0.1")
		w.create(web(eniMode))
		w.pods(pod("10.0.0.1", "node-1"))
		before := w.servers()
		w.endpoints("web", pod("10.0.0.1", "node-1"), pod("10.0.0.2", "node-2")) // The second one has no network interface yet.
		w.after(500 * time.Millisecond)
		w.endpoints("web", pod("10.0.0.2", "node-2"))
		w.after(3 * time.Second)
		check(t, "servers before the crash", []string(nil), w.servers())
		w.stop()
		w.endpoints("web", pod("10.0.0.1", "node-1"))
		w.start()
		check(t, "servers", before, w.servers())
	})
}

// TestReleaseIsTakenBack: a Service that is no longer to have a CLB, and asks for it again before all is released, gets what it asks for.
func TestReleaseIsTakenBack(t *testing.T) {
	typed := func(w *world, serviceType corev1.ServiceType) {
		w.patch("web", map[string]any{"spec": map[string]any{"type": serviceType}})
	}
	// The process dies after one call of the method, and the user changes the type back before the next one starts.
	crash := func(w *world, method string) {
		dead := gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "the process is dead"}}
		var died atomic.Bool
		w.cloud.Interpose(func(_ int, called string, _ proto.Message) gatewaytest.Fault {
			if died.Load() {
				return dead
			}
			died.Store(called == method)
			return gatewaytest.Fault{}
		})
		w.failing = func() gatewaytest.Fault {
			if died.Load() {
				return dead
			}
			return gatewaytest.Fault{}
		}
		typed(w, corev1.ServiceTypeNodePort)
		w.settle()
		check(w.t, "died", true, died.Load())
		w.stop()
		typed(w, corev1.ServiceTypeLoadBalancer)
		revive(w)
	}
	t.Run("its own, after a crash", func(t *testing.T) {
		inWorld(t, 2, func(w *world) {
			withRecords(w)
			w.create(web())
			crash(w, "DeleteLoadBalancer")
			w.hasEvents("the start", "the load balancer lb-1 of this Service is gone, and its address with it")
		})
	})
	t.Run("a user's, after a crash", func(t *testing.T) {
		inWorld(t, 2, func(w *world) {
			withRecords(w)
			w.usersCLB(usersLB)
			w.create(web(naming(usersLB), override))
			before := w.parts(usersLB)
			crash(w, "DeleteListener")
			check(t, "parts", before, w.parts(usersLB))
		})
	})
	for name, hash := range map[string]map[string]any{"complete": {}, "incomplete": {"labels": map[string]any{LabelHash: nil}}} {
		t.Run("its own, before the cache shows it, "+name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				w.lag(func() time.Duration { return 3 * time.Second })
				w.restart()
				w.create(web())
				w.settle()
				w.calls()
				w.patch("web", map[string]any{"metadata": hash, "spec": map[string]any{"type": corev1.ServiceTypeNodePort}})
				w.after(time.Second)
				typed(w, corev1.ServiceTypeLoadBalancer)
				w.after(time.Minute)
				check(t, "writes", []string(nil), w.writes())
				check(t, "hash", true, w.service().Labels[LabelHash] != "")
			})
		})
	}
}

// TestStandbyTrustsTheRecord: what users change while another replica leads is that one's to compare with the cloud.
// The next leader finds it in the record, however long it was a standby.
func TestStandbyTrustsTheRecord(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		withRecords(w)
		w.create(web())
		stopLeader := w.stop
		w.standby = true
		w.start()
		w.calls()
		w.update(annotated(annotation.Scheduler, "wrr"))
		check(t, "writes of the leader", []string{"UpdateListener"}, w.writes())
		stopLeader()
		w.elect()
		w.settle()
		check(t, "calls of the next one", []string(nil), w.calls())
		w.update(annotated(annotation.Scheduler, "wlc"))
		check(t, "its writes", []string{"UpdateListener"}, w.writes())
	})
}
