package backend

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// endpoint is a pod of one port. Its address is empty if it isn't of the family that is taken, where only its node counts.
type endpoint struct {
	ip   string
	port int32
	node string
}

// endpoints are the pods behind a port of a Service. Each address and port appears once, whatever number of slices name it.
type endpoints struct {
	// taking take traffic: the ready ones, or, if there are none, those that still serve while they terminate. Pods that wait for nothing but
	// the load balancer come on top.
	taking []endpoint
	// ending are the others that terminate, and down those that neither are ready nor terminate.
	ending, down []endpoint
	// unnamed reports that there are pods, and no slice has the port. Slices and Service may be of different times: a port was renamed, say.
	unnamed bool
}

// endpoints reads the pods of a port.
func (s Source) endpoints(p Policy, port corev1.ServicePort) endpoints {
	ready, serving, ending, down := map[endpoint]endpoint{}, map[endpoint]endpoint{}, map[endpoint]endpoint{}, map[endpoint]endpoint{}
	waiting := map[endpoint]endpoint{}
	family := s.family(p)
	has, named := false, false
	for _, slice := range s.Slices {
		number, ok := slicePort(slice, port)
		if slice.AddressType != family {
			continue
		}
		if has, named = has || len(slice.Endpoints) > 0, named || ok; !ok {
			continue
		}
		for _, e := range slice.Endpoints {
			if len(e.Addresses) == 0 {
				continue
			}
			// Consumers use the first address: all of them are interchangeable.
			key := endpoint{ip: e.Addresses[0], port: number}
			pod := endpoint{ip: key.ip, port: number, node: value(e.NodeName, "")}
			if family != p.family() {
				pod.ip = ""
			}
			c := e.Conditions
			isReady, terminates := value(c.Ready, true), value(c.Terminating, false)
			switch {
			case isReady:
				ready[key] = pod
			case terminates && value(c.Serving, false):
				serving[key] = pod
			case terminates:
				ending[key] = pod
			case s.Gated.Serves(e.TargetRef):
				waiting[key] = pod
			default:
				down[key] = pod
			}
		}
	}
	if len(ready) == 0 {
		ready, serving = serving, nil
	}
	maps.Copy(ready, waiting)
	maps.Copy(ending, serving)
	return endpoints{taking: list(ready), ending: list(ending), down: list(down), unnamed: has && !named}
}

// isEmpty reports that the Service certainly has no pods. Without any EndpointSlice it may be that they aren't there yet.
func (s Source) isEmpty() bool {
	return len(s.Slices) > 0 &&
		!slices.ContainsFunc(s.Slices, func(slice *discoveryv1.EndpointSlice) bool { return len(slice.Endpoints) > 0 })
}

func list(set map[endpoint]endpoint) []endpoint { return slices.Collect(maps.Values(set)) }

// family is that of the addresses to read. Where nodes are the servers, any address says where the pods are.
func (s Source) family(p Policy) discoveryv1.AddressType {
	other := p.family()
	for _, slice := range s.Slices {
		if slice.AddressType == p.family() {
			return p.family()
		}
		if p.Mode != Pods && slice.AddressType == discoveryv1.AddressTypeIPv6 {
			other = slice.AddressType
		}
	}
	return other
}

// TargetPort is the port of the pods: the port's own number unless another is given.
func TargetPort(port corev1.ServicePort) intstr.IntOrString {
	if port.TargetPort.Type == intstr.Int && port.TargetPort.IntVal == 0 {
		return intstr.FromInt32(port.Port)
	}
	return port.TargetPort
}

// slicePort finds the number of the port in a slice, whose ports bear the names of the Service's ports, as kube-proxy
// does. A name in the Service may mean another number in every slice, and so may a number where slices are made by
// hand. A slice without ports has that of the Service.
func slicePort(slice *discoveryv1.EndpointSlice, port corev1.ServicePort) (int32, bool) {
	target := TargetPort(port)
	for _, p := range slice.Ports {
		if value(p.Name, "") == port.Name && value(p.Protocol, corev1.ProtocolTCP) == protocolOf(port) {
			return value(p.Port, target.IntVal), p.Port != nil || target.Type == intstr.Int
		}
	}
	return target.IntVal, len(slice.Ports) == 0 && target.Type == intstr.Int
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

// Coming returns the addresses of pods that aren't ready yet, which may be so soon.
func (s Source) Coming(p Policy) []string {
	if p.Mode != Pods {
		return nil
	}
	var ips []string
	for _, slice := range s.Slices {
		for _, e := range slice.Endpoints {
			if slice.AddressType == p.family() && len(e.Addresses) > 0 && !value(e.Conditions.Ready, true) &&
				!value(e.Conditions.Terminating, false) {
				ips = append(ips, e.Addresses[0])
			}
		}
	}
	slices.Sort(ips)
	return slices.Compact(ips)
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

// Holders are the UIDs of the pods that have addresses. While two pods have one, it is that of the pod that doesn't terminate.
func Holders(list []*discoveryv1.EndpointSlice) map[string]types.UID {
	holders := map[string]types.UID{}
	for _, slice := range list {
		for _, e := range slice.Endpoints {
			if e.TargetRef == nil || len(e.Addresses) == 0 {
				continue
			}
			if _, other := holders[e.Addresses[0]]; !other || !value(e.Conditions.Terminating, false) {
				holders[e.Addresses[0]] = e.TargetRef.UID
			}
		}
	}
	return holders
}
