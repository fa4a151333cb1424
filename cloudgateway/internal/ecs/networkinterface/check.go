package networkinterface

import (
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// mostGroups bounds the security groups of an interface (ECS API reference); the account's quota is less.
const mostGroups = 16

// Checks are the rules of the service's requests.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *ecsv1.GetNetworkInterfaceRequest) {
			c.ID("network_interface_id", r.GetNetworkInterfaceId())
		}),
		check.Of(checkBatchGet),
		check.Of(checkList),
		check.Of(checkUpdate),
	}
}

func checkBatchGet(c *check.Request, r *ecsv1.BatchGetNetworkInterfacesRequest) {
	c.IDs("network_interface_ids", r.GetNetworkInterfaceIds())
	c.Addresses("ip_addresses", r.GetIpAddresses())
	c.OptionalID("vpc_id", r.GetVpcId())
	switch {
	case len(r.GetNetworkInterfaceIds()) > 0 && len(r.GetIpAddresses()) > 0:
		c.Addf("ip_addresses", "can't be combined with network_interface_ids")
	case len(r.GetIpAddresses()) > 0 && r.GetVpcId() == "":
		c.Addf("vpc_id", "is required with ip_addresses")
	}
}

func checkList(c *check.Request, r *ecsv1.ListNetworkInterfacesRequest) {
	given := c.Filters(map[string]string{
		"instance_id": r.GetInstanceId(), "vpc_id": r.GetVpcId(), "vswitch_id": r.GetVswitchId(),
		"security_group_id": r.GetSecurityGroupId(), "resource_group_id": r.GetResourceGroupId(),
	})
	c.Text("status", r.GetStatus(), 0, 32)
	c.Name(r.GetName(), 0)
	c.OneOf("type", r.GetType(), "Primary", "Secondary")
	if !given && r.GetStatus() == "" && r.GetName() == "" && r.GetType() == "" && len(r.GetTags()) == 0 {
		c.Addf("vpc_id", "is required, or another filter")
	}
}

func checkUpdate(c *check.Request, r *ecsv1.UpdateNetworkInterfaceRequest) {
	c.ID("network_interface_id", r.GetNetworkInterfaceId())
	if r.Name != nil {
		c.Name(r.GetName(), 2)
	}
	if r.Description != nil {
		c.Description(r.GetDescription(), 2)
	}
	if c.Items("security_group_ids", len(r.GetSecurityGroupIds()), mostGroups) {
		c.IDs("security_group_ids", r.GetSecurityGroupIds())
	}
	if r.SourceDestCheck == nil && r.Name == nil && r.Description == nil && len(r.GetSecurityGroupIds()) == 0 &&
		r.DeleteOnRelease == nil && len(r.GetSetTags())+len(r.GetRemoveTagKeys()) == 0 {
		c.Addf("source_dest_check", "the request changes nothing; at least one attribute is required")
	}
}
