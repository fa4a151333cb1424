package vpc

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/subnet"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Codes of pools. The first four are those of AllocateEipAddress; Terraform's provider repeats DeletePublicIpAddressPool on the second.
// What a pool in use is kept with is unproven. A block that can't be is InvalidParameter, as no document has a code for it.
const (
	noAddressPool    = "ResourceNotFound.PublicIpAddressPool"
	wrongAddressPool = "IncorrectStatus.PublicIpAddressPool"
	fullAddressPool  = "ResourceNotEnough.PublicIpAddressPool"
	otherAddressPool = "Mismatch.IpAndPublicIpAddressPool"
	addressPoolInUse = "DependencyViolation.Eip"
)

// The masks of blocks that the cloud chooses.
const minBlockBits, maxBlockBits = 24, 28

// poolActions have the parameters and members of the types of github.com/alibabacloud-go/vpc-20160428 v6.12.8 (July 2025).
func poolActions() []api.Action {
	id, token, dryRun := api.Required("PublicIpAddressPoolId"), api.Optional("ClientToken"), api.Flag("DryRun")
	name, text, isp, block := api.Optional("Name"), api.Optional("Description"), api.Optional("Isp"), api.Optional("CidrBlock")
	page := []api.Param{region(), dryRun, api.Number("MaxResults", 10, 100), api.Optional("NextToken")}
	codes := []string{noAddressPool, wrongAddressPool, "DryRunOperation", "IdempotentParameterMismatch"}
	return []api.Action{
		api.Write("CreatePublicIpAddressPool", clienttoken.Once("vpc/CreatePublicIpAddressPool", showPool, createPool),
			newTagCodes("InvalidParameter", "MissingParameter", "DryRunOperation", "IdempotentParameterMismatch"), region(), name, text, isp,
			api.OneOf("BizType", "Default", "CloudBox"), api.Param{Name: "Zones", Kind: api.Strings},
			api.Param{Name: "SecurityProtectionTypes", Kind: api.Strings, Max: 10}, api.Optional("ResourceGroupId"), dryRun, token, tags.Param()),
		api.Read("ListPublicIpAddressPools", listPools, tagFilterCodes(wrongPage, "DryRunOperation"), append(slices.Clone(page), name, isp,
			api.Param{Name: "PublicIpAddressPoolIds", Kind: api.Strings, Max: 100}, api.OneOf("Status", created, deleting, modifying),
			api.Flag("SecurityProtectionEnabled"), api.Optional("ResourceGroupId"), tags.ListParam())...),
		api.Write("UpdatePublicIpAddressPoolAttribute", clienttoken.Once("vpc/UpdatePublicIpAddressPoolAttribute", nil,
			api.On(settledPool, updatePool)), append([]string{"InvalidParameter"}, codes...), region(), id, name, text, dryRun, token),
		api.Write("DeletePublicIpAddressPool", clienttoken.Once("vpc/DeletePublicIpAddressPool", nil, api.On(settledPool, deletePool)),
			append([]string{addressPoolInUse}, codes...), region(), id, dryRun, token),
		api.Write("AddPublicIpAddressPoolCidrBlock", clienttoken.Once("vpc/AddPublicIpAddressPoolCidrBlock", clienttoken.Show("CidrBlock"),
			api.On(settledPool, addPoolBlock)), append([]string{"InvalidParameter"}, codes...), region(), id, block,
			api.Number("CidrMask", minBlockBits, maxBlockBits), dryRun, token),
		api.Write("DeletePublicIpAddressPoolCidrBlock", clienttoken.Once("vpc/DeletePublicIpAddressPoolCidrBlock", nil,
			api.On(settledPool, deletePoolBlock)), append([]string{"InvalidParameter", addressPoolInUse}, codes...), region(), id, must(block),
			dryRun, token),
		api.Read("ListPublicIpAddressPoolCidrBlocks", api.On(poolByID, listPoolBlocks), []string{noAddressPool, wrongPage,
			"DryRunOperation"}, append(slices.Clone(page), id, block)...),
	}
}

func poolByID(c *api.Context) (*state.AddressPool, *api.Error) {
	return api.Named(c, c.State.AddressPools, "PublicIpAddressPoolId", poolNotFound)
}

func poolNotFound() *api.Error {
	return api.BadRequest(noAddressPool, "The specified resource of PublicIpAddressPool is not found.")
}

// settledPool is poolByID for what a pool refuses while it or one of its blocks is on its way between two states.
func settledPool(c *api.Context) (*state.AddressPool, *api.Error) {
	p, err := poolByID(c)
	if err == nil && (!ready(&p.Stage) || slices.ContainsFunc(p.Blocks, func(b *state.PoolBlock) bool { return !ready(&b.Stage) })) {
		err = api.BadRequest(wrongAddressPool, "The status of PublicIpAddressPool is incorrect.")
	}
	return p, err
}

func createPool(c *api.Context) (string, *api.Error) {
	if err := checkTexts(c, "Name", "Description"); err != nil {
		return "", err
	}
	labels, err := newTags(c)
	switch {
	case err != nil:
		return "", err
	case c.Get("BizType") == "CloudBox" && len(c.List("Zones")) == 0:
		return "", api.Missing("Zones.1")
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	p := &state.AddressPool{
		ID: c.NewID("pippool-bp1"), Name: c.Get("Name"), Description: c.Get("Description"), ISP: c.Get("Isp"), BizType: c.Get("BizType"),
		Zones: c.List("Zones"), ProtectionTypes: c.List("SecurityProtectionTypes"), ResourceGroupID: c.Get("ResourceGroupId"), Tags: labels,
		Created: c.Now,
	}
	c.Keep("", &p.Spelling)
	begin(c, &p.Stage, modifying)
	c.State.AddressPools[p.ID] = p
	return p.ID, nil
}

// showPool names the id twice: its first name is misspelt, and is what tools read that are older than the second.
func showPool(c *api.Context, id string) any {
	group := memberOf(c.State.AddressPools, id, func(p *state.AddressPool) string { return p.ResourceGroupID })
	return api.Object{"PulbicIpAddressPoolId", id, "PublicIpAddressPoolId", id, "ResourceGroupId", resourceGroup(group)}
}

// usedOf counts the addresses of blocks: those that elastic addresses have, and all.
func usedOf(c *state.Cloud, p *state.AddressPool, blocks ...*state.PoolBlock) (used, all int) {
	for _, b := range blocks {
		block, err := netip.ParsePrefix(b.Cidr)
		if err != nil {
			continue
		}
		all += 1 << (block.Addr().BitLen() - block.Bits())
		for _, e := range c.Eips {
			if addr, err := netip.ParseAddr(e.Address); err == nil && e.PoolID == p.ID && block.Contains(addr) {
				used++
			}
		}
	}
	return used, all
}

func newPoolView(c *api.Context, p *state.AddressPool) api.Object {
	used, all := usedOf(c.State, p, p.Blocks...)
	return api.Object{
		"PublicIpAddressPoolId", p.ID, "Name", p.Name, "Description", p.Description, "Isp", cmp.Or(p.ISP, line),
		"BizType", p.Spelling.Of("BizType", cmp.Or(p.BizType, "Default")), "Zones", p.Zones, "SecurityProtectionTypes", p.ProtectionTypes,
		"Status", p.Stage.Status, "BusinessStatus", "Normal", "UserType", "admin", "ShareType", "", "OwnerId", owner(c), "RegionId", c.Region,
		"TotalIpNum", all, "UsedIpNum", used, "IpAddressRemaining", used < all, "CreationTime", creationTime(p.Created),
		"ResourceGroupId", resourceGroup(p.ResourceGroupID), "Tags", flatTags(p.Tags),
	}
}

func listPools(c *api.Context) (any, *api.Error) {
	filter, err := tagCodes().FilterAs(c, tags.ListName)
	switch {
	case err != nil:
		return nil, err
	case c.True("DryRun"):
		return nil, api.DryRun()
	}
	matching := listing.Find(c.State.AddressPools, func(p *state.AddressPool) bool {
		return listing.Among(c.List("PublicIpAddressPoolIds"), p.ID) && listing.Match(c.Get("Name"), p.Name) &&
			listing.Match(c.Get("Isp"), cmp.Or(p.ISP, line)) && listing.Match(c.Get("Status"), p.Stage.Status) &&
			c.MatchFlag("SecurityProtectionEnabled", len(p.ProtectionTypes) > 0) && filter.Match(p.Tags) &&
			listing.Match(c.Get("ResourceGroupId"), resourceGroup(p.ResourceGroupID))
	})
	page, next, err := pageAfter(c, matching, func(p *state.AddressPool) string { return p.ID }, defaultEntries)
	if err != nil {
		return nil, err
	}
	return api.Object{
		"NextToken", next, "TotalCount", len(matching), "MaxResults", c.Int("MaxResults", defaultEntries),
		"PublicIpAddressPoolList", api.Objects(page, func(p *state.AddressPool) api.Object { return newPoolView(c, p) }),
	}, nil
}

func updatePool(c *api.Context, p *state.AddressPool) (string, *api.Error) {
	if err := checkTexts(c, "Name", "Description"); err != nil {
		return "", err
	}
	if c.True("DryRun") {
		return "", api.DryRun()
	}
	c.SetText("Name", &p.Name)
	c.SetText("Description", &p.Description)
	return p.ID, nil
}

// deletePool takes the blocks along: the documents ask only that none of their addresses is in use.
func deletePool(c *api.Context, p *state.AddressPool) (string, *api.Error) {
	switch used, _ := usedOf(c.State, p, p.Blocks...); {
	case used > 0:
		return "", api.BadRequest(addressPoolInUse, "%d addresses of the pool are in use.", used)
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	begin(c, &p.Stage, deleting)
	return p.ID, nil
}

// publicBlocks are those in which the cloud has blocks to give.
const publicBlocks = "47.64.0.0/10"

// newBlock returns a block of public addresses that nothing has.
func newBlock(c *state.Cloud, bits int) (netip.Prefix, bool) {
	whole := netip.MustParsePrefix(publicBlocks)
	for block := netip.PrefixFrom(whole.Addr(), bits); whole.Contains(block.Addr()); block = subnet.Next(block) {
		if freePublic(c, block) {
			return block, true
		}
	}
	return netip.Prefix{}, false
}

// freePublic reports whether no pool and no segment has addresses of a block.
func freePublic(c *state.Cloud, block netip.Prefix) bool {
	overlaps := func(cidr string) bool {
		other, err := netip.ParsePrefix(cidr)
		return err == nil && other.Overlaps(block)
	}
	for _, p := range c.AddressPools {
		if slices.ContainsFunc(p.Blocks, func(b *state.PoolBlock) bool { return overlaps(b.Cidr) }) {
			return false
		}
	}
	for _, s := range c.EipSegments {
		if overlaps(s.Cidr) {
			return false
		}
	}
	return true
}

func addPoolBlock(c *api.Context, p *state.AddressPool) (string, *api.Error) {
	if c.Has("CidrBlock") == c.Has("CidrMask") {
		return "", api.Invalid("CidrMask")
	}
	block, wrong := netip.ParsePrefix(c.Get("CidrBlock"))
	if c.Has("CidrMask") {
		block, _ = newBlock(c.State, c.Int("CidrMask", 0))
	} else if wrong != nil || !block.Addr().Is4() || block != block.Masked() || block.Addr().IsPrivate() || block.Bits() < minBlockBits ||
		!freePublic(c.State, block) {
		return "", api.Invalid("CidrBlock")
	}
	switch {
	case !block.IsValid(): // all are given
		return "", api.Invalid("CidrMask")
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	b := &state.PoolBlock{Cidr: block.String(), Created: c.Now}
	begin(c, &b.Stage, modifying)
	p.Blocks = append(p.Blocks, b)
	return b.Cidr, nil
}

func deletePoolBlock(c *api.Context, p *state.AddressPool) (string, *api.Error) {
	at := slices.IndexFunc(p.Blocks, func(b *state.PoolBlock) bool { return b.Cidr == c.Get("CidrBlock") })
	if at < 0 {
		return "", api.Invalid("CidrBlock")
	}
	switch used, _ := usedOf(c.State, p, p.Blocks[at]); {
	case used > 0:
		return "", api.BadRequest(addressPoolInUse, "%d addresses of the block are in use.", used)
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	begin(c, &p.Blocks[at].Stage, deleting)
	return p.Blocks[at].Cidr, nil
}

func listPoolBlocks(c *api.Context, p *state.AddressPool) (any, *api.Error) {
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	matching := slices.DeleteFunc(slices.Clone(p.Blocks), func(b *state.PoolBlock) bool { return !listing.Match(c.Get("CidrBlock"), b.Cidr) })
	slices.SortFunc(matching, func(a, b *state.PoolBlock) int { return strings.Compare(a.Cidr, b.Cidr) })
	page, next, err := pageAfter(c, matching, func(b *state.PoolBlock) string { return b.Cidr }, defaultEntries)
	if err != nil {
		return nil, err
	}
	return api.Object{
		"NextToken", next, "TotalCount", len(matching), "MaxResults", c.Int("MaxResults", defaultEntries),
		"PublicIpPoolCidrBlockList", api.Objects(page, func(b *state.PoolBlock) api.Object {
			used, all := usedOf(c.State, p, b)
			return api.Object{
				"PublicIpAddressPoolId", p.ID, "CidrBlock", b.Cidr, "Status", b.Stage.Status, "TotalIpNum", all, "UsedIpNum", used,
				"CreationTime", creationTime(b.Created),
			}
		}),
	}, nil
}

// poolAddress is the address that a call gets of the pool that it names: the one that it names, too, or the first one that is free.
func poolAddress(c *api.Context) (string, *api.Error) {
	p, err := settledPool(c)
	if err != nil {
		return "", err
	}
	taken := map[string]bool{}
	for _, e := range c.State.Eips {
		taken[e.Address] = true
	}
	wanted, _ := netip.ParseAddr(c.Get("IpAddress")) // checked before
	for _, b := range p.Blocks {
		block, err := netip.ParsePrefix(b.Cidr)
		if err != nil {
			continue
		}
		for addr := block.Addr(); block.Contains(addr); addr = addr.Next() {
			if text := addr.String(); !taken[text] && (!wanted.IsValid() || addr == wanted) {
				return text, nil
			}
		}
	}
	if wanted.IsValid() {
		return "", api.BadRequest(otherAddressPool, "The Ip and PublicIpAddressPool are mismatched.")
	}
	return "", api.BadRequest(fullAddressPool, "The specified resource of PublicIpAddressPool is not enough.")
}

// settlePools completes what has ended of pools and their blocks.
func settlePools(c *state.Cloud, over func(*time.Time) bool) {
	settleStages(c.AddressPools, over, created, func(p *state.AddressPool) *state.Stage { return &p.Stage })
	for _, p := range c.AddressPools {
		p.Blocks = slices.DeleteFunc(p.Blocks, func(b *state.PoolBlock) bool {
			if !over(&b.Stage.BusyUntil) {
				return false
			}
			gone := b.Stage.Status == deleting
			b.Stage.Status = created
			return gone
		})
	}
}
