package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/reconcile"
)

// What was made for a Service may come to light late: if nothing is found it is looked for again, bypassLooks times in all.
const bypassPause, bypassLooks = 30 * time.Second, 3

// worker passes over Services.
type worker struct{ publisher }

// Reconcile implements reconcile.Reconciler. Events, metrics and what is written at the end are made here, of the outcome.
func (w worker) Reconcile(ctx context.Context, key string) error {
	if err := w.releaseBypassed(ctx, key); err != nil {
		return err
	}
	cached, err := w.cluster.Service(key)
	if apierrors.IsNotFound(err) {
		w.forget(key)
		return w.letPodsGo(ctx, key)
	}
	if err != nil {
		return fmt.Errorf("read Service %s from the cache: %w", key, err)
	}
	if cached, err = w.restore(ctx, key, cached); err != nil {
		return reconcile.After(err, retrySuperseded)
	}
	a := w.assign(cached)
	if a.idle() {
		if err := w.takeBackShown(ctx, key, cached); err != nil {
			return err
		}
		if cached.Spec.Type == corev1.ServiceTypeLoadBalancer {
			return nil // The gate may be that of another controller.
		}
		return w.letPodsGo(ctx, key)
	}
	return w.queue.inTurn(ctx, key, a.shared, func() error { return w.pass(ctx, key, cached, a) })
}

// takeBackShown takes back what was shown of a Service that asked for a load balancer in vain and doesn't any more. One that
// had something was released.
func (w worker) takeBackShown(ctx context.Context, key string, svc *corev1.Service) error {
	if w.services.Of(key).state == "" && !isLeftBehind(svc) { // Only passes over the Service change the state.
		return nil
	}
	err := w.writer(key, "").Publish(ctx, svc, Publication{KeepIngress: true, dropConditions: true})
	if ignoreGone(err) != nil {
		return w.refusedByAPI(svc, ReasonUpdateStatus, err)
	}
	w.forget(key)
	w.events.Resolve(svc)
	return nil
}

// restore puts back on a Service what another client has taken off, and returns the Service as it is then.
func (w worker) restore(ctx context.Context, key string, svc *corev1.Service) (*corev1.Service, error) {
	s := w.services.Of(key)
	before := s.before()
	if before == nil {
		return svc, nil
	}
	meta := missing(w.Kinds, before, svc)
	if before.UID == svc.UID && svc.DeletionTimestamp == nil && len(meta) > 0 {
		meta["resourceVersion"] = svc.ResourceVersion
		restored, err := w.writer(key, "").patch(ctx, svc, map[string]any{"metadata": meta})
		if ignoreGone(err) != nil {
			return nil, fmt.Errorf("put back on Service %s what another client has taken off: %w", key, orStale(err))
		}
		if err == nil {
			w.Logger.Info("another client has taken off what was noted on a Service; it is put back", "service", key)
			svc = restored
		}
	}
	s.restored()
	return svc, nil
}

// releaseBypassed releases what was made for Services that were deleted past their finalizers, before the next Service
// of their name is worked on: what both have on a load balancer of a user's can't be distinguished. Nothing can be
// written on a Service that is gone.
func (w worker) releaseBypassed(ctx context.Context, key string) error {
	for _, v := range w.bypassed.of(key) {
		svc := v.DeepCopy()
		svc.DeletionTimestamp = new(metav1.Now()) // As if the API server had waited.
		a := w.assign(svc)
		changed := false
		err := w.queue.inTurn(ctx, key, a.shared, func() (err error) {
			for _, kind := range a.release {
				var did bool
				if did, err = w.releaseGone(ctx, kind, Request{Key: key, Service: svc, Writer: w.writer(key, kind.Finalizer)}); err != nil {
					return err
				}
				changed = changed || did
			}
			return nil
		})
		if err != nil {
			return err
		}
		w.forget(key)
		v.looks++ // No other worker works on the key.
		if !changed && len(a.shared) == 0 && v.looks < bypassLooks {
			w.queue.AddAfter(key, reconcile.User, bypassPause)
			continue
		}
		w.bypassed.remove(svc)
		w.events.Forget(svc)
	}
	return nil
}

// releaseGone lets a kind release what it made for a Service that is gone, and reports whether there was something. An
// event on the next Service of the name says what it waits for.
func (w worker) releaseGone(ctx context.Context, kind Registration, r Request) (changed bool, err error) {
	start := time.Now()
	o := kind.Kind.Release(gateway.WithPriority(ctx, gateway.Deletion), r)
	for _, other := range o.Wake {
		w.queue.add(other, reconcile.User)
	}
	w.measure(kind.MetricType, verbDeletion, start, o.Changed, o.Err)
	switch {
	case o.Err == nil:
		w.events.announce(r.Service, o.Resolved, o.Events)
		return o.Changed, nil
	case o.Retry.Mode == RetryNever:
		w.Logger.Warn("the load balancer of a Service that was deleted past its finalizer stays", "service", r.Key, "uid",
			r.Service.UID, "error", o.Err)
		return true, nil
	}
	o.Err = fmt.Errorf("release the load balancer of the Service with UID %s, which is gone: %w", r.Service.UID, o.Err)
	shown := r.Service
	if next, err := w.cluster.Service(r.Key); err == nil {
		shown = next
	}
	w.events.record(shown, Failure(ReasonCleanFailed, o.Err))
	return false, again(o)
}

// pass releases what the Service no longer has a claim to, and otherwise brings its load balancer to what it asks for. A Service that
// changes from one kind to another gives the old load balancer up first; the event of that brings it back.
func (w worker) pass(ctx context.Context, key string, cached *corev1.Service, a assignment) error {
	s := w.services.Of(key)
	since := s.beginPass() // What changes from here on may be too late for this pass.
	slicesOf, err := w.cluster.SlicesOf(key)
	if err != nil {
		return err
	}
	gated, err := w.cluster.GatedBy(key)
	if err != nil {
		return err
	}
	nodes, err := w.nodes.forPass(a)
	if err != nil {
		return err
	}
	request := func(r Registration) Request { // Never change what the cache shares.
		return Request{Key: key, Service: cached.DeepCopy(), Slices: slicesOf, Nodes: nodes, Gated: gated,
			Secrets: w.secrets.Of(cached, w.claims), Writer: w.writer(key, r.Finalizer), Exists: w.exists}
	}
	for _, kind := range a.release {
		if err := w.release(ctx, kind, request(kind)); err != nil {
			return err
		}
	}
	if len(a.release) > 0 {
		return nil
	}
	start := time.Now()
	r := request(*a.wanted)
	r.Service = w.takeBackSynced(ctx, r.Writer, key, r.Service)
	counted, calls := gateway.CountCalls(ctx)
	o := a.wanted.Kind.Ensure(counted, r)
	w.metrics.calls.Observe(float64(calls.Load()))
	if !since.IsZero() && o.Err != nil && o.Retry.Mode != RetryNever {
		s.passAgain(since)
	} else if !since.IsZero() && o.Err == nil {
		w.metrics.delay.Observe(time.Since(since).Seconds())
	}
	return w.conclude(ctx, r, a.wanted.MetricType, verbOf(cached, true), start, o)
}

// Existence is an Exists by the Services that are known, and by the API server for what these lack.
func Existence(client kubernetes.Interface, kinds []Registration, known func() ([]*corev1.Service, error)) Exists {
	owner := func(svc *corev1.Service) bool { // Any other one has given up all.
		holds := func(r Registration) bool { return Writer{Finalizer: r.Finalizer}.Holds(svc) }
		return svc.DeletionTimestamp == nil && svc.Spec.Type == corev1.ServiceTypeLoadBalancer || slices.ContainsFunc(kinds, holds)
	}
	return func(ctx context.Context, namespace, name string, owns func(*corev1.Service) bool) (bool, error) {
		all, err := known()
		if err != nil {
			return false, fmt.Errorf("list the Services: %w", err)
		}
		if slices.ContainsFunc(all, func(svc *corev1.Service) bool {
			if svc.Namespace == namespace && svc.Name == name {
				return svc.DeletionTimestamp == nil && owner(svc)
			}
			return owns(svc)
		}) {
			return true, nil
		}
		live, err := client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("read Service %s/%s: %w", namespace, name, err)
		}
		return owner(live), nil
	}
}

// exists implements Exists by the cache.
func (w worker) exists(ctx context.Context, namespace, name string, owns func(*corev1.Service) bool) (bool, error) {
	known := func() ([]*corev1.Service, error) { return w.cluster.Services.List(labels.Everything()) }
	return Existence(w.Client, w.Kinds, known)(ctx, namespace, name, owns)
}

// release lets a kind give up what it has of a Service, and the Service go.
func (w worker) release(ctx context.Context, kind Registration, r Request) error {
	start := time.Now()
	o := kind.Kind.Release(gateway.WithPriority(ctx, gateway.Deletion), r)
	if err := w.conclude(ctx, r, kind.MetricType, verbDeletion, start, o); err != nil || o.Err != nil {
		return err
	}
	s := w.services.Of(r.Key)
	s.forgetShown()
	w.metrics.stands(s, "")
	if err := r.Writer.letGo(ctx, r.Service, o.Publish); ignoreGone(err) != nil {
		return w.refusedByAPI(r.Service, ReasonRemoveFinalizer, err)
	}
	if r.Service.DeletionTimestamp == nil {
		w.events.Resolve(r.Service)
	}
	return nil
}

// letPodsGo releases the pods that wait for a Service which has no load balancer.
func (w worker) letPodsGo(ctx context.Context, key string) error {
	gated, err := w.cluster.GatedBy(key)
	if err != nil {
		return err
	}
	verdicts, wait := Strays(gated, gated.Waiting(), "the Service has no load balancer to wait for")
	if wait > 0 && w.queue.leading.Load() {
		w.queue.AddAfter(key, reconcile.Endpoint, wait)
	}
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return err
	}
	return w.writeGates(ctx, namespace, name, gated, verdicts)
}
