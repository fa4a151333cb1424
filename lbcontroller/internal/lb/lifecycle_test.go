package lb_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

func TestMain(m *testing.M) {
	watch.DefaultChanSize = 1000 // The fake API server panics when a watch is behind by more.
	goleak.VerifyTestMain(m)
}

func check(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestColdCreate(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		check(t, "calls", []string{"CreateLoadBalancer", "CreateServerGroup", "CreateListener"}, w.calls())
		check(t, "servers", []string{"i-1:30080=100", "i-2:30080=100"}, w.servers())
		check(t, "listeners", []string{"80/TCP"}, w.listeners())
		svc, lb := w.service(), w.instances()[0]
		check(t, "name", instance, lb.GetName())
		check(t, "ingress", []corev1.LoadBalancerIngress{{IP: lb.GetAddress()}}, svc.Status.LoadBalancer.Ingress)
		check(t, "finalizers", []string{Finalizer}, svc.Finalizers)
		check(t, "id label", lb.GetLoadBalancerId(), svc.Labels[LabelLoadBalancerID])
		if svc.Labels[LabelHash] == "" {
			t.Error("the hash label is missing")
		}
		check(t, "events", []string{"EnsuredLoadBalancer"}, w.events.reasons())
	})
}

func TestIrrelevantUpdateMakesNoCall(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.calls()
		w.events.take()
		before := len(w.kube.Actions())
		w.update(func(svc *corev1.Service) {
			svc.Labels["team"] = "blue"
		})
		check(t, "calls", []string(nil), w.calls())
		check(t, "events", []string(nil), w.events.reasons())
		for _, a := range w.kube.Actions()[before:] {
			if a.GetVerb() == "patch" {
				t.Errorf("needless patch of %s", a.GetResource())
			}
		}
	})
}

func TestRestartRewritesNothing(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.calls()
		w.events.take()
		w.restart()
		check(t, "calls", []string{"ListServerGroups", "GetServerGroup"}, w.calls())
		check(t, "events", []string(nil), w.events.reasons())
		w.addNode(3)
		w.settle()
		check(t, "calls for a node", []string{"ApplyServerChanges"}, w.calls())
	})
}

// queued is how many keys wait for a worker.
func (w *world) queued() (depth float64) {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "reconcile_queue_depth" {
			for _, m := range family.GetMetric() {
				depth += m.GetGauge().GetValue()
			}
		}
	}
	return depth
}

// TestStandbyGathersNothing: whatever comes and goes, a standby keeps only its caches, and when it leads it does all there is to do.
func TestStandbyGathersNothing(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(func(svc *corev1.Service) { svc.Name, svc.UID = "served", "33333333-2222-3333-4444-555555555555" }))
		w.standby = true
		w.restart()
		w.calls()
		w.events.take()
		for n := range 20 {
			w.create(web(func(svc *corev1.Service) { svc.Name, svc.UID = "passing", types.UID(fmt.Sprint(n)) }))
			if err := w.kube.Tracker().Delete(serviceResource(), "default", "passing"); err != nil {
				t.Fatal(err)
			}
		}
		w.create(web(local, annotated(annotation.Scheduler, "wrr")))
		w.pods(pod("10.0.0.1", "node-1"))
		w.update(annotated(annotation.Scheduler, "wlc"))
		w.addNode(2)
		w.settle()
		check(t, "queued", 0.0, w.queued())
		check(t, "calls", []string(nil), w.calls())
		check(t, "events", []string(nil), w.events.reasons())
		w.elect()
		w.settle()
		check(t, "calls of the new leader", []string{
			"ApplyServerChanges", "CreateListener", "CreateLoadBalancer", "CreateServerGroup", "GetServerGroup", "ListServerGroups",
		}, slices.Sorted(slices.Values(w.calls())))
		check(t, "servers", []string{"i-1:30080=1", "i-1:30080=100", "i-2:30080=100"}, w.servers())
	})
}

func TestNodeAddedIsOneCall(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.calls()
		w.addNode(3)
		w.settle()
		check(t, "calls", []string{"ApplyServerChanges"}, w.calls())
		check(t, "servers", []string{"i-1:30080=100", "i-2:30080=100", "i-3:30080=100"}, w.servers())
	})
}

func TestThirtyNodesAreOneCall(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.calls()
		for n := range 30 {
			w.addNode(3 + n)
			w.after(60 * time.Millisecond)
		}
		w.settle()
		check(t, "calls", []string{"ApplyServerChanges"}, w.calls())
		check(t, "number of servers", 32, len(w.servers()))
	})
}

func TestOneAttributeIsOneUpdate(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.calls()
		w.update(annotated(annotation.Scheduler, "wrr"))
		calls := w.cloud.Calls()
		check(t, "calls: what a user changes is compared with what is there", []string{"GetLoadBalancer", "UpdateListener"}, w.calls())
		request, ok := calls[1].Request.(*slbv1.UpdateListenerRequest)
		if !ok {
			t.Fatalf("unexpected request %T", calls[1].Request)
		}
		check(t, "scheduler", "wrr", request.GetConfig().GetScheduler())
		if request.GetConfig().Description != nil || request.GetConfig().ServerGroupId != nil {
			t.Errorf("unchanged attributes were sent: %v", request.GetConfig())
		}
		w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.Scheduler) })
		check(t, "calls when the annotation goes: the default comes back", []string{"GetLoadBalancer", "UpdateListener"}, w.calls())
	})
}

func TestDeleteIsOneReadAndTwoWrites(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.calls()
		w.remove()
		check(t, "calls", []string{"GetLoadBalancer", "UpdateLoadBalancer", "DeleteLoadBalancer"}, w.calls())
		check(t, "instances", 0, len(w.instances()))
		svc := w.service()
		check(t, "finalizers", 0, len(svc.Finalizers))
		check(t, "ingress", 0, len(svc.Status.LoadBalancer.Ingress))
		check(t, "labels", "", svc.Labels[LabelHash]+svc.Labels[LabelLoadBalancerID])
	})
}

func TestDeleteAfterRestartProvesOwnership(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.stop()
		w.calls()
		w.remove()
		w.start()
		check(t, "calls", []string{"GetLoadBalancer", "UpdateLoadBalancer", "DeleteLoadBalancer"}, w.calls())
		check(t, "instances", 0, len(w.instances()))
	})
}

func TestTypeChangeAwayAndBack(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		first := w.service().Labels[LabelLoadBalancerID]
		w.events.take()
		w.update(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeClusterIP })
		svc := w.service()
		check(t, "instances", 0, len(w.instances()))
		check(t, "finalizers", 0, len(svc.Finalizers))
		check(t, "ingress", 0, len(svc.Status.LoadBalancer.Ingress))
		check(t, "labels", "", svc.Labels[LabelHash]+svc.Labels[LabelLoadBalancerID])
		check(t, "events", []string{"TypeChanged", "CleanLoadBalancer"}, w.events.reasons())
		w.calls()
		w.update(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeLoadBalancer })
		check(t, "calls", []string{"CreateLoadBalancer", "CreateServerGroup", "CreateListener"}, w.calls())
		check(t, "instances", 1, len(w.instances()))
		if second := w.service().Labels[LabelLoadBalancerID]; second == first {
			t.Errorf("the released instance %s was answered again", first)
		}
	})
}

func TestBadAnnotationIsOneEventAndNoCall(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.Scheduler, "fastest")))
		check(t, "calls", []string(nil), w.calls())
		got := w.events.take()
		check(t, "events",
			[]string{
				`Warning SyncLoadBalancerFailed annotation service.beta.kubernetes.io/alibaba-cloud-loadbalancer-scheduler: ` +
					`value "fastest" is not allowed, use one of rr, wrr, wlc, sch, tch, qch`}, got)
		w.after(time.Hour)
		check(t, "no retry", []string(nil), w.events.take())
		check(t, "finalizers", 0, len(w.service().Finalizers))
		w.update(annotated(annotation.Scheduler, "wlc"))
		if !slices.Equal(w.listeners(), []string{"80/TCP"}) {
			t.Error("the corrected Service has no listener")
		}
	})
}

// TestChangesAreReported: once each, and never for the controller's own writes.
func TestChangesAreReported(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		check(t, "events of the creation", []string{"EnsuredLoadBalancer"}, w.events.reasons())
		w.update(annotated(annotation.AdditionalTags, "team=blue"))
		check(t, "events of an annotation", []string{"AnnotationChanged", "EnsuredLoadBalancer"}, w.events.reasons())
		w.update(func(svc *corev1.Service) { svc.Spec.SessionAffinity = corev1.ServiceAffinityClientIP })
		check(t, "events of the spec", []string{"ServiceSpecChanged", "EnsuredLoadBalancer", "UnknownAnnotation"}, w.events.reasons())
		w.remove()
		check(t, "events of the deletion", []string{"DeleteTimestampChanged", "CleanLoadBalancer"}, w.events.reasons())
	})
}
