// Package vpc is what the resources of the cloud's Vpc product share.
package vpc

import (
	"context"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

const (
	// PageSize is that of DescribeVpcs, DescribeVSwitches and DescribeRouteTableList (VPC API reference).
	PageSize = 50
	// Available is the status of what is in force.
	Available = "Available"
)

// Product is what the resources share.
type Product struct {
	cloud.API
	cloud.Shared

	// Networks orders the writes to the routes, route tables and vSwitches of a VPC, which the cloud refuses to take at the same time.
	// Its keys are VPC ids. Each of these resources shows in the others.
	Networks *write.Serial
}

// New makes a Product.
func New(caller cloud.Caller, shared cloud.Shared) *Product {
	return &Product{API: cloud.API{Product: openapi.VPC, Caller: caller}, Shared: shared, Networks: write.NewSerial(shared.Locks)}
}

// Make makes a part of a VPC with a call that has a token, and waits until the part can be used. The answer has its id
// in a member; look reads it now.
func Make[T interface{ GetStatus() string }](
	ctx context.Context, p *Product, vpcID, action string, params cloud.Params, member string, look func(context.Context, string) (T, error),
) (made T, err error) {
	err = p.Networks.Do(ctx, vpcID, func(ctx context.Context) (err error) {
		id := ""
		if err := p.Set(ctx, action, params.With("VpcId", vpcID), &cloud.Fields{member: cloud.Required(&id)}); err != nil {
			return err
		}
		made, err = write.Converge[T]{
			Name: "the creation of " + id,
			Look: func(ctx context.Context) (T, error) { return look(ctx, id) },
			Judge: func(t T) (write.Verdict, error) {
				if t.GetStatus() == Available {
					return write.Done, nil
				}
				return write.Waiting, nil
			},
		}.Run(ctx)
		return err
	})
	return made, err
}

// UntilGone judges something that is to be deleted.
func UntilGone(exists bool, status string) write.Verdict {
	switch {
	case !exists:
		return write.Done
	case status == Available:
		return write.Todo
	default:
		return write.Waiting
	}
}

// InUse is the refusal to touch something that something else has.
func InUse(action, format string, args ...any) error {
	return rpcerr.Errorf(rpcerr.ResourceInUse, format, args...).WithAPI("vpc/" + action)
}
