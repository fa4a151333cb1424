package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/clb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/clb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
	"alicloud-controllers.dev/lbcontroller/internal/clb/plan"
)

// release gives up the CLB of a Service that has our finalizer and wants none any more, whatever the reason: it is being deleted,
// or its type or class has changed. First the cloud, then what is written on the Service, last the finalizer.
func (c *Controller) release(ctx context.Context, svc *corev1.Service) (changed bool, err error) {
	if svc.DeletionTimestamp == nil {
		c.announce.tell(svc, corev1.EventTypeNormal, reasonTypeChanged, "the Service no longer asks for a CLB; it is released")
	}
	observed, err := c.releasable(ctx, svc)
	if err != nil {
		c.announce.fail(svc, reasonCleanFailed, err)
		return false, err
	}
	p := plan.Release(observed, annotation.Preserved(svc.Annotations))
	released := !p.Empty()
	if released {
		c.Logger.Info("releasing the CLB", "service", keyOf(svc), "loadBalancer", observed.InstanceID, "plan", p.String())
		c.memory.Forget(keyOf(svc)) // From here on it is wrong, however this ends.
		if _, err := c.applier.Apply(ctx, apply.Work{Plan: p, Observed: observed}); err != nil && rpcerr.ReasonOf(err) != rpcerr.LoadBalancerNotFound {
			c.announce.fail(svc, reasonCleanFailed, err)
			return true, err
		}
	}
	changed, err = c.leaveAll(ctx, svc)
	if changed = changed || released; err != nil {
		c.announce.fail(svc, reasonCleanFailed, err)
		return changed, err
	}
	// The cache may show the finalizer for a while yet; nothing must be looked up again for that.
	c.memory.Put(keyOf(svc), memory.Entry{UID: string(svc.UID), Observed: model.Nothing()})
	if err := c.patcher.finish(ctx, svc, blank(), nil); ignoreGone(err) != nil {
		c.announce.fail(svc, reasonUpdateStatus, err)
		return changed, err
	}
	if released {
		c.announce.tell(svc, corev1.EventTypeNormal, reasonCleaned, "CLB %s is released", observed.InstanceID)
	}
	if err := c.patcher.removeFinalizer(ctx, svc); ignoreGone(err) != nil {
		c.announce.fail(svc, reasonRemoveFinal, err)
		return changed, err
	}
	return changed, nil
}

// blank is what a Service without a CLB has noted on it.
func blank() notes {
	return notes{labels: map[string]string{LabelHash: "", LabelLoadBalancerID: ""}, annotations: map[string]string{annotation.OwnTags: "", annotation.Claims: ""}}
}

// leaveAll takes what is the Service's off the CLBs of users, unless it is to be kept.
func (c *Controller) leaveAll(ctx context.Context, svc *corev1.Service) (changed bool, err error) {
	if annotation.Preserved(svc.Annotations) || c.released(svc) {
		return false, nil
	}
	return c.leave(ctx, svc, claimed(svc))
}

// released tells that the Service has given up all it had, which the cache doesn't show yet.
func (c *Controller) released(svc *corev1.Service) bool {
	entry, ok := c.memory.Get(keyOf(svc), string(svc.UID))
	return ok && entry.Observed.ConfigKnown && entry.Observed.InstanceID == ""
}

// releasable finds the instance to give up. What is remembered completely was proven ours. Anything else must prove it, and knowing
// the servers only doesn't tell either what protects a preserved instance.
func (c *Controller) releasable(ctx context.Context, svc *corev1.Service) (model.Observed, error) {
	if entry, ok := c.memory.Get(keyOf(svc), string(svc.UID)); ok && entry.Observed.ConfigKnown && !entry.Observed.Reused {
		return entry.Observed, nil
	}
	return c.observer.Find(ctx, c.hint(svc), slbv1.View_VIEW_BASIC)
}

// ignoreGone drops the error that the Service is gone already.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
