package contract

import (
	"cmp"
	"slices"
	"strings"
)

// makeWorld makes what scenarios need and the account doesn't name: a VPC with a vSwitch in each of two zones, and two small instances. It
// removes them in the end.
func (c *cloud) makeWorld() {
	c.t.Helper()
	zones := c.must("nlb", "DescribeZones").texts("Zones", "ZoneId")
	kind, first := "", ""
	for _, zone := range zones {
		if kind == "" {
			kind, first = c.smallType(zone), zone
		}
	}
	if kind == "" || len(zones) < 2 {
		c.t.Fatalf("no type of instances is sold in any of the zones %v", zones)
	}
	second := zones[0]
	if second == first {
		second = zones[1]
	}
	c.zones = []string{first, second}
	c.vpcID = c.must("vpc", "CreateVpc", "VpcName", c.name(), "CidrBlock", "10.0.0.0/8").get("VpcId")
	c.remove("vpc", "DeleteVpc", "VpcId", c.vpcID)
	c.wait("the VPC is available", func() bool {
		return c.must("vpc", "DescribeVpcs", "VpcId", c.vpcID).get("Vpcs.Vpc.0.Status") == "Available"
	})
	made := []string{}
	for i, zone := range []string{first, second} {
		id := c.must("vpc", "CreateVSwitch", "VpcId", c.vpcID, "ZoneId", zone, "VSwitchName", c.name(), "CidrBlock",
			[]string{"10.0.0.0/24", "10.0.1.0/24"}[i]).
			get("VSwitchId")
		c.remove("vpc", "DeleteVSwitch", "VSwitchId", id)
		c.wait("the vSwitch is available", func() bool {
			return c.must("vpc", "DescribeVSwitches", "VSwitchId", id).get("VSwitches.VSwitch.0.Status") == "Available"
		})
		made = append(made, id)
	}
	c.vswitchID, c.otherVSwitchID = made[0], made[1]
	group := c.must("ecs", "CreateSecurityGroup", "VpcId", c.vpcID, "SecurityGroupName", c.name()).get("SecurityGroupId")
	c.remove("ecs", "DeleteSecurityGroup", "SecurityGroupId", group)
	image := c.must("ecs", "DescribeImages", "ImageOwnerAlias", "system", "InstanceType", kind).get("Images.Image.0.ImageId")
	got := c.must("ecs", "RunInstances", "ImageId", image, "InstanceType", kind, "VSwitchId", c.vswitchID, "SecurityGroupId", group,
		"Amount", "2", "InstanceName", c.name(), "SystemDisk.Category", "cloud_essd")
	c.instances = []string{got.get("InstanceIdSets.InstanceIdSet.0"), got.get("InstanceIdSets.InstanceIdSet.1")}
	slices.Sort(c.instances) // in which order lists have them
	for _, id := range c.instances {
		c.remove("ecs", "DeleteInstance", "InstanceId", id, "Force", "true")
	}
	for _, id := range c.instances {
		c.wait("the instance runs", func() bool {
			return c.must("ecs", "DescribeInstanceStatus", "InstanceId.1", id).get("InstanceStatuses.InstanceStatus.0.Status") == "Running"
		})
	}
}

// smallType returns a type of instances that a zone sells, a cheap one if it can, or "".
func (c *cloud) smallType(zone string) string {
	c.t.Helper()
	const list = "AvailableZones.AvailableZone.0.AvailableResources.AvailableResource.0.SupportedResources.SupportedResource"
	sold := c.must("ecs", "DescribeAvailableResource", "DestinationResource", "InstanceType", "ZoneId", zone).texts(list, "Value")
	small := func(kind string) bool { return strings.HasSuffix(kind, ".large") }
	cheap := func(kind string) int {
		i := slices.IndexFunc([]string{"ecs.e-", "ecs.u1-", "ecs.t6-", "ecs.c", "ecs.g"},
			func(prefix string) bool { return strings.HasPrefix(kind, prefix) })
		return cmp.Or(i+1, 9)
	}
	sold = slices.DeleteFunc(sold, func(kind string) bool { return !small(kind) })
	if len(sold) == 0 {
		return ""
	}
	return slices.MinFunc(sold, func(a, b string) int { return cmp.Or(cheap(a)-cheap(b), cmp.Compare(a, b)) })
}

// remove makes a call in the end, again and again while something is still in its way.
func (c *cloud) remove(product, action string, params ...string) {
	free := *c
	free.budget, free.record = nil, nil
	c.t.Cleanup(func() {
		code := ""
		free.wait(action+" is let through", func() bool {
			_, code = free.once(product, action, params...)
			return code == "" || strings.Contains(code, "NotFound")
		})
	})
}
