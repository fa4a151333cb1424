package desired

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// The values of annotation backend-ip-version for which there is a case.
const (
	ipv4      = "ipv4"
	dualStack = "dualstack"
)

// The values of annotation backend-type, in lower case only: the existing CCM takes any other for nodes, and pods in their place would be
// other servers.
const (
	podBackends  = "eni"
	nodeBackends = "ecs"
)

// View is a Service with what its annotations say, parsed once for all callers.
type View struct {
	Service *corev1.Service
	// Values are the annotations that are valid.
	Values annotation.Values
	// Mode and Nodes say which pods and nodes may be backends.
	Mode  backend.Mode
	Nodes backend.View

	maxNodes int
	drain    bool
	// ipv6 says that the addresses of pods are IPv6 ones, and dual that they are of both families.
	ipv6, dual bool

	// fields are what the spec asks for, as far as it counts.
	fields []annotation.Field
	// serviceFields says that fields of the spec count.
	serviceFields bool

	problems []annotation.Problem
	parser   annotation.Parser
}

// View parses the annotations of a Service.
func (c Config) View(svc *corev1.Service) View {
	v := View{Service: svc, Mode: c.mode(svc), parser: c.Parser, serviceFields: c.ServiceFields}
	v.Values, v.problems = c.Parser.Parse(svc.Annotations)
	if c.Fields != nil {
		v.fields = slices.DeleteFunc(c.Fields(v), func(f annotation.Field) bool { return !c.ServiceFields && !f.Chosen })
		v.problems = append(v.problems, c.Parser.Amend(&v.Values, svc.Annotations, v.fields...)...)
	}
	labels := map[string]string{}
	for _, p := range v.Values.Pairs(annotation.BackendLabel) {
		labels[p.Key] = p.Value
	}
	v.Nodes = backend.ViewOf(labels, v.Values.On(annotation.RemoveUnscheduled))
	v.maxNodes = c.MaxNodes
	if n, ok := v.Values.Number(annotation.MaxNodes); ok {
		v.maxNodes = int(n)
	}
	v.drain = c.Drain
	if v.Values.Has(annotation.DrainTerminating) {
		v.drain = v.Values.On(annotation.DrainTerminating)
	}
	family, has := v.Values.Text(annotation.BackendIPVersion), v.Values.Text(annotation.IPVersion)
	v.ipv6 = !c.IgnoreBackendIPv6 && family != "" && family != ipv4 && has != "" && has != ipv4
	v.dual = v.ipv6 && family == dualStack
	return v
}

// Policy is what the Service says about its backends, weights apart.
func (v View) Policy() backend.Policy {
	return backend.Policy{Mode: v.Mode, Nodes: v.Nodes, Seed: string(v.Service.UID), MaxNodes: v.maxNodes, Drain: v.drain, IPv6: v.ipv6}
}

// TakesIPv6 reports whether the addresses of pods are IPv6 ones, or of both families.
func (v View) TakesIPv6() bool { return v.ipv6 }

// TakesBoth reports whether the addresses of pods are of both families.
func (v View) TakesBoth() bool { return v.dual }

// mode returns what the backends of a Service are. Pods beat the traffic policy.
func (c Config) mode(svc *corev1.Service) backend.Mode {
	pods := c.PodBackends
	if v := svc.Annotations[annotation.BackendType]; v != "" {
		pods = v == podBackends
	}
	switch {
	case pods:
		return backend.Pods
	case svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal:
		return backend.Local
	default:
		return backend.Cluster
	}
}

// Reused is the load balancer that the Service names, or "", whatever else is wrong with the Service.
func (v View) Reused() string { return annotation.Reused(v.Service.Annotations) }

// Preserved reports whether the load balancer shall outlive the Service.
func (v View) Preserved() bool { return annotation.Preserved(v.Service.Annotations) }

// SyncPolicy is the policy that the Service asks for, or "".
func (v View) SyncPolicy() string { return v.Values.Text(annotation.SyncPolicy) }

// Binding is what the Service asks to have bound to its load balancer, a thing of the user's by its id or one of its
// own, and what it may have from before; nil for neither.
func (v View) Binding(id string, own bool) *model.Binding {
	items := annotation.ParseBound(v.Service.Annotations)
	switch {
	case id != "":
		items = append(items, id)
	case own:
		items = append(items, annotation.BoundOwn)
	case len(items) == 0:
		return nil
	}
	isOwn := func(item string) bool { return item == annotation.BoundOwn }
	b := &model.Binding{ID: id, Own: own, Made: slices.ContainsFunc(items, isOwn)}
	slices.Sort(items)
	b.Users = slices.DeleteFunc(slices.Compact(items), isOwn)
	return b
}

// Claims are where on load balancers of users there may be something of the Service: those noted, and the load balancer
// that it names. A Service that was taken over from the existing CCM has no note.
func (v View) Claims() ownership.Claims { return v.ClaimsOf(v.Service) }

// ClaimsOf is Claims for the Service as it was read since.
func (v View) ClaimsOf(svc *corev1.Service) ownership.Claims {
	claims := ownership.ParseClaims(svc.Annotations[annotation.Claims])
	id := v.Values.Text(annotation.ID) // A wrong value must not keep the Service from going.
	if id == "" {
		return claims
	}
	claim := ownership.Claim{LoadBalancer: id, Listeners: v.Values.On(annotation.ForceOverride)}
	for _, p := range v.Values.Pairs(annotation.VGroupPort) {
		claim.Groups = append(claim.Groups, p.Key)
	}
	return claims.With(claim)
}

// Reverts reports whether an annotation that was applied is there no more, so that its default is asked for.
func (v View) Reverts(key string) bool {
	return v.Values.Origin(key) == annotation.Reset
}

// Wrote reports that the user asks for something, by an annotation or a field, for all ports or for one.
func (v View) Wrote(key string) bool {
	return v.Values.Has(key) && !v.Reverts(key) || len(v.Values.Ports(key)) > 0
}

// Kept are the annotations that were removed though what they asked for stays. Source ranges take the place of the
// lists of a CLB.
func (v View) Kept() []string {
	kept := v.Values.Kept()
	if !v.Restricts() {
		return kept
	}
	lists := []string{annotation.ACLStatus, annotation.ACLID, annotation.ACLType}
	return slices.DeleteFunc(slices.Clone(kept), func(key string) bool {
		return slices.Contains(lists, strings.TrimPrefix(key, annotation.Prefix))
	})
}

// MayHaveList reports whether there may be an access list of the Service: for the field, because one is noted, or from the existing CCM.
func (v View) MayHaveList() bool {
	noted := strings.Split(v.Service.Annotations[annotation.Applied], ",")
	return v.serviceFields && len(v.Service.Spec.LoadBalancerSourceRanges) > 0 || slices.Contains(noted, annotation.SourceRanges) ||
		v.Service.Labels[ownership.LabelSecurityGroupID] != ""
}

// Restricts reports whether the field for source ranges counts. Once it did, no configuration opens what it keeps shut.
func (v View) Restricts() bool {
	return len(v.Service.Spec.LoadBalancerSourceRanges) > 0 && v.MayHaveList()
}

// Applied is the note on the Service once all it asks for is in place, and while it is being put in place. There may be
// an access list that nobody asks for any more.
func (v View) Applied(listIsLeft bool) (after, meanwhile string) {
	// What goes with an annotation comes back with it, too.
	noted := slices.DeleteFunc(slices.Clone(v.fields), func(f annotation.Field) bool {
		return f.Chosen && f.Key != annotation.NodeHealthCheck
	})
	after = v.parser.AppliedNote(v.Service.Annotations, noted...)
	if v.Restricts() || listIsLeft {
		keys := slices.DeleteFunc(strings.Split(after, ","), func(key string) bool {
			return key == "" || key == annotation.ACLStatus && v.Restricts() // The ranges take the place of an annotation's lists.
		})
		after = strings.Join(append(keys, annotation.SourceRanges), ",")
	}
	keys := strings.FieldsFunc(v.Service.Annotations[annotation.Applied]+","+after, func(r rune) bool { return r == ',' })
	slices.Sort(keys)
	return after, strings.Join(slices.Compact(keys), ",")
}

// Unknown are warnings about annotations that mean nothing, though their prefix is the controller's.
func (v View) Unknown() []string {
	var warnings []string
	for _, u := range v.parser.Unknown(v.Service.Annotations) {
		text := "annotation " + u.Key + " is not known and has no effect"
		switch other, isOther := v.parser.ForOther(u.Key); {
		case isOther:
			text = fmt.Sprintf("annotation %s is for %ss and has no effect; remove it, or ask for such a load balancer", u.Key, other)
		case u.Value != "":
			text += "; did you mean " + annotation.Prefix + u.Value + "?"
		default:
			text += "; correct or remove it"
		}
		warnings = append(warnings, text)
	}
	return warnings
}
