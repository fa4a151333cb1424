package slb

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// recorder takes calls, and refuses one of an action.
type recorder struct {
	refuse string
	calls  []openapi.Call
}

var errRefused = errors.New("refused")

func (r *recorder) Do(_ context.Context, call openapi.Call, _ any) (openapi.Result, error) {
	r.calls = append(r.calls, call)
	if call.Action == r.refuse {
		return openapi.Result{}, errRefused
	}
	return openapi.Result{}, nil
}

func TestChangeMetadata(t *testing.T) {
	call := func(action string, params map[string]string) openapi.Call {
		return openapi.Call{Product: openapi.SLB, Action: action, Params: params, Mutating: true, Idempotent: true}
	}
	tag := call("TagResources", map[string]string{"ResourceType": "acl", "ResourceId.1": "acl-1", "Tag.1.Key": "a", "Tag.1.Value": "1"})
	untag := call("UntagResources", map[string]string{"ResourceType": "acl", "ResourceId.1": "acl-1", "TagKey.1": "b", "TagKey.2": "c"})
	move := call("MoveResourceGroup", map[string]string{"ResourceType": "acl", "ResourceId": "acl-1", "NewResourceGroupId": "rg-1"})
	all := &slbv1.UpdateAccessControlListRequest{SetTags: []*commonv1.Tag{{Key: "a", Value: "1"}},
		RemoveTagKeys: []string{"b", "c"}, ResourceGroupId: new("rg-1")}
	for name, tt := range map[string]struct {
		change *slbv1.UpdateAccessControlListRequest
		refuse string
		want   []openapi.Call
	}{
		"nothing":        {},
		"all":            {change: all, want: []openapi.Call{tag, untag, move}},
		"tags to remove": {change: &slbv1.UpdateAccessControlListRequest{RemoveTagKeys: all.GetRemoveTagKeys()}, want: []openapi.Call{untag}},
		"group":          {change: &slbv1.UpdateAccessControlListRequest{ResourceGroupId: all.ResourceGroupId}, want: []openapi.Call{move}},
		"refused":        {change: all, refuse: "UntagResources", want: []openapi.Call{tag, untag}},
	} {
		r := &recorder{refuse: tt.refuse}
		if err := New(r, cloud.Shared{}, nil).ChangeMetadata(t.Context(), "acl", "acl-1", rpcerr.AclNotFound,
			tt.change); (tt.refuse != "") != errors.Is(err, errRefused) {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, r.calls); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", name, diff)
		}
	}
}
