package contract

// catalog reads what a script reads before it makes an instance.
func catalog(c *cloud) {
	zone := c.must("ecs", "DescribeZones").get("Zones.Zone.0.ZoneId")
	kind := c.must("ecs", "DescribeAvailableResource", "DestinationResource", "InstanceType", "ZoneId", zone)
	const list = "AvailableZones.AvailableZone.0.AvailableResources.AvailableResource.0.SupportedResources.SupportedResource"
	name := kind.get(list + ".0.Value")
	c.want(c.must("ecs", "DescribeInstanceTypes", "InstanceTypes.1", name), "InstanceTypes.InstanceType.0.InstanceTypeId", name)
	if c.must("ecs", "DescribeImages", "ImageOwnerAlias", "system", "InstanceType", name).get("Images.Image.0.ImageId") == "" {
		c.t.Errorf("no image runs on %s", name)
	}
}

// newInstances makes two instances, waits until they run, and deletes them.
func newInstances(c *cloud) {
	group := c.must("ecs", "CreateSecurityGroup", "VpcId", c.vpcID, "SecurityGroupName", c.name()).get("SecurityGroupId")
	image := c.must("ecs", "DescribeImages", "ImageOwnerAlias", "system", "InstanceType", "ecs.g7.large").get("Images.Image.0.ImageId")
	got := c.must("ecs", "RunInstances", "ImageId", image, "InstanceType", "ecs.g7.large", "VSwitchId", c.vswitchID, "SecurityGroupId", group,
		"Amount", "2", "InstanceName", c.name())
	for _, id := range []string{got.get("InstanceIdSets.InstanceIdSet.0"), got.get("InstanceIdSets.InstanceIdSet.1")} {
		c.wait("the instance runs", func() bool {
			return c.must("ecs", "DescribeInstanceStatus", "InstanceId.1", id).get("InstanceStatuses.InstanceStatus.0.Status") == "Running"
		})
		c.want(c.primary(id), "NetworkInterfaceSets.NetworkInterfaceSet.0.Status", "InUse")
		c.must("ecs", "DeleteInstance", "InstanceId", id, "Force", "true")
	}
	c.wait("nothing is in the group", func() bool {
		return c.must("ecs", "DescribeInstances", "SecurityGroupId", group).get("Instances.Instance.0.InstanceId") == ""
	})
	c.must("ecs", "DeleteSecurityGroup", "SecurityGroupId", group)
}

// resourceGroups lists the one that every account has.
func resourceGroups(c *cloud) {
	got := c.must("resourcemanager", "ListResourceGroups", "Name", "default")
	c.want(got, "TotalCount", "1", "ResourceGroups.ResourceGroup.0.Status", "OK")
}

// rateLimits looks an API up in Quota Center. The form of such a quota is inferred: only a run in the cloud can show it.
func rateLimits(c *cloud) {
	got := c.must("quotas", "ListProductQuotas", "ProductCode", "slb", "QuotaCategory", "FlowControl", "KeyWord", "CreateVServerGroup",
		"Dimensions.1.Key", "regionId", "Dimensions.1.Value", c.region)
	c.want(got, "TotalCount", "1", "Quotas.0.QuotaActionCode", "CreateVServerGroup", "Quotas.0.Period.PeriodUnit", "second")
}
