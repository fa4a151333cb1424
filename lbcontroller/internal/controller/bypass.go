package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/reconcile"
)

// bypassAge is how old a Service can be that was deleted past its finalizer. A finalizer comes within seconds after a
// Service, and the API server gives a deletion one minute (--request-timeout). The age only is a second safeguard, for
// a cluster that loses Services which it still needs.
const bypassAge = 5 * time.Minute

// What was made for a Service may come to light late: if nothing is found it is looked for again, bypassLooks times in all.
const bypassPause, bypassLooks = 30 * time.Second, 3

// isBypassed reports whether a Service, by its last state, was deleted although it had finalizers. The API server looks
// at them, lets the deletion pass admission, and then deletes: a finalizer that arrives in between stops nothing. A
// Service that went in order was marked as being deleted before, or its finalizers were taken away.
func isBypassed(svc *corev1.Service, now time.Time) bool {
	return svc.DeletionTimestamp == nil && len(svc.Finalizers) > 0 && now.Sub(svc.CreationTimestamp.Time) < bypassAge
}

// bypassed are Services that are gone while what was made for them may be left, by key. One name can have several, one
// after the other. They outlive what else is remembered of the Service, which is dropped with it.
type bypassed struct {
	mu       sync.Mutex
	services map[string][]*vanished
}

// vanished is a Service in its last state, and how often was looked for what it had.
type vanished struct {
	*corev1.Service
	looks int
}

func (b *bypassed) add(svc *corev1.Service) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.services == nil {
		b.services = map[string][]*vanished{}
	}
	key := keyOf(svc)
	b.services[key] = append(b.services[key], &vanished{Service: svc})
}

func (b *bypassed) of(key string) []*vanished {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.services[key])
}

func (b *bypassed) remove(svc *corev1.Service) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := keyOf(svc)
	rest := slices.DeleteFunc(b.services[key], func(v *vanished) bool { return v.UID == svc.UID })
	if b.services[key] = rest; len(rest) == 0 {
		delete(b.services, key)
	}
}

// releaseBypassed releases what was made for Services that were deleted past their finalizers, before the next Service
// of their name is worked on: what both have on a load balancer of a user's can't be distinguished. Nothing can be
// written on a Service that is gone.
func (c *Controller) releaseBypassed(ctx context.Context, key string) error {
	for _, v := range c.bypassed.of(key) {
		svc := v.DeepCopy()
		svc.DeletionTimestamp = new(metav1.Now()) // As if the API server had waited.
		a := c.assign(svc)
		changed := false
		err := c.inTurn(ctx, key, a.shared, func() (err error) {
			for _, kind := range a.release {
				var did bool
				if did, err = c.releaseGone(ctx, kind, Request{Key: key, Service: svc, Writer: c.writer(key, kind.Finalizer)}); err != nil {
					return err
				}
				changed = changed || did
			}
			return nil
		})
		if err != nil {
			return err
		}
		c.forget(key)
		v.looks++ // No other worker works on the key.
		if !changed && len(a.shared) == 0 && v.looks < bypassLooks {
			c.runner.AddAfter(key, reconcile.User, bypassPause)
			continue
		}
		c.bypassed.remove(svc)
		c.events.Forget(svc)
	}
	return nil
}

// releaseGone lets a kind release what it made for a Service that is gone, and reports whether there was something. An
// event on the next Service of the name says what it waits for.
func (c *Controller) releaseGone(ctx context.Context, kind Registration, r Request) (changed bool, err error) {
	start := time.Now()
	o := kind.Kind.Release(gateway.WithPriority(ctx, gateway.Deletion), r)
	for _, other := range o.Wake {
		c.queue(other, reconcile.User)
	}
	c.measure(kind.MetricType, verbDeletion, start, o.Changed, o.Err)
	switch {
	case o.Err == nil:
		c.announce(r.Service, o.Resolved, o.Events)
		return o.Changed, nil
	case o.Retry.Mode == RetryNever:
		c.Logger.Warn("the load balancer of a Service that was deleted past its finalizer stays", "service", r.Key, "uid",
			r.Service.UID, "error", o.Err)
		return true, nil
	}
	o.Err = fmt.Errorf("release the load balancer of the Service with UID %s, which is gone: %w", r.Service.UID, o.Err)
	shown := r.Service
	if next, err := c.informers.service(r.Key); err == nil {
		shown = next
	}
	c.record(shown, Failure(ReasonCleanFailed, o.Err))
	return false, again(o)
}
