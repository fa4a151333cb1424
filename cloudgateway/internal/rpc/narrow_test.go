package rpc

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// roles allow resources, or can't say.
type roles struct {
	resources string
	outage    string
}

func (r roles) Authorize(_ context.Context, _ Caller, resource, _ string) error {
	switch {
	case resource == r.outage:
		return &rpcerr.Error{Code: codes.Unavailable, Message: "outage"}
	case strings.Contains(" "+r.resources+" ", " "+resource+" "):
		return nil
	}
	return rpcerr.Errorf(rpcerr.CallerForbidden, "may not update %s", resource)
}

// TestNarrow: who may do no more than the smaller permission says sends no other fields. A wider permission, as old
// charts grant it, is not narrowed by it.
func TestNarrow(t *testing.T) {
	policy := Policy{Resource: "networkinterfaces", Verb: "update",
		Narrow: Narrow{Resource: "sourcedestchecks", Fields: []string{"network_interface_id", "source_dest_check", "request_id"}}}
	check := &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: "eni-1", SourceDestCheck: new(false), RequestId: "r"}
	groups := &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: "eni-1", SourceDestCheck: new(false),
		SecurityGroupIds: []string{"sg-1"}}
	tagged := &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: "eni-1", RemoveTagKeys: []string{"team"}}
	unknown := &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: "eni-1"}
	unknown.ProtoReflect().SetUnknown([]byte{0xf8, 0x7f, 1})
	tests := []struct {
		name    string
		roles   roles
		request *ecsv1.UpdateNetworkInterfaceRequest
		want    string // part of the refusal; empty: it goes through
	}{
		{"the old role", roles{resources: "networkinterfaces"}, groups, ""},
		{"both", roles{resources: "networkinterfaces sourcedestchecks"}, groups, ""},
		{"the narrow role", roles{resources: "sourcedestchecks"}, check, ""},
		{"security groups", roles{resources: "sourcedestchecks"}, groups,
			"node may update sourcedestchecks only, which does not allow to set security_group_ids; grant it update of networkinterfaces"},
		{"tags", roles{resources: "sourcedestchecks"}, tagged, "does not allow to set remove_tag_keys"},
		{"unknown fields", roles{resources: "sourcedestchecks"}, unknown, "does not allow to set unknown fields"},
		{"no role", roles{}, check, "may not update networkinterfaces"},
		{"the API server is away", roles{outage: "networkinterfaces"}, check, "outage"},
		{"the API server is away in between", roles{outage: "sourcedestchecks"}, check, "outage"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &Server{cfg: Config{Authorizer: tt.roles}}
			permitted, err := s.permit(t.Context(), Caller{Name: "node"}, policy)
			if err == nil {
				ctx := WithCaller(context.WithValue(t.Context(), policyKey{}, permitted), Caller{Name: "node"})
				_, err = narrow(ctx, tt.request, nil, func(context.Context, any) (any, error) { return struct{}{}, nil })
			}
			if err == nil && tt.want != "" || err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

var _ grpc.UnaryServerInterceptor = narrow
