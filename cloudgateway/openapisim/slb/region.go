package slb

import (
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
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

type describedZones struct {
	Zones struct {
		Zone []masterZone `json:"Zone"`
	} `json:"Zones"`
}

type masterZone struct {
	zoneView
	SlaveZones struct {
		SlaveZone []zoneView `json:"SlaveZone"`
	} `json:"SlaveZones"`
}

type zoneView struct {
	ZoneID    string `json:"ZoneId"`
	LocalName string `json:"LocalName"`
}

func describeZones(c *api.Context) (any, *api.Error) {
	var out describedZones
	for _, master := range regions.Zones(c) {
		zone := masterZone{zoneView: zoneView{ZoneID: master, LocalName: master}}
		for _, slave := range regions.Zones(c) {
			if slave != master {
				zone.SlaveZones.SlaveZone = append(zone.SlaveZones.SlaveZone, zoneView{ZoneID: slave, LocalName: slave})
			}
		}
		out.Zones.Zone = append(out.Zones.Zone, zone)
	}
	return out, nil
}

type availableResources struct {
	AvailableResources struct {
		AvailableResource []availableResource `json:"AvailableResource"`
	} `json:"AvailableResources"`
}

type availableResource struct {
	MasterZoneID     string `json:"MasterZoneId"`
	SlaveZoneID      string `json:"SlaveZoneId"`
	SupportResources struct {
		SupportResource []supportResource `json:"SupportResource"`
	} `json:"SupportResources"`
}

type supportResource struct {
	AddressType      string `json:"AddressType"`
	AddressIPVersion string `json:"AddressIPVersion"`
}

func describeAvailableResource(c *api.Context) (any, *api.Error) {
	var kinds []supportResource
	for _, kind := range []supportResource{{"vpc", "ipv4"}, {"classic_internet", "ipv4"}, {"classic_internet", "ipv6"}} {
		if (!c.Has("AddressType") || kind.AddressType == c.Get("AddressType")) &&
			(!c.Has("AddressIPVersion") || kind.AddressIPVersion == c.Get("AddressIPVersion")) {
			kinds = append(kinds, kind)
		}
	}
	var out availableResources
	out.AvailableResources.AvailableResource = []availableResource{}
	for _, master := range regions.Zones(c) {
		for _, slave := range regions.Zones(c) {
			if slave == master || len(kinds) == 0 {
				continue
			}
			pair := availableResource{MasterZoneID: master, SlaveZoneID: slave}
			pair.SupportResources.SupportResource = kinds
			out.AvailableResources.AvailableResource = append(out.AvailableResources.AvailableResource, pair)
		}
	}
	return out, nil
}
