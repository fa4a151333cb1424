package server

import (
	"strings"
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestAttacksOfATool: a caller with a scope gets at nothing outside of it by batches of own things and of others', by other
// spellings, nor by what belongs to two.
func TestAttacksOfATool(t *testing.T) {
	foreign := func(cfg *openapisim.Config) {
		inTwoTeams(cfg)
		for which, vsw := range map[string]string{"in": testVSwitch, "out": "vsw-2"} {
			team := map[string]string{"in": "web", "out": "db"}[which]
			cfg.Seed.Interfaces["eni-"+which] = &state.NetworkInterface{
				VSwitchID: vsw, PrimaryIP: map[string]string{"in": "192.168.20.1", "out": "10.0.0.77"}[which],
				Tags: []state.Tag{{Key: "team", Value: team}},
			}
		}
		cfg.Seed.LoadBalancers["lb-in"].Listeners = []*state.Listener{{Protocol: "http", Port: 80, Status: "running",
			Attributes: map[string]string{"VServerGroupId": "rsp-in"},
			Rules:      []*state.Rule{{ID: "rule-in", Name: "a", URL: "/a", ServerGroupID: "rsp-in"}}}}
		cfg.Seed.RouteTables["vtb-system"].Entries = []*state.RouteEntry{{
			ID: "rte-out", Cidr: "172.16.2.0/24", Type: "Custom", NextHopID: "i-out", NextHopType: "Instance", Status: "Available",
		}}
	}
	entry := func(table, next, cidr string) *vpcv1.RouteEntry {
		return &vpcv1.RouteEntry{RouteTableId: table, NextHopId: next, DestinationCidr: cidr}
	}
	own, other := entry(testTable, "i-in", "172.16.1.0/24"), entry("vtb-system", "i-out", "172.16.2.0/24")
	routes := func(vpc string, entries ...*vpcv1.RouteEntry) func(*world) error {
		return func(w *world) error {
			return second(w.Routes.BatchCreateRouteEntries(t.Context(), &vpcv1.BatchCreateRouteEntriesRequest{VpcId: vpc, RouteEntries: entries}))
		}
	}
	removed := func(vpc string, entries ...*vpcv1.RouteEntry) func(*world) error {
		return func(w *world) error {
			return second(w.Routes.BatchDeleteRouteEntries(t.Context(), &vpcv1.BatchDeleteRouteEntriesRequest{VpcId: vpc, RouteEntries: entries}))
		}
	}
	rules := func(ids ...string) func(*world) error {
		return func(w *world) error {
			return second(w.ForwardingRules.BatchDeleteForwardingRules(t.Context(), &slbv1.BatchDeleteForwardingRulesRequest{
				Key: &slbv1.ListenerKey{LoadBalancerId: "lb-in", Port: 80, Protocol: slbv1.Protocol_PROTOCOL_HTTP}, RuleIds: ids,
			}))
		}
	}
	attach := func(eni, instance string) func(*world) error {
		return func(w *world) error {
			return second(w.NetworkInterfaces.AttachNetworkInterface(t.Context(), &ecsv1.AttachNetworkInterfaceRequest{
				NetworkInterfaceId: eni, InstanceId: instance}))
		}
	}
	deleted := func(id string) func(*world) error {
		return func(w *world) error {
			return second(w.LoadBalancers.DeleteLoadBalancer(t.Context(), &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: id}))
		}
	}
	made := func(tags ...*commonv1.Tag) func(*world) error {
		return func(w *world) error {
			return second(w.LoadBalancers.CreateLoadBalancer(t.Context(), &slbv1.CreateLoadBalancerRequest{
				RequestId: "r-1", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET, Spec: "slb.s1.small", Tags: tags}))
		}
	}
	for name, tt := range map[string]struct {
		do      func(*world) error
		touches string // what is in the parameters of a call that must not be sent; empty: nothing may be sent
	}{
		"routes, own first":                 {do: routes(testVPC, own, other), touches: "vtb-system"},
		"routes, own first, no VPC":         {do: routes("", own, other), touches: "vtb-system"},
		"routes, another's first":           {do: routes(testVPC, other, own), touches: "vtb-system"},
		"routes, another's first, no VPC":   {do: routes("", other, own), touches: "vtb-system"},
		"routes removed, own first":         {do: removed(testVPC, own, other), touches: "vtb-system"},
		"routes removed, own first, no VPC": {do: removed("", own, other), touches: "vtb-system"},
		"a route in its VPC's name": {do: func(w *world) error {
			return second(w.Routes.UpdateRouteEntry(t.Context(), &vpcv1.UpdateRouteEntryRequest{
				VpcId: testVPC, RouteTableId: testTable, RouteEntryId: "rte-out", Name: new("web")}))
		}},
		"another's rule with its own":         {do: rules("rule-in", "rule-of-lb-1"), touches: "rule-of-lb-1"},
		"another's rule":                      {do: rules("rule-of-lb-1")},
		"its interface to another's instance": {do: attach("eni-in", "i-out")},
		"another's interface to its instance": {do: attach("eni-out", "i-in")},
		"addresses of another's interface": {do: func(w *world) error {
			return second(w.NetworkInterfaces.AssignAddresses(t.Context(), &ecsv1.AssignAddressesRequest{
				RequestId: "a", NetworkInterfaceId: "eni-out", Ipv4Count: 1}))
		}},
		"a space behind the id":   {do: deleted("lb-out ")},
		"a space before the id":   {do: deleted(" lb-out")},
		"a tab behind the id":     {do: deleted("lb-out\t")},
		"an id in capitals":       {do: deleted("LB-OUT")},
		"two ids, its own first":  {do: deleted("lb-in,lb-out")},
		"ids as JSON":             {do: deleted(`["lb-out"]`)},
		"a parameter behind":      {do: deleted("lb-out&RegionId=cn-beijing")},
		"an id of another region": {do: deleted("lb-2zeabcdefgh")},
		"the tag in capitals":     {do: made(&commonv1.Tag{Key: "Team", Value: "web"})},
		"the tag with a space":    {do: made(&commonv1.Tag{Key: "team ", Value: "web"})},
		"the value with a space":  {do: made(&commonv1.Tag{Key: "team", Value: "web "})},
		"the tag twice":           {do: made(&commonv1.Tag{Key: "team", Value: "web"}, &commonv1.Tag{Key: "team", Value: "db"})},
		"another's listener in its NLB's name": {do: func(w *world) error {
			return second(w.NetworkListeners.UpdateListener(t.Context(), &nlbv1.UpdateListenerRequest{
				LoadBalancerId: "nlb-in", ListenerId: "lsn-out", Config: &nlbv1.ListenerConfig{IdleTimeout: new(int32(60))}}))
		}},
		"the other team's tag": {do: func(w *world) error {
			return second(w.LoadBalancers.UpdateLoadBalancer(t.Context(), &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-out",
				SetTags: []*commonv1.Tag{{Key: "team", Value: "web"}}}))
		}},
		"another resource group": {do: func(w *world) error {
			return second(w.LoadBalancers.UpdateLoadBalancer(t.Context(), &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-out",
				ResourceGroupId: new("rg-web")}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, foreign)
			w.scopes = []config.Scope{{Callers: []string{scoped}, Tags: map[string]string{"team": "web"}}}
			w.startGateway(t)
			w.forget()
			err := tt.do(w)
			reason := rpcerr.ReasonOf(err)
			t.Log(err)
			if reason == rpcerr.Internal || reason == rpcerr.CloudUnavailable {
				t.Error(err)
			}
			for _, call := range w.calls(false) {
				for _, value := range call.Params {
					if tt.touches == "" || strings.Contains(value, tt.touches) {
						t.Errorf("%s %v was sent", call.Action, call.Params)
						break
					}
				}
			}
		})
	}
}
