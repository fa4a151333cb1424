package nlb

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const (
	consoleProtection = "ConsoleProtection"
	nonProtection     = "NonProtection"
	balancerType      = "Network"
	payType           = "PostPay"
)

func balancerActions() []api.Action {
	ids := []api.Param{
		texts("LoadBalancerIds", maxIDs), texts("LoadBalancerNames", maxIDs), texts("VpcIds", 10),
		api.Optional("ResourceGroupId"), api.Optional("ZoneId"),
		api.OneOf("AddressType", internet, intranet), api.OneOf("AddressIpVersion", ipv4, dualStack),
		api.OneOf("Ipv6AddressType", internet, intranet),
		api.Optional("LoadBalancerType"), api.OneOf("LoadBalancerStatus", "Inactive", active, provisioning, configuring, createFailed),
		api.OneOf("LoadBalancerBusinessStatus", "Abnormal", normalBusiness, "Locked"), api.Optional("DNSName"),
		structs("Tag", maxTags),
	}
	return []api.Action{
		write("CreateLoadBalancer", createBalancer, []string{
			"DuplicatedParam.AllocationId", illegal, "IllegalParam.loadBalancerName", "InvalidZones", "Mismatch.ZoneIdAndVswitchId",
			"MissingParam.ZoneMappings", "OperationDenied.OnlyPostPaidSupported", "OperationFailed.DuplicateZones.",
			"OperationFailed.NotExist.ResourceGroup", "OperationFailed.vSwitchNotSupportIpv6", quota, "ResourceAlreadyAssociated.AllocationId",
			"ResourceInConfiguring.VswitchId", "ResourceInUse.IP", "ResourceNotEnough.VSwitchIp", "ResourceNotFound.VSwitch",
			"ResourceNotFound.Vpc", "UnauthorizedZone", "Conflict.SecurityGroup", "Mismatch.vpc", "ResourceNotFound.SecurityGroup",
			"ResourceAlreadyAssociated.SecurityGroup",
		}, append(mandatory("VpcId"),
			required(api.OneOf("AddressType", internet, intranet)), required(structs("ZoneMappings", 10)), api.Optional("LoadBalancerName"),
			api.OneOf("AddressIpVersion", ipv4, dualStack), api.Optional("BandwidthPackageId"), api.Flag("DeletionProtectionConfig.Enabled"),
			api.Optional("DeletionProtectionConfig.Reason"), api.OneOf("ModificationProtectionConfig.Status", consoleProtection, nonProtection),
			api.Optional("ModificationProtectionConfig.Reason"), api.Optional("LoadBalancerBillingConfig.PayType"),
			api.OneOf("LoadBalancerType", balancerType),
			api.Optional("ResourceGroupId"), texts("SecurityGroupIds", 10), structs("Tag", maxTags))...),
		write("DeleteLoadBalancer", api.On(balancer, deleteBalancer), []string{
			noBalancer, "OperationDenied.DeletionProtectionEnabled", balancerMade, balancerBusy, lockConflict,
		}, mandatory("LoadBalancerId")...),
		read("GetLoadBalancerAttribute", api.On(balancer, getBalancer), []string{noBalancer}, mandatory("LoadBalancerId")...),
		read("ListLoadBalancers", listBalancers, []string{"IllegalParam.LoadBalancerType"}, append(paging(), ids...)...),
	}
}

var nameForm = regexp.MustCompile(`^\pL[\pL\pN._-]+$`)

// validName reports whether a load balancer or a server group can have a name.
func validName(name string) bool {
	return utf8.RuneCountInString(name) <= 128 && nameForm.MatchString(name)
}

// checkResourceGroup checks that a resource group exists.
func checkResourceGroup(c *api.Context, name string) bool {
	return !c.Has(name) || strings.HasPrefix(c.Get(name), "rg-")
}

func createBalancer(c *api.Context) (*change, *api.Error) {
	lb := &state.NLB{
		Name: c.Get("LoadBalancerName"), VpcID: c.Get("VpcId"), AddressType: c.Get("AddressType"), Status: provisioning,
		AddressIPVersion: cmp.Or(c.Get("AddressIpVersion"), ipv4), ResourceGroupID: cmp.Or(c.Get("ResourceGroupId"), state.DefaultResourceGroup),
		BandwidthPackageID: c.Get("BandwidthPackageId"), Created: c.Now, Tags: tags.FilterOf(c),
	}
	c.Keep("", &lb.Spelling)
	if lb.AddressIPVersion == dualStack {
		lb.Ipv6AddressType = intranet
	}
	switch pay := c.Get("LoadBalancerBillingConfig.PayType"); {
	case lb.Name != "" && !validName(lb.Name):
		return nil, fail("IllegalParam.loadBalancerName")
	case !validTags(lb.Tags):
		return nil, fail(illegal)
	case pay != "" && !strings.EqualFold(pay, payType):
		return nil, fail("OperationDenied.OnlyPostPaidSupported")
	case c.State.Vpcs[lb.VpcID] == nil:
		return nil, fail("ResourceNotFound.Vpc")
	case !checkResourceGroup(c, "ResourceGroupId"):
		return nil, fail("OperationFailed.NotExist.ResourceGroup")
	case lb.BandwidthPackageID != "" && (lb.AddressType != internet || c.State.BandwidthPackages[lb.BandwidthPackageID] == nil):
		return nil, fail(illegal)
	case len(c.State.NLBs) >= c.Settings.Quotas.NLBs:
		return nil, fail(quota)
	}
	zones := mappings(c)
	if err := checkZones(c, lb, zones, nil); err != nil {
		return nil, err
	}
	joined, err := joinedGroups(c, lb)
	if err != nil {
		return nil, err
	}
	lb.SecurityGroupIDs = joined
	setProtection(c, &lb.Deletion, c.True("DeletionProtectionConfig.Enabled"), c.Get("DeletionProtectionConfig.Reason"))
	console := c.Get("ModificationProtectionConfig.Status") == consoleProtection
	setProtection(c, &lb.Modification, console, c.Get("ModificationProtectionConfig.Reason"))
	return &change{kind: kindBalancer, begin: func() string {
		lb.ID = c.NewID("nlb-")
		lb.Number = c.State.Sequence
		lb.DNSName = lb.ID + "." + c.Region + ".nlb.aliyuncs.com"
		for _, m := range zones {
			addZone(c, lb, m)
		}
		c.State.NLBs[lb.ID] = lb
		return lb.ID
	}}, nil
}

// setProtection switches a protection. A reason is kept only while it is on.
func setProtection(c *api.Context, p *state.NLBProtection, on bool, reason string) {
	switch {
	case !on:
		*p = state.NLBProtection{}
	case p.On:
		p.Reason = reason
	default:
		*p = state.NLBProtection{On: true, Reason: reason, Since: c.Now}
	}
}

func deleteBalancer(c *api.Context, lb *state.NLB) (*change, *api.Error) {
	if lb.Deletion.On {
		return nil, fail("OperationDenied.DeletionProtectionEnabled")
	}
	if lb.Status != createFailed {
		if err := free(c, lb, balancerMade, balancerBusy); err != nil {
			return nil, err
		}
	}
	if busyBalancer(c, lb.ID, "StartShiftLoadBalancerZones", "CancelShiftLoadBalancerZones") {
		return nil, fail(lockConflict)
	}
	return configure(lb), nil
}

// configure is a change that nothing else may overlap.
func configure(lb *state.NLB) *change {
	return &change{kind: kindBalancer, id: lb.ID, balancer: lb.ID, begin: func() string {
		lb.Status = configuring
		return ""
	}}
}

// free refuses a change of a load balancer, or of its listeners, while another one is carried out that nothing may overlap.
func free(c *api.Context, lb *state.NLB, whileMade, whileBusy string) *api.Error {
	switch {
	case lb.Status == provisioning:
		return fail(whileMade)
	case lb.Status == configuring:
		return fail(whileBusy)
	case lb.Status == createFailed:
		return fail(balancerStatus)
	case c.Settings.NLBJobsLock && busyBalancer(c, lb.ID):
		return fail(lockConflict)
	}
	return nil
}

// finishBalancer completes a job of a load balancer.
func finishBalancer(c *api.Context, j *state.NLBJob) {
	lb := c.State.NLBs[j.ResourceID]
	if lb == nil { // a test took it away
		return
	}
	switch {
	case j.Action == "CreateLoadBalancer" && j.Status == failed:
		lb.Status = createFailed
	case j.Action == "DeleteLoadBalancer" && j.Status == succeeded:
		for _, z := range lb.Zones {
			takePublic(c, z)
		}
		maps.DeleteFunc(c.State.NLBListeners, func(_ string, l *state.NLBListener) bool { return l.NLBID == lb.ID })
		delete(c.State.NLBs, lb.ID)
	case slices.Contains(exclusive(), j.Action): // others leave the status alone: one of these may have begun meanwhile
		lb.Status = active
	}
}

// exclusive are the actions whose jobs nothing may overlap.
func exclusive() []string {
	return []string{"CreateLoadBalancer", "DeleteLoadBalancer", "UpdateLoadBalancerZones", "UpdateLoadBalancerAddressTypeConfig"}
}

// balancer returns the load balancer of the parameter LoadBalancerId.
func balancer(c *api.Context) (*state.NLB, *api.Error) {
	lb := c.State.NLBs[c.Get("LoadBalancerId")]
	if lb == nil {
		return nil, fail(noBalancer)
	}
	complete(c, lb)
	return lb, nil
}

// complete fills in what a seeded load balancer leaves out. One without a time of creation is one that was seeded.
func complete(c *api.Context, lb *state.NLB) {
	if !lb.Created.IsZero() {
		return
	}
	lb.Created = c.Now
	lb.AddressType, lb.AddressIPVersion = cmp.Or(lb.AddressType, intranet), cmp.Or(lb.AddressIPVersion, ipv4)
	lb.Status, lb.ResourceGroupID = cmp.Or(lb.Status, active), cmp.Or(lb.ResourceGroupID, state.DefaultResourceGroup)
	lb.DNSName = cmp.Or(lb.DNSName, lb.ID+"."+c.Region+".nlb.aliyuncs.com")
	seeded := lb.Zones
	lb.Zones = nil
	for _, z := range seeded {
		if vsw := c.State.VSwitches[z.VSwitchID]; vsw != nil && z.PrivateIP == "" {
			lb.VpcID = cmp.Or(lb.VpcID, vsw.VpcID)
			addZone(c, lb, mapping{zoneID: vsw.ZoneID, vswitchID: z.VSwitchID, allocationID: z.AllocationID})
			continue
		}
		z.Status = cmp.Or(z.Status, active)
		lb.Zones = append(lb.Zones, z)
	}
}

func listBalancers(c *api.Context) (any, *api.Error) {
	if c.Has("LoadBalancerType") && !strings.EqualFold(c.Get("LoadBalancerType"), balancerType) {
		return nil, fail("IllegalParam.LoadBalancerType")
	}
	names, vpcs, wanted := c.List("LoadBalancerNames"), c.List("VpcIds"), tags.FilterOf(c)
	return list[state.NLB]{
		name: "LoadBalancers", ids: "LoadBalancerIds", all: c.State.NLBs, place: (*state.NLB).Place,
		match: func(lb *state.NLB) bool {
			complete(c, lb)
			return listing.Among(names, lb.Name) && listing.Among(vpcs, lb.VpcID) && wanted.Match(lb.Tags) &&
				listing.Match(c.Get("AddressType"), lb.AddressType) && listing.Match(c.Get("AddressIpVersion"), lb.AddressIPVersion) &&
				listing.Match(c.Get("Ipv6AddressType"), lb.Ipv6AddressType) && listing.Match(c.Get("DNSName"), lb.DNSName) &&
				listing.Match(c.Get("LoadBalancerStatus"), lb.Status) &&
				listing.Match(c.Get("LoadBalancerBusinessStatus"), cmp.Or(lb.BusinessStatus, normalBusiness)) &&
				listing.Match(c.Get("ResourceGroupId"), lb.ResourceGroupID) && (!c.Has("ZoneId") || zoneOf(lb.Zones, c.Get("ZoneId")) != nil)
		},
		show: func(lb *state.NLB) api.Object {
			return append(showBalancer(c, lb, tagsOf(lb.Tags)), "AliUid", account(c)) // which a list shows only
		},
	}.answer(c)
}

func getBalancer(c *api.Context, lb *state.NLB) (any, *api.Error) {
	return showBalancer(c, lb, twiceNamed(lb.Tags)), nil
}
