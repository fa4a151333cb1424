package groupbinding

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

const (
	// labelBinding names the binding on its Service, for people.
	labelBinding = "alibabacloud.com/server-group-binding"
	// portName is that of the only port of such a Service.
	portName = "servers"
	// maxWeight is the highest weight.
	maxWeight = 100
)

// World is what the cluster says, and what was found of server groups.
type World struct {
	Bindings []*Binding
	// CLBClass is the class of Services that get a CLB, "" for those without a class.
	CLBClass string
	// Service gives a Service, nil for none, and Slices give the EndpointSlices of one.
	Service func(types.NamespacedName) *corev1.Service
	Slices  func(types.NamespacedName) []*discoveryv1.EndpointSlice
	// Found says what was found of the server group of a binding.
	Found func(*Binding) Found
	// Filled gives the servers of a Service that was made for a binding, nil if they aren't known.
	Filled func(types.NamespacedName) *controller.Filled
}

// Found is what was found of a server group: itself, or why it can't be filled. Neither is there before that is known.
type Found struct {
	Group   Group
	Refused shadow.Verdict
	// Trouble says why it isn't known.
	Trouble string
}

// Translated is what a binding asks for.
type Translated struct {
	Binding *Binding
	// Service is what it asks for. It is nil if nothing is to be made: what is there stays then.
	Service *corev1.Service
	Slices  []*discoveryv1.EndpointSlice
	// Surplus is what was made for the binding, where the Service isn't there whose servers are asked for; nil for nothing.
	Surplus *corev1.Service
	Status  Status
}

// filling is what two bindings must not both do.
type filling struct {
	group   string
	service types.NamespacedName
	port    int32
	proto   corev1.Protocol
}

// Translate decides what all bindings ask for, and what is said on them. Those that fill their server group have
// precedence, and then the older ones.
func (w *World) Translate() []Translated {
	list, later := slices.Clone(w.Bindings), map[*Binding]int{}
	for _, b := range list {
		if live := w.Service(ServiceName(b)); live == nil || !shadow.IsOf(live, b) || !fills(live, w.Found(b).Group) {
			later[b] = 1
		}
	}
	slices.SortFunc(list, func(a, b *Binding) int {
		return cmp.Or(cmp.Compare(later[a], later[b]), a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	taken := map[filling]string{}
	result := make([]Translated, 0, len(list))
	for _, b := range list {
		result = append(result, w.binding(b, taken))
	}
	return result
}

func (w *World) binding(b *Binding, taken map[filling]string) Translated {
	t := Translated{Binding: b}
	live := w.Service(ServiceName(b))
	if live != nil && !shadow.IsOf(live, b) {
		t.Status = status(b, live, Group{}, shadow.Refuse(ReasonInvalid, "Service %s is in the way: it was not made for "+
			"this binding", live.Name), nil)
		return t
	}
	svc := w.Service(types.NamespacedName{Namespace: b.Namespace, Name: b.Spec.ServiceRef.Name})
	port, refused := b.port(svc)
	if svc == nil {
		t.Surplus = live
	}
	if wrong := b.invalid(); wrong.Reason != "" {
		refused = wrong
	}
	found := w.Found(b)
	switch {
	case refused.Reason != "":
	case found.Refused.Reason != "":
		refused = found.Refused
	case found.Group.ID == "":
		refused = shadow.Refuse(ReasonPending, "%s", cmp.Or(found.Trouble, "the server group is being looked for"))
	case !found.Group.takes(port.Protocol):
		refused = shadow.Refuse(ReasonOtherProtocol, "server group %s is for %s, and port %d of Service %s is for %s; name "+
			"another server group", found.Group.ID, found.Group.Protocol, port.Port, svc.Name,
			strings.ToLower(string(port.Protocol)))
	default:
		key := filling{found.Group.ID, shadow.NameOf(svc), port.Port, port.Protocol}
		if other, is := taken[key]; is {
			refused = shadow.Refuse(ReasonConflicted,
				"%s %s fills server group %s with the same servers; delete one of the two", Kind, other, found.Group.ID)
			break
		}
		taken[key] = b.Name
		t.Service = w.service(b, found.Group, port)
	}
	if t.Service == nil && live != nil && port.Port != 0 {
		t.Service = live.DeepCopy() // What it was made for last goes on.
	}
	if t.Service != nil {
		t.Slices = w.slices(t.Service, shadow.NameOf(svc), port)
	}
	t.Status = status(b, live, found.Group, refused, w.Filled(ServiceName(b)))
	if live != nil && isChanged(live, t.Service) {
		t.Status.Conditions[1] = pending(b, fmt.Sprintf("Service %s is being changed", live.Name))
	}
	return t
}

// isChanged reports whether a Service that is there is to have other annotations.
func isChanged(live, want *corev1.Service) bool {
	if want == nil {
		return false
	}
	for key, text := range want.Annotations {
		if live.Annotations[key] != text {
			return true
		}
	}
	return false
}

// fills reports whether a Service fills a server group.
func fills(svc *corev1.Service, g Group) bool {
	return g.ID != "" && strings.HasPrefix(svc.Annotations[annotation.Prefix+annotation.VGroupPort], g.ID+":")
}

// ServiceName is that of the Service that is made for a binding.
func ServiceName(b *Binding) types.NamespacedName {
	return types.NamespacedName{Namespace: b.Namespace, Name: shadow.Name("sgb-", b.Name)}
}

// port is the port whose servers are asked for; the zero value with the reason why there is none.
func (b *Binding) port(svc *corev1.Service) (corev1.ServicePort, shadow.Verdict) {
	ref := b.Spec.ServiceRef
	if svc == nil {
		return corev1.ServicePort{}, shadow.Refuse(ReasonServiceNotFound, "there is no Service %s in namespace %s", ref.Name,
			b.Namespace)
	}
	owner := metav1.GetControllerOf(svc)
	switch {
	case shadow.IsOurs(svc) && owner != nil && owner.Kind == Kind:
		return corev1.ServicePort{}, shadow.Refuse(ReasonInvalid,
			"Service %s was made for a binding; name the one that you made", svc.Name)
	case svc.Spec.Type == corev1.ServiceTypeExternalName:
		return corev1.ServicePort{}, shadow.Refuse(ReasonInvalid, "Service %s is of type ExternalName, which has no servers",
			svc.Name)
	}
	for _, p := range svc.Spec.Ports {
		if ref.Port.Type == intstr.Int && p.Port == ref.Port.IntVal || ref.Port.Type == intstr.String &&
			p.Name == ref.Port.StrVal {
			p.Protocol = cmp.Or(p.Protocol, corev1.ProtocolTCP)
			return p, shadow.Verdict{}
		}
	}
	return corev1.ServicePort{}, shadow.Refuse(ReasonPortNotFound, "Service %s has no port %s", svc.Name,
		ref.Port.String())
}

// prefixes are what the ids of load balancers and of their server groups begin with, by kind.
func prefixes(kind string) (balancer, group string) {
	switch kind {
	case NLB:
		return "nlb-", "sgp-"
	case CLB:
		return "lb-", "rsp-"
	}
	return "", ""
}

// invalid says what of a binding contradicts itself, whatever there is in the cloud.
func (b *Binding) invalid() shadow.Verdict {
	named, weight := b.Spec.ServerGroup, b.Spec.Weight
	balancer, group := prefixes(named.Kind)
	wrong := func(format string, args ...any) shadow.Verdict { return shadow.Refuse(ReasonInvalid, format, args...) }
	switch {
	case balancer == "":
		return wrong("spec.serverGroup.kind is %q; it can be NLB or CLB", named.Kind)
	case !isID(named.LoadBalancerID, balancer):
		return wrong("spec.serverGroup.loadBalancerID is %q, which is the id of no %s: they begin with %s",
			named.LoadBalancerID, named.Kind, balancer)
	case (named.ID == "") == (named.Name == ""):
		return wrong("spec.serverGroup needs one of id and name")
	case named.ID != "" && !isID(named.ID, group):
		return wrong("spec.serverGroup.id is %q, which is the id of no server group of %ss: they begin with %s", named.ID,
			named.Kind, group)
	case weight != nil && (*weight < 0 || *weight > maxWeight):
		return wrong("spec.weight is %d; it can be 0 to %d", *weight, maxWeight)
	}
	return shadow.Verdict{}
}

// isID reports whether a text can stand for an id in an annotation.
func isID(text, prefix string) bool {
	rest, begins := strings.CutPrefix(text, prefix)
	return begins && rest != "" && !strings.ContainsAny(rest, ":, \t\n")
}

// takes reports whether servers of a protocol can be in the group.
func (g Group) takes(protocol corev1.Protocol) bool {
	switch g.Protocol {
	case "":
		return protocol == corev1.ProtocolTCP || protocol == corev1.ProtocolUDP
	case "tcpssl":
		return protocol == corev1.ProtocolTCP
	case "tcp_udp":
		return protocol == corev1.ProtocolTCP || protocol == corev1.ProtocolUDP
	}
	return g.Protocol == strings.ToLower(string(protocol))
}

// service is what a binding asks for.
func (w *World) service(b *Binding, g Group, port corev1.ServicePort) *corev1.Service {
	named, class := b.Spec.ServerGroup, w.CLBClass
	annotations := map[string]string{
		annotation.Prefix + annotation.ID:         named.LoadBalancerID,
		annotation.Prefix + annotation.VGroupPort: g.ID + ":" + strconv.Itoa(int(port.Port)),
	}
	if named.Kind == NLB {
		class = annotation.NLBClass
	} else {
		// The listener may have another port and lead to other servers, too: nodes must not answer for it.
		annotations[annotation.Prefix+annotation.IPMode] = string(corev1.LoadBalancerIPModeProxy)
	}
	owner := metav1.OwnerReference{APIVersion: Resource().GroupVersion().String(), Kind: Kind, Name: b.Name, UID: b.UID}
	svc := shadow.ServiceOf(owner, ServiceName(b), class, annotations)
	svc.Spec.Ports = []corev1.ServicePort{{
		Name: portName, Protocol: port.Protocol, Port: port.Port, TargetPort: intstr.FromString(portName),
	}}
	if b.Spec.Weight != nil {
		svc.Annotations[annotation.Prefix+annotation.Weight] = strconv.Itoa(int(*b.Spec.Weight))
	}
	if b.Spec.BackendType != "" {
		svc.Annotations[annotation.BackendType] = b.Spec.BackendType
	}
	if g.Addresses {
		svc.Annotations[annotation.Prefix+annotation.ServerGroupType] = "Ip"
	}
	shadow.Mark(svc, labelBinding)
	return svc
}

// slices are copies of those of the Service whose servers are asked for, at least one.
func (w *World) slices(svc *corev1.Service, of types.NamespacedName,
	port corev1.ServicePort) []*discoveryv1.EndpointSlice {
	own := svc.Spec.Ports[0]
	all := shadow.Copies(svc, own, w.Slices(of), port, of.String())
	if len(all) == 0 {
		all = append(all, shadow.Nobody(svc, own))
	}
	return all
}

// status is what is said on a binding. Conditions have no times.
func status(b *Binding, live *corev1.Service, g Group, refused shadow.Verdict, filled *controller.Filled) Status {
	s := Status{ServerGroup: b.Status.ServerGroup, ServerCount: b.Status.ServerCount, Servers: b.Status.Servers,
		Conditions: []metav1.Condition{
			{Type: ConditionAccepted, Status: metav1.ConditionTrue, Reason: ReasonAccepted, Message: "",
				ObservedGeneration: b.Generation},
			registered(b, live),
		}}
	if g.ID != "" {
		s.ServerGroup = &g
	}
	if refused.Reason != "" {
		c := &s.Conditions[0]
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, refused.Reason, refused.Message
		if refused.Reason == ReasonPending {
			c.Status = metav1.ConditionUnknown
		}
	}
	switch {
	case live == nil || !shadow.IsOf(live, b):
		s.ServerCount, s.Servers = 0, nil
	case filled != nil:
		s.ServerCount, s.Servers = int64(filled.Count), filled.Servers
	}
	if live != nil && shadow.IsOf(live, b) {
		s.Service = live.Name
	}
	return s
}

func pending(b *Binding, message string) metav1.Condition {
	return metav1.Condition{
		Type: ConditionRegistered, Status: metav1.ConditionUnknown, Reason: ReasonPending, Message: message,
		ObservedGeneration: b.Generation,
	}
}

// registered says what the engine says of the Service of a binding.
func registered(b *Binding, live *corev1.Service) metav1.Condition {
	c := pending(b, "")
	if live == nil || !shadow.IsOf(live, b) {
		c.Status, c.Message = metav1.ConditionFalse, "no server is registered"
		return c
	}
	synced := meta.FindStatusCondition(live.Status.Conditions, controller.ConditionSynced)
	switch {
	case synced == nil:
		c.Message = fmt.Sprintf("Service %s was not looked at yet", live.Name)
	case synced.Status == metav1.ConditionTrue:
		c.Status, c.Reason = metav1.ConditionTrue, ReasonRegistered
	default:
		c.Status, c.Reason, c.Message = synced.Status, synced.Reason, fmt.Sprintf("Service %s: %s", live.Name, synced.Message)
	}
	return c
}
