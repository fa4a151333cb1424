package vpc

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func eipActions() []api.Action {
	return []api.Action{
		api.Read("DescribeEipAddresses", describeEipAddresses,
			tagFilterCodes("InvalidIAssociatedInstanceType.ValueNotSupported", "InvalidParameter", dryRun), append(listing.Params(100),
				region(), api.Optional("AllocationId"), api.Optional("EipAddress"), api.Optional("EipName"),
				api.Optional("AssociatedInstanceType"), api.Optional("AssociatedInstanceId"), api.Optional("ISP"),
				api.OneOf("ChargeType", postPaid, prePaid), api.Optional("ResourceGroupId"), tags.Param(),
				api.OneOf("Status", available, associating, inUse, unassociating, releasing), api.Optional("PublicIpAddressPoolId"),
				api.Flag("SecurityProtectionEnabled"), api.Optional("SegmentInstanceId"), api.OneOf("LockReason", "financial", "security"),
				api.Flag("ServiceManaged"), api.Flag("IncludeReservationData"), api.Flag("DryRun"), creationFilter())...),
		allocateAction("AllocateEipAddress"), allocateAction("AllocateEipAddressPro"),
		api.Write("ReleaseEipAddress", api.On(eipByID, releaseEipAddress),
			api.Words("InvalidAllocationId.NotFound IncorrectEipStatus Forbidden.ChargeTypeIsPrepaid OperationDenied.DeletionProtection"),
			api.Optional("RegionId"), api.Required("AllocationId")),
	}
}

// allocateAction gets an address. The one for addresses that one has had before is another action, which takes the same.
func allocateAction(name string) api.Action {
	return api.Write(name, clienttoken.Once("vpc/"+name, showAllocatedEip, allocateEipAddress),
		newTagCodes("QuotaExceeded.Eip", noAddressPool, wrongAddressPool, fullAddressPool, otherAddressPool,
			"InvalidParameter", "IdempotentParameterMismatch"),
		region(), api.Number("Bandwidth", 1, 1000), api.Optional("Name"), api.Optional("Description"),
		api.OneOf("InternetChargeType", payByBandwidth, payByTraffic), api.Optional("ISP"),
		api.Optional("ClientToken"), tags.Param(), api.OneOf("InstanceChargeType", postPaid, prePaid),
		api.OneOf("PricingCycle", "Month", "Year"), api.Number("Period", 1, 9), api.Flag("AutoPay"),
		api.Optional("ResourceGroupId"), api.Optional("PublicIpAddressPoolId"),
		api.Param{Name: "SecurityProtectionTypes", Kind: api.Strings, Max: 10}, api.OneOf("Netmode", publicNetwork),
		api.Optional("Zone"), api.Optional("IpAddress"), api.Optional("InstanceId"), api.Optional("ActivityId"))
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

// publicNetwork is the only network that addresses are of.
const publicNetwork = "public"

// line is that of an address for which none was asked.
const line = "BGP"

func newEipView(c *api.Context, e *state.Eip) api.Object {
	view := api.Object{
		"AllocationId", e.ID, "IpAddress", e.Address, "Name", e.Name, "Status", e.Status, "Bandwidth", e.Bandwidth,
		"EipBandwidth", e.Bandwidth, "InstanceId", e.InstanceID, "InstanceType", e.InstanceType,
		"PrivateIpAddress", e.PrivateIP, "RegionId", c.Region, "AllocationTime", creationTime(e.Created),
		"ChargeType", e.Spelling.Of("InstanceChargeType", cmp.Or(e.InstanceChargeType, postPaid)),
		"InternetChargeType", e.Spelling.Of("InternetChargeType", cmp.Or(e.InternetChargeType, payByTraffic)), "BusinessStatus", "Normal",
		"Description", e.Description, "Descritpion", e.Description, //nolint:misspell // The cloud has both.
		"ISP", cmp.Or(e.ISP, line), "Netmode", e.Spelling.Of("Netmode", publicNetwork),
		"Mode", cmp.Or(e.ForwardMode, "NAT"), "ResourceGroupId", resourceGroup(e.ResourceGroupID), "SecurityProtectionTypes", api.Object{
			"SecurityProtectionType", e.ProtectionTypes,
		}, "ExpiredTime", "", "DeletionProtection", e.DeletionProtection, "HDMonitorStatus", monitorStatus(e), "HasReservationData", "false",
		"InstanceRegionId", regionOf(c, e), "PublicIpAddressPoolId", e.PoolID, "SegmentInstanceId", e.SegmentID, "VpcId", e.VpcID, "Zone", e.Zone,
		"BizType", "Default",
		"SecondLimited", false, "ServiceManaged", 0, "BandwidthPackageId", "", "BandwidthPackageType", "",
		"BandwidthPackageBandwidth", "", "AvailableRegions", api.Object{"AvailableRegion", []string{c.Region}},
		"OperationLocks", api.Object{"LockReason", []string{}}, "Tags", tags.Shorts(e.Tags),
	}
	if p := packageOf(c.State, e.ID); p != nil {
		view.Set("BandwidthPackageId", p.ID)
		view.Set("BandwidthPackageType", "CommonBandwidthPackage")
		view.Set("BandwidthPackageBandwidth", strconv.Itoa(p.Bandwidth))
		// In a package an address has what it can have there; its own bandwidth is EipBandwidth.
		view.Set("Bandwidth", strconv.Itoa(cmp.Or(p.Limits[e.ID], p.Bandwidth)))
	}
	return view
}

// creationFilter is the parameter that finds things by the time at which they were made.
func creationFilter() api.Param { return api.Param{Name: "Filter", Kind: api.Structs, Max: 2} }

// createdBetween are the times between which a filter wants things to have been made.
func createdBetween(c *api.Context) (since, until time.Time, err *api.Error) {
	until = c.Now
	for _, item := range c.Items("Filter") {
		at, wrong := time.Parse("2006-01-02T15:04Z", item["value"])
		if wrong != nil {
			at, wrong = time.Parse(time.RFC3339, item["value"])
		}
		switch key := item["key"]; {
		case wrong != nil:
			return since, until, api.Invalid("Filter.Value")
		case key == "CreationStartTime":
			since = at
		case key == "CreationEndTime":
			until = at
		default:
			return since, until, api.Invalid("Filter.Key")
		}
	}
	return since, until, nil
}

// regionOf is the region of what an address belongs to, "" if it belongs to nothing.
func regionOf(c *api.Context, e *state.Eip) string {
	if e.InstanceID == "" {
		return ""
	}
	return c.Region
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
	since, until, err := createdBetween(c)
	switch {
	case err != nil:
		return nil, err
	case c.True("DryRun"):
		return nil, api.DryRun()
	}
	matching := listing.Find(c.State.Eips, func(e *state.Eip) bool {
		return listing.Among(ids, e.ID) && listing.Among(addresses, e.Address) && listing.Match(c.Get("EipName"), e.Name) &&
			listing.Match(c.Get("AssociatedInstanceType"), e.InstanceType) && listing.Match(c.Get("AssociatedInstanceId"), e.InstanceID) &&
			listing.Match(c.Get("ISP"), cmp.Or(e.ISP, line)) && listing.Match(c.Get("ChargeType"), cmp.Or(e.InstanceChargeType, postPaid)) &&
			listing.Match(c.Get("ResourceGroupId"), resourceGroup(e.ResourceGroupID)) && listing.Match(c.Get("Status"), e.Status) &&
			filter.Match(e.Tags) && !e.Created.Before(since) && !e.Created.After(until) &&
			c.MatchFlag("SecurityProtectionEnabled", len(e.ProtectionTypes) > 0) && !c.Has("LockReason") && // none is locked
			listing.Match(c.Get("PublicIpAddressPoolId"), e.PoolID) &&
			listing.Match(c.Get("SegmentInstanceId"), e.SegmentID) && !c.True("ServiceManaged")
	})
	return listing.Answer(c, matching, "EipAddresses", "EipAddress", func(e *state.Eip) api.Object { return newEipView(c, e) })
}

func allocateEipAddress(c *api.Context) (string, *api.Error) {
	labels, err := newTags(c)
	if err != nil {
		return "", err
	}
	if err := checkWantedAddress(c); err != nil {
		return "", err
	}
	pooled := ""
	if c.Has("PublicIpAddressPoolId") {
		if pooled, err = poolAddress(c); err != nil {
			return "", err
		}
	}
	if quota := c.Settings.Quotas.Eips; len(c.State.Eips) >= quota {
		return "", api.BadRequest("QuotaExceeded.Eip", "Elastic IP address quota exceeded: an account can have %d.", quota)
	}
	e := &state.Eip{
		ID: cmp.Or(c.Get("InstanceId"), c.NewID("eip-")), Bandwidth: fmt.Sprint(c.Int("Bandwidth", 5)), Status: available, Name: c.Get("Name"),
		Description: c.Get("Description"), InternetChargeType: cmp.Or(c.Get("InternetChargeType"), payByBandwidth), ISP: c.Get("ISP"),
		InstanceChargeType: c.Get("InstanceChargeType"), ResourceGroupID: c.Get("ResourceGroupId"), Tags: labels, Created: c.Now,
		ProtectionTypes: c.List("SecurityProtectionTypes"), Zone: c.Get("Zone"),
		PoolID: c.Get("PublicIpAddressPoolId"),
	}
	n := c.Number("121")
	e.Address = fmt.Sprintf("121.%d.%d.%d", 40+n/(256*254)%8, n/254%256, 1+n%254)
	if c.Traffic != nil {
		if address, ok := c.TrafficAddress(c.Traffic.Internet); ok {
			e.Address = address
		}
	}
	e.Address = cmp.Or(pooled, c.Get("IpAddress"), e.Address)
	c.Keep("", &e.Spelling)
	c.State.Eips[e.ID] = e
	return e.ID, nil
}

// checkWantedAddress refuses an address or an id that the call can't have. One that was released can be had again.
func checkWantedAddress(c *api.Context) *api.Error {
	wanted, err := netip.ParseAddr(c.Get("IpAddress"))
	id := c.Get("InstanceId")
	switch {
	case c.Has("IpAddress") && (err != nil || !wanted.Is4() || wanted.IsPrivate()):
		return api.Invalid("IpAddress")
	case id != "" && (!strings.HasPrefix(id, "eip-") || c.State.Eips[id] != nil):
		return api.Invalid("InstanceId")
	}
	for _, e := range c.State.Eips {
		if c.Has("IpAddress") && e.Address == wanted.String() {
			return api.Invalid("IpAddress")
		}
	}
	return nil
}

func showAllocatedEip(c *api.Context, id string) any {
	e := c.State.Eips[id]
	if e == nil { // released since; a repeated call still names it
		e = &state.Eip{ID: id}
	}
	return api.Object{"AllocationId", e.ID, "EipAddress", e.Address, "ResourceGroupId", resourceGroup(e.ResourceGroupID)}
}

func releaseEipAddress(c *api.Context, e *state.Eip) (any, *api.Error) {
	switch {
	case e.Status != available:
		return nil, incorrectEipStatus()
	case e.InstanceChargeType == prePaid:
		return nil, api.BadRequest("Forbidden.ChargeTypeIsPrepaid", "A subscription elastic IP address can't be released.")
	case e.DeletionProtection:
		return nil, api.BadRequest("OperationDenied.DeletionProtection", "The elastic IP address is protected from deletion.")
	}
	if p := packageOf(c.State, e.ID); p != nil {
		delete(p.Limits, e.ID)
		p.AllocationIDs = slices.DeleteFunc(p.AllocationIDs, func(id string) bool { return id == e.ID })
	}
	e.Status, e.BusyUntil = releasing, c.Now.Add(c.Settings.EipAssociating)
	settleIfFast(c, e)
	return nil, nil
}

func eipByID(c *api.Context) (*state.Eip, *api.Error) {
	return api.Named(c, c.State.Eips, "AllocationId", eipNotFound)
}

func eipNotFound() *api.Error {
	return api.NotFound("InvalidAllocationId.NotFound", "Specified allocation ID is not found.")
}

func incorrectEipStatus() *api.Error {
	return api.BadRequest("IncorrectEipStatus", "Current elastic IP status does not support this operation.")
}
