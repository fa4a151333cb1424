// Package nlb is the kind of load balancers of Services with class alibabacloud.com/nlb, Alibaba Cloud's Network Load
// Balancer: a Product of the engine.
package nlb

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/vswitch"
)

const (
	// Finalizer keeps a Service until its NLB is released. Like the type of metrics it is that of the existing CCM.
	Finalizer = "service.k8s.alibaba/nlb"
	// Class is the value of spec.loadBalancerClass that asks for an NLB.
	Class = annotation.NLBClass
	// serversPerCall is how many servers the cloud adds at once.
	serversPerCall = 200
	// checkSourcesAge is how old the networks of vSwitches may be, which don't change.
	checkSourcesAge = time.Hour
)

// Product implements lb.Product. The zero value builds and compares, and has no cloud.
type Product struct {
	Gateway *gateway.Client
	// VPCID and ResourceGroupID are where server groups are made, unless their NLB is elsewhere or the Service says so.
	VPCID, ResourceGroupID string
	// VSwitchIDs are those by which a new NLB is in its zones, if its Service doesn't name any: the first in each zone
	// that has a free address.
	VSwitchIDs []string
	// ByLoadBalancerType serves Services of which the annotation for the load balancer type says nlb, too.
	ByLoadBalancerType bool
	// NodeHealthChecks asks nodes for their health by what kube-proxy says, for Services that don't say.
	NodeHealthChecks bool
	// DisablePublic refuses to create public NLBs; those that exist are served on.
	DisablePublic bool
}

var (
	_ lb.Product  = Product{}
	_ lb.Foreseer = Product{}
)

// Marks implements lb.Product.
func (Product) Marks() lb.Marks {
	return lb.Marks{
		Name: annotation.NLB, Finalizer: Finalizer, MetricType: "NLBType", CreateAPI: "nlb/CreateLoadBalancer",
		Orphans: "orphans-nlb",
		Others: map[string]string{"lb-": "is a CLB, and the Service asks for an NLB: correct annotation " +
			annotation.Prefix + annotation.ID + ", or make the Service anew without spec.loadBalancerClass"},
		ListLimit:   "a security group takes 200 rules unless the quota of the account was raised, and 2 of them keep everybody else out",
		DottedNames: true, GroupsApart: true, HostNames: true, ListLabel: ownership.LabelSecurityGroupID, ServersPerCall: serversPerCall,
	}
}

// Wants implements lb.Product.
func (p Product) Wants(svc *corev1.Service) bool {
	if svc.DeletionTimestamp != nil || svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return false
	}
	if class, isAsked := annotation.ClassOf(svc.Spec.LoadBalancerClass, svc.Annotations); isAsked {
		return class == Class
	}
	return p.ByLoadBalancerType && svc.Annotations[annotation.TunnelType] == "" &&
		strings.EqualFold(svc.Annotations[annotation.LoadBalancerType], "nlb")
}

// builder builds what is wanted of one Service.
type builder struct {
	*desired.Builder
	Product

	// protocols are those of the listeners of the ports, by the index of the port; 0 for one that NLBs don't have.
	protocols []model.Protocol
	// ranges are the ranges of listener ports, by port of the Service. Those that can't be are left out.
	ranges map[int32]portRange
}

// builder reads once what annotations say of ports.
func (p Product) builder(b *desired.Builder) builder {
	return builder{Builder: b, Product: p, protocols: protocolsOf(b), ranges: rangesOf(b)}
}

// at is the builder with the values for one port.
func (b builder) at(port int32) builder {
	b.Builder = b.At(port)
	return b
}

// Configure implements desired.Configurer.
func (p Product) Configure(b *desired.Builder) (model.Instance, []model.Listener) {
	building := p.builder(b)
	instance, listeners := building.instance(), building.listeners()
	building.access()
	building.checkGroups()
	building.checkFields()
	return instance, listeners
}

// WithoutEffect implements lb.Product.
func (Product) WithoutEffect(view desired.View, there model.Observed) []string {
	v, nlb := view.Values, present(there)
	wrote := func(key string) bool { return v.Has(key) && !view.Reverts(key) }
	var warnings []string
	if nlb != nil && wrote(annotation.IPv6AddressType) && nlb.GetIpVersion() != nlbv1.IpVersion_IP_VERSION_DUAL_STACK {
		warnings = append(warnings, "annotation "+v.Name(annotation.IPv6AddressType)+" has no effect: the NLB has no IPv6 address; only "+
			annotation.Prefix+annotation.IPVersion+": DualStack at the creation of the Service gives it some")
	}
	others := slices.DeleteFunc(slices.Clone(nlb.GetSecurityGroupIds()), func(id string) bool { return isOurs(there, id) })
	if view.Restricts() && there.ListsKnown && len(others) > 0 {
		warnings = append(warnings, annotation.SourceRanges+" may not keep everybody else out: the NLB has the security groups "+
			strings.Join(others, ", ")+", too; take them off in the console if they let others in")
	}
	return warnings
}

// Probes implements lb.Product. Health checks are a matter of server groups: what Health answers of servers that aren't checked is good.
func (Product) Probes(model.Listener) bool { return true }

// CheckedPort implements lb.Product.
func (Product) CheckedPort(l model.Listener, g model.Group) (port int32, ok bool) {
	config, _ := g.Config.(*nlbv1.CreateServerGroupRequest)
	check := config.GetHealthCheck()
	isOff := check != nil && check.Enabled != nil && !check.GetEnabled()
	byUDP := check.GetType() == nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_UDP
	if l.Key.Protocol == model.UDP && (check == nil || check.Type == nil) {
		byUDP = true
	}
	return check.GetConnectPort(), !isOff && !byUDP
}

// CheckSources implements lb.Product: an NLB checks servers from addresses in its vSwitches.
func (p Product) CheckSources(ctx context.Context, there model.Observed) ([]netip.Prefix, error) {
	zones := present(there).GetZoneMappings()
	if len(zones) == 0 {
		return nil, nil
	}
	list, err := vswitch.List(ctx, p.Gateway, present(there).GetVpcId(), checkSourcesAge)
	if err != nil {
		return nil, err
	}
	var sources []netip.Prefix
	for _, zone := range zones {
		i := slices.IndexFunc(list, func(v *vpcv1.VSwitch) bool { return v.GetVswitchId() == zone.GetVswitchId() })
		if i < 0 {
			return nil, nil
		}
		network, err := netip.ParsePrefix(list[i].GetCidrBlock())
		if err != nil {
			return nil, nil //nolint:nilerr // Then it isn't known.
		}
		sources = append(sources, network)
	}
	return sources, nil
}

// Bound implements desired.Configurer: the EIPs of an NLB are attributes of its zones.
func (Product) Bound(desired.View) (b *model.Binding, isPublished bool) { return nil, false }

// Addresses implements lb.Product: an NLB publishes a name, which leads to its EIPs.
func (Product) Addresses(context.Context, string, time.Duration) (list []string, none string, err error) {
	return nil, "", nil
}
