// Package vpc is what the resources of the cloud's Vpc product share.
package vpc

import (
	"fmt"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/services/rpcerr"

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

// WhenAvailable judges something new by its status.
func WhenAvailable(status string) write.Verdict {
	if status == Available {
		return write.Done
	}
	return write.Waiting
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
	return &rpcerr.Error{
		Code: codes.FailedPrecondition, Reason: rpcerr.ResourceInUse, API: "vpc/" + action, Message: fmt.Sprintf(format, args...),
	}
}
