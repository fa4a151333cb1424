// Package shadow makes and keeps Services of type LoadBalancer without a selector, and their EndpointSlices, for
// objects of other kinds. The engine serves them as any other.
package shadow

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
)

const (
	// LabelManagedBy with backend.SlicesManager marks the Services that are made here. Only these are changed or deleted.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// AnnotationKeys notes on such a Service which annotations and labels it was given: those that it is given no more go.
	AnnotationKeys = "gateway.alibabacloud.com/keys"
	// maxShown is the length of the part of an object's name in that of its Service.
	maxShown = 40
	// maxLabel is the length of a label's value.
	maxLabel = 63
)

// IsOurs reports whether a Service was made here.
func IsOurs(svc *corev1.Service) bool { return svc.Labels[LabelManagedBy] == backend.SlicesManager }

// IsOf reports whether a Service was made here for an object.
func IsOf(svc *corev1.Service, owner metav1.Object) bool {
	return IsOurs(svc) && metav1.IsControlledBy(svc, owner)
}

// Name is that of the Service of an object. parts distinguish it from other Services of the same object.
func Name(prefix, name string, parts ...string) string {
	shown := strings.Trim(strings.ReplaceAll(name[:min(len(name), maxShown)], ".", "-"), "-")
	return prefix + shown + "-" + ShortHash(append(parts, name)...)
}

// ShortHash tells texts apart in names.
func ShortHash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:5])
}

// ServiceOf is a Service for an object, without ports and without its mark. Its class may be empty.
func ServiceOf(owner metav1.OwnerReference, name types.NamespacedName, class string,
	annotations map[string]string) *corev1.Service {
	owner.Controller = new(true)
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name, Labels: map[string]string{}, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	if class != "" {
		svc.Spec.LoadBalancerClass = &class
	}
	return svc
}

// Mark marks a complete Service as made here for the object that a label names for people, and notes which annotations
// and labels it was given, and that it is another edit than before if any of it is.
func Mark(svc *corev1.Service, label string) {
	svc.Labels[LabelManagedBy] = backend.SlicesManager
	if owner := svc.OwnerReferences[0].Name; len(owner) <= maxLabel {
		svc.Labels[label] = owner
	}
	keys := slices.Concat(slices.Collect(maps.Keys(svc.Labels)), slices.Collect(maps.Keys(svc.Annotations)))
	slices.Sort(keys)
	svc.Annotations[AnnotationKeys] = strings.Join(keys, ",")
	svc.Annotations[backend.AnnotationEdit] = ShortHash(fmt.Sprint(svc.Labels, svc.Annotations, svc.Spec.Ports,
		svc.Spec.LoadBalancerSourceRanges))
}

// Copies are slices for a port of a Service that is made here, with the endpoints of a port of another Service, which
// of names.
func Copies(svc *corev1.Service, port corev1.ServicePort, sources []*discoveryv1.EndpointSlice, at corev1.ServicePort,
	of string) (list []*discoveryv1.EndpointSlice) {
	for _, source := range sources {
		if number, ok := portIn(source, at); ok && source.AddressType != discoveryv1.AddressTypeFQDN {
			list = append(list, sliceOf(svc, port, source, number, of))
		}
	}
	return list
}

// portIn is the number of a port of a Service in one of its slices.
func portIn(slice *discoveryv1.EndpointSlice, port corev1.ServicePort) (int32, bool) {
	for _, p := range slice.Ports {
		name, protocol := "", corev1.ProtocolTCP
		if p.Name != nil {
			name = *p.Name
		}
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		if name == port.Name && protocol == cmp.Or(port.Protocol, corev1.ProtocolTCP) && p.Port != nil {
			return *p.Port, true
		}
	}
	return 0, false
}

// sliceOf is a slice for a port of a Service that is made here, with the endpoints of another slice at the number that
// the port has there. of says whose they are.
func sliceOf(svc *corev1.Service, port corev1.ServicePort, source *discoveryv1.EndpointSlice, number int32,
	of string) *discoveryv1.EndpointSlice {
	protocol, name := port.Protocol, port.Name
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: svc.Namespace, Name: svc.Name + "-" + ShortHash(name, of, source.Name),
			Labels: map[string]string{discoveryv1.LabelServiceName: svc.Name, discoveryv1.LabelManagedBy: backend.SlicesManager},
		},
		AddressType: source.AddressType,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Protocol: &protocol, Port: &number}},
		Endpoints:   make([]discoveryv1.Endpoint, 0, len(source.Endpoints)),
	}
	for _, e := range source.Endpoints {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: e.Addresses, Conditions: e.Conditions, NodeName: e.NodeName, Zone: e.Zone, TargetRef: e.TargetRef,
		})
	}
	return slice
}

// Nobody is a slice that says that there is nobody behind a port, where no slice at all says that nothing is known.
func Nobody(svc *corev1.Service, port corev1.ServicePort) *discoveryv1.EndpointSlice {
	return sliceOf(svc, port, &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}, port.Port, "")
}
