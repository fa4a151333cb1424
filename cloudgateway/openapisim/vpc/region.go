package vpc

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
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
}

func describeRegions(c *api.Context) (any, *api.Error) {
	var out describedRegions
	out.Regions.Region = []regionView{{RegionID: c.Region, RegionEndpoint: "vpc." + c.Region + ".aliyuncs.com", LocalName: c.Region}}
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

// describeZones lists the zones in which there is a vSwitch.
func describeZones(c *api.Context) (any, *api.Error) {
	var ids []string
	for _, vsw := range c.State.VSwitches {
		ids = append(ids, vsw.ZoneID)
	}
	slices.Sort(ids)
	var out describedZones
	out.Zones.Zone = []zoneView{}
	for _, id := range slices.Compact(ids) {
		out.Zones.Zone = append(out.Zones.Zone, zoneView{ZoneID: id, LocalName: id, ZoneType: "AvailabilityZone"})
	}
	return out, nil
}
