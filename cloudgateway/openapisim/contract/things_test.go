package contract

// haVip makes an address that instances share, binds one to it, and lets a route lead to it.
func haVip(c *cloud) {
	id := c.must("vpc", "CreateHaVip", "VSwitchId", c.vswitchID, "Name", c.name()).get("HaVipId")
	c.cleanUp("vpc", "DeleteHaVip", "HaVipId", id)
	status := func(want string) {
		c.t.Helper()
		c.status(want, "HaVips.HaVip.0.Status", "vpc", "DescribeHaVips", "Filter.1.Key", "HaVipId", "Filter.1.Value.1", id)
	}
	status("Available")
	c.must("vpc", "ModifyHaVipAttribute", "HaVipId", id, "Description", "contract")
	c.want(c.must("vpc", "DescribeHaVips", "Filter.1.Key", "HaVipId", "Filter.1.Value.1", id), "HaVips.HaVip.0.Description", "contract",
		"HaVips.HaVip.0.VSwitchId", c.vswitchID)
	c.must("vpc", "AssociateHaVip", "HaVipId", id, "InstanceId", c.instances[0], "InstanceType", "EcsInstance")
	status("InUse")
	c.refused("IncorrectHaVipStatus", "vpc", "DeleteHaVip", "HaVipId", id)
	c.must("vpc", "UnassociateHaVip", "HaVipId", id, "InstanceId", c.instances[0], "InstanceType", "EcsInstance", "Force", "True")
	status("Available")
	c.must("vpc", "DeleteHaVip", "HaVipId", id)
	status("")
}

// prefixList makes a list of blocks, changes it, and lets a route lead to it.
func prefixList(c *cloud) {
	table := c.must("vpc", "CreateRouteTable", "VpcId", c.vpcID, "RouteTableName", c.name()).get("RouteTableId")
	c.cleanUp("vpc", "DeleteRouteTable", "RouteTableId", table)
	c.status("Available", "RouterTableList.RouterTableListType.0.Status", "vpc", "DescribeRouteTableList", "RouteTableId", table)
	id := c.must("vpc", "CreateVpcPrefixList", "PrefixListName", c.name(), "MaxEntries", "3", "PrefixListEntries.1.Cidr",
		"10.250.0.0/24", "PrefixListEntries.1.Description", "contract").get("PrefixListId")
	c.cleanUp("vpc", "DeleteVpcPrefixList", "PrefixListId", id)
	settled := func() {
		c.t.Helper()
		c.status("Created", "PrefixLists.0.Status", "vpc", "ListPrefixLists", "PrefixListIds.1", id)
	}
	settled()
	c.refused("DuplicatedParam.CidrBlock", "vpc", "ModifyVpcPrefixList", "PrefixListId", id, "AddPrefixListEntry.1.Cidr", "10.251.0.0/24",
		"AddPrefixListEntry.2.Cidr", "10.251.0.0/24")
	c.must("vpc", "ModifyVpcPrefixList", "PrefixListId", id, "AddPrefixListEntry.1.Cidr", "10.251.0.0/24")
	settled()
	c.want(c.must("vpc", "GetVpcPrefixListEntries", "PrefixListId", id), "TotalCount", "2")
	entry := c.must("vpc", "CreateRouteEntry", "RouteTableId", table, "DestinationCidrBlock", id, "NextHopId",
		c.instances[0]).get("RouteEntryId")
	c.cleanUp("vpc", "DeleteRouteEntry", "RouteTableId", table, "RouteEntryId", entry)
	c.status("Available", "RouteEntrys.RouteEntry.0.Status", "vpc", "DescribeRouteEntryList", "RouteTableId", table, "RouteEntryId", entry)
	c.want(c.must("vpc", "GetVpcPrefixListAssociations", "PrefixListId", id), "PrefixListAssociation.0.ResourceId", table)
	c.must("vpc", "RetryVpcPrefixListAssociation", "PrefixListId", id, "ResourceId", table, "ResourceType", "vpcRouteTable")
	c.refused("DependencyViolation.PrefixListRelation", "vpc", "DeleteVpcPrefixList", "PrefixListId", id)
	c.noRoute(table, entry)
	settled()
	c.must("vpc", "DeleteVpcPrefixList", "PrefixListId", id)
}

// dhcpOptions makes a set, and gives it to a VPC and takes it away.
func dhcpOptions(c *cloud) {
	vpc := c.newNetwork("172.16.0.0/16")
	id := c.must("vpc", "CreateDhcpOptionsSet", "DhcpOptionsSetName", "contract", "DomainName", "example.com",
		"DomainNameServers", "100.100.2.136").get("DhcpOptionsSetId")
	c.cleanUp("vpc", "DeleteDhcpOptionsSet", "DhcpOptionsSetId", id)
	available := func() {
		c.t.Helper()
		c.status("Available", "Status", "vpc", "GetDhcpOptionsSet", "DhcpOptionsSetId", id)
	}
	available()
	c.must("vpc", "UpdateDhcpOptionsSetAttribute", "DhcpOptionsSetId", id, "DomainName", "example.org")
	available()
	c.must("vpc", "AttachDhcpOptionsSetToVpc", "DhcpOptionsSetId", id, "VpcId", vpc)
	c.cleanUp("vpc", "DetachDhcpOptionsSetFromVpc", "DhcpOptionsSetId", id, "VpcId", vpc)
	c.status("InUse", "DhcpOptionsSetStatus", "vpc", "DescribeVpcAttribute", "VpcId", vpc)
	c.want(c.must("vpc", "ListDhcpOptionsSets", "DhcpOptionsSetId.1", id), "DhcpOptionsSets.0.DhcpOptions.DomainName", "example.org",
		"DhcpOptionsSets.0.AssociateVpcCount", "1")
	c.refused("DependencyViolation.VpcAttachment", "vpc", "DeleteDhcpOptionsSet", "DhcpOptionsSetId", id)
	c.must("vpc", "DetachDhcpOptionsSetFromVpc", "DhcpOptionsSetId", id, "VpcId", vpc)
	available()
	c.must("vpc", "DeleteDhcpOptionsSet", "DhcpOptionsSetId", id)
}

// reservedBlock keeps a block of a vSwitch for prefixes of network interfaces.
func reservedBlock(c *cloud) {
	vpc := c.newNetwork("172.16.0.0/16")
	zone := c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", c.vswitchID).get("ZoneId")
	vsw := c.must("vpc", "CreateVSwitch", "VpcId", vpc, "ZoneId", zone, "CidrBlock", "172.16.1.0/24").get("VSwitchId")
	c.cleanUp("vpc", "DeleteVSwitch", "VSwitchId", vsw)
	c.status("Available", "Status", "vpc", "DescribeVSwitchAttributes", "VSwitchId", vsw)
	id := c.must("vpc", "CreateVSwitchCidrReservation", "VSwitchId", vsw, "VSwitchCidrReservationCidr",
		"172.16.1.64/28").get("VSwitchCidrReservationId")
	c.cleanUp("vpc", "DeleteVSwitchCidrReservation", "VSwitchCidrReservationId", id)
	status := func(want string) {
		c.t.Helper()
		c.status(want, "VSwitchCidrReservations.0.Status", "vpc", "ListVSwitchCidrReservations", "VSwitchCidrReservationIds.1", id)
	}
	status("Assigned")
	c.must("vpc", "ModifyVSwitchCidrReservationAttribute", "VSwitchCidrReservationId", id, "VSwitchCidrReservationName", "contract")
	c.want(c.must("vpc", "ListVSwitchCidrReservations", "VSwitchId", vsw), "VSwitchCidrReservations.0.VSwitchCidrReservationCidr",
		"172.16.1.64/28", "VSwitchCidrReservations.0.AvailableCidrCount", "1")
	c.must("vpc", "DeleteVSwitchCidrReservation", "VSwitchCidrReservationId", id)
	status("")
	c.must("vpc", "DeleteVSwitch", "VSwitchId", vsw)
}

// addressPool makes a pool of public addresses with a block that the cloud chooses.
func addressPool(c *cloud) {
	made := c.must("vpc", "CreatePublicIpAddressPool", "Name", c.name())
	id := made.get("PublicIpAddressPoolId")
	c.want(made, "PulbicIpAddressPoolId", id)
	c.cleanUp("vpc", "DeletePublicIpAddressPool", "PublicIpAddressPoolId", id)
	c.status("Created", "PublicIpAddressPoolList.0.Status", "vpc", "ListPublicIpAddressPools", "PublicIpAddressPoolIds.1", id)
	c.must("vpc", "UpdatePublicIpAddressPoolAttribute", "PublicIpAddressPoolId", id, "Description", "contract")
	block := c.must("vpc", "AddPublicIpAddressPoolCidrBlock", "PublicIpAddressPoolId", id, "CidrMask", "28").get("CidrBlock")
	c.cleanUp("vpc", "DeletePublicIpAddressPoolCidrBlock", "PublicIpAddressPoolId", id, "CidrBlock", block)
	status := func(want string) {
		c.t.Helper()
		c.status(want, "PublicIpPoolCidrBlockList.0.Status", "vpc", "ListPublicIpAddressPoolCidrBlocks", "PublicIpAddressPoolId", id)
	}
	status("Created")
	c.must("vpc", "DeletePublicIpAddressPoolCidrBlock", "PublicIpAddressPoolId", id, "CidrBlock", block)
	status("")
	c.must("vpc", "DeletePublicIpAddressPool", "PublicIpAddressPoolId", id)
	c.status("", "PublicIpAddressPoolList.0.Status", "vpc", "ListPublicIpAddressPools", "PublicIpAddressPoolIds.1", id)
}

// addressSegment makes sixteen addresses in a row. The cloud has ceased to sell them to new accounts.
func addressSegment(c *cloud) {
	id := c.must("vpc", "AllocateEipSegmentAddress", "EipMask", "28", "InternetChargeType", "PayByTraffic").get("EipSegmentInstanceId")
	c.cleanUp("vpc", "ReleaseEipSegmentAddress", "SegmentInstanceId", id)
	status := func(want string) {
		c.t.Helper()
		c.status(want, "EipSegments.EipSegment.0.Status", "vpc", "DescribeEipSegment", "SegmentInstanceId", id)
	}
	status("Allocated")
	c.want(c.must("vpc", "DescribeEipAddresses", "SegmentInstanceId", id), "TotalCount", "16")
	c.must("vpc", "ReleaseEipSegmentAddress", "SegmentInstanceId", id)
	status("")
}

// askedHaVips asks for addresses and instances that a HaVip can't have, and takes one away to which a route leads.
func askedHaVips(c *cloud) {
	undo := []string{"DeleteHaVip", "HaVipId", "HaVipId"}
	c.ask(undo, "vpc", "CreateHaVip", "VSwitchId", c.vswitchID, "IpAddress", "10.99.0.1")
	c.ask(undo, "vpc", "CreateHaVip", "VSwitchId", c.vswitchID, "Name", "http://contract")
	id := c.must("vpc", "CreateHaVip", "VSwitchId", c.vswitchID).get("HaVipId")
	c.cleanUp("vpc", "DeleteHaVip", "HaVipId", id)
	c.status("Available", "HaVips.HaVip.0.Status", "vpc", "DescribeHaVips", "Filter.1.Key", "HaVipId", "Filter.1.Value.1", id)
	c.ask(nil, "vpc", "AssociateHaVip", "HaVipId", id, "InstanceId", "i-none")
	c.ask(nil, "vpc", "UnassociateHaVip", "HaVipId", id, "InstanceId", c.instances[0])
	table := c.must("vpc", "CreateRouteTable", "VpcId", c.vpcID, "RouteTableName", c.name()).get("RouteTableId")
	c.cleanUp("vpc", "DeleteRouteTable", "RouteTableId", table)
	c.status("Available", "RouterTableList.RouterTableListType.0.Status", "vpc", "DescribeRouteTableList", "RouteTableId", table)
	entry := c.must("vpc", "CreateRouteEntry", "RouteTableId", table, "DestinationCidrBlock", "10.252.0.0/24", "NextHopId", id,
		"NextHopType", "HaVip").get("RouteEntryId")
	c.cleanUp("vpc", "DeleteRouteEntry", "RouteTableId", table, "RouteEntryId", entry)
	c.ask(nil, "vpc", "DeleteHaVip", "HaVipId", id)
	c.noRoute(table, entry)
}

// noRoute deletes an entry and its route table.
func (c *cloud) noRoute(table, entry string) {
	c.t.Helper()
	c.must("vpc", "DeleteRouteEntry", "RouteTableId", table, "RouteEntryId", entry)
	c.status("", "RouteEntrys.RouteEntry.0.Status", "vpc", "DescribeRouteEntryList", "RouteTableId", table, "RouteEntryId", entry)
	c.must("vpc", "DeleteRouteTable", "RouteTableId", table)
}

// askedPrefixLists asks for a list with a name that can't be, tries an association again that there is not, and lets a route lead to a list
// with the block of a vSwitch.
func askedPrefixLists(c *cloud) {
	c.ask([]string{"DeleteVpcPrefixList", "PrefixListId", "PrefixListId"}, "vpc", "CreateVpcPrefixList", "PrefixListName", "http://contract")
	block := c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", c.vswitchID).get("CidrBlock")
	id := c.must("vpc", "CreateVpcPrefixList", "PrefixListName", c.name(), "PrefixListEntries.1.Cidr", block).get("PrefixListId")
	c.cleanUp("vpc", "DeleteVpcPrefixList", "PrefixListId", id)
	c.status("Created", "PrefixLists.0.Status", "vpc", "ListPrefixLists", "PrefixListIds.1", id)
	c.ask(nil, "vpc", "RetryVpcPrefixListAssociation", "PrefixListId", id, "ResourceId", "vtb-none", "ResourceType", "vpcRouteTable")
	c.ask(nil, "vpc", "ModifyVpcPrefixList", "PrefixListId", id, "RemovePrefixListEntry.1.Cidr", "10.253.0.0/24")
	table := c.must("vpc", "CreateRouteTable", "VpcId", c.vpcID, "RouteTableName", c.name()).get("RouteTableId")
	c.cleanUp("vpc", "DeleteRouteTable", "RouteTableId", table)
	c.status("Available", "RouterTableList.RouterTableListType.0.Status", "vpc", "DescribeRouteTableList", "RouteTableId", table)
	entry := c.ask(nil, "vpc", "CreateRouteEntry", "RouteTableId", table, "DestinationCidrBlock", id, "NextHopId", c.instances[0])
	if made := entry.get("RouteEntryId"); made != "" {
		c.noRoute(table, made)
	}
}

// askedReservations asks for blocks that a vSwitch can't keep, and for one that there is not.
func askedReservations(c *cloud) {
	undo := []string{"DeleteVSwitchCidrReservation", "VSwitchCidrReservationId", "VSwitchCidrReservationId"}
	for _, block := range []string{"10.99.0.0/28", "10.99.0.1/28"} {
		c.ask(undo, "vpc", "CreateVSwitchCidrReservation", "VSwitchId", c.vswitchID, "VSwitchCidrReservationCidr", block)
	}
	c.ask(undo, "vpc", "CreateVSwitchCidrReservation", "VSwitchId", c.vswitchID, "VSwitchCidrReservationMask", "29")
	c.ask(undo, "vpc", "CreateVSwitchCidrReservation", "VSwitchId", c.vswitchID)
	c.ask(nil, "vpc", "DeleteVSwitchCidrReservation", "VSwitchCidrReservationId", "vcr-none")
}

// askedPools asks for blocks that a pool can't have, and takes a pool away of which an address is in use.
func askedPools(c *cloud) {
	id := c.must("vpc", "CreatePublicIpAddressPool", "Name", c.name()).get("PublicIpAddressPoolId")
	c.cleanUp("vpc", "DeletePublicIpAddressPool", "PublicIpAddressPoolId", id)
	c.status("Created", "PublicIpAddressPoolList.0.Status", "vpc", "ListPublicIpAddressPools", "PublicIpAddressPoolIds.1", id)
	c.ask(nil, "vpc", "AddPublicIpAddressPoolCidrBlock", "PublicIpAddressPoolId", id, "CidrBlock", "10.99.0.0/28")
	c.ask(nil, "vpc", "DeletePublicIpAddressPoolCidrBlock", "PublicIpAddressPoolId", id, "CidrBlock", "47.99.0.0/28")
	c.must("vpc", "AddPublicIpAddressPoolCidrBlock", "PublicIpAddressPoolId", id, "CidrMask", "28")
	c.status("Created", "PublicIpPoolCidrBlockList.0.Status", "vpc", "ListPublicIpAddressPoolCidrBlocks", "PublicIpAddressPoolId", id)
	eip := c.must("vpc", "AllocateEipAddress", "PublicIpAddressPoolId", id).get("AllocationId")
	c.cleanUp("vpc", "ReleaseEipAddress", "AllocationId", eip)
	c.ask(nil, "vpc", "DeletePublicIpAddressPool", "PublicIpAddressPoolId", id)
	c.must("vpc", "ReleaseEipAddress", "AllocationId", eip)
	c.status("", "EipAddresses.EipAddress.0.Status", "vpc", "DescribeEipAddresses", "AllocationId", eip)
}
