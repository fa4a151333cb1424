package lb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// witnesses are how many instances of nodes have to be found, most of them, for an answer to prove that another is gone.
const witnesses = 20

// verifiedBy is when what is remembered must have been verified: what happens to nodes and pods doesn't wait for that.
func verifiedBy(ctx context.Context) time.Time {
	if p := reconcile.PriorityOf(ctx); p == reconcile.Node || p == reconcile.Endpoint {
		return time.Time{}
	}
	return time.Now()
}

// ensure brings the load balancer of a Service to what the Service asks for. The servers that it works with are in
// lists: none may be kept. Each of its parts may end the pass with an outcome.
func (e *engine) ensure(ctx context.Context, r controller.Request, lists *model.Lists) controller.Outcome {
	s, have, ended := e.prepare(ctx, r, lists)
	if ended != nil {
		return *ended
	}
	s, d, missing, ended := e.investigate(ctx, s, have)
	if ended != nil {
		return *ended
	}
	if s, ended = e.permit(ctx, s, d); ended != nil {
		return *ended
	}
	return e.act(ctx, s, d, missing)
}

// prepare says what is wanted of a Service, and what is known of the cloud.
func (e *engine) prepare(ctx context.Context, r controller.Request, lists *model.Lists) (pass, knowledge.Known, *controller.Outcome) {
	svc, err := e.recollected(ctx, r)
	if err != nil {
		return pass{}, nil, new(outcomeOfNotes(err))
	}
	r.Service = svc
	s, err := e.begin(r, lists)
	if s.entry, s.recalled = s.memory.Recall(string(s.svc.UID), verifiedBy(ctx), lists); s.recalled == knowledge.Doubted {
		s.memory.held = nil // What the user has changed may let these go.
	}
	if err == nil {
		s.applied = appliedDigest(s)
		s.memory.needs.Store(needsOf(s.want.Desired, s.packer))
		e.usesCertificates(s.memory, s.want.Desired, knowledge.There(s.entry.Known).Listeners)
	}
	switch {
	case isUnconfirmed(e.Product, s.svc):
		return s, nil, new(e.awaitConfirmation(ctx, s, backendsOf(s.want, err)))
	case err != nil:
		return s, nil, new(e.serve(ctx, s, backendsOf(s.want, err), err))
	case s.policy == PolicyReport:
		return s, nil, new(e.report(ctx, s))
	}
	held, added, err := s.writer.Hold(ctx, s.svc)
	if err != nil {
		return s, nil, &controller.Outcome{Err: err, Events: []controller.Event{controller.Failure(controller.ReasonAddFinalizer, err)}}
	}
	if s = s.with(held); !s.isCurrent() {
		return s, nil, &controller.Outcome{}
	}
	if s = meet(ctx, e.Records, s); s.isTrusted() {
		return s, nil, &controller.Outcome{Service: s.svc, Publish: &controller.Publication{KeepIngress: true}, Looks: s.looks()}
	}
	s.fresh = added && len(s.svc.Status.LoadBalancer.Ingress) == 0 && s.svc.Labels[LabelLoadBalancerID] == "" && isSince(s.svc, e.started)
	return s, recall(s), nil
}

// missing is what could not be had for a pass, which goes on without.
type missing struct {
	// lookup is why network interfaces of pods are not known, and upload why a certificate isn't in the cloud.
	lookup, upload error
}

// investigate reads what isn't known, and decides what is to be done.
func (e *engine) investigate(ctx context.Context, s pass, have knowledge.Known) (pass, decision, missing, *controller.Outcome) {
	var lacks missing
	if refused, ok := have.(knowledge.Refused); ok { // The network interfaces of its pods needn't be looked up.
		return s, decision{}, lacks, new(e.refuse(ctx, s, refused.Refusal))
	}
	// Pods that can't be looked up keep their places, and nothing else waits for them.
	reading, end := unhurried(ctx, s)
	s, lacks.lookup = s.resolved(reading, e.Shared.enis)
	s, lacks.upload = e.uploads.resolve(reading, s, true)
	d, err := e.findOut(reading, s, have)
	if err == nil {
		d = e.foresee(reading, s, d)
	}
	o, gaveWay := yielded(reading)
	d.unfinished = lacks.upload != nil
	if end(); gaveWay && errors.Join(err, lacks.lookup, lacks.upload) != nil {
		return s, d, lacks, &o
	}
	if err != nil {
		return s, d, lacks, new(outcomeOfFailure(s, false, err))
	}
	if refusal := d.refusal(); refusal != nil {
		return s, d, lacks, new(e.refuse(ctx, s, refusal))
	}
	if claimed, err := e.reclaim(ctx, s, d); err != nil {
		return s, d, lacks, new(outcomeOfFailure(s, false, err))
	} else if claimed {
		return s, d, lacks, &controller.Outcome{Err: controller.ErrStale}
	}
	return s, d, lacks, nil
}

// permit finds out whether what was decided may be done now.
func (e *engine) permit(ctx context.Context, s pass, d decision) (pass, *controller.Outcome) {
	rememberNone(s, d)
	if d.plan.CreatesInstance() && mayCreate(s, d) == nil {
		if wait := e.creations.Enter(s.key, time.Now()); wait > 0 {
			return s, new(putOff(s, d, wait, e.refusal.Load()))
		}
	}
	s, err := allowed(ctx, s, d)
	if err != nil {
		if refusal, ok := errors.AsType[*reuse.Refusal](err); ok {
			return s, new(e.refuse(ctx, s, refusal))
		}
		return s, new(outcomeOfFailure(s, false, err))
	}
	if s.idle && s.recalled == knowledge.Due {
		e.Shared.metrics.countDrift(d.plan, d.reported)
	}
	if refusal := contested(s, d); refusal != nil {
		s.entry = keep(s, d.entry.Holds(d.known, ""), false)
		return s, new(e.refuse(ctx, s, refusal))
	}
	return s, nil
}

// act does what was decided, and says what follows from it.
func (e *engine) act(ctx context.Context, s pass, d decision, lacks missing) controller.Outcome {
	d.begun = d.plan.Begin(e.Product.Marks().ServersPerCall) // A Service gets its address as soon as possible.
	s, done := e.carryOut(ctx, s, d)
	if done.err == nil {
		s, done = e.moveOut(ctx, s, d.own(), done)
	}
	if done.err == nil && d.read && s.want.Desired.Reuse.ID != "" && d.own().InstanceID == "" {
		done.err = e.releaseBound(ctx, s)
	}
	if done.err != nil {
		return e.fail(ctx, s, d, done)
	}
	if gist := changeOf(s, d.plan); gist != "" {
		s.memory.changes.Wrote(gist, lastChange)
	}
	e.awaitStart(ctx, s, d, done.observed)
	e.lookForBlocked(ctx, s, done.observed)
	o := e.withBlocked(e.finish(ctx, s, d, done), s, done.observed)
	return e.gates.open(ctx, withStarting(withPending(withLookup(withUpload(o, lacks.upload), lacks.lookup), s), s), s, done.observed)
}

// finish remembers and records what a pass has brought about, and says what follows from it.
func (e *engine) finish(ctx context.Context, s pass, d decision, done result) controller.Outcome {
	noted := s.hash
	if !d.complete() {
		noted = ""
	}
	s.memory.hold(done.observed)
	e.usesCertificates(s.memory, s.want.Desired, done.observed.Listeners)
	s.entry = d.entry.Holds(knowledge.Now(d.known, done.observed), noted)
	shown := e.addresses(ctx, s, &s.entry, done.observed.InstanceID)
	s.entry = keep(s, s.entry, done.observed.ConfigKnown)
	if !shown.unknown {
		e.Records.Set(s.key, toRecord(s, d))
	}
	empty, last := d.withoutBackends(s.want.Desired, done.observed)
	e.Shared.metrics.lastServers.set(&s.memory.lastServers, len(last)+len(d.plan.Kept) > 0)
	e.Shared.metrics.noBackends.set(&s.memory.noBackends, len(empty) > 0)
	e.Shared.metrics.withhold(s.memory, withheld{s.policy, len(d.withheld)})
	return outcome(s, d, done, shown, e.certs.Warnings(s.named, time.Now()))
}

// fail is the outcome of a pass in which changes failed.
func (e *engine) fail(ctx context.Context, s pass, d decision, done result) controller.Outcome {
	if e.isLocked(ctx, d.there(), done.err) {
		done.err = fmt.Errorf(
			"load balancer %s is locked, because the account owes money for it; settle the bill, then it is tried again: %w",
			d.there().InstanceID, done.err)
	}
	ids := notFound(done.err)
	if slices.ContainsFunc(causes(done.err), func(err error) bool { return rpcerr.ReasonOf(err) == rpcerr.CertificateNotFound }) {
		e.uploads.forget(s.want.Certificates) // They are looked for again.
	}
	unlearned := e.Shared.instances.Learn(ctx, ids, s.nodes.Reporting(witnesses, ids)) // The next pass leaves out what the cloud doesn't have.
	o := outcomeOfFailure(s, done.changed, errors.Join(done.err, unlearned))
	if all, ok := d.known.(knowledge.All); ok && !all.Reused && isWithoutEffect(done.err) { // What is there is as certain as before.
		keep(s, d.entry.Holds(knowledge.Now(all, done.observed), ""), false)
	}
	o = withText(o, named(s.view, done.err))
	if isUnguarded(done.err) {
		o = withText(o, e.Product.OpenTo(done.observed))
	}
	if want := s.want.Desired.Access; want != nil && slices.ContainsFunc(causes(done.err), isListFull) {
		o = withText(o, fmt.Sprintf("the list has %d entries; %s", len(want.Entries), e.Product.Marks().ListLimit))
	}
	o.Publish, o.Wake = halfway(s, d, done), done.wake
	o.Events = append(done.events, o.Events...)
	if learnLimit(s.memory, d.there(), done.err) {
		o = withSubset(o)
	}
	return e.gates.open(ctx, o, s, done.observed)
}

// isSince reports whether a Service was made since the controller started. An old version of the existing CCM may have
// made a load balancer for an older one and written nothing on it.
func isSince(svc *corev1.Service, started time.Time) bool {
	created := svc.CreationTimestamp.Time
	return created.IsZero() || !created.Before(started.Truncate(time.Second)) // The API server's times have no fractions.
}

// meet looks up what the record says of a Service that this leader meets for the first time: what it learns afterwards
// counts more. If the cloud is recorded to have exactly what the Service asks for, the entry is trusted, and the load
// balancer is read when its turn comes and not at once.
func meet(ctx context.Context, records *knowledge.Record, s pass) pass {
	first, verifies := s.memory.Meet(string(s.svc.UID)), reconcile.PriorityOf(ctx) == reconcile.Periodic
	if first && saysStarting(s.svc) { // The leader of before was waiting for them.
		s.memory.starting = starting{}.with(keysOfListeners(s.want.Desired), time.Now().Add(-firstStart))
	}
	switch {
	case !s.served():
	case s.recalled == knowledge.Due:
		s.idle = verifies
	case first && s.recalled == knowledge.Unknown:
		recorded := records.Get(ctx, s.key)
		s.idle = verifies && (recorded == "" || !s.configured()) && !isNew(s.svc)
		if s.configured() && recorded != "" && recorded == s.applied && !s.want.ShowsBound { // Which are bound isn't recorded.
			s.entry = keep(s, knowledge.Entry{Known: knowledge.Trusted{Digest: s.applied}, Noted: s.hash}, false)
			s.recalled = knowledge.Current
		}
	}
	return s
}

// newFor is how long a Service with an address counts as new at a change of leaders: some time longer than that takes.
const newFor = 10 * time.Minute

// isNew reports whether a Service has got its address so lately that the leader of before may have died before it
// recorded that, and before the Service had all its servers.
func isNew(svc *corev1.Service) bool {
	return slices.ContainsFunc(svc.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == controller.ConditionReady && c.Status == metav1.ConditionTrue && time.Since(c.LastTransitionTime.Time) < newFor
	})
}

// unhurried is the context of the reads of an idle Service: they have the lowest priority, and give way to a change of
// the Service, or of another one that shares its load balancer. The function ends it.
func unhurried(ctx context.Context, s pass) (context.Context, func()) {
	if s.idle {
		return reconcile.Yielding(gateway.WithPriority(ctx, gateway.Background))
	}
	return ctx, func() {}
}

// allowed keeps a Service that had an address from silently getting another, and obeys the cluster's rule about public
// load balancers. The Service is read anew unless it just was: a load balancer must not be made for what the cache
// shows of a Service that has gone on since.
func allowed(ctx context.Context, s pass, d decision) (pass, error) {
	if d.there().InstanceID != "" {
		return s, nil
	}
	if !s.fresh {
		var err error
		if s, err = s.confirmed(ctx); err != nil {
			return s, err
		}
	}
	if refusal := mayCreate(s, d); refusal != nil {
		return s, refusal
	}
	return s, nil
}
