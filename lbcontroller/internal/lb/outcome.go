package lb

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// shownPods bounds the list of pods in an event.
const shownPods = 5

// outcome is that of a pass that went well, except for what the plan refuses.
func outcome(s pass, d decision, done result, shown addresses, certificates []string) controller.Outcome {
	complete := d.complete()
	o := controller.Outcome{
		Service: s.svc, Changed: done.changed, Publish: publication(s, shown.list, done.observed, complete),
		Events: slices.Clone(done.events), Resolved: []string{controller.ReasonCleanFailed, controller.ReasonUnconfirmed},
		Wake: done.wake, Looks: s.looks(), Filled: filled(s.want.Desired, done.observed),
	}
	switch { // A pass that doesn't publish bound addresses needs no look at them: the time of what is remembered may be over.
	case shown.unknown:
		o.Publish.Ingress = s.svc.Status.LoadBalancer.Ingress
		o.Looks = append(o.Looks, controller.Look{After: retryAddresses, Priority: reconcile.Periodic})
	case s.want.ShowsBound:
		o.Looks = append(o.Looks, controller.Look{After: time.Until(s.entry.AddressesUntil), Priority: reconcile.Periodic})
	}
	if d.begun {
		o.Looks = append(o.Looks, controller.Look{Priority: reconcile.Endpoint})
	}
	say := func(reason string, event *controller.Event, isOver bool) {
		if event != nil {
			o.Events = append(o.Events, *event)
		} else if isOver {
			o.Resolved = append(o.Resolved, reason)
		}
	}
	id := done.observed.InstanceID
	say(controller.ReasonAddress, shown.trouble, true)
	say(controller.ReasonSyncFailed, nil, complete)
	say(controller.ReasonHeld, nil, len(d.withheld) == 0)
	if d.plan.ChangesConfig() { // Servers follow nodes and pods all the time.
		o.Events = append(o.Events, controller.Normalf(controller.ReasonEnsured, "load balancer %s: %s", id, summary(d.plan)))
	}
	warn(s, d, done.observed, say)
	_, isAll := d.known.(knowledge.All)
	say(controller.ReasonDrift, warning(len(d.reported) > 0, controller.ReasonDrift,
		"load balancer %s was changed by somebody else and is left so by the configuration "+
			"(drift); to bring back what the Service asks for, remove its label %s; this is done then: %s",
		id, LabelHash, summary(plan.Plan{Phases: []plan.Phase{d.reported}})), isAll)
	say(controller.ReasonSecret, warning(len(s.want.Lacking) > 0, controller.ReasonSecret, "%s; the certificate of before stays until "+
		"then", strings.Join(s.want.Lacking, "; ")), true)
	say(controller.ReasonCertificate, warning(len(certificates) > 0, controller.ReasonCertificate, "load balancer %s: %s", id,
		strings.Join(certificates, "; ")), true)
	if !complete {
		return heldBack(s, d, o)
	}
	return o
}

// warning makes a warning, if there is one.
func warning(holds bool, reason, format string, args ...any) *controller.Event {
	if !holds {
		return nil
	}
	return new(controller.Warningf(reason, format, args...))
}

// withoutListener says, as text for users, that no listener of a user's load balancer leads to the Service. One of http
// or https may do so by its rules, which aren't known.
func withoutListener(want *model.Desired, observed model.Observed) []string {
	if want.Reuse.ID == "" || want.Reuse.Listeners || !observed.ConfigKnown || slices.ContainsFunc(observed.Listeners,
		func(l model.Listener) bool {
			forwards := slices.ContainsFunc(observed.Groups, func(g model.Group) bool { return g.ID == l.GroupID() })
			return forwards || l.Key.Protocol == model.HTTP || l.Key.Protocol == model.HTTPS
		}) {
		return nil
	}
	return []string{fmt.Sprintf("no listener of load balancer %s forwards to a server group of the Service; make one in the console, "+
		"or set annotation %s%s to \"true\" to have the listeners of the Service made", observed.InstanceID,
		annotation.Prefix, annotation.ForceOverride)}
}

// withoutBackends are the names of the groups for which there are no backends: those that have no server which takes
// traffic, and those that keep their last ones. Groups to which listeners don't go for that are neither.
func (d decision) withoutBackends(want *model.Desired, observed model.Observed) (empty, last []string) {
	kept := func(name string) bool {
		return slices.ContainsFunc(d.plan.Kept, func(k plan.Kept) bool { return k.Group == name })
	}
	serves := func(s model.Server) bool { return s.Weight > 0 && want.Owner.Owns(s.Description) }
	for _, g := range want.Groups {
		if g.BuiltIn || kept(g.Name) || slices.ContainsFunc(g.Servers, func(s model.Server) bool { return s.Weight > 0 }) {
			continue // The built-in group has the servers of the others.
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

// lastServers says which last servers stay, as text for users.
func lastServers(id string, d decision, last []string) []string {
	var texts []string
	if len(last) > 0 {
		texts = append(texts, fmt.Sprintf(
			"load balancer %s keeps the last servers of %s: no node qualifies as a backend, or none is ready, or no pod has the port; look "+
				"whether there are nodes, whether they are ready or excluded, whether they have the labels of annotation "+
				"backend-label, and whether pods have the target port",
			id, strings.Join(last, ", ")))
	}
	for _, kept := range d.plan.Kept {
		texts = append(texts, kept.Text)
	}
	return texts
}

// warn says what users should know about a Service's backends and annotations, and which of it holds no longer.
func warn(s pass, d decision, observed model.Observed, say func(reason string, event *controller.Event, isOver bool)) {
	id := observed.InstanceID
	empty, last := d.withoutBackends(s.want.Desired, observed)
	keeps := lastServers(id, d, last)
	say(controller.ReasonLastServers, warning(len(keeps) > 0, controller.ReasonLastServers, "%s", strings.Join(keeps, "; ")), true)
	say(controller.ReasonNoBackends, warning(len(empty) > 0, controller.ReasonNoBackends,
		"load balancer %s has no backends for %s: no ready node or pod qualifies, "+
			"or their weight is 0; look whether pods match the selector and are ready, and whether nodes are ready and have "+
			"the labels of annotation backend-label",
		id, strings.Join(empty, ", ")), true)
	warnings := slices.Clone(s.want.Warnings)
	if n := len(s.pods.Missing); n > 0 {
		shown := strings.Join(s.pods.Missing[:min(n, shownPods)], ", ")
		instead := ", or set annotation " + annotation.BackendType + " to ecs, for nodes as backends"
		if s.view.Mode != backend.Pods { // They are on virtual nodes, which can't be servers themselves.
			instead = ", or keep them off virtual nodes"
		}
		warnings = append(warnings, fmt.Sprintf("%d pods are left out because no network interface has their address: %s; "+
			"use pods with addresses of the VPC%s", n, shown, instead))
	}
	skipped := warning(len(warnings) > 0, controller.ReasonSkipBackends, "%s", strings.Join(warnings, "; "))
	if skipped != nil {
		skipped.Cause = withoutNames(warnings)
	}
	say(controller.ReasonSkipBackends, skipped, true)
	useless := slices.Concat(s.view.Unknown(), s.want.WithoutEffect, s.product.WithoutEffect(s.view, observed),
		withoutListener(s.want.Desired, observed))
	say(controller.ReasonUnknown, warning(len(useless) > 0, controller.ReasonUnknown, "%s", strings.Join(useless, "; ")), observed.ConfigKnown)
	kept := s.view.Kept()
	remains := warning(len(kept) > 0, controller.ReasonKept,
		"the removal of annotations changes nothing on load balancer %s, which keeps what they have set there, if "+
			"anything: %s; set them to another value, or change it in the console", id, strings.Join(kept, ", "))
	if remains != nil {
		remains.Done = true
	}
	say(controller.ReasonKept, remains, true)
	var stays []string
	if s.view.Preserved() {
		stays = append(stays, fmt.Sprintf("load balancer %s will be kept when the Service goes; "+
			"remove annotation %s%s to have it released then", id, annotation.Prefix, annotation.PreserveOnDelete))
	}
	if s.want.Desired.Access.IsOver() {
		for _, text := range plan.LeftLists(observed.Lists) {
			stays = append(stays, "the Service needs no "+text+": it stays; delete it by hand if nobody needs it")
		}
	}
	say(controller.ReasonPreserved, warning(len(stays) > 0, controller.ReasonPreserved, "%s",
		strings.Join(stays, "; ")), true)
}

// publication is what is written on the Service. The hash appears only when everything asked for is in place.
func publication(s pass, addresses []string, observed model.Observed, complete bool) *controller.Publication {
	n := controller.Notes{
		Labels:      map[string]string{LabelLoadBalancerID: observed.InstanceID, LabelHash: s.hash},
		Annotations: ownTags(s.want.Desired.Instance.Tags), Exact: []string{annotation.Claims},
	}
	if label := s.product.Marks().ListLabel; label != "" && observed.ListsKnown {
		n.Labels[label] = guardOf(s.product, s.want.Desired, observed)
	}
	n.Annotations[annotation.Claims] = reuse.Kept(s.want.Desired, observed).String()
	after, meanwhile := s.view.Applied(s.view.MayHaveList() && (len(observed.Lists) > 0 || !observed.ListsKnown))
	n.Annotations[annotation.Applied], n.Annotations[annotation.Making] = after, ""
	noteBound(n, s.want.Desired.Binding, complete && (s.want.Desired.Reuse.ID == "" || s.policy.allowsDeletions()))
	if !complete {
		n.Annotations[annotation.Making] = noListener // All that were made are started.
		n.Labels[LabelHash], n.Annotations[annotation.Applied] = "", meanwhile
	}
	return &controller.Publication{Notes: n, Ingress: ingress(s, addresses, observed)}
}

// guardOf is the id of the access list that the Service asks for; empty if it asks for none, or it isn't there yet.
func guardOf(kind model.ListUser, d *model.Desired, o model.Observed) string {
	if list, isThere := o.List(kind); isThere && d.Access != nil && !d.Access.IsOver() {
		return list.ID
	}
	return ""
}

// ownTags is the note of the tags that are the Service's, as a set.
func ownTags(keys []string) map[string]string {
	keys = slices.Sorted(slices.Values(keys))
	return map[string]string{annotation.OwnTags: strings.Join(slices.Compact(keys), ",")}
}

// ingress is what the status shows: the asked host name, else the bound addresses, else the address of the load balancer.
func ingress(s pass, addresses []string, observed model.Observed) []corev1.LoadBalancerIngress {
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
	if len(addresses) == 0 {
		return []corev1.LoadBalancerIngress{{IP: observed.Address(), IPMode: mode}}
	}
	var shown []corev1.LoadBalancerIngress
	for _, ip := range addresses {
		shown = append(shown, corev1.LoadBalancerIngress{IP: ip, IPMode: mode})
	}
	return shown
}

// withoutNames leaves numbers and names out of warnings: which nodes and pods are left out changes all the time, and
// every Service would report it.
func withoutNames(warnings []string) string {
	kinds := make([]string, len(warnings))
	for i, w := range warnings {
		kind, _, _ := strings.Cut(w, ": ")
		kinds[i] = strings.TrimLeft(kind, "0123456789")
	}
	return strings.Join(kinds, "; ")
}

// halfway is what a Service shows of a load balancer on which something failed: its address, as soon as one of its
// listeners is there. The hash stays away, unless only servers were to change.
func halfway(s pass, d decision, done result) *controller.Publication {
	want := s.want.Desired
	if !done.observed.ConfigKnown || done.observed.Address() == "" || s.want.ShowsBound || d.own().InstanceID != "" {
		return nil
	}
	have := map[model.ListenerKey]bool{}
	for _, l := range done.observed.Listeners {
		have[l.Key] = true
	}
	if len(want.Listeners) > 0 && !slices.ContainsFunc(want.Listeners, func(l model.Listener) bool { return have[l.Key] }) {
		return nil
	}
	p := publication(s, d.entry.Addresses, done.observed, d.complete() && !d.plan.ChangesConfig())
	p.Notes.Annotations = nil // What was noted before the first call still holds.
	return p
}

// heldBack adds to an outcome what a policy or the plan itself leaves undone.
func heldBack(s pass, d decision, o controller.Outcome) controller.Outcome {
	o.Retry = controller.Retry{Mode: controller.RetryNever}
	var errs []error
	var told []error // What has an event of its own.
	refused := slices.Clone(d.plan.Refused)
	for _, kept := range d.plan.Kept {
		told, o.Reason = append(told, errors.New(kept.Text)), controller.ReasonLastServers
		refused = slices.DeleteFunc(refused, func(text string) bool { return text == kept.Text })
	}
	if len(refused) > 0 {
		err := errors.New(strings.Join(refused, "; "))
		errs, o.Reason = append(errs, err), controller.ReasonRefused
		o.Events = append(o.Events, controller.Failure(controller.ReasonSyncFailed, err))
	} else {
		o.Resolved = append(o.Resolved, controller.ReasonSyncFailed)
	}
	errs = append(errs, told...)
	if len(d.withheld) > 0 {
		err := s.policy.withheld(d.there().InstanceID, d.withheld)
		errs = append(errs, err)
		o.Events = append(o.Events, controller.Warningf(controller.ReasonHeld, "%s", err))
		if o.Reason == "" {
			o.Reason = controller.ReasonHeld
		}
	}
	o.Err = errors.Join(errs...)
	return o
}

// heldRelease is the outcome for a Service that is to give up what it has while its policy doesn't allow that. The
// Service stays until then: what it has would belong to no Service.
func heldRelease(policy Policy, what string) controller.Outcome {
	err := fmt.Errorf("policy %s: not done: %s; the Service keeps its finalizer until then; %s", policy, what, remedy)
	return controller.Outcome{
		Err: err, Reason: controller.ReasonHeld, Retry: controller.Retry{Mode: controller.RetryNever},
		Events: []controller.Event{controller.Warningf(controller.ReasonHeld, "%s", err)},
	}
}

// outcomeOfRefusal is that of a Service that can't have what it asks for. A refusal is remembered: that spares the reads until the Service
// says something else, or until it is time to look again.
func outcomeOfRefusal(s pass, why error) controller.Outcome {
	invalid, isInvalid := errors.AsType[*desired.InvalidError](why)
	refusal, isRefusal := errors.AsType[*reuse.Refusal](why)
	if !isInvalid && !isRefusal {
		return outcomeOfFailure(s, false, why)
	}
	o := controller.Outcome{
		Err: why, Reason: controller.ReasonRefused, Retry: controller.Retry{Mode: controller.RetryNever},
		Events: []controller.Event{controller.Failure(controller.ReasonSyncFailed, why)},
	}
	if isInvalid {
		o.Err, o.Reason = invalid, controller.ReasonInvalid
	}
	if isRefusal {
		s.entry, o.Gone = keepRefused(s, refusal), refusal.Gone
	}
	o.Looks = s.looks()
	return o
}

// outcomeOfNotes is that of a pass that could not find out what was noted on the Service.
func outcomeOfNotes(err error) controller.Outcome {
	if controller.Superseded(err) {
		return controller.Outcome{Err: err}
	}
	calls := causes(err)
	return controller.Outcome{Err: err, Retry: judge(calls).retry, Events: []controller.Event{
		controller.Failure(controller.ReasonSyncFailed, calls...)}}
}

// outcomeOfFailure is that of a pass in which calls failed. What they have done isn't known.
func outcomeOfFailure(s pass, changed bool, err error) controller.Outcome {
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
	s.memory.Forget()
	if verdict.full {
		s.memory.SetFull()
	}
	return o
}
