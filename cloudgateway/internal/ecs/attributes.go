package ecs

import (
	"context"
	"strconv"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// UpdateInstance changes what is present in the request.
func (c *Client) UpdateInstance(ctx context.Context, r *ecsv1.UpdateInstanceRequest) error {
	defer c.forgetInstance(r.GetInstanceId(), false)
	params := cloud.Params{}.With("InstanceName", r.GetName()).With("Description", r.GetDescription())
	boolean(params, "DeletionProtection", r.DeletionProtection)
	calls := append(attributes("ModifyInstanceAttribute", "InstanceId", r.GetInstanceId(), params),
		tagging("instance", r.GetInstanceId(), r.GetSetTags(), r.GetRemoveTagKeys())...)
	return c.update(ctx, r.GetInstanceId(), calls)
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
		tagging("eni", r.GetNetworkInterfaceId(), r.GetSetTags(), r.GetRemoveTagKeys())...)
	return c.update(ctx, r.GetNetworkInterfaceId(), calls)
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

// tagging are the calls that change the tags of a resource.
func tagging(kind, id string, set []*commonv1.Tag, remove []string) []openapi.Call {
	var calls []openapi.Call
	resource := func() cloud.Params { return cloud.Params{"ResourceType": kind, "ResourceId.1": id} }
	if len(set) > 0 {
		calls = append(calls, cloud.Write(openapi.ECS, "TagResources", cloud.Tags(resource(), set)))
	}
	if len(remove) > 0 {
		calls = append(calls, cloud.Write(openapi.ECS, "UntagResources", resource().List("TagKey", remove)))
	}
	return calls
}

// update makes calls about one resource. Each says how something shall be, so it may be sent again.
func (c *Client) update(ctx context.Context, id string, calls []openapi.Call) error {
	unlock, err := cloud.Lock(ctx, c.locks, id)
	if err != nil {
		return err
	}
	defer unlock()
	for _, call := range calls {
		call.Idempotent = true
		err := cloud.Retry(ctx, cloud.Busy, func(ctx context.Context) error {
			_, err := c.caller.Do(ctx, call, nil)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
