package convert

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/gatewayapi"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// maxAnnotations is how many spec.infrastructure of a Gateway takes.
const maxAnnotations = 8

// Gateway is what takes over the load balancer of a Service, with what its user has to know.
type Gateway struct {
	lists
	Gateway *gatewayv1.Gateway
	// Routes lead to the Service, one for each port.
	Routes []runtime.Object
}

// ToGateway makes of a Service a Gateway that takes over its load balancer, if it has one, and routes to the Service. A Service with a bad
// value is refused: what it asks for isn't known.
func ToGateway(svc *corev1.Service) (Gateway, error) {
	class, kind := "clb", annotation.CLB
	if svc.Spec.LoadBalancerClass != nil && *svc.Spec.LoadBalancerClass == annotation.NLBClass {
		class, kind = "nlb", annotation.NLB
	}
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return Gateway{}, errors.New("its type is not LoadBalancer")
	}
	values, problems := annotation.NewParser(kind).Parse(svc.Annotations)
	if err := mend(problems); err != nil {
		return Gateway{}, err
	}
	g := Gateway{Gateway: &gatewayv1.Gateway{
		TypeMeta:   metav1.TypeMeta{APIVersion: gatewayv1.GroupVersion.String(), Kind: "Gateway"},
		ObjectMeta: metav1.ObjectMeta{Namespace: svc.Namespace, Name: svc.Name},
		Spec:       gatewayv1.GatewaySpec{GatewayClassName: gatewayv1.ObjectName(class)},
	}}
	asks := map[string]string{}
	for key, text := range svc.Annotations {
		if strings.HasPrefix(key, annotation.Prefix) || strings.HasPrefix(key, annotation.LegacyPrefix) || key == annotation.BackendType {
			asks[key] = text
		}
	}
	g.first("make GatewayClass %s with controllerName alibabacloud.com/%s, if there is none", class, class)
	g.takeOver(svc, asks, kind)
	g.listen(svc, values, asks, kind)
	if len(asks) > maxAnnotations {
		return g, fmt.Errorf("its load balancer has %d annotations, and a Gateway takes %d: %s", len(asks), maxAnnotations,
			strings.Join(slices.Sorted(maps.Keys(asks)), ", "))
	}
	infrastructure := &gatewayv1.GatewayInfrastructure{Annotations: map[gatewayv1.AnnotationKey]gatewayv1.AnnotationValue{}}
	for key, text := range asks {
		infrastructure.Annotations[gatewayv1.AnnotationKey(key)] = gatewayv1.AnnotationValue(text)
	}
	if len(asks) > 0 {
		g.Gateway.Spec.Infrastructure = infrastructure
	}
	return g, nil
}

// takeOver has the Gateway name the load balancer of the Service.
func (g *Gateway) takeOver(svc *corev1.Service, asks map[string]string, kind annotation.LoadBalancer) {
	id := annotation.Reused(svc.Annotations)
	if id == "" {
		id = svc.Labels[ownership.LabelLoadBalancerID]
	}
	replace(asks, annotation.ID)
	if id == "" {
		g.differs("the Service has no load balancer yet: the Gateway gets one of its own")
	} else {
		g.Gateway.Spec.Addresses = []gatewayv1.GatewaySpecAddress{{Type: new(gatewayapi.AddressLoadBalancer), Value: id}}
		replace(asks, annotation.ForceOverride, on)
		replace(asks, annotation.PreserveOnDelete, on)
		g.first("have the Service give up load balancer %s: set annotation %s%s: \"on\" on it, and then spec.type: NodePort; from then until "+
			"the Gateway has the load balancer, nothing follows nodes and pods there", id, annotation.Prefix, annotation.PreserveOnDelete)
		g.differs("load balancer %s is yours from then on: it isn't deleted with the Gateway, and its attributes are changed only where an "+
			"annotation asks for it. The server groups of the Service stay in the cloud: delete them by hand", id)
	}
	switch ranges := svc.Spec.LoadBalancerSourceRanges; {
	case len(ranges) > 0 && id != "" && kind == annotation.NLB:
		g.differs("spec.loadBalancerSourceRanges: the security group that guards the NLB stays on it, and nobody changes its rules any more")
	case len(ranges) > 0:
		asks[gatewayapi.AnnotationSourceRanges] = strings.Join(ranges, ",")
	}
	if svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		g.without("spec.externalTrafficPolicy: Local: with nodes as servers, all of them are, and pods don't see the address of the client")
	}
	if svc.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		g.without("spec.sessionAffinity: ClientIP: with nodes as servers, kube-proxy takes any pod")
	}
}

// replace puts a value in place of an annotation under either prefix; none takes it off.
func replace(asks map[string]string, key string, value ...string) {
	delete(asks, annotation.LegacyPrefix+key)
	delete(asks, annotation.Prefix+key)
	for _, text := range value {
		asks[annotation.Prefix+key] = text
	}
}

// listen makes a listener and a route of each port.
func (g *Gateway) listen(svc *corev1.Service, values annotation.Values, asks map[string]string, kind annotation.LoadBalancer) {
	secure := tlsOf(svc, values, kind)
	if len(secure) > 0 {
		replace(asks, annotation.ProtocolPort)
		replace(asks, annotation.TLSSecret)
		replace(asks, annotation.CertID)
		if kind == annotation.NLB && !hasOwnCertificates(values.List(annotation.AdditionalCertIDs)) {
			replace(asks, annotation.AdditionalCertIDs)
		}
	}
	for i := range svc.Spec.Ports {
		port := &svc.Spec.Ports[i]
		transport := corev1.ProtocolTCP
		if port.Protocol != "" {
			transport = port.Protocol
		}
		name := port.Name
		if name == "" {
			name = fmt.Sprintf("%s-%d", strings.ToLower(string(transport)), port.Port)
		}
		l := gatewayv1.Listener{Name: gatewayv1.SectionName(name), Port: port.Port, Protocol: gatewayv1.ProtocolType(transport)}
		if l.TLS = secure[port.Port]; l.TLS != nil && transport == corev1.ProtocolTCP {
			l.Protocol = gatewayv1.TLSProtocolType
		}
		g.Gateway.Spec.Listeners = append(g.Gateway.Spec.Listeners, l)
		meta := metav1.ObjectMeta{Namespace: svc.Namespace, Name: svc.Name + "-" + name}
		parents := gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{
			{Name: gatewayv1.ObjectName(svc.Name), SectionName: &l.Name},
		}}
		backends := []gatewayv1.BackendRef{{BackendObjectReference: gatewayv1.BackendObjectReference{
			Name: gatewayv1.ObjectName(svc.Name), Port: &port.Port}}}
		version := gatewayv1.GroupVersion.String()
		if transport == corev1.ProtocolUDP {
			g.Routes = append(g.Routes, &gatewayv1.UDPRoute{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "UDPRoute"}, ObjectMeta: meta,
				Spec: gatewayv1.UDPRouteSpec{CommonRouteSpec: parents, Rules: []gatewayv1.UDPRouteRule{{BackendRefs: backends}}}})
		} else {
			g.Routes = append(g.Routes, &gatewayv1.TCPRoute{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "TCPRoute"}, ObjectMeta: meta,
				Spec: gatewayv1.TCPRouteSpec{CommonRouteSpec: parents, Rules: []gatewayv1.TCPRouteRule{{BackendRefs: backends}}}})
		}
	}
}

// tlsOf is the TLS of listeners, by port. It is empty where annotations say what listeners can't: then the annotations stay, and listeners
// are for TCP.
func tlsOf(svc *corev1.Service, values annotation.Values, kind annotation.LoadBalancer) map[int32]*gatewayv1.ListenerTLSConfig {
	word, secure := "https", map[int32]*gatewayv1.ListenerTLSConfig{}
	if kind == annotation.NLB {
		word = "tcpssl"
	}
	for _, p := range values.Pairs(annotation.ProtocolPort) {
		number, err := strconv.ParseInt(p.Value, 10, 32)
		protocol := strings.ToLower(p.Key)
		if isPort := slices.ContainsFunc(svc.Spec.Ports, func(have corev1.ServicePort) bool { return int64(have.Port) == number }); err != nil ||
			!isPort || protocol != word && protocol != tcp && protocol != "udp" {
			return nil
		}
		if protocol != word {
			continue
		}
		own := values.ForPort(int32(number))
		tls := &gatewayv1.ListenerTLSConfig{}
		if id := own.Text(annotation.CertID); id != "" {
			tls.Options = map[gatewayv1.AnnotationKey]gatewayv1.AnnotationValue{
				gatewayapi.OptionCertificate: gatewayv1.AnnotationValue(id)}
		}
		if secret := own.Text(annotation.TLSSecret); secret != "" {
			tls.CertificateRefs = append(tls.CertificateRefs, gatewayv1.SecretObjectReference{Name: gatewayv1.ObjectName(secret)})
		}
		if further := own.List(annotation.AdditionalCertIDs); kind == annotation.NLB && !hasOwnCertificates(further) {
			for _, item := range further {
				name, _ := annotation.SecretName(item)
				tls.CertificateRefs = append(tls.CertificateRefs, gatewayv1.SecretObjectReference{Name: gatewayv1.ObjectName(name)})
			}
		}
		if (len(tls.CertificateRefs) == 0) == (len(tls.Options) == 0) {
			return nil
		}
		secure[int32(number)] = tls
	}
	return secure
}

// hasOwnCertificates reports whether a list names certificates beside those of Secrets.
func hasOwnCertificates(list []string) bool {
	return slices.ContainsFunc(list, func(item string) bool { _, isSecret := annotation.SecretName(item); return !isSecret })
}

// WriteYAML returns the objects with the lists in front of them, as comments: the whole can be applied. The Gateway is the last: were it
// the first, it could take the load balancer over before a route gives its listeners servers.
func (g Gateway) WriteYAML() ([]byte, error) {
	var text strings.Builder
	text.WriteString(g.comments("What a Gateway doesn't have:"))
	for _, object := range append(slices.Clone(g.Routes), g.Gateway) {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, fmt.Errorf("encode the Gateway: %w", err)
		}
		delete(fields, "status")
		if meta, is := fields["metadata"].(map[string]any); is {
			delete(meta, "creationTimestamp")
		}
		document, err := yaml.Marshal(fields)
		if err != nil {
			return nil, fmt.Errorf("encode the Gateway: %w", err)
		}
		text.WriteString("---\n" + string(document))
	}
	return []byte(text.String()), nil
}
