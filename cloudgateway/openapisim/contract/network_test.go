package contract

import (
	"slices"
	"strconv"
)

// tableID returns the system route table of the VPC.
func (c *cloud) tableID() string {
	c.t.Helper()
	return c.must("vpc", "DescribeRouteTableList", "VpcId", c.vpcID, "RouteTableType",
		"System").get("RouterTableList.RouterTableListType.0.RouteTableId")
}

func networks(c *cloud) {
	c.want(c.must("vpc", "DescribeVpcs", "VpcId", c.vpcID), "TotalCount", "1", "Vpcs.Vpc.0.VpcId", c.vpcID, "Vpcs.Vpc.0.Status", "Available")
	c.want(c.must("vpc", "DescribeVpcAttribute", "VpcId", c.vpcID), "VpcId", c.vpcID, "RegionId", c.region)
	got := c.must("vpc", "DescribeVSwitches", "VSwitchId", c.vswitchID)
	c.want(got, "VSwitches.VSwitch.0.VpcId", c.vpcID, "VSwitches.VSwitch.0.Status", "Available")
	c.want(c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", c.vswitchID),
		"VpcId", c.vpcID, "ZoneId", got.get("VSwitches.VSwitch.0.ZoneId"), "CidrBlock", got.get("VSwitches.VSwitch.0.CidrBlock"))
	c.want(c.must("vpc", "DescribeVpcs", "VpcId", "vpc-unknown"), "TotalCount", "0")
}

// lifeOfNetwork makes a VPC with a vSwitch and a table of its own, and takes it down in the only order that is let.
func lifeOfNetwork(c *cloud) {
	zone := c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", c.vswitchID).get("ZoneId")
	vpc := c.must("vpc", "CreateVpc", "CidrBlock", "172.16.0.0/16", "VpcName", c.name()).get("VpcId")
	c.cleanUp("vpc", "DeleteVpc", "VpcId", vpc)
	vsw := c.must("vpc", "CreateVSwitch", "VpcId", vpc, "ZoneId", zone, "CidrBlock", "172.16.1.0/24").get("VSwitchId")
	c.cleanUp("vpc", "DeleteVSwitch", "VSwitchId", vsw)
	table := c.must("vpc", "CreateRouteTable", "VpcId", vpc, "RouteTableName", "contract").get("RouteTableId")
	c.cleanUp("vpc", "DeleteRouteTable", "RouteTableId", table)
	c.refused("InvalidCidrBlock.Overlapped", "vpc", "CreateVSwitch", "VpcId", vpc, "ZoneId", zone, "CidrBlock", "172.16.1.128/25")

	c.must("vpc", "ModifyVpcAttribute", "VpcId", vpc, "Description", "renamed")
	c.must("vpc", "ModifyVSwitchAttribute", "VSwitchId", vsw, "VSwitchName", "renamed")
	c.must("vpc", "ModifyRouteTableAttributes", "RouteTableId", table, "RouteTableName", "renamed")
	c.want(c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", vsw), "VSwitchName", "renamed")
	c.want(c.must("vpc", "CheckCanAllocateVpcPrivateIpAddress", "VSwitchId", vsw, "PrivateIpAddress", "172.16.1.9"), "CanAllocate", "true")

	c.must("vpc", "AssociateRouteTable", "RouteTableId", table, "VSwitchId", vsw)
	c.wait("the table is that of the vSwitch", func() bool {
		return c.must("vpc", "DescribeRouteTableList", "RouteTableId",
			table).get("RouterTableList.RouterTableListType.0.VSwitchIds.VSwitchId.0") == vsw
	})
	c.must("vpc", "UnassociateRouteTable", "RouteTableId", table, "VSwitchId", vsw)
	c.must("vpc", "DeleteRouteTable", "RouteTableId", table)
	c.refused("DependencyViolation.VSwitch", "vpc", "DeleteVpc", "VpcId", vpc)
	c.must("vpc", "DeleteVSwitch", "VSwitchId", vsw)
	c.wait("the vSwitch is gone, which shows by an empty id", func() bool {
		return c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", vsw).get("VSwitchId") == ""
	})
	c.must("vpc", "DeleteVpc", "VpcId", vpc)
	c.want(c.must("vpc", "DescribeVpcs", "VpcId", vpc), "TotalCount", "0")
}

// entries returns the custom entries of a table, with MaxResult as large as it gets, which the existing controllers send.
func (c *cloud) entries(table, cidr string) answer {
	c.t.Helper()
	return c.must("vpc", "DescribeRouteEntryList", "RouteTableId", table, "DestinationCidrBlock", cidr, "MaxResult", "500")
}

func (c *cloud) waitForRoute(table, cidr, status string) answer {
	c.t.Helper()
	var got answer
	c.wait("the route of "+cidr+" is "+status, func() bool {
		got = c.entries(table, cidr)
		return got.get("RouteEntrys.RouteEntry.0.Status") == status
	})
	return got
}

// The addresses are those for documentation, which nobody routes.
func route(c *cloud) {
	const cidr = "198.51.100.0/26"
	table := c.tableID()
	to := []string{"RouteTableId", table, "DestinationCidrBlock", cidr, "NextHopId", c.instances[0]}
	c.must("vpc", "CreateRouteEntry", append(slices.Clone(to), "NextHopType", "Instance", "RouteEntryName", "contract")...)
	got := c.waitForRoute(table, cidr, "Available")
	c.want(got, "RouteEntrys.RouteEntry.0.Type", "Custom", "RouteEntrys.RouteEntry.0.RouteEntryName", "contract",
		"RouteEntrys.RouteEntry.0.NextHops.NextHop.0.NextHopId", c.instances[0],
		"RouteEntrys.RouteEntry.0.NextHops.NextHop.0.NextHopType", "Instance")
	id := got.get("RouteEntrys.RouteEntry.0.RouteEntryId")
	c.must("vpc", "ModifyRouteEntry", "RouteEntryId", id, "RouteEntryName", "contract-2")
	c.want(c.entries(table, cidr), "RouteEntrys.RouteEntry.0.RouteEntryName", "contract-2")
	c.want(c.must("vpc", "DescribeRouteTables", "RouteTableId", table), "RouteTables.RouteTable.0.RouteTableId", table)
	if c.must("vpc", "GetVpcRouteEntrySummary", "VpcId", c.vpcID, "RouteTableId", table, "RouteEntryType",
		"Custom").len("RouteEntrySummarys") != 1 {
		c.t.Error("no summary of the table")
	}
	c.must("vpc", "DeleteRouteEntry", to...)
	c.waitForRoute(table, cidr, "")
}

func routes(c *cloud) {
	table := c.tableID()
	cidrs := []string{"198.51.100.64/26", "198.51.100.128/26"}
	var create, remove []string
	for i, cidr := range cidrs {
		prefix := "RouteEntries." + strconv.Itoa(i+1) + "."
		key := []string{prefix + "RouteTableId", table, prefix + "DstCidrBlock", cidr, prefix + "NextHop", c.instances[i]}
		remove = append(remove, key...)
		create = append(append(create, key...), prefix+"NextHopType", "Instance")
	}
	c.want(c.must("vpc", "CreateRouteEntries", create...), "SuccessCount", "2", "FailedCount", "0")
	for _, cidr := range cidrs {
		c.waitForRoute(table, cidr, "Available")
	}
	c.want(c.must("vpc", "DeleteRouteEntries", remove...), "SuccessCount", "2", "FailedCount", "0")
	for _, cidr := range cidrs {
		c.waitForRoute(table, cidr, "")
	}
}

func elasticAddress(c *cloud) {
	balancer := c.must("slb", "CreateLoadBalancer", "LoadBalancerName", c.name(), "AddressType", "intranet",
		"VSwitchId", c.vswitchID, "VpcId", c.vpcID, "InstanceChargeType", "PayByCLCU").get("LoadBalancerId")
	c.cleanUp("slb", "DeleteLoadBalancer", "LoadBalancerId", balancer)
	made := c.must("vpc", "AllocateEipAddress", "Bandwidth", "1", "InternetChargeType", "PayByTraffic", "Name", c.name())
	id := made.get("AllocationId")
	c.cleanUp("vpc", "ReleaseEipAddress", "AllocationId", id)
	status := func(want string) {
		c.wait("the address is "+want, func() bool {
			return c.must("vpc", "DescribeEipAddresses", "AllocationId", id).get("EipAddresses.EipAddress.0.Status") == want
		})
	}
	status("Available")
	c.must("vpc", "AssociateEipAddress", "AllocationId", id, "InstanceId", balancer, "InstanceType", "SlbInstance")
	status("InUse")
	c.must("vpc", "ModifyEipAddressAttribute", "AllocationId", id, "Bandwidth", "2", "Description", "contract")
	c.want(c.must("vpc", "DescribeEipAddresses", "AllocationId", id), "EipAddresses.EipAddress.0.Bandwidth", "2")
	c.want(c.must("vpc", "DescribeEipAddresses", "AssociatedInstanceType", "SlbInstance", "AssociatedInstanceId", balancer),
		"TotalCount", "1", "EipAddresses.EipAddress.0.IpAddress", made.get("EipAddress"), "EipAddresses.EipAddress.0.InstanceId", balancer)
	c.must("vpc", "UnassociateEipAddress", "AllocationId", id, "InstanceId", balancer, "InstanceType", "SlbInstance")
	status("Available")
	c.must("vpc", "ReleaseEipAddress", "AllocationId", id)
	status("") // gone
}

func networkTags(c *cloud) {
	id := c.must("vpc", "AllocateEipAddress", "Bandwidth", "1", "InternetChargeType", "PayByTraffic", "Name", c.name()).get("AllocationId")
	c.cleanUp("vpc", "ReleaseEipAddress", "AllocationId", id)
	of := []string{"ResourceType", "EIP", "ResourceId.1", id}
	c.must("vpc", "TagResources", append(slices.Clone(of), "Tag.1.Key", "contract", "Tag.1.Value", "v")...)
	c.want(c.must("vpc", "ListTagResources", of...), "TagResources.TagResource.0.TagKey", "contract",
		"TagResources.TagResource.0.TagValue", "v")
	c.must("vpc", "UnTagResources", append(slices.Clone(of), "TagKey.1", "contract")...) // spelt so by this product only
	if n := c.must("vpc", "ListTagResources", of...).len("TagResources.TagResource"); n != 0 {
		c.t.Errorf("%d tags left", n)
	}
}

// sharedBandwidth puts an address into a bandwidth package and takes it out again.
func sharedBandwidth(c *cloud) {
	id := c.must("vpc", "CreateCommonBandwidthPackage", "Bandwidth", "2", "Name", c.name()).get("BandwidthPackageId")
	c.cleanUp("vpc", "DeleteCommonBandwidthPackage", "BandwidthPackageId", id)
	eip := c.must("vpc", "AllocateEipAddress", "Bandwidth", "1", "InternetChargeType", "PayByTraffic", "Name", c.name()).get("AllocationId")
	c.cleanUp("vpc", "ReleaseEipAddress", "AllocationId", eip)
	member := []string{"BandwidthPackageId", id, "IpInstanceId", eip}
	first := "CommonBandwidthPackages.CommonBandwidthPackage.0."
	c.must("vpc", "AddCommonBandwidthPackageIp", member...)
	c.want(c.must("vpc", "DescribeCommonBandwidthPackages", "BandwidthPackageId", id), "TotalCount", "1", first+"Bandwidth", "2",
		first+"PublicIpAddresses.PublicIpAddresse.0.AllocationId", eip)
	c.want(c.must("vpc", "DescribeEipAddresses", "AllocationId", eip), "EipAddresses.EipAddress.0.BandwidthPackageId", id)
	limit := []string{"BandwidthPackageId", id, "EipId", eip}
	bandwidth := func(want string) {
		c.want(c.must("vpc", "DescribeEipAddresses", "AllocationId", eip), "EipAddresses.EipAddress.0.Bandwidth", want,
			"EipAddresses.EipAddress.0.EipBandwidth", "1")
	}
	bandwidth("2")
	c.must("vpc", "ModifyCommonBandwidthPackageIpBandwidth", append(slices.Clone(limit), "Bandwidth", "1")...)
	bandwidth("1")
	c.must("vpc", "CancelCommonBandwidthPackageIpBandwidth", limit...)
	bandwidth("2")
	c.must("vpc", "RemoveCommonBandwidthPackageIp", member...)
	bandwidth("1")
	c.must("vpc", "ModifyCommonBandwidthPackageSpec", "BandwidthPackageId", id, "Bandwidth", "3")
	c.must("vpc", "ModifyCommonBandwidthPackageAttribute", "BandwidthPackageId", id, "Description", "contract")
	c.must("vpc", "DeletionProtection", "Type", "CBWP", "InstanceId", id, "ProtectionEnable", "true")
	c.want(c.must("vpc", "DescribeCommonBandwidthPackages", "BandwidthPackageId", id), first+"Bandwidth", "3", first+"Description", "contract",
		first+"DeletionProtection", "true")
	c.must("vpc", "DeletionProtection", "Type", "CBWP", "InstanceId", id, "ProtectionEnable", "false")
	c.must("vpc", "DeleteCommonBandwidthPackage", "BandwidthPackageId", id)
	c.want(c.must("vpc", "DescribeCommonBandwidthPackages", "BandwidthPackageId", id), "TotalCount", "0")
}
