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
		api.Read("DescribeZones", describeZones, nil, region(), api.Flag("Verbose"), soldAs(), spot()),
		api.Read("DescribeAvailableResource", describeAvailable, api.Words("Invalid.RegionId"),
			api.Param{Name: "RegionId", Required: true, Missing: api.NotFound("Invalid.RegionId", "The specified RegionId does not exist.")},
			api.Param{
				Name: "DestinationResource", Required: true,
				Enum: []string{"Zone", "IoOptimized", "InstanceType", "Network", "SystemDisk", "DataDisk"},
			}, api.Optional("ZoneId"), api.Optional("InstanceType"), api.OneOf("IoOptimized", "none", "optimized"),
			api.Optional("SystemDiskCategory"), api.Optional("DataDiskCategory"),
			api.OneOf("NetworkCategory", "vpc", "classic"), soldAs(), spot(),
			api.Number("Cores", 1, 1024), api.Optional("Memory")),
	}
}

// soldAs and spot are how instances are paid for. Everything here is sold in each way, so that they change no answer.
func soldAs() api.Param { return api.OneOf("InstanceChargeType", "PrePaid", "PostPaid") }
func spot() api.Param {
	return api.OneOf("SpotStrategy", "NoSpot", "SpotWithPriceLimit", "SpotAsPriceGo")
}

// wrapped is a list that an answer wraps in a name of its own.
type wrapped map[string][]string

func describeZones(c *api.Context) (any, *api.Error) {
	var types, families []string
	for _, s := range catalog() {
		types, families = append(types, s.name), append(families, family(s.name))
	}
	families = slices.Compact(families)
	return api.Object{"Zones", api.Object{"Zone", api.Objects(regions.Zones(c), func(id string) api.Object {
		return api.Object{
			"ZoneId", id, "LocalName", id, "ZoneType", "AvailabilityZone",
			"AvailableResourceCreation", wrapped{"ResourceTypes": {"VSwitch", "IoOptimized", "Instance", "Disk"}},
			"AvailableInstanceTypes", wrapped{"InstanceTypes": types},
			"AvailableDiskCategories", wrapped{"DiskCategories": diskCategories()},
			"AvailableVolumeCategories", wrapped{"VolumeCategories": {}},
			"AvailableDedicatedHostTypes", wrapped{"DedicatedHostType": {}},
			"DedicatedHostGenerations", wrapped{"DedicatedHostGeneration": {}}, "AvailableResources", api.Object{
				"ResourcesInfo", []api.Object{
					{
						"IoOptimized", true,
						"SystemDiskCategories", wrapped{"supportedSystemDiskCategory": diskCategories()},
						"DataDiskCategories", wrapped{"supportedDataDiskCategory": diskCategories()},
						"InstanceGenerations", wrapped{"supportedInstanceGeneration": {"ecs-7", "ecs-8"}},
						"InstanceTypeFamilies", wrapped{"supportedInstanceTypeFamily": families},
						"InstanceTypes", wrapped{"supportedInstanceType": types},
						"NetworkTypes", wrapped{"supportedNetworkCategory": {"vpc"}},
					},
				},
			},
		}
	})}}, nil
}

// describeAvailable lists every zone that has what is asked for. Everything on sale is in stock everywhere.
func describeAvailable(c *api.Context) (any, *api.Error) {
	memory, err := size(c, "Memory", 0)
	if err != nil {
		return nil, err
	}
	types := slices.DeleteFunc(catalog(), func(s instanceSize) bool {
		return !listing.Match(c.Get("InstanceType"), s.name) || c.Has("Cores") && s.cores != c.Int("Cores", 0) ||
			memory > 0 && float64(s.gibibytes) != memory
	})
	categories := func(name string) []string {
		return slices.DeleteFunc(diskCategories(), func(category string) bool { return !listing.Match(c.Get(name), category) })
	}
	system, data := categories("SystemDiskCategory"), categories("DataDiskCategory")
	sold := len(types) > 0 && len(system) > 0 && len(data) > 0 && c.Get("NetworkCategory") != "classic" && c.Get("IoOptimized") != "none"
	zones := slices.DeleteFunc(regions.Zones(c), func(id string) bool { return !sold || !listing.Match(c.Get("ZoneId"), id) })
	return api.Object{"AvailableZones", api.Object{"AvailableZone", api.Objects(zones, func(id string) api.Object {
		return api.Object{
			"ZoneId", id, "RegionId", c.Region, "Status", "Available", "StatusCategory", "WithStock",
			"AvailableResources", api.Object{"AvailableResource", []api.Object{newAvailable(c.Get("DestinationResource"), types, system, data)}},
		}
	})}}, nil
}

func newAvailable(kind string, types []instanceSize, system, data []string) api.Object {
	var values []string
	var disk []any // in GiB
	switch kind {
	case "SystemDisk":
		values, disk = system, []any{"Min", 20, "Max", 2048, "Unit", "GiB"}
	case "DataDisk":
		values, disk = data, []any{"Min", 20, "Max", 32768, "Unit", "GiB"}
	case "IoOptimized":
		values = []string{"optimized"}
	case "Network":
		values = []string{"vpc"}
	default: // Zone has the types as well
		kind = "InstanceType"
		for _, s := range types {
			values = append(values, s.name)
		}
	}
	return api.Object{"Type", kind, "SupportedResources", api.Object{"SupportedResource", api.Objects(values, func(value string) api.Object {
		return append(api.Object{"Value", value, "Status", "Available", "StatusCategory", "WithStock"}, disk...)
	})}}
}
