package lb_test

import (
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

// TestStoppedListenerIsReported: a listener that somebody stopped stays so, through checks for drift, changes of nodes
// and of the Service, and at a takeover. Who takes the hash away has it started.
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
		w.hasEvents("what was found", "Warning DriftReported", "start listener 80/tcp")
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
		w.hasEvents("both", "Warning DriftReported", "change listener 80/tcp: scheduler", "change load balancer: name")
		w.update(annotated(annotation.PersistenceTimeout, "7"))
		check(t, "scheduler", "wrr", w.onlyListener().GetScheduler())
		check(t, "name", "mine", w.instances()[0].GetName())
	})
}

// withoutHash asks for a comparison.
func withoutHash(svc *corev1.Service) { delete(svc.Labels, LabelHash) }

// TestStoppedListenerStaysThroughFailures: a change that fails midway, or in part for good, doesn't start on its next
// try what somebody has stopped; a listener that the change itself has made and not started is.
func TestStoppedListenerStaysThroughFailures(t *testing.T) {
	unavailable := &rpcerr.Error{Code: codes.Unavailable, Message: "away"}
	report := func(cfg *settings) { cfg.Kind.Drift = Drift{ReportStopped: true} }
	second := func(svc *corev1.Service) {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "more", Port: 81, NodePort: 30081, Protocol: corev1.ProtocolTCP})
	}
	for name, restart := range map[string]bool{"same leader": false, "next leader": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.config = report
				w.restart()
				w.create(web())
				w.setListeners("stopped")
				var failing atomic.Bool
				failing.Store(true)
				w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
					if failing.Load() && method == "UpdateListener" {
						return gatewaytest.Fault{Before: unavailable}
					}
					return gatewaytest.Fault{}
				})
				w.update(func(svc *corev1.Service) {
					annotated(annotation.Scheduler, "wrr")(svc)
					second(svc)
				})
				check(t, "listeners", []string{"80/TCP", "81/TCP"}, w.listeners())
				w.stopOnly(81) // As if its creation had ended before the start.
				if restart {
					w.restart()
				}
				failing.Store(false)
				w.after(30 * time.Minute)
				check(t, "scheduler", "wrr", w.listenerOn(80).GetConfig().GetScheduler())
				check(t, "status of what was stopped by hand", "stopped", w.listenerOn(80).GetStatus())
				check(t, "status of what was made", "running", w.listenerOn(81).GetStatus())
				check(t, "note", "", w.service().Annotations[annotation.Making])
				w.update(withoutHash)
				check(t, "status without the hash", "running", w.listenerOn(80).GetStatus())
			})
		})
	}
	t.Run("refused in part", func(t *testing.T) {
		inWorld(t, 1, func(w *world) {
			w.config = report
			w.restart()
			w.create(web())
			w.setListeners("stopped")
			w.update(annotated(annotation.AddressType, "intranet"))
			w.after(6 * time.Hour)
			w.restart()
			check(t, "status", "stopped", w.listenerStatus())
		})
	})
}

// listenerOn is the TCP listener on a port.
func (w *world) listenerOn(port int32) *slbv1.Listener {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	for key, l := range w.cloud.Listeners {
		if key.Port == port {
			return proto.CloneOf(l)
		}
	}
	return nil
}

// stopOnly stops the listener on a port, in the cloud.
func (w *world) stopOnly(port int32) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	for key, l := range w.cloud.Listeners {
		if key.Port == port {
			l.Status = "stopped"
		}
	}
}
