package contract

// newNetwork makes a VPC and waits until it is available. It goes at the end.
func (c *cloud) newNetwork(cidr string) string {
	c.t.Helper()
	vpc := c.must("vpc", "CreateVpc", "CidrBlock", cidr, "VpcName", c.name()).get("VpcId")
	c.cleanUp("vpc", "DeleteVpc", "VpcId", vpc)
	c.wait("the VPC is available", func() bool { return c.must("vpc", "DescribeVpcAttribute", "VpcId", vpc).get("Status") == "Available" })
	return vpc
}

// furtherBlocks gives a VPC a second block and takes it away.
func furtherBlocks(c *cloud) {
	vpc := c.newNetwork("172.16.0.0/16")
	zone := c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", c.vswitchID).get("ZoneId")
	block := []string{"VpcId", vpc, "SecondaryCidrBlock", "10.99.0.0/16"}
	c.refused("OperationDenied.CidrConflictWithExistCidr", "vpc", "AssociateVpcCidrBlock", "VpcId", vpc, "SecondaryCidrBlock", "172.16.8.0/24")
	c.must("vpc", "AssociateVpcCidrBlock", block...)
	c.want(c.must("vpc", "DescribeVpcAttribute", "VpcId", vpc), "SecondaryCidrBlocks.SecondaryCidrBlock.0", "10.99.0.0/16")
	vsw := c.must("vpc", "CreateVSwitch", "VpcId", vpc, "ZoneId", zone, "CidrBlock", "10.99.1.0/24").get("VSwitchId")
	c.cleanUp("vpc", "DeleteVSwitch", "VSwitchId", vsw)
	c.refused("DependencyViolation.VSwitch", "vpc", "UnassociateVpcCidrBlock", block...)
	c.must("vpc", "DeleteVSwitch", "VSwitchId", vsw)
	c.wait("the vSwitch is gone", func() bool {
		return c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", vsw).get("VSwitchId") == ""
	})
	c.must("vpc", "UnassociateVpcCidrBlock", block...)
	if n := c.must("vpc", "DescribeVpcAttribute", "VpcId", vpc).len("SecondaryCidrBlocks.SecondaryCidrBlock"); n != 0 {
		c.t.Errorf("%d further blocks are left", n)
	}
	table := c.must("vpc", "DescribeRouteTableList", "VpcId", vpc).get("RouterTableList.RouterTableListType.0.RouteTableId")
	c.want(c.must("vpc", "ListVpcPublishedRouteEntries", "RouteTableId", table, "TargetType", "ECR", "TargetInstanceId", "ecr-none"),
		"NextToken", "")
}

// defaultNetwork makes the default VPC of a region, which an account may have already.
func defaultNetwork(c *cloud) {
	zone := c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", c.vswitchID).get("ZoneId")
	vpc := c.must("vpc", "CreateDefaultVpc").get("VpcId")
	c.cleanUp("vpc", "DeleteVpc", "VpcId", vpc)
	c.wait("the VPC is available", func() bool { return c.must("vpc", "DescribeVpcAttribute", "VpcId", vpc).get("Status") == "Available" })
	vsw := c.must("vpc", "CreateDefaultVSwitch", "ZoneId", zone).get("VSwitchId")
	c.cleanUp("vpc", "DeleteVSwitch", "VSwitchId", vsw)
	c.want(c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", vsw), "IsDefault", "true", "ZoneId", zone, "VpcId", vpc)
	c.must("vpc", "EnableVpcClassicLink", "VpcId", vpc)
	c.want(c.must("vpc", "DescribeVpcAttribute", "VpcId", vpc), "IsDefault", "true", "ClassicLinkEnabled", "true")
	c.must("vpc", "DisableVpcClassicLink", "VpcId", vpc)
	c.must("vpc", "MoveResourceGroup", "ResourceType", "VPC", "ResourceId", vpc, "NewResourceGroupId", "rg-contract")
	c.want(c.must("vpc", "DescribeVpcAttribute", "VpcId", vpc), "ResourceGroupId", "rg-contract")
	c.must("vpc", "DescribePhysicalConnections")
}

// monitoredAddress sends what is measured of an address to a store of logs, which has to be there.
func monitoredAddress(c *cloud) {
	eip := c.must("vpc", "AllocateEipAddressPro", "Bandwidth", "1", "InternetChargeType", "PayByTraffic").get("AllocationId")
	c.cleanUp("vpc", "ReleaseEipAddress", "AllocationId", eip)
	monitor := func(status string) {
		c.must("vpc", "SetHighDefinitionMonitorLogStatus", "InstanceId", eip, "InstanceType", "EIP", "Status", status, "LogProject", "contract",
			"LogStore", "contract")
		c.want(c.must("vpc", "DescribeEipAddresses", "AllocationId", eip), "EipAddresses.EipAddress.0.HDMonitorStatus", status)
	}
	monitor("ON")
	c.want(c.must("vpc", "DescribeHighDefinitionMonitorLogAttribute", "InstanceId", eip, "InstanceType", "EIP"), "LogProject", "contract")
	monitor("OFF")
	c.must("vpc", "ModifyEipForwardMode", "InstanceId", eip, "Mode", "BINDED")
	c.want(c.must("vpc", "DescribeEipAddresses", "AllocationId", eip), "EipAddresses.EipAddress.0.Mode", "BINDED")
	c.must("vpc", "ReleaseEipAddress", "AllocationId", eip)
}
