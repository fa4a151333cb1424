package app

import (
	"context"

	"alicloud-controllers.dev/services/rpc"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// audited is a Caller whose requests show in the audit log of the method that made them.
type audited struct{ cloud.Caller }

// Do makes a call.
func (n audited) Do(ctx context.Context, call openapi.Call, out any) (openapi.Result, error) {
	result, err := n.Caller.Do(ctx, call, out)
	rpc.NoteCloudRequest(ctx, result.RequestID)
	return result, err
}
