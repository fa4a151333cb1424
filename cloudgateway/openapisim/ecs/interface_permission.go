package ecs

import (
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func permissionActions() []api.Action {
	id := "NetworkInterfacePermissionId"
	missing := "InvalidNetworkInterfacePermissionId.NotFound"
	return []api.Action{
		api.Write("CreateNetworkInterfacePermission", api.On(interfaceByID, createPermission),
			api.Words("InvalidEniId.NotFound InvalidAccountId.Malformed NetworkInterfacePermission.AlreadyExist"), region(),
			api.Required("NetworkInterfaceId"), api.Required("AccountId"),
			api.Param{Name: "Permission", Required: true, Enum: []string{"InstanceAttach"}}),
		api.Read("DescribeNetworkInterfacePermissions", describePermissions, nil, append(listing.Params(maxResults), region(),
			api.Optional("NetworkInterfaceId"), api.Param{Name: id, Kind: api.Strings, Max: maxResults})...),
		api.Write("DeleteNetworkInterfacePermission", deletePermission, api.Words(missing), region(), api.Required(id), api.Flag("Force")),
	}
}

func createPermission(c *api.Context, eni *state.NetworkInterface) (any, *api.Error) {
	if _, err := strconv.ParseInt(c.Get("AccountId"), 10, 64); err != nil {
		return nil, api.BadRequest("InvalidAccountId.Malformed", "The specified AccountId is not valid.")
	}
	same := func(p *state.InterfacePermission) bool {
		return p.InterfaceID == eni.ID && p.AccountID == c.Get("AccountId")
	}
	if len(listing.Find(c.State.InterfacePermissions, same)) > 0 {
		return nil, api.BadRequest("NetworkInterfacePermission.AlreadyExist", "The account has the permission already.")
	}
	p := &state.InterfacePermission{
		ID: c.NewID("eni-perm-bp1"), InterfaceID: eni.ID, AccountID: c.Get("AccountId"), Permission: c.Get("Permission"),
	}
	c.State.InterfacePermissions[p.ID] = p
	return api.Object{"NetworkInterfacePermission", newPermissionView(p)}, nil
}

func newPermissionView(p *state.InterfacePermission) api.Object {
	account, _ := strconv.ParseInt(p.AccountID, 10, 64)
	return api.Object{
		"NetworkInterfacePermissionId", p.ID, "NetworkInterfaceId", p.InterfaceID, "AccountId", account, "Permission", p.Permission,
		"PermissionState", "Granted", "ServiceName", "",
	}
}

func describePermissions(c *api.Context) (any, *api.Error) {
	matching := listing.Find(c.State.InterfacePermissions, func(p *state.InterfacePermission) bool {
		return listing.Match(c.Get("NetworkInterfaceId"), p.InterfaceID) && listing.Among(c.List("NetworkInterfacePermissionId"), p.ID)
	})
	return listing.Answer(c, matching, "NetworkInterfacePermissions", "NetworkInterfacePermission", newPermissionView)
}

func deletePermission(c *api.Context) (any, *api.Error) {
	id := c.Get("NetworkInterfacePermissionId")
	if c.State.InterfacePermissions[id] == nil {
		return nil, api.NotFound("InvalidNetworkInterfacePermissionId.NotFound", "The specified NetworkInterfacePermissionId does not exist.")
	}
	delete(c.State.InterfacePermissions, id)
	return nil, nil
}
