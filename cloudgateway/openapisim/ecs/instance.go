package ecs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/regions"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func instanceActions() []api.Action {
	return []api.Action{
		api.Read("DescribeInstances", api.On(findInstances, describeInstances), instanceFilterCodes(),
			slices.Concat(listing.Params(maxResults), instanceFilters(), []api.Param{
				api.Optional("NextToken"), {Name: "MaxResults", Kind: api.Int}, {Name: "AdditionalAttributes", Kind: api.Strings},
				api.Flag("DryRun"),
			})...),
		api.Read("DescribeInstanceStatus", describeInstanceStatus,
			api.Words("InvalidParameter.TooManyInstanceIds InvalidZoneId.NotFound"),
			append(listing.Params(50), region(), api.Param{Name: "InstanceId", Kind: api.Strings}, api.Optional("ZoneId"))...),
	}
}

func newAddresses(ips []string) api.Object { return api.Object{"IpAddress", ips} }

func newSecurityGroupIDs(ids []string) api.Object { return api.Object{"SecurityGroupId", ids} }

// inGroup reports whether a filter is not set, or one of the groups.
func inGroup(filter string, groups []string) bool {
	return filter == "" || slices.Contains(groups, filter)
}

// What a seed does not say of its instances. Those paid by use never expire.
const (
	birthday = "2026-01-01T00:00Z"
	never    = "2099-12-31T15:59Z"
)

func creationTime(i *state.Instance) string {
	if i.Created.IsZero() {
		return birthday
	}
	return i.Created.UTC().Format(minutes)
}

func imageOf(i *state.Instance) string { return cmp.Or(i.ImageID, images()[0].id) }

func internetChargeType(i *state.Instance) string {
	return cmp.Or(i.InternetChargeType, "PayByTraffic")
}

// family of an instance type: ecs.g7 of ecs.g7.large, ecs.t5 of ecs.t5-lc1m1.small.
func family(instanceType string) string {
	if at := strings.LastIndexByte(instanceType, '.'); at >= 0 {
		instanceType = instanceType[:at]
	}
	name, _, _ := strings.Cut(instanceType, "-")
	return name
}

func newInstanceView(c *api.Context, i *state.Instance, interfaces []*state.NetworkInterface) api.Object {
	size := sizeOf(i.InstanceType)
	network := "vpc"
	if i.VpcID == "" {
		network = "classic"
	}
	eip := state.Eip{}
	if found := c.State.Eips[i.EipID]; found != nil {
		eip = *found
		state.Fill(&eip.InternetChargeType, "PayByTraffic")
	}
	bandwidth, _ := strconv.Atoi(eip.Bandwidth) // a text in VPC, 0 if a seed has none
	return api.Spelled(i.Spelling, api.Object{
		"InstanceId", i.ID, "InstanceName", i.Name, "HostName", i.HostName, "RegionId", c.Region, "ZoneId", i.ZoneID,
		"InstanceType", i.InstanceType, "InstanceTypeFamily", family(i.InstanceType), "ImageId", imageOf(i),
		"CreationTime", creationTime(i), "StartTime", creationTime(i), "ExpiredTime", never, "Status", i.Status,
		"InstanceNetworkType", network, "InstanceChargeType", i.ChargeType, "InternetChargeType", internetChargeType(i),
		"InternetMaxBandwidthIn", i.Number("InternetMaxBandwidthIn"), "InternetMaxBandwidthOut", i.InternetBandwidth,
		"SpotStrategy", i.SpotStrategy,
		"Cpu", size.cores, "CPU", size.cores, "Memory", size.gibibytes * 1024, "OSType", "linux",
		"Description", i.Description, "ResourceGroupId", cmp.Or(i.ResourceGroupID, state.DefaultResourceGroup),
		"DeploymentSetId", i.DeploymentSetID,
		"KeyPairName", i.KeyPairName, "SerialNumber", "", "StoppedMode", cmp.Or(i.StoppedMode, "Not-applicable"),
		"IoOptimized", true, "DeletionProtection", i.DeletionProtection, "VpcAttributes", api.Object{
			"VpcId", i.VpcID, "VSwitchId", i.VSwitchID, "NatIpAddress", "",
			"PrivateIpAddress", newAddresses(i.PrivateIPs),
		}, "InnerIpAddress", newAddresses(i.InnerIPs), "PublicIpAddress", newAddresses(i.PublicIPs),
		"EipAddress", api.Object{
			"AllocationId", eip.ID, "IpAddress", eip.Address, "InternetChargeType", eip.InternetChargeType,
			"IsSupportUnassociate", eip.ID != "", "Bandwidth", bandwidth,
		},
		"NetworkInterfaces", api.Object{"NetworkInterface", api.Objects(interfaces, func(eni *state.NetworkInterface) api.Object {
			return api.Object{
				"NetworkInterfaceId", eni.ID, "Type", eni.Type, "MacAddress", eni.MacAddress,
				"PrimaryIpAddress", eni.PrimaryIP, "PrivateIpSets", newPrivateIPSets(eni), "Ipv6Sets", newIPv6Sets(eni),
			}
		})},
		"SecurityGroupIds", newSecurityGroupIDs(i.SecurityGroupIDs),
		"OperationLocks", api.Object{"LockReason", api.Objects(i.LockReasons, func(reason string) api.Object {
			return api.Object{"LockReason", reason}
		})}, "Tags", tags.Longs(i.Tags),
		"RdmaIpAddress", newAddresses(nil), "OSName", osName(i), "OSNameEn", osName(i),
		"SpotPriceLimit", spotPrice(i), "SpotDuration", i.Number("SpotDuration"),
		"SpotInterruptionBehavior", i.Attributes["SpotInterruptionBehavior"], "AutoReleaseTime", i.Attributes["AutoReleaseTime"],
		"CreditSpecification", i.Attributes["CreditSpecification"], "MetadataOptions", api.Object{
			"HttpEndpoint", i.Attributes["HttpEndpoint"], "HttpTokens", i.Attributes["HttpTokens"],
			"HttpPutResponseHopLimit", i.Number("HttpPutResponseHopLimit"),
		},
		"ImageOptions", api.Object{"LoginAsNonRoot", i.Attributes["ImageOptions.LoginAsNonRoot"] == "true"},
		"HpcClusterId", "", "DeploymentSetGroupNo", 0, "ClusterId", "", "SaleCycle", "", "GPUAmount", 0, "GPUSpec", "",
		"LocalStorageAmount", 0, "LocalStorageCapacity", 0, "DeviceAvailable", true, "VlanId", "", "ISP", "", "Recyclable", false,
		"DedicatedHostAttribute", api.Object{"DedicatedHostId", "", "DedicatedHostName", "", "DedicatedHostClusterId", ""},
		"DedicatedInstanceAttribute", api.Object{"Tenancy", "", "Affinity", ""},
		"HibernationOptions", api.Object{"Configured", false}, "EcsCapacityReservationAttr", api.Object{
			"CapacityReservationId", "", "CapacityReservationPreference", "",
		},
	})
}

// minResults and maxResults are what MaxResults is brought to. A numbered page is no larger either.
const minResults, maxResults = 10, 100

func describeInstances(c *api.Context, matching []*state.Instance) (any, *api.Error) {
	size := min(max(c.Int("MaxResults", minResults), minResults), maxResults)
	instances, answer, ok := page(c, matching, func(i *state.Instance) string { return i.ID }, size)
	if !ok {
		return nil, api.Invalid("NextToken")
	}
	interfaces := interfacesOf(c.State, instances)
	return append(answer, "Instances", api.Object{"Instance", api.Objects(instances, func(i *state.Instance) api.Object {
		return newInstanceView(c, i, interfaces[i.ID])
	})}), nil
}

func describeInstanceStatus(c *api.Context) (any, *api.Error) {
	ids := c.List("InstanceId")
	if limit := c.Settings.IDsPerCall; len(ids) > limit {
		return nil, forbidden("InvalidParameter.TooManyInstanceIds", "The number of InstanceIds exceeds %d.", limit)
	}
	if zone := c.Get("ZoneId"); zone != "" && !strings.HasPrefix(zone, c.Region+"-") && !slices.Contains(regions.Zones(c), zone) {
		return nil, api.NotFound("InvalidZoneId.NotFound", "The specified zone does not exist.")
	}
	matching := listing.Find(c.State.Instances, func(i *state.Instance) bool {
		return listing.Among(ids, i.ID) && listing.Match(c.Get("ZoneId"), i.ZoneID)
	})
	return listing.Answer(c, matching, "InstanceStatuses", "InstanceStatus", func(i *state.Instance) api.Object {
		return api.Object{"InstanceId", i.ID, "Status", i.Status}
	})
}
