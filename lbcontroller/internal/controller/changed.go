package controller

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// changedKeys are the Services that users have changed since a pass over them began. The zero value is ready.
type changedKeys struct {
	mu   sync.Mutex
	keys map[string]bool
}

func (c *changedKeys) add(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil {
		c.keys = map[string]bool{}
	}
	c.keys[key] = true
}

// take reports whether a Service was changed, and forgets that.
func (c *changedKeys) take(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.keys[key]
	delete(c.keys, key)
	return changed
}

// disown takes back that the load balancer of a Service is as it asks, which it said before a user changed it. What becomes of the change shows when the
// pass ends. An API server that fails holds nothing up.
func (c *Controller) disown(ctx context.Context, w Writer, key string, svc *corev1.Service) *corev1.Service {
	synced := find(svc.Status.Conditions, ConditionSynced)
	if !c.changed.take(key) || synced == nil || synced.Status != metav1.ConditionTrue {
		return svc
	}
	list := changing(svc)
	if !c.conditions.due(key, svc, list) {
		return svc
	}
	written, err := w.publish(ctx, svc, Publication{KeepIngress: true, conditions: list})
	if err != nil {
		c.Logger.Info("a condition could not be taken back", "service", key, "error", err)
		c.conditions.forget(key)
		return svc
	}
	return written
}
