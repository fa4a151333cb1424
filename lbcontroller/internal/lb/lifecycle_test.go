package lb_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

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
			"ApplyServerChanges", "CreateListener", "CreateLoadBalancer", "CreateServerGroup", "GetServerGroup", "ListListeners",
			"ListServerGroups",
		}, slices.Sorted(slices.Values(w.calls())))
		check(t, "servers", []string{"i-1:30080=1", "i-1:30080=100", "i-2:30080=100"}, w.servers())
	})
}
