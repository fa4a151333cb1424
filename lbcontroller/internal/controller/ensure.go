package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/clb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/clb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/clb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
	"alicloud-controllers.dev/lbcontroller/internal/clb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/clb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/clb/plan"
)

// retryUnresolved is when pods whose network interface wasn't found are looked up again.
const retryUnresolved = 30 * time.Second

// ensuring is the work on one Service that wants a CLB.
type ensuring struct {
	*Controller
	svc     *corev1.Service
	built   desired.Result
	desired *model.Desired
	hash    string
	// fresh tells that the Service certainly has no CLB yet.
	fresh bool
	entry memory.Entry
	// own is the CLB that was made for the Service, which it gives up for the one it names.
	own model.Observed
}

// ensure brings the CLB of a Service to what the Service asks for, and tells whether anything had to be done.
func (c *Controller) ensure(ctx context.Context, svc *corev1.Service) (changed bool, err error) {
	e := &ensuring{Controller: c, svc: svc}
	if err := e.build(); err != nil {
		return e.followOn(ctx, err, invalidBackends(err))
	}
	var added bool
	if e.svc, added, err = c.patcher.addFinalizer(ctx, svc); errors.Is(err, errGone) {
		return false, nil
	} else if err != nil {
		c.announce.fail(svc, reasonAddFinalizer, err)
		return false, err
	}
	if !e.current() {
		return false, nil
	}
	e.fresh = added && len(e.svc.Status.LoadBalancer.Ingress) == 0 && e.svc.Labels[LabelLoadBalancerID] == ""
	changed, err = e.sync(ctx)
	_, refused := errors.AsType[*refusedError](err)
	_, partly := errors.AsType[*partlyRefusedError](err)
	switch {
	case refused:
		return e.followOn(ctx, err, e.anyGroups())
	case err == nil, partly:
		return changed, err
	default:
		return changed, c.failed(e.svc, err)
	}
}

func (e *ensuring) build() error {
	slices, err := e.informers.slicesOf(keyOf(e.svc))
	if err != nil {
		return err
	}
	e.built, err = desired.Build(e.Build, desired.Input{Service: e.svc, Slices: slices, Nodes: e.nodes.Load()})
	if err != nil {
		return err
	}
	e.desired = e.built.Desired
	e.hash, err = e.desired.ConfigHash()
	return err
}

// sync reads what has to be read, plans, acts and writes the outcome down.
func (e *ensuring) sync(ctx context.Context) (changed bool, err error) {
	unresolved, err := e.enis.Resolve(ctx, keyOf(e.svc), e.desired.Groups)
	if err != nil {
		return false, err
	}
	if text := e.refusedBefore(); text != "" {
		return false, &refusedError{text: text}
	}
	observed, p, err := e.plan(ctx)
	if err != nil {
		return false, err
	}
	if e.desired.Reuse.ID != "" && e.moving() && len(p.Refused) > 0 {
		// A Service moves as a whole or not at all: what it has now serves on.
		return false, &refusedError{text: strings.Join(p.Refused, "; ")}
	}
	if observed.InstanceID == "" {
		if e.fresh {
			// A creation that is refused needs no search either when the Service changes.
			e.memory.Put(keyOf(e.svc), memory.Entry{UID: string(e.svc.UID), Observed: observed})
		}
		if err := e.mayCreate(ctx); err != nil {
			return false, err
		}
	}
	if changed = !p.Empty(); changed {
		if observed, err = e.apply(ctx, p, observed); err != nil {
			return true, err
		}
	}
	if err := e.moveOut(ctx); err != nil {
		return changed, err
	}
	complete := len(p.Refused) == 0
	e.remember(ctx, observed, complete)
	if err := e.publish(ctx, observed, complete); err != nil {
		return changed, err
	}
	e.report(observed, unresolved, changed, complete)
	if len(p.Refused) > 0 {
		return changed, e.refuse(p.Refused)
	}
	if len(unresolved) > 0 {
		e.runner.AddAfter(keyOf(e.svc), reconcile.Endpoint, retryUnresolved)
	}
	return changed, nil
}

// plan finds out what is there, as cheaply as is safe, and what to do.
func (e *ensuring) plan(ctx context.Context) (model.Observed, plan.Plan, error) {
	id := e.svc.Labels[LabelLoadBalancerID]
	reused := e.desired.Reuse.ID != ""
	configured := e.svc.Labels[LabelHash] == e.hash && id != "" && len(e.svc.Status.LoadBalancer.Ingress) > 0
	observed, known, due := e.remembered()
	// What is remembered may be the CLB that the Service had before.
	known = known && e.entry.Refused == "" && observed.Reused == reused && (!reused || observed.InstanceID == e.desired.Reuse.ID)
	if !known && e.fresh && !reused {
		observed, known = model.Nothing(), true
	}
	// After a restart the hash says that the configuration is in place; only the servers have to be compared.
	if !known && !due && configured {
		groups, err := e.observer.Groups(ctx, id, e.parts())
		if err != nil && !rpcerr.IsNotFound(err) {
			return model.Observed{}, plan.Plan{}, err
		}
		groups.Reused = reused
		observed, known = groups, err == nil
	}
	if known && !observed.ConfigKnown {
		if p, ok := plan.DiffServers(e.desired, observed); ok && configured {
			return observed, e.ordered(p), nil
		}
		known = false
	}
	if known {
		// What is to be deleted is looked at once more: others may have come to use it. On a user's CLB they may have made anything.
		if p := plan.Diff(e.desired, observed); !p.Deletes() && (!reused || !p.ChangesConfig()) {
			return observed, e.ordered(p), nil
		}
	}
	observed, err := e.look(ctx)
	if err != nil {
		return model.Observed{}, plan.Plan{}, err
	}
	e.entry = memory.Entry{} // What was read just now counts as verified.
	return observed, e.ordered(plan.Diff(e.desired, observed)), nil
}

// look reads the CLB that the Service names, or finds its own.
func (e *ensuring) look(ctx context.Context) (model.Observed, error) {
	if e.desired.Reuse.ID == "" {
		return e.observer.Find(ctx, e.hint(e.svc), slbv1.View_VIEW_FULL)
	}
	observed, err := e.named(ctx)
	if e.svc.Labels[LabelLoadBalancerID] != e.desired.Reuse.ID {
		e.desired.Instance.DroppedTags = nil // They were on another CLB.
	}
	return observed, err
}

// ordered makes room first if the cloud has just refused more servers.
func (e *ensuring) ordered(p plan.Plan) plan.Plan {
	if e.memory.Full(keyOf(e.svc)) {
		p.RemoveFirst()
	}
	return p
}

// remembered answers what is known from earlier, or that it is time to look again.
func (e *ensuring) remembered() (observed model.Observed, known, due bool) {
	entry, ok := e.memory.Get(keyOf(e.svc), string(e.svc.UID))
	if !ok {
		return model.Observed{}, false, false
	}
	if !entry.VerifyAt.IsZero() && !time.Now().Before(entry.VerifyAt) {
		return model.Observed{}, false, true
	}
	e.entry = entry
	return entry.Observed, true, false
}

func (c *Controller) hint(svc *corev1.Service) observe.Hint {
	h := observe.Hint{
		RecordedID: svc.Labels[LabelLoadBalancerID], DefaultName: ownership.DefaultName(string(svc.UID)), ClusterID: c.Build.ClusterID,
	}
	for _, i := range svc.Status.LoadBalancer.Ingress {
		if i.IP != "" {
			h.Addresses = append(h.Addresses, i.IP)
		}
	}
	for _, claim := range claimed(svc) {
		h.Users = append(h.Users, claim.LoadBalancer)
	}
	return h
}

// current tells whether the Service, which may have been read anew, still asks for the CLB for which it was built.
func (e *ensuring) current() bool {
	return e.Gate.Wants(e.svc) && annotation.Reused(e.svc.Annotations) == e.desired.Reuse.ID
}

// confirm reads the Service anew, for what can't be undone.
func (e *ensuring) confirm(ctx context.Context) error {
	live, _, err := e.patcher.confirmFinalizer(ctx, e.svc)
	if err != nil {
		return err
	}
	if e.svc = live; !e.current() {
		return errStale
	}
	return nil
}

// mayCreate keeps a Service that had an address from silently getting another, and obeys the cluster's rule about public CLBs. The
// Service is read anew unless it just was: a CLB must not be made for what the cache shows of a Service that has gone on since.
func (e *ensuring) mayCreate(ctx context.Context) error {
	if !e.fresh {
		if err := e.confirm(ctx); err != nil {
			return err
		}
	}
	if len(e.svc.Status.LoadBalancer.Ingress) > 0 {
		return &refusedError{text: fmt.Sprintf("the CLB %s of this Service is gone, and its address with it, or was not created for this Service; "+
			"to get a new one, clear status.loadBalancer: %s", e.svc.Labels[LabelLoadBalancerID], clearStatus(e.svc))}
	}
	if e.DisablePublic && e.desired.Instance.Spec.GetAddressType() == slbv1.AddressType_ADDRESS_TYPE_INTERNET {
		return &refusedError{text: "public CLBs are disabled in this cluster; set annotation " + annotation.Prefix + annotation.AddressType + " to intranet"}
	}
	return nil
}

func (e *ensuring) apply(ctx context.Context, p plan.Plan, observed model.Observed) (model.Observed, error) {
	e.Logger.Info("changing the CLB", "service", keyOf(e.svc), "loadBalancer", observed.InstanceID, "plan", p.String())
	replaces := e.svc.Labels[LabelLoadBalancerID]
	n := notes{annotations: map[string]string{}}
	if p.ChangesConfig() {
		// A crash on the way must not look like success, nor leave tags that nobody knows to be ours.
		n.labels = map[string]string{LabelHash: ""}
		n.annotations = ownTags(slices.Concat(annotation.ParseOwnTags(e.svc.Annotations), e.desired.Instance.Tags))
	}
	// Nor leave anything on a user's CLB that nobody knows of.
	claims := e.claims()
	for _, claim := range e.claim() {
		if claim.LoadBalancer == observed.InstanceID {
			claims = claims.With(claim)
		}
	}
	n.annotations[annotation.Claims] = claims.String()
	if err := e.patcher.note(ctx, e.svc, n); err != nil {
		e.announce.fail(e.svc, reasonRemoveHash, err)
		return observed, err
	}
	work := apply.Work{
		Plan: p, Observed: observed,
		Life: apply.Life{ClusterID: e.Build.ClusterID, UID: string(e.svc.UID), Generation: e.svc.Annotations[annotationGeneration], Replaces: replaces},
		Created: func(ctx context.Context, id string) error {
			return e.patcher.note(ctx, e.svc, notes{labels: map[string]string{LabelLoadBalancerID: id}})
		},
	}
	if e.desired.Instance.AnyVSwitch {
		work.OtherVSwitches = e.Build.VSwitchIDs
	}
	// From here on what is remembered is wrong, however this ends.
	e.memory.Forget(keyOf(e.svc))
	after, err := e.applier.Apply(ctx, work)
	if err == nil && observed.Reused {
		e.wakeSharers(keyOf(e.svc), observed, after)
	}
	return after, err
}
