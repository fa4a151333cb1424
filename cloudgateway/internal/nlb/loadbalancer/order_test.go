package loadbalancer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
)

// TestNobodyElseCanConnectMeanwhile: between any two calls of an update nobody can connect whom neither the instance as it was lets in nor
// the one that is wanted, and what restricts the access is in force before what opens the instance.
func TestNobodyElseCanConnectMeanwhile(t *testing.T) {
	t.Parallel()
	var all []*nlbv1.LoadBalancer
	for _, groups := range [][]string{nil, {"a"}, {"b"}, {"a", "b"}} {
		for _, v4 := range []nlbv1.AddressType{intranet, internet} {
			for _, v6 := range []nlbv1.AddressType{intranet, internet} {
				all = append(all, &nlbv1.LoadBalancer{AddressType: v4, Ipv6AddressType: v6, SecurityGroupIds: groups})
			}
		}
	}
	for _, before := range all {
		for _, after := range all {
			admitted := append(admits(before), admits(after)...)
			now := &nlbv1.LoadBalancer{AddressType: before.GetAddressType(), Ipv6AddressType: before.GetIpv6AddressType(),
				SecurityGroupIds: before.GetSecurityGroupIds()}
			for _, c := range differences(&nlbv1.UpdateLoadBalancerRequest{
				AddressType: after.GetAddressType().Enum(), Ipv6AddressType: after.GetIpv6AddressType().Enum(),
				SecurityGroups: &nlbv1.SecurityGroups{SecurityGroupIds: after.GetSecurityGroupIds()},
			}, before) {
				carryOut(now, c)
				if who := without(admits(now), admitted); len(who) > 0 {
					t.Errorf("from %v to %v: after %s %v can connect", admits(before), admits(after), c.action, who)
				}
			}
			if got, want := admits(now), admits(after); !slices.Equal(got, want) {
				t.Errorf("from %v to %v: in the end %v can connect", admits(before), want, got)
			}
		}
	}
}

// TestZonesAreBackBeforeOthersGo: between any two calls of an update one zone at least is in the name of the instance.
func TestZonesAreBackBeforeOthersGo(t *testing.T) {
	t.Parallel()
	zones := func(ids string, shifted string) (list []*nlbv1.ZoneMapping) {
		for id := range strings.SplitSeq(ids, "") {
			list = append(list, &nlbv1.ZoneMapping{ZoneId: id, VswitchId: "vsw-" + id, Shifted: strings.Contains(shifted, id)})
		}
		return list
	}
	for _, tt := range []struct{ zones, shifted, to, want, calls string }{
		{zones: "ab", want: "a", calls: "Start a"},
		{zones: "ab", shifted: "a", want: "a"},
		{zones: "ab", shifted: "a", want: "b", calls: "Cancel a, Start b"},
		{zones: "abc", shifted: "ab", want: "bc", calls: "Cancel a, Start c"},
		{zones: "abc", shifted: "ab", calls: "Cancel a, Cancel b"},
		{zones: "ab", shifted: "a", calls: "Cancel a"},
		{zones: "ab", to: "bc", want: "c", calls: "Start c"},
		{zones: "ab", shifted: "a", to: "bc", want: ""},
		{zones: "ab", shifted: "b", to: "bc", want: "b"},
		{zones: "ab", shifted: "b", to: "bc", calls: "Cancel b"},
		{zones: "ab", want: "c", calls: "refused"},
		{zones: "ab", to: "bc", want: "a", calls: "refused"},
	} {
		r := &nlbv1.UpdateLoadBalancerRequest{ShiftedZones: &nlbv1.ShiftedZones{}}
		if tt.want != "" {
			r.ShiftedZones.ZoneIds = strings.Split(tt.want, "")
		}
		if tt.to != "" {
			r.ZoneMappings = &nlbv1.ZoneMappings{ZoneMappings: zones(tt.to, "")}
		}
		calls, err := shifts(r, &nlbv1.LoadBalancer{ZoneMappings: zones(tt.zones, tt.shifted)})
		var got []string
		for _, c := range calls {
			zone := c.params["ZoneMappings.1.ZoneId"]
			if len(c.params) != 2 || c.params["ZoneMappings.1.VSwitchId"] != "vsw-"+zone {
				t.Errorf("%+v: %v", tt, c.params)
			}
			got = append(got, strings.TrimSuffix(c.action, "ShiftLoadBalancerZones")+" "+zone)
		}
		if err != nil {
			got = append(got, "refused")
		}
		if strings.Join(got, ", ") != tt.calls {
			t.Errorf("%+v: %v, %v", tt, got, err)
		}
	}
}

const intranet, internet = nlbv1.AddressType_ADDRESS_TYPE_INTRANET, nlbv1.AddressType_ADDRESS_TYPE_INTERNET

// admits is who can connect, and from where. What several security groups let in can all connect, and without any everybody can.
func admits(lb *nlbv1.LoadBalancer) []string {
	nets := []string{"VPC"}
	if lb.GetAddressType() == internet {
		nets = append(nets, "internet")
	}
	if lb.GetIpv6AddressType() == internet {
		nets = append(nets, "internet by IPv6")
	}
	people := lb.GetSecurityGroupIds()
	if len(people) == 0 {
		people = []string{"a", "b", "others"}
	}
	var list []string
	for _, net := range nets {
		for _, who := range people {
			list = append(list, who+" from "+net)
		}
	}
	slices.Sort(list)
	return list
}

func carryOut(lb *nlbv1.LoadBalancer, c call) {
	var groups []string
	for name, value := range c.params {
		if strings.HasPrefix(name, "SecurityGroupIds.") {
			groups = append(groups, value)
		}
	}
	switch c.action {
	case "UpdateLoadBalancerAddressTypeConfig":
		lb.AddressType = map[string]nlbv1.AddressType{"Internet": internet, "Intranet": intranet}[c.params["AddressType"]]
	case "EnableLoadBalancerIpv6Internet":
		lb.Ipv6AddressType = internet
	case "DisableLoadBalancerIpv6Internet":
		lb.Ipv6AddressType = intranet
	case "LoadBalancerJoinSecurityGroup":
		lb.SecurityGroupIds = slices.Sorted(slices.Values(append(slices.Clone(lb.GetSecurityGroupIds()), groups...)))
	case "LoadBalancerLeaveSecurityGroup":
		lb.SecurityGroupIds = without(lb.GetSecurityGroupIds(), groups)
	default:
		panic(fmt.Sprintf("unknown call %s", c.action))
	}
}
