package lb_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// ipMode is that of the published address, "none" without any.
func (w *world) ipMode() string {
	w.t.Helper()
	for _, i := range w.service().Status.LoadBalancer.Ingress {
		if i.IPMode != nil {
			return string(*i.IPMode)
		}
	}
	return "none"
}

// dropIPModes makes the API server an old one, which does not know the field.
func (w *world) dropIPModes() {
	w.kube.PrependReactor("patch", "services", func(action clienttesting.Action) (bool, runtime.Object, error) {
		_, answer, err := clienttesting.ObjectReaction(w.kube.Tracker())(action)
		svc, ok := answer.(*corev1.Service)
		if err != nil || !ok {
			return true, answer, err
		}
		old := svc.DeepCopy()
		for i := range old.Status.LoadBalancer.Ingress {
			old.Status.LoadBalancer.Ingress[i].IPMode = nil
		}
		return true, old, w.kube.Tracker().Update(action.GetResource(), old, old.Namespace)
	})
}

// TestIPModeIsDropped: an API server that doesn't know the field is not written to again and again.
func TestIPModeIsDropped(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.dropIPModes()
		w.create(web(annotated(annotation.IPMode, "Proxy")))
		check(t, "mode", "none", w.ipMode())
		w.after(time.Minute)
		before := w.patches()
		for range 20 {
			w.update(annotated(annotation.Scheduler, "rr"))
			w.update(annotated(annotation.Scheduler, "wrr"))
		}
		w.settle()
		w.hasEvents("an old API server", "Warning IPModeDropped", "hostname")
		quiet := w.patches()
		check(t, "address", 1, len(w.service().Status.LoadBalancer.Ingress))
		w.after(30 * time.Minute)
		check(t, "patches while nothing happens", quiet, w.patches())
		if quiet-before > 3*40 {
			t.Errorf("%d patches for 40 changes", quiet-before)
		}
	})
}
