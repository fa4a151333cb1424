package contract

// status waits until a call shows a status.
func (c *cloud) status(want, path, product, action string, params ...string) {
	c.t.Helper()
	c.wait(action+" shows "+want, func() bool { return c.must(product, action, params...).get(path) == want })
}

// natGateway gives a VPC a way out and a server in it a way in, and takes both down in the only order that is let.
func natGateway(c *cloud) {
	vpc := c.newNetwork("172.16.0.0/16")
	zone := c.must("vpc", "ListEnhanhcedNatGatewayAvailableZones").get("Zones.0.ZoneId")
	vsw := c.must("vpc", "CreateVSwitch", "VpcId", vpc, "ZoneId", zone, "CidrBlock", "172.16.1.0/24").get("VSwitchId")
	c.cleanUp("vpc", "DeleteVSwitch", "VSwitchId", vsw)
	c.status("Available", "Status", "vpc", "DescribeVSwitchAttributes", "VSwitchId", vsw)
	made := c.must("vpc", "CreateNatGateway", "VpcId", vpc, "VSwitchId", vsw, "NatType", "Enhanced", "InternetChargeType", "PayByLcu",
		"Name", c.name())
	nat := made.get("NatGatewayId")
	c.cleanUp("vpc", "DeleteNatGateway", "NatGatewayId", nat, "Force", "true")
	snats, forwards := made.get("SnatTableIds.SnatTableId.0"), made.get("ForwardTableIds.ForwardTableId.0")
	gateway := func(want string) {
		c.t.Helper()
		c.status(want, "NatGateways.NatGateway.0.Status", "vpc", "DescribeNatGateways", "NatGatewayId", nat)
	}
	gateway("Available")
	c.must("vpc", "ModifyNatGatewayAttribute", "NatGatewayId", nat, "Description", "contract")
	c.want(c.must("vpc", "GetNatGatewayAttribute", "NatGatewayId", nat), "Description", "contract", "VpcId", vpc,
		"SnatTable.SnatTableId", snats)
	c.refused("DependencyViolation", "vpc", "DeleteVSwitch", "VSwitchId", vsw)

	eip := c.must("vpc", "AllocateEipAddress", "Bandwidth", "1", "InternetChargeType", "PayByTraffic", "Name", c.name())
	bound := []string{"AllocationId", eip.get("AllocationId"), "InstanceId", nat, "InstanceType", "Nat"}
	c.cleanUp("vpc", "ReleaseEipAddress", "AllocationId", eip.get("AllocationId"))
	address := func(want string) {
		c.t.Helper()
		c.status(want, "EipAddresses.EipAddress.0.Status", "vpc", "DescribeEipAddresses", "AllocationId", eip.get("AllocationId"))
	}
	c.refused("EIP_NOT_IN_GATEWAY", "vpc", "CreateSnatEntry", "SnatTableId", snats, "SnatIp", eip.get("EipAddress"), "SourceVSwitchId", vsw)
	c.must("vpc", "AssociateEipAddress", bound...)
	address("InUse")
	snat := []string{"SnatTableId", snats, "SnatEntryId", c.must("vpc", "CreateSnatEntry", "SnatTableId", snats, "SnatIp",
		eip.get("EipAddress"), "SourceVSwitchId", vsw).get("SnatEntryId")}
	entry := func(want string) {
		c.t.Helper()
		c.status(want, "SnatTableEntries.SnatTableEntry.0.Status", "vpc", "DescribeSnatTableEntries", snat...)
	}
	forward := []string{"ForwardTableId", forwards, "ForwardEntryId", c.must("vpc", "CreateForwardEntry", "ForwardTableId", forwards,
		"ExternalIp", eip.get("EipAddress"), "ExternalPort", "8080", "InternalIp", "172.16.1.9", "InternalPort", "80", "IpProtocol",
		"tcp").get("ForwardEntryId")}
	rule := func(want string) {
		c.t.Helper()
		c.status(want, "ForwardTableEntries.ForwardTableEntry.0.Status", "vpc", "DescribeForwardTableEntries", forward...)
	}
	entry("Available")
	rule("Available")
	c.refused("InvalidIpStatus.HasBeenUsedBySnatTable", "vpc", "UnassociateEipAddress", bound...)
	c.must("vpc", "ModifySnatEntry", append(snat, "SnatIp", eip.get("EipAddress"), "SnatEntryName", "contract")...)
	c.must("vpc", "ModifyForwardEntry", append(forward, "InternalPort", "81")...)
	entry("Available")
	rule("Available")
	c.must("vpc", "DeleteSnatEntry", snat...)
	c.must("vpc", "DeleteForwardEntry", forward...)
	entry("")
	rule("")
	c.must("vpc", "UnassociateEipAddress", bound...)
	address("Available")
	c.must("vpc", "ReleaseEipAddress", "AllocationId", eip.get("AllocationId"))
	c.must("vpc", "DeleteNatGateway", "NatGatewayId", nat)
	gateway("")
	c.must("vpc", "DeleteVSwitch", "VSwitchId", vsw)
}

// ipv4Gateway makes the gateway of a VPC, gives it a route table and enables it.
func ipv4Gateway(c *cloud) {
	vpc := c.newNetwork("172.16.0.0/16")
	id := c.must("vpc", "CreateIpv4Gateway", "VpcId", vpc, "Ipv4GatewayName", c.name()).get("Ipv4GatewayId")
	c.cleanUp("vpc", "DeleteIpv4Gateway", "Ipv4GatewayId", id)
	ready := func() {
		c.t.Helper()
		c.status("Created", "Status", "vpc", "GetIpv4GatewayAttribute", "Ipv4GatewayId", id)
	}
	ready()
	c.refused("DependencyViolation.Ipv4Gateway", "vpc", "DeleteVpc", "VpcId", vpc)
	c.must("vpc", "UpdateIpv4GatewayAttribute", "Ipv4GatewayId", id, "Ipv4GatewayDescription", "contract")
	c.must("vpc", "EnableVpcIpv4Gateway", "Ipv4GatewayId", id)
	ready()
	c.want(c.must("vpc", "ListIpv4Gateways", "VpcId", vpc), "Ipv4GatewayModels.0.Ipv4GatewayId", id, "Ipv4GatewayModels.0.Enabled", "true")
	table := c.must("vpc", "CreateRouteTable", "VpcId", vpc, "AssociateType", "Gateway").get("RouteTableId")
	c.cleanUp("vpc", "DeleteRouteTable", "RouteTableId", table)
	settled := func() {
		c.t.Helper()
		c.status("Available", "RouterTableList.RouterTableListType.0.Status", "vpc", "DescribeRouteTableList", "RouteTableId", table)
	}
	settled()
	binding := []string{"RouteTableId", table, "GatewayId", id, "GatewayType", "Ipv4Gateway"}
	c.must("vpc", "AssociateRouteTableWithGateway", binding...)
	settled()
	c.want(c.must("vpc", "GetIpv4GatewayAttribute", "Ipv4GatewayId", id), "Ipv4GatewayRouteTableId", table)
	c.must("vpc", "ListGatewayRouteTableEntries", "GatewayRouteTableId", table)
	c.must("vpc", "DissociateRouteTableFromGateway", binding...)
	settled()
	c.must("vpc", "DeleteRouteTable", "RouteTableId", table)
	c.must("vpc", "DeleteIpv4Gateway", "Ipv4GatewayId", id)
	c.wait("the gateway is gone", func() bool { return c.must("vpc", "ListIpv4Gateways", "VpcId", vpc).len("Ipv4GatewayModels") == 0 })
}

// ipv6Gateway makes the gateway of a VPC, and lets an address of a network interface out.
func ipv6Gateway(c *cloud) {
	zone := c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", c.vswitchID).get("ZoneId")
	vpc := c.must("vpc", "CreateVpc", "CidrBlock", "172.16.0.0/16", "VpcName", c.name(), "EnableIpv6", "true").get("VpcId")
	c.cleanUp("vpc", "DeleteVpc", "VpcId", vpc)
	c.status("Available", "Status", "vpc", "DescribeVpcAttribute", "VpcId", vpc)
	vsw := c.must("vpc", "CreateVSwitch", "VpcId", vpc, "ZoneId", zone, "CidrBlock", "172.16.1.0/24", "Ipv6CidrBlock", "1").get("VSwitchId")
	c.cleanUp("vpc", "DeleteVSwitch", "VSwitchId", vsw)
	c.status("Available", "Status", "vpc", "DescribeVSwitchAttributes", "VSwitchId", vsw)
	id := c.must("vpc", "CreateIpv6Gateway", "VpcId", vpc, "Name", c.name()).get("Ipv6GatewayId")
	c.cleanUp("vpc", "DeleteIpv6Gateway", "Ipv6GatewayId", id)
	c.status("Available", "Status", "vpc", "DescribeIpv6GatewayAttribute", "Ipv6GatewayId", id)
	c.must("vpc", "ModifyIpv6GatewayAttribute", "Ipv6GatewayId", id, "Description", "contract")
	c.want(c.must("vpc", "DescribeIpv6Gateways", "VpcId", vpc), "Ipv6Gateways.Ipv6Gateway.0.Description", "contract")

	group := c.must("ecs", "CreateSecurityGroup", "VpcId", vpc, "SecurityGroupName", c.name()).get("SecurityGroupId")
	c.cleanUp("ecs", "DeleteSecurityGroup", "SecurityGroupId", group)
	eni := c.must("ecs", "CreateNetworkInterface", "VSwitchId", vsw, "SecurityGroupId", group,
		"Ipv6AddressCount", "1").get("NetworkInterfaceId")
	c.cleanUp("ecs", "DeleteNetworkInterface", "NetworkInterfaceId", eni)
	c.status("Available", "NetworkInterfaceSets.NetworkInterfaceSet.0.Status", "ecs", "DescribeNetworkInterfaces", "NetworkInterfaceId.1", eni)
	address := c.must("vpc", "DescribeIpv6Addresses", "AssociatedInstanceId", eni).get("Ipv6Addresses.Ipv6Address.0.Ipv6AddressId")
	bandwidth := c.must("vpc", "AllocateIpv6InternetBandwidth", "Ipv6GatewayId", id, "Ipv6AddressId", address, "Bandwidth", "1",
		"InternetChargeType", "PayByTraffic").get("InternetBandwidthId")
	c.must("vpc", "ModifyIpv6InternetBandwidth", "Ipv6InternetBandwidthId", bandwidth, "Ipv6AddressId", address, "Bandwidth", "2")
	c.want(c.must("vpc", "DescribeIpv6Addresses", "Ipv6AddressId", address), "Ipv6Addresses.Ipv6Address.0.NetworkType", "Public",
		"Ipv6Addresses.Ipv6Address.0.Ipv6InternetBandwidth.Bandwidth", "2")
	rule := c.must("vpc", "CreateIpv6EgressOnlyRule", "Ipv6GatewayId", id, "InstanceId", address, "InstanceType", "Ipv6Address",
		"Name", c.name()).get("Ipv6EgressRuleId")
	status := func(want string) {
		c.t.Helper()
		c.status(want, "Ipv6EgressOnlyRules.Ipv6EgressOnlyRule.0.Status", "vpc", "DescribeIpv6EgressOnlyRules", "Ipv6GatewayId", id)
	}
	status("Available")
	c.must("vpc", "DeleteIpv6EgressOnlyRule", "Ipv6EgressOnlyRuleId", rule)
	status("")
	c.must("vpc", "DeleteIpv6InternetBandwidth", "Ipv6InternetBandwidthId", bandwidth, "Ipv6AddressId", address)
	c.must("ecs", "DeleteNetworkInterface", "NetworkInterfaceId", eni)
	c.must("ecs", "DeleteSecurityGroup", "SecurityGroupId", group)
	c.must("vpc", "DeleteIpv6Gateway", "Ipv6GatewayId", id)
	c.status("", "Status", "vpc", "DescribeIpv6GatewayAttribute", "Ipv6GatewayId", id)
}

// gatewayOfSpecification changes the size of a gateway, which new ones that are paid by use don't have.
func gatewayOfSpecification(c *cloud) {
	nat := c.must("vpc", "CreateNatGateway", "VpcId", c.vpcID, "VSwitchId", c.vswitchID, "Spec", "Small").get("NatGatewayId")
	c.cleanUp("vpc", "DeleteNatGateway", "NatGatewayId", nat, "Force", "true")
	c.status("Available", "NatGateways.NatGateway.0.Status", "vpc", "DescribeNatGateways", "NatGatewayId", nat)
	c.must("vpc", "ModifyNatGatewaySpec", "NatGatewayId", nat, "Spec", "Middle")
	c.status("Available", "NatGateways.NatGateway.0.Status", "vpc", "DescribeNatGateways", "NatGatewayId", nat)
	c.must("vpc", "UpdateNatGatewayNatType", "NatGatewayId", nat, "NatType", "Enhanced", "VSwitchId", c.vswitchID)
	c.status("Available", "NatGateways.NatGateway.0.Status", "vpc", "DescribeNatGateways", "NatGatewayId", nat, "Spec", "Middle")
	c.must("vpc", "DeleteNatGateway", "NatGatewayId", nat)
	c.status("", "NatGateways.NatGateway.0.Status", "vpc", "DescribeNatGateways", "NatGatewayId", nat)
}
