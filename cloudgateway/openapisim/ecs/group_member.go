package ecs

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func memberActions() []api.Action {
	params := []api.Param{
		api.Optional("RegionId"), api.Required("SecurityGroupId"), api.Optional("InstanceId"), api.Optional("NetworkInterfaceId"),
	}
	codes := []string{
		"InvalidSecurityGroupId.NotFound", "InvalidInstanceId.NotFound", "InvalidEniId.NotFound", "MissingParameter",
		"InvalidParam.EniIdAndInstanceId.Conflict", "IncorrectInstanceStatus", "InvalidOperation.InvalidEniState",
		"InvalidOperation.InvalidEniType",
	}
	return []api.Action{
		api.Write("JoinSecurityGroup", api.On2(findMember, joinGroup), append([]string{
			"InvalidInstanceId.AlreadyExists", "InvalidInstanceId.Mismatch", "InvalidOperation.VpcMismatch",
			"InstanceSecurityGroupLimitExceeded", mixedGroups,
		}, codes...), params...),
		api.Write("LeaveSecurityGroup", api.On2(findMember, leaveGroup), append([]string{
			"InstanceLastSecurityGroup", "InvalidSecurityGroupAssociation.NotFound",
			"InvalidOperation.AtLeastInOneGroup",
		}, codes...), params...),
	}
}

// groupsPerMember is how many security groups an instance or an interface can be in.
const groupsPerMember = 5

// member is what joins or leaves a group: an instance, together with its primary interface, or a secondary interface.
type member struct {
	vpcID    string
	groups   []*[]string // all lists to change; the first one counts
	instance bool
}

func findMember(c *api.Context) (*state.SecurityGroup, member, *api.Error) {
	g, err := groupByID(c)
	if err != nil {
		return nil, member{}, err
	}
	var m member
	switch {
	case c.Has("InstanceId") && c.Has("NetworkInterfaceId"):
		err = forbidden("InvalidParam.EniIdAndInstanceId.Conflict", "InstanceId and NetworkInterfaceId can't be given together.")
	case c.Has("InstanceId"):
		m, err = instanceMember(c.State, c.Get("InstanceId"))
	case c.Has("NetworkInterfaceId"):
		m, err = interfaceMember(c.State, c.Get("NetworkInterfaceId"))
	default:
		err = api.Missing("InstanceId")
	}
	return g, m, err
}

func instanceMember(c *state.Cloud, id string) (member, *api.Error) {
	i := c.Instances[id]
	switch {
	case i == nil:
		return member{}, instanceNotFound()
	case i.Status != "Running" && i.Status != "Stopped":
		return member{}, incorrectStatus()
	}
	m := member{vpcID: i.VpcID, groups: []*[]string{&i.SecurityGroupIDs}, instance: true}
	for _, eni := range c.Interfaces {
		if eni.InstanceID == id && eni.Type == "Primary" {
			m.groups = append(m.groups, &eni.SecurityGroupIDs)
		}
	}
	return m, nil
}

func interfaceMember(c *state.Cloud, id string) (member, *api.Error) {
	eni := c.Interfaces[id]
	switch {
	case eni == nil:
		return member{}, interfaceNotFound()
	case eni.Type == "Primary":
		return member{}, forbidden("InvalidOperation.InvalidEniType", "The operation is not permitted for primary network interfaces.")
	case eni.Status != "Available" && eni.Status != "InUse":
		return member{}, wrongInterfaceState()
	}
	return member{vpcID: eni.VpcID, groups: []*[]string{&eni.SecurityGroupIDs}}, nil
}

func joinGroup(c *api.Context, g *state.SecurityGroup, m member) (any, *api.Error) {
	switch current := *m.groups[0]; {
	case m.vpcID != g.VpcID && m.instance:
		return nil, api.BadRequest("InvalidInstanceId.Mismatch", "The instance and the security group are not in the same VPC.")
	case m.vpcID != g.VpcID:
		return nil, forbidden("InvalidOperation.VpcMismatch", "The network interface and the security group are not in the same VPC.")
	case slices.Contains(current, g.ID):
		return nil, forbidden("InvalidInstanceId.AlreadyExists", "It is in the security group already.")
	case slices.ContainsFunc(current, func(id string) bool { return mixed(c.State, id, g) }):
		return nil, api.BadRequest(mixedGroups, "It can't be in security groups of different types.")
	case len(current) >= groupsPerMember:
		return nil, api.BadRequest("InstanceSecurityGroupLimitExceeded", "It can be in %d security groups.", groupsPerMember)
	}
	for _, groups := range m.groups {
		if !slices.Contains(*groups, g.ID) {
			*groups = append(slices.Clone(*groups), g.ID)
		}
	}
	return nil, nil
}

const mixedGroups = "InvalidOperation.MultiGroupType"

// mixed reports whether a group is of another type than a second one.
func mixed(c *state.Cloud, id string, second *state.SecurityGroup) bool {
	g := c.SecurityGroups[id]
	return g != nil && groupType(g) != groupType(second)
}

func leaveGroup(c *api.Context, g *state.SecurityGroup, m member) (any, *api.Error) {
	current := *m.groups[0]
	in, last := slices.Contains(current, g.ID), len(current) == 1
	switch {
	case !in:
		return nil, api.BadRequest("InvalidSecurityGroupAssociation.NotFound",
			"The instance or network interface is not in the security group.")
	case last && m.instance:
		return nil, forbidden("InstanceLastSecurityGroup", "An instance must be in a security group.")
	case last:
		return nil, forbidden("InvalidOperation.AtLeastInOneGroup", "A network interface must be in a security group.")
	}
	for _, groups := range m.groups {
		*groups = slices.DeleteFunc(slices.Clone(*groups), func(id string) bool { return id == g.ID })
	}
	return nil, nil
}
