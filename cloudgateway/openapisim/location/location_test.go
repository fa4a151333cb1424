package location_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/location"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func TestDescribeEndpoints(t *testing.T) {
	t.Parallel()
	product := location.Product(func(_ *api.Context, name string) string { return map[string]string{"slb": "127.0.0.1:9100"}[name] })
	c := apitest.New(t, product, state.New(apitest.Region, apitest.Account))
	want := map[string]any{"Success": true, "Endpoints": map[string]any{"Endpoint": []any{map[string]any{
		"Endpoint": "127.0.0.1:9100", "Id": apitest.Region, "Namespace": "", "SerivceCode": "slb", "Type": "openAPI",
		"Protocols": map[string]any{"Protocols": []any{"HTTP"}},
	}}}}
	if diff := cmp.Diff(want, c.Must("DescribeEndpoints", "Id", apitest.Region, "ServiceCode", "slb", "Type", "openAPI")); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	for name, params := range map[string][]string{
		"other region":  {"Id", "us-west-1", "ServiceCode", "slb"},
		"other product": {"Id", apitest.Region, "ServiceCode", "oss"},
		"inner":         {"Id", apitest.Region, "ServiceCode", "slb", "Type", "innerAPI"},
	} {
		if got := apitest.List(c.Must("DescribeEndpoints", params...), "Endpoint", "Endpoints", "Endpoint"); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if _, code := c.Call("DescribeEndpoints", "Id", apitest.Region); code != "MissingParameter" {
		t.Errorf("without a product: %q", code)
	}
}
