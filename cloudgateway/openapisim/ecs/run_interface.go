package ecs

import (
	"cmp"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// interfaceMembers are those of NetworkInterface.N of RunInstances that are simulated.
func interfaceMembers() []api.Param {
	return []api.Param{
		api.OneOf("InstanceType", primaryInterface, secondaryInterface), api.Optional("VSwitchId"), api.Optional("SecurityGroupId"),
		{Name: "SecurityGroupIds", Kind: api.Strings}, api.Optional("PrimaryIpAddress"), api.Optional("NetworkInterfaceId"),
		api.Optional("NetworkInterfaceName"), api.Optional("Description"), {Name: "Ipv6Address", Kind: api.Strings, Max: 10},
		api.Number("Ipv6AddressCount", 1, 10), api.Number("QueueNumber", 1, 2048),
		api.OneOf("NetworkInterfaceTrafficMode", "Standard", "HighPerformance"), api.Flag("DeleteOnRelease"), api.Flag("SourceDestCheck"),
	}
}

// interfaceWish is one NetworkInterface.N; nil stands for none.
type interfaceWish struct {
	c      *api.Context
	prefix string // "NetworkInterface.1."
}

func (w *interfaceWish) get(name string) string {
	if w == nil {
		return ""
	}
	return w.c.Get(w.prefix + name)
}

func (w *interfaceWish) list(name string) []string {
	if w == nil {
		return nil
	}
	return w.c.List(w.prefix + name)
}

func (w *interfaceWish) count(name string) int {
	if w == nil {
		return 0
	}
	return w.c.Int(w.prefix+name, 0)
}

// groups are the security groups, given as one or as a list.
func (w *interfaceWish) groups() []string {
	groups := w.list("SecurityGroupIds")
	if one := w.get("SecurityGroupId"); one != "" {
		groups = append(groups, one)
	}
	return groups
}

// settings gives an interface what the call says of it beside its place.
func (w *interfaceWish) settings(eni *state.NetworkInterface) {
	if w == nil {
		return
	}
	eni.Name, eni.Description = w.get("NetworkInterfaceName"), w.get("Description")
	eni.QueueNumber, eni.TrafficMode = w.count("QueueNumber"), w.get("NetworkInterfaceTrafficMode")
	eni.KeepOnRelease = strings.EqualFold(w.get("DeleteOnRelease"), "false")
	w.c.SetFlag(w.prefix+"SourceDestCheck", &eni.SourceDestCheck)
}

func wrongInterface(format string, args ...any) *api.Error {
	return api.BadRequest("InvalidParam.NetworkInterface", format, args...)
}

func conflict(format string, args ...any) *api.Error {
	return api.BadRequest("InvalidParameter.Conflict", format, args...)
}

// readInterfaces finds the primary and the secondary interface among NetworkInterface.N. The documents list the codes of
// RunInstances for wrong and for conflicting parameters without saying which one is for which.
func readInterfaces(c *api.Context, l *launch) *api.Error {
	items := c.Items("NetworkInterface")
	for n, prefix := range c.Prefixes("NetworkInterface") {
		w := &interfaceWish{c, prefix}
		for name, value := range items[n] {
			stem, _, _ := strings.Cut(name, ".")
			known := func(p api.Param) bool { return strings.EqualFold(p.Name, stem) }
			if value != "" && !slices.ContainsFunc(interfaceMembers(), known) {
				return wrongInterface("openapisim does not simulate %s%s.", prefix, stem)
			}
		}
		place := &l.secondary
		if w.get("InstanceType") == primaryInterface {
			place = &l.primary
		}
		if *place != nil {
			return wrongInterface("NetworkInterface.N has two interfaces of one type.")
		}
		*place = w
		if err := checkInterfaceTexts(w.get("NetworkInterfaceName"), w.get("Description")); err != nil {
			return err
		}
		if w.get("SecurityGroupId") != "" && len(w.list("SecurityGroupIds")) > 0 {
			return conflict("SecurityGroupId and SecurityGroupIds.N can't be given together.")
		}
	}
	return checkPrimary(c, l.primary)
}

// checkPrimary refuses what can't be said of a primary interface, and what the call says of the instance, too.
func checkPrimary(c *api.Context, w *interfaceWish) *api.Error {
	for _, name := range []string{"NetworkInterfaceId", "DeleteOnRelease"} {
		if w.get(name) != "" {
			return wrongInterface("%s is for a secondary network interface.", name)
		}
	}
	for _, same := range []struct {
		name            string
		instance, given bool
	}{
		{"VSwitchId", c.Has("VSwitchId"), w.get("VSwitchId") != ""},
		{"SecurityGroupId", c.Has("SecurityGroupId") || len(c.List("SecurityGroupIds")) > 0, len(w.groups()) > 0},
		{"PrivateIpAddress", c.Has("PrivateIpAddress"), w.get("PrimaryIpAddress") != ""},
		{"Ipv6Address", len(c.List("Ipv6Address"))+c.Int("Ipv6AddressCount", 0) > 0, len(w.list("Ipv6Address"))+w.count("Ipv6AddressCount") > 0},
	} {
		if same.instance && same.given {
			return conflict("%s is given for the instance and for its primary network interface.", same.name)
		}
	}
	return nil
}

// findSecondary takes what the secondary interfaces of all instances need: one that is there, or addresses for new ones.
func findSecondary(c *api.Context, l *launch) *api.Error {
	w, amount := l.secondary, len(l.addresses)
	if w == nil {
		return nil
	}
	if w.get("NetworkInterfaceId") != "" {
		return findExisting(c, l)
	}
	s := &l.second
	var err *api.Error
	if s.vswitch, err = launchVSwitch(c, cmp.Or(w.get("VSwitchId"), l.vswitch.ID)); err != nil {
		return err
	}
	switch {
	case s.vswitch.VpcID != l.vswitch.VpcID || s.vswitch.ZoneID != l.vswitch.ZoneID:
		return otherPlace()
	case w.get("PrimaryIpAddress") != "" && amount > 1:
		return conflict("NetworkInterface.N.PrimaryIpAddress needs one instance.")
	}
	if s.groups = w.groups(); len(s.groups) == 0 {
		s.groups = l.groups
	}
	if err := checkInstanceGroups(c, s.groups, s.vswitch.VpcID); err != nil {
		return err
	}
	addresses := newPool(c, s.vswitch)
	for _, taken := range slices.Concat(l.addresses, l.ipv6s) {
		addresses.used[taken] = true
	}
	var wanted []string
	if one := w.get("PrimaryIpAddress"); one != "" {
		wanted, amount = []string{one}, 0
	}
	if s.ips, err = addresses.addresses(wanted, amount); err != nil {
		return err
	}
	s.ipv6s, err = newIPv6(l, addresses, w.list("Ipv6Address"), w.count("Ipv6AddressCount"), sizeOf(c.Get("InstanceType")).ips)
	return err
}

func otherPlace() *api.Error {
	return forbidden("InvalidParameter.NotMatch", "The network interface and the instance are not in the same VPC and zone.")
}

// findExisting finds the interface that the one new instance gets.
func findExisting(c *api.Context, l *launch) *api.Error {
	w := l.secondary
	for _, p := range interfaceMembers() {
		if name := p.Name; name != "NetworkInterfaceId" && name != "InstanceType" && len(w.list(name)) > 0 {
			return conflict("%s can't be given together with NetworkInterfaceId.", name)
		}
	}
	eni := c.State.Interfaces[w.get("NetworkInterfaceId")]
	switch {
	case len(l.addresses) > 1:
		return conflict("NetworkInterface.N.NetworkInterfaceId needs one instance.")
	case eni == nil:
		return interfaceNotFound()
	case eni.Status != available:
		return wrongInterfaceState()
	case eni.VpcID != l.vswitch.VpcID || eni.ZoneID != l.vswitch.ZoneID:
		return otherPlace()
	}
	l.second.existing = eni
	return nil
}

// secondInterface is what the secondary interfaces of a launch have.
type secondInterface struct {
	existing   *state.NetworkInterface
	vswitch    *state.VSwitch
	groups     []string
	ips, ipv6s []string // as many for each instance
}

// addSecondary gives the instance with number n of the call its secondary interface, if it is to have one.
func (l *launch) addSecondary(c *api.Context, n int, i *state.Instance) {
	s := &l.second
	switch {
	case l.secondary == nil:
		return
	case s.existing != nil:
		s.existing.InstanceID, s.existing.Status = i.ID, inUse
		return
	}
	each := len(s.ipv6s) / len(l.addresses)
	eni := &state.NetworkInterface{
		ID: c.NewID("eni-bp1"), Type: secondaryInterface, Status: inUse, InstanceID: i.ID, VpcID: i.VpcID, VSwitchID: s.vswitch.ID,
		ZoneID: i.ZoneID, PrimaryIP: s.ips[n], PrivateIPs: []string{s.ips[n]}, SecurityGroupIDs: slices.Clone(s.groups),
		ResourceGroupID: i.ResourceGroupID, Created: c.Now, Ipv6Addresses: slices.Clone(s.ipv6s[n*each : (n+1)*each]),
	}
	eni.MacAddress = macAddress(c)
	l.secondary.settings(eni)
	c.State.Interfaces[eni.ID] = eni
}

// newIPv6 takes IPv6 addresses for one interface of each instance of a launch.
func newIPv6(l *launch, addresses *pool, wanted []string, each, most int) ([]string, *api.Error) {
	switch {
	case len(wanted) > 0 && (each > 0 || len(l.addresses) > 1):
		return nil, conflict("Ipv6Address.N needs one instance and no Ipv6AddressCount.")
	case max(len(wanted), each) > most:
		return nil, forbidden("InvalidOperation.Ipv6CountExceeded", "The instance type has fewer IPv6 addresses.")
	}
	return addresses.ipv6Addresses(wanted, each*len(l.addresses))
}
