package addresses_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/nodecontroller/internal/addresses"
)

func list(texts ...string) []corev1.NodeAddress {
	var all []corev1.NodeAddress
	for _, text := range texts {
		kind, address, _ := strings.Cut(text, " ")
		all = append(all, corev1.NodeAddress{Type: corev1.NodeAddressType(kind), Address: address})
	}
	return all
}

func TestOf(t *testing.T) {
	t.Parallel()
	full := &ecsv1.Instance{
		PublicIps: []string{"1.1.1.1", "1.1.1.2"}, Eip: "2.2.2.2", InnerIps: []string{"10.9.0.1"},
		PrivateIps: []string{"192.168.0.1", "192.168.0.2"}, Ipv6Addresses: []string{"fd00::1"},
	}
	tests := []struct {
		name     string
		instance *ecsv1.Instance
		current  []corev1.NodeAddress
		provided string
		ipv6     bool
		want     []corev1.NodeAddress
		err      string
	}{
		{name: "everything in order", instance: full, current: list("Hostname a", "InternalIP 9.9.9.9", "Hostname b"), ipv6: true, want: list(
			"ExternalIP 1.1.1.1", "ExternalIP 1.1.1.2", "ExternalIP 2.2.2.2", "InternalIP 10.9.0.1", "InternalIP 192.168.0.1",
			"InternalIP 192.168.0.2", "InternalIP fd00::1", "Hostname a", "Hostname b")},
		{name: "the node's order", instance: full, current: list("InternalIP 192.168.0.2", "ExternalIP 2.2.2.2", "ExternalIP 1.1.1.1",
			"InternalIP 192.168.0.1"), want: list("ExternalIP 2.2.2.2", "ExternalIP 1.1.1.1", "ExternalIP 1.1.1.2", "InternalIP 192.168.0.2",
			"InternalIP 192.168.0.1", "InternalIP 10.9.0.1")},
		{name: "IPv6 is off", instance: &ecsv1.Instance{PrivateIps: []string{"192.168.0.1"}, Ipv6Addresses: []string{"fd00::1"}},
			want: list("InternalIP 192.168.0.1")},
		{name: "each once", instance: &ecsv1.Instance{PrivateIps: []string{"192.168.0.1", "192.168.0.1", ""}},
			current: list("Hostname a", "Hostname a"), want: list("InternalIP 192.168.0.1", "Hostname a")},
		{name: "nothing", instance: &ecsv1.Instance{}},
		{name: "provided", instance: full, current: list("Hostname a"), provided: "192.168.0.2", want: list(
			"ExternalIP 1.1.1.1", "ExternalIP 1.1.1.2", "ExternalIP 2.2.2.2", "InternalIP 192.168.0.2", "Hostname a")},
		{name: "a public one provided", instance: full, provided: "2.2.2.2", want: list(
			"InternalIP 10.9.0.1", "InternalIP 192.168.0.1", "InternalIP 192.168.0.2", "ExternalIP 2.2.2.2")},
		{name: "one of each type provided", instance: full, provided: "192.168.0.2,1.1.1.2",
			want: list("InternalIP 192.168.0.2", "ExternalIP 1.1.1.2")},
		// The existing CCM compares the whole value, so that dual stack never gets its taint off.
		{name: "two provided", instance: full, provided: "192.168.0.2, FD00:0::1", want: list(
			"ExternalIP 1.1.1.1", "ExternalIP 1.1.1.2", "ExternalIP 2.2.2.2", "InternalIP 192.168.0.2", "InternalIP fd00::1")},
		{name: "the same provided twice", instance: &ecsv1.Instance{PrivateIps: []string{"192.168.0.1", "192.168.0.2"}},
			provided: "192.168.0.2,192.168.0.2",
			want:     list("InternalIP 192.168.0.2")},
		{name: "a stranger provided", instance: &ecsv1.Instance{PrivateIps: []string{"192.168.0.1"}}, provided: "192.168.0.1,10.0.0.1",
			err: `the kubelet's --node-ip "10.0.0.1" is no address of the instance, which has 192.168.0.1`},
		{name: "provided, but none known", instance: &ecsv1.Instance{}, provided: "10.0.0.1",
			err: `the kubelet's --node-ip "10.0.0.1" is no address of the instance, which has none`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := addresses.Of(tt.instance, tt.current, tt.provided, tt.ipv6)
			if tt.err != "" && (err == nil || err.Error() != tt.err) || tt.err == "" && err != nil {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoses(t *testing.T) {
	t.Parallel()
	both := list("InternalIP 192.168.0.1", "InternalIP fd00::1", "Hostname a")
	for _, tt := range []struct {
		name          string
		before, after []corev1.NodeAddress
		want          bool
	}{
		{"nothing had", nil, both, false},
		{"all kept", both, both, false},
		{"no IPv6 any more", both, list("InternalIP 192.168.0.1"), true},
		{"no IPv4 any more", both, list("InternalIP fd00::1"), true},
		{"another of the family", both, list("InternalIP 192.168.0.9", "InternalIP fd00::9"), false},
		{"external ones are not what kube-proxy looks at", both, list("InternalIP 192.168.0.1", "ExternalIP fd00::1"), true},
		{"an external one goes", list("InternalIP 192.168.0.1", "ExternalIP 1.1.1.1"), list("InternalIP 192.168.0.1"), false},
		{"no address at all", list("InternalIP node-1"), nil, false},
	} {
		if got := addresses.Loses(tt.before, tt.after); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// FuzzOf checks that addresses are never made up or repeated, whatever the annotation holds.
func FuzzOf(f *testing.F) {
	f.Add("192.168.0.1", "fd00::1")
	f.Add("192.168.0.1,fd00::1", "")
	f.Add(",", "host")
	f.Fuzz(func(t *testing.T, provided, host string) {
		instance := &ecsv1.Instance{PrivateIps: []string{"192.168.0.1"}, Ipv6Addresses: []string{"fd00::1"}}
		got, err := addresses.Of(instance, list("Hostname "+host), provided, false)
		if err != nil {
			return
		}
		seen := map[corev1.NodeAddress]bool{}
		for _, address := range got {
			if seen[address] || address.Address != "192.168.0.1" && address.Address != "fd00::1" && address.Address != host {
				t.Errorf("provided %q gives %v", provided, got)
			}
			seen[address] = true
		}
	})
}
