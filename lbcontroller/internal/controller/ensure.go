package controller

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/apply"
	"alicloud-controllers.dev/lbcontroller/internal/build"
	"alicloud-controllers.dev/lbcontroller/internal/mark"
	"alicloud-controllers.dev/lbcontroller/internal/memory"
	"alicloud-controllers.dev/lbcontroller/internal/model"
	"alicloud-controllers.dev/lbcontroller/internal/observe"
	"alicloud-controllers.dev/lbcontroller/internal/plan"
)

// retryUnresolved is when pods whose network interface wasn't found are looked up again.
const retryUnresolved = 30 * time.Second

// ensuring is the work on one Service that wants a CLB.
type ensuring struct {
	*Controller
	svc     *corev1.Service
	built   build.Result
	desired *model.Desired
	hash    string
	// fresh tells that the Service certainly has no CLB yet.
	fresh bool
	entry memory.Entry
}

// ensure brings the CLB of a Service to what the Service asks for, and tells whether anything had to be done.
func (c *Controller) ensure(ctx context.Context, svc *corev1.Service) (changed bool, err error) {
	e := &ensuring{Controller: c, svc: svc}
	if err := e.build(); err != nil {
		changed, followErr := e.follow(ctx, err)
		if followErr != nil {
			return changed, c.failed(svc, followErr)
		}
		return changed, c.failed(svc, err)
	}
	var added bool
	if e.svc, added, err = c.patcher.addFinalizer(ctx, svc); errors.Is(err, errGone) {
		return false, nil
	} else if err != nil {
		c.announce.fail(svc, reasonAddFinalizer, err)
		return false, err
	}
	e.fresh = added && len(e.svc.Status.LoadBalancer.Ingress) == 0 && e.svc.Labels[LabelLoadBalancerID] == ""
	changed, err = e.sync(ctx)
	if err != nil && !errors.Is(err, errGone) {
		return changed, c.failed(e.svc, err)
	}
	return changed, nil
}

// failed tells the user, and chooses the retry: what only the user can mend waits for the user.
func (c *Controller) failed(svc *corev1.Service, err error) error {
	c.announce.fail(svc, reasonSyncFailed, err)
	if _, ok := errors.AsType[*build.InvalidError](err); ok {
		return reconcile.Terminal(err)
	}
	if _, ok := errors.AsType[*refusedError](err); ok {
		return reconcile.Terminal(err)
	}
	c.memory.Forget(keyOf(svc)) // What the failed calls have done isn't known.
	calls := failures(err)
	if slices.ContainsFunc(calls, func(e error) bool { return rpcerr.ReasonOf(e) == rpcerr.ServerLimit }) {
		c.memory.SetFull(keyOf(svc))
	}
	if !slices.ContainsFunc(calls, func(e error) bool { return !isInvalid(e) }) {
		return reconcile.Terminal(err)
	}
	return err
}

// failures lists the failed calls in an error: the actions of a phase fail each for its own reason.
func failures(err error) []error {
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok {
		return []error{err}
	}
	var list []error
	for _, e := range joined.Unwrap() {
		list = append(list, failures(e)...)
	}
	return list
}

// isInvalid tells whether the cloud refused what was asked, which repeating doesn't change.
func isInvalid(err error) bool {
	e, ok := rpcerr.From(err)
	return ok && e.Code == codes.InvalidArgument
}

// refusedError is what the controller won't do until the Service changes.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return e.text }

func (e *ensuring) build() error {
	slices, err := e.informers.slicesOf(keyOf(e.svc))
	if err != nil {
		return err
	}
	e.built, err = build.Build(e.Build, build.Input{Service: e.svc, Slices: slices, Nodes: e.nodes.Load()})
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
	observed, p, err := e.plan(ctx)
	if err != nil {
		return false, err
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
	complete := len(p.Refused) == 0
	e.remember(ctx, observed, complete)
	if err := e.publish(ctx, observed, complete); err != nil {
		return changed, err
	}
	e.report(observed, unresolved, changed)
	if len(p.Refused) > 0 {
		return changed, e.refuse(p.Refused)
	}
	if len(unresolved) > 0 {
		e.runner.AddAfter(keyOf(e.svc), reconcile.Endpoint, retryUnresolved)
	}
	return changed, nil
}

// refuse keeps what is remembered: nothing has failed, there is only more asked for than will be done.
func (e *ensuring) refuse(refused []string) error {
	err := errors.New(strings.Join(refused, "; "))
	e.announce.fail(e.svc, reasonSyncFailed, err)
	return reconcile.Terminal(err)
}

// plan finds out what is there, as cheaply as is safe, and what to do.
func (e *ensuring) plan(ctx context.Context) (model.Observed, plan.Plan, error) {
	id := e.svc.Labels[LabelLoadBalancerID]
	configured := e.svc.Labels[LabelHash] == e.hash && id != "" && len(e.svc.Status.LoadBalancer.Ingress) > 0
	observed, known, due := e.remembered()
	if !known && e.fresh {
		observed, known = model.Nothing(), true
	}
	// After a restart the hash says that the configuration is in place; only the servers have to be compared.
	if !known && !due && configured {
		groups, err := e.observer.Groups(ctx, id, e.desired.Owner)
		if err != nil && !rpcerr.IsNotFound(err) {
			return model.Observed{}, plan.Plan{}, err
		}
		observed, known = groups, err == nil
	}
	if known && !observed.ConfigKnown {
		if p, ok := plan.DiffServers(e.desired, observed); ok && configured {
			return observed, e.ordered(p), nil
		}
		known = false
	}
	if known {
		// What is to be deleted is looked at once more: others may have come to use it.
		if p := plan.Diff(e.desired, observed); !p.Deletes() {
			return observed, e.ordered(p), nil
		}
	}
	observed, err := e.observer.Find(ctx, e.hint(e.svc), slbv1.View_VIEW_FULL)
	if err != nil {
		return model.Observed{}, plan.Plan{}, err
	}
	e.entry = memory.Entry{} // What was read just now counts as verified.
	return observed, e.ordered(plan.Diff(e.desired, observed)), nil
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
		RecordedID: svc.Labels[LabelLoadBalancerID], DefaultName: mark.DefaultName(string(svc.UID)), ClusterID: c.Build.ClusterID,
	}
	for _, i := range svc.Status.LoadBalancer.Ingress {
		if i.IP != "" {
			h.Addresses = append(h.Addresses, i.IP)
		}
	}
	return h
}

// mayCreate keeps a Service that had an address from silently getting another, and obeys the cluster's rule about public CLBs. The
// Service is read anew unless it just was: a CLB must not be made for what the cache shows of a Service that has gone on since.
func (e *ensuring) mayCreate(ctx context.Context) error {
	if !e.fresh {
		live, _, err := e.patcher.confirmFinalizer(ctx, e.svc)
		if err != nil {
			return err
		}
		e.svc = live
	}
	if len(e.svc.Status.LoadBalancer.Ingress) > 0 {
		return &refusedError{fmt.Sprintf("the CLB %s of this Service is gone, and its address with it, or was not created for this Service; "+
			"to get a new one, clear status.loadBalancer: "+
			`kubectl -n %s patch service %s --subresource=status --type=merge -p '{"status":{"loadBalancer":null}}'`,
			e.svc.Labels[LabelLoadBalancerID], e.svc.Namespace, e.svc.Name)}
	}
	if e.DisablePublic && e.desired.Instance.Spec.GetAddressType() == slbv1.AddressType_ADDRESS_TYPE_INTERNET {
		return &refusedError{"public CLBs are disabled in this cluster; set annotation " + annotation.Prefix + annotation.AddressType + " to intranet"}
	}
	return nil
}

func (e *ensuring) apply(ctx context.Context, p plan.Plan, observed model.Observed) (model.Observed, error) {
	e.Logger.Info("changing the CLB", "service", keyOf(e.svc), "loadBalancer", observed.InstanceID, "plan", p.String())
	replaces := e.svc.Labels[LabelLoadBalancerID]
	if p.ChangesConfig() {
		// A crash on the way must not look like success, nor leave tags that nobody knows to be ours.
		if err := e.patcher.note(ctx, e.svc, notes{
			labels: map[string]string{LabelHash: ""}, annotations: ownTags(slices.Concat(annotation.ParseOwnTags(e.svc.Annotations), e.desired.Instance.Tags)),
		}); err != nil {
			e.announce.fail(e.svc, reasonRemoveHash, err)
			return observed, err
		}
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
	return e.applier.Apply(ctx, work)
}

// remember keeps what is there now, and when to read it again.
func (e *ensuring) remember(ctx context.Context, observed model.Observed, complete bool) {
	if e.entry.Hash = e.hash; !complete {
		e.entry.Hash = ""
	}
	if e.built.EIP && e.entry.EIPs == nil {
		e.entry.EIPs = e.eips(ctx, observed.InstanceID)
	}
	if !e.built.EIP {
		e.entry.EIPs = nil
	}
	e.keep(observed)
}

// keep remembers the servers, and the rest as it is.
func (e *ensuring) keep(observed model.Observed) {
	e.entry.UID, e.entry.Observed = string(e.svc.UID), observed
	if e.entry.VerifyAt.IsZero() {
		e.entry.VerifyAt = time.Now().Add(e.nextCheck(observed.ConfigKnown))
	}
	e.memory.Put(keyOf(e.svc), e.entry)
	e.runner.AddAfter(keyOf(e.svc), reconcile.Periodic, time.Until(e.entry.VerifyAt))
}

// nextCheck spreads the drift checks: the share of the interval is the Service's own. What was read completely waits for at
// least three quarters of it; what was not may come at any time within.
func (e *ensuring) nextCheck(complete bool) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(e.svc.UID)) // A hash never fails to write.
	share := float64(h.Sum32()) / float64(1<<32)
	if complete {
		share = 0.75 + share/2
	}
	return time.Duration(share * float64(e.DriftCheck))
}

// publish writes labels and status. The hash appears only when everything asked for is in place.
func (e *ensuring) publish(ctx context.Context, observed model.Observed, complete bool) error {
	n := notes{
		labels:      map[string]string{LabelLoadBalancerID: observed.InstanceID, LabelHash: e.hash},
		annotations: ownTags(e.desired.Instance.Tags),
	}
	if !complete {
		n.labels[LabelHash] = ""
	}
	if err := e.patcher.finish(ctx, e.svc, n, e.ingress(observed)); err != nil {
		e.announce.fail(e.svc, reasonUpdateStatus, err)
		return err
	}
	return nil
}

// ownTags is the note of the tags that are the Service's, as a set.
func ownTags(keys []string) map[string]string {
	keys = slices.Sorted(slices.Values(keys))
	return map[string]string{annotation.OwnTags: strings.Join(slices.Compact(keys), ",")}
}

// ingress is what the status shows: the asked host name, else the EIPs, else the address of the CLB.
func (e *ensuring) ingress(observed model.Observed) []corev1.LoadBalancerIngress {
	if e.built.Hostname != "" {
		return []corev1.LoadBalancerIngress{{Hostname: e.built.Hostname}}
	}
	if !observed.ConfigKnown {
		return e.svc.Status.LoadBalancer.Ingress
	}
	if len(e.entry.EIPs) == 0 {
		return []corev1.LoadBalancerIngress{{IP: observed.Instance.GetAddress()}}
	}
	var ingress []corev1.LoadBalancerIngress
	for _, ip := range e.entry.EIPs {
		ingress = append(ingress, corev1.LoadBalancerIngress{IP: ip})
	}
	return ingress
}

// report tells the user the outcome, each part only when it changes.
func (e *ensuring) report(observed model.Observed, unresolved []string, changed bool) {
	tell := func(eventType, reason, format string, args ...any) {
		e.announce.tell(e.svc, eventType, reason, format, args...)
	}
	e.announce.settle(e.svc, reasonSyncFailed, reasonAddFinalizer, reasonRemoveHash, reasonUpdateStatus)
	if changed {
		e.announce.settle(e.svc, reasonEnsured)
		tell(corev1.EventTypeNormal, reasonEnsured, "CLB %s is as the Service asks", observed.InstanceID)
	}
	var empty []string
	for _, g := range e.desired.Groups {
		if len(g.Servers) == 0 {
			empty = append(empty, g.Name)
		}
	}
	if len(empty) > 0 {
		tell(corev1.EventTypeNormal, reasonNoBackends, "CLB %s has no backends for %s: no ready node or pod qualifies", observed.InstanceID, strings.Join(empty, ", "))
	} else {
		e.announce.settle(e.svc, reasonNoBackends)
	}
	warnings := e.built.Warnings
	if len(unresolved) > 0 {
		shown := slices.Clone(unresolved[:min(len(unresolved), 5)])
		warnings = append(warnings, fmt.Sprintf("%d pods are left out because no network interface has their address: %s", len(unresolved), strings.Join(shown, ", ")))
	}
	if len(warnings) > 0 {
		tell(corev1.EventTypeWarning, reasonSkipBackends, "%s", strings.Join(warnings, "; "))
	} else {
		e.announce.settle(e.svc, reasonSkipBackends)
	}
	if annotation.Preserved(e.svc.Annotations) {
		tell(corev1.EventTypeWarning, reasonPreserved, "CLB %s will be kept when the Service goes (annotation %s%s)", observed.InstanceID, annotation.Prefix, annotation.PreserveOnDelete)
	}
}
