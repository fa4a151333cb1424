package clb

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

const (
	// serversPort is the port of health checks that stands for that of the server.
	serversPort = -520
	// maxPersistence is how long the cloud keeps a client at its server, in seconds.
	maxPersistence = 3600
	// defaultPersistence is what the API server fills in.
	defaultPersistence = corev1.DefaultClientIPServiceAffinitySeconds
)

// Fields implements lb.Product.
func (p Product) Fields(view desired.View) []annotation.Field {
	spec := view.Service.Spec
	fields := view.NodeHealth(p.NodeHealthChecks, desired.OrdinaryCheck{Port: strconv.Itoa(serversPort), Flag: "off"})
	add := func(key, name, value string) {
		fields = append(fields, annotation.Field{Key: key, Name: name, Value: value})
	}
	if spec.LoadBalancerIP != "" {
		add(annotation.Address, annotation.FieldAddress, spec.LoadBalancerIP)
	}
	if spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		add(annotation.PersistenceTimeout, annotation.FieldAffinity, strconv.Itoa(int(min(affinity(spec), maxPersistence))))
	}
	// The family that comes first is that of the Service for good; IPv4 needs no word.
	if len(spec.IPFamilies) > 0 && spec.IPFamilies[0] == corev1.IPv6Protocol {
		add(annotation.IPVersion, annotation.FieldFamilies, "ipv6")
		add(annotation.BackendIPVersion, annotation.FieldFamilies, "ipv6")
	}
	if endsConnections(view) {
		add(annotation.IPMode, "", string(corev1.LoadBalancerIPModeProxy))
	}
	return fields
}

// affinity is how long a client stays at its server, in seconds.
func affinity(spec corev1.ServiceSpec) int32 {
	if c := spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
		return *c.ClientIP.TimeoutSeconds
	}
	return defaultPersistence
}

// endsConnections reports that what reaches pods past the CLB isn't what they get from it: it ends connections, for http
// and https, or writes before them whose they are.
func endsConnections(view desired.View) bool {
	v := view.Values
	if v.Has(annotation.Hostname) || v.Has(annotation.ID) && !v.On(annotation.ForceOverride) {
		return false // A name has no ipMode, and what a user's listeners do isn't known.
	}
	marks := func(p corev1.ServicePort) bool { return v.ForPort(p.Port).On(annotation.ProxyProtocol) }
	if slices.ContainsFunc(view.Service.Spec.Ports, marks) {
		return true
	}
	return slices.ContainsFunc(v.Pairs(annotation.ProtocolPort), func(p annotation.Pair) bool {
		protocol, _ := parseProtocol(p.Key)
		port, err := desired.ParsePort(p.Value)
		return err == nil && (protocol == model.HTTP || protocol == model.HTTPS) &&
			slices.ContainsFunc(view.Service.Spec.Ports, func(sp corev1.ServicePort) bool { return sp.Port == port })
	})
}

// asksNodes reports that health checks ask kube-proxy on the nodes, which answers by HTTP.
func (b builder) asksNodes() bool {
	return b.Values.On(annotation.NodeHealthCheck) && b.Values.Origin(annotation.HealthCheckConnectPort) == annotation.InSpec
}

// checkFields reports fields of the Service that mean nothing for a CLB, or not all that they say.
func (b builder) checkFields() {
	b.checkFamilies()
}

// checkFamilies reports that a CLB has addresses of one family.
func (b builder) checkFamilies() {
	spec := b.View.Service.Spec
	const remedy = "a CLB has an address of one family: an NLB (spec.loadBalancerClass) has both"
	policy, written := corev1.IPFamilyPolicySingleStack, b.Values.Origin(annotation.IPVersion) == annotation.Written
	if spec.IPFamilyPolicy != nil {
		policy = *spec.IPFamilyPolicy
	}
	switch {
	case written || policy == corev1.IPFamilyPolicySingleStack:
	case policy == corev1.IPFamilyPolicyRequireDualStack && b.ServiceFields:
		b.Problem("spec.ipFamilyPolicy: %s can't be, since %s; set it to PreferDualStack or SingleStack, or set annotation %s%s",
			policy, remedy, annotation.Prefix, annotation.IPVersion)
	case len(spec.IPFamilies) > 1 && (b.ServiceFields || spec.IPFamilies[0] == corev1.IPv4Protocol):
		b.NoEffect("spec.ipFamilies: only %s, the first, has an effect, since %s", spec.IPFamilies[0], remedy)
	}
	if b.isNew() && b.Values.Text(annotation.IPVersion) == "ipv6" && b.Values.Text(annotation.AddressType) == "intranet" {
		want := "it without annotation " + annotation.Prefix + annotation.AddressType +
			": intranet, since only a public CLB has an IPv6 address; or "
		if written {
			want += "ipv4"
		} else {
			want += "IPv4 as the first of spec.ipFamilies"
		}
		b.Misfit(annotation.IPVersion, want)
	}
	if b.Values.Origin(annotation.IPVersion) != annotation.InSpec {
		return
	}
	if len(spec.IPFamilies) == 1 && b.View.Mode != backend.Pods {
		b.NoEffect("spec.ipFamilies has no effect on how the CLB reaches nodes, which is by IPv4, while kube-proxy takes the "+
			"Service's traffic by IPv6 only: set annotation %s to eni, or add IPv4 to spec.ipFamilies", annotation.BackendType)
	}
}

// checkAffinity reports where clients aren't kept at their server, or not as long as the Service says.
func (b builder) checkAffinity(protocols map[int]model.Protocol) {
	if b.Values.Origin(annotation.PersistenceTimeout) != annotation.InSpec {
		return
	}
	spec, used := b.View.Service.Spec, slices.Collect(maps.Values(protocols))
	if seconds := affinity(spec); seconds > maxPersistence && slices.Contains(used, model.TCP) {
		b.NoEffect("spec.sessionAffinityConfig: clients stay at their server for %d seconds, the most that a CLB has, in place of %d",
			maxPersistence, seconds)
	}
	var others []string
	for _, p := range []struct {
		protocol model.Protocol
		instead  string
	}{{model.UDP, annotation.Scheduler + ": sch"}, {model.HTTP, annotation.StickySession}, {model.HTTPS, annotation.StickySession}} {
		if slices.Contains(used, p.protocol) {
			others = append(others, fmt.Sprintf("%s (annotation %s)", p.protocol, p.instead))
		}
	}
	if len(others) > 0 {
		b.NoEffect("spec.sessionAffinity has no effect on ports of %s", strings.Join(others, ", "))
	}
}
