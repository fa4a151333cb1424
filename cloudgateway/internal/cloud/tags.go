package cloud

import (
	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// TagCalls are the calls that change the tags of a resource: one to set some, and then one to remove some. The kind is the product's
// word for what the resource is.
func TagCalls(product openapi.Product, kind, id string, set []*commonv1.Tag, remove []string) []openapi.Call {
	var calls []openapi.Call
	resource := func() Params { return Params{"ResourceType": kind, "ResourceId.1": id} }
	if len(set) > 0 {
		calls = append(calls, Write(product, "TagResources", Tags(resource(), set)))
	}
	if len(remove) > 0 {
		action := "UntagResources"
		if product == openapi.VPC {
			action = "UnTagResources"
		}
		calls = append(calls, Write(product, action, resource().List("TagKey", remove)))
	}
	return calls
}

// As says what it is that the cloud has not found, for which it has one word where it is about tags or resource groups.
func As(reason rpcerr.Reason, err error) error {
	e, ok := rpcerr.From(err)
	if !ok || e.Reason != rpcerr.NotFoundReason {
		return err
	}
	exact := *e
	exact.Reason = reason
	return &exact
}
