package slb

import (
	"context"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// tagUpdates are the calls that change the tags of a resource. The kind is one of the cloud's words: instance, listener, vservergroup.
func tagUpdates(kind, id string, set []*commonv1.Tag, remove []string) []update {
	var list []update
	resource := func() cloud.Params { return cloud.Params{"ResourceType": kind, "ResourceId.1": id} }
	if len(set) > 0 {
		list = append(list, update{action: "TagResources", params: cloud.Tags(resource(), set)})
	}
	if len(remove) > 0 {
		list = append(list, update{action: "UntagResources", params: resource().List("TagKey", remove)})
	}
	return list
}

// retag changes the tags of a part of an instance.
func (c *Client) retag(ctx context.Context, kind, id string, set []*commonv1.Tag, remove []string) error {
	for _, u := range tagUpdates(kind, id, set, remove) {
		if err := c.set(ctx, u.action, u.params); err != nil {
			return err
		}
	}
	return nil
}

// as says what it is that the cloud has not found, for which it has one word where it is about tags.
func as(reason rpcerr.Reason, err error) error {
	e, ok := rpcerr.From(err)
	if !ok || e.Reason != rpcerr.NotFoundReason {
		return err
	}
	exact := *e
	exact.Reason = reason
	return &exact
}
