package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// patience is how long a pod waits for a Service that isn't there, or that doesn't name it, before it is released: a
// Service may be made after its pods.
const patience = time.Minute

func indexPod(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		return readiness.Services(pod), nil
	}
	return nil, nil
}

// gatedBy reads the pods that declare the gate of a Service from the cache.
func (i informerSet) gatedBy(key string) (readiness.Pods, error) {
	objects, err := i.pods.ByIndex(byService, key)
	if err != nil {
		return nil, fmt.Errorf("read the pods that wait for %s from the cache: %w", key, err)
	}
	if len(objects) == 0 {
		return nil, nil
	}
	_, service, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, err
	}
	pods := make(readiness.Pods, len(objects))
	for _, o := range objects {
		if pod, ok := o.(*corev1.Pod); ok {
			pods[pod.Name] = readiness.Of(pod, service)
		}
	}
	return pods, nil
}

// awaited reports whether pods wait for a Service.
func (i informerSet) awaited(key string) bool {
	gated, err := i.gatedBy(key)
	return err != nil || len(gated.Waiting()) > 0
}

// podChanged queues the Services for which a pod has begun to wait, or to wait in another way.
func (c *Controller) podChanged(oldObj, newObj any) {
	pod, ok := newObj.(*corev1.Pod)
	if !ok {
		return
	}
	var before []string
	if old, ok := oldObj.(*corev1.Pod); ok && old.UID == pod.UID {
		before = readiness.Waiting(old)
	}
	for _, key := range readiness.Waiting(pod) {
		if !slices.Contains(before, key) {
			c.queue(key, reconcile.Endpoint)
		}
	}
}

// letPodsGo releases the pods that wait for a Service which has no load balancer.
func (c *Controller) letPodsGo(ctx context.Context, key string) error {
	gated, err := c.informers.gatedBy(key)
	if err != nil {
		return err
	}
	verdicts, wait := Strays(gated, gated.Waiting(), "the Service has no load balancer to wait for")
	if wait > 0 && c.leading.Load() {
		c.runner.AddAfter(key, reconcile.Endpoint, wait)
	}
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return err
	}
	return c.writeGates(ctx, namespace, name, gated, verdicts)
}

// Strays releases waiting pods that take no traffic from a load balancer, once they have waited for a while, and
// returns when it is time for the next; 0 for none.
func Strays(gated readiness.Pods, names []string, why string) (verdicts []readiness.Verdict, next time.Duration) {
	for _, name := range names {
		pod := gated[name]
		if left := patience - time.Since(pod.Since); left > 0 {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		verdicts = append(verdicts, readiness.Verdict{Pod: name, UID: pod.UID, Status: corev1.ConditionTrue,
			Reason: readiness.ReasonNoServer, Message: why})
	}
	return verdicts, next
}

// openGates writes the conditions of the pods that wait for a Service. A failure is an event on the Service.
func (c *Controller) openGates(ctx context.Context, r Request, verdicts []readiness.Verdict) error {
	err := c.writeGates(ctx, r.Service.Namespace, r.Service.Name, r.Gated, verdicts)
	if err != nil {
		c.record(r.Service, Failure(ReasonReadinessGate, err))
		return err
	}
	if len(verdicts) > 0 || len(r.Gated.Waiting()) == 0 { // A pod may wait for its next attempt.
		c.events.Resolve(r.Service, ReasonReadinessGate)
	}
	return nil
}

// writeGates patches the pods whose condition says something else. One that is gone needs none.
func (c *Controller) writeGates(ctx context.Context, namespace, service string, gated readiness.Pods, verdicts []readiness.Verdict) error {
	var errs []error
	for _, v := range verdicts {
		old := gated[v.Pod].Condition
		if v.Says(old) {
			continue
		}
		body, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"uid": v.UID},
			"status":   map[string]any{"conditions": []corev1.PodCondition{v.Condition(service, old, time.Now())}},
		})
		if err == nil {
			_, err = c.Client.CoreV1().Pods(namespace).Patch(ctx, v.Pod, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
		}
		if apierrors.IsConflict(err) {
			continue // Another pod has the name now.
		}
		if ignoreGone(err) != nil {
			errs = append(errs, fmt.Errorf("write the readiness gate of pod %s: %w", v.Pod, err))
			continue
		}
		c.metrics.gates.WithLabelValues(v.Reason).Inc()
	}
	return errors.Join(errs...)
}
