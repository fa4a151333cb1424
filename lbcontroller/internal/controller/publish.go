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

	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// retryYielded is when a Service is verified again that gave way to more urgent work.
const retryYielded = 5 * time.Second

// publisher does what follows from passes over Services: it writes on them and on pods, records events, and asks for further looks.
type publisher struct{ *base }

// conclude does all that follows from an outcome: first which Services it wakes, then what is written on the Service, events and
// the next attempt.
func (p publisher) conclude(ctx context.Context, r Request, metricType, verb string, start time.Time, o Outcome) error {
	for _, key := range o.Wake { // They are about the cloud, whatever becomes of this Service.
		p.queue.add(key, reconcile.User)
	}
	err, s := o.Err, p.services.Of(r.Key)
	if errors.Is(err, reconcile.ErrYielded) {
		return reconcile.After(err, retryYielded)
	}
	if o.Service != nil {
		r.Service = o.Service
	}
	if p.modes.strip(o.Publish) {
		o.Events = append(o.Events,
			Warningf(ReasonIPMode, "the API server doesn't keep the ipMode of addresses, which annotation ip-mode asks for; "+
				"upgrade it to Kubernetes 1.30, or publish a name by annotation hostname"))
	} else if o.Publish != nil && !o.Publish.KeepIngress && !slices.ContainsFunc(o.Publish.Ingress, hasMode) {
		o.Resolved = append(o.Resolved, ReasonIPMode)
	}
	writes := o.Publish != nil && o.Publish.differs(r.Service)
	if writes && verb != verbDeletion && s.justPublished(*o.Publish) { // The cache doesn't show it yet.
		r.Service.Status.LoadBalancer.Ingress, o.Publish, writes = o.Publish.Ingress, nil, false
		p.queue.AddAfter(r.Key, reconcile.User, firstRestore)
	}
	restores := o.Publish != nil && len(o.Publish.Ingress) > 0 && !sameIngress(r.Service.Status.LoadBalancer.Ingress, o.Publish.Ingress)
	if wait := s.wait(inStatus, gistOfIngress(ingressOf(o.Publish))); restores && wait > 0 {
		restores = false
		o.Publish = &Publication{Notes: o.Publish.Notes, KeepIngress: true}
		p.queue.AddAfter(r.Key, reconcile.User, wait)
	}
	labels, lacks := missingLabels(r.Service, o.Publish)
	if wait := s.wait(inLabels, labels); lacks && wait > 0 {
		lacks = false
		withoutLabels := *o.Publish
		withoutLabels.Notes.Labels = nil
		o.Publish = &withoutLabels
		p.queue.AddAfter(r.Key, reconcile.User, wait)
	}
	p.addConditions(r, verb, &o)
	if o.Publish != nil {
		if werr := r.Writer.Publish(ctx, r.Service, *o.Publish); ignoreGone(werr) != nil {
			werr = p.refusedByAPI(r.Service, ReasonUpdateStatus, werr)
			s.forgetConditions()
			p.events.announce(r.Service, nil, whatWasDone(o.Events))
			p.measure(metricType, verb, start, o.Changed, werr)
			return werr
		}
		if writes {
			s.publish(*o.Publish)
		}
		o.Resolved = append(o.Resolved, ReasonAddFinalizer, ReasonRemoveHash, ReasonUpdateStatus)
		if s.calm() {
			o.Resolved = append(o.Resolved, ReasonContested)
		}
		if lacks && s.fight(inLabels, labels) {
			p.metrics.conflicts.WithLabelValues("labels").Inc()
			o.Events = append(o.Events,
				Warningf(ReasonContested, "another client takes off labels that the controller notes on the Service, and they are written again, "+
					"more and more seldom; let it keep the labels of the controller: %s", labels))
		}
		if restores && s.fight(inStatus, gistOfIngress(o.Publish.Ingress)) {
			p.metrics.conflicts.WithLabelValues("status").Inc()
			o.Events = append(o.Events,
				Warningf(ReasonContested, "the addresses in the status are overwritten by somebody else, and are written again, more and more seldom; "+
					"find out who else serves the Service and stop that, or give the Service a class"))
		}
	}
	if Superseded(err) {
		p.metrics.conflicts.WithLabelValues("version").Inc()
		p.events.announce(r.Service, nil, whatWasDone(o.Events))
		return reconcile.After(err, retrySuperseded)
	}
	p.events.announce(r.Service, o.Resolved, o.Events)
	for _, look := range o.Looks {
		p.queue.AddAfter(r.Key, look.Priority, look.After)
	}
	p.measure(metricType, verb, start, o.Changed, err)
	if werr := p.openGates(ctx, r, o.Gates); werr != nil && err == nil {
		return werr
	}
	if err == nil {
		return nil
	}
	return again(o)
}

// again returns the error by which the queue knows when to repeat a pass that went wrong.
func again(o Outcome) error {
	switch o.Retry.Mode {
	case RetryNever:
		return reconcile.Terminal(o.Err)
	case RetryAfter:
		return reconcile.After(o.Err, o.Retry.After)
	case RetryLook:
		return reconcile.ErrNotBegun
	case RetryBackoff:
		if o.Retry.After > 0 {
			return reconcile.Defer(o.Err, o.Retry.After)
		}
	}
	return o.Err
}

// addConditions adds to what is published how the Service stands, if that has changed.
func (p publisher) addConditions(r Request, verb string, o *Outcome) {
	if Superseded(o.Err) || o.Publish == nil && o.Err == nil {
		return
	}
	if verb == verbDeletion && o.Err == nil {
		o.Publish.dropConditions = r.Service.DeletionTimestamp == nil // The others go with the Service.
		return
	}
	s, list := p.services.Of(r.Key), conditionsOf(r.Service, *o)
	p.metrics.stands(s, stateOf(list))
	if !s.mustShow(r.Service, list) {
		return
	}
	shown := Publication{KeepIngress: true}
	if o.Publish != nil {
		shown = *o.Publish
	}
	shown.conditions = list
	o.Publish = &shown
}

// disown takes back that the load balancer of a Service is as it asks, which it said before a user changed it. What
// becomes of the change shows when the pass ends. An API server that fails holds nothing up.
func (p publisher) disown(ctx context.Context, w Writer, key string, svc *corev1.Service) *corev1.Service {
	s, synced := p.services.Of(key), find(svc.Status.Conditions, ConditionSynced)
	if !s.takeChanged() || synced == nil || synced.Status != metav1.ConditionTrue {
		return svc
	}
	list := changing(svc)
	if !s.mustShow(svc, list) {
		return svc
	}
	written, err := w.publish(ctx, svc, Publication{KeepIngress: true, conditions: list})
	if err != nil {
		p.Logger.Info("a condition could not be taken back", "service", key, "error", err)
		s.forgetConditions()
		return svc
	}
	return written
}

// openGates writes the conditions of the pods that wait for a Service. A failure is an event on the Service.
func (p publisher) openGates(ctx context.Context, r Request, verdicts []readiness.Verdict) error {
	err := p.writeGates(ctx, r.Service.Namespace, r.Service.Name, r.Gated, verdicts)
	if err != nil {
		p.events.record(r.Service, Failure(ReasonReadinessGate, err))
		return err
	}
	if len(verdicts) > 0 || len(r.Gated.Waiting()) == 0 { // A pod may wait for its next attempt.
		p.events.Resolve(r.Service, ReasonReadinessGate)
	}
	return nil
}

// writeGates patches the pods whose condition says something else. One that is gone needs none.
func (p publisher) writeGates(ctx context.Context, namespace, service string, gated readiness.Pods, verdicts []readiness.Verdict) error {
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
			_, err = p.Client.CoreV1().Pods(namespace).Patch(ctx, v.Pod, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
		}
		if apierrors.IsConflict(err) {
			continue // Another pod has the name now.
		}
		if ignoreGone(err) != nil {
			errs = append(errs, fmt.Errorf("write the readiness gate of pod %s: %w", v.Pod, err))
			continue
		}
		p.metrics.gates.WithLabelValues(v.Reason).Inc()
	}
	return errors.Join(errs...)
}
