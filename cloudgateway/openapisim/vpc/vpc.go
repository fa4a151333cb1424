// Package vpc is the product VPC 2016-04-28 of the simulator: VPCs, vSwitches, route tables, route entries, elastic IP
// addresses and their tags.
//
// The cloud writes the routes of a VPC one after the other: while an entry is Pending or Deleting, every other write to
// the VPC is refused with TaskConflict. Transitions are stored with the moment at which they end, and are completed before the
// next call (settle.go).
package vpc

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/regions"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// maxPage is the largest page of most describes.
const maxPage = 50

// Product returns the product with all its actions.
func Product() api.Product {
	actions := slices.Concat(
		networkActions(), networkWriteActions(), vswitchActions(), vswitchWriteActions(),
		tableActions(), nestedActions(), tableWriteActions(),
		entryActions(), createEntryActions(), modifyEntryActions(), deleteEntryActions(),
		eipActions(), eipStateActions(), eipModifyActions(), bandwidthActions(),
		bandwidthModifyActions(), attributeActions(), protectionActions(), groupActions(), publishedActions(),
		blockActions(), defaultActions(), natActions(), natEntryActions(), ipv4GatewayActions(), ipv6GatewayActions(), gatewayEntryActions(),
		haVipActions(), prefixListActions(), dhcpActions(), reservationActions(), poolActions(), segmentActions(), tagging().Actions(),
		[]api.Action{regions.Describe("vpc", ""), regions.DescribeZones(region())},
	)
	return api.Product{
		Name: "vpc", Code: "Vpc", Version: "2016-04-28",
		Actions: actions, Throttled: api.UserThrottled(), Settle: settle, Complete: complete,
	}
}

// dryRun is the code of a valid call that asks for nothing more.
const dryRun = "DryRunOperation"

func region() api.Param { return api.Required("RegionId") }

func tagging() tags.Service {
	return tags.Service{
		Untag:  "UnTagResources", // spelt so by this product only
		MaxIDs: 20,
		Sized:  true,
		Types: map[string]tags.Type{
			"VPC": tags.Of(func(c *state.Cloud) map[string]*state.Vpc { return c.Vpcs },
				func(v *state.Vpc) *[]state.Tag { return &v.Tags }),
			"VSWITCH": tags.Of(func(c *state.Cloud) map[string]*state.VSwitch { return c.VSwitches },
				func(v *state.VSwitch) *[]state.Tag { return &v.Tags }),
			"ROUTETABLE": tags.Of(func(c *state.Cloud) map[string]*state.RouteTable { return c.RouteTables },
				func(t *state.RouteTable) *[]state.Tag { return &t.Tags }),
			"EIP": tags.Of(func(c *state.Cloud) map[string]*state.Eip { return c.Eips },
				func(e *state.Eip) *[]state.Tag { return &e.Tags }),
			"NATGATEWAY": tags.Of(func(c *state.Cloud) map[string]*state.NatGateway { return c.NatGateways },
				func(n *state.NatGateway) *[]state.Tag { return &n.Tags }),
			"IPV4GATEWAY": tags.Of(func(c *state.Cloud) map[string]*state.InternetGateway { return c.Ipv4Gateways },
				func(g *state.InternetGateway) *[]state.Tag { return &g.Tags }),
			"IPV6GATEWAY": tags.Of(func(c *state.Cloud) map[string]*state.InternetGateway { return c.Ipv6Gateways },
				func(g *state.InternetGateway) *[]state.Tag { return &g.Tags }),
			"HAVIP": tags.Of(func(c *state.Cloud) map[string]*state.HaVip { return c.HaVips },
				func(h *state.HaVip) *[]state.Tag { return &h.Tags }),
			"PREFIXLIST": tags.Of(func(c *state.Cloud) map[string]*state.PrefixList { return c.PrefixLists },
				func(l *state.PrefixList) *[]state.Tag { return &l.Tags }),
			"DhcpOptionsSet": tags.Of(func(c *state.Cloud) map[string]*state.DhcpOptionsSet { return c.DhcpOptionsSets },
				func(s *state.DhcpOptionsSet) *[]state.Tag { return &s.Tags }),
			"PUBLICIPADDRESSPOOL": tags.Of(func(c *state.Cloud) map[string]*state.AddressPool { return c.AddressPools },
				func(p *state.AddressPool) *[]state.Tag { return &p.Tags }),
			"COMMONBANDWIDTHPACKAGE": tags.Of(func(c *state.Cloud) map[string]*state.BandwidthPackage { return c.BandwidthPackages },
				func(p *state.BandwidthPackage) *[]state.Tag { return &p.Tags }),
		},
		Codes: tagCodes(),
	}
}

func tagCodes() tags.Codes {
	return tags.Codes{
		Type: "InvalidInstanceType.NotFound", ID: "InvalidInstanceIds.NotFound", Key: "InvalidTagKey", Value: "InvalidTagValue",
		IDs: "SizeLimitExceeded.ResourceId", Tags: "SizeLimitExceeded.TagNum", Duplicate: "Forbidden.TagKey.Duplicated",
		Quota: "QuotaExceeded.TagNum", Neither: "BothEmpty.TagsAndResources", Page: "InvalidParameter",
		Missing: map[string]string{
			"RegionId": "MissingParam", "ResourceType": "MissingParam", "ResourceId": "MissingParam", "Tag": "MissingParam.Tags",
		},
	}
}

// newTags reads Tag.N as the tags of something new.
func newTags(c *api.Context) ([]state.Tag, *api.Error) {
	return tagCodes().New(c, c.Settings.Quotas.Tags)
}

// newTagCodes are those of an action that makes something with tags.
func newTagCodes(others ...string) []string {
	k := tagCodes()
	return append([]string{k.Tags, k.Key, k.Value, k.Duplicate}, others...)
}

// must requires a parameter.
func must(p api.Param) api.Param {
	p.Required = true
	return p
}

// tagFilterCodes are those of a describe that is filtered by tags.
func tagFilterCodes(others ...string) []string {
	return append([]string{tagCodes().Key, tagCodes().Value}, others...)
}

// missing is the error of an action with a code of its own for a required parameter.
func missing(code, name string) *api.Error {
	return api.BadRequest(code, "The parameter %s is mandatory for this action.", name)
}
