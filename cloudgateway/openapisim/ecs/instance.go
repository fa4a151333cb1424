package ecs

import (
	"cmp"
	"encoding/json"
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
	jsonList := func(name string) api.Param { return api.Param{Name: name, Kind: api.JSON} }
	return []api.Action{
		{
			Name: "DescribeInstances", Handle: describeInstances,
			Params: append(listing.Params(maxResults),
				region(), jsonList("InstanceIds"), jsonList("PrivateIpAddresses"), jsonList("InnerIpAddresses"),
				jsonList("PublicIpAddresses"), jsonList("EipAddresses"), tags.Uncounted(),
				api.Param{Name: "VpcId"}, api.Param{Name: "VSwitchId"}, api.Param{Name: "ZoneId"}, api.Param{Name: "InstanceName"},
				api.Param{Name: "InstanceType"}, api.Param{Name: "InstanceChargeType"}, api.Param{Name: "InstanceNetworkType"},
				api.Param{Name: "SecurityGroupId"}, api.Param{Name: "ResourceGroupId"}, api.Param{Name: "Status"}, api.Param{Name: "NextToken"}, api.Param{Name: "MaxResults", Kind: api.Int},
				api.Param{Name: "AdditionalAttributes", Kind: api.Strings}, api.Param{Name: "DryRun", Kind: api.Bool},
			),
			Codes: []string{
				"InvalidNetworkType.NotFound", "InvalidInstanceChargeType.NotFound", "InvalidStatus.NotFound", "InvalidTagCount", "DryRunOperation",
			},
		},
		{
			Name: "DescribeInstanceStatus", Handle: describeInstanceStatus,
			Params: append(listing.Params(50), region(), api.Param{Name: "InstanceId", Kind: api.Strings}, api.Param{Name: "ZoneId"}),
			Codes:  []string{"InvalidParameter.TooManyInstanceIds", "InvalidZoneId.NotFound"},
		},
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
	Tags                    tags.ECSList       `json:"Tags"`
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

// inGroup tells whether a filter is not set, or one of the groups.
func inGroup(filter string, groups []string) bool {
	return filter == "" || slices.Contains(groups, filter)
}

type instanceLocks struct {
	LockReason []struct{} `json:"LockReason"`
}

// What all instances have in common. A seed does not say when they came; those paid by use never expire.
const (
	cpus     = 4
	birthday = "2026-01-01T00:00Z"
)

// family of an instance type: ecs.g7 of ecs.g7.large.
func family(instanceType string) string {
	if at := strings.LastIndexByte(instanceType, '.'); at >= 0 {
		return instanceType[:at]
	}
	return instanceType
}

func newInstanceView(c *api.Context, i *state.Instance, interfaces []*state.NetworkInterface) instanceView {
	v := instanceView{
		InstanceID: i.ID, InstanceName: i.Name, HostName: i.HostName, RegionID: c.Region, ZoneID: i.ZoneID,
		InstanceType: i.InstanceType, Status: i.Status, InstanceNetworkType: "vpc", InstanceChargeType: i.ChargeType,
		InternetChargeType: "PayByTraffic", SpotStrategy: i.SpotStrategy, CPU: cpus, CPUToo: cpus, Memory: 16384, OSType: "linux",
		InstanceTypeFamily: family(i.InstanceType), ImageID: "aliyun_3_x64_20G_alibase_20260101.vhd",
		CreationTime: birthday, StartTime: birthday, ExpiredTime: "2099-12-31T15:59Z",
		StoppedMode: cmp.Or(i.StoppedMode, "Not-applicable"), IoOptimized: true,
		Description: i.Description, ResourceGroupID: i.ResourceGroupID, DeletionProtection: i.DeletionProtection,
		DeploymentSetID: i.DeploymentSetID,
		VpcAttributes:   vpcAttributes{VpcID: i.VpcID, VSwitchID: i.VSwitchID, PrivateIPAddress: newAddresses(i.PrivateIPs)},
		InnerIPAddress:  newAddresses(i.InnerIPs), PublicIPAddress: newAddresses(i.PublicIPs), RdmaIPAddress: newAddresses(nil),
		NetworkInterfaces: attachedInterfaces{NetworkInterface: []attachedInterface{}},
		SecurityGroupIDs:  newSecurityGroupIDs(i.SecurityGroupIDs),
		OperationLocks:    instanceLocks{LockReason: []struct{}{}},
		Tags:              tags.ECS(i.Tags),
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

func describeInstances(c *api.Context) (any, *api.Error) {
	matching, err := findInstances(c)
	if err != nil {
		return nil, err
	}
	var out describedInstances
	if c.Has("NextToken") || c.Has("MaxResults") {
		size := min(max(c.Int("MaxResults", minResults), minResults), maxResults)
		var ok bool
		matching, out.NextToken, ok = listing.After(matching, instanceID, c.Get("NextToken"), size)
		if !ok {
			return nil, invalid("NextToken")
		}
		out.Page = listing.Page{PageNumber: 1, PageSize: size} // the total is not counted with tokens
	} else {
		matching, out.Page = listing.Numbered(c, matching)
	}
	interfaces := interfacesOf(c.State, matching)
	out.Instances.Instance = make([]instanceView, 0, len(matching))
	for _, i := range matching {
		out.Instances.Instance = append(out.Instances.Instance, newInstanceView(c, i, interfaces[i.ID]))
	}
	return out, nil
}

func instanceID(i *state.Instance) string { return i.ID }

// findInstances returns the instances that pass all filters, by id. A list without items matches nothing, as in the cloud:
// who asks for no ids gets no instances.
func findInstances(c *api.Context) ([]*state.Instance, *api.Error) {
	lists := map[string][]string{}
	for _, name := range []string{"InstanceIds", "PrivateIpAddresses", "InnerIpAddresses", "PublicIpAddresses", "EipAddresses"} {
		if !c.Has(name) {
			continue
		}
		list := []string{}
		if json.Unmarshal([]byte(c.Get(name)), &list) != nil || len(list) > c.Settings.IDsPerCall {
			return nil, invalid(name)
		}
		lists[name] = list
	}
	if network := c.Get("InstanceNetworkType"); network != "" && network != "vpc" && network != "classic" {
		return nil, api.NotFound("InvalidNetworkType.NotFound", "The specified network type is not found.")
	}
	if !slices.Contains([]string{"", "PrePaid", "PostPaid"}, c.Get("InstanceChargeType")) {
		return nil, api.NotFound("InvalidInstanceChargeType.NotFound", "The specified InstanceChargeType is not found.")
	}
	statuses := []string{"", "Pending", "Running", "Starting", "Stopping", "Stopped"}
	if !slices.Contains(statuses, c.Get("Status")) {
		return nil, api.NotFound("InvalidStatus.NotFound", "The specified Status is not found.")
	}
	filter := tags.FilterOf(c)
	if len(filter) > 20 {
		return nil, api.BadRequest("InvalidTagCount", "The specified tags are beyond the permitted range.")
	}
	if isTrue(c.Get("DryRun")) {
		return nil, dryRun()
	}
	candidates := slices.Sorted(maps.Keys(c.State.Instances))
	if ids, ok := lists["InstanceIds"]; ok {
		candidates = slices.Compact(slices.Sorted(slices.Values(ids)))
	}
	var out []*state.Instance
	for _, id := range candidates {
		i := c.State.Instances[id]
		if i != nil && matchInstance(c, i, lists) && filter.Match(i.Tags) {
			out = append(out, i)
		}
	}
	return out, nil
}

func matchInstance(c *api.Context, i *state.Instance, lists map[string][]string) bool {
	has := func(name string, values ...string) bool {
		list, given := lists[name]
		return !given || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(list, v) })
	}
	eip := ""
	if e := c.State.Eips[i.EipID]; e != nil {
		eip = e.Address
	}
	network := "vpc"
	if i.VpcID == "" {
		network = "classic"
	}
	return has("PrivateIpAddresses", i.PrivateIPs...) && has("InnerIpAddresses", i.InnerIPs...) &&
		has("PublicIpAddresses", i.PublicIPs...) && has("EipAddresses", eip) &&
		listing.Match(c.Get("VpcId"), i.VpcID) && listing.Match(c.Get("VSwitchId"), i.VSwitchID) &&
		inGroup(c.Get("SecurityGroupId"), i.SecurityGroupIDs) && listing.Match(c.Get("ResourceGroupId"), i.ResourceGroupID) &&
		listing.Match(c.Get("ZoneId"), i.ZoneID) && listing.Match(c.Get("InstanceName"), i.Name) &&
		listing.Match(c.Get("InstanceType"), i.InstanceType) && listing.Match(c.Get("InstanceChargeType"), i.ChargeType) &&
		listing.Match(c.Get("InstanceNetworkType"), network) && listing.Match(c.Get("Status"), i.Status)
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

func invalid(name string) *api.Error {
	return api.BadRequest("InvalidParameter", "The specified parameter %q is not valid.", name)
}

func dryRun() *api.Error {
	return api.BadRequest("DryRunOperation", "Request validation has been passed with DryRun flag set.")
}
