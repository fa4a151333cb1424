package vpc

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Codes of bandwidth packages. Which code the cloud has for one that still has addresses, and for an address that is in another
// one, no document at hand says.
const (
	noPackage       = "InvalidBandwidthPackageId.NotFound"
	packageInUse    = "DependencyViolation.BandwidthPackageIps"
	addressInUse    = "IpInstanceId.AlreadyInBandwidthPackage"
	addressNotInUse = "OperationUnsupported.IpNotInCbwp"
)

// bandwidthActions share the bandwidth of Internet Shared Bandwidth instances, which NLB attaches as well.
func bandwidthActions() []api.Action {
	member := []api.Param{
		region(), api.Required("BandwidthPackageId"), api.Required("IpInstanceId"), api.Optional("IpType"), api.Optional("ClientToken"),
	}
	return []api.Action{
		api.Write(createPackageAction, createPackage,
			newTagCodes("InvalidName.Malformed", "InvalidDescription.Malformed", "IdempotentParameterMismatch"),
			region(), must(api.Number("Bandwidth", 1, 20_000)), api.Optional("Name"), api.Optional("Description"),
			api.Optional("ISP"), api.OneOf("InternetChargeType", payByBandwidth, "PayBy95", "PayByDominantTraffic"),
			api.Optional("ResourceGroupId"), api.Optional("ClientToken"), tags.Param()),
		api.Read("DescribeCommonBandwidthPackages", describePackages, tagFilterCodes(),
			append(listing.Params(maxPage), region(), api.Optional("BandwidthPackageId"), api.Optional("Name"),
				api.Optional("ResourceGroupId"), tags.Param())...),
		api.Write("AddCommonBandwidthPackageIp", addToPackage,
			[]string{noPackage, addressInUse, "InvalidAllocationId.NotFound", "IdempotentParameterMismatch"}, member...),
		api.Write("RemoveCommonBandwidthPackageIp", removeFromPackage,
			[]string{noPackage, addressNotInUse, "IdempotentParameterMismatch"}, member...),
		api.Write("DeleteCommonBandwidthPackage", api.On(packageByID, deletePackage), []string{noPackage, packageInUse},
			region(), api.Required("BandwidthPackageId"), api.Flag("Force")),
	}
}

const createPackageAction = "CreateCommonBandwidthPackage"

type createdPackage struct {
	BandwidthPackageID string `json:"BandwidthPackageId"`
	ResourceGroupID    string `json:"ResourceGroupId"`
}

func createPackage(c *api.Context) (any, *api.Error) {
	id, err := clienttoken.Recall(c, "vpc/"+createPackageAction)
	if err != nil {
		return nil, err
	}
	if p := c.State.BandwidthPackages[id]; p != nil {
		return createdPackage{p.ID, p.ResourceGroupID}, nil
	}
	labels, err := newTags(c)
	switch {
	case err != nil:
		return nil, err
	case !validName(c.Get("Name")):
		return nil, malformed("InvalidName.Malformed", "Name")
	case !validDescription(c.Get("Description")):
		return nil, malformed("InvalidDescription.Malformed", "Description")
	}
	p := &state.BandwidthPackage{
		ID: c.NewID("cbwp-"), Bandwidth: c.Int("Bandwidth", 0), Name: c.Get("Name"), Description: c.Get("Description"),
		InternetChargeType: c.Get("InternetChargeType"), ISP: c.Get("ISP"), ResourceGroupID: c.Get("ResourceGroupId"), Tags: labels,
	}
	c.State.BandwidthPackages[p.ID] = p
	clienttoken.Remember(c, "vpc/"+createPackageAction, p.ID)
	return createdPackage{p.ID, p.ResourceGroupID}, nil
}

type packageView struct {
	BandwidthPackageID string         `json:"BandwidthPackageId"`
	Bandwidth          string         `json:"Bandwidth"`
	Name               string         `json:"Name"`
	Description        string         `json:"Description"`
	Status             string         `json:"Status"`
	BusinessStatus     string         `json:"BusinessStatus"`
	RegionID           string         `json:"RegionId"`
	ISP                string         `json:"ISP"`
	InternetChargeType string         `json:"InternetChargeType"`
	InstanceChargeType string         `json:"InstanceChargeType"`
	CreationTime       string         `json:"CreationTime"`
	ExpiredTime        string         `json:"ExpiredTime"`
	ResourceGroupID    string         `json:"ResourceGroupId"`
	DeletionProtection bool           `json:"DeletionProtection"`
	PublicIPAddresses  packageMembers `json:"PublicIpAddresses"`
	Tags               tags.ShortList `json:"Tags"`
}

// packageMembers has the name that it has in the cloud.
type packageMembers struct {
	PublicIPAddress []packageMember `json:"PublicIpAddresse"`
}

type packageMember struct {
	AllocationID string `json:"AllocationId"`
	IPAddress    string `json:"IpAddress"`
	Relation     string `json:"BandwidthPackageIpRelationStatus"`
}

type describedPackages struct {
	listing.Page
	CommonBandwidthPackages struct {
		CommonBandwidthPackage []packageView `json:"CommonBandwidthPackage"`
	} `json:"CommonBandwidthPackages"`
}

func describePackages(c *api.Context) (any, *api.Error) {
	filter, err := tagCodes().FilterOf(c)
	if err != nil {
		return nil, err
	}
	var matching []*state.BandwidthPackage
	for _, id := range slices.Sorted(maps.Keys(c.State.BandwidthPackages)) {
		p := c.State.BandwidthPackages[id]
		if listing.Match(c.Get("BandwidthPackageId"), id) && listing.Match(c.Get("Name"), p.Name) &&
			listing.Match(c.Get("ResourceGroupId"), p.ResourceGroupID) && filter.Match(p.Tags) {
			matching = append(matching, p)
		}
	}
	var out describedPackages
	matching, out.Page = listing.Numbered(c, matching)
	views := make([]packageView, 0, len(matching))
	for _, p := range matching {
		views = append(views, packageView{
			BandwidthPackageID: p.ID, Bandwidth: strconv.Itoa(p.Bandwidth), Name: p.Name, Description: p.Description, Status: available,
			BusinessStatus: "Normal", RegionID: c.Region, ISP: cmp.Or(p.ISP, line), InstanceChargeType: postPaid,
			InternetChargeType: cmp.Or(p.InternetChargeType, payByBandwidth), CreationTime: creationTime, ResourceGroupID: p.ResourceGroupID,
			PublicIPAddresses: packageMembers{membersOf(c.State, p)}, Tags: tags.Shorts(p.Tags),
		})
	}
	out.CommonBandwidthPackages.CommonBandwidthPackage = views
	return out, nil
}

// membersOf are the addresses in a package, and those of the load balancers that it is attached to.
func membersOf(c *state.Cloud, p *state.BandwidthPackage) []packageMember {
	members := make([]packageMember, 0, len(p.AllocationIDs))
	for _, id := range p.AllocationIDs {
		if e := c.Eips[id]; e != nil {
			members = append(members, packageMember{e.ID, e.Address, "BINDED"})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.NLBs)) {
		if lb := c.NLBs[id]; lb.BandwidthPackageID == p.ID {
			for _, z := range lb.Zones {
				members = append(members, packageMember{z.AllocationID, z.PublicIP, "BINDED"})
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
	if p := c.State.BandwidthPackages[c.Get("BandwidthPackageId")]; p != nil {
		return p, nil
	}
	return nil, api.NotFound(noPackage, "The specified bandwidth package does not exist.")
}

func addToPackage(c *api.Context) (any, *api.Error) {
	const operation = "vpc/AddCommonBandwidthPackageIp"
	if id, err := clienttoken.Recall(c, operation); id != "" || err != nil {
		return nil, err
	}
	p, err := packageByID(c)
	if err != nil {
		return nil, err
	}
	e := c.State.Eips[c.Get("IpInstanceId")]
	switch {
	case e == nil:
		return nil, eipNotFound()
	case packageOf(c.State, e.ID) != nil:
		return nil, api.BadRequest(addressInUse, "The specified IP address is in a bandwidth package already.")
	}
	p.AllocationIDs = append(p.AllocationIDs, e.ID)
	clienttoken.Remember(c, operation, p.ID)
	return nil, nil
}

func removeFromPackage(c *api.Context) (any, *api.Error) {
	const operation = "vpc/RemoveCommonBandwidthPackageIp"
	if id, err := clienttoken.Recall(c, operation); id != "" || err != nil {
		return nil, err
	}
	p, err := packageByID(c)
	if err != nil {
		return nil, err
	}
	at := slices.Index(p.AllocationIDs, c.Get("IpInstanceId"))
	if at < 0 {
		return nil, api.BadRequest(addressNotInUse, "The specified IP address is not in the bandwidth package.")
	}
	p.AllocationIDs = slices.Delete(p.AllocationIDs, at, at+1)
	clienttoken.Remember(c, operation, p.ID)
	return nil, nil
}

// deletePackage refuses a package with addresses unless it is forced, which takes them out of it.
func deletePackage(c *api.Context, p *state.BandwidthPackage) (any, *api.Error) {
	switch {
	case len(membersOf(c.State, p)) > 0 && !c.True("Force"):
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
