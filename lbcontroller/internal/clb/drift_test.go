package clb

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// setListeners changes the status of all listeners, and their scheduler to rr, in the cloud by hand.
func (w *world) setListeners(status string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	for _, l := range w.cloud.Listeners {
		l.Status, l.Config.Scheduler = status, new("rr")
	}
}

func (w *world) listenerStatus() string {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	for _, l := range w.cloud.Listeners {
		return l.GetStatus()
	}
	return ""
}

// TestStoppedListenerIsReported: a listener that somebody stopped stays so, through checks for drift, changes of nodes and of the Service, and at a
// takeover. Who takes the hash away has it started.
func TestStoppedListenerIsReported(t *testing.T) {
	report := func(cfg *settings) { cfg.Kind.Drift = Drift{ReportStopped: true} }
	inWorld(t, 1, func(w *world) {
		w.config = report
		w.restart()
		w.create(web(annotated(annotation.Scheduler, "wrr")))
		w.setListeners("stopped")
		w.events.take()
		w.after(6 * time.Hour)
		check(t, "scheduler, which an annotation names", "wrr", w.onlyListener().GetScheduler())
		check(t, "status after a check", "stopped", w.listenerStatus())
		w.told("what was found", "Warning DriftReported", "start listener 80/tcp")
		check(t, "drift", map[string]float64{"listeners": 1, "listeners reported": 1}, w.drift())
		w.addNode(2)
		w.settle()
		check(t, "servers", 2, len(w.servers()))
		w.update(annotated(annotation.Scheduler, "wlc"))
		check(t, "scheduler", "wlc", w.onlyListener().GetScheduler())
		check(t, "status after changes", "stopped", w.listenerStatus())
		w.restart()
		w.after(6 * time.Hour)
		check(t, "status after a restart", "stopped", w.listenerStatus())
		w.update(withoutHash)
		check(t, "status without the hash", "running", w.listenerStatus())
	})
	inWorld(t, 2, func(w *world) {
		w.config = report
		w.restart()
		l := newLegacy()
		l.listeners[0].Status = "stopped"
		l.seed(w)
		check(t, "status after the takeover", "stopped", w.listenerStatus())
		check(t, "writes", 0, len(w.cloud.Writes()))
	})
}

// TestDriftOfListenersIsReported until the Service itself changes. Servers follow the nodes meanwhile.
func TestDriftOfListenersIsReported(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.config = func(cfg *settings) { cfg.Kind.Drift = Drift{ReportListeners: true, ReportInstance: true} }
		w.restart()
		w.create(web(annotated(annotation.Scheduler, "wrr"), annotated(annotation.Name, "mine")))
		w.setListeners("running")
		w.cloud.Lock()
		for _, lb := range w.cloud.LoadBalancers {
			lb.Name = "theirs"
		}
		w.cloud.Unlock()
		w.events.take()
		w.after(6 * time.Hour)
		w.addNode(2)
		w.settle()
		check(t, "scheduler", "rr", w.onlyListener().GetScheduler())
		check(t, "name", "theirs", w.instances()[0].GetName())
		check(t, "servers", 2, len(w.servers()))
		w.told("both", "Warning DriftReported", "change listener 80/tcp: scheduler", "change CLB: name")
		w.update(annotated(annotation.PersistenceTimeout, "7"))
		check(t, "scheduler", "wrr", w.onlyListener().GetScheduler())
		check(t, "name", "mine", w.instances()[0].GetName())
	})
}

// withoutHash asks for a comparison.
func withoutHash(svc *corev1.Service) { delete(svc.Labels, LabelHash) }
