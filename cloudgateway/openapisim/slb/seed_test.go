package slb

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// A seed may leave out nearly everything.
func TestSeeds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		seed state.LoadBalancer
		want map[string]any
	}{
		{"nothing", state.LoadBalancer{}, map[string]any{
			"LoadBalancerName": "auto_named_slb", "LoadBalancerStatus": active, "AddressType": internet, "NetworkType": "classic",
			"InstanceChargeType": payByCLCU, "InternetChargeType": payByTraffic, "PayType": payOnDemand, "DeleteProtection": off,
			"ModificationProtectionStatus": nonProtection, "AddressIPVersion": "ipv4", "MasterZoneId": "cn-hangzhou-a", "Bandwidth": 5120.0,
		}},
		{"a vSwitch", state.LoadBalancer{VSwitchID: "vsw-1"}, map[string]any{
			"AddressType": intranet, "NetworkType": "vpc", "VpcId": "vpc-1", "Address": "10.0.0.2",
		}},
		{"a specification", state.LoadBalancer{Spec: "slb.s1.small"}, map[string]any{
			"InstanceChargeType": payBySpec, "LoadBalancerSpec": "slb.s1.small",
		}},
		{"an address", state.LoadBalancer{Address: "47.1.2.3", Name: "n", Status: inactive}, map[string]any{
			"Address": "47.1.2.3", "LoadBalancerName": "n", "LoadBalancerStatus": inactive,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			tt.seed.ID = "lb-seed"
			c.state.LoadBalancers["lb-seed"] = &tt.seed
			Product().Settle(c.context(nil))
			got := c.call("DescribeLoadBalancerAttribute", params{"LoadBalancerId": "lb-seed"})
			for name, want := range tt.want {
				if diff := cmp.Diff(want, got[name]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if got.text("Address") == "" {
				t.Error("it has no address")
			}
		})
	}
}

// A seeded listener has few attributes or none; descriptions fill in the rest, and it can be changed.
func TestSeededListener(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.state.LoadBalancers["lb-vpc"].Listeners = []*state.Listener{{Port: 80, Protocol: protoTCP}}
	Product().Settle(c.context(nil))
	key := params{"LoadBalancerId": "lb-vpc", "ListenerPort": "80"}
	got := c.call(action("Describe", protoTCP), key)
	if got["Scheduler"] != "wrr" || got["EstablishedTimeout"] != 900.0 || got["Status"] != running {
		t.Errorf("got scheduler %v, timeout %v, status %v, want the defaults", got["Scheduler"], got["EstablishedTimeout"], got["Status"])
	}
	c.call(action("Set", protoTCP), key.with("VServerGroup", on, "VServerGroupId", "rsp-vpc"))
}
