package ecs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Where a vSwitch has reserved blocks, prefixes come from them, until there are no more, and nothing else has addresses of them
// (VSwitchCidrReservationType of CreateVSwitchCidrReservation, vpc-20160428 v6.12.8).
func TestPrefixesOfReservations(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareInterfaces(c)
	for id, cidr := range map[string]string{"vcr-4": "192.168.8.64/27", "vcr-low": "2408:4000:1:2::/80", "vcr-6": "2408:4000:1:2:7::/80"} {
		c.Cloud.CidrReservations[id] = &state.CidrReservation{ID: id, VSwitchID: "vsw-new", Cidr: cidr}
	}
	of := func(more ...string) []string { return append([]string{"NetworkInterfaceId", "eni-free"}, more...) }
	refused := func(action, code string, params ...string) {
		t.Helper()
		if _, got := c.Call(action, of(params...)...); got != code {
			t.Errorf("%s %v: %q, want %q", action, params, got, code)
		}
	}
	const four, six = "AssignPrivateIpAddresses", "AssignIpv6Addresses"
	refused(four, "InvalidIp.IpAssigned", "PrivateIpAddress.1", "192.168.8.70")
	refused(four, "InvalidIp.IpAssigned", "Ipv4Prefix.1", "192.168.8.32/28")
	refused(four, "InvalidVSwitchId.IpNotEnough", "Ipv4PrefixCount", "3")
	refused(six, "InvalidIp.IpAssigned", "Ipv6Prefix.1", "2408:4000:1:2:9::/80")
	refused(six, "InvalidVSwitchId.IpNotEnough", "Ipv6PrefixCount", "3")
	c.Must(four, of("Ipv4Prefix.1", "192.168.8.80/28")...)
	c.Must(four, of("Ipv4PrefixCount", "1", "ClientToken", "t")...)
	c.Must(six, of("Ipv6PrefixCount", "2", "Ipv6AddressCount", "1")...)
	refused(four, "InvalidVSwitchId.IpNotEnough", "Ipv4PrefixCount", "1")
	eni := c.Cloud.Interfaces["eni-free"]
	want := &state.NetworkInterface{Ipv4Prefixes: []string{"192.168.8.80/28", "192.168.8.64/28"},
		Ipv6Prefixes: []string{"2408:4000:1:2:7::/80", "2408:4000:1:2::/80"}, Ipv6Addresses: []string{"2408:4000:1:2:1::"}}
	got := &state.NetworkInterface{Ipv4Prefixes: eni.Ipv4Prefixes, Ipv6Prefixes: eni.Ipv6Prefixes, Ipv6Addresses: eni.Ipv6Addresses}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the interface (-want +got):\n%s", diff)
	}
}

// A vSwitch all of whose IPv6 addresses are reserved has none to give.
func TestNoAddressBesidesReservations(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareInterfaces(c)
	for id, cidr := range map[string]string{"vcr-1": "2408:4000:1:2::/65", "vcr-2": "2408:4000:1:2:8000::/65"} {
		c.Cloud.CidrReservations[id] = &state.CidrReservation{ID: id, VSwitchID: "vsw-new", Cidr: cidr}
	}
	for action, params := range map[string][]string{
		"AssignIpv6Addresses":    {"NetworkInterfaceId", "eni-free", "Ipv6AddressCount", "1"},
		"CreateNetworkInterface": creating("Ipv6AddressCount", "1"),
	} {
		if _, code := c.Call(action, params...); code != "InvalidVSwitchId.IpNotEnough" {
			t.Errorf("%s: %q", action, code)
		}
	}
}
