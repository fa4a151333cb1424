package contract

import "slices"

// securityGroup makes a group, adds a rule for each direction and removes it again.
func securityGroup(c *cloud) {
	name := c.name()
	id := c.must("ecs", "CreateSecurityGroup", "VpcId", c.vpcID, "SecurityGroupName", name, "Description", "contract").get("SecurityGroupId")
	c.cleanUp("ecs", "DeleteSecurityGroup", "SecurityGroupId", id)
	of := []string{"SecurityGroupId", id}
	c.must("ecs", "ModifySecurityGroupAttribute", append(slices.Clone(of), "SecurityGroupName", name+"-2")...)
	c.want(c.must("ecs", "DescribeSecurityGroups", of...), "TotalCount", "1",
		"SecurityGroups.SecurityGroup.0.SecurityGroupName", name+"-2", "SecurityGroups.SecurityGroup.0.VpcId", c.vpcID)

	for _, way := range [][3]string{{"ingress", "", "SourceCidrIp"}, {"egress", "Egress", "DestCidrIp"}} {
		direction, suffix, peer := way[0], way[1], way[2]
		rule := append(slices.Clone(of), "IpProtocol", "tcp", "PortRange", "30000/32767", peer, "10.0.0.0/8")
		rules := func() int {
			return c.must("ecs", "DescribeSecurityGroupAttribute", append(slices.Clone(of), "Direction", direction)...).len("Permissions.Permission")
		}
		before := rules()
		c.must("ecs", "AuthorizeSecurityGroup"+suffix, rule...)
		if n := rules(); n != before+1 {
			c.t.Errorf("%d rules of %s, want %d", n, direction, before+1)
		}
		c.must("ecs", "ModifySecurityGroup"+suffix+"Rule", append(slices.Clone(rule), "Description", "changed")...)
		c.must("ecs", "RevokeSecurityGroup"+suffix, rule...)
		if n := rules(); n != before {
			c.t.Errorf("%d rules of %s left, want %d", n, direction, before)
		}
	}
	c.must("ecs", "DeleteSecurityGroup", of...)
	c.refused("InvalidSecurityGroupId.NotFound", "ecs", "DescribeSecurityGroupAttribute", of...)
}

// rulePrefixList makes a prefix list for rules, changes it and removes it.
func rulePrefixList(c *cloud) {
	id := c.must("ecs", "CreatePrefixList", "PrefixListName", c.name(), "AddressFamily", "IPv4", "MaxEntries", "2", "Entry.1.Cidr",
		"192.0.2.0/24").get("PrefixListId")
	c.cleanUp("ecs", "DeletePrefixList", "PrefixListId", id)
	c.must("ecs", "ModifyPrefixList", "PrefixListId", id, "AddEntry.1.Cidr", "198.51.100.0/24", "AddEntry.1.Description", "contract")
	c.want(c.must("ecs", "DescribePrefixListAttributes", "PrefixListId", id), "MaxEntries", "2", "AddressFamily", "IPv4")
	c.want(c.must("ecs", "DescribePrefixLists", "PrefixListId.1", id), "PrefixLists.PrefixList.0.AssociationCount", "0")
	c.must("ecs", "DescribePrefixListAssociations", "PrefixListId", id)
	c.must("ecs", "DeletePrefixList", "PrefixListId", id)
	c.refused("InvalidPrefixListId.NotFound", "ecs", "DescribePrefixListAttributes", "PrefixListId", id)
}

// memberOfGroup puts an instance into a group, which can't be deleted as long as it is in it.
func memberOfGroup(c *cloud) {
	id := c.must("ecs", "CreateSecurityGroup", "VpcId", c.vpcID, "SecurityGroupName", c.name()).get("SecurityGroupId")
	c.cleanUp("ecs", "DeleteSecurityGroup", "SecurityGroupId", id)
	of := []string{"SecurityGroupId", id, "InstanceId", c.instances[0]}
	c.must("ecs", "JoinSecurityGroup", of...)
	c.refused("DependencyViolation", "ecs", "DeleteSecurityGroup", "SecurityGroupId", id)
	// An instance needs at least one group.
	other := c.must("ecs", "CreateSecurityGroup", "VpcId", c.vpcID, "SecurityGroupName", c.name()).get("SecurityGroupId")
	c.must("ecs", "JoinSecurityGroup", "SecurityGroupId", other, "InstanceId", c.instances[0])
	c.must("ecs", "LeaveSecurityGroup", of...)
	c.must("ecs", "DeleteSecurityGroup", "SecurityGroupId", id)
}
