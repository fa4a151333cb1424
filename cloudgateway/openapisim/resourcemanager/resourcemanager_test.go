package resourcemanager_test

import (
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/resourcemanager"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func TestMain(m *testing.M) { apitest.Main(m, resourcemanager.Product()) }

// There is the group of the account, and every group that something is in.
func TestListResourceGroups(t *testing.T) {
	t.Parallel()
	cloud := state.New(apitest.Region, apitest.Account)
	cloud.LoadBalancers["lb-1"] = &state.LoadBalancer{ID: "lb-1", ResourceGroupID: "rg-b"}
	cloud.Instances["i-1"] = &state.Instance{ID: "i-1", ResourceGroupID: "rg-a"}
	cloud.Instances["i-2"] = &state.Instance{ID: "i-2", ResourceGroupID: "rg-b"}
	c := apitest.New(t, resourcemanager.Product(), cloud)
	for _, tt := range []struct {
		params []string
		want   string
	}{
		{nil, "rg-a rg-acfmdefault rg-b"},
		{[]string{"ResourceGroupId", "rg-a"}, "rg-a"},
		{[]string{"ResourceGroupIds.1", "rg-a", "ResourceGroupIds.2", "rg-none"}, "rg-a"},
		{[]string{"Name", "default"}, "rg-acfmdefault"},
		{[]string{"DisplayName", "default resource group"}, "rg-acfmdefault"},
		{[]string{"Status", "Creating"}, ""},
		{[]string{"Status", "Lost"}, "InvalidParameter"},
		{[]string{"PageSize", "2", "PageNumber", "2"}, "rg-b"},
	} {
		answer, got := c.Call("ListResourceGroups", tt.params...)
		if got == "" {
			got = strings.Join(apitest.List(answer, "Id", "ResourceGroups", "ResourceGroup"), " ")
		}
		if got != tt.want {
			t.Errorf("%v: %q, want %q", tt.params, got, tt.want)
		}
	}
}
