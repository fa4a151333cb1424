package nlb

import (
	"strings"
	"testing"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// zonesOf reads zones as annotation zone-maps has them.
func zonesOf(texts ...string) (list []*nlbv1.ZoneMapping) {
	for _, text := range texts {
		parts := append(strings.Split(text, ":"), "")
		list = append(list, &nlbv1.ZoneMapping{ZoneId: parts[0], VswitchId: parts[1], PrivateIpv4Address: parts[2]})
	}
	return list
}

// TestWrongZones is the table of what vSwitches and zones say of zones that are asked for. What a zone of the NLB has
// already is never wrong.
func TestWrongZones(t *testing.T) {
	t.Parallel()
	list := []*vpcv1.VSwitch{
		{VswitchId: "h1", ZoneId: "h", CidrBlock: "10.0.1.0/24", Ipv6CidrBlock: "2001:db8:1::/64", AvailableIpCount: 9},
		{VswitchId: "i1", ZoneId: "i", CidrBlock: "10.0.2.0/24", Ipv6CidrBlock: "2001:db8:2::/64", AvailableIpCount: 9},
		{VswitchId: "i4", ZoneId: "i", CidrBlock: "10.0.3.0/24", AvailableIpCount: 9},
		{VswitchId: "full", ZoneId: "j", CidrBlock: "10.0.4.0/24", Ipv6CidrBlock: "2001:db8:4::/64"},
		{VswitchId: "none", ZoneId: "k", CidrBlock: "10.0.5.0/24", Ipv6CidrBlock: "2001:db8:5::/64", AvailableIpCount: 9},
	}
	offered := []string{"h", "i", "j"}
	const new4, new6 = "; what would do: h:h1, i:i1, i:i4", "; what would do: h:h1, i:i1"
	for name, test := range map[string]struct {
		zones, have []*nlbv1.ZoneMapping
		dual        bool
		offered     []string
		want        string
	}{
		"right":           {zones: zonesOf("h:h1", "i:i4"), offered: offered},
		"right with IPv6": {zones: zonesOf("h:h1", "i:i1"), dual: true, offered: offered},
		"the vSwitch of another zone": {zones: zonesOf("h:i1", "i:i4"), offered: offered,
			want: "vSwitch i1 is in zone i and not in h" + new4},
		"two at once": {zones: zonesOf("h:i1", "i:h1"), offered: offered,
			want: "vSwitch i1 is in zone i and not in h, and vSwitch h1 is in zone h and not in i" + new4},
		"none of the VPC": {zones: zonesOf("h:h1", "i:other"), offered: offered,
			want: "the VPC has no vSwitch other" + new4},
		"no IPv6 range": {zones: zonesOf("h:h1", "i:i4"), dual: true, offered: offered,
			want: "vSwitch i4 has no IPv6 range, which ip-version DualStack needs" + new6},
		"no NLBs in the zone": {zones: zonesOf("h:h1", "k:none"), offered: offered,
			want: "the cloud offers no NLBs in zone k" + new4},
		"the zones that have NLBs aren't known": {zones: zonesOf("h:h1", "k:none")},
		"no free address": {zones: zonesOf("h:h1", "j:full"), offered: offered,
			want: "vSwitch full has no free address" + new4},
		"an address of another range": {zones: zonesOf("h:h1:10.0.2.5", "i:i1"), offered: offered,
			want: "address 10.0.2.5 is none of vSwitch h1, which has 10.0.1.0/24" + new4},

		"a zone more": {zones: zonesOf("h:h1", "i:i1"), have: zonesOf("h:h1", "j:full"),
			offered: offered},
		"a zone stays": {zones: zonesOf("h:h1", "j:full"), have: zonesOf("i:i1", "j:full"),
			offered: offered},
		"a zone stays that has no NLBs any more": {zones: zonesOf("h:h1", "k:none"), have: zonesOf("i:i1", "k:none"),
			offered: offered},
		"a zone stays whose vSwitch isn't listed": {zones: zonesOf("h:gone", "i:i1"), have: zonesOf("h:gone", "j:full"),
			offered: offered},
		"a zone stays with its address": {zones: zonesOf("h:h1", "j:full:10.0.4.9"),
			have:    zonesOf("i:i1", "j:full:10.0.4.9"),
			offered: offered},
		"a zone stays, without IPv6": {zones: zonesOf("h:h1", "i:i4"), have: zonesOf("i:i4", "j:full"), dual: true,
			offered: offered},
		"a new zone without IPv6": {zones: zonesOf("h:h1", "i:i4"), have: zonesOf("h:h1", "j:full"), dual: true,
			offered: offered,
			want:    "vSwitch i4 has no IPv6 range, which ip-version DualStack needs; what would do: h:h1, i:i1, j:full"},
		"another vSwitch in a zone": {zones: zonesOf("h:h1", "i:i4"), have: zonesOf("h:h1", "i:i1"), offered: offered,
			want: "the NLB is in zone i by vSwitch i1, which can't be changed while it is in that zone" +
				"; what would do: h:h1, i:i1"},
		"another address, of another range": {zones: zonesOf("h:h1:10.0.2.5", "i:i1"),
			have: zonesOf("h:h1:10.0.1.5", "i:i1"), offered: offered,
			want: "address 10.0.2.5 is none of vSwitch h1, which has 10.0.1.0/24; what would do: h:h1, i:i1"},
	} {
		if got := (wish{zones: test.zones, have: test.have, dual: test.dual}).wrongZones(list, test.offered); got != test.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, test.want)
		}
	}
}

// TestNeedsZones is the table of which changes are left out with that of the zones.
func TestNeedsZones(t *testing.T) {
	t.Parallel()
	bandwidth := &nlbv1.UpdateLoadBalancerRequest{BandwidthPackageId: new("cbwp-1")}
	for name, test := range map[string]struct {
		change        *nlbv1.UpdateLoadBalancerRequest
		becomesPublic bool
		want          bool
	}{
		"zones": {change: &nlbv1.UpdateLoadBalancerRequest{
			ZoneMappings: &nlbv1.ZoneMappings{ZoneMappings: zonesOf("h:h1", "j:full")}}, want: true},
		"a name":              {change: &nlbv1.UpdateLoadBalancerRequest{Name: new("web")}},
		"a bandwidth package": {change: bandwidth},
		"a bandwidth package, and the NLB was to be public": {change: bandwidth, becomesPublic: true,
			want: true},
	} {
		w := wish{becomesPublic: test.becomesPublic}
		if got := w.needs(UpdateInstance{Request: test.change}); got != test.want {
			t.Errorf("%s: needs the zones %t, want %t", name, got, test.want)
		}
	}
	if (wish{}).needs(plan.CreateGroup{}) {
		t.Error("a server group needs zones")
	}
}
