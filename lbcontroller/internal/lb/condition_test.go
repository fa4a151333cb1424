package lb_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
)

// conditions lists the conditions of the Service as type=status reason.
func (w *world) conditions() (list []string) {
	w.t.Helper()
	for _, c := range w.service().Status.Conditions {
		list = append(list, c.Type+"="+string(c.Status)+" "+c.Reason)
	}
	slices.Sort(list)
	return list
}

// services are the states of Services that the metric counts, other than none.
func (w *world) states() map[string]float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	states := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "lbcontroller_services" {
			continue
		}
		for _, m := range family.GetMetric() {
			if n := m.GetGauge().GetValue(); n != 0 {
				states[m.GetLabel()[0].GetValue()] = n
			}
		}
	}
	return states
}

// TestDriftIsCounted: what a check for drift brings back is counted by what it is about, and what users and nodes change is not.
func TestDriftIsCounted(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.update(annotated(annotation.Scheduler, "wlc"))
		w.addNode(3)
		w.after(6 * time.Hour)
		check(t, "drift", map[string]float64{}, w.drift())
		w.cloud.Lock()
		for _, g := range w.cloud.ServerGroups {
			g.Servers = g.Servers[:1]
		}
		for _, l := range w.cloud.Listeners {
			l.GetConfig().Scheduler = new("rr")
		}
		w.cloud.Unlock()
		w.after(6 * time.Hour)
		check(t, "drift", map[string]float64{"servers": 1, "listeners": 1}, w.drift())
		check(t, "servers", 3, len(w.servers()))
	})
}

// drift counts what checks for drift found, by what it was about.
func (w *world) drift() map[string]float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "lbcontroller_drift_total" && m.GetCounter().GetValue() > 0 {
				found[strings.TrimSuffix(m.GetLabel()[0].GetValue()+" "+m.GetLabel()[1].GetValue(), " mended")] = m.GetCounter().GetValue()
			}
		}
	}
	return found
}

// TestConditions: a Service shows how it stands, beside what others show there, and is written only when that changes.
func TestConditions(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		others := metav1.Condition{Type: "Audited", Status: metav1.ConditionTrue, Reason: "ByHand",
			LastTransitionTime: metav1.NewTime(time.Now())}
		w.create(web(func(svc *corev1.Service) { svc.Status.Conditions = []metav1.Condition{others} }))
		good := []string{"Audited=True ByHand", "LoadBalancerReady=True Published", "Synced=True Synced"}
		check(t, "conditions of a new Service", good, w.conditions())
		check(t, "states", map[string]float64{"Synced": 1}, w.states())
		since := meta(w.service(), controller.ConditionReady).LastTransitionTime

		w.after(time.Minute)
		w.update(annotated(annotation.Scheduler, "fastest"))
		check(t, "conditions with a bad annotation", []string{"Audited=True ByHand", "LoadBalancerReady=True Published",
			"Synced=False Invalid"}, w.conditions())
		check(t, "states", map[string]float64{"Invalid": 1}, w.states())
		if message := meta(w.service(), controller.ConditionSynced).Message; !strings.Contains(message, annotation.Scheduler) {
			t.Errorf("the condition says only %q", message)
		}

		w.cloud.Fail("UpdateListener", 3, &rpcerr.Error{
			Code: codes.ResourceExhausted, Reason: rpcerr.QuotaExceeded, Message: "too much",
			API: "slb/SetLoadBalancerTCPListenerAttribute", CloudCode: "QuotaExceeded.Qps",
			CloudRequestID: "8A4F",
		})
		before := w.patches()
		w.update(annotated(annotation.Scheduler, "wlc"))
		w.after(time.Second)
		if message := meta(w.service(), controller.ConditionSynced).Message; w.conditions()[2] != "Synced=True Synced" &&
			!strings.Contains(message, "request 8A4F") {
			t.Errorf("the condition says only %q", message)
		}
		w.after(10 * time.Minute)
		check(t, "conditions in the end", good, w.conditions())
		if n := w.patches() - before; n > 5 {
			t.Errorf("%d patches for three failures of one kind and a success", n)
		}
		if got := meta(w.service(), controller.ConditionReady).LastTransitionTime; !got.Equal(&since) {
			t.Errorf("the load balancer became ready at %v, which was at %v", got, since)
		}

		w.update(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeClusterIP })
		check(t, "conditions without a load balancer", []string{"Audited=True ByHand"}, w.conditions())
		check(t, "states", map[string]float64{}, w.states())
	})
}

// TestConditionsTakenAway: somebody who takes the conditions away again and again is not answered each time.
func TestConditionsTakenAway(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		before := w.patches()
		for range 20 {
			w.update(func(svc *corev1.Service) { svc.Status.Conditions = nil })
		}
		if n := w.patches() - before; n > 2 {
			t.Errorf("%d patches", n)
		}
		w.after(5 * time.Hour)
		check(t, "conditions", []string{"LoadBalancerReady=True Published", "Synced=True Synced"}, w.conditions())
	})
}

func meta(svc *corev1.Service, conditionType string) metav1.Condition {
	i := slices.IndexFunc(svc.Status.Conditions, func(c metav1.Condition) bool { return c.Type == conditionType })
	if i < 0 {
		return metav1.Condition{}
	}
	return svc.Status.Conditions[i]
}

// patches is how often Services were patched.
func (w *world) patches() (n int) {
	for _, a := range w.kube.Actions() {
		if a.GetVerb() == "patch" && a.GetResource().Resource == "services" {
			n++
		}
	}
	return n
}

// failStatus lets the next patch of a Service's status fail.
func (w *world) failStatus() {
	var failed atomic.Bool
	w.kube.PrependReactor("patch", "services", func(action kubetesting.Action) (bool, runtime.Object, error) {
		patch, _ := action.(kubetesting.PatchAction)
		if action.GetSubresource() != "status" || bytes.Contains(patch.GetPatch(), []byte(controller.ReasonChanging)) || failed.Swap(true) {
			return false, nil, nil
		}
		return true, nil, apierrors.NewInternalError(errors.New("down"))
	})
}

// TestConditionsAfterAFailedWrite: conditions that the API server didn't take are written with the next attempt.
func TestConditionsAfterAFailedWrite(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		good := []string{"LoadBalancerReady=True Published", "Synced=True Synced"}
		w.failStatus()
		w.create(web())
		check(t, "conditions of a new Service", good, w.conditions())
		w.update(annotated(annotation.Scheduler, "fastest"))
		w.failStatus()
		w.update(annotated(annotation.Scheduler, "wrr"))
		check(t, "conditions of one whose annotation was corrected", good, w.conditions())
	})
}

// TestEventsAfterAFailedWrite: what was done has its events, though the API server didn't take the status after it.
func TestEventsAfterAFailedWrite(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.Scheduler, "wrr"), annotated(annotation.Cookie, "c")))
		w.events.take()
		w.failStatus()
		w.update(without(annotation.Scheduler))
		w.hasEvents("the change", "EnsuredLoadBalancer", "FailedUpdateStatus")
	})
}

// TestInvalidServiceGoesOn: a Service that asked for a CLB in vain shows nothing of it any more, nor is it counted, when it asks for none.
func TestInvalidServiceGoesOn(t *testing.T) {
	bad := annotated(annotation.Scheduler, "fastest")
	for name, test := range map[string]struct {
		policy Policy
		before []func(*corev1.Service)
	}{
		"invalid":  {PolicySync, []func(*corev1.Service){bad}},
		"reported": {PolicyReport, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.under(test.policy)
				w.create(web(test.before...))
				check(t, "conditions", 2, len(w.conditions()))
				check(t, "states", 1, len(w.states()))
				check(t, "finalizers", 0, len(w.service().Finalizers))
				w.events.take()
				w.update(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeClusterIP })
				check(t, "conditions in the end", []string(nil), w.conditions())
				check(t, "states in the end", map[string]float64{}, w.states())
				check(t, "withheld in the end", map[string]float64{}, w.withheld())
				check(t, "events", []string{"Resolved"}, w.events.reasons())
				w.calls()
				w.update(func(svc *corev1.Service) { bad(svc); svc.Spec.Type = corev1.ServiceTypeLoadBalancer })
				check(t, "conditions of a new attempt", 2, len(w.conditions()))
				check(t, "calls", []string(nil), w.calls())
			})
		})
	}
}

// TestConditionsLeftBehind: the same for a Service that ceased to ask while no controller ran. One of another type may
// have none but those that were written for a load balancer; one with a class may have those of another controller.
func TestConditionsLeftBehind(t *testing.T) {
	class := "another.example/controller"
	for name, test := range map[string]struct {
		change func(*corev1.Service)
		left   int
	}{
		"another type":  {func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeClusterIP }, 0},
		"another class": {func(svc *corev1.Service) { svc.Spec.LoadBalancerClass = &class }, 2},
		"one of them is not ours": {func(svc *corev1.Service) {
			svc.Spec.Type, svc.Status.Conditions = corev1.ServiceTypeClusterIP, svc.Status.Conditions[:1]
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.create(web(annotated(annotation.Scheduler, "fastest")))
				check(t, "conditions", 2, len(w.conditions()))
				w.stop()
				w.update(test.change)
				w.start()
				check(t, "conditions in the end", test.left, len(w.conditions()))
				check(t, "calls", []string(nil), w.calls())
			})
		})
	}
}

// TestConditionNamesThePresentMistake: a user who corrects one annotation reads about the next one, though the reason is the same.
func TestConditionNamesThePresentMistake(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.Scheduler, "fastest")))
		w.update(func(svc *corev1.Service) {
			annotated(annotation.Scheduler, "wrr")(svc)
			annotated(annotation.Bandwidth, "much")(svc)
		})
		message := meta(w.service(), controller.ConditionSynced).Message
		if !strings.Contains(message, annotation.Bandwidth) || strings.Contains(message, annotation.Scheduler) {
			t.Errorf("the condition says %q", message)
		}
		before := w.patches()
		w.addNode(2)
		w.after(6 * time.Hour)
		check(t, "patches while nothing changes", before, w.patches())
	})
}
