package inprocess_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestCloud: what is made has a short id, what a test changes is in the next answer, and a watcher sees each change, the end of a
// job as well.
func TestCloud(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cloud := inprocess.New(t, "vpc-test", &state.Cloud{
			Vpcs: map[string]*state.Vpc{"vpc-test": {CidrBlock: "10.0.0.0/8"}},
			VSwitches: map[string]*state.VSwitch{
				"vsw-a": {VpcID: "vpc-test", ZoneID: "cn-hangzhou-h", CidrBlock: "10.0.0.0/18"},
				"vsw-b": {VpcID: "vpc-test", ZoneID: "cn-hangzhou-i", CidrBlock: "10.0.64.0/18"},
			},
		})
		var seen []string
		cloud.Sim.Watch(&openapisim.Watcher{
			ByHand: func(*state.Cloud) { seen = append(seen, "by hand") },
			Changed: func(c *state.Cloud) {
				for id, lb := range c.NLBs {
					seen = append(seen, id+" "+lb.Status)
				}
			},
		})
		made, err := cloud.Client().LoadBalancers.CreateLoadBalancer(t.Context(),
			&slbv1.CreateLoadBalancerRequest{RequestId: "r-1", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET})
		if id := made.GetLoadBalancer().GetLoadBalancerId(); err != nil || id != "lb-1" {
			t.Fatalf("got %s, %v, want lb-1", id, err)
		}
		cloud.Lock()
		cloud.LoadBalancers["lb-1"].Name = "by hand"
		cloud.LoadBalancers["lb-2"] = &state.LoadBalancer{}
		cloud.Unlock()
		if made, err = cloud.Console.LoadBalancers.CreateLoadBalancer(t.Context(),
			&slbv1.CreateLoadBalancerRequest{RequestId: "r-3", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET}); err != nil ||
			made.GetLoadBalancer().GetLoadBalancerId() != "lb-3" || len(cloud.Calls()) != 1 {
			t.Errorf("got %v, %v, %d calls", made, err, len(cloud.Calls()))
		}
		cloud.Change(func(c *state.Cloud) {
			c.NLBServerGroups["sgp-users"] = &state.NLBServerGroup{Name: "theirs", VpcID: "vpc-test"}
		})
		get := &slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-1"}
		got, err := cloud.Client().LoadBalancers.GetLoadBalancer(t.Context(), get)
		if err != nil || got.GetLoadBalancer().GetName() != "by hand" {
			t.Errorf("got %v, %v", got, err)
		}
		cloud.Look(func(c *state.Cloud) {
			if g := c.NLBServerGroups["sgp-users"]; g.ID != "sgp-users" || g.Status != "Available" {
				t.Errorf("what was added is not whole: %+v", g)
			}
		})
		if err := cloud.Sim.SetFaults(fault.Rule{Product: "nlb", Job: true, Latency: api.Duration(time.Minute)}); err != nil {
			t.Fatal(err)
		}
		create := &nlbv1.CreateLoadBalancerRequest{RequestId: "r-2", Name: "web", VpcId: "vpc-test",
			AddressType: nlbv1.AddressType_ADDRESS_TYPE_INTERNET, ZoneMappings: []*nlbv1.ZoneMapping{
				{ZoneId: "cn-hangzhou-h", VswitchId: "vsw-a"}, {ZoneId: "cn-hangzhou-i", VswitchId: "vsw-b"}}}
		if got, err := cloud.Client().NetworkLoadBalancers.CreateLoadBalancer(t.Context(), create); err != nil ||
			got.GetLoadBalancer().GetLoadBalancerId() != "nlb-1" {
			t.Errorf("got %v, %v", got, err)
		}
		seen = slices.Compact(seen)
		if want := []string{"by hand", "nlb-1 Provisioning", "nlb-1 Active"}; !slices.Equal(seen, want) {
			t.Errorf("saw %q, want %q", seen, want)
		}
	})
}
