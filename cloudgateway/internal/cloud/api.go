package cloud

import (
	"context"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// API makes the calls of one product.
type API struct {
	Product openapi.Product
	Caller  Caller
}

// Read makes a call that changes nothing.
func (a API) Read(ctx context.Context, action string, params Params, out any) error {
	_, err := a.Caller.Do(ctx, Read(a.Product, action, params), out)
	return err
}

// Set makes a write that says how something shall be, or one with a token; see Set.
func (a API) Set(ctx context.Context, action string, params Params, out any) error {
	return Set(ctx, a.Caller, Write(a.Product, action, params), out)
}

// Send makes a write of which a lost answer leaves the outcome open.
func (a API) Send(ctx context.Context, action string, params Params, out any) error {
	_, err := a.Caller.Do(ctx, Write(a.Product, action, params), out)
	return err
}

// SetAll makes writes that say how something shall be, one after the other.
func (a API) SetAll(ctx context.Context, calls []openapi.Call) error {
	for _, call := range calls {
		if err := Set(ctx, a.Caller, call, nil); err != nil {
			return err
		}
	}
	return nil
}

// ChangeTags sets some tags of a resource and then removes some. The kind is the product's word for what the resource is. The cloud has
// one word for everything that it does not find here, in whose place notFound is told.
func (a API) ChangeTags(
	ctx context.Context, kind, id string, notFound rpcerr.Reason, set []*commonv1.Tag, remove []string,
) error {
	return As(notFound, a.SetAll(ctx, TagCalls(a.Product, kind, id, set, remove)))
}

// Answer gives a response to the caller, unless there is an error.
func Answer[M any](response *M, err error) (*M, error) {
	if err != nil {
		return nil, err
	}
	return response, nil
}
