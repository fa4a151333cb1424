package nlb

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Types of servers.
const (
	typeECS = "Ecs"
	typeENI = "Eni"
	typeECI = "Eci"
	typeIP  = "Ip"
)

// serverWrites are the actions that change the servers of a group. Their jobs don't overlap.
func serverWrites() []string {
	return []string{"AddServersToServerGroup", "RemoveServersFromServerGroup", "UpdateServerGroupServersAttribute"}
}

func serverActions() []api.Action {
	params := append(mandatory("ServerGroupId"), required(serverParam()))
	codes := []string{noGroup, groupStatus, lockConflict, illegal, "MissingParam.ServerId", "MissingParam.ServerType",
		"DuplicatedParam.Server"}
	return []api.Action{
		write("AddServersToServerGroup", api.On(freeGroup, addServers), append([]string{
			quota, "IllegalParam.IP", "IllegalParam.RSPortConflictWithServerGroup", "IllegalParam.description", "IncorrectStatus.Eni",
			"Mismatch.ServerType", "Mismatch.VpcId", "MissingParam.IP", "OperationDenied.ServerGroupNotSupportIpv6", "ResourceInUse.IP",
			"ResourceNotFound.Eci", "ResourceNotFound.Ecs", "ResourceNotFound.Eni",
		}, codes...), params...),
		write("RemoveServersFromServerGroup", removeServers, append([]string{"ResourceNotFound.BackendServer"}, codes...), params...),
		write("UpdateServerGroupServersAttribute", updateServers, append([]string{
			"ResourceNotFound.BackendServer", "IllegalParam.description",
		}, codes...), params...),
	}
}

func serverParam() api.Param {
	p := structs("Servers", maxServers)
	p.Members = append(mandatory("ServerId"),
		required(api.OneOf("ServerType", typeECS, typeENI, typeECI, typeIP)), api.Optional("ServerIp"), api.Number("Port", 0, maxPort),
		api.Number("Weight", 0, 100), api.Optional("Description"))
	return p
}

// keyOf identifies a server within its group. Keys have the order of sortServers.
func keyOf(s *state.NLBServer) string {
	return s.ServerID + " " + s.ServerIP + " " + strconv.Itoa(100_000+s.Port) + " " + s.Type
}

func sortServers(g *state.NLBServerGroup) {
	slices.SortFunc(g.Servers, func(a, b *state.NLBServer) int {
		return cmp.Or(strings.Compare(a.ServerID, b.ServerID), strings.Compare(a.ServerIP, b.ServerIP), a.Port-b.Port,
			strings.Compare(a.Type, b.Type))
	})
}

// item is one item of the parameter Servers. What was not sent is nil.
type item struct {
	kind, id, ip string
	port         int
	weight       *int
	description  *string
	spelling     state.Spelling
}

// items reads the parameter Servers, whose form was checked.
func items(c *api.Context) []item {
	var out []item
	for _, prefix := range c.Prefixes("Servers") {
		i := item{kind: c.Get(prefix + "ServerType"), id: c.Get(prefix + "ServerId"), ip: c.Get(prefix + "ServerIp")}
		c.Keep(prefix, &i.spelling)
		i.port = c.Int(prefix+"Port", 0)
		if weight, err := strconv.Atoi(c.Get(prefix + "Weight")); err == nil {
			i.weight = &weight
		}
		if text := c.Get(prefix + "Description"); text != "" {
			i.description = &text
		}
		out = append(out, i)
	}
	return out
}

// badDescription reports whether an item has a description that a server can't have: 2 to 256 characters.
func (i item) badDescription() bool {
	if i.description == nil {
		return false
	}
	n := utf8.RuneCountInString(*i.description)
	return n < 2 || n > 256
}

// freeGroup returns the group of a call if its servers can be changed.
func freeGroup(c *api.Context) (*state.NLBServerGroup, *api.Error) {
	g, err := group(c)
	switch {
	case err != nil:
		return nil, err
	case unsettled(c, g):
		return nil, fail(groupStatus)
	case busy(c, kindGroup, g.ID, serverWrites()...), c.Settings.NLBJobsLock && busy(c, kindGroup, g.ID):
		return nil, fail(lockConflict)
	}
	return g, nil
}

func addServers(c *api.Context, g *state.NLBServerGroup) (*change, *api.Error) {
	sent := items(c)
	present, reached := map[string]bool{}, map[string]bool{}
	for _, s := range g.Servers {
		present[keyOf(s)], reached[reachedAt(s)] = true, true
	}
	added := make([]*state.NLBServer, 0, len(sent))
	for _, i := range sent {
		s, err := newServer(c, g, i)
		switch {
		case err != nil:
			return nil, err
		case present[keyOf(s)]:
			return nil, fail("DuplicatedParam.Server")
		case reached[reachedAt(s)]:
			return nil, fail("ResourceInUse.IP")
		}
		present[keyOf(s)], reached[reachedAt(s)] = true, true
		added = append(added, s)
	}
	if overQuota(c, g, added) {
		return nil, fail(quota)
	}
	what := configureGroup(g)
	what.apply = func() {
		g.Servers = append(slices.Clone(g.Servers), added...)
		sortServers(g)
	}
	return what, nil
}

// reachedAt is where a server gets its traffic.
func reachedAt(s *state.NLBServer) string { return s.ServerIP + " " + strconv.Itoa(s.Port) }

// newServer makes a server of a group, checked against what exists.
func newServer(c *api.Context, g *state.NLBServerGroup, i item) (*state.NLBServer, *api.Error) {
	s := &state.NLBServer{Type: i.kind, ServerID: i.id, ServerIP: i.ip, Port: i.port, Weight: 100, Status: adding,
		Added: c.Now, Spelling: i.spelling}
	if i.weight != nil {
		s.Weight = *i.weight
	}
	if i.description != nil {
		s.Description = *i.description
	}
	switch {
	case (i.kind == typeIP) != (g.Type == groupOfAddresses):
		return nil, fail("Mismatch.ServerType")
	case g.AnyPort != (i.port == 0):
		return nil, fail("IllegalParam.RSPortConflictWithServerGroup")
	case i.badDescription():
		return nil, fail("IllegalParam.description")
	}
	var err *api.Error
	switch i.kind {
	case typeECS:
		err = bindInstance(c, g, s)
	case typeENI:
		err = bindInterface(c, g, s)
	case typeECI:
		err = fail("ResourceNotFound.Eci") // there are none
	case typeIP:
		err = bindAddress(s)
	}
	if err != nil {
		return nil, err
	}
	if addr, bad := netip.ParseAddr(s.ServerIP); bad == nil && addr.Is6() && g.AddressIPVersion != dualStack {
		return nil, fail("OperationDenied.ServerGroupNotSupportIpv6")
	}
	return s, nil
}

func bindInstance(c *api.Context, g *state.NLBServerGroup, s *state.NLBServer) *api.Error {
	i := c.State.Instances[s.ServerID]
	switch {
	case i == nil:
		return fail("ResourceNotFound.Ecs")
	case i.VpcID != g.VpcID:
		return fail("Mismatch.VpcId")
	case s.ServerIP != "" && !slices.Contains(i.PrivateIPs, s.ServerIP):
		return fail("IllegalParam.IP")
	case s.ServerIP == "" && len(i.PrivateIPs) > 0:
		s.ServerIP = i.PrivateIPs[0]
	}
	return nil
}

func bindInterface(c *api.Context, g *state.NLBServerGroup, s *state.NLBServer) *api.Error {
	eni := c.State.Interfaces[s.ServerID]
	switch {
	case eni == nil:
		return fail("ResourceNotFound.Eni")
	case eni.VpcID != g.VpcID:
		return fail("Mismatch.VpcId")
	case eni.Status != "InUse":
		return fail("IncorrectStatus.Eni")
	case s.ServerIP == "":
		s.ServerIP = eni.PrimaryIP
	case !slices.Contains(eni.PrivateIPs, s.ServerIP) && !slices.Contains(eni.Ipv6Addresses, s.ServerIP):
		return fail("IllegalParam.IP")
	}
	return nil
}

// bindAddress checks a server that is an address. Clients give it as id, as address, or as both.
func bindAddress(s *state.NLBServer) *api.Error {
	if _, err := netip.ParseAddr(s.ServerID); err == nil && s.ServerIP == "" {
		s.ServerIP = s.ServerID
	}
	if s.ServerIP == "" {
		return fail("MissingParam.IP")
	}
	shared := netip.MustParsePrefix("100.64.0.0/10") // of carriers; the cloud uses it inside
	addr, err := netip.ParseAddr(s.ServerIP)
	if err != nil || addr.Zone() != "" || addr.Is4() && !addr.IsPrivate() && !addr.IsLoopback() && !shared.Contains(addr) {
		return fail("IllegalParam.IP")
	}
	s.ServerIP = addr.String()
	s.ServerID = s.ServerIP
	return nil
}

// overQuota reports whether a group would have too many servers, or one of its load balancers too many different ones, or one
// of the servers too many groups.
func overQuota(c *api.Context, g *state.NLBServerGroup, added []*state.NLBServer) bool {
	q := c.Settings.Quotas
	if len(g.Servers)+len(added) > q.NLBServers {
		return true
	}
	groups := map[string][]*state.NLBServerGroup{} // by load balancer
	mine := map[string]bool{}
	for _, l := range c.State.NLBListeners {
		if used := c.State.NLBServerGroups[l.ServerGroupID]; used != nil {
			groups[l.NLBID] = append(groups[l.NLBID], used)
		}
		mine[l.NLBID] = mine[l.NLBID] || l.ServerGroupID == g.ID
	}
	for id, used := range groups {
		if mine[id] && differentServers(used, added...) > q.NLBServers {
			return true
		}
	}
	if len(c.State.NLBServerGroups) <= q.NLBGroupsPerServer {
		return false
	}
	attached := make(map[string]int, len(added))
	for _, s := range added {
		attached[s.ServerID] = 1
	}
	for _, other := range c.State.NLBServerGroups {
		last := ""
		for _, s := range other.Servers {
			if n, ok := attached[s.ServerID]; ok && s.ServerID != last && other.ID != g.ID {
				attached[s.ServerID] = n + 1
			}
			last = s.ServerID
		}
	}
	for _, n := range attached {
		if n > q.NLBGroupsPerServer {
			return true
		}
	}
	return false
}

// chosen returns the servers of a group that the items of a call mean. An item without an address means any address.
func chosen(g *state.NLBServerGroup, sent []item) ([]*state.NLBServer, *api.Error) {
	byID := map[string][]*state.NLBServer{}
	for _, s := range g.Servers {
		byID[s.ServerID] = append(byID[s.ServerID], s)
	}
	out := make([]*state.NLBServer, 0, len(sent))
	seen := map[*state.NLBServer]bool{}
	for _, i := range sent {
		at := slices.IndexFunc(byID[i.id], func(s *state.NLBServer) bool {
			return s.Type == i.kind && s.Port == i.port && (i.ip == "" || s.ServerIP == i.ip)
		})
		if at < 0 {
			return nil, fail("ResourceNotFound.BackendServer")
		}
		s := byID[i.id][at]
		if seen[s] {
			return nil, fail("DuplicatedParam.Server")
		}
		seen[s] = true
		out = append(out, s)
	}
	return out, nil
}

// chosenServers returns the group of a call that changes present servers, the items of the call and the servers they mean.
func chosenServers(c *api.Context) (*state.NLBServerGroup, []item, []*state.NLBServer, *api.Error) {
	g, err := freeGroup(c)
	if err != nil {
		return nil, nil, nil, err
	}
	sent := items(c)
	servers, err := chosen(g, sent)
	return g, sent, servers, err
}

func removeServers(c *api.Context) (*change, *api.Error) {
	g, _, servers, err := chosenServers(c)
	if err != nil {
		return nil, err
	}
	what := configureGroup(g)
	what.apply = func() {
		for _, s := range servers {
			s.Status = removing
		}
	}
	return what, nil
}

func updateServers(c *api.Context) (*change, *api.Error) {
	g, sent, servers, err := chosenServers(c)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(sent, item.badDescription) {
		return nil, fail("IllegalParam.description")
	}
	what := configureGroup(g)
	what.apply = func() {
		for n, s := range servers {
			s.Status = configuring
			if sent[n].weight != nil {
				s.Weight = *sent[n].weight
			}
			if sent[n].description != nil {
				s.Description = *sent[n].description
			}
		}
	}
	return what, nil
}
