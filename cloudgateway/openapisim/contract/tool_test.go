package contract

import "strings"

// manyInstances does to two instances at once what others do to one, as scripts and Karpenter do.
func manyInstances(c *cloud) {
	group := c.must("ecs", "CreateSecurityGroup", "VpcId", c.vpcID, "SecurityGroupName", c.name()).get("SecurityGroupId")
	name := c.name()
	template := c.must("ecs", "CreateLaunchTemplate", "LaunchTemplateName", name, "ImageId", "aliyun_3_x64_20G_alibase_20260101.vhd",
		"InstanceType", "ecs.g7.large", "SecurityGroupIds.1", group, "TemplateTag.1.Key", "contract").get("LaunchTemplateId")
	c.want(c.must("ecs", "CreateLaunchTemplateVersion", "LaunchTemplateId", template, "ImageId", "none"), "LaunchTemplateVersionNumber", "2")
	c.want(c.must("ecs", "DescribeLaunchTemplates", "TemplateTag.1.Key", "contract"),
		"LaunchTemplateSets.LaunchTemplateSet.0.LatestVersionNumber", "2", "LaunchTemplateSets.LaunchTemplateSet.0.LaunchTemplateName", name)
	c.want(c.must("ecs", "DescribeLaunchTemplateVersions", "LaunchTemplateId", template, "DefaultVersion", "true"),
		"LaunchTemplateVersionSets.LaunchTemplateVersionSet.0.LaunchTemplateData.InstanceType", "ecs.g7.large")
	c.refused("InvalidImageId.NotFound", "ecs", "RunInstances", "LaunchTemplateId", template, "LaunchTemplateVersion", "2",
		"VSwitchId", c.vswitchID, "InstanceType", "ecs.g7.large", "SecurityGroupId", group)
	made := c.must("ecs", "RunInstances", "LaunchTemplateId", template, "VSwitchId", c.vswitchID, "Amount", "2")
	ids := []string{made.get("InstanceIdSets.InstanceIdSet.0"), made.get("InstanceIdSets.InstanceIdSet.1")}
	both := []string{"InstanceId.1", ids[0], "InstanceId.2", ids[1]}
	become := func(status string) {
		c.t.Helper()
		c.wait("both are "+status, func() bool {
			got := c.must("ecs", "DescribeInstances", "SecurityGroupId", group)
			return strings.Join(got.texts("Instances.Instance", "Status"), " ") == status+" "+status
		})
	}
	become("Running")
	c.want(c.must("ecs", "StopInstances", both...), "InstanceResponses.InstanceResponse.1.PreviousStatus", "Running")
	become("Stopped")
	c.must("ecs", "StartInstances", both...)
	become("Running")
	c.must("ecs", "RebootInstances", both...)
	become("Running")
	list := `["` + ids[0] + `"]`
	c.want(c.must("ecs", "AttachInstanceRamRole", "InstanceIds", list, "RamRoleName", "contract"), "FailCount", "0")
	c.want(c.must("ecs", "DetachInstanceRamRole", "InstanceIds", list, "RamRoleName", "contract"), "FailCount", "0")
	c.want(c.must("ecs", "DescribeInstanceAttachmentAttributes", "InstanceIds", list), "TotalCount", "1")
	of := []string{"ResourceType", "instance", "ResourceId", ids[0]}
	c.must("ecs", "AddTags", append(of, "Tag.1.Key", "contract", "Tag.1.Value", "v")...)
	c.want(c.must("ecs", "DescribeTags", of...), "Tags.Tag.0.TagKey", "contract")
	c.must("ecs", "RemoveTags", append(of, "Tag.1.Key", "contract")...)
	c.must("ecs", "DeleteInstances", append(both, "Force", "true")...)
	c.wait("nothing is in the group", func() bool {
		return c.must("ecs", "DescribeInstances", "SecurityGroupId", group).get("Instances.Instance.0.InstanceId") == ""
	})
	c.want(c.must("ecs", "DeleteLaunchTemplate", "LaunchTemplateId", template), "LaunchTemplateVersionNumbers.versionNumbers.1", "2")
	c.must("ecs", "DeleteSecurityGroup", "SecurityGroupId", group)
}

// provisionedNode makes an instance as Karpenter of CloudPilot does.
func provisionedNode(c *cloud) {
	group := c.must("ecs", "CreateSecurityGroup", "VpcId", c.vpcID, "SecurityGroupName", c.name()).get("SecurityGroupId")
	got := c.must("ecs", "CreateAutoProvisioningGroup", "TotalTargetCapacity", "1", "AutoProvisioningGroupType", "instant",
		"PayAsYouGoTargetCapacity", "1", "SpotTargetCapacity", "0", "PayAsYouGoAllocationStrategy", "lowest-price",
		"LaunchConfiguration.ImageId", "aliyun_3_x64_20G_alibase_20260101.vhd", "LaunchConfiguration.SecurityGroupId", group,
		"LaunchTemplateConfig.1.InstanceType", "ecs.g7.large", "LaunchTemplateConfig.1.VSwitchId", c.vswitchID)
	c.want(got, "LaunchResults.LaunchResult.0.Amount", "1", "LaunchResults.LaunchResult.0.InstanceType", "ecs.g7.large")
	id := got.get("LaunchResults.LaunchResult.0.InstanceIds.InstanceId.0")
	c.wait("the node runs", func() bool {
		return c.must("ecs", "DescribeInstances", "InstanceIds", `["`+id+`"]`).get("Instances.Instance.0.Status") == "Running"
	})
	c.must("ecs", "DeleteInstance", "InstanceId", id, "Force", "true")
	c.wait("the node is gone", func() bool {
		return c.must("ecs", "DescribeInstances", "SecurityGroupId", group).get("Instances.Instance.0.InstanceId") == ""
	})
	c.must("ecs", "DeleteSecurityGroup", "SecurityGroupId", group)
}

// instancePrices reads what Karpenter chooses by.
func instancePrices(c *cloud) {
	if c.must("ecs", "DescribePrice", "ResourceType", "instance", "InstanceType", "ecs.g7.large").get("PriceInfo.Price.TradePrice") == "" {
		c.t.Error("no price")
	}
	c.want(c.must("ecs", "DescribeSpotPriceHistory", "InstanceType", "ecs.g7.large", "NetworkType", "vpc"), "Currency", "CNY",
		"SpotPrices.SpotPriceType.0.InstanceType", "ecs.g7.large")
	c.must("ecs", "DescribeCapacityReservations")
}

// groupOfSnapshots takes the snapshots of the disks of an instance together, and follows a task to its end.
func groupOfSnapshots(c *cloud) {
	id := c.must("ecs", "CreateSnapshotGroup", "InstanceId", c.instances[0], "Name", c.name()).get("SnapshotGroupId")
	c.wait("the snapshots are accomplished", func() bool {
		return c.must("ecs", "DescribeSnapshotGroups", "SnapshotGroupId.1", id).get("SnapshotGroups.SnapshotGroup.0.Status") == "accomplished"
	})
	c.want(c.must("ecs", "DeleteSnapshotGroup", "SnapshotGroupId", id), "OperationProgressSet.OperationProgress.0.OperationStatus", "Success")
	disk := c.must("ecs", "DescribeDisks", "InstanceId", c.instances[0], "DiskType", "system").get("Disks.Disk.0.DiskId")
	task := c.must("ecs", "ModifyDiskSpec", "DiskId", disk, "PerformanceLevel", "PL0").get("TaskId")
	c.wait("the task is finished", func() bool {
		return c.must("ecs", "DescribeTasks", "TaskIds", task).get("TaskSet.Task.0.TaskStatus") == "Finished"
	})
	c.want(c.must("ecs", "DescribeTaskAttribute", "TaskId", task), "TaskProcess", "100%")
}

// lentInterface gives another account the right to attach a network interface.
func lentInterface(c *cloud) {
	group := c.must("ecs", "CreateSecurityGroup", "VpcId", c.vpcID, "SecurityGroupName", c.name()).get("SecurityGroupId")
	eni := c.must("ecs", "CreateNetworkInterface", "VSwitchId", c.vswitchID, "SecurityGroupId", group).get("NetworkInterfaceId")
	c.status("Available", "NetworkInterfaceSets.NetworkInterfaceSet.0.Status", "ecs", "DescribeNetworkInterfaces", "NetworkInterfaceId.1", eni)
	of := []string{"NetworkInterfaceId", eni}
	id := c.must("ecs", "CreateNetworkInterfacePermission", append(of, "AccountId", "1000000000000002", "Permission", "InstanceAttach")...).
		get("NetworkInterfacePermission.NetworkInterfacePermissionId")
	c.want(c.must("ecs", "DescribeNetworkInterfacePermissions", of...), "TotalCount", "1")
	c.must("ecs", "DeleteNetworkInterfacePermission", "NetworkInterfacePermissionId", id, "Force", "true")
	c.must("ecs", "DeleteNetworkInterface", of...)
	c.wait("the interface is gone", func() bool {
		got := c.must("ecs", "DescribeNetworkInterfaces", "NetworkInterfaceId.1", eni)
		return got.get("NetworkInterfaceSets.NetworkInterfaceSet.0.Status") == ""
	})
	c.must("ecs", "DeleteSecurityGroup", "SecurityGroupId", group)
}
