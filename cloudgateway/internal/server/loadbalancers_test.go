package server

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestListLoadBalancersByAnything: every filter finds what it is for, and only that, in one call.
func TestListLoadBalancersByAnything(t *testing.T) {
	w := newWorld(t)
	intranet := w.createBalancer(t, "intranet")
	w.createGroup(t, intranet, ecsServers(3, 1)...)
	public := balancerRequest("public")
	public.AddressType, public.VpcId, public.VswitchId, public.Name = slbv1.AddressType_ADDRESS_TYPE_INTERNET, "", "", "public"
	public.PrimaryZoneId, public.StandbyZoneId, public.ResourceGroupId = "cn-hangzhou-b", "cn-hangzhou-h", "rg-2"
	public.InternetChargeType, public.BandwidthMbps = slbv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_BANDWIDTH, 5
	public.Tags = []*commonv1.Tag{{Key: "team", Value: "web"}, {Key: "env", Value: "prod"}}
	answer, err := w.LoadBalancers.CreateLoadBalancer(t.Context(), public)
	if err != nil {
		t.Fatal(err)
	}
	internet := answer.GetLoadBalancer().GetLoadBalancerId()
	if _, err := w.LoadBalancers.UpdateLoadBalancer(t.Context(), &slbv1.UpdateLoadBalancerRequest{
		LoadBalancerId: internet, Active: new(false),
	}); err != nil {
		t.Fatal(err)
	}
	ipv6 := slbv1.IpVersion_IP_VERSION_IPV6
	tests := []struct {
		name    string
		request *slbv1.ListLoadBalancersRequest
		want    []string
	}{
		{"name", &slbv1.ListLoadBalancersRequest{Name: "public"}, []string{internet}},
		{"tags", &slbv1.ListLoadBalancersRequest{Tags: public.GetTags()}, []string{internet}},
		{"address", &slbv1.ListLoadBalancersRequest{Address: answer.GetLoadBalancer().GetAddress()}, []string{internet}},
		{"address type", &slbv1.ListLoadBalancersRequest{AddressType: slbv1.AddressType_ADDRESS_TYPE_INTRANET}, []string{intranet}},
		{"IP version", &slbv1.ListLoadBalancersRequest{IpVersion: ipv6}, nil},
		{"VPC", &slbv1.ListLoadBalancersRequest{VpcId: testVPC}, []string{intranet}},
		{"vSwitch", &slbv1.ListLoadBalancersRequest{VswitchId: testVSwitch}, []string{intranet}},
		{"primary zone", &slbv1.ListLoadBalancersRequest{PrimaryZoneId: "cn-hangzhou-b"}, []string{internet}},
		{"standby zone", &slbv1.ListLoadBalancersRequest{StandbyZoneId: "cn-hangzhou-h"}, []string{internet}},
		{"resource group", &slbv1.ListLoadBalancersRequest{ResourceGroupId: "rg-2"}, []string{internet}},
		{"server", &slbv1.ListLoadBalancersRequest{ServerId: instanceID(3)}, []string{intranet}},
		{"server's address", &slbv1.ListLoadBalancersRequest{ServerAddress: "192.168.1.4"}, []string{intranet}},
		{"status", &slbv1.ListLoadBalancersRequest{Status: "inactive"}, []string{internet}},
		{"billing", &slbv1.ListLoadBalancersRequest{InternetChargeType: public.GetInternetChargeType()}, []string{internet}},
		{"two of them", &slbv1.ListLoadBalancersRequest{Name: "public", VpcId: testVPC}, nil},
		{
			"ids and another", &slbv1.ListLoadBalancersRequest{LoadBalancerIds: []string{internet, intranet}, ResourceGroupId: "rg-2"},
			[]string{internet},
		},
	}
	for _, tt := range tests {
		w.forget()
		tt.request.MaxAge = durationpb.New(time.Hour)
		answer, err := w.LoadBalancers.ListLoadBalancers(t.Context(), tt.request)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		var got []string
		for _, lb := range answer.GetLoadBalancers() {
			got = append(got, lb.GetLoadBalancerId())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff([]string{"DescribeLoadBalancers"}, w.actions(true)); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", tt.name, diff)
		}
	}
	// The order of the tags makes no other listing.
	w.forget()
	slices.Reverse(public.GetTags())
	again := &slbv1.ListLoadBalancersRequest{Tags: public.GetTags(), MaxAge: durationpb.New(time.Hour)}
	if _, err := w.LoadBalancers.ListLoadBalancers(t.Context(), again); err != nil || len(w.actions(true)) != 0 {
		t.Errorf("tags in another order: %v and calls %q", err, w.actions(true))
	}
}

// TestPlaceOfALoadBalancer: its resource group and whether it serves.
func TestPlaceOfALoadBalancer(t *testing.T) {
	w := newWorld(t)
	lb := w.createBalancer(t, "lb-1")
	update := func(r *slbv1.UpdateLoadBalancerRequest) error {
		w.forget()
		r.LoadBalancerId = lb
		return second(w.LoadBalancers.UpdateLoadBalancer(t.Context(), r))
	}
	if err := update(&slbv1.UpdateLoadBalancerRequest{Active: new(false), ResourceGroupId: new("rg-2")}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"MoveResourceGroup", "SetLoadBalancerStatus"}, w.actions(true)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	answer, err := w.LoadBalancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{LoadBalancerId: lb})
	if got := answer.GetLoadBalancer(); err != nil || got.GetResourceGroupId() != "rg-2" || got.GetStatus() != "inactive" {
		t.Errorf("got %v and %v", got, err)
	}
	if err := update(&slbv1.UpdateLoadBalancerRequest{Active: new(true)}); err != nil {
		t.Fatal(err)
	}
	w.sim.Update(func(c *state.Cloud) { c.LoadBalancers[lb].Status = "locked" })
	if err := update(&slbv1.UpdateLoadBalancerRequest{Active: new(true)}); rpcerr.ReasonOf(err) != rpcerr.InvalidState {
		t.Errorf("a locked one: %v, want INVALID_STATE", err)
	}
}

func TestAvailableZones(t *testing.T) {
	w := newWorld(t)
	list := func(r *slbv1.ListAvailableZonesRequest) (pairs []string) {
		t.Helper()
		r.MaxAge = durationpb.New(time.Hour)
		answer, err := w.LoadBalancers.ListAvailableZones(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range answer.GetZonePairs() {
			pairs = append(pairs, p.GetPrimaryZoneId()+" "+p.GetStandbyZoneId())
			for _, o := range p.GetOffers() {
				if r.GetIpVersion() != 0 && r.GetIpVersion() != o.GetIpVersion() || o.GetIpVersion() == 0 || o.GetAddressType() == 0 {
					t.Errorf("the offer %v isn't what was asked for", o)
				}
			}
		}
		return pairs
	}
	w.forget()
	want := []string{
		"cn-hangzhou-a cn-hangzhou-b", "cn-hangzhou-a cn-hangzhou-h", "cn-hangzhou-b cn-hangzhou-a", "cn-hangzhou-b cn-hangzhou-h",
		"cn-hangzhou-h cn-hangzhou-a", "cn-hangzhou-h cn-hangzhou-b",
	}
	if diff := cmp.Diff(want, list(&slbv1.ListAvailableZonesRequest{})); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
	ipv6 := &slbv1.ListAvailableZonesRequest{IpVersion: slbv1.IpVersion_IP_VERSION_IPV6}
	if diff := cmp.Diff(want, list(ipv6)); diff != "" {
		t.Errorf("pairs for IPv6 (-want +got):\n%s", diff)
	}
	ipv6.AddressType = slbv1.AddressType_ADDRESS_TYPE_INTRANET
	if got := list(ipv6); len(got) != 0 {
		t.Errorf("pairs for private IPv6 addresses, which nobody offers: %q", got)
	}
	if diff := cmp.Diff([]string{"DescribeAvailableResource"}, w.actions(true)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
