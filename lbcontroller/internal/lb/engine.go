package lb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/certificate"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/backlog"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/seen"
)

// engine makes the passes over Services of a kind.
type engine struct {
	Config
	changer
	gates   gates
	packer  knowledge.Packer
	certs   *certificates
	uploads *uploads
	// creations holds back Services while there is no room for making load balancers, and refusal said so last.
	creations backlog.Backlog
	refusal   atomic.Pointer[rpcerr.Error]
	// lists are those that passes work with.
	lists model.Pool
	// started is when the kind was made: a Service that is older may have a load balancer of which nothing is written
	// on it.
	started time.Time
}

func newEngine(cfg Config) *engine {
	certs := newCertificates(cfg)
	e := &engine{
		Config: cfg, started: time.Now(), certs: certs, uploads: newUploads(cfg, certs),
		changer: changer{
			reader: reader{Observer: observe.Observer{Reader: cfg.Product, GroupsApart: cfg.Product.Marks().GroupsApart},
				clusterID: cfg.Desired.ClusterID, marks: cfg.Product.Marks()},
			product: cfg.Product, services: &seen.Services[state]{}, records: cfg.Records, logger: cfg.Logger,
			room: make(apply.Room, mostBeside),
		},
		gates: gates{product: cfg.Product, patience: cfg.HealthPatience, logger: cfg.Logger},
	}
	if cfg.Registerer != nil {
		cfg.Registerer.MustRegister(newQuotaCollector(e))
	}
	return e
}

func newCertificates(cfg Config) *certificates {
	return &certificates{
		product: cfg.Product, interval: cfg.CertificateCheck, logger: cfg.Logger, wake: make(chan struct{}, 1),
		used: map[string]int{}, ends: map[string]time.Time{}, missing: map[string]bool{},
		end: cfg.Shared.metrics.certificateEnd, kind: string(cfg.Product.Marks().Name),
	}
}

// begin begins a pass: it builds what a Service asks for. If the Service can't have that, the error is a *desired.InvalidError.
func (e *engine) begin(r controller.Request, lists *model.Lists) (pass, error) {
	s := pass{
		product: e.Product, key: r.Key, writer: r.Writer, exists: r.Exists, svc: r.Service, nodes: r.Nodes,
		view:   e.Desired.View(r.Service),
		slices: r.Slices, gated: r.Gated, drift: e.Drift, driftCheck: e.DriftCheck, memory: e.services.Of(r.Key), packer: &e.packer,
		entry: knowledge.Entry{Known: knowledge.Nothing{}},
	}
	s.policy = policyOf(s.view, e.Policy)
	in := desired.Input{View: s.view, Slices: r.Slices, Nodes: r.Nodes, Gated: r.Gated, Unknown: e.Shared.instances.Unknown(), Lists: lists,
		Secrets: r.Secrets, Now: time.Now()}
	in.Limit, s.limited = s.memory.Limit()
	var err error
	if s.want, err = desired.Build(e.Desired, in, e.Product); err == nil {
		s.hash, err = s.want.Hash()
		s.named = slices.DeleteFunc(certificatesOf(e.Product, s.want.Desired.Listeners), certificate.IsPlaceholder)
	}
	return s, err
}

// compare reads all that concerns a Service in the cloud, whatever is remembered, and decides what would be done. What
// the Service can't have is known as refused.
func (e *engine) compare(ctx context.Context, s pass) (pass, decision, error) {
	s, err := s.resolved(ctx, e.Shared.enis)
	if err == nil {
		s, err = e.uploads.resolve(ctx, s, false)
	}
	if err != nil {
		return s, decision{}, err
	}
	have, err := e.all(ctx, s)
	if err != nil {
		return s, decision{}, err
	}
	d, _ := decide(s, have, true)
	if d.refusal() == nil {
		if refusal := mayCreate(s, d); refusal != nil {
			d.known = knowledge.Refused{Refusal: refusal}
		}
	}
	return s, e.foresee(ctx, s, d), nil
}

// findOut finds out what is there, beyond what is known, as cheaply as is safe, and decides what to do.
func (e *engine) findOut(ctx context.Context, s pass, have knowledge.Known) (decision, error) {
	var err error
	isKnown := s.recalled == knowledge.Unknown || s.recalled == knowledge.Current
	if _, isNothing := have.(knowledge.Nothing); isNothing && isKnown && s.configured() {
		if have, err = e.servers(ctx, s); err != nil {
			return decision{}, err
		}
	}
	d, enough := decide(s, have, false)
	if !enough {
		if d, enough, err = e.partly(ctx, s); err != nil {
			return decision{}, err
		}
	}
	if !enough {
		if have, err = e.all(ctx, s); err != nil {
			return decision{}, err
		}
		if refused, ok := have.(knowledge.Refused); ok && refused.Again > 0 { // The load balancer is gone.
			s.memory.Forget()
		}
		d, _ = decide(s, have, true)
	}
	if s.memory.Full() {
		d.plan.RemoveFirst() // The cloud has just refused more servers.
	}
	return d, nil
}

// isLocked reports whether changes failed because the cloud has locked the load balancer, which looks like one that is busy.
func (e *engine) isLocked(ctx context.Context, there model.Observed, err error) bool {
	busy := func(err error) bool { return rpcerr.ReasonOf(err) == rpcerr.ResourceBusy }
	if there.InstanceID == "" || !slices.ContainsFunc(causes(err), busy) {
		return false
	}
	locked, err := e.Product.Locked(ctx, there.InstanceID)
	return err == nil && locked
}

// isUnconfirmed reports that a Service which stays one of type LoadBalancer no longer asks for the load balancer that
// it has, because it got a class, a tunnel type or another kind. That may be a mistake, and address and load balancer
// can't be had back; or it was so before the takeover, as the existing CCM overlooks it and serves on.
func isUnconfirmed(product Product, svc *corev1.Service) bool {
	has := svc.Labels[LabelHash] != "" || svc.Labels[LabelLoadBalancerID] != "" || len(claimsOf(svc)) > 0 ||
		len(product.Marks().published(svc)) > 0
	return has && isHeld(product, svc) && svc.DeletionTimestamp == nil &&
		svc.Spec.Type == corev1.ServiceTypeLoadBalancer && !product.Wants(svc) &&
		svc.Annotations[annotation.ConfirmRelease] != "true"
}

// unconfirmed says what to do about such a Service.
func unconfirmed(svc *corev1.Service) string {
	return fmt.Sprintf(
		"the Service has a class, a tunnel type or another type of load balancer, and load balancer %s, which is kept and goes on serving "+
			"until annotation %s: \"true\" confirms that nobody needs it; otherwise take back what was changed",
		svc.Labels[LabelLoadBalancerID], annotation.ConfirmRelease)
}

// usesCertificates notes which certificates a Service names, and which listeners keep for it: those of
// before where a Secret has no good one.
func (e *engine) usesCertificates(s *state, wanted *model.Desired, there []model.Listener) {
	waits := map[model.ListenerKey]bool{}
	for _, l := range wanted.Listeners {
		waits[l.Key] = l.Waits != ""
	}
	there = slices.DeleteFunc(slices.Clone(there), func(l model.Listener) bool { return !waits[l.Key] })
	ids := certificatesOf(e.Product, slices.Concat(wanted.Listeners, there))
	for i := range ids {
		ids[i] = e.uploads.known(ids[i])
	}
	e.certs.Use(ids, s.certificates)
	s.certificates = ids
}

// forget forgets all about a Service that has nothing any more but what is known of it.
func (e *engine) forget(s *state) {
	e.usesCertificates(s, &model.Desired{}, nil)
	s.needs.Store(nil)
	e.Shared.metrics.withhold(s, withheld{})
	e.Shared.metrics.lastServers.set(&s.lastServers, false)
	e.Shared.metrics.noBackends.set(&s.noBackends, false)
}

// callNext wakes the Services for which the end of a pass makes room at the gateway.
func (e *engine) callNext(key string, o controller.Outcome) controller.Outcome {
	if refusal := noRoom(e.Product.Marks(), o.Err); refusal != nil {
		e.refusal.Store(refusal)
		e.creations.Refused(key, time.Now(), refusal.RetryAfter)
	} else {
		o.Wake = append(o.Wake, e.creations.Done(key, time.Now())...)
	}
	return o
}

// putOff is the outcome for a Service whose load balancer isn't asked for yet, since others wait for theirs. What was
// read is remembered until then.
func putOff(s pass, d decision, wait time.Duration, refusal *rpcerr.Error) controller.Outcome {
	if d.read {
		keep(s, d.entry.Holds(d.known, ""), false)
	}
	err := &apply.Failure{Action: d.plan.Phases[0][0], Err: waits(s.product.Marks(), refusal)}
	return controller.Outcome{
		Service: s.svc, Err: err, Retry: controller.Retry{Mode: controller.RetryLook},
		Looks:  []controller.Look{{After: wait, Priority: reconcile.User}},
		Events: []controller.Event{controller.Failure(controller.ReasonSyncFailed, err)},
	}
}

// calledForRoom adds the Service that is called for the room of a load balancer that was given up.
func (e *engine) calledForRoom(o controller.Outcome) controller.Outcome {
	if o.Err == nil && o.Changed {
		o.Wake = append(o.Wake, e.creations.Freed()...)
	}
	return o
}

// yielded is the outcome of a pass that gave way.
func yielded(ctx context.Context) (controller.Outcome, bool) {
	err := context.Cause(ctx)
	return controller.Outcome{Err: err}, errors.Is(err, reconcile.ErrYielded)
}
