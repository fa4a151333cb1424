package lb

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// retryEIP is when EIPs that could not be read are read again.
const retryEIP = time.Minute

// shownActions bounds the list of actions in an event.
const shownActions = 5

// shownPods bounds the list of pods in an event.
const shownPods = 5

// outcome is that of a pass that went well, except for what the plan refuses.
func (k *Kind) outcome(s subject, m memo, d decision, result done) controller.Outcome {
	complete := d.complete()
	o := controller.Outcome{
		Service: s.svc, Changed: result.changed, Publish: publication(s, m.entry, result.observed, complete),
		Events: append(slices.Clone(m.events), result.events...), Resolved: m.quiet, Wake: result.wake,
	}
	if m.eipUnknown {
		o.Publish.Ingress = s.svc.Status.LoadBalancer.Ingress
		o.Looks = append(o.Looks, controller.Look{After: retryEIP, Priority: reconcile.Periodic})
	}
	s.entry = m.entry
	o.Looks = append(o.Looks, s.looks()...)
	if d.begun {
		o.Looks = append(o.Looks, controller.Look{Priority: reconcile.Endpoint})
	}
	o.Resolved = append(o.Resolved, controller.ReasonCleanFailed, controller.ReasonUnconfirmed)
	if complete {
		o.Resolved = append(o.Resolved, controller.ReasonSyncFailed)
	}
	empty, last := withoutBackends(s.want.Desired, result.observed)
	k.Shared.metrics.noBackends.set(s.key, len(empty) > 0)
	k.Shared.metrics.lastServers.set(s.key, len(last) > 0)
	k.Shared.metrics.withheld.set(s.key, s.policy, len(d.withheld))
	if len(d.withheld) == 0 {
		o.Resolved = append(o.Resolved, controller.ReasonHeld)
	}
	if d.plan.ChangesConfig() { // Servers follow nodes and pods all the time.
		o.Events = append(o.Events, controller.Normalf(controller.ReasonEnsured, "CLB %s: %s", result.observed.InstanceID, summary(d.plan)))
	}
	o.Resolved = append(o.Resolved, s.addWarnings(&o, result.observed)...)
	if len(d.reported) > 0 {
		o.Events = append(o.Events, controller.Warningf(controller.ReasonDrift, "CLB %s was changed by somebody else and is left so by the configuration (drift); "+
			"to bring back what the Service asks for, remove its label %s; this is done then: %s", result.observed.InstanceID, LabelHash, summary(plan.Plan{Phases: []plan.Phase{d.reported}})))
	} else if d.known.extent == all {
		o.Resolved = append(o.Resolved, controller.ReasonDrift)
	}
	if warnings := k.certs.Warnings(certificatesOf(s.product, s.want.Desired.Listeners), time.Now()); len(warnings) > 0 {
		o.Events = append(o.Events, controller.Warningf(controller.ReasonCertificate, "CLB %s: %s", result.observed.InstanceID, joined(warnings)))
	} else {
		o.Resolved = append(o.Resolved, controller.ReasonCertificate)
	}
	if !complete {
		return k.heldBack(s, d, o)
	}
	return o
}

// withoutBackends are the names of the groups for which there are no backends: those that have no server which takes traffic, and those that keep
// their last ones.
func withoutBackends(want *model.Desired, observed model.Observed) (empty, last []string) {
	serves := func(s model.Server) bool { return s.Weight > 0 && want.Owner.Owns(s.Description) }
	for _, g := range want.Groups {
		if g.ID == model.DefaultGroup || slices.ContainsFunc(g.Servers, func(s model.Server) bool { return s.Weight > 0 }) {
			continue // The default group has the servers of the others.
		}
		i := slices.IndexFunc(observed.Groups, func(have model.Group) bool { return have.Name == g.Name || have.ID == g.ID && g.ID != "" })
		stays := func(s model.Server) bool {
			return serves(s) && (g.KeepLast && len(g.Servers) == 0 || g.Staying[s.Place()])
		}
		if i >= 0 && slices.ContainsFunc(observed.Groups[i].Servers, stays) {
			last = append(last, g.Name)
		} else {
			empty = append(empty, g.Name)
		}
	}
	return empty, last
}

// summary says what was done.
func summary(p plan.Plan) string {
	var texts []string
	more := 0
	for action := range p.Actions() {
		if len(texts) < shownActions {
			texts = append(texts, action.String())
		} else {
			more++
		}
	}
	if more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return joined(texts)
}

// addWarnings adds the warnings about a Service's backends and annotations, and returns the reasons of those that don't hold.
func (s subject) addWarnings(o *controller.Outcome, observed model.Observed) (quiet []string) {
	id := observed.InstanceID
	empty, last := withoutBackends(s.want.Desired, observed)
	if len(last) > 0 {
		o.Events = append(o.Events, controller.Warningf(controller.ReasonLastServers, "CLB %s keeps the last servers of %s: no node qualifies as a backend, or none is ready; "+
			"look whether there are nodes, whether they are ready or excluded, and whether they have the labels of annotation backend-label", id, strings.Join(last, ", ")))
	} else {
		quiet = append(quiet, controller.ReasonLastServers)
	}
	if len(empty) > 0 {
		o.Events = append(o.Events, controller.Warningf(controller.ReasonNoBackends, "CLB %s has no backends for %s: no ready node or pod qualifies, or their weight is 0; "+
			"look whether pods match the selector and are ready, and whether nodes are ready and have the labels of annotation backend-label", id, strings.Join(empty, ", ")))
	} else {
		quiet = append(quiet, controller.ReasonNoBackends)
	}
	warnings := slices.Clone(s.want.Warnings)
	if n := len(s.pods.Missing); n > 0 {
		shown := strings.Join(s.pods.Missing[:min(n, shownPods)], ", ")
		warnings = append(warnings, fmt.Sprintf("%d pods are left out because no network interface has their address: %s; "+
			"use pods with addresses of the VPC, or remove annotation %s", n, shown, annotation.BackendType))
	}
	if len(warnings) > 0 {
		event := controller.Warningf(controller.ReasonSkipBackends, "%s", joined(warnings))
		event.Cause = gist(warnings)
		o.Events = append(o.Events, event)
	} else {
		quiet = append(quiet, controller.ReasonSkipBackends)
	}
	if useless := append(slices.Concat(s.view.Unknown(), s.want.WithoutEffect), s.product.WithoutEffect(s.view, observed)...); len(useless) > 0 {
		o.Events = append(o.Events, controller.Warningf(controller.ReasonUnknown, "%s", joined(useless)))
	} else if observed.ConfigKnown {
		quiet = append(quiet, controller.ReasonUnknown)
	}
	if kept := s.view.Kept(); len(kept) > 0 {
		o.Events = append(o.Events, controller.Donef(controller.ReasonKept, "CLB %s keeps what was asked for by the annotations that were removed: %s; "+
			"set them to another value, or change it in the console", id, strings.Join(kept, ", ")))
	} else {
		quiet = append(quiet, controller.ReasonKept)
	}
	if !s.view.Preserved() {
		quiet = append(quiet, controller.ReasonPreserved)
	} else {
		o.Events = append(o.Events, controller.Warningf(controller.ReasonPreserved, "CLB %s will be kept when the Service goes; remove annotation %s%s to have it released then", id, annotation.Prefix, annotation.PreserveOnDelete))
	}
	return quiet
}

// looks are the times to look at a Service again: when the cloud must be read, when it may take more servers, and when pods may have got their network interface.
func (s subject) looks() []controller.Look {
	var looks []controller.Look
	if !s.entry.VerifyAt.IsZero() {
		looks = append(looks, controller.Look{After: time.Until(s.entry.VerifyAt), Priority: reconcile.Periodic})
	}
	if s.want.EIP && !s.entry.EIPsUntil.IsZero() {
		looks = append(looks, controller.Look{After: time.Until(s.entry.EIPsUntil), Priority: reconcile.Periodic})
	}
	if !s.limited.IsZero() {
		looks = append(looks, controller.Look{After: time.Until(s.limited), Priority: reconcile.Periodic})
	}
	if len(s.pods.Missing)+len(s.pods.Pending) > 0 {
		looks = append(looks, controller.Look{After: s.pods.Again, Priority: reconcile.Endpoint})
	}
	return looks
}

// publication is what is written on the Service. The hash appears only when everything asked for is in place.
func publication(s subject, e memory.Entry, observed model.Observed, complete bool) *controller.Publication {
	n := controller.Notes{
		Labels:      map[string]string{LabelLoadBalancerID: observed.InstanceID, LabelHash: s.hash},
		Annotations: ownTags(s.want.Desired.Instance.Tags), Exact: []string{annotation.Claims},
	}
	n.Annotations[annotation.Claims] = reuse.Kept(s.want.Desired, observed).String()
	after, meanwhile := s.view.Applied()
	n.Annotations[annotation.Applied], n.Annotations[annotation.Making] = after, ""
	if !complete {
		n.Annotations[annotation.Making] = noListener // All that were made are started.
		n.Labels[LabelHash], n.Annotations[annotation.Applied] = "", meanwhile
	}
	return &controller.Publication{Notes: n, Ingress: ingress(s, e, observed)}
}

// ownTags is the note of the tags that are the Service's, as a set.
func ownTags(keys []string) map[string]string {
	keys = slices.Sorted(slices.Values(keys))
	return map[string]string{annotation.OwnTags: strings.Join(slices.Compact(keys), ",")}
}

// ingress is what the status shows: the asked host name, else the EIPs, else the address of the CLB.
func ingress(s subject, e memory.Entry, observed model.Observed) []corev1.LoadBalancerIngress {
	if s.want.Hostname != "" {
		return []corev1.LoadBalancerIngress{{Hostname: s.want.Hostname}}
	}
	if !observed.ConfigKnown {
		return s.svc.Status.LoadBalancer.Ingress
	}
	var mode *corev1.LoadBalancerIPMode
	if s.want.IPMode != "" {
		mode = new(corev1.LoadBalancerIPMode(s.want.IPMode))
	}
	if s.product.Marks().HostNames {
		return []corev1.LoadBalancerIngress{{Hostname: observed.Address()}}
	}
	if len(e.EIPs) == 0 {
		return []corev1.LoadBalancerIngress{{IP: observed.Address(), IPMode: mode}}
	}
	var shown []corev1.LoadBalancerIngress
	for _, ip := range e.EIPs {
		shown = append(shown, corev1.LoadBalancerIngress{IP: ip, IPMode: mode})
	}
	return shown
}

// gist leaves numbers and names out of warnings: which nodes and pods are left out changes all the time, and every Service would report it.
func gist(warnings []string) string {
	kinds := make([]string, len(warnings))
	for i, w := range warnings {
		kind, _, _ := strings.Cut(w, ": ")
		kinds[i] = strings.TrimLeft(kind, "0123456789")
	}
	return joined(kinds)
}

// outcomeOfFailure is that of a pass in which calls failed. What they have done isn't known.
func (k *Kind) outcomeOfFailure(s subject, changed bool, err error) controller.Outcome {
	o := controller.Outcome{Service: s.svc, Changed: changed, Err: err}
	if controller.Superseded(err) {
		return o
	}
	if _, ok := errors.AsType[*noteError](err); ok {
		o.Events = append(o.Events, controller.Failure(controller.ReasonRemoveHash, err))
	}
	calls := causes(err)
	verdict := judge(calls)
	o.Retry = verdict.retry
	o.Events = append(o.Events, controller.Failure(controller.ReasonSyncFailed, calls...))
	k.memory.Forget(s.key)
	if verdict.full {
		k.memory.SetFull(s.key)
	}
	return o
}

// verdict is what failed calls mean for a Service.
type verdict struct {
	retry controller.Retry
	// full reports that a server group takes no more servers: the next pass removes before it adds.
	full bool
}

// judge decides what failed calls mean together. The longest time that the gateway asks for counts, whatever else has failed. What the cloud
// calls invalid isn't repeated soon, but from time to time: the cloud's codes aren't all known, and what is missing may be made.
func judge(calls []error) verdict {
	v := verdict{retry: controller.Retry{Mode: controller.RetryBackoff}}
	invalid := 0
	for _, err := range calls {
		if after, ok := rpcerr.RetryAfter(err); ok {
			v.retry.After = max(v.retry.After, after)
		}
		if isInvalid(err) {
			invalid++
		}
		v.full = v.full || rpcerr.ReasonOf(err) == rpcerr.ServerLimit
	}
	if invalid == len(calls) {
		v.retry = controller.Retry{Mode: controller.RetryAfter, After: retryRefused}
	}
	return v
}

// causes lists the failed calls in an error.
func causes(err error) []error {
	several, ok := err.(interface{ Unwrap() []error }) // Only the outermost error may have several causes.
	if !ok {
		return []error{err}
	}
	var list []error
	for _, e := range several.Unwrap() {
		list = append(list, causes(e)...)
	}
	return list
}

// isInvalid reports whether the cloud refused what was asked, which repeating doesn't change.
func isInvalid(err error) bool {
	e, ok := rpcerr.From(err)
	return ok && e.Code == codes.InvalidArgument
}

// isGone reports that any of the failed calls found that the CLB doesn't exist.
func isGone(err error) bool {
	return slices.ContainsFunc(causes(err), func(err error) bool { return rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound })
}

// halfway is what a Service shows of a CLB on which something failed: its address, as soon as one of its listeners is there. The hash stays away, unless
// only servers were to change.
func halfway(s subject, d decision, result done) *controller.Publication {
	want := s.want.Desired
	if !result.observed.ConfigKnown || result.observed.Address() == "" || s.want.EIP || d.known.own.InstanceID != "" {
		return nil
	}
	have := map[model.ListenerKey]bool{}
	for _, l := range result.observed.Listeners {
		have[l.Key] = true
	}
	if len(want.Listeners) > 0 && !slices.ContainsFunc(want.Listeners, func(l model.Listener) bool { return have[l.Key] }) {
		return nil
	}
	p := publication(s, d.entry, result.observed, d.complete() && !d.plan.ChangesConfig())
	p.Notes.Annotations = nil // What was noted before the first call still holds.
	return p
}
