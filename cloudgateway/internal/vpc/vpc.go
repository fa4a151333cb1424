// Package vpc is what the resources of the cloud's Vpc product share.
package vpc

import (
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

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

// ListKey names a listing by its filters, which are all that the request holds.
func ListKey(filters proto.Message) string {
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(filters)
	if err != nil {
		panic(err) // Only texts that are no UTF-8 have no encoding, and gRPC lets none in.
	}
	return string(key)
}

// ChunksOf cuts a filter into what one call takes. No filter is one call without it.
func ChunksOf(values []string, size int) [][]string {
	if len(values) == 0 {
		return [][]string{nil}
	}
	return slices.Collect(slices.Chunk(values, size))
}
