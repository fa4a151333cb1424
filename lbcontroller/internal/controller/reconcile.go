package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/reconcile"
)

// retrySuperseded is when a pass is repeated that worked on an outdated Service. The event that is on its way mostly
// comes first, but one of nothing but the controller's own conditions queues nothing, and no look is left of the passes
// before.
const retrySuperseded = time.Second

// retryYielded is when a Service is verified again that gave way to more urgent work.
const retryYielded = 5 * time.Second

// assignment says which kinds have to do with a Service.
type assignment struct {
	// wanted is the kind whose load balancer the Service asks for; nil for none.
	wanted *Registration
	// interest is that of the wanted kind.
	interest Interest
	// release are the kinds that hold the Service and aren't wanted.
	release []Registration
	// shared are the ids of load balancers on which other Services may have something, too.
	shared []string
}

// idle reports that there is nothing to do for the Service.
func (a assignment) idle() bool { return a.wanted == nil && len(a.release) == 0 }

// assign asks every kind about a Service.
func assign(kinds []Registration, svc *corev1.Service) assignment {
	var a assignment
	for i, r := range kinds {
		interest := r.Kind.Interest(svc)
		wanted, held := interest.Wanted && a.wanted == nil, Writer{Finalizer: r.Finalizer}.Holds(svc)
		if wanted {
			a.wanted, a.interest = &kinds[i], interest
		} else if held {
			a.release = append(a.release, r)
		}
		if wanted || held {
			a.shared = append(a.shared, interest.Shared...)
		}
	}
	slices.Sort(a.shared)
	a.shared = slices.Compact(a.shared)
	return a
}

func (c *Controller) assign(svc *corev1.Service) assignment { return assign(c.Kinds, svc) }

func (c *Controller) writer(key, finalizer string) Writer {
	return Writer{Client: c.Client, Finalizer: finalizer, modes: &c.modes, service: c.services.Of(key)}
}

// Reconcile implements reconcile.Reconciler. Events, metrics and what is written at the end are made here, of the outcome.
func (c *Controller) Reconcile(ctx context.Context, key string) error {
	if err := c.releaseBypassed(ctx, key); err != nil {
		return err
	}
	cached, err := c.informers.service(key)
	if apierrors.IsNotFound(err) {
		c.forget(key)
		return c.letPodsGo(ctx, key)
	}
	if err != nil {
		return fmt.Errorf("read Service %s from the cache: %w", key, err)
	}
	if cached, err = c.restore(ctx, key, cached); err != nil {
		return reconcile.After(err, retrySuperseded)
	}
	a := c.assign(cached)
	if a.idle() {
		if err := c.dismiss(ctx, key, cached); err != nil {
			return err
		}
		if cached.Spec.Type == corev1.ServiceTypeLoadBalancer {
			return nil // The gate may be that of another controller.
		}
		return c.letPodsGo(ctx, key)
	}
	return c.inTurn(ctx, key, a.shared, func() error { return c.pass(ctx, key, cached, a) })
}

// dismiss takes back what was shown of a Service that asked for a load balancer in vain and doesn't any more. One that
// had something was released.
func (c *Controller) dismiss(ctx context.Context, key string, svc *corev1.Service) error {
	if c.services.Of(key).state == "" && !isLeftBehind(svc) { // Only passes over the Service change the state.
		return nil
	}
	err := c.writer(key, "").Publish(ctx, svc, Publication{KeepIngress: true, dropConditions: true})
	if ignoreGone(err) != nil {
		return c.refusedByAPI(svc, ReasonUpdateStatus, err)
	}
	c.forget(key)
	c.events.Resolve(svc)
	return nil
}

// pass releases what the Service no longer has a claim to, and otherwise brings its load balancer to what it asks for. A Service that
// changes from one kind to another gives the old load balancer up first; the event of that brings it back.
func (c *Controller) pass(ctx context.Context, key string, cached *corev1.Service, a assignment) error {
	s := c.services.Of(key)
	since := s.beginPass() // What changes from here on may be too late for this pass.
	slicesOf, err := c.informers.slicesOf(key)
	if err != nil {
		return err
	}
	gated, err := c.informers.gatedBy(key)
	if err != nil {
		return err
	}
	nodes, err := c.nodesNow(a)
	if err != nil {
		return err
	}
	request := func(r Registration) Request { // Never change what the cache shares.
		return Request{Key: key, Service: cached.DeepCopy(), Slices: slicesOf, Nodes: nodes, Gated: gated, Secrets: c.secrets.of(cached),
			Writer: c.writer(key, r.Finalizer), Exists: c.exists}
	}
	for _, kind := range a.release {
		if err := c.release(ctx, kind, request(kind)); err != nil {
			return err
		}
	}
	if len(a.release) > 0 {
		return nil
	}
	start := time.Now()
	r := request(*a.wanted)
	r.Service = c.disown(ctx, r.Writer, key, r.Service)
	counted, calls := gateway.CountCalls(ctx)
	o := a.wanted.Kind.Ensure(counted, r)
	c.metrics.calls.Observe(float64(calls.Load()))
	if !since.IsZero() && o.Err != nil && o.Retry.Mode != RetryNever {
		s.passAgain(since)
	} else if !since.IsZero() && o.Err == nil {
		c.metrics.delay.Observe(time.Since(since).Seconds())
	}
	return c.conclude(ctx, r, a.wanted.MetricType, verbOf(cached, true), start, o)
}

// exists implements Exists.
func (c *Controller) exists(ctx context.Context, namespace, name string, owns func(*corev1.Service) bool,
) (bool, error) {
	cached, err := c.informers.services.Services(namespace).Get(name)
	if err == nil && cached.DeletionTimestamp == nil {
		return true, nil
	}
	all, err := c.informers.services.List(labels.Everything())
	if err != nil {
		return false, fmt.Errorf("list the Services in the cache: %w", err)
	}
	isAnother := func(svc *corev1.Service) bool { return (svc.Namespace != namespace || svc.Name != name) && owns(svc) }
	if slices.ContainsFunc(all, isAnother) {
		return true, nil
	}
	live, err := c.Client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read Service %s/%s: %w", namespace, name, err)
	}
	holds := func(r Registration) bool { return Writer{Finalizer: r.Finalizer}.Holds(live) }
	return live.DeletionTimestamp == nil || slices.ContainsFunc(c.Kinds, holds), nil // Otherwise it has given up all.
}

// release lets a kind give up what it has of a Service, and the Service go.
func (c *Controller) release(ctx context.Context, kind Registration, r Request) error {
	start := time.Now()
	o := kind.Kind.Release(gateway.WithPriority(ctx, gateway.Deletion), r)
	if err := c.conclude(ctx, r, kind.MetricType, verbDeletion, start, o); err != nil || o.Err != nil {
		return err
	}
	s := c.services.Of(r.Key)
	s.forgetShown()
	c.metrics.stands(s, "")
	if err := r.Writer.letGo(ctx, r.Service, o.Publish); ignoreGone(err) != nil {
		return c.refusedByAPI(r.Service, ReasonRemoveFinalizer, err)
	}
	if r.Service.DeletionTimestamp == nil {
		c.events.Resolve(r.Service)
	}
	return nil
}

// conclude does all that follows from an outcome: first which Services it wakes, then what is written on the Service, events and
// the next attempt.
func (c *Controller) conclude(ctx context.Context, r Request, metricType, verb string, start time.Time, o Outcome) error {
	for _, key := range o.Wake { // They are about the cloud, whatever becomes of this Service.
		c.queue(key, reconcile.User)
	}
	err, s := o.Err, c.services.Of(r.Key)
	if errors.Is(err, reconcile.ErrYielded) {
		return reconcile.After(err, retryYielded)
	}
	if o.Service != nil {
		r.Service = o.Service
	}
	if c.modes.strip(o.Publish) {
		o.Events = append(o.Events,
			Warningf(ReasonIPMode, "the API server doesn't keep the ipMode of addresses, which annotation ip-mode asks for; "+
				"upgrade it to Kubernetes 1.30, or publish a name by annotation hostname"))
	} else if o.Publish != nil && !o.Publish.KeepIngress && !slices.ContainsFunc(o.Publish.Ingress, hasMode) {
		o.Resolved = append(o.Resolved, ReasonIPMode)
	}
	writes := o.Publish != nil && o.Publish.differs(r.Service)
	if writes && verb != verbDeletion && s.justPublished(*o.Publish) { // The cache doesn't show it yet.
		r.Service.Status.LoadBalancer.Ingress, o.Publish, writes = o.Publish.Ingress, nil, false
		c.runner.AddAfter(r.Key, reconcile.User, firstRestore)
	}
	restores := o.Publish != nil && len(o.Publish.Ingress) > 0 && !sameIngress(r.Service.Status.LoadBalancer.Ingress, o.Publish.Ingress)
	if wait := s.wait(inStatus, gistOfIngress(ingressOf(o.Publish))); restores && wait > 0 {
		restores = false
		o.Publish = &Publication{Notes: o.Publish.Notes, KeepIngress: true}
		c.runner.AddAfter(r.Key, reconcile.User, wait)
	}
	labels, lacks := missingLabels(r.Service, o.Publish)
	if wait := s.wait(inLabels, labels); lacks && wait > 0 {
		lacks = false
		withoutLabels := *o.Publish
		withoutLabels.Notes.Labels = nil
		o.Publish = &withoutLabels
		c.runner.AddAfter(r.Key, reconcile.User, wait)
	}
	c.addConditions(r, verb, &o)
	if o.Publish != nil {
		if werr := r.Writer.Publish(ctx, r.Service, *o.Publish); ignoreGone(werr) != nil {
			werr = c.refusedByAPI(r.Service, ReasonUpdateStatus, werr)
			s.forgetConditions()
			c.announce(r.Service, nil, whatWasDone(o.Events))
			c.measure(metricType, verb, start, o.Changed, werr)
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
			c.metrics.conflicts.WithLabelValues("labels").Inc()
			o.Events = append(o.Events,
				Warningf(ReasonContested, "another client takes off labels that the controller notes on the Service, and they are written again, "+
					"more and more seldom; let it keep the labels of the controller: %s", labels))
		}
		if restores && s.fight(inStatus, gistOfIngress(o.Publish.Ingress)) {
			c.metrics.conflicts.WithLabelValues("status").Inc()
			o.Events = append(o.Events,
				Warningf(ReasonContested, "the addresses in the status are overwritten by somebody else, and are written again, more and more seldom; "+
					"find out who else serves the Service and stop that, or give the Service a class"))
		}
	}
	if Superseded(err) {
		c.metrics.conflicts.WithLabelValues("version").Inc()
		c.announce(r.Service, nil, whatWasDone(o.Events))
		return reconcile.After(err, retrySuperseded)
	}
	c.announce(r.Service, o.Resolved, o.Events)
	for _, look := range o.Looks {
		c.runner.AddAfter(r.Key, look.Priority, look.After)
	}
	c.measure(metricType, verb, start, o.Changed, err)
	if werr := c.openGates(ctx, r, o.Gates); werr != nil && err == nil {
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
func (c *Controller) addConditions(r Request, verb string, o *Outcome) {
	if Superseded(o.Err) || o.Publish == nil && o.Err == nil {
		return
	}
	if verb == verbDeletion && o.Err == nil {
		o.Publish.dropConditions = r.Service.DeletionTimestamp == nil // The others go with the Service.
		return
	}
	s, list := c.services.Of(r.Key), conditionsOf(r.Service, *o)
	c.metrics.stands(s, stateOf(list))
	if !s.mustShow(r.Service, list) {
		return
	}
	p := Publication{KeepIngress: true}
	if o.Publish != nil {
		p = *o.Publish
	}
	p.conditions = list
	o.Publish = &p
}

// missingLabels are the labels that are written and whether the Service lacks one of them.
func missingLabels(svc *corev1.Service, p *Publication) (text string, lacks bool) {
	if p == nil {
		return "", false
	}
	var labels []string
	for key, value := range p.Notes.Labels {
		if value == "" {
			continue
		}
		labels = append(labels, key+"="+value)
		_, has := svc.Labels[key]
		lacks = lacks || !has
	}
	slices.Sort(labels)
	return strings.Join(labels, ", "), lacks
}

// ingressOf are the addresses of a publication, if there is one.
func ingressOf(p *Publication) []corev1.LoadBalancerIngress {
	if p == nil {
		return nil
	}
	return p.Ingress
}

// refusedByAPI says that the API server didn't take what the controller writes on a Service, unless the cache only trails.
func (c *Controller) refusedByAPI(svc *corev1.Service, reason string, err error) error {
	if Superseded(err) {
		return reconcile.After(err, retrySuperseded)
	}
	c.record(svc, Failure(reason, err))
	return err
}

func (c *Controller) measure(metricType, verb string, start time.Time, changed bool, err error) {
	if changed || err != nil {
		c.metrics.count(metricType, verb, start, err)
	}
}

// ignoreGone drops the error that the Service is gone already.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// forget drops all that is remembered of a Service.
func (c *Controller) forget(key string) {
	for _, kind := range c.Kinds {
		kind.Kind.Forget(key)
	}
	c.metrics.stands(c.services.Of(key), "")
	c.services.Drop(key)
}
