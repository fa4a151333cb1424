package slb

import (
	"fmt"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// bigCloud has 2000 load balancers with two groups of 20 servers each.
func bigCloud(b *testing.B) *cloud {
	b.Helper()
	c := newCloud(b)
	c.settings.Quotas = api.Quotas{LoadBalancers: 10_000, Listeners: 50, Tags: 20}
	for i := range 2000 {
		answer, _ := c.mustHandle("CreateLoadBalancer", params{"InstanceChargeType": payByCLCU,
			"Tag.1.Key": "kubernetes.do.not.delete", "Tag.1.Value": fmt.Sprint(i)}).(api.Object)
		id, _ := answer[1].(string)
		for range 2 {
			c.mustHandle("CreateVServerGroup", params{"LoadBalancerId": id, "BackendServers": servers(20)})
		}
	}
	return c
}

// mustHandle calls a handler without the checks of try, which cost more than it does.
func (c *cloud) mustHandle(action string, p params) any {
	result, err := c.actions[action].Handle(c.context(p))
	if err != nil {
		c.testing.Fatal(err)
	}
	return result
}

func BenchmarkHandlers(b *testing.B) {
	calls := map[string]params{
		"DescribeLoadBalancers":         {"Tags": `[{"TagKey":"kubernetes.do.not.delete","TagValue":"1000"}]`},
		"DescribeLoadBalancerListeners": {"LoadBalancerId.1": "lb-1"},
		"DescribeVServerGroups":         {"LoadBalancerId": "lb-1"},
		"AddVServerGroupBackendServers": {"VServerGroupId": "rsp-1", "BackendServers": servers(20)},
		"SetVServerGroupAttribute":      {"VServerGroupId": "rsp-1", "VServerGroupName": "n"},
	}
	c := bigCloud(b)
	for name, p := range calls {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c.mustHandle(name, p)
			}
		})
	}
}
