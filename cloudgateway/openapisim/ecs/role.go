package ecs

import (
	"encoding/json"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// roleActions give instances roles, and say to what pools of capacity they belong: none.
func roleActions() []api.Action {
	ids := api.Param{Name: "InstanceIds", Kind: api.JSON, Required: true}
	codes := api.Words("InvalidInstanceId.NotFound InvalidParameter")
	attach := api.Write("AttachInstanceRamRole", api.On(instancesByIDs, attachRole), codes, region(), ids, api.Required("RamRoleName"))
	attach.ItemCodes = api.Words("InvalidRamRole.AlreadyAttached")
	detach := api.Write("DetachInstanceRamRole", api.On(instancesByIDs, detachRole), codes, region(), ids, api.Optional("RamRoleName"))
	detach.ItemCodes = api.Words("InvalidInstance.UnAttached")
	return []api.Action{
		attach, detach,
		api.Read("DescribeInstanceAttachmentAttributes", describeAttachments, api.Words("InvalidParameter"),
			append(listing.Params(maxResults), region(), ids)...),
	}
}

// attachRole gives a role to instances that have none or the same. What came of it is said for each.
func attachRole(c *api.Context, instances []*state.Instance) (any, *api.Error) {
	role := c.Get("RamRoleName")
	return roleResults(c, "AttachInstanceRamRoleResult", instances, func(i *state.Instance) *api.Error {
		if had := i.Attributes["RamRoleName"]; had != "" && had != role {
			return api.BadRequest("InvalidRamRole.AlreadyAttached", "The instance has the role %s.", had)
		}
		setAttribute(i, "RamRoleName", role)
		return nil
	})
}

func detachRole(c *api.Context, instances []*state.Instance) (any, *api.Error) {
	return roleResults(c, "DetachInstanceRamRoleResult", instances, func(i *state.Instance) *api.Error {
		if had := i.Attributes["RamRoleName"]; had == "" || c.Has("RamRoleName") && c.Get("RamRoleName") != had {
			return api.BadRequest("InvalidInstance.UnAttached", "The instance does not have the role.")
		}
		setAttribute(i, "RamRoleName", "")
		return nil
	})
}

// roleResults changes instances and answers with what came of it for each.
func roleResults(
	c *api.Context, member string, instances []*state.Instance, change func(*state.Instance) *api.Error,
) (any, *api.Error) {
	failed := 0
	results := api.Objects(instances, func(i *state.Instance) api.Object {
		code, message := "200", "success"
		err := change(i)
		if err != nil {
			code, message = err.Code, err.Message
			failed++
		}
		return api.Object{"InstanceId", i.ID, "Success", err == nil, "Code", code, "Message", message}
	})
	return api.Object{
		"RamRoleName", c.Get("RamRoleName"), "TotalCount", len(instances), "FailCount", failed, member + "s", api.Object{member, results},
	}, nil
}

// describeAttachments leaves unknown instances out, as DescribeInstances does.
func describeAttachments(c *api.Context) (any, *api.Error) {
	var ids []string
	if json.Unmarshal([]byte(c.Get("InstanceIds")), &ids) != nil || len(ids) > c.Settings.IDsPerCall {
		return nil, api.Invalid("InstanceIds")
	}
	matching := listing.Find(c.State.Instances, func(i *state.Instance) bool { return listing.Among(ids, i.ID) })
	return listing.Answer(c, matching, "Instances", "Instance", func(i *state.Instance) api.Object {
		return api.Object{"InstanceId", i.ID, "PrivatePoolOptionsMatchCriteria", "", "PrivatePoolOptionsId", ""}
	})
}
