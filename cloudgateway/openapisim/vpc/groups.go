package vpc

import (
	"maps"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// groupActions put things into other resource groups.
func groupActions() []api.Action {
	return []api.Action{api.Write("MoveResourceGroup", moveResourceGroup, api.Words("InvalidResource.NotFound"), region(),
		api.Required("ResourceId"), api.Required("NewResourceGroupId"),
		must(api.OneOf("ResourceType", slices.Sorted(maps.Keys(grouped()))...)))}
}

// grouped find the resource group of a thing, by the type that the call names; nil: there is no such thing.
func grouped() map[string]func(c *state.Cloud, id string) *string {
	return map[string]func(c *state.Cloud, id string) *string{
		"VPC": func(c *state.Cloud, id string) *string {
			return member(c.Vpcs, id, func(v *state.Vpc) *string { return &v.ResourceGroupID })
		},
		"EIP": func(c *state.Cloud, id string) *string {
			return member(c.Eips, id, func(e *state.Eip) *string { return &e.ResourceGroupID })
		},
		"NATGATEWAY": func(c *state.Cloud, id string) *string {
			return member(c.NatGateways, id, func(n *state.NatGateway) *string { return &n.ResourceGroupID })
		},
		"IPV4GATEWAY": func(c *state.Cloud, id string) *string {
			return member(c.Ipv4Gateways, id, func(g *state.InternetGateway) *string { return &g.ResourceGroupID })
		},
		"IPV6GATEWAY": func(c *state.Cloud, id string) *string {
			return member(c.Ipv6Gateways, id, func(g *state.InternetGateway) *string { return &g.ResourceGroupID })
		},
		"HaVip": func(c *state.Cloud, id string) *string {
			return member(c.HaVips, id, func(h *state.HaVip) *string { return &h.ResourceGroupID })
		},
		"PrefixList": func(c *state.Cloud, id string) *string {
			return member(c.PrefixLists, id, func(l *state.PrefixList) *string { return &l.ResourceGroupID })
		},
		"DhcpOptionsSet": func(c *state.Cloud, id string) *string {
			return member(c.DhcpOptionsSets, id, func(s *state.DhcpOptionsSet) *string { return &s.ResourceGroupID })
		},
		"PublicIpAddressPool": func(c *state.Cloud, id string) *string {
			return member(c.AddressPools, id, func(p *state.AddressPool) *string { return &p.ResourceGroupID })
		},
		"bandwidthpackage": func(c *state.Cloud, id string) *string {
			return member(c.BandwidthPackages, id, func(p *state.BandwidthPackage) *string { return &p.ResourceGroupID })
		},
	}
}

func moveResourceGroup(c *api.Context) (any, *api.Error) {
	group := grouped()[c.Get("ResourceType")](c.State, c.Get("ResourceId"))
	if group == nil {
		return nil, api.NotFound("InvalidResource.NotFound", "The specified resource %s is not found.", c.Get("ResourceId"))
	}
	*group = c.Get("NewResourceGroupId")
	return nil, nil
}
