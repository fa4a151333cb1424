package vpc

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Codes of bandwidth packages. Which code the cloud has for one that still has addresses or is protected, and for an address that is
// in another one, no document at hand says.
const (
	noPackage        = "InvalidBandwidthPackageId.NotFound"
	packageInUse     = "DependencyViolation.BandwidthPackageIps"
	protectedPackage = "OperationDenied.DeletionProtection"
	addressInUse     = "IpInstanceId.AlreadyInBandwidthPackage"
	addressNotInUse  = "OperationUnsupported.IpNotInCbwp"
)

// bandwidthActions share the bandwidth of Internet Shared Bandwidth instances, which NLB attaches as well.
func bandwidthActions() []api.Action {
	member := []api.Param{
		region(), api.Required("BandwidthPackageId"), api.Required("IpInstanceId"), api.Optional("IpType"), api.Optional("ClientToken"),
	}
	return []api.Action{
		api.Write("CreateCommonBandwidthPackage",
			clienttoken.Once("vpc/CreateCommonBandwidthPackage", showCreatedPackage, createPackage),
			newTagCodes("InvalidName.Malformed", "InvalidDescription.Malformed", "IdempotentParameterMismatch"),
			region(), must(api.Number("Bandwidth", 1, 20_000)), api.Optional("Name"), api.Optional("Description"),
			api.Optional("ISP"), api.OneOf("InternetChargeType", payByBandwidth, "PayBy95", "PayByDominantTraffic"),
			api.Optional("ResourceGroupId"), api.Optional("ClientToken"), tags.Param(), api.Number("Ratio", 10, 100), api.Optional("Zone"),
			api.Param{Name: "SecurityProtectionTypes", Kind: api.Strings, Max: 10}),
		api.Read("DescribeCommonBandwidthPackages", describePackages, tagFilterCodes(dryRun),
			append(listing.Params(maxPage), region(), api.Optional("BandwidthPackageId"), api.Optional("Name"),
				api.Optional("ResourceGroupId"), api.Flag("SecurityProtectionEnabled"), api.Flag("IncludeReservationData"), api.Flag("DryRun"),
				tags.Param())...),
		api.Write("AddCommonBandwidthPackageIp", clienttoken.Once("vpc/AddCommonBandwidthPackageIp", nil, api.On(packageByID, addToPackage)),
			[]string{noPackage, addressInUse, limitTooHigh, "InvalidAllocationId.NotFound", "IdempotentParameterMismatch"},
			append(slices.Clone(member), api.Number("BandwidthPackageBandwidth", 1, 20_000))...),
		api.Write("RemoveCommonBandwidthPackageIp", clienttoken.Once("vpc/RemoveCommonBandwidthPackageIp", nil,
			api.On(packageByID, removeFromPackage)),
			[]string{noPackage, addressNotInUse, "IdempotentParameterMismatch"}, member...),
		api.Write("DeleteCommonBandwidthPackage", api.On(packageByID, deletePackage), []string{noPackage, packageInUse, protectedPackage},
			region(), api.Required("BandwidthPackageId"), api.Flag("Force")),
	}
}

func createPackage(c *api.Context) (string, *api.Error) {
	labels, err := newTags(c)
	switch {
	case err != nil:
		return "", err
	case !validName(c.Get("Name")):
		return "", malformed("InvalidName.Malformed", "Name")
	case !validDescription(c.Get("Description")):
		return "", malformed("InvalidDescription.Malformed", "Description")
	}
	p := &state.BandwidthPackage{
		ID: c.NewID("cbwp-"), Bandwidth: c.Int("Bandwidth", 0), Name: c.Get("Name"), Description: c.Get("Description"),
		InternetChargeType: c.Get("InternetChargeType"), ISP: c.Get("ISP"), ResourceGroupID: c.Get("ResourceGroupId"), Tags: labels,
		Created: c.Now, Ratio: c.Int("Ratio", 0), ProtectionTypes: c.List("SecurityProtectionTypes"),
	}
	c.Keep("", &p.Spelling)
	c.State.BandwidthPackages[p.ID] = p
	return p.ID, nil
}

func showCreatedPackage(c *api.Context, id string) any {
	group := ""
	if p := c.State.BandwidthPackages[id]; p != nil {
		group = resourceGroup(p.ResourceGroupID)
	}
	return api.Object{"BandwidthPackageId", id, "ResourceGroupId", group}
}

func describePackages(c *api.Context) (any, *api.Error) {
	filter, err := tagCodes().FilterOf(c)
	if err != nil {
		return nil, err
	}
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	matching := listing.Find(c.State.BandwidthPackages, func(p *state.BandwidthPackage) bool {
		return listing.Match(c.Get("BandwidthPackageId"), p.ID) && listing.Match(c.Get("Name"), p.Name) &&
			listing.Match(c.Get("ResourceGroupId"), resourceGroup(p.ResourceGroupID)) && filter.Match(p.Tags) &&
			c.MatchFlag("SecurityProtectionEnabled", len(p.ProtectionTypes) > 0)
	})
	return listing.Answer(c, matching, "CommonBandwidthPackages", "CommonBandwidthPackage", func(p *state.BandwidthPackage) api.Object {
		return api.Object{
			"BandwidthPackageId", p.ID, "Bandwidth", strconv.Itoa(p.Bandwidth), "Name", p.Name,
			"Description", p.Description, "Status", available, "BusinessStatus", "Normal", "RegionId", c.Region,
			"ISP", cmp.Or(p.ISP, line), "InternetChargeType", p.Spelling.Of("InternetChargeType", cmp.Or(p.InternetChargeType, payByBandwidth)),
			"InstanceChargeType", postPaid, "CreationTime", creationTime(p.Created), "ExpiredTime", "",
			"ResourceGroupId", resourceGroup(p.ResourceGroupID), "Ratio", cmp.Or(p.Ratio, 100), "SecurityProtectionTypes", api.Object{
				"SecurityProtectionType", p.ProtectionTypes,
			}, "DeletionProtection", p.DeletionProtection, "HasReservationData", "false", "ServiceManaged", 0,
			"ReservationActiveTime", "", "ReservationBandwidth", "", "ReservationInternetChargeType", "", "ReservationOrderType", "",
			// The next inner name is the cloud's.
			"PublicIpAddresses", api.Object{"PublicIpAddresse", membersOf(c, p)}, "Tags", tags.Shorts(p.Tags),
		}
	})
}

// membersOf are the addresses in a package, and those of the load balancers that it is attached to.
func membersOf(c *api.Context, p *state.BandwidthPackage) []api.Object {
	members := make([]api.Object, 0, len(p.AllocationIDs))
	for _, id := range p.AllocationIDs {
		if e := c.State.Eips[id]; e != nil {
			status := "BINDED"
			if c.Now.Before(p.Binding[id]) {
				status = "BINDING"
			}
			members = append(members, api.Object{
				"AllocationId", e.ID, "IpAddress", e.Address, "BandwidthPackageIpRelationStatus", status,
			})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.State.NLBs)) {
		if lb := c.State.NLBs[id]; lb.BandwidthPackageID == p.ID {
			for _, z := range lb.Zones {
				members = append(members, api.Object{
					"AllocationId", z.AllocationID, "IpAddress", z.PublicIP,
					"BandwidthPackageIpRelationStatus", "BINDED",
				})
			}
		}
	}
	return members
}

// packageOf is the package that an address is in, or nil.
func packageOf(c *state.Cloud, allocationID string) *state.BandwidthPackage {
	for _, p := range c.BandwidthPackages {
		if slices.Contains(p.AllocationIDs, allocationID) {
			return p
		}
	}
	return nil
}

func packageByID(c *api.Context) (*state.BandwidthPackage, *api.Error) {
	return api.Named(c, c.State.BandwidthPackages, "BandwidthPackageId", func() *api.Error {
		return api.NotFound(noPackage, "The specified bandwidth package does not exist.")
	})
}

func addToPackage(c *api.Context, p *state.BandwidthPackage) (string, *api.Error) {
	e := c.State.Eips[c.Get("IpInstanceId")]
	switch {
	case e == nil:
		return "", eipNotFound()
	case packageOf(c.State, e.ID) != nil:
		return "", api.BadRequest(addressInUse, "The specified IP address is in a bandwidth package already.")
	case c.Int("BandwidthPackageBandwidth", 0) > p.Bandwidth:
		return "", tooMuchOf(p)
	}
	if c.Has("BandwidthPackageBandwidth") {
		setLimit(p, e.ID, c.Int("BandwidthPackageBandwidth", 0))
	}
	p.AllocationIDs = append(p.AllocationIDs, e.ID)
	if d := c.Settings.EipAssociating; d > 0 {
		p.Binding = maps.Clone(p.Binding)
		if p.Binding == nil {
			p.Binding = map[string]time.Time{}
		}
		p.Binding[e.ID] = c.Now.Add(d)
	}
	return p.ID, nil
}

func removeFromPackage(c *api.Context, p *state.BandwidthPackage) (string, *api.Error) {
	at := slices.Index(p.AllocationIDs, c.Get("IpInstanceId"))
	if at < 0 {
		return "", addressNotInPackage()
	}
	delete(p.Binding, p.AllocationIDs[at])
	delete(p.Limits, p.AllocationIDs[at])
	p.AllocationIDs = slices.Delete(p.AllocationIDs, at, at+1)
	return p.ID, nil
}

// deletePackage refuses a package with addresses unless it is forced, which takes them out of it.
func deletePackage(c *api.Context, p *state.BandwidthPackage) (any, *api.Error) {
	switch {
	case p.DeletionProtection:
		return nil, api.BadRequest(protectedPackage, "The bandwidth package is protected from deletion.")
	case len(membersOf(c, p)) > 0 && !c.True("Force"):
		return nil, api.BadRequest(packageInUse, "The bandwidth package still has IP addresses.")
	}
	for _, lb := range c.State.NLBs {
		if lb.BandwidthPackageID == p.ID {
			lb.BandwidthPackageID = ""
		}
	}
	delete(c.State.BandwidthPackages, p.ID)
	return nil, nil
}
