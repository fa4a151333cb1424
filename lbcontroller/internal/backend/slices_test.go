package backend

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestSlicesMadeByHand: a slice counts for the ports that it has, with its numbers, as for kube-proxy.
func TestSlicesMadeByHand(t *testing.T) {
	t.Parallel()
	slice := func(ip string, ports ...discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, Ports: ports,
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{ip}}}}
	}
	named := func(name string, number int32) discoveryv1.EndpointPort {
		return discoveryv1.EndpointPort{Name: &name, Port: &number}
	}
	source := Source{Nodes: New(nil), Slices: []*discoveryv1.EndpointSlice{
		slice("10.0.0.1", named("mysql", 3306)), slice("10.0.0.2", named("http", 9090)), slice("10.0.0.3"),
	}}
	for name, want := range map[string]map[Backend]bool{
		"mysql": {{IP: "10.0.0.1", Port: 3306}: true, {IP: "10.0.0.3", Port: 3306}: true},
		"http":  {{IP: "10.0.0.2", Port: 9090}: true, {IP: "10.0.0.3", Port: 8080}: true},
	} {
		target := map[string]int32{"mysql": 3306, "http": 8080}[name]
		choice := source.Choose(Policy{Mode: Pods}, corev1.ServicePort{Name: name, Port: 80, TargetPort: intstr.FromInt32(target)})
		got := map[Backend]bool{}
		for share := range choice.All() {
			got[share.Backend] = true
		}
		if len(got) != len(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		for b := range want {
			if !got[b] {
				t.Errorf("%s: %v is missing in %v", name, b, got)
			}
		}
	}
}
