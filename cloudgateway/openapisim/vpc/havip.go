package vpc

import (
	"cmp"
	"net/netip"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/subnet"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// haVipWord is the type of a HaVip where it is a next hop or has an elastic address.
const haVipWord = "HaVip"

// maxHaVipInstances is the number of instances that the documents of AssociateHaVip name.
const maxHaVipInstances = 2

// Codes of HaVips. The first two are those that routes document and that Terraform's provider names; which one a HaVip in use is kept with
// is unproven. A parameter that can't be is InvalidParameter, as no document has a code for it.
const (
	noHaVip          = "InvalidHaVipId.NotFound"
	wrongHaVip       = "IncorrectHaVipStatus"
	noHaVipInstance  = "InvalidInstanceId.NotFound"
	haVipFilterError = "InvalidFilterKey.ValueNotSupported"
)

// haVipActions have the parameters and members of the types of github.com/alibabacloud-go/vpc-20160428 v6.12.8 (July 2025).
func haVipActions() []api.Action {
	id, token := api.Required("HaVipId"), api.Optional("ClientToken")
	binding := []api.Param{region(), id, api.Required("InstanceId"), api.OneOf("InstanceType", ecsInstance, eniInstance), token}
	codes := []string{noHaVip, wrongHaVip, "IdempotentParameterMismatch"}
	return []api.Action{
		api.Write("CreateHaVip", clienttoken.Once("vpc/CreateHaVip", showHaVip, api.On(settledVSwitch, createHaVip)),
			newTagCodes("InvalidVSwitchId.NotFound", "IncorrectVSwitchStatus", "InvalidParameter", "IdempotentParameterMismatch"), region(),
			api.Required("VSwitchId"), api.Optional("IpAddress"), api.Optional("Name"), api.Optional("Description"),
			api.Optional("ResourceGroupId"), token, tags.Param()),
		api.Read("DescribeHaVips", describeHaVips, tagFilterCodes(haVipFilterError), append(listing.Params(maxPage), region(),
			api.Param{Name: "Filter", Kind: api.Structs, Max: 5}, api.Optional("ResourceGroupId"), tags.ListParam())...),
		api.Write("ModifyHaVipAttribute", clienttoken.Once("vpc/ModifyHaVipAttribute", nil, api.On(haVipByID, modifyHaVip)),
			[]string{noHaVip, "InvalidParameter", "IdempotentParameterMismatch"}, region(), id, api.Optional("Name"),
			api.Optional("Description"), token),
		api.Write("DeleteHaVip", clienttoken.Once("vpc/DeleteHaVip", nil, api.On(settledHaVip, deleteHaVip)), codes, region(), id, token),
		api.Write("AssociateHaVip", clienttoken.Once("vpc/AssociateHaVip", nil, api.On(settledHaVip, associateHaVip)),
			append([]string{noHaVipInstance, "IncorrectInstanceStatus", "InvalidParameter"}, codes...), binding...),
		api.Write("UnassociateHaVip", clienttoken.Once("vpc/UnassociateHaVip", nil, api.On(settledHaVip, unassociateHaVip)),
			append([]string{noHaVipInstance}, codes...), append(binding, api.Flag("Force"))...),
	}
}

func haVipByID(c *api.Context) (*state.HaVip, *api.Error) {
	return api.Named(c, c.State.HaVips, "HaVipId", func() *api.Error {
		return api.NotFound(noHaVip, "The specified HaVip does not exist.")
	})
}

// settledHaVip is haVipByID for what a HaVip refuses on its way between two states.
func settledHaVip(c *api.Context) (*state.HaVip, *api.Error) {
	h, err := haVipByID(c)
	if err == nil && !ready(&h.Stage) {
		err = incorrectHaVipStatus()
	}
	return h, err
}

func incorrectHaVipStatus() *api.Error {
	return api.BadRequest(wrongHaVip, "The status of the HaVip does not support this operation.")
}

// checkTexts refuses a name or a description that can't be, where no document has a code for it.
func checkTexts(c *api.Context, name, description string) *api.Error {
	switch {
	case !validName(c.Get(name)):
		return api.Invalid(name)
	case !validDescription(c.Get(description)):
		return api.Invalid(description)
	}
	return nil
}

func createHaVip(c *api.Context, v *state.VSwitch) (string, *api.Error) {
	if err := checkTexts(c, "Name", "Description"); err != nil {
		return "", err
	}
	labels, err := newTags(c)
	if err != nil {
		return "", err
	}
	block, _ := netip.ParsePrefix(v.CidrBlock)
	used := subnet.Used(c.State, v)
	address, isFree := subnet.Free(block, used)
	if asked := c.Get("IpAddress"); asked != "" {
		addr, wrong := netip.ParseAddr(asked)
		address, isFree = asked, wrong == nil && subnet.Usable(block, addr) && !used[addr.String()]
	}
	if !isFree {
		return "", api.Invalid("IpAddress")
	}
	h := &state.HaVip{
		ID: c.NewID("havip-bp1"), VSwitchID: v.ID, Address: address, Name: c.Get("Name"), Description: c.Get("Description"),
		ResourceGroupID: c.Get("ResourceGroupId"), Tags: labels, Created: c.Now,
	}
	begin(c, &h.Stage, creating)
	c.State.HaVips[h.ID] = h
	return h.ID, nil
}

func showHaVip(c *api.Context, id string) any {
	h := cmp.Or(c.State.HaVips[id], &state.HaVip{})
	return api.Object{"HaVipId", id, "IpAddress", h.Address}
}

// haVipVpc is the VPC of a HaVip.
func haVipVpc(c *state.Cloud, h *state.HaVip) string {
	return memberOf(c.VSwitches, h.VSwitchID, func(v *state.VSwitch) string { return v.VpcID })
}

func haVipGroup(c *api.Context, h *state.HaVip) string {
	return cmp.Or(h.ResourceGroupID, groupOfVpc(c, haVipVpc(c.State, h)))
}

func haVipStatus(h *state.HaVip) string {
	if h.Stage.Status == available && len(h.InstanceIDs) > 0 {
		return inUse
	}
	return h.Stage.Status
}

// newHaVipView shows no instance as the master: which one is depends on who announces the address, and nobody does here.
func newHaVipView(c *api.Context, h *state.HaVip) api.Object {
	var eips []string
	for _, e := range listing.Find(c.State.Eips, func(e *state.Eip) bool { return e.InstanceID == h.ID }) {
		eips = append(eips, e.Address)
	}
	return api.Object{
		"HaVipId", h.ID, "IpAddress", h.Address, "Name", h.Name, "Description", h.Description, "Status", haVipStatus(h),
		"VSwitchId", h.VSwitchID, "VpcId", haVipVpc(c.State, h), "RegionId", c.Region, "CreateTime", creationTime(h.Created),
		"AssociatedInstanceType", h.Spelling.Of("InstanceType", h.InstanceType), "MasterInstanceId", "", "ChargeType", "",
		"AssociatedInstances", api.Object{"associatedInstance", h.InstanceIDs},
		"AssociatedEipAddresses", api.Object{"associatedEipAddresse", eips},
		"ResourceGroupId", haVipGroup(c, h), "Tags", tags.Shorts(h.Tags),
	}
}

func describeHaVips(c *api.Context) (any, *api.Error) {
	labels, err := tagCodes().FilterAs(c, tags.ListName)
	if err != nil {
		return nil, err
	}
	matches := func(*state.HaVip) bool { return true }
	for _, filter := range c.Prefixes("Filter") {
		of := map[string]func(*state.HaVip) string{
			"VpcId":        func(h *state.HaVip) string { return haVipVpc(c.State, h) },
			"VSwitchId":    func(h *state.HaVip) string { return h.VSwitchID },
			"Status":       haVipStatus,
			"HaVipId":      func(h *state.HaVip) string { return h.ID },
			"HaVipAddress": func(h *state.HaVip) string { return h.Address },
		}[c.Get(filter+"Key")]
		if of == nil {
			return nil, api.BadRequest(haVipFilterError, "The filter key %q is not supported.", c.Get(filter+"Key"))
		}
		others, values := matches, c.List(filter+"Value")
		matches = func(h *state.HaVip) bool { return others(h) && slices.Contains(values, of(h)) }
	}
	found := listing.Find(c.State.HaVips, func(h *state.HaVip) bool {
		return matches(h) && listing.Match(c.Get("ResourceGroupId"), haVipGroup(c, h)) && labels.Match(h.Tags)
	})
	return listing.Answer(c, found, "HaVips", "HaVip", func(h *state.HaVip) api.Object { return newHaVipView(c, h) })
}

func modifyHaVip(c *api.Context, h *state.HaVip) (string, *api.Error) {
	if err := checkTexts(c, "Name", "Description"); err != nil {
		return "", err
	}
	c.SetText("Name", &h.Name)
	c.SetText("Description", &h.Description)
	return h.ID, nil
}

func deleteHaVip(c *api.Context, h *state.HaVip) (string, *api.Error) {
	if len(h.InstanceIDs) > 0 || haVipUser(c.State, h.ID) {
		return "", incorrectHaVipStatus()
	}
	begin(c, &h.Stage, deleting)
	return h.ID, nil
}

// haVipUser reports whether an elastic address or a route leads to a HaVip.
func haVipUser(c *state.Cloud, id string) bool {
	for _, e := range c.Eips {
		if e.InstanceID == id {
			return true
		}
	}
	for _, table := range c.RouteTables {
		if slices.ContainsFunc(table.Entries, func(e *state.RouteEntry) bool { return e.NextHopID == id }) {
			return true
		}
	}
	return false
}

// haVipIn is a HaVip of a vSwitch, "" if there is none.
func haVipIn(c *state.Cloud, vswitchID string) string {
	for id, h := range c.HaVips {
		if h.VSwitchID == vswitchID {
			return id
		}
	}
	return ""
}

// checkHaVipInstance refuses what isn't in the vSwitch of a HaVip, is not of the type of the others, or is on its way to another state.
func checkHaVipInstance(c *api.Context, h *state.HaVip, kind, id string) *api.Error {
	i, eni, vswitch := c.State.Instances[id], c.State.Interfaces[id], ""
	switch {
	case kind == ecsInstance && i != nil:
		if err := checkInstanceStatus(i); err != nil {
			return err
		}
		vswitch = i.VSwitchID
	case kind == eniInstance && eni != nil:
		vswitch = eni.VSwitchID
	default:
		return haVipInstanceNotFound()
	}
	switch {
	case vswitch != h.VSwitchID, slices.Contains(h.InstanceIDs, id), len(h.InstanceIDs) >= maxHaVipInstances:
		return api.Invalid("InstanceId")
	case len(h.InstanceIDs) > 0 && h.InstanceType != kind:
		return api.Invalid("InstanceType")
	}
	return nil
}

func haVipInstanceNotFound() *api.Error {
	return api.NotFound(noHaVipInstance, "The specified instance does not exist.")
}

func associateHaVip(c *api.Context, h *state.HaVip) (string, *api.Error) {
	kind, id := cmp.Or(c.Get("InstanceType"), ecsInstance), c.Get("InstanceId")
	if err := checkHaVipInstance(c, h, kind, id); err != nil {
		return "", err
	}
	h.InstanceType, h.InstanceIDs = kind, append(h.InstanceIDs, id)
	c.Keep("", &h.Spelling)
	begin(c, &h.Stage, associating)
	return h.ID, nil
}

// unassociateHaVip needs no force, which is for the master only: none is here.
func unassociateHaVip(c *api.Context, h *state.HaVip) (string, *api.Error) {
	id := c.Get("InstanceId")
	if !slices.Contains(h.InstanceIDs, id) {
		return "", haVipInstanceNotFound()
	}
	h.InstanceIDs = slices.DeleteFunc(slices.Clone(h.InstanceIDs), func(bound string) bool { return bound == id })
	if len(h.InstanceIDs) == 0 {
		h.InstanceType, h.InstanceIDs = "", nil
	}
	begin(c, &h.Stage, unassociating)
	return h.ID, nil
}
