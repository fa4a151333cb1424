package contract

import (
	"fmt"
	"strings"
)

// servers is the list of the first n instances as a JSON parameter.
func (c *cloud) servers(port, weight, n int) string {
	var all []string
	for _, id := range c.instances[:n] {
		all = append(all, fmt.Sprintf(`{"ServerId":%q,"Port":"%d","Weight":"%d","Type":"ecs"}`, id, port, weight))
	}
	return "[" + strings.Join(all, ",") + "]"
}

func group(c *cloud) {
	balancer := c.newBalancer()
	id := c.must("slb", "CreateVServerGroup", "LoadBalancerId", balancer, "VServerGroupName", "contract", "BackendServers",
		c.servers(80, 100, 1)).get("VServerGroupId")
	const list = "BackendServers.BackendServer"
	shown := func() answer { return c.must("slb", "DescribeVServerGroupAttribute", "VServerGroupId", id) }
	c.want(shown(), "VServerGroupName", "contract", "LoadBalancerId", balancer, list+".0.ServerId", c.instances[0],
		list+".0.Port", "80", list+".0.Weight", "100", list+".0.Type", "ecs")

	c.must("slb", "AddVServerGroupBackendServers", "VServerGroupId", id, "BackendServers", c.servers(81, 50, 2))
	if n := shown().len(list); n != 3 {
		c.t.Errorf("%d servers, want 3", n)
	}
	c.must("slb", "RemoveVServerGroupBackendServers", "VServerGroupId", id, "BackendServers", c.servers(81, 50, 1))
	c.must("slb", "ModifyVServerGroupBackendServers", "VServerGroupId", id,
		"OldBackendServers", c.servers(80, 100, 1), "NewBackendServers", c.servers(90, 100, 1))
	if got := strings.Join(shown().texts(list, "Port"), " "); got != "81 90" {
		c.t.Errorf("ports %s, want 81 90", got)
	}
	c.must("slb", "SetVServerGroupAttribute", "VServerGroupId", id, "VServerGroupName", "contract-2", "BackendServers", c.servers(90, 0, 1))
	all := c.must("slb", "DescribeVServerGroups", "LoadBalancerId", balancer)
	c.want(all, "VServerGroups.VServerGroup.0.VServerGroupId", id, "VServerGroups.VServerGroup.0.VServerGroupName", "contract-2")

	unknown := strings.ReplaceAll(c.servers(80, 100, 1), c.instances[0], "i-unknown")
	c.refused("InvalidServerId.NotExist", "slb", "AddVServerGroupBackendServers", "VServerGroupId", id, "BackendServers", unknown)
	c.must("slb", "DeleteVServerGroup", "VServerGroupId", id)
	c.refused("InvalidParameter", "slb", "DescribeVServerGroupAttribute", "VServerGroupId", id)
}

func groupInUse(c *cloud) {
	balancer := c.newBalancer()
	id := c.must("slb", "CreateVServerGroup", "LoadBalancerId", balancer, "VServerGroupName", "contract", "BackendServers",
		c.servers(80, 100, 2)).get("VServerGroupId")
	c.must("slb", "CreateLoadBalancerTCPListener", "LoadBalancerId", balancer, "ListenerPort", "80", "Bandwidth", "-1", "VServerGroupId", id)
	c.refused("RspoolVipExist", "slb", "DeleteVServerGroup", "VServerGroupId", id)
	c.must("slb", "StartLoadBalancerListener", "LoadBalancerId", balancer, "ListenerPort", "80")
	c.wait("the health of both servers is shown", func() bool {
		return c.must("slb", "DescribeHealthStatus", "LoadBalancerId", balancer, "ListenerPort", "80").len("BackendServers.BackendServer") == 2
	})
	c.must("slb", "DeleteLoadBalancerListener", "LoadBalancerId", balancer, "ListenerPort", "80")
	c.must("slb", "DeleteVServerGroup", "VServerGroupId", id) // once the listener has let go of it
}

func masterAndSlave(c *cloud) {
	balancer := c.newBalancer()
	server := func(instance int, role string) string {
		return fmt.Sprintf(`{"ServerId":%q,"Port":"%d","Weight":"100","ServerType":%q}`, c.instances[instance], 80+instance, role)
	}
	create := []string{"LoadBalancerId", balancer, "MasterSlaveServerGroupName", "contract", "MasterSlaveBackendServers"}
	c.refused("BACKEND_SERVERS_NUM_MUST_BE_TWO", "slb", "CreateMasterSlaveServerGroup", append(create, "["+server(0, "Master")+"]")...)
	id := c.must("slb", "CreateMasterSlaveServerGroup", append(create, "["+server(0, "Master")+","+server(1, "Slave")+"]")...).
		get("MasterSlaveServerGroupId")
	const list = "MasterSlaveBackendServers.MasterSlaveBackendServer"
	c.want(c.must("slb", "DescribeMasterSlaveServerGroupAttribute", "MasterSlaveServerGroupId", id), "LoadBalancerId", balancer,
		list+".0.ServerType", "Master", list+".1.ServerType", "Slave", list+".1.ServerId", c.instances[1])
	of := []string{"LoadBalancerId", balancer, "ListenerPort", "80"}
	c.must("slb", "CreateLoadBalancerTCPListener", append(of, "Bandwidth", "-1", "MasterSlaveServerGroupId", id)...)
	c.want(c.must("slb", "DescribeMasterSlaveServerGroups", "LoadBalancerId", balancer, "IncludeListener", "true"),
		"MasterSlaveServerGroups.MasterSlaveServerGroup.0.AssociatedObjects.Listeners.Listener.0.Port", "80")
	c.refused("RspoolVipExist", "slb", "DeleteMasterSlaveServerGroup", "MasterSlaveServerGroupId", id)
	c.must("slb", "DeleteLoadBalancerListener", of...)
	c.must("slb", "DeleteMasterSlaveServerGroup", "MasterSlaveServerGroupId", id) // once the listener has let go of it
	c.refused("InvalidParameter", "slb", "DescribeMasterSlaveServerGroupAttribute", "MasterSlaveServerGroupId", id)
}

func defaultGroup(c *cloud) {
	balancer := c.newBalancer()
	server := func(weight int) string { return fmt.Sprintf(`[{"ServerId":%q,"Weight":"%d"}]`, c.instances[0], weight) }
	const list = "BackendServers.BackendServer"
	c.must("slb", "AddBackendServers", "LoadBalancerId", balancer, "BackendServers", server(100))
	c.must("slb", "SetBackendServers", "LoadBalancerId", balancer, "BackendServers", server(20))
	c.want(c.must("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", balancer), list+".0.ServerId", c.instances[0],
		list+".0.Weight", "20")
	c.must("slb", "RemoveBackendServers", "LoadBalancerId", balancer, "BackendServers", server(20))
	if n := c.must("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", balancer).len(list); n != 0 {
		c.t.Errorf("%d servers left", n)
	}
}

func rules(c *cloud) {
	balancer := c.newBalancer()
	id := c.must("slb", "CreateVServerGroup", "LoadBalancerId", balancer, "VServerGroupName", "contract").get("VServerGroupId")
	of := []string{"LoadBalancerId", balancer, "ListenerPort", "80"}
	c.must("slb", "CreateLoadBalancerHTTPListener", "LoadBalancerId", balancer, "ListenerPort", "80", "Bandwidth", "-1",
		"BackendServerPort", "80", "HealthCheck", "off", "StickySession", "off")
	c.must("slb", "CreateRules", "LoadBalancerId", balancer, "ListenerPort", "80",
		"RuleList", fmt.Sprintf(`[{"RuleName":"contract","Domain":"www.example.com","Url":"/a","VServerGroupId":%q}]`, id))
	all := c.must("slb", "DescribeRules", of...)
	c.want(all, "Rules.Rule.0.RuleName", "contract", "Rules.Rule.0.Domain", "www.example.com", "Rules.Rule.0.Url", "/a",
		"Rules.Rule.0.VServerGroupId", id)
	rule := all.get("Rules.Rule.0.RuleId")
	c.must("slb", "SetRule", "RuleId", rule, "RuleName", "contract-2")
	c.want(c.must("slb", "DescribeRuleAttribute", "RuleId", rule), "RuleName", "contract-2", "LoadBalancerId", balancer)
	c.must("slb", "DeleteRules", "RuleIds", fmt.Sprintf("[%q]", rule))
	c.refused("InvalidRuleId.NotFound", "slb", "DescribeRuleAttribute", "RuleId", rule)
}
