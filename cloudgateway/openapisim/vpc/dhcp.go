package vpc

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Codes of DHCP options sets, from the error tables of their actions (help pages, changed last in December 2025). What is not found is a
// bad request there, the VPC too.
const (
	noDhcpSet        = "InvalidDhcpOptionsSetId.NotFound"
	wrongDhcpSet     = "IncorrectStatus.DhcpOptionsSet"
	wrongDhcpVpc     = "IncorrectStatus.VpcDhcpOptionsSet"
	dhcpSetAttached  = "DependencyViolation.VpcAttachment"
	vpcHasDhcpSet    = "OperationFailed.AttachmentExist"
	vpcHasNoDhcpSet  = "OperationFailed.AttachmentNotExist"
	vpcHasOtherDhcp  = "AttrMismatching.VpcDhcpOptionsSetId"
	vpcChangesDhcp   = "IncorrectStatus.VpcDhcpStatus" // of DeleteVpc
	maxDhcpServers   = 4
	defaultLeaseTime = "3650d"
)

// dhcpActions have the parameters and members of the types of github.com/alibabacloud-go/vpc-20160428 v6.12.8 (July 2025).
func dhcpActions() []api.Action {
	id, token, dryRun := api.Required("DhcpOptionsSetId"), api.Optional("ClientToken"), api.Flag("DryRun")
	name, domain := api.Optional("DhcpOptionsSetName"), api.Optional("DomainName")
	options := []api.Param{region(), name, domain, api.Optional("DhcpOptionsSetDescription"), api.Optional("DomainNameServers"),
		api.Optional("LeaseTime"), api.Optional("Ipv6LeaseTime"), dryRun, token}
	optionCodes := []string{"IllegalParam.DhcpOptionsSetName", "IllegalParam.DhcpOptionsSetDescription", "IllegalParam.DomainName",
		"IllegalParam.DomainNameServers", "IllegalParam.LeaseTime", "DryRunOperation", "IdempotentParameterMismatch"}
	change := func(name string, do func(*api.Context, *state.DhcpOptionsSet) (string, *api.Error), codes ...string) api.Action {
		return api.Write(name, clienttoken.Once("vpc/"+name, nil, api.On(settledDhcpSet, do)), append(codes, noDhcpSet, wrongDhcpSet,
			"InvalidVpcId.NotFound", wrongDhcpVpc, "DryRunOperation", "IdempotentParameterMismatch"), region(), id, api.Required("VpcId"),
			dryRun, token)
	}
	return []api.Action{
		api.Write("CreateDhcpOptionsSet", clienttoken.Once("vpc/CreateDhcpOptionsSet", showDhcpSet, createDhcpSet),
			newTagCodes(optionCodes...), append(slices.Clone(options), api.Optional("ResourceGroupId"), tags.Param())...),
		api.Read("GetDhcpOptionsSet", api.On(dhcpSetByID, getDhcpSet), []string{noDhcpSet}, region(), id),
		api.Read("ListDhcpOptionsSets", listDhcpSets, tagFilterCodes(wrongPage), append(tokenPage(), region(), name, domain,
			api.Param{Name: "DhcpOptionsSetId", Kind: api.Strings, Max: 20}, api.Optional("ResourceGroupId"), tags.ListParam())...),
		api.Write("UpdateDhcpOptionsSetAttribute", clienttoken.Once("vpc/UpdateDhcpOptionsSetAttribute", nil,
			api.On(settledDhcpSet, updateDhcpSet)), append([]string{noDhcpSet, wrongDhcpSet}, optionCodes...), append(options, id)...),
		api.Write("DeleteDhcpOptionsSet", clienttoken.Once("vpc/DeleteDhcpOptionsSet", nil, api.On(settledDhcpSet, deleteDhcpSet)),
			[]string{noDhcpSet, wrongDhcpSet, dhcpSetAttached, "DryRunOperation", "IdempotentParameterMismatch"}, region(), id, dryRun, token),
		change("AttachDhcpOptionsSetToVpc", attachDhcpSet, vpcHasDhcpSet),
		change("DetachDhcpOptionsSetFromVpc", detachDhcpSet, vpcHasNoDhcpSet, vpcHasOtherDhcp),
	}
}

func dhcpSetByID(c *api.Context) (*state.DhcpOptionsSet, *api.Error) {
	return api.Named(c, c.State.DhcpOptionsSets, "DhcpOptionsSetId", func() *api.Error {
		return api.BadRequest(noDhcpSet, "The specified dhcpOptionsSetId does not exist.")
	})
}

// settledDhcpSet is dhcpSetByID for what a set refuses while it is made or deleted.
func settledDhcpSet(c *api.Context) (*state.DhcpOptionsSet, *api.Error) {
	s, err := dhcpSetByID(c)
	if err == nil && !ready(&s.Stage) {
		err = api.BadRequest(wrongDhcpSet, "The DhcpOptionsSet status does not support this operation.")
	}
	return s, err
}

// domainName is the form of a domain name; the documents have no more than an example.
var domainName = regexp.MustCompile(`^[0-9A-Za-z]([0-9A-Za-z.-]{0,252}[0-9A-Za-z])?$`)

var lease = regexp.MustCompile(`^([0-9]{1,6})([hd])$`)

// validLease reports whether a time is one that the documents name: 24h…1176h, 87600h…175200h, 1d…49d, 3650d…7300d.
func validLease(text string) bool {
	parts := lease.FindStringSubmatch(text)
	if parts == nil {
		return text == ""
	}
	n, _ := strconv.Atoi(parts[1]) // up to six digits
	hours := map[string]int{"h": 1, "d": 24}[parts[2]]
	n *= hours
	return n >= 24 && n <= 1176 || n >= 87600 && n <= 175200
}

func notAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err != nil
}

func checkDhcpOptions(c *api.Context) *api.Error {
	servers := listing.CommaList(c.Get("DomainNameServers"))
	illegal := func(name string) *api.Error {
		return api.BadRequest("IllegalParam."+name, "The specified %s is invalid.", name)
	}
	switch {
	case !validName(c.Get("DhcpOptionsSetName")):
		return illegal("DhcpOptionsSetName")
	case !validDescription(c.Get("DhcpOptionsSetDescription")):
		return illegal("DhcpOptionsSetDescription")
	case c.Has("DomainName") && !domainName.MatchString(c.Get("DomainName")):
		return illegal("DomainName")
	case len(servers) > maxDhcpServers || slices.ContainsFunc(servers, notAddress):
		return illegal("DomainNameServers")
	case !validLease(c.Get("LeaseTime")) || !validLease(c.Get("Ipv6LeaseTime")):
		return illegal("LeaseTime")
	case c.True("DryRun"):
		return api.DryRun()
	}
	return nil
}

// setDhcpOptions changes what a call names.
func setDhcpOptions(c *api.Context, s *state.DhcpOptionsSet) {
	c.SetText("DhcpOptionsSetName", &s.Name)
	c.SetText("DhcpOptionsSetDescription", &s.Description)
	c.SetText("DomainName", &s.DomainName)
	c.SetText("DomainNameServers", &s.DomainNameServers)
	c.SetText("LeaseTime", &s.LeaseTime)
	c.SetText("Ipv6LeaseTime", &s.Ipv6LeaseTime)
}

func createDhcpSet(c *api.Context) (string, *api.Error) {
	labels, err := newTags(c)
	if err == nil {
		err = checkDhcpOptions(c)
	}
	if err != nil {
		return "", err
	}
	s := &state.DhcpOptionsSet{ID: c.NewID("dopt-bp1"), ResourceGroupID: c.Get("ResourceGroupId"), Tags: labels, Created: c.Now}
	setDhcpOptions(c, s)
	begin(c, &s.Stage, pending)
	c.State.DhcpOptionsSets[s.ID] = s
	return s.ID, nil
}

func showDhcpSet(c *api.Context, id string) any {
	group := memberOf(c.State.DhcpOptionsSets, id, func(s *state.DhcpOptionsSet) string { return s.ResourceGroupID })
	return api.Object{"DhcpOptionsSetId", id, "ResourceGroupId", resourceGroup(group)}
}

func dhcpSetStatus(s *state.DhcpOptionsSet) string {
	if s.Stage.Status == available && len(s.Attachments) > 0 {
		return inUse
	}
	return s.Stage.Status
}

// dhcpStatus is how a VPC has a set: pending while it gets or loses it.
func dhcpStatus(a *state.DhcpAttachment) string {
	if ready(&a.Stage) {
		return inUse
	}
	return pending
}

func newDhcpSetView(c *api.Context, s *state.DhcpOptionsSet) api.Object {
	return api.Object{
		"DhcpOptionsSetId", s.ID, "DhcpOptionsSetName", s.Name, "DhcpOptionsSetDescription", s.Description, "Status", dhcpSetStatus(s),
		"OwnerId", owner(c), "ResourceGroupId", resourceGroup(s.ResourceGroupID), "CreationTime", creationTime(s.Created),
		"DhcpOptions", api.Object{
			"DomainName", s.DomainName, "DomainNameServers", s.DomainNameServers, "LeaseTime", cmp.Or(s.LeaseTime, defaultLeaseTime),
			"Ipv6LeaseTime", cmp.Or(s.Ipv6LeaseTime, defaultLeaseTime),
		}, "Tags", flatTags(s.Tags),
	}
}

func getDhcpSet(c *api.Context, s *state.DhcpOptionsSet) (any, *api.Error) {
	return append(newDhcpSetView(c, s), "AssociateVpcs", api.Objects(s.Attachments, func(a *state.DhcpAttachment) api.Object {
		return api.Object{"VpcId", a.VpcID, "AssociateStatus", dhcpStatus(a)}
	})), nil
}

func listDhcpSets(c *api.Context) (any, *api.Error) {
	filter, err := tagCodes().FilterAs(c, tags.ListName)
	if err != nil {
		return nil, err
	}
	matching := listing.Find(c.State.DhcpOptionsSets, func(s *state.DhcpOptionsSet) bool {
		return listing.Among(c.List("DhcpOptionsSetId"), s.ID) && listing.Match(c.Get("DhcpOptionsSetName"), s.Name) &&
			listing.Match(c.Get("DomainName"), s.DomainName) && filter.Match(s.Tags) &&
			listing.Match(c.Get("ResourceGroupId"), resourceGroup(s.ResourceGroupID))
	})
	page, next, err := pageAfter(c, matching, func(s *state.DhcpOptionsSet) string { return s.ID }, defaultEntries)
	if err != nil {
		return nil, err
	}
	return api.Object{
		"NextToken", next, "TotalCount", strconv.Itoa(len(matching)),
		"DhcpOptionsSets", api.Objects(page, func(s *state.DhcpOptionsSet) api.Object {
			return append(newDhcpSetView(c, s), "AssociateVpcCount", len(s.Attachments))
		}),
	}, nil
}

func updateDhcpSet(c *api.Context, s *state.DhcpOptionsSet) (string, *api.Error) {
	if err := checkDhcpOptions(c); err != nil {
		return "", err
	}
	setDhcpOptions(c, s)
	begin(c, &s.Stage, pending)
	return s.ID, nil
}

func deleteDhcpSet(c *api.Context, s *state.DhcpOptionsSet) (string, *api.Error) {
	switch {
	case len(s.Attachments) > 0:
		return "", api.BadRequest(dhcpSetAttached, "DhcpOptionsSet cannot be deleted when it is attached to VPC.")
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	begin(c, &s.Stage, deleting)
	return s.ID, nil
}

// dhcpOf is the set that a VPC has, and how it has it; nil if it has none.
func dhcpOf(c *state.Cloud, vpcID string) (*state.DhcpOptionsSet, *state.DhcpAttachment) {
	for _, s := range c.DhcpOptionsSets {
		for _, a := range s.Attachments {
			if a.VpcID == vpcID {
				return s, a
			}
		}
	}
	return nil, nil
}

// hasDhcp reports whether a VPC passes the filter by its set.
func hasDhcp(c *api.Context, vpcID string) bool {
	set := c.State.DhcpOptionsSets[c.Get("DhcpOptionsSetId")]
	return !c.Has("DhcpOptionsSetId") || set != nil && slices.ContainsFunc(set.Attachments, func(a *state.DhcpAttachment) bool {
		return a.VpcID == vpcID
	})
}

// checkDhcpVpc refuses a VPC that there isn't, or that is getting or losing a set.
func checkDhcpVpc(c *api.Context) (*state.DhcpOptionsSet, *api.Error) {
	if c.State.Vpcs[c.Get("VpcId")] == nil {
		return nil, api.BadRequest("InvalidVpcId.NotFound", "Specified value of VpcId is not found in our record.")
	}
	s, a := dhcpOf(c.State, c.Get("VpcId"))
	if a != nil && !ready(&a.Stage) {
		return nil, api.BadRequest(wrongDhcpVpc, "The dhcpOptionsSet status of VPC does not support this operation.")
	}
	return s, nil
}

func attachDhcpSet(c *api.Context, s *state.DhcpOptionsSet) (string, *api.Error) {
	switch other, err := checkDhcpVpc(c); {
	case err != nil:
		return "", err
	case other != nil:
		return "", api.BadRequest(vpcHasDhcpSet, "The current VPC is already attached to a DHCP options set.")
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	a := &state.DhcpAttachment{VpcID: c.Get("VpcId")}
	begin(c, &a.Stage, pending)
	s.Attachments = append(s.Attachments, a)
	return s.ID, nil
}

func detachDhcpSet(c *api.Context, s *state.DhcpOptionsSet) (string, *api.Error) {
	switch other, err := checkDhcpVpc(c); {
	case err != nil:
		return "", err
	case other == nil:
		return "", api.BadRequest(vpcHasNoDhcpSet, "The current VPC is not attached to a DHCP options set.")
	case other != s:
		return "", api.BadRequest(vpcHasOtherDhcp, "The dhcpOptionsSetId does not match the VPC.")
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	_, a := dhcpOf(c.State, c.Get("VpcId"))
	begin(c, &a.Stage, deleting)
	return s.ID, nil
}

// settleDhcp completes what has ended between sets and VPCs.
func settleDhcp(c *state.Cloud, over func(*time.Time) bool) {
	for _, s := range c.DhcpOptionsSets {
		s.Attachments = slices.DeleteFunc(s.Attachments, func(a *state.DhcpAttachment) bool {
			if !over(&a.Stage.BusyUntil) {
				return false
			}
			gone := a.Stage.Status == deleting
			a.Stage.Status = inUse
			return gone
		})
	}
}

// forgetDhcp takes a VPC that is deleted out of its set.
func forgetDhcp(c *state.Cloud, vpcID string) {
	if s, _ := dhcpOf(c, vpcID); s != nil {
		s.Attachments = slices.DeleteFunc(s.Attachments, func(a *state.DhcpAttachment) bool { return a.VpcID == vpcID })
	}
}
