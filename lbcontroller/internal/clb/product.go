// Package clb is the kind of load balancers that Services have by default, Alibaba Cloud's Classic Load Balancer: a Product of the engine.
package clb

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// Finalizer keeps a Service until its CLB is released. Like the type of metrics it is that of the existing CCM.
const Finalizer = "service.k8s.alibaba/resources"

// serversPerCall is how many servers the cloud adds at once.
const serversPerCall = 40

// Product implements lb.Product. The zero value builds and compares, and has no cloud.
type Product struct {
	Gateway *gateway.Client
	// VSwitchIDs are those of which a new intranet CLB gets one if its Service names none.
	VSwitchIDs []string
	// Class is the class of Services that ask for a CLB; empty for none.
	Class string
	// OnlyClass leaves Services without a class to others.
	OnlyClass bool
	// ByLoadBalancerType leaves Services with the annotation for the load balancer type to others.
	ByLoadBalancerType bool
	// NodeHealthChecks asks nodes for their health by what kube-proxy says, for Services that don't say.
	NodeHealthChecks bool
	// DisablePublic refuses to create public CLBs; those that exist are served on.
	DisablePublic bool
	// NoEIPs refuses to bind EIPs; those that are bound stay while they are asked for.
	NoEIPs bool
}

var (
	_ lb.Product = Product{}
	_ lb.Starter = Product{}
)

// Marks implements lb.Product.
func (Product) Marks() lb.Marks {
	return lb.Marks{Name: annotation.CLB, Finalizer: Finalizer, MetricType: "CLBType",
		CreateAPI: "slb/CreateLoadBalancer", Orphans: "orphans",
		Others: map[string]string{"nlb-": "is an NLB, and the Service asks for a CLB: correct annotation " +
			annotation.Prefix + annotation.ID + ", or make the Service anew with spec.loadBalancerClass: " + annotation.NLBClass},
		ListLimit:    "an access control list takes 300 unless the quota of the account was raised",
		BuiltInGroup: defaultGroup, ServersPerCall: serversPerCall}
}

// Wants implements lb.Product.
func (p Product) Wants(svc *corev1.Service) bool {
	if svc.DeletionTimestamp != nil || svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return false
	}
	if class, isAsked := annotation.ClassOf(svc.Spec.LoadBalancerClass, svc.Annotations); isAsked {
		return class == p.Class
	}
	return !p.OnlyClass &&
		svc.Annotations[annotation.TunnelType] == "" &&
		(!p.ByLoadBalancerType || svc.Annotations[annotation.LoadBalancerType] == "")
}

// builder builds what is wanted of one Service.
type builder struct {
	*desired.Builder
	Product
}

// at is the builder with the values for one port.
func (b builder) at(port int32) builder { return builder{Builder: b.At(port), Product: b.Product} }

// Configure implements desired.Configurer.
func (p Product) Configure(b *desired.Builder) (model.Instance, []model.Listener) {
	building := builder{Builder: b, Product: p}
	instance, listeners := building.instance(), building.listeners()
	building.access()
	building.eip()
	building.checkFields()
	building.checkDefaultGroup()
	return instance, listeners
}

// Shapes implements desired.Configurer: what serves a port is an attribute of its listener.
func (Product) Shapes(b *desired.Builder) []desired.Shape {
	return make([]desired.Shape, len(b.View.Service.Spec.Ports))
}

// WithoutEffect implements lb.Product.
func (p Product) WithoutEffect(view desired.View, there model.Observed) []string {
	v, clb := view.Values, present(there)
	var warnings []string
	if kind := view.Service.Annotations[annotation.LoadBalancerType]; kind != "" && !p.ByLoadBalancerType && !strings.EqualFold(kind, "clb") {
		warnings = append(warnings,
			"annotation "+annotation.LoadBalancerType+" has no effect: the Service has a CLB, as loadBalancerTypeAnnotation "+
				"is off in the configuration")
	}
	if v.Has(annotation.InstanceSpec) && clb.GetInstanceChargeType() == slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_CLCU {
		warnings = append(warnings,
			"annotation "+annotation.Prefix+annotation.InstanceSpec+" has no effect: the CLB is billed by usage, not by specification; only "+
				annotation.Prefix+annotation.InstanceChargeType+": PayBySpec at the creation of the Service gives it one")
	}
	if v.Has(annotation.VSwitchID) && clb.GetAddressType() == slbv1.AddressType_ADDRESS_TYPE_INTERNET {
		warnings = append(warnings,
			"annotation "+annotation.Prefix+annotation.VSwitchID+" has no effect: only an intranet CLB is in a vSwitch (annotation "+
				annotation.Prefix+annotation.AddressType+")")
	}
	for _, key := range []string{annotation.ChargeType, annotation.Bandwidth} {
		// One of a user's may be intranet though the Service doesn't say so.
		if v.Has(key) && v.Text(annotation.AddressType) != "intranet" && clb.GetAddressType() == slbv1.AddressType_ADDRESS_TYPE_INTRANET {
			warnings = append(warnings, "annotation "+v.Name(key)+" has no effect: only the traffic of a public CLB is billed, and it is intranet")
		}
	}
	return append(warnings, otherEIP(v, there)...)
}

// Probes implements lb.Product. Health checks are on unless they are switched off.
func (Product) Probes(l model.Listener) bool {
	for _, config := range []*slbv1.ListenerConfig{configOf(l.Config), configOf(l.Defaults)} {
		if check := config.GetHealthCheck(); check != nil && check.Enabled != nil {
			return check.GetEnabled()
		}
	}
	return true
}

// CheckedPort implements lb.Product.
func (p Product) CheckedPort(l model.Listener, _ model.Group) (port int32, ok bool) {
	for _, config := range []*slbv1.ListenerConfig{configOf(l.Config), configOf(l.Defaults)} {
		if asked := config.GetHealthCheck().GetConnectPort(); asked != 0 && port == 0 {
			port = max(0, asked) // Below 0 is the servers' own.
		}
	}
	return port, l.Key.Protocol != model.UDP && p.Probes(l)
}

// CheckSources implements lb.Product: a CLB checks servers from addresses of the cloud, whatever its own address is.
func (Product) CheckSources(context.Context, model.Observed) ([]netip.Prefix, error) {
	return []netip.Prefix{netip.MustParsePrefix("100.64.0.0/10")}, nil
}

// Health implements lb.Product.
func (p Product) Health(ctx context.Context, there model.Observed) (map[model.ServerKey][]readiness.Health, error) {
	answer, err := p.Gateway.ServerHealth.ListServerHealth(ctx, &slbv1.ListServerHealthRequest{LoadBalancerId: there.InstanceID})
	if err != nil {
		return nil, err
	}
	found := map[model.ServerKey][]readiness.Health{}
	for _, h := range answer.GetServers() {
		server := model.ServerKey{ID: h.GetServerId(), IP: h.GetServerIp(), Port: h.GetPort()}
		found[server] = append(found[server], healthOf(h.GetStatus()))
	}
	return found, nil
}

// healthOf is what a listener found of a server: "normal", "abnormal", or "unavailable" while the first checks are under
// way and where none are made.
func healthOf(status string) readiness.Health {
	switch status {
	case "normal":
		return readiness.Good
	case "abnormal":
		return readiness.Bad
	default:
		return readiness.Unknown
	}
}

// Addresses implements lb.Product: those of EIPs.
func (p Product) Addresses(ctx context.Context, id string, maxAge time.Duration) (
	list []string, none string, err error) {
	request := &vpcv1.ListEipsRequest{AssociatedInstanceType: slbInstance, AssociatedInstanceId: id}
	if maxAge > 0 { // One list serves all load balancers.
		request.AssociatedInstanceId, request.MaxAge = "", durationpb.New(maxAge)
	}
	answer, err := p.Gateway.Eips.ListEips(ctx, request)
	if err != nil {
		return nil, "", fmt.Errorf("what is published stays until the EIP can be read: %w", err)
	}
	list = []string{}
	for _, eip := range answer.GetEips() {
		if eip.GetInstanceId() == id {
			list = append(list, eip.GetIpAddress())
		}
	}
	return list, fmt.Sprintf("no EIP is bound to load balancer %s, and its own address is published instead; "+
		"bind an EIP, or remove annotation %s%s", id, annotation.Prefix, annotation.ExternalIPType), nil
}

// Certificate implements lb.Product.
func (Product) Certificate(l model.Listener) string {
	return configOf(l.Config).GetServerCertificateId()
}

// CertificateEnds implements lb.Product.
func (p Product) CertificateEnds(ctx context.Context, ids []string) (map[string]time.Time, error) {
	answer, err := p.Gateway.Certificates.ListServerCertificates(ctx, &slbv1.ListServerCertificatesRequest{ServerCertificateIds: ids})
	if err != nil {
		return nil, err
	}
	found := map[string]time.Time{}
	for _, cert := range answer.GetServerCertificates() {
		found[cert.GetServerCertificateId()] = time.Time{}
		if end := cert.GetDetails().GetExpirationTime(); end != nil {
			found[cert.GetServerCertificateId()] = end.AsTime()
		}
	}
	return found, nil
}
