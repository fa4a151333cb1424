package cloud

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// TestTagCalls: the products spell the removal of tags in two ways.
func TestTagCalls(t *testing.T) {
	set, remove := []*commonv1.Tag{{Key: "a", Value: "1"}}, []string{"b", "c"}
	tagged := Params{"ResourceType": "kind", "ResourceId.1": "id", "Tag.1.Key": "a", "Tag.1.Value": "1"}
	untagged := Params{"ResourceType": "kind", "ResourceId.1": "id", "TagKey.1": "b", "TagKey.2": "c"}
	for _, product := range []struct {
		name  openapi.Product
		untag string
	}{{openapi.SLB, "UntagResources"}, {openapi.VPC, "UnTagResources"}, {openapi.ECS, "UntagResources"}} {
		want := []openapi.Call{Write(product.name, "TagResources", tagged), Write(product.name, product.untag, untagged)}
		for name, tt := range map[string]struct{ got, want []openapi.Call }{
			"both":   {TagCalls(product.name, "kind", "id", set, remove), want},
			"set":    {TagCalls(product.name, "kind", "id", set, nil), want[:1]},
			"remove": {TagCalls(product.name, "kind", "id", nil, remove), want[1:]},
			"none":   {TagCalls(product.name, "kind", "id", nil, nil), nil},
		} {
			if diff := cmp.Diff(tt.want, tt.got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", product.name, name, diff)
			}
		}
	}
}
