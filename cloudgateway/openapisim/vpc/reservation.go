package vpc

import (
	"net/netip"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/subnet"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Codes of reservations. The status is one that Terraform's provider repeats calls on; the other two are unproven. A block or a mask that
// can't be is InvalidParameter, as no document has a code for it.
const (
	noReservation    = "ResourceNotFound.VSwitchCidrReservation"
	wrongReservation = "IncorrectStatus"
	reservationInUse = "DependencyViolation.NetworkInterface"
)

// The states of a reservation besides Releasing.
const (
	assigning = "Assigning"
	assigned  = "Assigned"
)

// The longest masks of reservations, and those of the prefixes that network interfaces have.
const (
	ipv4ReservationBits, ipv6ReservationBits = 28, 80
	reservationType                          = "prefix"
)

// reservationActions have the parameters and members of the types of github.com/alibabacloud-go/vpc-20160428 v6.12.8 (July 2025).
func reservationActions() []api.Action {
	id, token, dryRun := api.Required("VSwitchCidrReservationId"), api.Optional("ClientToken"), api.Flag("DryRun")
	name, text := api.Optional("VSwitchCidrReservationName"), api.Optional("VSwitchCidrReservationDescription")
	kind, version := api.OneOf("VSwitchCidrReservationType", reservationType), api.OneOf("IpVersion", "IPv4", "IPv6")
	codes := []string{noReservation, wrongReservation, "DryRunOperation", "IdempotentParameterMismatch"}
	return []api.Action{
		api.Write("CreateVSwitchCidrReservation", clienttoken.Once("vpc/CreateVSwitchCidrReservation",
			clienttoken.Show("VSwitchCidrReservationId"), api.On(settledVSwitch, createReservation)),
			newTagCodes("InvalidVSwitchId.NotFound", "IncorrectVSwitchStatus", "InvalidParameter", "DryRunOperation",
				"IdempotentParameterMismatch"), region(), api.Required("VSwitchId"), kind, version, name, text,
			api.Optional("VSwitchCidrReservationCidr"), api.Number("VSwitchCidrReservationMask", 1, ipv6ReservationBits), dryRun, token,
			tags.Param()),
		api.Read("ListVSwitchCidrReservations", listReservations, tagFilterCodes(wrongPage), append(tokenPage(), region(),
			api.Optional("VSwitchId"), kind, version, api.Param{Name: "VSwitchCidrReservationIds", Kind: api.Strings, Max: 10},
			tags.ListParam())...),
		api.Write("ModifyVSwitchCidrReservationAttribute", clienttoken.Once("vpc/ModifyVSwitchCidrReservationAttribute", nil,
			api.On(settledReservation, modifyReservation)), append([]string{"InvalidParameter"}, codes...), region(), id, name, text, dryRun,
			token),
		api.Write("DeleteVSwitchCidrReservation", clienttoken.Once("vpc/DeleteVSwitchCidrReservation", nil,
			api.On(settledReservation, deleteReservation)), append([]string{reservationInUse}, codes...), region(), id, dryRun, token),
	}
}

// settledReservation finds the reservation of a call, and refuses one on its way between two states.
func settledReservation(c *api.Context) (*state.CidrReservation, *api.Error) {
	r, err := api.Named(c, c.State.CidrReservations, "VSwitchCidrReservationId", func() *api.Error {
		return api.NotFound(noReservation, "The specified reserved CIDR block does not exist.")
	})
	if err == nil && !ready(&r.Stage) {
		err = api.BadRequest(wrongReservation, "The status of the reserved CIDR block does not support this operation.")
	}
	return r, err
}

// freeBlock is the block that a call reserves in a vSwitch: the one it names, or the first one of the length that it names in which
// nothing has an address. It reports false if there is none.
func freeBlock(c *api.Context, v *state.VSwitch) (netip.Prefix, bool) {
	text, longest := v.CidrBlock, ipv4ReservationBits
	if c.Get("IpVersion") == "IPv6" {
		text, longest = v.Ipv6Cidr, ipv6ReservationBits
	}
	whole, err := netip.ParsePrefix(text)
	if err != nil || c.Has("VSwitchCidrReservationCidr") == c.Has("VSwitchCidrReservationMask") {
		return netip.Prefix{}, false
	}
	taken := takenIn(c.State, v)
	free := func(block netip.Prefix) bool { return !slices.ContainsFunc(taken, block.Overlaps) }
	if c.Has("VSwitchCidrReservationCidr") {
		block, err := netip.ParsePrefix(c.Get("VSwitchCidrReservationCidr"))
		ok := err == nil && block == block.Masked() && block.Bits() > whole.Bits() && block.Bits() <= longest && whole.Contains(block.Addr())
		return block, ok && free(block)
	}
	bits := c.Int("VSwitchCidrReservationMask", 0)
	if bits <= whole.Bits() || bits > longest {
		return netip.Prefix{}, false
	}
	for block := netip.PrefixFrom(whole.Addr(), bits); whole.Contains(block.Addr()); block = subnet.Next(block) {
		if free(block) {
			return block, true
		}
	}
	return netip.Prefix{}, false
}

// takenIn are the addresses of a vSwitch that something has, and its reservations.
func takenIn(c *state.Cloud, v *state.VSwitch) []netip.Prefix {
	taken := subnet.Reserved(c, v.ID)
	for text := range subnet.Taken(c, v) {
		if addr, err := netip.ParseAddr(text); err == nil {
			taken = append(taken, netip.PrefixFrom(addr, addr.BitLen()))
		}
	}
	return taken
}

func createReservation(c *api.Context, v *state.VSwitch) (string, *api.Error) {
	if err := checkTexts(c, "VSwitchCidrReservationName", "VSwitchCidrReservationDescription"); err != nil {
		return "", err
	}
	labels, err := newTags(c)
	if err != nil {
		return "", err
	}
	block, ok := freeBlock(c, v)
	switch {
	case !ok && c.Has("VSwitchCidrReservationMask"):
		return "", api.Invalid("VSwitchCidrReservationMask")
	case !ok:
		return "", api.Invalid("VSwitchCidrReservationCidr")
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	r := &state.CidrReservation{
		ID: c.NewID("vcr-bp1"), VSwitchID: v.ID, Cidr: block.String(), Name: c.Get("VSwitchCidrReservationName"),
		Description: c.Get("VSwitchCidrReservationDescription"), Tags: labels, Created: c.Now,
	}
	c.Keep("", &r.Spelling)
	begin(c, &r.Stage, assigning)
	c.State.CidrReservations[r.ID] = r
	return r.ID, nil
}

func reservationVersion(r *state.CidrReservation) string {
	if block, err := netip.ParsePrefix(r.Cidr); err == nil && block.Addr().Is6() {
		return "IPv6"
	}
	return "IPv4"
}

// prefixesOf counts the prefixes of a reservation: those that network interfaces have, and those that they could have.
func prefixesOf(c *state.Cloud, r *state.CidrReservation) (used, all int) {
	block, err := netip.ParsePrefix(r.Cidr)
	if err != nil {
		return 0, 0
	}
	longest := ipv4ReservationBits
	if block.Addr().Is6() {
		longest = ipv6ReservationBits
	}
	for _, eni := range c.Interfaces {
		for _, text := range slices.Concat(eni.Ipv4Prefixes, eni.Ipv6Prefixes) {
			if prefix, err := netip.ParsePrefix(text); err == nil && eni.VSwitchID == r.VSwitchID && block.Overlaps(prefix) {
				used++
			}
		}
	}
	return used, 1 << (longest - block.Bits())
}

func listReservations(c *api.Context) (any, *api.Error) {
	filter, err := tagCodes().FilterAs(c, tags.ListName)
	if err != nil {
		return nil, err
	}
	matching := listing.Find(c.State.CidrReservations, func(r *state.CidrReservation) bool {
		return listing.Among(c.List("VSwitchCidrReservationIds"), r.ID) && listing.Match(c.Get("VSwitchId"), r.VSwitchID) &&
			listing.Match(c.Get("IpVersion"), reservationVersion(r)) && filter.Match(r.Tags)
	})
	page, next, err := pageAfter(c, matching, func(r *state.CidrReservation) string { return r.ID }, defaultEntries)
	if err != nil {
		return nil, err
	}
	return api.Object{
		"NextToken", next, "TotalCount", len(matching), "MaxResults", c.Int("MaxResults", defaultEntries),
		"VSwitchCidrReservations", api.Objects(page, func(r *state.CidrReservation) api.Object {
			used, all := prefixesOf(c.State, r)
			return api.Object{
				"VSwitchCidrReservationId", r.ID, "VSwitchId", r.VSwitchID,
				"VpcId", memberOf(c.State.VSwitches, r.VSwitchID, func(v *state.VSwitch) string { return v.VpcID }),
				"VSwitchCidrReservationCidr", r.Cidr, "VSwitchCidrReservationName", r.Name, "VSwitchCidrReservationDescription", r.Description,
				"Type", r.Spelling.Of("VSwitchCidrReservationType", reservationType), "IpVersion", r.Spelling.Of("IpVersion", reservationVersion(r)),
				"Status", r.Stage.Status, "AssignedCidrCount", used, "AvailableCidrCount", all - used, "CreationTime", creationTime(r.Created),
				"Tags", flatTags(r.Tags),
			}
		}),
	}, nil
}

func modifyReservation(c *api.Context, r *state.CidrReservation) (string, *api.Error) {
	if err := checkTexts(c, "VSwitchCidrReservationName", "VSwitchCidrReservationDescription"); err != nil {
		return "", err
	}
	if c.True("DryRun") {
		return "", api.DryRun()
	}
	c.SetText("VSwitchCidrReservationName", &r.Name)
	c.SetText("VSwitchCidrReservationDescription", &r.Description)
	return r.ID, nil
}

func deleteReservation(c *api.Context, r *state.CidrReservation) (string, *api.Error) {
	switch used, _ := prefixesOf(c.State, r); {
	case used > 0:
		return "", api.BadRequest(reservationInUse, "Network interfaces have %d prefixes of the reserved CIDR block.", used)
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	begin(c, &r.Stage, releasing)
	return r.ID, nil
}
