package contract

import (
	"slices"
	"strconv"
	"strings"
)

// What is inferred from clients and tests of others rather than from a document. These scenarios pass with either answer, too.

// askedNLBPorts asks for a TCP and a UDP listener at one port, for groups that preserve addresses behind TLS, and for things by two tags
// of which one fits.
func askedNLBPorts(c *cloud) {
	tags := []string{"Tag.1.Key", "contract", "Tag.1.Value", "one", "Tag.2.Key", "second", "Tag.2.Value", "two"}
	id := c.newNLB(tags...)
	group := c.newNLBGroup(append([]string{"Protocol", "TCP_UDP"}, tags...)...)
	var listeners []string
	for _, protocol := range []string{"TCP", "UDP"} {
		got := c.ask(nil, "nlb", "CreateListener", "LoadBalancerId", id, "ListenerProtocol", protocol,
			"ListenerPort", "53", "ServerGroupId", group)
		if job := got.get("JobId"); job != "" {
			c.wait("the job has ended", func() bool { return c.must("nlb", "GetJobStatus", "JobId", job).get("Status") != "Processing" })
			listeners = append(listeners, got.get("ListenerId"))
		}
	}
	c.must("nlb", "ListListeners", "LoadBalancerIds.1", id)
	for _, listener := range listeners {
		c.job("DeleteListener", "ListenerId", listener) // the group is free then
	}
	c.ask([]string{"DeleteServerGroup", "ServerGroupId", "ServerGroupId"}, "nlb", "CreateServerGroup", "VpcId", c.vpcID, "ServerGroupName",
		c.name(), "Protocol", "TCPSSL", "PreserveClientIpEnabled", "true", "AnyPortEnabled", "true",
		"HealthCheckConfig.HealthCheckConnectPort", "80")
	half := slices.Clone(tags)
	half[7] = "another"
	c.must("nlb", "ListLoadBalancers", append(half, "LoadBalancerIds.1", id)...)
	c.must("nlb", "ListServerGroups", append(half, "ServerGroupIds.1", group)...)
	c.ask([]string{"DeleteSecurityPolicy", "SecurityPolicyId", "SecurityPolicyId"}, "nlb", "CreateSecurityPolicy", "TlsVersions.1", "TLSv1.2",
		"Ciphers.1", "AES128-SHA")
}

// askedPublicIPv6 asks for a public address of IPv6 in a VPC without a gateway for it.
func askedPublicIPv6(c *cloud) {
	vpc := c.ask([]string{"DeleteVpc", "VpcId", "VpcId"}, "vpc", "CreateVpc", "VpcName", c.name(), "CidrBlock", "172.16.0.0/16",
		"EnableIpv6", "true").get("VpcId")
	c.status("Available", "Status", "vpc", "DescribeVpcAttribute", "VpcId", vpc)
	c.must("vpc", "DescribeIpv6Gateways", "VpcId", vpc) // has it one by itself?
	params := []string{"VpcId", vpc, "LoadBalancerName", c.name(), "AddressType", "Intranet", "AddressIpVersion", "DualStack"}
	zones := c.must("nlb", "DescribeZones").texts("Zones", "ZoneId")
	for n, zone := range zones[:2] {
		number := strconv.Itoa(n + 1)
		vsw := c.must("vpc", "CreateVSwitch", "VpcId", vpc, "ZoneId", zone, "CidrBlock", "172.16."+number+".0/24", "Ipv6CidrBlock", number).
			get("VSwitchId")
		c.remove("vpc", "DeleteVSwitch", "VSwitchId", vsw)
		c.status("Available", "Status", "vpc", "DescribeVSwitchAttributes", "VSwitchId", vsw)
		params = append(params, "ZoneMappings."+number+".ZoneId", zone, "ZoneMappings."+number+".VSwitchId", vsw)
	}
	id := c.job("CreateLoadBalancer", params...).get("LoadbalancerId")
	c.cleanUp("nlb", "DeleteLoadBalancer", "LoadBalancerId", id)
	c.wait("the load balancer is active", func() bool {
		return c.must("nlb", "GetLoadBalancerAttribute", "LoadBalancerId", id).get("LoadBalancerStatus") == "Active"
	})
	c.ask(nil, "nlb", "EnableLoadBalancerIpv6Internet", "LoadBalancerId", id)
}

// askedListeners starts what runs, adds more servers in a call than the documents allow, and asks what listeners keep of checks and
// persistence that are not theirs.
func askedListeners(c *cloud) {
	id := c.newBalancer()
	of := []string{"LoadBalancerId", id, "ListenerPort", "80"}
	c.must("slb", "CreateLoadBalancerTCPListener", append(slices.Clone(of), "Bandwidth", "-1",
		"BackendServerPort", "80", "HealthCheckType", "tcp",
		"HealthCheckURI", "/cn", "HealthCheckHttpCode", "http_2xx")...)
	c.must("slb", "DescribeLoadBalancerTCPListenerAttribute", of...)
	for range 2 {
		c.ask(nil, "slb", "StartLoadBalancerListener", of...)
		c.status("running", "Status", "slb", "DescribeLoadBalancerTCPListenerAttribute", of...)
	}
	of[3] = "81"
	c.ask(nil, "slb", "CreateLoadBalancerUDPListener", append(slices.Clone(of), "Bandwidth", "-1", "BackendServerPort", "80",
		"PersistenceTimeout", "3600")...)
	c.ask(nil, "slb", "DescribeLoadBalancerUDPListenerAttribute", of...)
	group := c.must("slb", "CreateVServerGroup", "LoadBalancerId", id, "VServerGroupName", c.name()).get("VServerGroupId")
	servers := make([]string, 40)
	for n := range servers {
		servers[n] = `{"ServerId":"` + c.instances[0] + `","Port":"` + strconv.Itoa(8000+n) + `","Weight":"100"}`
	}
	for _, n := range []int{20, 21, 40} {
		c.ask(nil, "slb", "AddVServerGroupBackendServers", "VServerGroupId", group, "BackendServers", "["+strings.Join(servers[:n], ",")+"]")
	}
}

// askedRoutes asks for a route whose block has bits of the host, and whether a route stays when its instance is gone.
func askedRoutes(c *cloud) {
	table := c.must("vpc", "CreateRouteTable", "VpcId", c.vpcID, "RouteTableName", c.name()).get("RouteTableId")
	c.remove("vpc", "DeleteRouteTable", "RouteTableId", table)
	c.status("Available", "RouterTableList.RouterTableListType.0.Status", "vpc", "DescribeRouteTableList", "RouteTableId", table)
	shown := c.must("ecs", "DescribeInstances", "InstanceIds", `["`+c.instances[0]+`"]`)
	const instance = "Instances.Instance.0."
	group := c.must("ecs", "CreateSecurityGroup", "VpcId", c.vpcID, "SecurityGroupName", c.name()).get("SecurityGroupId")
	c.remove("ecs", "DeleteSecurityGroup", "SecurityGroupId", group)
	launched := c.must("ecs", "RunInstances", "ImageId", shown.get(instance+"ImageId"), "InstanceType", shown.get(instance+"InstanceType"),
		"VSwitchId", c.vswitchID, "SecurityGroupId", group, "InstanceName", c.name(),
		"SystemDisk.Category", "cloud_essd")
	id := launched.get("InstanceIdSets.InstanceIdSet.0")
	c.cleanUp("ecs", "DeleteInstance", "InstanceId", id, "Force", "true")
	c.status("Running", "InstanceStatuses.InstanceStatus.0.Status", "ecs", "DescribeInstanceStatus", "InstanceId.1", id)
	for _, cidr := range []string{"198.51.100.9/24", "198.51.100.0/24"} {
		route := []string{"RouteTableId", table, "DestinationCidrBlock", cidr, "NextHopType", "Instance", "NextHopId", id}
		if _, code := c.call("vpc", "CreateRouteEntry", route...); code != "" {
			c.t.Logf("a route to %s: %s", cidr, code)
			continue
		}
		c.cleanUp("vpc", "DeleteRouteEntry", route...)
		break
	}
	c.waitForRoute(table, "198.51.100.0/24", "Available")
	c.must("ecs", "DeleteInstance", "InstanceId", id, "Force", "true")
	c.wait("the instance is gone", func() bool {
		return c.must("ecs", "DescribeInstances", "InstanceIds", `["`+id+`"]`).get("TotalCount") == "0"
	})
	c.must("vpc", "DescribeRouteEntryList", "RouteTableId", table) // is the route there still?
}

// askedGroups filters the rules of a group by a type of network that there is not, and makes groups without a VPC and of the advanced type.
func askedGroups(c *cloud) {
	undo := []string{"DeleteSecurityGroup", "SecurityGroupId", "SecurityGroupId"}
	advanced := c.ask(undo, "ecs", "CreateSecurityGroup", "VpcId", c.vpcID, "SecurityGroupType", "enterprise", "SecurityGroupName", c.name()).
		get("SecurityGroupId")
	c.must("ecs", "DescribeSecurityGroupAttribute", "SecurityGroupId", advanced, "NicType", "<nil>")
	c.ask(nil, "ecs", "AuthorizeSecurityGroup", "SecurityGroupId", advanced, "IpProtocol", "tcp",
		"PortRange", "80/80", "SourceGroupId", advanced)
	c.ask(nil, "ecs", "LeaveSecurityGroup", "SecurityGroupId", advanced, "InstanceId", c.instances[0])
	create := []string{"PrefixListName", c.name(), "AddressFamily", "IPv4", "MaxEntries", "1"}
	list := c.ask([]string{"DeletePrefixList", "PrefixListId", "PrefixListId"}, "ecs", "CreatePrefixList", create...).get("PrefixListId")
	c.ask(nil, "ecs", "ModifyPrefixList", "PrefixListId", list, "AddEntry.1.Cidr", "2001:db8::/32")
	c.ask(nil, "ecs", "ModifyPrefixList", "PrefixListId", list, "RemoveEntry.1.Cidr", "192.0.2.0/24")
	rule := []string{"SecurityGroupId", advanced, "IpProtocol", "tcp", "PortRange", "80/80", "SourcePrefixListId", list}
	c.ask(nil, "ecs", "AuthorizeSecurityGroup", rule...)
	c.must("ecs", "DescribePrefixListAssociations", "PrefixListId", list)
	c.ask(nil, "ecs", "DeletePrefixList", "PrefixListId", list)
	c.ask(nil, "ecs", "RevokeSecurityGroup", rule...)
	if c.must("vpc", "DescribeVpcs", "IsDefault", "true").get("TotalCount") == "0" {
		return // the account would have a default VPC afterwards
	}
	plain := c.ask(undo, "ecs", "CreateSecurityGroup", "SecurityGroupName", c.name()).get("SecurityGroupId")
	c.must("ecs", "DescribeSecurityGroups", "SecurityGroupId", plain)
}
