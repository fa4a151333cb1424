package ecs

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func regionActions() []api.Action {
	return []api.Action{
		{Name: "DescribeRegions", Handle: describeRegions},
		{Name: "DescribeZones", Handle: describeZones, Params: []api.Param{region()}},
	}
}

type describedRegions struct {
	Regions struct {
		Region []regionView `json:"Region"`
	} `json:"Regions"`
}

type regionView struct {
	RegionID       string `json:"RegionId"`
	RegionEndpoint string `json:"RegionEndpoint"`
	LocalName      string `json:"LocalName"`
	Status         string `json:"Status"`
}

func describeRegions(c *api.Context) (any, *api.Error) {
	var out describedRegions
	out.Regions.Region = []regionView{{
		RegionID: c.Region, RegionEndpoint: "ecs." + c.Region + ".aliyuncs.com", LocalName: c.Region, Status: "available",
	}}
	return out, nil
}

type describedZones struct {
	Zones struct {
		Zone []zoneView `json:"Zone"`
	} `json:"Zones"`
}

type zoneView struct {
	ZoneID    string `json:"ZoneId"`
	LocalName string `json:"LocalName"`
	ZoneType  string `json:"ZoneType"`
}

// zones are those in which there is something.
func zones(c *state.Cloud) []string {
	var ids []string
	for _, vsw := range c.VSwitches {
		ids = append(ids, vsw.ZoneID)
	}
	for _, i := range c.Instances {
		ids = append(ids, i.ZoneID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func describeZones(c *api.Context) (any, *api.Error) {
	var out describedZones
	out.Zones.Zone = []zoneView{}
	for _, id := range zones(c.State) {
		out.Zones.Zone = append(out.Zones.Zone, zoneView{ZoneID: id, LocalName: id, ZoneType: "AvailabilityZone"})
	}
	return out, nil
}
