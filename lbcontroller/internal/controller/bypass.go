package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/reconcile"
)

// bypassAge is how old a Service can be whose deletion met the arrival of its finalizer: the API server gives a request one minute
// (--request-timeout), and clocks differ. Of an older one it is not believed, as etcd may have lost what the cluster still needs.
const bypassAge = 5 * time.Minute

// isBypassed reports of a Service whose last state this is that the API server deleted it past its finalizers. It decides whether an object may go
// at once before it deletes it, and a finalizer that arrives in between does not stop it. A Service that went in order was marked as being deleted
// before, or had its finalizers taken away.
func isBypassed(svc *corev1.Service, now time.Time) bool {
	return svc.DeletionTimestamp == nil && len(svc.Finalizers) > 0 && now.Sub(svc.CreationTimestamp.Time) < bypassAge
}

// bypassed are Services that are gone without the release of what was made for them, by key. One name can have several, one after the other.
type bypassed struct {
	mu       sync.Mutex
	services map[string][]*corev1.Service
}

func (b *bypassed) add(svc *corev1.Service) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.services == nil {
		b.services = map[string][]*corev1.Service{}
	}
	key := keyOf(svc)
	b.services[key] = append(b.services[key], svc)
}

func (b *bypassed) of(key string) []*corev1.Service {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.services[key])
}

func (b *bypassed) remove(svc *corev1.Service) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := keyOf(svc)
	rest := slices.DeleteFunc(b.services[key], func(s *corev1.Service) bool { return s.UID == svc.UID })
	if b.services[key] = rest; len(rest) == 0 {
		delete(b.services, key)
	}
}

// releaseBypassed gives up what the Services of a key had that the API server has deleted past the finalizer. There is nothing to write on any more.
func (c *Controller) releaseBypassed(ctx context.Context, key string) error {
	for _, gone := range c.bypassed.of(key) {
		svc := gone.DeepCopy()
		svc.DeletionTimestamp = new(metav1.Now()) // As if the API server had waited.
		a := c.assign(svc)
		if len(a.release) > 0 {
			c.Logger.Warn("the Service was deleted past its finalizer; its load balancer is released", "service", key, "uid", svc.UID)
		}
		err := c.inTurn(key, a.shared, func() error {
			for _, kind := range a.release {
				start := time.Now()
				o := kind.Kind.Release(gateway.WithPriority(ctx, gateway.Deletion), Request{Key: key, Service: svc, Writer: c.writer(kind)})
				for _, other := range o.Wake {
					c.queue(other, reconcile.User)
				}
				c.announce(svc, o.Resolved, o.Events)
				c.measure(kind.MetricType, verbDeletion, start, o.Changed, o.Err)
				if o.Err != nil && o.Retry.Mode != RetryNever {
					return again(o)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		c.bypassed.remove(gone)
		c.events.Forget(svc)
	}
	return nil
}
