package nlb

import (
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
)

// Fields implements lb.Product.
func (p Product) Fields(view desired.View) []annotation.Field {
	spec := view.Service.Spec
	fields := view.NodeHealth(p.NodeHealthChecks, desired.OrdinaryCheck{Port: "0", Flag: "on"})
	add := func(key, name, value string) {
		fields = append(fields, annotation.Field{Key: key, Name: name, Value: value})
	}
	if spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		add(annotation.Scheduler, annotation.FieldAffinity, "sch")
	}
	if len(spec.IPFamilies) > 1 {
		add(annotation.IPVersion, annotation.FieldFamilies, "DualStack")
		if view.Mode == backend.Pods { // Nodes have one server each, whatever the family of a connection.
			add(annotation.BackendIPVersion, annotation.FieldFamilies, "dualstack")
		}
	}
	return fields
}

// checkFields reports fields of the Service that mean nothing for an NLB, or not all that they say.
func (b builder) checkFields() {
	spec := b.View.Service.Spec
	if spec.LoadBalancerIP != "" {
		b.NoEffect("spec.loadBalancerIP has no effect on an NLB; chosen addresses are in annotation %s%s", annotation.Prefix, annotation.ZoneMaps)
	}
	if c := spec.SessionAffinityConfig; b.Values.Origin(annotation.Scheduler) == annotation.InSpec && c != nil && c.ClientIP != nil &&
		c.ClientIP.TimeoutSeconds != nil && *c.ClientIP.TimeoutSeconds != corev1.DefaultClientIPServiceAffinitySeconds {
		b.NoEffect("spec.sessionAffinityConfig has no effect on an NLB: clients stay at their server as long as it is there")
	}
	only6 := len(spec.IPFamilies) == 1 && spec.IPFamilies[0] == corev1.IPv6Protocol
	if only6 && b.ServiceFields && b.Values.Origin(annotation.IPVersion) != annotation.Written {
		b.Problem("spec.ipFamilies: IPv6 alone can't be, since an NLB always has IPv4 addresses; add IPv4 and set spec.ipFamilyPolicy to "+
			"PreferDualStack, or set annotation %s%s to DualStack", annotation.Prefix, annotation.IPVersion)
	}
}
