package lb_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// TestPolicies is the table of what each policy lets be done.
func TestPolicies(t *testing.T) {
	t.Parallel()
	one := []model.Server{{Weight: 100}}
	tests := []struct {
		action       plan.Action
		sync, upsert bool
	}{
		{clb.CreateInstance{}, true, true},
		{clb.UpdateInstance{}, true, true},
		{plan.DeleteInstance{}, true, false},
		{plan.CreateGroup{}, true, true},
		{plan.ChangeServers{Add: one}, true, true},
		{plan.ChangeServers{Update: one}, true, true},
		{plan.ChangeServers{Remove: one}, true, true},
		{plan.DeleteGroup{}, true, false},
		{plan.CreateListener{}, true, true},
		{plan.UpdateListener{}, true, true},
		{plan.StartListener{}, true, true},
		{plan.DeleteListener{}, true, false},
		{plan.CreateExtension{}, true, true},
		{plan.UpdateExtension{}, true, true},
		{plan.DeleteExtension{}, true, false},
	}
	for _, test := range tests {
		got := []bool{Policy("").Allows(test.action), PolicySync.Allows(test.action), PolicyUpsert.Allows(test.action),
			PolicyReport.Allows(test.action)}
		if want := []bool{test.sync, test.sync, test.upsert, false}; !slices.Equal(got, want) {
			t.Errorf("%T: none, sync, upsert-only, report: got %t, want %t", test.action, got, want)
		}
	}
}

// under gives all Services a policy.
func (w *world) under(policy Policy) {
	w.config = func(cfg *settings) { cfg.Kind.Policy = policy }
	w.restart()
}

// state returns the condition Synced with its reason, and the message of one that doesn't hold.
func (w *world) synced() (status, message string) {
	w.t.Helper()
	for _, c := range w.service().Status.Conditions {
		if c.Type == controller.ConditionSynced {
			return string(c.Status) + " " + c.Reason, c.Message
		}
	}
	return "", ""
}

// withheld is what the metric says.
func (w *world) withheld() map[string]float64 {
	w.t.Helper()
	return w.gauge("lbcontroller_withheld_changes")
}

// gauge are the values of a metric with one label, without those that are 0.
func (w *world) gauge(name string) map[string]float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			label := ""
			for _, l := range m.GetLabel() {
				label = l.GetValue()
			}
			if v := m.GetGauge().GetValue() + m.GetCounter().GetValue(); v != 0 {
				values[label] = v
			}
		}
	}
	return values
}

// TestPolicyReport: neither the cloud nor the Service is written to, conditions apart, whatever happens. What would be
// done is in the condition, the event and the metric, and is done once the policy changes.
func TestPolicyReport(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.under(PolicyReport)
		w.create(web())
		check(t, "writes", []string(nil), w.writes())
		before := w.service()
		check(t, "finalizers, labels and annotations", 0, len(before.Finalizers)+len(before.Labels)+len(before.Annotations))
		status, message := w.synced()
		check(t, "condition", "False HeldByPolicy", status)
		for _, text := range []string{message, strings.Join(w.events.take(), "\n")} {
			for _, want := range []string{"policy report", "create load balancer " + instance, "create listener 80/tcp",
				"sync-policy: sync", "policy: sync"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing in %q", want, text)
				}
			}
		}
		check(t, "withheld", map[string]float64{"report": 3}, w.withheld())
		w.after(6 * time.Hour)
		check(t, "events that repeat the first", []string(nil), w.events.take())
		w.update(annotated(annotation.SyncPolicy, "sync"))
		check(t, "listeners of a Service with a policy of its own", []string{"80/TCP"}, w.listeners())
		status, _ = w.synced()
		check(t, "condition", "True Synced", status)
		check(t, "withheld", map[string]float64{}, w.withheld())

		// From here on everything is in place, and somebody else could be at work.
		w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.SyncPolicy) })
		w.cloud.ResetCalls()
		w.events.take()
		w.addNode(3)
		w.after(15 * time.Minute)
		w.update(annotated(annotation.Scheduler, "wrr"))
		w.after(15 * time.Minute)
		w.update(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeClusterIP })
		w.update(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeLoadBalancer })
		w.remove()
		check(t, "urgent reads", []string(nil), w.urgent())
		check(t, "writes", []string(nil), w.writes())
		check(t, "finalizers", []string{Finalizer}, w.service().Finalizers)
		events := strings.Join(w.events.take(), "\n")
		for _, want := range []string{"add 1, remove 0", "change listener 80/tcp: scheduler", "releasing the load balancer"} {
			if !strings.Contains(events, want) {
				t.Errorf("%q is missing in %q", want, events)
			}
		}
		w.under(PolicySync)
		check(t, "instances", 0, len(w.instances()))
	})
}

// TestPolicyReportBeside: while another controller does the work, each change is at last found in place.
func TestPolicyReportBeside(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.cloud.ResetCalls()
		w.under(PolicyReport)
		status, _ := w.synced()
		check(t, "condition after the restart", "True Synced", status)
		w.addNode(3)
		w.settle()
		w.cloud.Lock()
		for _, g := range w.cloud.ServerGroups { // The other controller follows.
			third := proto.CloneOf(g.Servers[0])
			third.ServerId = "i-3"
			g.Servers = append(g.Servers, third)
		}
		w.cloud.Unlock()
		w.events.take()
		w.after(time.Hour)
		check(t, "events", []string(nil), w.events.take())
		check(t, "writes", []string(nil), w.writes())
		status, _ = w.synced()
		check(t, "condition", "True Synced", status)
	})
}

// TestPolicyUpsert: ports, backends and attributes come and change, and servers go, but no listener, no vServer group
// and no CLB does. With the policy the Service loses what it kept.
func TestPolicyUpsert(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.under(PolicyUpsert)
		w.create(web())
		w.update(func(svc *corev1.Service) {
			svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "more", Port: 81, NodePort: 30081, Protocol: corev1.ProtocolTCP})
		})
		w.update(annotated(annotation.Scheduler, "wrr"))
		status, _ := w.synced()
		check(t, "condition", "True Synced", status)
		w.cloud.ResetCalls()
		w.events.take()
		w.update(func(svc *corev1.Service) { svc.Spec.Ports = svc.Spec.Ports[:1] })
		check(t, "listeners", []string{"80/TCP", "81/TCP"}, w.listeners())
		status, message := w.synced()
		check(t, "condition", "False HeldByPolicy", status)
		if !strings.Contains(message, "delete listener 81/tcp; delete server group "+groupName("30081")) {
			t.Errorf("message: %s", message)
		}
		w.hasEvents("what is kept", "Warning HeldByPolicy", "delete listener 81/tcp")
		check(t, "withheld", map[string]float64{"upsert-only": 2}, w.withheld())
		check(t, "hash", "", w.service().Labels[LabelHash])
		w.calls()
		w.updateNode(1, excluded)
		check(t, "calls for a node that goes", []string{"ApplyServerChanges"}, w.calls())
		w.update(annotated(annotation.ProtocolPort, "http:80"))
		check(t, "listeners", []string{"80/TCP", "81/TCP"}, w.listeners())
		w.remove()
		check(t, "instances", 1, len(w.instances()))
		check(t, "finalizers", []string{Finalizer}, w.service().Finalizers)
		w.under(PolicySync)
		check(t, "instances", 0, len(w.instances()))
	})
}

// TestPolicyUpsertOfOneThatGoesOn: what was held back of a release is held back no more once it is done, though the Service lives on.
func TestPolicyUpsertOfOneThatGoesOn(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.SyncPolicy, "upsert-only")))
		w.update(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeClusterIP })
		check(t, "withheld", map[string]float64{"upsert-only": 1}, w.withheld())
		w.update(without(annotation.SyncPolicy))
		check(t, "instances", 0, len(w.instances()))
		check(t, "withheld afterwards", map[string]float64{}, w.withheld())
	})
}

// TestPolicyUpsertStays: a Service that names another CLB stays on its own, which would be deleted.
func TestPolicyUpsertStays(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.under(PolicyUpsert)
		w.usersCLB(usersLB)
		w.cloud.ResetCalls()
		w.update(annotated(annotation.ID, usersLB))
		w.clearStatus()
		check(t, "writes", []string(nil), w.writes())
		_, message := w.synced()
		if !strings.Contains(message, "the Service doesn't move") {
			t.Errorf("message: %s", message)
		}
		w.clearStatus()
		w.under(PolicySync)
		check(t, "instances", 1, len(w.instances()))
	})
}

// urgent are the calls that didn't have the priority of the background.
func (w *world) urgent() (methods []string) {
	for _, c := range w.cloud.Calls() {
		if c.Priority != gateway.Background {
			methods = append(methods, c.Method)
		}
	}
	return methods
}
