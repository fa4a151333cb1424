package backend

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// endpoint is a pod that takes traffic of one port.
type endpoint struct {
	ip   string
	port int32
	node string
}

// endpoints returns the pods behind a port of a Service: the ready ones, or, if there are none, those that still serve while
// they terminate. Pods that wait for nothing but the load balancer come on top. Each address and port appears once, whatever number of
// slices name it.
func endpoints(list []*discoveryv1.EndpointSlice, gated readiness.Pods, port corev1.ServicePort) []endpoint {
	ready, leaving, waiting := map[endpoint]endpoint{}, map[endpoint]endpoint{}, map[endpoint]endpoint{}
	for _, slice := range list {
		number, ok := slicePort(slice, port)
		if slice.AddressType != discoveryv1.AddressTypeIPv4 || !ok {
			continue
		}
		for _, e := range slice.Endpoints {
			if len(e.Addresses) == 0 {
				continue
			}
			// Consumers use the first address: all of them are interchangeable.
			pod := endpoint{ip: e.Addresses[0], port: number, node: value(e.NodeName, "")}
			c := e.Conditions
			isReady := value(c.Ready, true)
			serves := value(c.Serving, isReady) && value(c.Terminating, false)
			key := endpoint{ip: pod.ip, port: pod.port}
			switch {
			case isReady:
				ready[key] = pod
			case serves:
				leaving[key] = pod
			case !value(c.Terminating, false) && gated.Serves(e.TargetRef):
				waiting[key] = pod
			}
		}
	}
	if len(ready) == 0 {
		ready = leaving
	}
	maps.Copy(ready, waiting)
	return slices.Collect(maps.Values(ready))
}

// TargetPort is the port of the pods: the port's own number unless another is given.
func TargetPort(port corev1.ServicePort) intstr.IntOrString {
	if port.TargetPort.Type == intstr.Int && port.TargetPort.IntVal == 0 {
		return intstr.FromInt32(port.Port)
	}
	return port.TargetPort
}

// slicePort finds the number of the port in a slice. A number in the Service is taken as it is; a name may mean another number
// in every slice, whose ports bear the names of the Service's ports.
func slicePort(slice *discoveryv1.EndpointSlice, port corev1.ServicePort) (int32, bool) {
	if target := TargetPort(port); target.Type == intstr.Int {
		return target.IntVal, true
	}
	for _, p := range slice.Ports {
		if value(p.Name, "") == port.Name && p.Port != nil && value(p.Protocol, corev1.ProtocolTCP) == protocolOf(port) {
			return *p.Port, true
		}
	}
	return 0, false
}

func protocolOf(port corev1.ServicePort) corev1.Protocol {
	if port.Protocol == "" {
		return corev1.ProtocolTCP
	}
	return port.Protocol
}

func value[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// Addresses returns the addresses under which the EndpointSlices of a Service name pods, by the names of these.
func Addresses(list []*discoveryv1.EndpointSlice) map[string][]string {
	addresses := map[string][]string{}
	for _, slice := range list {
		for _, e := range slice.Endpoints {
			if e.TargetRef != nil && e.TargetRef.Kind == "Pod" && len(e.Addresses) > 0 {
				addresses[e.TargetRef.Name] = append(addresses[e.TargetRef.Name], e.Addresses[0])
			}
		}
	}
	return addresses
}
