package quotas_test

import (
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
	"alicloud-controllers.dev/cloudgateway/openapisim/quotas"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func newCaller(t *testing.T) *apitest.Caller {
	t.Helper()
	minute, second := api.Duration(time.Minute), api.Duration(time.Second)
	limits := limit.Table{
		"slb/CreateLoadBalancer": {Calls: 60, Window: minute}, "slb/ListTagResources": {Calls: 10, Window: second},
		"slb/DescribeZones": {}, "vpc/CreateVpc": {Calls: 300, Window: minute},
	}
	cloud := state.New(apitest.Region, apitest.Account)
	cloud.Vpcs["vpc-1"] = &state.Vpc{ID: "vpc-1"}
	return apitest.New(t, quotas.Product(func() limit.Table { return limits }), cloud)
}

// What is asked for decides which quotas there are; there is none for an action without a limit.
func TestListProductQuotas(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	for _, tt := range []struct{ params, want string }{
		{"ProductCode slb QuotaCategory FlowControl", "CreateLoadBalancer ListTagResources"},
		{"ProductCode vpc QuotaCategory FlowControl", "CreateVpc"},
		{"ProductCode slb QuotaCategory FlowControl QuotaActionCode ListTagResources", "ListTagResources"},
		{"ProductCode slb QuotaCategory FlowControl QuotaActionCode ListTag", ""},
		{"ProductCode slb QuotaCategory FlowControl KeyWord listtag", "ListTagResources"},
		{"ProductCode slb QuotaCategory FlowControl Dimensions.1.Key regionId Dimensions.1.Value cn-hangzhou",
			"CreateLoadBalancer ListTagResources"},
		{"ProductCode slb QuotaCategory FlowControl Dimensions.1.Key regionId Dimensions.1.Value cn-beijing", ""},
		{"ProductCode slb QuotaCategory FlowControl Dimensions.1.Key chargeType Dimensions.1.Value PrePaid", ""},
		{"ProductCode nosuch QuotaCategory FlowControl", ""},
		{"ProductCode slb QuotaCategory WhiteListLabel", ""},
		{"ProductCode slb", "q_3mmbsp q_fh20b0"},
		{"ProductCode vpc QuotaCategory CommonQuota KeyWord table",
			"vpc_quota_route_entrys_num vpc_quota_route_tables_num"},
		{"ProductCode eip", "eip_quota_instances_num"},
		{"QuotaCategory FlowControl", "MissingParameter"},
		{"ProductCode slb QuotaCategory Everything", "InvalidParameter"},
		{"ProductCode slb MaxResults 101", "InvalidParameter"},
		{"ProductCode slb NextToken foreign", "InvalidParameter"},
	} {
		answer, got := c.Call("ListProductQuotas", strings.Fields(tt.params)...)
		if got == "" {
			got = strings.Join(apitest.List(answer, "QuotaActionCode", "Quotas"), " ")
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.params, got, tt.want)
		}
	}
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	first := func(params ...string) map[string]any {
		return c.Must("ListProductQuotas", params...)["Quotas"].([]any)[0].(map[string]any)
	}
	rate := first("ProductCode", "slb", "QuotaCategory", "FlowControl")
	period := rate["Period"].(map[string]any)
	if rate["TotalQuota"] != 60.0 || period["PeriodValue"] != 60.0 || period["PeriodUnit"] != "second" || rate["ProductCode"] != "slb" ||
		rate["QuotaCategory"] != "FlowControl" || rate["Dimensions"].(map[string]any)["regionId"] != apitest.Region {
		t.Errorf("a rate limit is %v", rate)
	}
	number := first("ProductCode", "vpc", "QuotaActionCode", "vpc_quota_instances_num_"+apitest.Region)
	if number["TotalQuota"] != float64(c.Settings.Quotas.Vpcs) || number["TotalUsage"] != 1.0 || number["Period"] != nil {
		t.Errorf("a number of resources is %v", number)
	}
}

// Pages go on where the one before ended.
func TestPages(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	params := []string{"ProductCode", "slb", "QuotaCategory", "FlowControl", "MaxResults", "1"}
	one := c.Must("ListProductQuotas", params...)
	token, _ := one["NextToken"].(string)
	two := c.Must("ListProductQuotas", append(params, "NextToken", token)...)
	if one["TotalCount"] != 2.0 || one["MaxResults"] != 1.0 || token == "" || two["NextToken"] != nil ||
		apitest.List(two, "QuotaActionCode", "Quotas")[0] != "ListTagResources" {
		t.Errorf("pages %v and %v", one, two)
	}
}
