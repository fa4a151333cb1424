package ecs

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/regions"
)

// availableActions say what there is in which zone.
func availableActions() []api.Action {
	return []api.Action{
		api.Read("DescribeZones", describeZones, nil, region(), api.Flag("Verbose")),
		api.Read("DescribeAvailableResource", describeAvailable, api.Words("Invalid.RegionId"),
			api.Param{Name: "RegionId", Required: true, Missing: api.NotFound("Invalid.RegionId", "The specified RegionId does not exist.")},
			api.Param{
				Name: "DestinationResource", Required: true,
				Enum: []string{"Zone", "IoOptimized", "InstanceType", "Network", "SystemDisk", "DataDisk"},
			}, api.Optional("ZoneId"), api.Optional("InstanceType"), api.OneOf("IoOptimized", "none", "optimized"),
			api.Optional("SystemDiskCategory"), api.Optional("DataDiskCategory"),
			api.OneOf("NetworkCategory", "vpc", "classic"), api.OneOf("InstanceChargeType", "PrePaid", "PostPaid"),
			api.Number("Cores", 1, 1024), api.Optional("Memory")),
	}
}

// wrapped is a list that an answer wraps in a name of its own.
type wrapped map[string][]string

type zoneView struct {
	ZoneID                      string             `json:"ZoneId"`
	LocalName                   string             `json:"LocalName"`
	ZoneType                    string             `json:"ZoneType"`
	AvailableResourceCreation   wrapped            `json:"AvailableResourceCreation"`
	AvailableInstanceTypes      wrapped            `json:"AvailableInstanceTypes"`
	AvailableDiskCategories     wrapped            `json:"AvailableDiskCategories"`
	AvailableVolumeCategories   wrapped            `json:"AvailableVolumeCategories"`
	AvailableDedicatedHostTypes wrapped            `json:"AvailableDedicatedHostTypes"`
	DedicatedHostGenerations    wrapped            `json:"DedicatedHostGenerations"`
	AvailableResources          availableResources `json:"AvailableResources"`
}

type availableResources struct {
	ResourcesInfo []resourcesInfo `json:"ResourcesInfo"`
}

type resourcesInfo struct {
	IoOptimized          bool    `json:"IoOptimized"`
	SystemDiskCategories wrapped `json:"SystemDiskCategories"`
	DataDiskCategories   wrapped `json:"DataDiskCategories"`
	InstanceGenerations  wrapped `json:"InstanceGenerations"`
	InstanceTypeFamilies wrapped `json:"InstanceTypeFamilies"`
	InstanceTypes        wrapped `json:"InstanceTypes"`
	NetworkTypes         wrapped `json:"NetworkTypes"`
}

type describedZones struct {
	Zones struct {
		Zone []zoneView `json:"Zone"`
	} `json:"Zones"`
}

func describeZones(c *api.Context) (any, *api.Error) {
	var types, families []string
	for _, s := range catalog() {
		types, families = append(types, s.name), append(families, family(s.name))
	}
	families = slices.Compact(families)
	var out describedZones
	for _, id := range regions.Zones(c) {
		out.Zones.Zone = append(out.Zones.Zone, zoneView{
			ZoneID: id, LocalName: id, ZoneType: "AvailabilityZone",
			AvailableResourceCreation:   wrapped{"ResourceTypes": {"VSwitch", "IoOptimized", "Instance", "Disk"}},
			AvailableInstanceTypes:      wrapped{"InstanceTypes": types},
			AvailableDiskCategories:     wrapped{"DiskCategories": diskCategories()},
			AvailableVolumeCategories:   wrapped{"VolumeCategories": {}},
			AvailableDedicatedHostTypes: wrapped{"DedicatedHostType": {}},
			DedicatedHostGenerations:    wrapped{"DedicatedHostGeneration": {}},
			AvailableResources: availableResources{ResourcesInfo: []resourcesInfo{{
				IoOptimized:          true,
				SystemDiskCategories: wrapped{"supportedSystemDiskCategory": diskCategories()},
				DataDiskCategories:   wrapped{"supportedDataDiskCategory": diskCategories()},
				InstanceGenerations:  wrapped{"supportedInstanceGeneration": {"ecs-7", "ecs-8"}},
				InstanceTypeFamilies: wrapped{"supportedInstanceTypeFamily": families},
				InstanceTypes:        wrapped{"supportedInstanceType": types},
				NetworkTypes:         wrapped{"supportedNetworkCategory": {"vpc"}},
			}}},
		})
	}
	return out, nil
}

type availableZone struct {
	ZoneID             string                  `json:"ZoneId"`
	RegionID           string                  `json:"RegionId"`
	Status             string                  `json:"Status"`
	StatusCategory     string                  `json:"StatusCategory"`
	AvailableResources availableResourcesOfOne `json:"AvailableResources"`
}

type availableResourcesOfOne struct {
	AvailableResource []availableResource `json:"AvailableResource"`
}

type availableResource struct {
	Type               string             `json:"Type"`
	SupportedResources supportedResources `json:"SupportedResources"`
}

type supportedResources struct {
	SupportedResource []supportedResource `json:"SupportedResource"`
}

type supportedResource struct {
	Value          string `json:"Value"`
	Status         string `json:"Status"`
	StatusCategory string `json:"StatusCategory"`
	Min            int    `json:"Min,omitempty"` // of disks, in GiB; Max and Unit too
	Max            int    `json:"Max,omitempty"`
	Unit           string `json:"Unit,omitempty"`
}

type describedAvailable struct {
	AvailableZones struct {
		AvailableZone []availableZone `json:"AvailableZone"`
	} `json:"AvailableZones"`
}

// describeAvailable lists every zone that has what is asked for. Everything on sale is in stock everywhere.
func describeAvailable(c *api.Context) (any, *api.Error) {
	memory, err := size(c, "Memory", 0)
	if err != nil {
		return nil, err
	}
	types := slices.DeleteFunc(catalog(), func(s instanceSize) bool {
		return !listing.Match(c.Get("InstanceType"), s.name) || c.Has("Cores") && s.cores != c.Int("Cores", 0) || memory > 0 && float64(s.gibibytes) != memory
	})
	categories := func(name string) []string {
		return slices.DeleteFunc(diskCategories(), func(category string) bool { return !listing.Match(c.Get(name), category) })
	}
	system, data := categories("SystemDiskCategory"), categories("DataDiskCategory")
	sold := len(types) > 0 && len(system) > 0 && len(data) > 0 && c.Get("NetworkCategory") != "classic" && c.Get("IoOptimized") != "none"
	var out describedAvailable
	out.AvailableZones.AvailableZone = []availableZone{}
	for _, id := range regions.Zones(c) {
		if !sold || !listing.Match(c.Get("ZoneId"), id) {
			continue
		}
		zone := availableZone{ZoneID: id, RegionID: c.Region, Status: "Available", StatusCategory: "WithStock"}
		zone.AvailableResources.AvailableResource = []availableResource{newAvailable(c.Get("DestinationResource"), types, system, data)}
		out.AvailableZones.AvailableZone = append(out.AvailableZones.AvailableZone, zone)
	}
	return out, nil
}

func newAvailable(kind string, types []instanceSize, system, data []string) availableResource {
	var values []string
	disk := supportedResource{Unit: "GiB", Min: 20}
	switch kind {
	case "SystemDisk":
		values, disk.Max = system, 2048
	case "DataDisk":
		values, disk.Max = data, 32768
	case "IoOptimized":
		values, disk = []string{"optimized"}, supportedResource{}
	case "Network":
		values, disk = []string{"vpc"}, supportedResource{}
	default: // Zone has the types as well
		disk = supportedResource{}
		kind = "InstanceType"
		for _, s := range types {
			values = append(values, s.name)
		}
	}
	out := availableResource{Type: kind}
	for _, value := range values {
		supported := disk
		supported.Value, supported.Status, supported.StatusCategory = value, "Available", "WithStock"
		out.SupportedResources.SupportedResource = append(out.SupportedResources.SupportedResource, supported)
	}
	return out
}
