package lb_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	kubetesting "k8s.io/client-go/testing"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// TestStaleCacheCreatesWithFinalizer: a Service wavers between types faster than the cache follows. No CLB is created while
// the finalizer is off, whatever the cache shows.
func TestStaleCacheCreatesWithFinalizer(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.lag(func() time.Duration { return 2 * time.Second })
		w.restart()
		var unprotected atomic.Int32
		w.cloud.Interpose(onCreate(func() {
			if svc, err := w.kube.Tracker().Get(serviceResource(), "default", "web"); err == nil && !isHeld(svc.(*corev1.Service)) {
				unprotected.Add(1)
			}
		}))
		setType := func(want corev1.ServiceType) { w.patch("web", map[string]any{"spec": map[string]any{"type": want}}) }
		setType(corev1.ServiceTypeClusterIP)
		w.after(1900 * time.Millisecond)
		setType(corev1.ServiceTypeLoadBalancer)
		w.after(time.Minute)
		check(t, "creations without the finalizer", int32(0), unprotected.Load())
		check(t, "CLBs", 1, len(w.instances()))
		check(t, "listeners", []string{"80/TCP"}, w.listeners())
	})
}

// TestStaleCacheLeavesNoMarks: somebody takes the labels off a Service and then its type. The controller has written them anew when it
// sees the type change on a Service without labels.
func TestStaleCacheLeavesNoMarks(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.lag(func() time.Duration { return 2 * time.Second })
		w.restart()
		w.patch("web", map[string]any{"metadata": map[string]any{"labels": nil}, "status": map[string]any{"loadBalancer": nil}}, "status")
		w.after(100 * time.Millisecond)
		w.patch("web", map[string]any{"spec": map[string]any{"type": corev1.ServiceTypeClusterIP}})
		for i := 0; isHeld(w.service()) && i < 60; i++ {
			w.after(time.Second)
		}
		svc := w.service() // It has no finalizer now, and nobody would look at it after a crash.
		check(t, "marks", 0, len(svc.Labels)+len(svc.Finalizers)+len(svc.Status.LoadBalancer.Ingress))
		check(t, "instances", 0, len(w.instances()))
	})
}

// TestStaleCacheWritesNoStatusAgain: the cache doesn't show yet what was written last. It is not written a second time,
// and least of all that there is no address.
func TestStaleCacheWritesNoStatusAgain(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.lag(func() time.Duration { return 300 * time.Millisecond })
		w.restart()
		w.kube.ClearActions()
		w.create(web())
		var writes []string
		for _, a := range w.kube.Actions() {
			if patch, ok := a.(kubetesting.PatchAction); ok && a.Matches("patch", "services/status") {
				writes = append(writes, string(patch.GetPatch()))
			}
		}
		if len(writes) != 2 || !strings.Contains(writes[0], `"ingress"`) || strings.Contains(writes[1], `"ingress"`) {
			t.Errorf("the status is not written once, and once more when the listeners run:\n%s", strings.Join(writes, "\n"))
		}
		w.calls()
		w.after(time.Minute)
		check(t, "calls", []string(nil), w.calls())
	})
}

// onCreate calls f before every creation of a CLB.
func onCreate(f func()) func(int, string, proto.Message) gatewaytest.Fault {
	return func(_ int, method string, _ proto.Message) gatewaytest.Fault {
		if method == "CreateLoadBalancer" {
			f()
		}
		return gatewaytest.Fault{}
	}
}

// deleteInConsole deletes a CLB behind the controller's back.
func (w *world) deleteInConsole(id string) {
	w.t.Helper()
	client := w.cloud.Client().LoadBalancers
	if _, err := client.UpdateLoadBalancer(w.t.Context(), &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: id,
		DeleteProtection: new(false)}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := client.DeleteLoadBalancer(w.t.Context(), &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: id}); err != nil {
		w.t.Fatal(err)
	}
}

// TestConflictWithOwnConditions: a pass fails and says so in the conditions, which the cache shows only after the next
// pass has begun. The API server refuses what that one writes. It is made good, although the arrival of conditions
// queues nothing.
func TestConflictWithOwnConditions(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web())
		w.lag(func() time.Duration { return 1500 * time.Millisecond }) // The first retry comes sooner.
		w.restart()
		w.cloud.Fail("GetLoadBalancer", 1, &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable})
		moved := annotate(annotation.Prefix+annotation.ID, usersLB)
		moved["status"] = map[string]any{"loadBalancer": nil}
		w.patch("web", moved, "status")
		w.after(time.Minute)
		check(t, "CLB", usersLB, w.service().Labels[LabelLoadBalancerID])
		check(t, "CLBs", 1, len(w.instances()))
		check(t, "conditions", []string{"LoadBalancerReady=True Published", "Synced=True Synced"}, w.conditions())
	})
}

// TestClearedStatusOutlivesAPass: a CLB is deleted in the console and the status cleared, while a pass has already read
// the CLB. What that pass remembers doesn't count: the Service gets another CLB.
func TestClearedStatusOutlivesAPass(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.ExternalIPType, "eip")))
		first := w.service().Labels[LabelLoadBalancerID]
		var once sync.Once
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method == "ListEips" { // The last call of a pass.
				once.Do(func() {
					w.deleteInConsole(first)
					w.patch("web", map[string]any{"status": map[string]any{"loadBalancer": nil}}, "status")
					<-time.After(time.Second)
				})
			}
			return gatewaytest.Fault{}
		})
		w.update(annotated(annotation.Name, "mine"))
		w.after(time.Minute)
		check(t, "CLBs", 1, len(w.instances()))
		if now := w.service().Labels[LabelLoadBalancerID]; now == first {
			t.Errorf("the Service shows load balancer %s, which is gone, and status %v", now, w.service().Status.LoadBalancer)
		}
	})
}
