package lb_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
)

// calls are the calls to the gateway that the metric counts.
func (w *world) callsOfMetric() (sum float64) {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "lbcontroller_reconcile_calls" {
			sum = family.GetMetric()[0].GetHistogram().GetSampleSum()
		}
	}
	return sum
}

// TestReconcileCalls: every call of a reconcile is counted.
func TestReconcileCalls(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.update(annotated(annotation.Scheduler, "wrr"))
		w.addNode(3)
		w.settle()
		check(t, "calls", float64(len(w.calls())), w.callsOfMetric())
		check(t, "conflicts", map[string]float64{}, w.gauge("lbcontroller_conflicts_total"))
	})
}

// TestConflictsAreCounted: another controller that writes the status is counted from the time on when it is certain to be one.
func TestConflictsAreCounted(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		for range 8 {
			w.update(func(svc *corev1.Service) {
				svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.9.9.9"}}
			})
			w.after(5 * time.Minute)
		}
		if n := w.gauge("lbcontroller_conflicts_total")["status"]; n == 0 {
			t.Error("no conflict is counted")
		}
	})
}

// TestQuotas: what Services ask for is counted, also after a restart, and not what is gone.
func TestQuotas(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.config = func(c *settings) {
			c.Kind.Quotas = lb.Quotas{LoadBalancers: 60, Listeners: 50, Servers: 200, Attachments: 50, ACLEntries: 300}
		}
		w.restart()
		check(t, "needed by nobody", map[string]float64{}, w.gauge("lbcontroller_quota_needed"))
		check(t, "limits", map[string]float64{"load_balancers": 60, "listeners": 50, "servers": 200, "attachments": 50, "acl_entries": 300},
			w.gauge("lbcontroller_quota_limit"))
		w.cloud.Lock()
		w.cloud.LoadBalancers["lb-user"] = &slbv1.LoadBalancer{LoadBalancerId: "lb-user", Address: "10.0.0.200"}
		w.cloud.Unlock()
		w.create(web(ranges("10.1.0.0/16", "10.2.0.0/16")))
		on := func(svc *corev1.Service) {
			annotated(annotation.ID, "lb-user")(svc)
			annotated(annotation.ForceOverride, "true")(svc)
		}
		port := func(n int32) func(*corev1.Service) { return func(svc *corev1.Service) { svc.Spec.Ports[0].Port = n } }
		w.create(named("one", 1, on, port(8001)))
		w.create(named("two", 2, on, port(8002), func(svc *corev1.Service) {
			svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "more", Port: 8003, NodePort: 31000, Protocol: corev1.ProtocolTCP})
		}))
		want := map[string]float64{"load_balancers": 1, "listeners": 3, "servers": 3, "attachments": 4, "acl_entries": 2}
		check(t, "needed", want, w.gauge("lbcontroller_quota_needed"))
		w.restart()
		check(t, "needed after a restart", want, w.gauge("lbcontroller_quota_needed"))
		w.remove()
		w.settle()
		want["attachments"] = 3
		delete(want, "load_balancers")
		delete(want, "acl_entries")
		check(t, "needed when the first is gone", want, w.gauge("lbcontroller_quota_needed"))
	})
}
