package world

// plenty is a rate limit that no run reaches.
const plenty = 1_000_000

// Unlimited are limits of the gateway for the actions of our controllers that no run reaches.
func Unlimited() map[string]any {
	overrides := map[string]any{}
	for product, actions := range map[string][]string{
		"slb": {
			"CreateLoadBalancer", "DeleteLoadBalancer", "DescribeLoadBalancers", "DescribeLoadBalancerAttribute", "SetLoadBalancerDeleteProtection",
			"CreateVServerGroup", "DeleteVServerGroup", "DescribeVServerGroups", "DescribeVServerGroupAttribute", "SetVServerGroupAttribute",
			"AddVServerGroupBackendServers", "RemoveVServerGroupBackendServers", "ModifyVServerGroupBackendServers",
			"CreateLoadBalancerTCPListener", "SetLoadBalancerTCPListenerAttribute", "StartLoadBalancerListener", "StopLoadBalancerListener",
			"DeleteLoadBalancerListener", "DescribeLoadBalancerListeners", "DescribeHealthStatus", "TagResources",
			"UntagResources", "ListTagResources",
		},
		"nlb": {
			"CreateLoadBalancer", "DeleteLoadBalancer", "ListLoadBalancers", "UpdateLoadBalancerProtection", "CreateServerGroup",
			"DeleteServerGroup", "ListServerGroups", "ListServerGroupServers", "AddServersToServerGroup", "RemoveServersFromServerGroup",
			"UpdateServerGroupServersAttribute", "CreateListener", "DeleteListener", "UpdateListenerAttribute", "ListListeners", "ListAsynJobs",
		},
		"vpc": {"CreateRouteEntries", "CreateRouteEntry", "DeleteRouteEntries", "DeleteRouteEntry", "DescribeRouteTableList",
			"DescribeRouteEntryList"},
		"ecs": {"DescribeInstances", "DescribeNetworkInterfaces", "ModifyNetworkInterfaceAttribute"},
	} {
		for _, action := range actions {
			overrides[product+"/"+action] = map[string]any{"calls": plenty, "window": "1m"}
		}
	}
	return overrides
}
