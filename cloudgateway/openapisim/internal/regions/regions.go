// Package regions holds what the products alike answer about regions and zones. The simulated cloud has one region.
package regions

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// Describe returns the action that answers with the region and where it has the product. Status is what ECS alone has.
func Describe(product, status string, params ...api.Param) api.Action {
	return api.Action{Name: "DescribeRegions", Params: params, Handle: func(c *api.Context) (any, *api.Error) {
		var out described
		out.Regions.Region = []region{{
			RegionID: c.Region, RegionEndpoint: product + "." + c.Region + ".aliyuncs.com", LocalName: c.Region, Status: status,
		}}
		return out, nil
	}}
}

type described struct {
	Regions struct {
		Region []region `json:"Region"`
	} `json:"Regions"`
}

type region struct {
	RegionID       string `json:"RegionId"`
	RegionEndpoint string `json:"RegionEndpoint"`
	LocalName      string `json:"LocalName"`
	Status         string `json:"Status,omitempty"`
}

// DescribeZones returns the action that answers with the zones, as VPC and ECS do.
func DescribeZones(params ...api.Param) api.Action {
	return api.Action{Name: "DescribeZones", Params: params, Handle: describeZones}
}

func describeZones(c *api.Context) (any, *api.Error) {
	var out describedZones
	out.Zones.Zone = []zone{}
	for _, id := range Zones(c) {
		out.Zones.Zone = append(out.Zones.Zone, zone{ZoneID: id, LocalName: id, ZoneType: "AvailabilityZone"})
	}
	return out, nil
}

type describedZones struct {
	Zones struct {
		Zone []zone `json:"Zone"`
	} `json:"Zones"`
}

type zone struct {
	ZoneID    string `json:"ZoneId"`
	LocalName string `json:"LocalName"`
	ZoneType  string `json:"ZoneType"`
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
