package gatewayapi

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

// Translate decides what all Gateways ask for, and what is said on them and on what belongs to them.
func (w *World) Translate() Translation {
	t := Translation{
		Classes: map[string][]metav1.Condition{}, ListenerSets: map[types.NamespacedName]gatewayv1.ListenerSetStatus{},
		Routes: map[RouteKey][]gatewayv1.RouteParentStatus{}, Foreign: map[types.UID]bool{},
	}
	slices.SortFunc(w.Routes, func(a, b Route) int { return older(&a.Meta, &b.Meta) })
	classes, refusals := map[string]*gatewayv1.GatewayClass{}, map[string]verdict{}
	for _, class := range w.Classes {
		classes[class.Name] = class
		if c := class.Spec.ControllerName; c != NLBController && c != CLBController {
			continue
		}
		var refused verdict
		switch {
		case class.Spec.ParametersRef != nil:
			refused = verdict{string(gatewayv1.GatewayClassReasonInvalidParameters),
				"parametersRef has no meaning here; see spec.infrastructure of Gateways"}
		case w.NoNLB && class.Spec.ControllerName == NLBController:
			refused = verdict{string(gatewayv1.GatewayClassReasonUnsupported), "nlb.enabled is false in the configuration of lbcontroller"}
		}
		refusals[class.Name] = refused
		t.Classes[class.Name] = []metav1.Condition{
			condition(class.Generation, string(gatewayv1.GatewayClassConditionStatusAccepted), refused,
				string(gatewayv1.GatewayClassReasonAccepted), ""),
			condition(class.Generation, string(gatewayv1.GatewayClassConditionStatusSupportedVersion), verdict{},
				string(gatewayv1.GatewayClassReasonSupportedVersion), ""),
		}
	}
	for _, g := range w.Gateways {
		class := classes[string(g.Spec.GatewayClassName)]
		switch {
		case class == nil: // It may come back.
		case t.Classes[class.Name] == nil:
			t.Foreign[g.UID] = true
		case g.DeletionTimestamp == nil && refusals[class.Name].reason == "":
			t.Gateways = append(t.Gateways, w.gateway(g, class.Spec.ControllerName, &t))
		}
	}
	return t
}

// gateway decides about one Gateway.
func (w *World) gateway(g *gatewayv1.Gateway, controller gatewayv1.GatewayController, t *Translation) Translated {
	isNLB := controller == NLBController
	list, sets, barred := w.listenersOf(g, isNLB)
	annotations, refused := annotationsFor(g, list, isNLB)
	if infra := g.Spec.Infrastructure; refused.reason == "" && infra != nil && infra.ParametersRef != nil {
		refused = verdict{string(gatewayv1.GatewayReasonInvalidParameters),
			"spec.infrastructure.parametersRef has no meaning here; use its annotations"}
	}
	podServers := w.PodBackends
	if servers := annotations[annotation.BackendType]; servers != "" {
		podServers = servers == "eni"
	}
	w.attach(g, controller, list, podServers, func(key RouteKey, s gatewayv1.RouteParentStatus) { t.Routes[key] = append(t.Routes[key], s) })
	if !isNLB && podServers {
		schedule(annotations, list)
	}
	result := Translated{Gateway: g}
	if refused.reason == "" && slices.ContainsFunc(list, (*listener).made) {
		result.Service = w.service(g, controller, list, annotations)
		result.Slices = w.slices(result.Service, list, podServers)
	}
	live := w.Service(serviceName(nameOf(g), controller))
	pending := programmed(live, g)
	invalid := namesOf(list, func(l *listener) bool { return l.kind == kindGateway && !l.accepted() })
	accepted, note := refused, ""
	switch {
	case refused.reason != "":
		pending = verdict{string(gatewayv1.GatewayReasonInvalid), refused.message}
	case !slices.ContainsFunc(list, (*listener).made):
		accepted = verdict{string(gatewayv1.GatewayReasonListenersNotValid), "no listener can be made; see their conditions"}
		pending = verdict{string(gatewayv1.GatewayReasonInvalid), "no listener can be made; a load balancer that is there is left as it is"}
	case len(invalid) > 0:
		note = "not accepted: " + strings.Join(invalid, ", ")
	}
	acceptedCondition := condition(g.Generation, string(gatewayv1.GatewayConditionAccepted), accepted,
		string(gatewayv1.GatewayReasonAccepted), note)
	if note != "" {
		acceptedCondition.Reason = string(gatewayv1.GatewayReasonListenersNotValid)
	}
	attached := int32(0)
	for _, set := range barred {
		t.ListenerSets[nameOf(set)] = refusedSet(set, verdict{string(gatewayv1.ListenerSetReasonNotAllowed),
			"spec.allowedListeners of the Gateway doesn't let it in"})
	}
	for _, set := range sets {
		status, ok := setStatus(set, list, refused, pending)
		if t.ListenerSets[nameOf(set)] = status; ok {
			attached++
		}
	}
	result.Status = gatewayv1.GatewayStatus{
		AttachedListenerSets: &attached,
		Conditions: []metav1.Condition{acceptedCondition, condition(g.Generation, string(gatewayv1.GatewayConditionProgrammed), pending,
			string(gatewayv1.GatewayReasonProgrammed), "")},
	}
	for _, l := range list {
		if l.kind == kindGateway {
			result.Status.Listeners = append(result.Status.Listeners, l.status(g.Generation, pending))
		}
	}
	if live != nil && shadow.IsOf(live, g) {
		for _, ingress := range live.Status.LoadBalancer.Ingress {
			result.Status.Addresses = append(result.Status.Addresses, addressOf(ingress))
		}
	}
	return result
}

// schedule has listeners of a CLB with several backends look at weights, which they don't by default, unless the Gateway says how servers
// are chosen.
func schedule(annotations map[string]string, list []*listener) {
	var values []string
	for _, l := range list {
		if l.made() && l.serves != nil && len(l.serves.Backends) > 1 {
			values = append(values, fmt.Sprintf("%d:wrr", l.Port))
		}
	}
	if key := annotation.Prefix + annotation.Scheduler; annotations != nil && annotations[key] == "" && len(values) > 0 {
		slices.Sort(values)
		annotations[key] = strings.Join(slices.Compact(values), ",")
	}
}

func addressOf(ingress corev1.LoadBalancerIngress) gatewayv1.GatewayStatusAddress {
	if ingress.IP != "" {
		return gatewayv1.GatewayStatusAddress{Type: new(gatewayv1.IPAddressType), Value: ingress.IP}
	}
	return gatewayv1.GatewayStatusAddress{Type: new(gatewayv1.HostnameAddressType), Value: ingress.Hostname}
}

func namesOf(list []*listener, which func(*listener) bool) (names []string) {
	for _, l := range list {
		if which(l) {
			names = append(names, string(l.Name))
		}
	}
	return names
}

// condition is true, or false with a verdict.
func condition(generation int64, kind string, refused verdict, reason, note string) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: note, ObservedGeneration: generation}
	if refused.reason != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, refused.reason, refused.message
	}
	return c
}

// programmed says why the load balancer of a Gateway is not as it asks, by what the engine says of its Service.
func programmed(svc *corev1.Service, g *gatewayv1.Gateway) verdict {
	if svc == nil {
		return verdict{string(gatewayv1.GatewayReasonPending), "its Service is being made"}
	}
	if !shadow.IsOf(svc, g) {
		return verdict{string(gatewayv1.GatewayReasonInvalid),
			fmt.Sprintf("Service %s is in the way: it was not made for this Gateway", svc.Name)}
	}
	synced, text := meta.FindStatusCondition(svc.Status.Conditions, "Synced"), "its load balancer is being made"
	if synced != nil && synced.Status == metav1.ConditionFalse {
		text = fmt.Sprintf("Service %s: %s: %s", svc.Name, synced.Reason, synced.Message)
		switch {
		case synced.Reason == "Invalid" || synced.Reason == "Refused":
			return verdict{string(gatewayv1.GatewayReasonInvalid), text}
		case strings.Contains(synced.Reason, "Quota"):
			return verdict{string(gatewayv1.GatewayReasonNoResources), text}
		case len(svc.Status.LoadBalancer.Ingress) > 0:
			return verdict{string(gatewayv1.GatewayReasonPending), text}
		}
	}
	if len(svc.Status.LoadBalancer.Ingress) == 0 {
		return verdict{string(gatewayv1.GatewayReasonAddressNotAssigned), text}
	}
	return verdict{}
}

// status is what is said of a listener. pending says why the load balancer isn't as it should be.
func (l *listener) status(generation int64, pending verdict) gatewayv1.ListenerStatus {
	s := gatewayv1.ListenerStatus{Name: l.Name, AttachedRoutes: l.attached, SupportedKinds: make([]gatewayv1.RouteGroupKind, 0, len(l.kinds))}
	for _, kind := range l.kinds {
		s.SupportedKinds = append(s.SupportedKinds, gatewayv1.RouteGroupKind{Group: new(gatewayv1.Group(gatewayv1.GroupName)),
			Kind: gatewayv1.Kind(kind)})
	}
	conflicted := metav1.Condition{Type: string(gatewayv1.ListenerConditionConflicted), Status: metav1.ConditionFalse,
		Reason: string(gatewayv1.ListenerReasonNoConflicts), ObservedGeneration: generation}
	note := ""
	switch {
	case l.conflict:
		conflicted.Status, conflicted.Reason, conflicted.Message = metav1.ConditionTrue, l.refused.reason, l.refused.message
		pending = l.refused
	case !l.accepted():
		pending = verdict{string(gatewayv1.ListenerReasonInvalid), l.refused.message}
	case l.left:
		pending = verdict{string(gatewayv1.ListenerReasonInvalid), l.unresolved.message}
	case pending.reason != "":
		pending.reason = string(gatewayv1.ListenerReasonPending)
	}
	if l.terminates() && value(l.Hostname, "") != "" {
		note = "hostname only chooses routes: the load balancer doesn't look at the name that clients ask for (SNI)"
	}
	s.Conditions = []metav1.Condition{
		condition(generation, string(gatewayv1.ListenerConditionAccepted), l.refused, string(gatewayv1.ListenerReasonAccepted), note),
		condition(generation, string(gatewayv1.ListenerConditionProgrammed), pending, string(gatewayv1.ListenerReasonProgrammed), ""),
		condition(generation, string(gatewayv1.ListenerConditionResolvedRefs), l.unresolved, string(gatewayv1.ListenerReasonResolvedRefs), ""),
		conflicted,
	}
	return s
}

// setStatus is what is said on a ListenerSet that the Gateway lets in; not ok if none of its listeners is accepted.
func setStatus(set *gatewayv1.ListenerSet, list []*listener, refused, pending verdict) (status gatewayv1.ListenerSetStatus, ok bool) {
	var own []*listener
	for _, l := range list {
		if l.kind == kindListenerSet && l.owner == nameOf(set) {
			own = append(own, l)
		}
	}
	accepted, note := verdict{}, ""
	switch bad := namesOf(own, func(l *listener) bool { return !l.accepted() }); {
	case refused.reason != "":
		accepted = verdict{string(gatewayv1.ListenerSetReasonParentNotAccepted), "the Gateway is not accepted: " + refused.message}
	case len(bad) == len(own):
		accepted = verdict{string(gatewayv1.ListenerSetReasonListenersNotValid), "no listener is accepted; see their conditions"}
	case len(bad) > 0:
		note = "not accepted: " + strings.Join(bad, ", ")
	}
	if accepted.reason != "" {
		status = refusedSet(set, accepted)
	} else {
		status.Conditions = []metav1.Condition{
			condition(set.Generation, string(gatewayv1.ListenerSetConditionAccepted), verdict{}, string(gatewayv1.ListenerSetReasonAccepted), note),
			condition(set.Generation, string(gatewayv1.ListenerSetConditionProgrammed), pending, string(gatewayv1.ListenerSetReasonProgrammed), ""),
		}
		if note != "" {
			status.Conditions[0].Reason = string(gatewayv1.ListenerSetReasonListenersNotValid)
		}
	}
	for _, l := range own {
		status.Listeners = append(status.Listeners, gatewayv1.ListenerEntryStatus(l.status(set.Generation, pending)))
	}
	return status, accepted.reason == ""
}

// refusedSet is what is said on a ListenerSet that is not accepted.
func refusedSet(set *gatewayv1.ListenerSet, why verdict) gatewayv1.ListenerSetStatus {
	return gatewayv1.ListenerSetStatus{Conditions: []metav1.Condition{
		condition(set.Generation, string(gatewayv1.ListenerSetConditionAccepted), why, "", ""),
		condition(set.Generation, string(gatewayv1.ListenerSetConditionProgrammed), why, "", ""),
	}}
}
