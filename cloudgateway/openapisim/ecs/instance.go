package ecs

import (
	"cmp"
	"maps"
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

// addresses is a list of addresses as ECS wraps it.
type addresses struct {
	IPAddress []string `json:"IpAddress"`
}

func newAddresses(ips []string) addresses {
	return addresses{IPAddress: append([]string{}, ips...)}
}

type instanceView struct {
	InstanceID              string             `json:"InstanceId"`
	InstanceName            string             `json:"InstanceName"`
	HostName                string             `json:"HostName"`
	RegionID                string             `json:"RegionId"`
	ZoneID                  string             `json:"ZoneId"`
	InstanceType            string             `json:"InstanceType"`
	InstanceTypeFamily      string             `json:"InstanceTypeFamily"`
	ImageID                 string             `json:"ImageId"`
	CreationTime            string             `json:"CreationTime"`
	StartTime               string             `json:"StartTime"`
	ExpiredTime             string             `json:"ExpiredTime"`
	Status                  string             `json:"Status"`
	InstanceNetworkType     string             `json:"InstanceNetworkType"`
	InstanceChargeType      string             `json:"InstanceChargeType"`
	InternetChargeType      string             `json:"InternetChargeType"`
	InternetMaxBandwidthIn  int                `json:"InternetMaxBandwidthIn"`
	InternetMaxBandwidthOut int                `json:"InternetMaxBandwidthOut"`
	SpotStrategy            string             `json:"SpotStrategy"`
	CPU                     int                `json:"Cpu"`
	CPUToo                  int                `json:"CPU"` // some clients read this one
	Memory                  int                `json:"Memory"`
	OSType                  string             `json:"OSType"`
	Description             string             `json:"Description"`
	ResourceGroupID         string             `json:"ResourceGroupId"`
	DeploymentSetID         string             `json:"DeploymentSetId"`
	KeyPairName             string             `json:"KeyPairName"`
	SerialNumber            string             `json:"SerialNumber"`
	StoppedMode             string             `json:"StoppedMode"`
	IoOptimized             bool               `json:"IoOptimized"`
	DeletionProtection      bool               `json:"DeletionProtection"`
	VpcAttributes           vpcAttributes      `json:"VpcAttributes"`
	InnerIPAddress          addresses          `json:"InnerIpAddress"`
	PublicIPAddress         addresses          `json:"PublicIpAddress"`
	EipAddress              eipAddress         `json:"EipAddress"`
	NetworkInterfaces       attachedInterfaces `json:"NetworkInterfaces"`
	SecurityGroupIDs        securityGroupIDs   `json:"SecurityGroupIds"`
	OperationLocks          instanceLocks      `json:"OperationLocks"`
	Tags                    tags.LongList      `json:"Tags"`
	RdmaIPAddress           addresses          `json:"RdmaIpAddress"`
}

type vpcAttributes struct {
	VpcID            string    `json:"VpcId"`
	VSwitchID        string    `json:"VSwitchId"`
	NatIPAddress     string    `json:"NatIpAddress"`
	PrivateIPAddress addresses `json:"PrivateIpAddress"`
}

type eipAddress struct {
	AllocationID         string `json:"AllocationId"`
	IPAddress            string `json:"IpAddress"`
	InternetChargeType   string `json:"InternetChargeType"`
	IsSupportUnassociate bool   `json:"IsSupportUnassociate"`
	Bandwidth            int    `json:"Bandwidth"`
}

type attachedInterfaces struct {
	NetworkInterface []attachedInterface `json:"NetworkInterface"`
}

type attachedInterface struct {
	NetworkInterfaceID string        `json:"NetworkInterfaceId"`
	Type               string        `json:"Type"`
	MacAddress         string        `json:"MacAddress"`
	PrimaryIPAddress   string        `json:"PrimaryIpAddress"`
	PrivateIPSets      privateIPSets `json:"PrivateIpSets"`
	IPv6Sets           ipv6Sets      `json:"Ipv6Sets"`
}

type securityGroupIDs struct {
	SecurityGroupID []string `json:"SecurityGroupId"`
}

func newSecurityGroupIDs(ids []string) securityGroupIDs {
	return securityGroupIDs{SecurityGroupID: append([]string{}, ids...)}
}

// inGroup reports whether a filter is not set, or one of the groups.
func inGroup(filter string, groups []string) bool {
	return filter == "" || slices.Contains(groups, filter)
}

type instanceLocks struct {
	LockReason []struct{} `json:"LockReason"`
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

// family of an instance type: ecs.g7 of ecs.g7.large.
func family(instanceType string) string {
	if at := strings.LastIndexByte(instanceType, '.'); at >= 0 {
		return instanceType[:at]
	}
	return instanceType
}

func newInstanceView(c *api.Context, i *state.Instance, interfaces []*state.NetworkInterface) instanceView {
	size := sizeOf(i.InstanceType)
	v := instanceView{
		InstanceID: i.ID, InstanceName: i.Name, HostName: i.HostName, RegionID: c.Region, ZoneID: i.ZoneID,
		InstanceType: i.InstanceType, Status: i.Status, InstanceNetworkType: "vpc", InstanceChargeType: i.ChargeType,
		InternetChargeType: internetChargeType(i), InternetMaxBandwidthOut: i.InternetBandwidth, SpotStrategy: i.SpotStrategy,
		CPU: size.cores, CPUToo: size.cores, Memory: size.gibibytes * 1024, OSType: "linux",
		InstanceTypeFamily: family(i.InstanceType), ImageID: imageOf(i), KeyPairName: i.KeyPairName,
		CreationTime: creationTime(i), StartTime: creationTime(i), ExpiredTime: never,
		StoppedMode: cmp.Or(i.StoppedMode, "Not-applicable"), IoOptimized: true,
		Description: i.Description, ResourceGroupID: i.ResourceGroupID, DeletionProtection: i.DeletionProtection,
		DeploymentSetID: i.DeploymentSetID,
		VpcAttributes:   vpcAttributes{VpcID: i.VpcID, VSwitchID: i.VSwitchID, PrivateIPAddress: newAddresses(i.PrivateIPs)},
		InnerIPAddress:  newAddresses(i.InnerIPs), PublicIPAddress: newAddresses(i.PublicIPs), RdmaIPAddress: newAddresses(nil),
		NetworkInterfaces: attachedInterfaces{NetworkInterface: []attachedInterface{}},
		SecurityGroupIDs:  newSecurityGroupIDs(i.SecurityGroupIDs),
		OperationLocks:    instanceLocks{LockReason: []struct{}{}},
		Tags:              tags.Longs(i.Tags),
	}
	if v.VpcAttributes.VpcID == "" {
		v.InstanceNetworkType = "classic"
	}
	if eip := c.State.Eips[i.EipID]; eip != nil {
		bandwidth, _ := strconv.Atoi(eip.Bandwidth) // a text in VPC, 0 if a seed has none
		v.EipAddress = eipAddress{
			AllocationID: eip.ID, IPAddress: eip.Address, InternetChargeType: cmp.Or(eip.InternetChargeType, "PayByTraffic"),
			IsSupportUnassociate: true, Bandwidth: bandwidth,
		}
	}
	for _, eni := range interfaces {
		v.NetworkInterfaces.NetworkInterface = append(v.NetworkInterfaces.NetworkInterface, attachedInterface{
			NetworkInterfaceID: eni.ID, Type: eni.Type, MacAddress: eni.MacAddress, PrimaryIPAddress: eni.PrimaryIP,
			PrivateIPSets: newPrivateIPSets(eni), IPv6Sets: newIPv6Sets(eni),
		})
	}
	return v
}

type describedInstances struct {
	listing.Page
	NextToken string `json:"NextToken"`
	Instances struct {
		Instance []instanceView `json:"Instance"`
	} `json:"Instances"`
}

// minResults and maxResults are what MaxResults is brought to. A numbered page is no larger either.
const minResults, maxResults = 10, 100

func describeInstances(c *api.Context, matching []*state.Instance) (any, *api.Error) {
	var out describedInstances
	var ok bool
	size := min(max(c.Int("MaxResults", minResults), minResults), maxResults)
	matching, out.NextToken, out.Page, ok = page(c, matching, func(i *state.Instance) string { return i.ID }, size)
	if !ok {
		return nil, api.Invalid("NextToken")
	}
	interfaces := interfacesOf(c.State, matching)
	out.Instances.Instance = make([]instanceView, 0, len(matching))
	for _, i := range matching {
		out.Instances.Instance = append(out.Instances.Instance, newInstanceView(c, i, interfaces[i.ID]))
	}
	return out, nil
}

type describedStatuses struct {
	listing.Page
	InstanceStatuses struct {
		InstanceStatus []instanceStatus `json:"InstanceStatus"`
	} `json:"InstanceStatuses"`
}

type instanceStatus struct {
	InstanceID string `json:"InstanceId"`
	Status     string `json:"Status"`
}

func describeInstanceStatus(c *api.Context) (any, *api.Error) {
	ids := c.List("InstanceId")
	if limit := c.Settings.IDsPerCall; len(ids) > limit {
		return nil, forbidden("InvalidParameter.TooManyInstanceIds", "The number of InstanceIds exceeds %d.", limit)
	}
	if zone := c.Get("ZoneId"); zone != "" && !strings.HasPrefix(zone, c.Region+"-") && !slices.Contains(regions.Zones(c), zone) {
		return nil, api.NotFound("InvalidZoneId.NotFound", "The specified zone does not exist.")
	}
	var statuses []instanceStatus
	for _, id := range slices.Sorted(maps.Keys(c.State.Instances)) {
		i := c.State.Instances[id]
		if listing.Among(ids, id) && listing.Match(c.Get("ZoneId"), i.ZoneID) {
			statuses = append(statuses, instanceStatus{InstanceID: id, Status: i.Status})
		}
	}
	var out describedStatuses
	page, numbers := listing.Numbered(c, statuses)
	out.Page = numbers
	out.InstanceStatuses.InstanceStatus = append([]instanceStatus{}, page...)
	return out, nil
}
