package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	if errors.Is(o.Err, reconcile.ErrYielded) {
		return reconcile.After(o.Err, retryYielded)
	}
	if p.services.Of(r.Key).fill(o.Filled) {
		for _, tell := range p.onFilled {
			tell(types.NamespacedName{Namespace: r.Service.Namespace, Name: r.Service.Name})
		}
	}
	if o.Service != nil {
		r.Service = o.Service
	}
	if err := p.show(ctx, r, verb, &o); err != nil {
		p.events.announce(r.Service, nil, whatWasDone(o.Events))
		p.measure(metricType, verb, start, o.Changed, err)
		return err
	}
	if Superseded(o.Err) {
		p.metrics.conflicts.WithLabelValues("version").Inc()
		p.events.announce(r.Service, nil, whatWasDone(o.Events))
		return reconcile.After(o.Err, retrySuperseded)
	}
	p.events.announce(r.Service, o.Resolved, o.Events)
	for _, look := range o.Looks {
		p.queue.AddAfter(r.Key, look.Priority, look.After)
	}
	p.measure(metricType, verb, start, o.Changed, o.Err)
	err := p.openGates(ctx, r, o.Gates)
	if o.Err != nil {
		return again(o)
	}
	return err
}

// show writes on the Service what it is to show by an outcome, in one patch, and adds to the outcome what there is to say of that.
func (p publisher) show(ctx context.Context, r Request, verb string, o *Outcome) error {
	s, wanted := p.services.Of(r.Key), p.wanted(o)
	now, wait := s.unshown(r.Service, &wanted, verb == verbDeletion)
	if wait > 0 {
		p.queue.AddAfter(r.Key, reconcile.User, wait)
	}
	if p.addConditions(s, r.Service, verb, o, &wanted); o.Publish == nil && len(wanted.conditions) == 0 {
		return nil
	}
	if err := r.Writer.Publish(ctx, r.Service, wanted); ignoreGone(err) != nil {
		s.forgetConditions()
		return p.refusedByAPI(r.Service, ReasonUpdateStatus, err)
	}
	o.Resolved = append(o.Resolved, ReasonAddFinalizer, ReasonRemoveHash, ReasonUpdateStatus)
	if s.calm() {
		o.Resolved = append(o.Resolved, ReasonContested)
	}
	for _, which := range slices.Sorted(maps.Keys(now)) {
		if s.shows(which, now[which]) {
			kind, event := contestedOf(which, r.Service, wanted)
			p.metrics.conflicts.WithLabelValues(kind).Inc()
			o.Events = append(o.Events, event)
		}
	}
	return nil
}

// wanted is what a Service is to show by an outcome, apart from conditions.
func (p publisher) wanted(o *Outcome) Publication {
	if o.Publish == nil {
		return Publication{KeepIngress: true}
	}
	wanted, stripped := *o.Publish, false
	if wanted.Ingress, stripped = p.modes.strip(wanted.Ingress); stripped {
		o.Events = append(o.Events,
			Warningf(ReasonIPMode, "the API server doesn't keep the ipMode of addresses, which annotation ip-mode asks for; "+
				"upgrade it to Kubernetes 1.30, or publish a name by annotation hostname"))
	} else if !wanted.KeepIngress && !slices.ContainsFunc(wanted.Ingress, hasMode) {
		o.Resolved = append(o.Resolved, ReasonIPMode)
	}
	return wanted
}

// addConditions adds how the Service stands to what it is to show, if that has changed.
func (p publisher) addConditions(s *service, svc *corev1.Service, verb string, o *Outcome, wanted *Publication) {
	if Superseded(o.Err) || o.Publish == nil && o.Err == nil {
		return
	}
	if verb == verbDeletion && o.Err == nil {
		wanted.dropConditions = svc.DeletionTimestamp == nil // The others go with the Service.
		o.Publish.dropConditions = wanted.dropConditions     // It is written once more when the finalizer goes.
		return
	}
	list := conditionsOf(svc, *wanted, *o)
	p.metrics.stands(s, stateOf(list))
	if s.mustShow(svc, list) {
		wanted.conditions = list
	}
}

// contestedOf says of a part that another client takes it back again and again; kind is the label of the metric.
func contestedOf(which part, svc *corev1.Service, p Publication) (kind string, e Event) {
	if which == inStatus {
		return "status", Warningf(ReasonContested, "the addresses in the status are overwritten by somebody else, and are written again, "+
			"more and more seldom; find out who else serves the Service and stop that, or give the Service a class")
	}
	what, values := "labels", p.Notes.Labels
	if len(changed(svc.Labels, values)) == 0 {
		what, values = "annotations", p.Notes.Annotations
	}
	var notes []string
	for key, value := range values {
		if value != "" {
			notes = append(notes, key+"="+value)
		}
	}
	slices.Sort(notes)
	return "labels", Warningf(ReasonContested, "another client takes off %[1]s that the controller notes on the Service, and they are "+
		"written again, more and more seldom; let it keep the %[1]s of the controller: %[2]s", what, strings.Join(notes, ", "))
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

// takeBackSynced takes back that the load balancer of a Service is as it asks, which it said before a user changed it. What
// becomes of the change shows when the pass ends. An API server that fails holds nothing up.
func (p publisher) takeBackSynced(ctx context.Context, w Writer, key string, svc *corev1.Service) *corev1.Service {
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
