package ecs

import (
	"context"
	"strconv"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// UpdateInstance changes what is present in the request.
func (c *Client) UpdateInstance(ctx context.Context, r *ecsv1.UpdateInstanceRequest) error {
	defer c.forgetInstance(r.GetInstanceId(), false)
	params := cloud.Params{}.With("InstanceName", r.GetName()).With("Description", r.GetDescription())
	boolean(params, "DeletionProtection", r.DeletionProtection)
	calls := append(attributes("ModifyInstanceAttribute", "InstanceId", r.GetInstanceId(), params),
		cloud.TagCalls(openapi.ECS, "instance", r.GetInstanceId(), r.GetSetTags(), r.GetRemoveTagKeys())...)
	return cloud.As(rpcerr.InstanceNotFound, c.update(ctx, r.GetInstanceId(), calls))
}

// UpdateNetworkInterface changes what is present in the request.
func (c *Client) UpdateNetworkInterface(ctx context.Context, r *ecsv1.UpdateNetworkInterfaceRequest) error {
	defer func() {
		c.interfaces.Cache.Invalidate(r.GetNetworkInterfaceId())
		c.addresses.Cache.Clear()
		c.interfaceLists.Clear()
	}()
	params := cloud.Params{}.With("NetworkInterfaceName", r.GetName()).With("Description", r.GetDescription()).
		List("SecurityGroupId", r.GetSecurityGroupIds())
	boolean(params, "SourceDestCheck", r.SourceDestCheck)
	boolean(params, "DeleteOnRelease", r.DeleteOnRelease)
	calls := append(attributes("ModifyNetworkInterfaceAttribute", "NetworkInterfaceId", r.GetNetworkInterfaceId(), params),
		cloud.TagCalls(openapi.ECS, "eni", r.GetNetworkInterfaceId(), r.GetSetTags(), r.GetRemoveTagKeys())...)
	return cloud.As(rpcerr.NetworkInterfaceNotFound, c.update(ctx, r.GetNetworkInterfaceId(), calls))
}

func boolean(p cloud.Params, name string, value *bool) {
	if value != nil {
		p[name] = strconv.FormatBool(*value)
	}
}

// attributes is the call that sets attributes, if there are any.
func attributes(action, key, id string, params cloud.Params) []openapi.Call {
	if len(params) == 0 {
		return nil
	}
	return []openapi.Call{cloud.Write(openapi.ECS, action, params.With(key, id))}
}

// update makes calls about one resource. Each says how something shall be, so it may be sent again.
func (c *Client) update(ctx context.Context, id string, calls []openapi.Call) error {
	unlock, err := cloud.Lock(ctx, c.locks, id)
	if err != nil {
		return err
	}
	defer unlock()
	for _, call := range calls {
		if err := cloud.Set(ctx, c.caller, call, nil); err != nil {
			return err
		}
	}
	return nil
}
