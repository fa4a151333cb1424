package gatewayapi

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

const (
	// labelGateway names the Gateway for people and tools, as the Gateway API wants it.
	labelGateway = "gateway.networking.k8s.io/gateway-name"
	// AnnotationSourceRanges in spec.infrastructure names the networks that may connect: the Gateway API has no field for them. It is the
	// annotation that Kubernetes had for Services before these got spec.loadBalancerSourceRanges.
	AnnotationSourceRanges = "service.beta.kubernetes.io/load-balancer-source-ranges"
	// reserved begins the keys that are the controller's.
	reserved = "gateway.alibabacloud.com/"
)

// The types of spec.addresses beside IPAddress.
const (
	AddressLoadBalancer gatewayv1.AddressType = "alibabacloud.com/load-balancer"
	AddressEIP          gatewayv1.AddressType = "alibabacloud.com/eip"
	AddressKind         gatewayv1.AddressType = "alibabacloud.com/address-type"
)

// addressAnnotations say the addresses of a type.
var addressAnnotations = map[gatewayv1.AddressType]string{ //nolint:gochecknoglobals // A constant.
	AddressLoadBalancer: annotation.ID, AddressKind: annotation.AddressType, AddressEIP: annotation.EIPID,
	gatewayv1.IPAddressType: annotation.Address,
}

// serviceName is that of the Service of a Gateway. Another kind of load balancer has another one, since the class of a Service can't be
// changed.
func serviceName(g types.NamespacedName, controller gatewayv1.GatewayController) types.NamespacedName {
	return types.NamespacedName{Namespace: g.Namespace, Name: shadow.Name("gw-", g.Name, string(controller))}
}

// annotationsFor are those of the Service of a Gateway, beside what it says itself; refused if the two contradict each other.
func annotationsFor(g *gatewayv1.Gateway, list []*listener, isNLB bool) (map[string]string, shadow.Verdict) {
	all, said := map[string]string{}, map[string][]string{}
	if g.Spec.TLS != nil { // To pass over it might let clients in without their certificates.
		return all, shadow.Refuse(gatewayv1.GatewayReasonInvalid, "spec.tls has no meaning here; an NLB asks clients for certificates by "+
			"annotations cacert and cacert-id")
	}
	for _, address := range g.Spec.Addresses {
		kind := value(address.Type, gatewayv1.IPAddressType)
		key := addressAnnotations[kind]
		switch ofCLB := key == annotation.EIPID || key == annotation.Address; {
		case address.Value == "": // Any address will do.
		case key == "" || ofCLB && isNLB:
			return all, shadow.Refuse(gatewayv1.GatewayReasonUnsupportedAddress,
				"an address of type %s can't be chosen here; EIPs and addresses of an NLB are named by annotation zone-maps", kind)
		default:
			said[key] = append(said[key], address.Value)
		}
	}
	for _, l := range list {
		if l.made() && l.terminates() {
			annotation.Terminate(said, g.Namespace, l.Port, isNLB, string(l.TLS.Options[OptionCertificate]), l.certificates)
		}
	}
	for key, values := range said {
		all[annotation.Prefix+key] = strings.Join(values, ",")
	}
	return all, addInfrastructure(all, g.Spec.Infrastructure)
}

// addInfrastructure adds the annotations of spec.infrastructure to those that the rest of a Gateway says.
func addInfrastructure(all map[string]string, infrastructure *gatewayv1.GatewayInfrastructure) shadow.Verdict {
	if infrastructure == nil {
		return shadow.Verdict{}
	}
	if infrastructure.ParametersRef != nil {
		return shadow.Refuse(gatewayv1.GatewayReasonInvalidParameters,
			"spec.infrastructure.parametersRef has no meaning here; use its annotations")
	}
	for _, key := range slices.Sorted(maps.Keys(infrastructure.Annotations)) {
		text := string(infrastructure.Annotations[key])
		if have, is := all[string(key)]; is && have != text || strings.HasPrefix(string(key), reserved) {
			return shadow.Refuse(gatewayv1.GatewayReasonInvalidParameters, "annotation %s of spec.infrastructure is that "+
				"of the controller, or says otherwise than spec.addresses or spec.listeners", key)
		}
		if string(key) == AnnotationSourceRanges {
			for _, network := range sourceRanges(text) {
				if _, err := netip.ParsePrefix(network); err != nil { // The API server would refuse the Service.
					return shadow.Refuse(gatewayv1.GatewayReasonInvalidParameters, "annotation %s: %v", key, err)
				}
			}
		}
		all[string(key)] = text
	}
	return shadow.Verdict{}
}

// sourceRanges are the networks of AnnotationSourceRanges.
func sourceRanges(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// service is what a Gateway asks for.
func (w *World) service(g *gatewayv1.Gateway, controller gatewayv1.GatewayController, list []*listener,
	annotations map[string]string) *corev1.Service {
	class := w.CLBClass
	if controller == NLBController {
		class = annotation.NLBClass
	}
	owner := metav1.OwnerReference{APIVersion: gatewayv1.GroupVersion.String(), Kind: kindGateway, Name: g.Name, UID: g.UID}
	svc := shadow.ServiceOf(owner, serviceName(shadow.NameOf(g), controller), class, annotations)
	svc.Spec.LoadBalancerSourceRanges = sourceRanges(annotations[AnnotationSourceRanges])
	delete(annotations, AnnotationSourceRanges)
	if g.Spec.Infrastructure != nil {
		for key, text := range g.Spec.Infrastructure.Labels {
			svc.Labels[string(key)] = string(text)
		}
	}
	for _, l := range list {
		if l.made() {
			svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{
				Name: l.portName(), Protocol: l.transport(), Port: l.Port, TargetPort: intstr.FromString(l.portName()),
			})
		}
	}
	slices.SortFunc(svc.Spec.Ports, func(a, b corev1.ServicePort) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), strings.Compare(a.Name, b.Name))
	})
	shadow.Mark(svc, labelGateway)
	return svc
}

// slices are those of the Service of a Gateway: copies of those of the backends, one for each listener that a backend serves. A port
// without any has an empty one: it says that there is nobody behind the port, where no slice at all says that nothing is known.
func (w *World) slices(svc *corev1.Service, list []*listener, podServers bool) []*discoveryv1.EndpointSlice {
	var all []*discoveryv1.EndpointSlice
	for _, l := range list {
		if !l.made() {
			continue
		}
		var backends []target
		if len(l.routes) > 0 {
			backends, _ = w.backends(l.routes[0])
		}
		first, port := len(all), corev1.ServicePort{Name: l.portName(), Protocol: l.transport(), Port: l.Port}
		for _, b := range backends {
			if b.weight == 0 && (!podServers || len(backends) == 1) {
				continue
			}
			for _, slice := range shadow.Copies(svc, port, w.Slices(b.service), b.port, b.name()) {
				if podServers && len(backends) > 1 {
					slice.Annotations = map[string]string{backend.AnnotationWeight: fmt.Sprintf("%d %s", b.weight, b.name())}
				}
				all = append(all, slice)
			}
		}
		if len(all) == first {
			all = append(all, shadow.Nobody(svc, port))
		}
	}
	return all
}
