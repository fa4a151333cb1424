package ecs

import (
	"net/netip"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/subnet"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The lengths of the prefixes that interfaces can have.
const (
	ipv4PrefixBits = 28
	ipv6PrefixBits = 80
)

// addressCodes are what a call that gives addresses to an interface can be refused for.
func addressCodes() []string {
	return api.Words(`InvalidVSwitchId.IpNotEnough InvalidVSwitchId.IpInvalid InvalidIp.IpAssigned InvalidIp.IpRepeated
		InvalidIp.Address InvalidVSwitch.Ipv6NotTurnOn`)
}

func interfaceAddressActions() []api.Action {
	id := api.Required("NetworkInterfaceId")
	list := func(name string, most int64) api.Param { return api.Param{Name: name, Kind: api.Strings, Max: most} }
	common := api.Words(`InvalidEniId.NotFound InvalidOperation.InvalidEniState InvalidOperation.InvalidEcsState
		IdempotentParameterMismatch MissingParameter InvalidParameter.Conflict InvalidIp.IpAssigned InvalidIp.IpRepeated
		InvalidOperation.EniServiceManaged`)
	removal := api.Words(`InvalidEniId.NotFound InvalidOperation.InvalidEniState InvalidIp.IpUnassigned MissingParameter
		InvalidOperation.EniServiceManaged`)
	return []api.Action{
		api.Write("AssignPrivateIpAddresses", clienttoken.Once("ecs/AssignPrivateIpAddresses", showAssigned, assignIPv4),
			append(api.Words("InvalidOperation.Ipv4CountExceeded InvalidVSwitchId.IpNotEnough InvalidVSwitchId.IpInvalid"), common...),
			region(), id, list("PrivateIpAddress", 50), api.Number("SecondaryPrivateIpAddressCount", 1, 50), list("Ipv4Prefix", 10),
			api.Number("Ipv4PrefixCount", 1, 10), api.Optional("ClientToken")),
		api.Write("UnassignPrivateIpAddresses", api.On(changeableInterface, unassignIPv4),
			append([]string{"InvalidOperation.InvalidEcsState", "InvalidIp.PrimaryIp"}, removal...),
			region(), id, list("PrivateIpAddress", 50), list("Ipv4Prefix", 10)),
		api.Write("AssignIpv6Addresses", clienttoken.Once("ecs/AssignIpv6Addresses", showAssignedIPv6, assignIPv6),
			append(api.Words(`InvalidOperation.Ipv6CountExceeded InvalidIp.Address InvalidVSwitch.Ipv6NotTurnOn
				InvalidVSwitchId.IpNotEnough`), common...),
			region(), id, list("Ipv6Address", 10), api.Number("Ipv6AddressCount", 1, 10), list("Ipv6Prefix", 10),
			api.Number("Ipv6PrefixCount", 1, 10), api.Optional("ClientToken")),
		api.Write("UnassignIpv6Addresses", api.On(changeableInterface, unassignIPv6),
			append([]string{"InvalidOperation.InvalidEcsState"}, removal...),
			region(), id, list("Ipv6Address", 10), list("Ipv6Prefix", 10)),
	}
}

// assigned are the addresses and prefixes that a call gives an interface, the primary address first if there is one.
type assigned struct{ ips, ipv6s, prefixes, ipv6Prefixes []string }

func (a assigned) addTo(eni *state.NetworkInterface) {
	eni.PrivateIPs = slices.Concat(eni.PrivateIPs, a.ips)
	eni.Ipv6Addresses = slices.Concat(eni.Ipv6Addresses, a.ipv6s)
	eni.Ipv4Prefixes = slices.Concat(eni.Ipv4Prefixes, a.prefixes)
	eni.Ipv6Prefixes = slices.Concat(eni.Ipv6Prefixes, a.ipv6Prefixes)
}

// checkAddressCounts refuses more addresses of a family than an instance type has for each interface. A prefix counts as one.
func checkAddressCounts(eni *state.NetworkInterface, most int) *api.Error {
	switch {
	case len(eni.PrivateIPs)+len(eni.Ipv4Prefixes) > most:
		return forbidden("InvalidOperation.Ipv4CountExceeded", "The network interface can have %d IPv4 addresses.", most)
	case len(eni.Ipv6Addresses)+len(eni.Ipv6Prefixes) > most:
		return forbidden("InvalidOperation.Ipv6CountExceeded", "The network interface can have %d IPv6 addresses.", most)
	}
	return nil
}

// pool hands out the addresses and prefixes of a vSwitch, each of them once.
type pool struct {
	block, ipv6 netip.Prefix // ipv6 is not valid where the vSwitch has none
	used        map[string]bool
	taken       map[string]bool // used without what is reserved for prefixes; the same map if nothing is
	prefixes    []netip.Prefix  // in use, of IPv6
	reserved    []netip.Prefix  // where there are any, prefixes are of these
}

func newPool(c *api.Context, vswitch *state.VSwitch) *pool {
	p := &pool{used: subnet.Used(c.State, vswitch), reserved: subnet.Reserved(c.State, vswitch.ID)}
	if p.taken = p.used; len(p.reserved) > 0 {
		p.taken = subnet.Taken(c.State, vswitch)
	}
	p.block, _ = netip.ParsePrefix(vswitch.CidrBlock)
	p.ipv6, _ = netip.ParsePrefix(vswitch.Ipv6Cidr)
	for _, eni := range c.State.Interfaces {
		if eni.VSwitchID != vswitch.ID {
			continue
		}
		for _, text := range eni.Ipv6Prefixes {
			if prefix, err := netip.ParsePrefix(text); err == nil {
				p.prefixes = append(p.prefixes, prefix)
			}
		}
	}
	return p
}

// take takes what a call asks for, and so many primary addresses before.
func (p *pool) take(c *api.Context, primaries int) (given assigned, err *api.Error) {
	for _, pair := range [][2]string{
		{"PrivateIpAddress", "SecondaryPrivateIpAddressCount"}, {"Ipv6Address", "Ipv6AddressCount"},
		{"Ipv4Prefix", "Ipv4PrefixCount"}, {"Ipv6Prefix", "Ipv6PrefixCount"},
	} {
		if len(c.List(pair[0])) > 0 && c.Has(pair[1]) {
			return given, api.BadRequest("InvalidParameter.Conflict", "%s.N and %s can't be given together.", pair[0], pair[1])
		}
	}
	if primaries > 0 {
		wanted := []string{}
		if c.Has("PrimaryIpAddress") {
			wanted, primaries = []string{c.Get("PrimaryIpAddress")}, 0
		}
		if given.ips, err = p.addresses(wanted, primaries); err != nil {
			return given, err
		}
	}
	more, err := p.addresses(c.List("PrivateIpAddress"), c.Int("SecondaryPrivateIpAddressCount", 0))
	given.ips = append(given.ips, more...)
	if err == nil {
		given.prefixes, err = p.ipv4Prefixes(c.List("Ipv4Prefix"), c.Int("Ipv4PrefixCount", 0))
	}
	if err == nil {
		given.ipv6s, err = p.ipv6Addresses(c.List("Ipv6Address"), c.Int("Ipv6AddressCount", 0))
	}
	if err == nil {
		given.ipv6Prefixes, err = p.ipv6Prefixes(c.List("Ipv6Prefix"), c.Int("Ipv6PrefixCount", 0))
	}
	return given, err
}

// addresses takes those that are wanted, or so many free ones.
func (p *pool) addresses(wanted []string, count int) ([]string, *api.Error) {
	var out []string
	for _, text := range wanted {
		addr, err := netip.ParseAddr(text)
		if err != nil || !subnet.Usable(p.block, addr) {
			return nil, forbidden("InvalidVSwitchId.IpInvalid", "The address %s is none that the vSwitch hands out.", text)
		}
		if err := p.once(wanted, addr.String(), text); err != nil {
			return nil, err
		}
		out = append(out, addr.String())
	}
	for range count {
		text, ok := subnet.Free(p.block, p.used)
		if !ok {
			return nil, ipNotEnough()
		}
		p.mark(text)
		out = append(out, text)
	}
	return out, nil
}

// mark remembers that an address is in use.
func (p *pool) mark(address string) { p.used[address], p.taken[address] = true, true }

// mayHave reports whether a prefix can be given: where blocks are reserved for those of its version, it has to be of one of them.
func (p *pool) mayHave(prefix netip.Prefix) bool {
	free := true
	for _, block := range p.reserved {
		if block.Addr().Is4() == prefix.Addr().Is4() {
			if block.Bits() <= prefix.Bits() && block.Contains(prefix.Addr()) {
				return true
			}
			free = false
		}
	}
	return free
}

// once takes an address, unless something has it or the call names it twice.
func (p *pool) once(wanted []string, key, text string) *api.Error {
	first := slices.Index(wanted, text)
	switch {
	case slices.Contains(wanted[first+1:], text):
		return forbidden("InvalidIp.IpRepeated", "The address %s is given twice.", text)
	case p.used[key] || slices.ContainsFunc(p.prefixes, func(taken netip.Prefix) bool { return inside(taken, key) }):
		return forbidden("InvalidIp.IpAssigned", "The address %s is assigned already.", text)
	}
	p.mark(key)
	return nil
}

func inside(taken netip.Prefix, text string) bool {
	addr, err := netip.ParseAddr(text)
	return err == nil && taken.Contains(addr)
}

func ipNotEnough() *api.Error {
	return forbidden("InvalidVSwitchId.IpNotEnough", "The specified VSwitch has not enough IpAddress.")
}

// ipv6Addresses is addresses for IPv6.
func (p *pool) ipv6Addresses(wanted []string, count int) ([]string, *api.Error) {
	if !p.ipv6.IsValid() && len(wanted)+count > 0 {
		return nil, ipv6Off()
	}
	var out []string
	for _, text := range wanted {
		addr, err := netip.ParseAddr(text)
		if err != nil || !p.ipv6.Contains(addr) {
			return nil, forbidden("InvalidIp.Address", "The IPv6 address %s is none of the vSwitch.", text)
		}
		if err := p.once(wanted, addr.String(), text); err != nil {
			return nil, err
		}
		out = append(out, addr.String())
	}
	addr := p.ipv6.Addr()
	for len(out) < len(wanted)+count {
		addr = addr.Next()
		for _, block := range p.reserved { // in their order
			if block.Contains(addr) {
				addr = subnet.Next(block).Addr()
			}
		}
		if !p.ipv6.Contains(addr) {
			return nil, ipNotEnough()
		}
		if text := addr.String(); !p.used[text] {
			p.mark(text)
			out = append(out, text)
		}
	}
	return out, nil
}

func ipv6Off() *api.Error {
	return forbidden("InvalidVSwitch.Ipv6NotTurnOn", "IPv6 is not turned on for the vSwitch.")
}

// ipv4Prefixes takes those that are wanted, or so many free ones.
func (p *pool) ipv4Prefixes(wanted []string, count int) ([]string, *api.Error) {
	var out []string
	for _, text := range wanted {
		prefix, err := netip.ParsePrefix(text)
		switch {
		case err != nil || prefix.Bits() != ipv4PrefixBits || !p.block.Contains(prefix.Addr()):
			return nil, forbidden("InvalidVSwitchId.IpInvalid", "The prefix %s is none of the vSwitch with %d bits.", text, ipv4PrefixBits)
		case !p.reserve(prefix.Masked()):
			return nil, forbidden("InvalidIp.IpAssigned", "Addresses of the prefix %s are assigned already.", text)
		}
		out = append(out, prefix.Masked().String())
	}
	for addr := p.block.Masked().Addr(); len(out) < len(wanted)+count; {
		if !p.block.Contains(addr) {
			return nil, ipNotEnough()
		}
		prefix := netip.PrefixFrom(addr, ipv4PrefixBits)
		if p.reserve(prefix) {
			out = append(out, prefix.String())
		}
		for prefix.Contains(addr) {
			addr = addr.Next()
		}
	}
	return out, nil
}

// reserve takes all addresses of a prefix if all are free.
func (p *pool) reserve(prefix netip.Prefix) bool {
	if !p.mayHave(prefix) {
		return false
	}
	var all []string
	for addr := prefix.Addr(); prefix.Contains(addr); addr = addr.Next() {
		if p.taken[addr.String()] || addr == p.block.Masked().Addr() || !p.block.Contains(addr) {
			return false
		}
		all = append(all, addr.String())
	}
	for _, text := range all {
		p.mark(text)
	}
	return true
}

// ipv6Prefixes is ipv4Prefixes for IPv6. Those that nobody chose are taken from the second one on, behind single addresses.
func (p *pool) ipv6Prefixes(wanted []string, count int) ([]string, *api.Error) {
	if !p.ipv6.IsValid() && len(wanted)+count > 0 {
		return nil, ipv6Off()
	}
	var out []string
	for _, text := range wanted {
		prefix, err := netip.ParsePrefix(text)
		switch {
		case err != nil || prefix.Bits() != ipv6PrefixBits || !p.ipv6.Contains(prefix.Addr()):
			return nil, forbidden("InvalidIp.Address", "The prefix %s is none of the vSwitch with %d bits.", text, ipv6PrefixBits)
		case slices.Contains(p.prefixes, prefix.Masked()) || !p.mayHave(prefix.Masked()):
			return nil, forbidden("InvalidIp.IpAssigned", "The prefix %s is assigned already.", text)
		}
		p.prefixes = append(p.prefixes, prefix.Masked())
		out = append(out, prefix.Masked().String())
	}
	raw := p.ipv6.Masked().Addr().As16()
	for tried := 0; len(out) < len(wanted)+count; tried++ {
		if tried == 1<<(ipv6PrefixBits-64) {
			return nil, ipNotEnough()
		}
		if raw[9]++; raw[9] == 0 {
			raw[8]++
		}
		prefix := netip.PrefixFrom(netip.AddrFrom16(raw), ipv6PrefixBits)
		if !slices.Contains(p.prefixes, prefix) && p.mayHave(prefix) {
			p.prefixes = append(p.prefixes, prefix)
			out = append(out, prefix.String())
		}
	}
	return out, nil
}

// changeableInterface returns the interface of the call if its addresses can be changed now.
func changeableInterface(c *api.Context) (*state.NetworkInterface, *api.Error) {
	eni, err := interfaceByID(c)
	switch {
	case err != nil:
		return nil, err
	case eni.Status != available && eni.Status != inUse:
		return nil, wrongInterfaceState()
	}
	if i := c.State.Instances[eni.InstanceID]; i != nil && eni.Type == primaryInterface && !still(i) {
		return nil, wrongInstanceState()
	}
	return eni, nil
}

// assign gives an interface what the call asks for, within what its instance type allows, or what an unattached one can have.
func assign(c *api.Context) (string, *api.Error) {
	eni, err := changeableInterface(c)
	if err != nil {
		return "", err
	}
	vswitch := c.State.VSwitches[eni.VSwitchID]
	if vswitch == nil {
		vswitch = &state.VSwitch{ID: eni.VSwitchID} // a seed doesn't have to have it; there is no address to be had then
	}
	given, err := newPool(c, vswitch).take(c, 0)
	if err != nil {
		return "", err
	}
	most := secondaryIPs + 1
	if i := c.State.Instances[eni.InstanceID]; i != nil {
		most = sizeOf(i.InstanceType).ips
	}
	changed := *eni
	given.addTo(&changed)
	if err := checkAddressCounts(&changed, most); err != nil {
		return "", err
	}
	given.addTo(eni)
	return eni.ID + "," + addressesOf(given.ips, given.prefixes, given.ipv6s, given.ipv6Prefixes), nil
}

// needs refuses a call that names none of its parameters.
func needs(c *api.Context, names ...string) *api.Error {
	if slices.ContainsFunc(names, func(name string) bool { return len(c.List(name)) > 0 }) {
		return nil
	}
	return api.Missing(names[0])
}

func assignIPv4(c *api.Context) (string, *api.Error) {
	if err := needs(c, "PrivateIpAddress", "SecondaryPrivateIpAddressCount", "Ipv4Prefix", "Ipv4PrefixCount"); err != nil {
		return "", err
	}
	return assign(c)
}

func assignIPv6(c *api.Context) (string, *api.Error) {
	if err := needs(c, "Ipv6Address", "Ipv6AddressCount", "Ipv6Prefix", "Ipv6PrefixCount"); err != nil {
		return "", err
	}
	return assign(c)
}

// split separates the addresses that a call gave from the prefixes.
func split(remembered string) (id string, addresses, prefixes []string) {
	id, rest, _ := strings.Cut(remembered, ",")
	for _, text := range listing.CommaList(rest) {
		if strings.Contains(text, "/") {
			prefixes = append(prefixes, text)
		} else {
			addresses = append(addresses, text)
		}
	}
	return id, addresses, prefixes
}

func showAssigned(_ *api.Context, remembered string) any {
	id, addresses, prefixes := split(remembered)
	return api.Object{"AssignedPrivateIpAddressesSet", api.Object{
		"NetworkInterfaceId", id, "PrivateIpSet", api.Object{"PrivateIpAddress", addresses},
		"Ipv4PrefixSet", api.Object{"Ipv4Prefixes", prefixes},
	}}
}

func showAssignedIPv6(_ *api.Context, remembered string) any {
	id, addresses, prefixes := split(remembered)
	return api.Object{
		"NetworkInterfaceId", id, "Ipv6Sets", api.Object{"Ipv6Address", addresses}, "Ipv6PrefixSets", api.Object{"Ipv6Prefix", prefixes},
	}
}

// without takes some texts out of a list, all of which have to be in it.
func without(list, gone []string) ([]string, *api.Error) {
	for _, text := range gone {
		if !slices.Contains(list, text) {
			return nil, forbidden("InvalidIp.IpUnassigned", "The address %s is not assigned to the network interface.", text)
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(text string) bool { return slices.Contains(gone, text) }), nil
}

func unassignIPv4(c *api.Context, eni *state.NetworkInterface) (any, *api.Error) {
	if err := needs(c, "PrivateIpAddress", "Ipv4Prefix"); err != nil {
		return nil, err
	}
	if slices.Contains(c.List("PrivateIpAddress"), eni.PrimaryIP) {
		return nil, forbidden("InvalidIp.PrimaryIp", "The primary address of a network interface can't be unassigned.")
	}
	ips, err := without(eni.PrivateIPs, c.List("PrivateIpAddress"))
	if err != nil {
		return nil, err
	}
	prefixes, err := without(eni.Ipv4Prefixes, c.List("Ipv4Prefix"))
	if err != nil {
		return nil, err
	}
	eni.PrivateIPs, eni.Ipv4Prefixes = ips, prefixes
	return nil, nil
}

func unassignIPv6(c *api.Context, eni *state.NetworkInterface) (any, *api.Error) {
	if err := needs(c, "Ipv6Address", "Ipv6Prefix"); err != nil {
		return nil, err
	}
	ips, err := without(eni.Ipv6Addresses, c.List("Ipv6Address"))
	if err != nil {
		return nil, err
	}
	prefixes, err := without(eni.Ipv6Prefixes, c.List("Ipv6Prefix"))
	if err != nil {
		return nil, err
	}
	eni.Ipv6Addresses, eni.Ipv6Prefixes = ips, prefixes
	return nil, nil
}
