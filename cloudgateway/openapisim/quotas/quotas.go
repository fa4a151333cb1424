// Package quotas is the product Quota Center 2020-05-10 of the simulator: the limits of the account, to be read.
//
// From the published page of ListProductQuotas, and from services/quotas of version 1 of the SDK for Go, are the parameters and their
// ranges, the members of answers, and that one address serves all regions. That API rate limits are quotas of the category FlowControl, per
// region, API and main account, is from the pages of the products' API rate quotas ("90/60(s)").
//
// No published answer shows a quota of that category, so the following is inferred: its QuotaActionCode and its QuotaName are the name of
// the API, its ProductCode is that of the OpenAPI (also for EIPs, whose general quotas have a code of their own), its only dimension is
// regionId, and its unit of time is the second. So is that a product which Quota Center does not know has no quotas, and the code for a
// foreign token.
package quotas

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
)

// The categories of quotas. Privileges (WhiteListLabel) are not simulated, so there are none.
const (
	common = "CommonQuota"
	rates  = "FlowControl"
)

// invalidToken is the code for a NextToken that is not ours.
const invalidToken = "InvalidParameter"

// Product returns the product. Limits are the rate limits in force, by "product/action".
func Product(limits func() limit.Table) api.Product {
	return api.Product{
		Name: "quotas", Code: "quotas", Version: "2020-05-10",
		Actions: []api.Action{
			api.Read("ListProductQuotas", func(c *api.Context) (any, *api.Error) { return list(c, limits()) }, []string{invalidToken},
				api.Required("ProductCode"), api.OneOf("QuotaCategory", common, rates, "WhiteListLabel"), api.Optional("QuotaActionCode"),
				api.Optional("KeyWord"), api.Param{Name: "Dimensions", Kind: api.Structs}, api.Number("MaxResults", 1, 100),
				api.Optional("NextToken")),
		},
	}
}

// quota is a limit of the account in a region.
type quota struct {
	code, name, unit string
	total, used      int
	window           time.Duration // of a rate limit; otherwise 0
}

func list(c *api.Context, limits limit.Table) (any, *api.Error) {
	product, category := c.Get("ProductCode"), cmp.Or(c.Get("QuotaCategory"), common)
	var all []quota
	switch {
	case !here(c):
	case strings.EqualFold(category, rates):
		all = rateQuotas(limits, product)
	case strings.EqualFold(category, common):
		all = commonQuotas(c, product)
	}
	word := strings.ToLower(c.Get("KeyWord"))
	all = slices.DeleteFunc(all, func(q quota) bool {
		return !listing.Match(c.Get("QuotaActionCode"), q.code) || !strings.Contains(strings.ToLower(q.code+" "+q.name), word)
	})
	code := func(q quota) string { return q.code }
	slices.SortFunc(all, func(a, b quota) int { return strings.Compare(a.code, b.code) })
	size := c.Int("MaxResults", 30)
	page, next, ok := listing.After(all, code, c.Get("NextToken"), size)
	if !ok {
		return nil, api.BadRequest(invalidToken, "The specified NextToken is not valid.")
	}
	return api.Object{
		"TotalCount", len(all), "MaxResults", size, "NextToken", api.NonZero(next),
		"Quotas", api.Objects(page, func(q quota) api.Object { return show(c, product, category, q) }),
	}, nil
}

// here reports whether the dimensions that are asked for are those of the quotas.
func here(c *api.Context) bool {
	return !slices.ContainsFunc(c.Items("Dimensions"), func(d map[string]string) bool {
		return d["key"] != "regionId" || d["value"] != c.Region
	})
}

// rateQuotas are the rate limits of a product that the simulator keeps to. What has no limit has no quota.
func rateQuotas(limits limit.Table, product string) []quota {
	var all []quota
	for name, l := range limits {
		if of, action, _ := strings.Cut(name, "/"); of == product && l.Calls > 0 {
			all = append(all, quota{code: action, name: action, unit: "times", total: l.Calls, window: time.Duration(l.Window)})
		}
	}
	return all
}

// commonQuotas are limits of resources that the simulator keeps to, under the codes that the pages of VPC and EIP quotas have, and for CLB
// the comments of the SDKs. Their names are ours.
func commonQuotas(c *api.Context, product string) []quota {
	most, s := c.Settings.Quotas, c.State
	return map[string][]quota{
		"slb": {
			{code: "q_3mmbsp", name: "instances of an account", total: most.LoadBalancers, used: len(s.LoadBalancers)},
			{code: "q_fh20b0", name: "servers of an instance", total: most.Servers},
		},
		"vpc": {
			{code: "vpc_quota_instances_num_" + c.Region, name: "VPCs of a region", total: most.Vpcs, used: len(s.Vpcs)},
			{code: "vpc_quota_route_entrys_num", name: "custom entries of a route table", total: most.RouteEntries},
			{code: "vpc_quota_route_tables_num", name: "custom route tables of a VPC", total: most.RouteTables},
			{code: "vpc_quota_vswitches_num", name: "vSwitches of a VPC", total: most.VSwitches},
		},
		"eip": {{code: "eip_quota_instances_num", name: "EIPs of an account", total: most.Eips, used: len(s.Eips)}},
	}[product]
}

func show(c *api.Context, product, category string, q quota) api.Object {
	o := api.Object{
		"ProductCode", product, "QuotaCategory", category, "QuotaActionCode", q.code, "QuotaName", q.name, "QuotaDescription", q.name,
		"QuotaUnit", q.unit, "QuotaType", "normal", "TotalQuota", q.total, "TotalUsage", q.used, "Adjustable", true, "Consumable", q.used > 0,
		"ApplicableType", "continuous", "Dimensions", api.Object{"regionId", c.Region}, "QuotaItems", []api.Object{},
	}
	if q.window > 0 {
		o = append(o, "Period", api.Object{"PeriodValue", int(q.window / time.Second), "PeriodUnit", "second"})
	}
	return o
}
