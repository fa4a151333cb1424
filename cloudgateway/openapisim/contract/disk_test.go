package contract

import "strings"

// lifeOfVolume makes the calls of the CSI driver, in its order: it makes a volume for a claim, attaches it to a node, grows it, takes a
// snapshot, makes a volume of that, and gives all back.
func lifeOfVolume(c *cloud) {
	node := c.instances[0]
	zone := c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", c.vswitchID).get("ZoneId")
	id := c.must("ecs", "CreateDisk", "ZoneId", zone, "DiskCategory", "cloud_essd", "PerformanceLevel", "PL0", "Size", "20",
		"DiskName", c.name(), "ClientToken", c.name()).get("DiskId")
	becomes := func(want string) {
		c.t.Helper()
		c.wait("the disk is "+want, func() bool {
			return c.must("ecs", "DescribeDisks", "DiskIds", `["`+id+`"]`).get("Disks.Disk.0.Status") == want
		})
	}
	becomes("Available")
	c.must("ecs", "AttachDisk", "DiskId", id, "InstanceId", node)
	becomes("In_use")
	c.want(c.must("ecs", "DescribeDisks", "InstanceId", node, "DiskType", "data"), "Disks.Disk.0.SerialNumber", strings.TrimPrefix(id, "d-"))
	c.refused("IncorrectDiskStatus", "ecs", "DeleteDisk", "DiskId", id)
	c.must("ecs", "ResizeDisk", "DiskId", id, "NewSize", "30", "Type", "online")
	c.must("ecs", "ModifyDiskAttribute", "DiskId", id, "Description", "of a claim")
	c.must("ecs", "ModifyDiskSpec", "DiskId", id, "PerformanceLevel", "PL1")
	c.want(c.must("ecs", "DescribeDisks", "DiskIds", `["`+id+`"]`), "Disks.Disk.0.Size", "30", "Disks.Disk.0.PerformanceLevel", "PL1")

	snapshot := c.must("ecs", "CreateSnapshot", "DiskId", id, "SnapshotName", c.name()).get("SnapshotId")
	c.wait("the snapshot is accomplished", func() bool {
		return c.must("ecs", "DescribeSnapshots", "SnapshotIds", `["`+snapshot+`"]`).get("Snapshots.Snapshot.0.Status") == "accomplished"
	})
	restored := c.must("ecs", "CreateDisk", "ZoneId", zone, "SnapshotId", snapshot).get("DiskId")
	c.wait("the restored disk is there", func() bool {
		return c.must("ecs", "DescribeDisks", "DiskIds", `["`+restored+`"]`).get("Disks.Disk.0.Status") == "Available"
	})
	c.must("ecs", "DeleteDisk", "DiskId", restored)
	c.must("ecs", "DeleteSnapshot", "SnapshotId", snapshot)
	c.must("ecs", "DetachDisk", "DiskId", id, "InstanceId", node)
	becomes("Available")
	c.must("ecs", "DeleteDisk", "DiskId", id)
	becomes("")
	c.refused("InvalidDiskId.NotFound", "ecs", "DeleteDisk", "DiskId", id)
}

// changedInstance makes the calls of Terraform's resource of an instance: it makes one, reads all that it reads, changes all that it
// changes, and deletes it.
func changedInstance(c *cloud) {
	group := c.must("ecs", "CreateSecurityGroup", "VpcId", c.vpcID, "SecurityGroupName", c.name()).get("SecurityGroupId")
	c.must("ecs", "ModifySecurityGroupPolicy", "SecurityGroupId", group, "InnerAccessPolicy", "Drop")
	set := c.must("ecs", "CreateDeploymentSet", "DeploymentSetName", c.name()).get("DeploymentSetId")
	image := c.must("ecs", "DescribeImages", "ImageFamily", "acs:ubuntu_24_04_x64").get("Images.Image.0.ImageId")
	kind := c.must("ecs", "DescribeImageSupportInstanceTypes", "ImageId", image).get("InstanceTypes.InstanceType.0.InstanceTypeId")
	id := c.must("ecs", "RunInstances", "ImageId", image, "InstanceType", kind, "VSwitchId", c.vswitchID, "SecurityGroupIds.1", group,
		"InstanceName", c.name(), "UserData", "IyE=").get("InstanceIdSets.InstanceIdSet.0")
	becomes := func(want string) {
		c.t.Helper()
		c.wait("the instance is "+want, func() bool {
			return c.must("ecs", "DescribeInstances", "InstanceIds", `["`+id+`"]`).get("Instances.Instance.0.Status") == want
		})
	}
	becomes("Running")
	c.want(c.must("ecs", "DescribeDisks", "InstanceId", id, "DiskType", "system"), "Disks.Disk.0.Status", "In_use")
	c.want(c.must("ecs", "DescribeUserData", "InstanceId", id), "UserData", "IyE=")
	c.must("ecs", "DescribeInstanceRamRole", "InstanceIds", `["`+id+`"]`)
	c.must("ecs", "DescribeInstanceMaintenanceAttributes", "InstanceId.1", id)
	c.want(c.must("ecs", "DescribeInstanceAttribute", "InstanceId", id), "InstanceId", id)
	c.must("ecs", "DescribeDedicatedHosts")
	c.must("ecs", "DescribeElasticityAssurances")

	c.must("ecs", "RebootInstance", "InstanceId", id)
	becomes("Running")
	c.must("ecs", "ModifyInstanceNetworkSpec", "InstanceId", id, "InternetMaxBandwidthOut", "5")
	c.must("ecs", "AllocatePublicIpAddress", "InstanceId", id)
	c.must("ecs", "ModifyInstanceMetadataOptions", "InstanceId", id, "HttpEndpoint", "enabled", "HttpTokens", "required")
	c.must("ecs", "ModifyInstanceMaintenanceAttributes", "InstanceId.1", id, "ActionOnMaintenance", "Stop")
	c.must("ecs", "ModifyInstanceDeployment", "InstanceId", id, "DeploymentSetId", set)
	c.want(c.must("ecs", "DescribeDeploymentSets"), "DeploymentSets.DeploymentSet.0.InstanceIds.InstanceId.0", id)
	c.must("ecs", "ModifyDeploymentSetAttribute", "DeploymentSetId", set, "Description", "text")
	c.must("ecs", "ModifyInstanceAutoReleaseTime", "InstanceId", id, "AutoReleaseTime", "")
	c.must("ecs", "StopInstance", "InstanceId", id)
	becomes("Stopped")
	c.must("ecs", "ModifyInstanceSpec", "InstanceId", id, "InstanceType", "ecs.g7.large")
	c.must("ecs", "ModifyInstanceVpcAttribute", "InstanceId", id, "VSwitchId", c.vswitchID)
	c.must("ecs", "ReplaceSystemDisk", "InstanceId", id, "ImageId", image, "SystemDisk.Size", "60")
	c.must("ecs", "ModifyInstanceChargeType", "InstanceIds", `["`+id+`"]`, "InstanceChargeType", "PrePaid", "Period", "1")
	c.must("ecs", "ModifyPrepayInstanceSpec", "InstanceId", id, "InstanceType", "ecs.g7.xlarge")
	c.must("ecs", "ModifyInstanceAutoRenewAttribute", "InstanceId", id, "RenewalStatus", "NotRenewal")
	c.want(c.must("ecs", "DescribeInstanceAutoRenewAttribute", "InstanceId", id),
		"InstanceRenewAttributes.InstanceRenewAttribute.0.RenewalStatus", "NotRenewal")
	c.must("ecs", "ModifyInstanceChargeType", "InstanceIds", `["`+id+`"]`, "InstanceChargeType", "PostPaid")

	c.must("ecs", "DeleteInstance", "InstanceId", id, "Force", "true")
	becomes("")
	c.want(c.must("ecs", "DescribeDisks", "InstanceId", id), "TotalCount", "0")
	c.must("ecs", "DeleteDeploymentSet", "DeploymentSetId", set)
	c.must("ecs", "DeleteSecurityGroup", "SecurityGroupId", group)
}

func keyPairs(c *cloud) {
	name := c.name()
	c.must("ecs", "CreateKeyPair", "KeyPairName", name)
	c.must("ecs", "ImportKeyPair", "KeyPairName", name+"-2", "PublicKeyBody", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC9")
	c.want(c.must("ecs", "DescribeKeyPairs", "KeyPairName", name), "KeyPairs.KeyPair.0.KeyPairName", name)
	c.must("ecs", "AttachKeyPair", "KeyPairName", name, "InstanceIds", `["`+c.instances[0]+`"]`)
	c.refused("InvalidParameter.KeypairAlreadyAttachedInstance", "ecs", "DeleteKeyPairs", "KeyPairNames", `["`+name+`"]`)
	c.must("ecs", "DetachKeyPair", "KeyPairName", name, "InstanceIds", `["`+c.instances[0]+`"]`)
	c.must("ecs", "DeleteKeyPairs", "KeyPairNames", `["`+name+`","`+name+`-2"]`)
}

func movedThings(c *cloud) {
	c.must("ecs", "JoinResourceGroup", "ResourceType", "instance", "ResourceId", c.instances[0], "ResourceGroupId", "rg-contract")
	c.want(c.must("ecs", "DescribeInstances", "InstanceIds", `["`+c.instances[0]+`"]`), "Instances.Instance.0.ResourceGroupId", "rg-contract")
	c.must("ecs", "JoinResourceGroup", "ResourceType", "instance", "ResourceId", c.instances[0], "ResourceGroupId", "rg-acfmdefault")
}
