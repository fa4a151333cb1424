// Package filing changes what every resource of SLB has, whatever it is: its tags and its resource group.
package filing

import (
	"context"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// Change is what is to be changed; nil and empty: nothing.
type Change struct {
	SetTags         []*commonv1.Tag
	RemoveTagKeys   []string
	ResourceGroupID *string
}

// Empty tells that nothing is to be changed.
func (c Change) Empty() bool {
	return len(c.SetTags)+len(c.RemoveTagKeys) == 0 && c.ResourceGroupID == nil
}

// Apply makes the changes of a resource that SLB calls a kind, one call each.
func Apply(ctx context.Context, caller cloud.Caller, kind, id string, change Change) error {
	calls := cloud.TagCalls(openapi.SLB, kind, id, change.SetTags, change.RemoveTagKeys)
	if change.ResourceGroupID != nil {
		calls = append(calls, cloud.Write(openapi.SLB, "MoveResourceGroup",
			cloud.Params{"ResourceType": kind, "ResourceId": id, "NewResourceGroupId": *change.ResourceGroupID}))
	}
	for _, call := range calls {
		if err := cloud.Set(ctx, caller, call, nil); err != nil {
			return err
		}
	}
	return nil
}
