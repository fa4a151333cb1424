package vpc

import (
	"net/netip"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func entryActions() []api.Action {
	return []api.Action{api.Read("DescribeRouteEntryList", describeRouteEntryList,
		api.Words(`InvalidRouteTable.NotFound IllegalParam.RouteEntryType IllegalParam.IpVersion IllegalParam.NextToken`),
		region(), api.Required("RouteTableId"), api.Optional("RouteEntryId"), api.Optional("RouteEntryName"),
		api.Optional("RouteEntryType"), api.Optional("DestinationCidrBlock"),
		api.Param{Name: "DestCidrBlockList", Kind: api.Strings, Max: 20}, api.Optional("NextHopId"),
		api.Optional("NextHopType"), api.Optional("IpVersion"),
		api.Param{Name: "MaxResult", Kind: api.Int, Min: 1, Max: 1 << 20}, api.Optional("NextToken"))}
}

func newEntryView(table *state.RouteTable, e *state.RouteEntry) api.Object {
	origin := "RouteTable"
	if e.Type == system {
		origin = "System"
	}
	return api.Object{
		"RouteEntryId", e.ID, "RouteEntryName", e.Name, "RouteTableId", table.ID, "DestinationCidrBlock", e.Cidr,
		"Type", e.Type, "Status", e.Status, "IpVersion", ipVersion(e.Cidr), "Description", e.Description,
		"Origin", origin, "InstanceId", e.NextHopID, "NextHopType", e.NextHopType,
		"NextHops", api.Object{"NextHop", api.Objects(e.Hops(), func(hop state.NextHop) api.Object {
			return api.Object{"NextHopId", hop.ID, "NextHopType", hop.Type, "NextHopRegionId", "", "Enabled", 1, "Weight", hop.Weight}
		})},
		"RoutePublishTargets", []string{}, // flat in the cloud, too
	}
}

func ipVersion(cidr string) string {
	if strings.Contains(cidr, ":") {
		return "ipv6"
	}
	return "ipv4"
}

// defaultEntries and maxEntries are pages of DescribeRouteEntryList. The documents say 100; clients in the field ask for 500
// and get them.
const defaultEntries, maxEntries = 10, 500

func describeRouteEntryList(c *api.Context) (any, *api.Error) {
	table := c.State.RouteTables[c.Get("RouteTableId")]
	switch {
	case table == nil:
		return nil, api.BadRequest("InvalidRouteTable.NotFound", "The specified RouteTableId does not exist.")
	case !slices.Contains([]string{"", system, custom, "BGP", "CEN", "ECR"}, c.Get("RouteEntryType")):
		return nil, api.BadRequest("IllegalParam.RouteEntryType", "The param of RouteEntryType is illegal.")
	case !slices.Contains([]string{"", "ipv4", "ipv6"}, strings.ToLower(c.Get("IpVersion"))):
		return nil, api.BadRequest("IllegalParam.IpVersion", "The param of IpVersion is illegal.")
	}
	cidrs := c.List("DestCidrBlockList")
	var matching []*state.RouteEntry
	for _, e := range table.Entries {
		if listing.Match(c.Get("RouteEntryId"), e.ID) && listing.Match(c.Get("RouteEntryName"), e.Name) &&
			listing.Match(c.Get("RouteEntryType"), e.Type) && listing.Match(c.Get("DestinationCidrBlock"), e.Cidr) &&
			listing.Among(cidrs, e.Cidr) && leadsTo(e, c.Get("NextHopId"), c.Get("NextHopType")) &&
			listing.Match(strings.ToLower(c.Get("IpVersion")), ipVersion(e.Cidr)) {
			matching = append(matching, e)
		}
	}
	slices.SortFunc(matching, func(a, b *state.RouteEntry) int { return strings.Compare(a.ID, b.ID) })
	size := min(c.Int("MaxResult", defaultEntries), maxEntries)
	page, next, ok := listing.After(matching, func(e *state.RouteEntry) string { return e.ID }, c.Get("NextToken"), size)
	if !ok {
		return nil, api.BadRequest("IllegalParam.NextToken", "The param of NextToken is illegal.")
	}
	return api.Object{
		"NextToken", next,
		"RouteEntrys", api.Object{"RouteEntry", api.Objects(page, func(e *state.RouteEntry) api.Object { return newEntryView(table, e) })},
	}, nil
}

// leadsTo reports whether one of the next hops has the id and the type, where they are given.
func leadsTo(e *state.RouteEntry, id, kind string) bool {
	return slices.ContainsFunc(e.Hops(), func(hop state.NextHop) bool { return listing.Match(id, hop.ID) && listing.Match(kind, hop.Type) })
}

// parseCidr reads a destination. A bare address stands for itself.
func parseCidr(s string) (netip.Prefix, *api.Error) {
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		addr, addrErr := netip.ParseAddr(s)
		if addrErr != nil {
			return prefix, malformedCidr(s)
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	if prefix != prefix.Masked() {
		return prefix, malformedCidr(s)
	}
	return prefix, nil
}

func malformedCidr(s string) *api.Error {
	return api.BadRequest("InvalidCidrBlock.Malformed", "The specified CIDR block %q is not valid.", s)
}
