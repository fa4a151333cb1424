// Package regions holds what the products alike answer about regions and zones.
package regions

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// Describe returns the action that answers with the regions and where they have the product. Status is what ECS alone has.
func Describe(product, status string, params ...api.Param) api.Action {
	return api.Action{Name: "DescribeRegions", Params: params, Handle: func(c *api.Context) (any, *api.Error) {
		return api.Object{"Regions", api.Object{"Region", api.Objects(c.Regions, func(id string) api.Object {
			return api.Object{
				"RegionId", id, "RegionEndpoint", product + "." + id + ".aliyuncs.com", "LocalName", id, "Status", api.NonZero(status),
			}
		})}}, nil
	}}
}

// DescribeZones returns the action that answers with the zones, as VPC and ECS do.
func DescribeZones(params ...api.Param) api.Action {
	return api.Action{Name: "DescribeZones", Params: params, Handle: describeZones}
}

func describeZones(c *api.Context) (any, *api.Error) {
	return api.Object{"Zones", api.Object{"Zone", api.Objects(Zones(c), func(id string) api.Object {
		return api.Object{"ZoneId", id, "LocalName", id, "ZoneType", "AvailabilityZone"}
	})}}, nil
}

// Zones are at least two: the first ones of the alphabet and those in which there is something, so that every product has
// the same ones, also in an empty cloud.
func Zones(c *api.Context) []string {
	ids := []string{c.Region + "-a", c.Region + "-b"}
	for _, vsw := range c.State.VSwitches {
		ids = append(ids, vsw.ZoneID)
	}
	for _, i := range c.State.Instances {
		ids = append(ids, i.ZoneID)
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" }) // a seed need not say where
}
