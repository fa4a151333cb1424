package contract

// lifeOfInterface makes the calls of Terway, in its order: it makes an interface for the pods of a node, attaches it, gives it more
// addresses, takes them away, and gives it back.
func lifeOfInterface(c *cloud) {
	const list = "NetworkInterfaceSets.NetworkInterfaceSet"
	group := c.must("ecs", "CreateSecurityGroup", "VpcId", c.vpcID, "SecurityGroupName", c.name()).get("SecurityGroupId")
	id := c.must("ecs", "CreateNetworkInterface", "VSwitchId", c.vswitchID, "SecurityGroupIds.1", group, "NetworkInterfaceName", c.name(),
		"SecondaryPrivateIpAddressCount", "1", "InstanceType", "Secondary", "ClientToken", c.name()).get("NetworkInterfaceId")
	status := func() string {
		return c.must("ecs", "DescribeNetworkInterfaces", "NetworkInterfaceId.1", id).get(list + ".0.Status")
	}
	becomes := func(want string) {
		c.t.Helper()
		c.wait("the interface is "+want, func() bool { return status() == want })
	}
	becomes("Available")
	c.must("ecs", "AttachNetworkInterface", "NetworkInterfaceId", id, "InstanceId", c.instances[0])
	becomes("InUse")
	c.refused("InvalidOperation.InvalidEniState", "ecs", "DeleteNetworkInterface", "NetworkInterfaceId", id)
	attribute := c.must("ecs", "DescribeNetworkInterfaceAttribute", "NetworkInterfaceId", id)
	c.want(attribute, "InstanceId", c.instances[0], "Type", "Secondary", "SecurityGroupIds.SecurityGroupId.0", group)

	given := c.must("ecs", "AssignPrivateIpAddresses", "NetworkInterfaceId", id, "SecondaryPrivateIpAddressCount", "1")
	address := given.get("AssignedPrivateIpAddressesSet.PrivateIpSet.PrivateIpAddress.0")
	six := c.must("ecs", "AssignIpv6Addresses", "NetworkInterfaceId", id, "Ipv6AddressCount", "1").get("Ipv6Sets.Ipv6Address.0")
	c.want(c.must("ecs", "DescribeNetworkInterfaces", "PrivateIpAddress.1", address, "Ipv6Address.1", six), list+".0.NetworkInterfaceId", id)
	c.must("ecs", "UnassignPrivateIpAddresses", "NetworkInterfaceId", id, "PrivateIpAddress.1", address)
	c.must("ecs", "UnassignIpv6Addresses", "NetworkInterfaceId", id, "Ipv6Address.1", six)
	c.refused("InvalidIp.IpUnassigned", "ecs", "UnassignPrivateIpAddresses", "NetworkInterfaceId", id, "PrivateIpAddress.1", address)

	c.must("ecs", "DetachNetworkInterface", "NetworkInterfaceId", id, "InstanceId", c.instances[0])
	becomes("Available")
	c.must("ecs", "DeleteNetworkInterface", "NetworkInterfaceId", id)
	becomes("")
	c.refused("InvalidEniId.NotFound", "ecs", "DescribeNetworkInterfaceAttribute", "NetworkInterfaceId", id)
	c.must("ecs", "DeleteSecurityGroup", "SecurityGroupId", group)
}
