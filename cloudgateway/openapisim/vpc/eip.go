package vpc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func eipActions() []api.Action {
	return []api.Action{
		api.Read("DescribeEipAddresses", describeEipAddresses,
			tagFilterCodes("InvalidIAssociatedInstanceType.ValueNotSupported"), append(listing.Params(100),
				region(), api.Optional("AllocationId"), api.Optional("EipAddress"), api.Optional("EipName"),
				api.Optional("AssociatedInstanceType"), api.Optional("AssociatedInstanceId"), api.Optional("ISP"),
				api.OneOf("ChargeType", postPaid, prePaid), api.Optional("ResourceGroupId"), tags.Param(),
				api.OneOf("Status", available, associating, inUse, unassociating, releasing))...),
		api.Write("AllocateEipAddress", allocateEipAddress,
			newTagCodes("QuotaExceeded.Eip", "ResourceNotFound.PublicIpAddressPool", "IdempotentParameterMismatch"),
			region(), api.Number("Bandwidth", 1, 1000), api.Optional("Name"), api.Optional("Description"),
			api.OneOf("InternetChargeType", payByBandwidth, payByTraffic), api.Optional("ISP"),
			api.Optional("ClientToken"), tags.Param(), api.OneOf("InstanceChargeType", postPaid, prePaid),
			api.OneOf("PricingCycle", "Month", "Year"), api.Number("Period", 1, 9), api.Flag("AutoPay"),
			api.Optional("ResourceGroupId"), api.Optional("PublicIpAddressPoolId")),
		api.Write("ReleaseEipAddress", api.On(eipByID, releaseEipAddress),
			api.Words("InvalidAllocationId.NotFound IncorrectEipStatus Forbidden.ChargeTypeIsPrepaid"),
			api.Optional("RegionId"), api.Required("AllocationId")),
	}
}

// How the traffic of an address is charged.
const (
	payByBandwidth = "PayByBandwidth"
	payByTraffic   = "PayByTraffic"
)

// When an address is paid for.
const (
	postPaid = "PostPaid"
	prePaid  = "PrePaid"
)

// line is that of an address for which none was asked.
const line = "BGP"

// eipView shows an address. Numbers are text in the cloud, and one member is there twice.
type eipView struct {
	AllocationID       string         `json:"AllocationId"`
	IPAddress          string         `json:"IpAddress"`
	Name               string         `json:"Name"`
	Status             string         `json:"Status"`
	Bandwidth          string         `json:"Bandwidth"`
	EipBandwidth       string         `json:"EipBandwidth"`
	InstanceID         string         `json:"InstanceId"`
	InstanceType       string         `json:"InstanceType"`
	PrivateIPAddress   string         `json:"PrivateIpAddress"`
	RegionID           string         `json:"RegionId"`
	AllocationTime     string         `json:"AllocationTime"`
	ChargeType         string         `json:"ChargeType"`
	InternetChargeType string         `json:"InternetChargeType"`
	BusinessStatus     string         `json:"BusinessStatus"`
	Description        string         `json:"Description"`
	Misspelt           string         `json:"Descritpion"` //nolint:misspell // as in the cloud
	ISP                string         `json:"ISP"`
	Netmode            string         `json:"Netmode"`
	Mode               string         `json:"Mode"`
	ResourceGroupID    string         `json:"ResourceGroupId"`
	ExpiredTime        string         `json:"ExpiredTime"`
	DeletionProtection bool           `json:"DeletionProtection"`
	SecondLimited      bool           `json:"SecondLimited"`
	ServiceManaged     int            `json:"ServiceManaged"`
	PackageID          string         `json:"BandwidthPackageId"`
	PackageType        string         `json:"BandwidthPackageType"`
	PackageBandwidth   string         `json:"BandwidthPackageBandwidth"`
	AvailableRegions   regionIDs      `json:"AvailableRegions"`
	OperationLocks     eipLocks       `json:"OperationLocks"`
	Tags               tags.ShortList `json:"Tags"`
}

type regionIDs struct {
	AvailableRegion []string `json:"AvailableRegion"`
}

type eipLocks struct {
	LockReason []struct{} `json:"LockReason"`
}

func newEipView(c *api.Context, e *state.Eip) eipView {
	view := eipView{
		AllocationID: e.ID, IPAddress: e.Address, Name: e.Name, Status: e.Status, Bandwidth: e.Bandwidth, EipBandwidth: e.Bandwidth,
		InstanceID: e.InstanceID, InstanceType: e.InstanceType, RegionID: c.Region, AllocationTime: creationTime,
		ChargeType: cmp.Or(e.InstanceChargeType, postPaid), ResourceGroupID: e.ResourceGroupID, PrivateIPAddress: e.PrivateIP,
		InternetChargeType: cmp.Or(e.InternetChargeType, payByTraffic), BusinessStatus: "Normal", Description: e.Description,
		Misspelt: e.Description, ISP: cmp.Or(e.ISP, line), Netmode: "public", Mode: "NAT",
		AvailableRegions: regionIDs{AvailableRegion: []string{c.Region}}, OperationLocks: eipLocks{LockReason: []struct{}{}},
		Tags: tags.Shorts(e.Tags),
	}
	if p := packageOf(c.State, e.ID); p != nil {
		view.PackageID, view.PackageType, view.PackageBandwidth = p.ID, "CommonBandwidthPackage", strconv.Itoa(p.Bandwidth)
	}
	return view
}

type describedEips struct {
	listing.Page
	EipAddresses struct {
		EipAddress []eipView `json:"EipAddress"`
	} `json:"EipAddresses"`
}

// maxEipIDs is the number of ids or addresses in one describe.
const maxEipIDs = 50

func describeEipAddresses(c *api.Context) (any, *api.Error) {
	filter, err := tagCodes().FilterOf(c)
	if err != nil {
		return nil, err
	}
	ids, addresses := listing.CommaList(c.Get("AllocationId")), listing.CommaList(c.Get("EipAddress"))
	switch {
	case len(ids) > maxEipIDs:
		return nil, api.Invalid("AllocationId")
	case len(addresses) > maxEipIDs:
		return nil, api.Invalid("EipAddress")
	case c.Has("AssociatedInstanceType") && !slices.Contains(eipInstanceTypes(), c.Get("AssociatedInstanceType")):
		return nil, api.BadRequest("InvalidIAssociatedInstanceType.ValueNotSupported", "The specified AssociatedInstanceType is not supported.")
	}
	var matching []*state.Eip
	for _, id := range slices.Sorted(maps.Keys(c.State.Eips)) {
		e := c.State.Eips[id]
		if listing.Among(ids, id) && listing.Among(addresses, e.Address) && listing.Match(c.Get("EipName"), e.Name) &&
			listing.Match(c.Get("AssociatedInstanceType"), e.InstanceType) && listing.Match(c.Get("AssociatedInstanceId"), e.InstanceID) &&
			listing.Match(c.Get("ISP"), cmp.Or(e.ISP, line)) && listing.Match(c.Get("ChargeType"), cmp.Or(e.InstanceChargeType, postPaid)) &&
			listing.Match(c.Get("ResourceGroupId"), e.ResourceGroupID) && listing.Match(c.Get("Status"), e.Status) && filter.Match(e.Tags) {
			matching = append(matching, e)
		}
	}
	var out describedEips
	matching, out.Page = listing.Numbered(c, matching)
	out.EipAddresses.EipAddress = make([]eipView, 0, len(matching))
	for _, e := range matching {
		out.EipAddresses.EipAddress = append(out.EipAddresses.EipAddress, newEipView(c, e))
	}
	return out, nil
}

type allocatedEip struct {
	AllocationID    string `json:"AllocationId"`
	EipAddress      string `json:"EipAddress"`
	ResourceGroupID string `json:"ResourceGroupId"`
}

const allocateEipOperation = "vpc/AllocateEipAddress"

func allocateEipAddress(c *api.Context) (any, *api.Error) {
	id, err := clienttoken.Recall(c, allocateEipOperation)
	if err != nil {
		return nil, err
	}
	if e := c.State.Eips[id]; e != nil {
		return newAllocatedEip(e), nil
	}
	labels, err := newTags(c)
	if err != nil {
		return nil, err
	}
	if c.Has("PublicIpAddressPoolId") {
		return nil, api.BadRequest("ResourceNotFound.PublicIpAddressPool", "The specified pool of public IP addresses does not exist.")
	}
	if quota := c.Settings.Quotas.Eips; len(c.State.Eips) >= quota {
		return nil, api.BadRequest("QuotaExceeded.Eip", "Elastic IP address quota exceeded: an account can have %d.", quota)
	}
	e := &state.Eip{
		ID: c.NewID("eip-"), Bandwidth: fmt.Sprint(c.Int("Bandwidth", 5)), Status: available, Name: c.Get("Name"),
		Description: c.Get("Description"), InternetChargeType: cmp.Or(c.Get("InternetChargeType"), payByBandwidth), ISP: c.Get("ISP"),
		InstanceChargeType: c.Get("InstanceChargeType"), ResourceGroupID: c.Get("ResourceGroupId"), Tags: labels,
	}
	n := c.State.Sequence
	e.Address = fmt.Sprintf("121.%d.%d.%d", 40+n/(256*254)%8, n/254%256, 1+n%254)
	if c.Traffic != nil {
		if address, ok := c.TrafficAddress(c.Traffic.Internet); ok {
			e.Address = address
		}
	}
	c.State.Eips[e.ID] = e
	clienttoken.Remember(c, allocateEipOperation, e.ID)
	return newAllocatedEip(e), nil
}

func newAllocatedEip(e *state.Eip) allocatedEip {
	return allocatedEip{AllocationID: e.ID, EipAddress: e.Address, ResourceGroupID: e.ResourceGroupID}
}

func releaseEipAddress(c *api.Context, e *state.Eip) (any, *api.Error) {
	switch {
	case e.Status != available:
		return nil, incorrectEipStatus()
	case e.InstanceChargeType == prePaid:
		return nil, api.BadRequest("Forbidden.ChargeTypeIsPrepaid", "A subscription elastic IP address can't be released.")
	}
	if p := packageOf(c.State, e.ID); p != nil {
		p.AllocationIDs = slices.DeleteFunc(p.AllocationIDs, func(id string) bool { return id == e.ID })
	}
	delete(c.State.Eips, e.ID)
	return nil, nil
}

func eipByID(c *api.Context) (*state.Eip, *api.Error) {
	if e := c.State.Eips[c.Get("AllocationId")]; e != nil {
		return e, nil
	}
	return nil, eipNotFound()
}

func eipNotFound() *api.Error {
	return api.NotFound("InvalidAllocationId.NotFound", "Specified allocation ID is not found.")
}

func incorrectEipStatus() *api.Error {
	return api.BadRequest("IncorrectEipStatus", "Current elastic IP status does not support this operation.")
}
