package clb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/clb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
	"alicloud-controllers.dev/lbcontroller/internal/clb/reuse"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
)

// shownPods bounds the list of pods in an event.
const shownPods = 5

// memo is what is remembered after a pass, and what there is to tell about it.
type memo struct {
	entry  memory.Entry
	events []controller.Event
	quiet  []string
}

// remember keeps what is there now, and when to read it again.
func (k *Kind) remember(ctx context.Context, s subject, d decision, result done) memo {
	m := memo{entry: d.entry}
	m.entry.Observed, m.entry.Hash = result.observed, s.hash
	if len(d.plan.Refused) > 0 {
		m.entry.Hash = ""
	}
	switch {
	case !s.want.EIP:
		m.entry.EIPs = nil
	case m.entry.EIPs == nil:
		ips, err := k.eips(ctx, result.observed.InstanceID)
		if err != nil {
			m.events = append(m.events, controller.Failure(controller.ReasonEIP, fmt.Errorf("the address of the CLB is published instead of an EIP: %w", err)))
		} else {
			m.quiet = append(m.quiet, controller.ReasonEIP)
		}
		m.entry.EIPs = ips
	}
	m.entry = k.keep(s, m.entry, result.observed.ConfigKnown)
	return m
}

// eips reads the EIPs bound to the instance.
func (k *Kind) eips(ctx context.Context, id string) ([]string, error) {
	answer, err := k.Gateway.Networks.ListEips(ctx, &vpcv1.ListEipsRequest{AssociatedInstanceType: "SlbInstance", AssociatedInstanceId: id})
	if err != nil {
		return nil, err
	}
	var ips []string
	for _, eip := range answer.GetEips() {
		ips = append(ips, eip.GetIpAddress())
	}
	if len(ips) == 0 {
		return nil, fmt.Errorf("no EIP is bound to CLB %s", id)
	}
	return ips, nil
}

// outcome is that of a pass that went well, except for what the plan refuses.
func (k *Kind) outcome(s subject, m memo, d decision, result done) controller.Outcome {
	complete := len(d.plan.Refused) == 0
	o := controller.Outcome{
		Service: s.svc, Changed: result.changed, Publish: publication(s, m.entry, result.observed, complete),
		Events: append(slices.Clone(m.events), result.events...), Settled: m.quiet, Wake: result.wake,
	}
	s.entry = m.entry
	o.Looks = s.looks()
	if complete {
		o.Settled = append(o.Settled, controller.ReasonSyncFailed)
	} else {
		o.Err, o.Retry = errors.New(joined(d.plan.Refused)), controller.Retry{Mode: controller.RetryNever}
	}
	if result.changed {
		o.Settled = append(o.Settled, controller.ReasonEnsured)
		o.Events = append(o.Events, controller.Normalf(controller.ReasonEnsured, "CLB %s is as the Service asks", result.observed.InstanceID))
	}
	o.Settled = append(o.Settled, s.tell(&o, result.observed.InstanceID)...)
	if !complete {
		o.Events = append(o.Events, controller.Failure(controller.ReasonSyncFailed, o.Err))
	}
	return o
}

// tell adds what the user of a Service should know about its backends, and returns the reasons that don't hold.
func (s subject) tell(o *controller.Outcome, id string) (quiet []string) {
	var empty []string
	for _, g := range s.want.Desired.Groups {
		if len(g.Servers) == 0 {
			empty = append(empty, g.Name)
		}
	}
	if len(empty) > 0 {
		o.Events = append(o.Events, controller.Normalf(controller.ReasonNoBackends, "CLB %s has no backends for %s: no ready node or pod qualifies", id, strings.Join(empty, ", ")))
	} else {
		quiet = append(quiet, controller.ReasonNoBackends)
	}
	warnings := slices.Clone(s.want.Warnings)
	if n := len(s.pods.Missing); n > 0 {
		shown := strings.Join(s.pods.Missing[:min(n, shownPods)], ", ")
		warnings = append(warnings, fmt.Sprintf("%d pods are left out because no network interface has their address: %s", n, shown))
	}
	if len(warnings) > 0 {
		o.Events = append(o.Events, controller.Warningf(controller.ReasonSkipBackends, "%s", joined(warnings)))
	} else {
		quiet = append(quiet, controller.ReasonSkipBackends)
	}
	if s.view.Preserved() {
		o.Events = append(o.Events, controller.Warningf(controller.ReasonPreserved, "CLB %s will be kept when the Service goes (annotation %s%s)", id, annotation.Prefix, annotation.PreserveOnDelete))
	}
	return quiet
}

// looks are the times to look at a Service again: when the cloud must be read, and when pods may have got their network interface.
func (s subject) looks() []controller.Look {
	var looks []controller.Look
	if !s.entry.VerifyAt.IsZero() {
		looks = append(looks, controller.Look{After: time.Until(s.entry.VerifyAt), Priority: reconcile.Periodic})
	}
	if len(s.pods.Missing) > 0 {
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
	if !complete {
		n.Labels[LabelHash] = ""
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
	if len(e.EIPs) == 0 {
		return []corev1.LoadBalancerIngress{{IP: observed.Instance.GetAddress()}}
	}
	var shown []corev1.LoadBalancerIngress
	for _, ip := range e.EIPs {
		shown = append(shown, corev1.LoadBalancerIngress{IP: ip})
	}
	return shown
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
	calls := failures(err)
	o.Events = append(o.Events, controller.Failure(controller.ReasonSyncFailed, err))
	k.memory.Forget(s.key)
	if slices.ContainsFunc(calls, func(e error) bool { return rpcerr.ReasonOf(e) == rpcerr.ServerLimit }) {
		k.memory.SetFull(s.key)
	}
	if !slices.ContainsFunc(calls, func(e error) bool { return !isInvalid(e) }) {
		o.Retry.Mode = controller.RetryNever
	}
	return o
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

// isInvalid reports whether the cloud refused what was asked, which repeating doesn't change.
func isInvalid(err error) bool {
	e, ok := rpcerr.From(err)
	return ok && e.Code == codes.InvalidArgument
}
