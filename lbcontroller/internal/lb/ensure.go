package lb

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/backend/eni"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// subject is a Service that wants a CLB, with all that is known of it before the cloud is looked at. It is a value: what changes it on the
// way returns another one.
type subject struct {
	product Product
	key     string
	writer  controller.Writer
	// svc is the Service as it is now, as far as is known.
	svc  *corev1.Service
	view desired.View
	// slices and gated are the endpoints of the Service, and the pods that may wait for the CLB.
	slices []*discoveryv1.EndpointSlice
	gated  readiness.Pods
	// nodes are those of the cluster.
	nodes *backend.Set
	// want is what the Service asks for; its Desired knows the network interfaces of pods once they are looked up.
	want desired.Result
	// pods are the answers about network interfaces.
	pods eni.Answer
	// hash is a digest of the configuration, and applied one of that and the backends.
	hash, applied string
	// drift is what only is reported of what others have changed.
	drift Drift
	// policy says which changes are made.
	policy Policy
	// idle reports that nothing is known to have happened to the Service: it is only looked at.
	idle bool
	// limited is how long the Service has no more servers than the cloud took; zero if it has all.
	limited time.Time
	// fresh reports that the Service certainly has no CLB yet.
	fresh bool
	// entry is what is remembered.
	entry memory.Entry
	// state is whether entry can be used.
	state memory.State
}

// with returns the subject with the Service as it is now.
func (s subject) with(svc *corev1.Service) subject {
	s.svc = svc
	return s
}

// claims are what is noted on the Service.
func (s subject) claims() ownership.Claims { return claimsOf(s.svc) }

// facts are what decides about the CLB that the Service may have.
func (s subject) facts() reuse.Service {
	f := reuse.Service{
		Namespace: s.svc.Namespace, Name: s.svc.Name, RecordedID: s.svc.Labels[LabelLoadBalancerID], Claims: s.claims(), EIP: s.want.EIP,
	}
	for _, i := range s.svc.Status.LoadBalancer.Ingress {
		f.Published = append(f.Published, s.product.Marks().addressOf(i))
	}
	return f
}

// verifiedBy is when what is remembered must have been verified: what happens to nodes and pods doesn't wait for that.
func verifiedBy(ctx context.Context) time.Time {
	if p := reconcile.PriorityOf(ctx); p == reconcile.Node || p == reconcile.Endpoint {
		return time.Time{}
	}
	return time.Now()
}

// served reports that the Service says that a CLB serves it, as it asks now or did before.
func (s subject) served() bool {
	return s.svc.Labels[LabelHash] != "" && s.svc.Labels[LabelLoadBalancerID] != "" && len(s.svc.Status.LoadBalancer.Ingress) > 0
}

// configured reports that the Service says of its configuration that it is in place.
func (s subject) configured() bool {
	return s.served() && s.svc.Labels[LabelHash] == s.hash
}

// subjectOf builds what a Service asks for. If the Service can't have that, the error is a *desired.InvalidError.
func (k *Kind) subjectOf(r controller.Request, lists *model.Lists) (subject, error) {
	s := subject{
		product: k.Product, key: r.Key, writer: r.Writer, svc: r.Service, nodes: r.Nodes, drift: k.Drift, view: k.Desired.View(r.Service),
		slices: r.Slices, gated: r.Gated,
	}
	s.policy = k.policyOf(s.view)
	in := desired.Input{View: s.view, Slices: r.Slices, Nodes: r.Nodes, Gated: r.Gated, Unknown: k.Shared.instances.Unknown(), Lists: lists}
	in.Limit, s.limited = k.memory.Limit(s.key)
	var err error
	if s.want, err = desired.Build(k.Desired, in, k.Product); err == nil {
		s.hash, err = s.want.Hash()
	}
	return s, err
}

// compare reads all that concerns a Service in the cloud, whatever is remembered, and decides what would be done. What the Service can't have is
// known as refused.
func (k *Kind) compare(ctx context.Context, s subject) (subject, decision, error) {
	s, err := k.withPods(ctx, s)
	if err != nil {
		return s, decision{}, err
	}
	have, err := k.readAll(ctx, s)
	if err != nil {
		return s, decision{}, err
	}
	d, _ := tryDecide(s, have)
	if d.known.extent != refused {
		if refusal := k.mayCreate(s, d); refusal != nil {
			d.known.extent, d.known.refusal = refused, refusal
		}
	}
	return s, d, nil
}

// ensure brings the CLB of a Service to what the Service asks for. The servers that it works with are in lists: none may be kept.
func (k *Kind) ensure(ctx context.Context, r controller.Request, lists *model.Lists) controller.Outcome {
	s, err := k.subjectOf(r, lists)
	s.entry, s.state = k.memory.Recall(s.key, string(s.svc.UID), verifiedBy(ctx), lists)
	if err == nil {
		s.applied = k.appliedDigest(s)
		k.certs.Use(s.key, certificatesOf(k.Product, s.want.Desired.Listeners))
	}
	if k.isUnconfirmed(s.svc) {
		return k.awaitConfirmation(ctx, s, backendsOf(s.want, err))
	}
	if err != nil {
		return k.serve(ctx, s, backendsOf(s.want, err), err)
	}
	if s.policy == PolicyReport {
		return k.report(ctx, s)
	}
	held, added, err := s.writer.Hold(ctx, s.svc)
	if err != nil {
		return controller.Outcome{Err: err, Events: []controller.Event{controller.Failure(controller.ReasonAddFinalizer, err)}}
	}
	s = s.with(held)
	if !k.current(s) {
		return controller.Outcome{}
	}
	if s = k.meet(ctx, s); s.isTrusted() {
		k.Records.Unexpect(s.key)
		return controller.Outcome{Service: s.svc, Publish: &controller.Publication{KeepIngress: true}, Looks: s.looks()}
	}
	s.fresh = added && len(s.svc.Status.LoadBalancer.Ingress) == 0 && s.svc.Labels[LabelLoadBalancerID] == "" && k.isYoung(s.svc)
	have := recall(s)
	if have.extent == refused { // The network interfaces of its pods needn't be looked up.
		return k.refuse(ctx, s, have.refusal)
	}
	// Pods that can't be looked up keep their places, and nothing else waits for them.
	reading, end := s.unhurried(ctx)
	s, lookup := k.withPods(reading, s)
	d, err := k.decide(reading, s, have)
	o, gaveWay := yielded(reading)
	if end(); gaveWay && (err != nil || lookup != nil) {
		return o
	}
	if err == nil {
		k.rememberNone(s, d)
		if d.plan.CreatesInstance() && k.mayCreate(s, d) == nil {
			if wait := k.creations.Enter(s.key, time.Now()); wait > 0 {
				return k.putOff(s, d, wait)
			}
		}
		s, err = k.allow(ctx, s, d)
	}
	if refusal, ok := errors.AsType[*reuse.Refusal](err); ok {
		return k.refuse(ctx, s, refusal)
	}
	if err != nil {
		return k.outcomeOfFailure(s, false, err)
	}
	if s.idle && s.state == memory.Due {
		k.Shared.metrics.countDrift(d)
	}
	d.begun = d.plan.Begin(k.Product.Marks().ServersPerCall) // A Service gets its address as soon as possible.
	s, result := k.carryOut(ctx, s, d)
	if result.err == nil {
		s, result = k.moveOut(ctx, s, d, result)
	}
	if result.err != nil {
		o := k.outcomeOfFailure(s, result.changed, errors.Join(result.err, k.learn(ctx, s.nodes, result.err)))
		if d.known.extent == all && !d.known.observed.Reused && isUnsent(result.err) { // What is there is as certain as before.
			k.keep(s, d.entry.Holds(result.observed, ""), false)
		}
		o.Publish, o.Wake = halfway(s, d, result), result.wake
		o.Events = append(result.events, o.Events...)
		if k.learnLimit(s.key, d, result.err) {
			o = withSubset(o)
		}
		return k.withGates(ctx, o, s, result.observed)
	}
	o = k.outcome(s, k.remember(ctx, s, d, result), d, result)
	return k.withGates(ctx, withLookup(o, lookup), s, result.observed)
}

// withLookup adds to an outcome that network interfaces of pods could not be looked up.
func withLookup(o controller.Outcome, lookup error) controller.Outcome {
	if lookup == nil {
		return o
	}
	calls := causes(lookup)
	o.Err, o.Retry, o.Reason = errors.Join(o.Err, lookup), judge(calls).retry, ""
	o.Events = append(o.Events, controller.Failure(controller.ReasonSyncFailed, calls...))
	o.Resolved = slices.DeleteFunc(o.Resolved, func(reason string) bool { return reason == controller.ReasonSyncFailed })
	return o
}

// isUnsent reports of failed calls of a plan that none of them has changed anything.
func isUnsent(err error) bool {
	failures, ok := errors.AsType[apply.Failures](err)
	return ok && !slices.ContainsFunc(failures, func(f *apply.Failure) bool { return !rpcerr.IsUnsent(f.Err) })
}

// isYoung reports whether a Service was made since the controller started. An old version of the existing CCM may have made a CLB for an older
// one and written nothing on it.
func (k *Kind) isYoung(svc *corev1.Service) bool {
	created := svc.CreationTimestamp.Time
	return created.IsZero() || !created.Before(k.started.Truncate(time.Second)) // The API server's times have no fractions.
}

// witnesses are how many instances of nodes have to be found, most of them, for an answer to prove that another is gone.
const witnesses = 20

// learn finds out which instances the cloud doesn't have, if it refused some as servers: the next pass leaves them out.
func (k *Kind) learn(ctx context.Context, nodes *backend.Set, err error) error {
	failures, _ := errors.AsType[apply.Failures](err)
	var ids []string
	for _, f := range failures {
		if rpcerr.ReasonOf(f.Err) != rpcerr.ServerNotFound {
			continue
		}
		for _, s := range plan.Servers(f.Action) {
			if s.Type == model.ECS {
				ids = append(ids, s.ID)
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return k.Shared.instances.Learn(ctx, ids, nodes.Reporting(witnesses, ids))
}

// backendsOf returns the wanted servers of a Service, which may be invalid, if they are known.
func backendsOf(want desired.Result, err error) *model.Desired {
	if invalid, ok := errors.AsType[*desired.InvalidError](err); ok {
		return invalid.Backends
	}
	if want.Desired.Reuse.ID == "" {
		return want.Desired
	}
	return reuse.Anywhere(want.Desired, want.OwnGroups, nil)
}

// current reports whether the Service, which may have been read anew, still asks for the CLB for which it was built.
func (k *Kind) current(s subject) bool {
	return k.Product.Wants(s.svc) && annotation.Reused(s.svc.Annotations) == s.want.Desired.Reuse.ID
}

// withPods looks up the network interfaces of pods. With an error, those that could not be looked up are pending.
func (k *Kind) withPods(ctx context.Context, s subject) (subject, error) {
	pods, err := k.Shared.enis.Find(ctx, s.key, desired.PodAddresses(s.want.Desired.Groups, s.want.OwnGroups), s.want.Coming)
	resolved := *s.want.Desired
	resolved.Groups = desired.Resolve(resolved.Groups, pods.IDs)
	s.want.Desired, s.want.OwnGroups, s.pods = &resolved, desired.Resolve(s.want.OwnGroups, pods.IDs), pods
	return s, err
}

// confirm reads the Service anew, for what can't be undone.
func (k *Kind) confirm(ctx context.Context, s subject) (subject, error) {
	live, _, err := s.writer.Confirm(ctx, s.svc)
	if err != nil {
		return s, err
	}
	if s = s.with(live); !k.current(s) {
		return s, controller.ErrStale
	}
	return s, nil
}

// rememberNone remembers that a new Service has no CLB: a creation that is refused needs no search either when the Service changes.
func (k *Kind) rememberNone(s subject, d decision) {
	if s.fresh && d.known.observed.InstanceID == "" {
		e := memory.Renew(s.entry)
		e.UID, e.Observed, e.None = string(s.svc.UID), d.known.observed, true
		k.memory.Put(s.key, e)
	}
}

// allow keeps a Service that had an address from silently getting another, and obeys the cluster's rule about public CLBs. The Service is
// read anew unless it just was: a CLB must not be made for what the cache shows of a Service that has gone on since.
func (k *Kind) allow(ctx context.Context, s subject, d decision) (subject, error) {
	if d.known.observed.InstanceID != "" {
		return s, nil
	}
	if !s.fresh {
		var err error
		if s, err = k.confirm(ctx, s); err != nil {
			return s, err
		}
	}
	if refusal := k.mayCreate(s, d); refusal != nil {
		return s, refusal
	}
	return s, nil
}

// done is what was carried out of a plan.
type done struct {
	changed  bool
	observed model.Observed
	events   []controller.Event
	wake     []string
	err      error
}

// carryOut notes on the Service what a crash must not lose, and makes the calls of the plan.
func (k *Kind) carryOut(ctx context.Context, s subject, d decision) (subject, done) {
	if d.plan.Empty() {
		return s, done{observed: d.known.observed}
	}
	s, result := k.execute(ctx, s, d.plan, d.known.observed)
	result.changed = true
	return s, result
}

func (k *Kind) execute(ctx context.Context, s subject, p plan.Plan, observed model.Observed) (subject, done) {
	k.Logger.Info("changing the load balancer", "service", s.key, "loadBalancer", observed.InstanceID, "plan", p.String())
	replaces := s.svc.Labels[LabelLoadBalancerID]
	n := controller.Notes{Annotations: map[string]string{}, Exact: []string{annotation.Claims, annotation.OwnTags, annotation.Applied}}
	want := s.want.Desired
	if p.ChangesConfig() {
		// A crash on the way must not look like success, nor leave tags that are not known to be ours.
		n.Labels = map[string]string{LabelHash: ""}
		tags := slices.Concat(annotation.ParseOwnTags(s.svc.Annotations), want.Instance.Tags)
		if p.Marks() { // The mark is set again if it alone fails.
			tags = append(tags, ownership.TagReused)
		}
		n.Annotations = ownTags(tags)
		_, n.Annotations[annotation.Applied] = s.view.Applied()
		n.Annotations[annotation.Making] = making(s, p)
	}
	if p.FillsDefaultGroup() {
		// Nor servers in the default server group, if the Service doesn't ask for them any more afterwards.
		_, n.Annotations[annotation.Applied] = s.view.Applied()
	}
	// Nor leave anything on a user's CLB that is not noted on the Service.
	claims := s.claims()
	for _, claim := range reuse.Claim(want) {
		if claim.LoadBalancer == observed.InstanceID {
			claims = claims.With(claim)
		}
	}
	n.Annotations[annotation.Claims] = claims.String()
	svc, err := s.writer.Note(ctx, s.svc, n)
	if err != nil {
		return s, done{err: &noteError{err}}
	}
	work := apply.Work{
		Plan: p, Observed: observed, GroupsApart: k.Product.Marks().GroupsApart,
		Life: apply.Life{ClusterID: k.Desired.ClusterID, UID: string(s.svc.UID), Generation: svc.Annotations[controller.AnnotationGeneration], Replaces: replaces},
		Created: func(ctx context.Context, id string) error {
			noted, err := s.writer.Note(ctx, svc, controller.Notes{Labels: map[string]string{LabelLoadBalancerID: id}})
			if err == nil {
				svc = noted
			}
			return err
		},
	}
	// From here on what is remembered and recorded is wrong, however this ends.
	k.memory.Forget(s.key)
	k.Records.Change(ctx, s.key)
	after, err := apply.Apply(ctx, k.Product, work)
	result := done{observed: after, err: err}
	if observed.Reused { // The next try finds gone what is, and has no Service to wake.
		result.wake = k.wake(s.key, want.Owner, observed, after, err)
	}
	return s.with(svc), result
}

// noteError is a refusal of the API server to write on the Service before the cloud is changed.
type noteError struct{ err error }

func (e *noteError) Error() string { return e.err.Error() }
func (e *noteError) Unwrap() error { return e.err }

// moveOut gives up what the Service had before it moved to the CLB that it has now.
func (k *Kind) moveOut(ctx context.Context, s subject, d decision, before done) (subject, done) {
	result := before
	if d.known.own.InstanceID != "" {
		var err error
		if s, err = k.releaseOwn(ctx, s, d.known.own); err != nil {
			result.err = err
			return s, result
		}
		result.events = append(result.events, controller.Normalf(controller.ReasonCleaned, "CLB %s is released: the Service has moved to CLB %s",
			d.known.own.InstanceID, s.want.Desired.Reuse.ID))
	}
	left := k.leave(ctx, s.key, s.svc, s.claims().Without(s.want.Desired.Reuse.ID))
	result.events, result.wake, result.err = append(result.events, left.events...), append(result.wake, left.wake...), left.err
	return s, result
}

// releaseOwn gives up the Service's own CLB. Its address can't be had back, so the Service is read anew before.
func (k *Kind) releaseOwn(ctx context.Context, s subject, own model.Observed) (subject, error) {
	s, err := k.confirm(ctx, s)
	if err != nil {
		return s, err
	}
	if len(s.svc.Status.LoadBalancer.Ingress) > 0 {
		return s, controller.ErrStale
	}
	// The next CLB of its own must not be taken for this one.
	svc, err := s.writer.Note(ctx, s.svc, controller.Notes{Annotations: map[string]string{controller.AnnotationGeneration: controller.NextGeneration(s.svc)}})
	if err != nil {
		return s, err
	}
	p := plan.Release(k.Product, own, s.view.Preserved())
	k.Logger.Info("releasing the load balancer", "service", s.key, "loadBalancer", own.InstanceID, "plan", p.String())
	if _, err := apply.Apply(ctx, k.Product, apply.Work{Plan: p, Observed: own}); err != nil && !isGone(err) {
		return s, err
	}
	return s.with(svc), k.dropGroups(ctx, s.key, s.want.Desired.Owner, own, s.view.Preserved(), s.want.Desired.Groups...)
}
