package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// disown takes back that the load balancer of a Service is as it asks, which it said before a user changed it. What
// becomes of the change shows when the pass ends. An API server that fails holds nothing up.
func (c *Controller) disown(ctx context.Context, w Writer, key string, svc *corev1.Service) *corev1.Service {
	s, synced := c.services.Of(key), find(svc.Status.Conditions, ConditionSynced)
	if !s.takeChanged() || synced == nil || synced.Status != metav1.ConditionTrue {
		return svc
	}
	list := changing(svc)
	if !s.mustShow(svc, list) {
		return svc
	}
	written, err := w.publish(ctx, svc, Publication{KeepIngress: true, conditions: list})
	if err != nil {
		c.Logger.Info("a condition could not be taken back", "service", key, "error", err)
		s.forgetConditions()
		return svc
	}
	return written
}
