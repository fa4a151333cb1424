package lb_test

import (
	"bytes"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	kubetesting "k8s.io/client-go/testing"

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
