package instance

import (
	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of the service's requests.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *ecsv1.GetInstanceRequest) { c.ID("instance_id", r.GetInstanceId()) }),
		check.Of(func(c *check.Request, r *ecsv1.BatchGetInstancesRequest) { c.IDs("instance_ids", r.GetInstanceIds()) }),
		check.Of(func(c *check.Request, r *ecsv1.BatchGetInstanceStatusesRequest) {
			c.IDs("instance_ids", r.GetInstanceIds())
		}),
		check.Of(checkList),
		check.Of(checkUpdate),
		check.Of(func(c *check.Request, r *ecsv1.StartInstanceRequest) { c.ID("instance_id", r.GetInstanceId()) }),
		check.Of(func(c *check.Request, r *ecsv1.StopInstanceRequest) {
			c.ID("instance_id", r.GetInstanceId())
			check.Enum(c, "stopped_mode", r.GetStoppedMode(), ecsv1.StoppedMode_name, false)
		}),
		check.Of(func(c *check.Request, r *ecsv1.DeleteInstanceRequest) { c.ID("instance_id", r.GetInstanceId()) }),
	}
}

func checkList(c *check.Request, r *ecsv1.ListInstancesRequest) {
	given := c.Filters(map[string]string{
		"vpc_id": r.GetVpcId(), "zone_id": r.GetZoneId(), "vswitch_id": r.GetVswitchId(), "security_group_id": r.GetSecurityGroupId(),
		"resource_group_id": r.GetResourceGroupId(), "instance_type": r.GetInstanceType(),
	})
	c.Name(r.GetName(), 0)
	c.OneOf("status", r.GetStatus(), "Pending", "Starting", "Running", "Stopping", "Stopped")
	check.Enum(c, "charge_type", r.GetChargeType(), commonv1.ChargeType_name, false)
	c.IDs("instance_ids", r.GetInstanceIds())
	c.Addresses("private_ips", r.GetPrivateIps())
	c.Addresses("public_ips", r.GetPublicIps())
	c.Addresses("eips", r.GetEips())
	lists := 0
	for _, list := range [][]string{r.GetInstanceIds(), r.GetPrivateIps(), r.GetPublicIps(), r.GetEips()} {
		if len(list) > 0 {
			lists++
		}
	}
	switch {
	case lists > 1:
		c.Addf("instance_ids", "of instance_ids, private_ips, public_ips and eips only one is allowed")
	case len(r.GetPrivateIps()) > 0 && r.GetVpcId() == "":
		c.Addf("vpc_id", "is required with private_ips")
	case !given && lists == 0 && r.GetName() == "" && r.GetStatus() == "" && r.GetChargeType() == commonv1.ChargeType_CHARGE_TYPE_UNSPECIFIED && len(r.GetTags()) == 0:
		c.Addf("vpc_id", "is required, or another filter")
	}
}

func checkUpdate(c *check.Request, r *ecsv1.UpdateInstanceRequest) {
	c.ID("instance_id", r.GetInstanceId())
	if r.Name != nil {
		c.Name(r.GetName(), 2)
	}
	if r.Description != nil {
		c.Description(r.GetDescription(), 2)
	}
	if r.Name == nil && r.Description == nil && r.DeletionProtection == nil && len(r.GetSetTags())+len(r.GetRemoveTagKeys()) == 0 {
		c.Addf("name", "the request changes nothing; at least one attribute is required")
	}
}
