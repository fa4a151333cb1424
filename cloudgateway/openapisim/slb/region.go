package slb

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/regions"
)

func regionActions() []api.Action {
	return []api.Action{
		regions.Describe("slb", "", region()),
		api.Read("DescribeZones", describeZones, nil, region()),
		api.Read("DescribeAvailableResource", describeAvailableResource, nil, region(),
			api.OneOf("AddressIPVersion", "ipv4", "ipv6"), api.Optional("AddressType")),
	}
}

func describeZones(c *api.Context) (any, *api.Error) {
	zone := func(id string) api.Object { return api.Object{"ZoneId", id, "LocalName", id} }
	return api.Object{"Zones", wrapped("Zone", regions.Zones(c), func(master string) api.Object {
		return append(zone(master), "SlaveZones", wrapped("SlaveZone", otherZones(c, master), zone))
	})}, nil
}

func otherZones(c *api.Context, zone string) []string {
	return slices.DeleteFunc(slices.Clone(regions.Zones(c)), func(id string) bool { return id == zone })
}

func describeAvailableResource(c *api.Context) (any, *api.Error) {
	kinds := []api.Object{}
	for _, kind := range [][2]string{{"vpc", "ipv4"}, {"classic_internet", "ipv4"}, {"classic_internet", "ipv6"}} {
		if listing.Match(c.Get("AddressType"), kind[0]) && listing.Match(c.Get("AddressIPVersion"), kind[1]) {
			kinds = append(kinds, api.Object{"AddressType", kind[0], "AddressIPVersion", kind[1]})
		}
	}
	pairs := []api.Object{}
	for _, master := range regions.Zones(c) {
		for _, slave := range otherZones(c, master) {
			if len(kinds) > 0 {
				pairs = append(pairs, api.Object{
					"MasterZoneId", master, "SlaveZoneId", slave, "SupportResources", api.Object{"SupportResource", kinds},
				})
			}
		}
	}
	return api.Object{"AvailableResources", api.Object{"AvailableResource", pairs}}, nil
}
