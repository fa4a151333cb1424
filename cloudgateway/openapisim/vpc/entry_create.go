package vpc

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func createEntryActions() []api.Action {
	codes := []string{
		"InvalidCidrBlock", "InvalidCidrBlock.Malformed", "InvalidNextHop.NotFound", "InvalidNextHopType", "InvalidRouteEntryName.Malformed",
		"QuotaExceeded", noPrefixList,
	}
	return []api.Action{
		api.Write("CreateRouteEntry", clienttoken.Once("vpc/CreateRouteEntry", clienttoken.Show("RouteEntryId"),
			createRouteEntry), append([]string{
			"InvalidRouteTableId.NotFound", duplicateCode, "IncorrectInstanceStatus", "IncorrectVpcStatus", "IncorrectStatus.RouteTableStatus",
			"TaskConflict", "IdempotentParameterMismatch", "DryRunOperation", "InvalidNexthopTypeAndList.BothNull",
			"InvalidNexthopTypeAndList.BothNotNull", "InvalidNexthopListSize", "INVALID_WEIGHT_PARAM", noPrefixListHops,
		}, codes...), api.Optional("RegionId"), api.Required("RouteTableId"), api.Required("DestinationCidrBlock"),
			api.Optional("NextHopId"), api.Optional("NextHopType"), api.Param{Name: "NextHopList", Kind: api.Structs},
			api.Optional("RouteEntryName"), api.Optional("Description"), api.Optional("ClientToken"), api.Flag("DryRun")),
		{
			Name: "CreateRouteEntries", Mutating: true, Handle: createRouteEntries,
			Codes: []string{"MissingParameter", "InvalidParameter", "TaskConflict", "DryRunOperation"},
			ItemCodes: append([]string{
				"InvalidRouteTable.NotFound", batchCode(duplicateCode), batchCode("IncorrectInstanceStatus"), "IncorrectVpcStatus",
				"IncorrectStatus.RouteTableStatus",
			}, codes...),
			Params: []api.Param{region(), {Name: "RouteEntries", Kind: api.Structs, Required: true}, api.Flag("DryRun")},
		},
	}
}

// wanted is a route entry that a call asks for.
type wanted struct {
	tableID, cidr, name, description string
	hops                             []state.NextHop
}

// through makes the list of one next hop, which is an instance unless kind says otherwise.
func through(id, kind string) []state.NextHop {
	return []state.NextHop{{ID: id, Type: cmp.Or(kind, "Instance")}}
}

// The numbers of next hops that a list can have, and their weights.
const (
	minHops, maxHops     = 2, 16
	defaultHop, heavyHop = 100, 255
)

// wantedHops reads the next hop, or the list of them.
func wantedHops(c *api.Context) ([]state.NextHop, *api.Error) {
	items := c.Items("NextHopList")
	switch {
	case c.Has("NextHopId") && len(items) > 0:
		return nil, api.BadRequest("InvalidNexthopTypeAndList.BothNotNull", "NextHopId and NextHopList can't be given together.")
	case c.Has("NextHopId"):
		return through(c.Get("NextHopId"), c.Get("NextHopType")), nil
	case len(items) == 0:
		return nil, api.BadRequest("InvalidNexthopTypeAndList.BothNull", "One of NextHopId and NextHopList must be given.")
	case len(items) < minHops || len(items) > maxHops:
		return nil, api.BadRequest("InvalidNexthopListSize", "NextHopList must have %d to %d items.", minHops, maxHops)
	}
	var hops []state.NextHop
	for _, item := range items {
		weight, err := strconv.Atoi(cmp.Or(item["weight"], strconv.Itoa(defaultHop)))
		if err != nil || weight < 0 || weight > heavyHop {
			return nil, api.BadRequest("INVALID_WEIGHT_PARAM", "The weight of a next hop must be 0 to %d.", heavyHop)
		}
		hops = append(hops, state.NextHop{ID: item["nexthopid"], Type: cmp.Or(item["nexthoptype"], "Instance"), Weight: weight})
	}
	return hops, nil
}

func createRouteEntry(c *api.Context) (string, *api.Error) {
	table := c.State.RouteTables[c.Get("RouteTableId")]
	if table == nil {
		return "", tableNotFound()
	}
	hops, err := wantedHops(c)
	if err != nil {
		return "", err
	}
	w := wanted{
		tableID: table.ID, cidr: c.Get("DestinationCidrBlock"), hops: hops, name: c.Get("RouteEntryName"), description: c.Get("Description"),
	}
	entry, err := newEntry(c, table, w)
	switch {
	case err != nil:
		return "", err
	case c.True("DryRun"):
		return "", api.DryRun()
	case busy(c.State, table.VpcID):
		return "", taskConflict()
	}
	addEntry(c, table, entry)
	return entry.ID, nil
}

// batch is the answer to a batch, which succeeds as a call even if every item fails.
type batch struct {
	succeeded int
	failed    []api.Object
}

func (b *batch) fail(cidr, hop, id, code, message string) {
	b.failed = append(b.failed, api.Object{
		"DstCidrBlock", cidr, "NextHop", hop, "RouteEntryId", id, "FailedCode", code, "FailedMessage", message,
	})
}

func (b *batch) answer() api.Object {
	return api.Object{"SuccessCount", b.succeeded, "FailedCount", len(b.failed), "FailedRouteEntries", b.failed}
}

func createRouteEntries(c *api.Context) (any, *api.Error) {
	items, err := batchItems(c, "routetableid", "dstcidrblock", "nexthop", "nexthoptype")
	if err != nil {
		return nil, err
	}
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	for _, item := range items {
		if table := c.State.RouteTables[item["routetableid"]]; table != nil && busy(c.State, table.VpcID) {
			return nil, taskConflict()
		}
	}
	var out batch
	var ids []string
	for _, item := range items {
		w := wanted{
			tableID: item["routetableid"], cidr: item["dstcidrblock"], hops: through(item["nexthop"], item["nexthoptype"]),
			name: item["name"], description: item["description"],
		}
		if err := c.ItemFault(item); err != nil {
			out.fail(w.cidr, w.hops[0].ID, "", err.Code, err.Message)
			continue
		}
		table := c.State.RouteTables[w.tableID]
		if table == nil {
			out.fail(w.cidr, w.hops[0].ID, "", "InvalidRouteTable.NotFound", "The specified RouteTableId does not exist.")
			continue
		}
		entry, err := newEntry(c, table, w)
		if err != nil {
			out.fail(w.cidr, w.hops[0].ID, "", batchCode(err.Code), err.Message)
			continue
		}
		addEntry(c, table, entry)
		out.succeeded++
		ids = append(ids, entry.ID)
	}
	return append(out.answer(), "RouteEntryIds", ids), nil
}

// batchCode is what an error of a single call is called in a batch. Only these two are known from the field.
func batchCode(code string) string {
	switch code {
	case duplicateCode:
		return "VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE"
	case "IncorrectInstanceStatus":
		return "VPC_ROUTE_ENTRY_STATUS_ERROR"
	}
	return code
}

// batchItems returns RouteEntries.N, of which each must have the required members.
func batchItems(c *api.Context, required ...string) ([]map[string]string, *api.Error) {
	items := c.Items("RouteEntries")
	if len(items) > c.Settings.RoutesPerCall {
		return nil, api.BadRequest("InvalidParameter",
			"The specified parameter \"RouteEntries\" is not valid: %d entries are more than %d.", len(items), c.Settings.RoutesPerCall)
	}
	names := map[string]string{
		"routetableid": "RouteTableId", "dstcidrblock": "DstCidrBlock", "nexthop": "NextHop", "nexthoptype": "NextHopType",
	}
	for n, item := range items {
		for _, member := range required {
			if item[member] == "" {
				return nil, api.BadRequest("MissingParameter",
					"The input parameter \"RouteEntries.%d.%s\" that is mandatory for processing this request is not supplied.", n+1, names[member])
			}
		}
	}
	return items, nil
}

const duplicateCode = "InvalidCIDRBlock.Duplicate"

// newEntry checks a wanted entry and makes it.
func newEntry(c *api.Context, table *state.RouteTable, w wanted) (*state.RouteEntry, *api.Error) {
	switch v := c.State.Vpcs[table.VpcID]; {
	case v != nil && !v.PendingUntil.IsZero():
		return nil, incorrectVpcStatus()
	case !table.PendingUntil.IsZero():
		return nil, api.BadRequest("IncorrectStatus.RouteTableStatus", "Current route table status does not support this operation.")
	case !validName(w.name):
		return nil, malformed("InvalidRouteEntryName.Malformed", "RouteEntryName")
	}
	destination, err := destinationOf(c, w)
	if err != nil {
		return nil, err
	}
	for _, hop := range w.hops {
		if !slices.Contains(nextHopTypes(), hop.Type) {
			return nil, api.BadRequest("InvalidNextHopType", "The specified next hop type %q does not exist.", hop.Type)
		}
		if err := checkNextHop(c.State, table.VpcID, hop.Type, hop.ID); err != nil {
			return nil, err
		}
	}
	if err := checkDestination(c.State, table.VpcID, destination); err != nil {
		return nil, err
	}
	entries := 0
	for _, e := range table.Entries {
		if e.Cidr == destination {
			return nil, api.BadRequest(duplicateCode, "Specified CIDR block is already exists.")
		}
		if e.Type == custom {
			entries++
		}
	}
	if quota := c.Settings.Quotas.RouteEntries; entries >= quota {
		return nil, api.BadRequest("QuotaExceeded", "Route entry quota exceeded: a route table can have %d custom entries.", quota)
	}
	entry := &state.RouteEntry{Cidr: destination, Type: custom, Name: w.name, Description: w.description}
	if len(w.hops) == 1 {
		entry.NextHopID, entry.NextHopType = w.hops[0].ID, w.hops[0].Type
	} else {
		entry.NextHops = w.hops
	}
	return entry, nil
}

// destinationOf is the block that an entry leads to as the cloud writes it, or the id of a prefix list.
func destinationOf(c *api.Context, w wanted) (string, *api.Error) {
	if strings.HasPrefix(w.cidr, prefixListPrefix) {
		switch {
		case len(w.hops) > 1:
			return "", api.BadRequest(noPrefixListHops, "An entry with several next hops can't lead to a prefix list.")
		case c.State.PrefixLists[w.cidr] == nil:
			return "", prefixListNotFound()
		}
		return w.cidr, nil
	}
	prefix, err := parseCidr(w.cidr)
	return prefix.String(), err
}

func addEntry(c *api.Context, table *state.RouteTable, entry *state.RouteEntry) {
	entry.ID = c.NewID("rte-")
	entry.Status = available
	if d := c.Settings.RoutePending; d > 0 {
		entry.Status, entry.BusyUntil = pending, c.Now.Add(d)
	}
	table.Entries = append(table.Entries, entry)
}

// cloudServices is the block in which the services of the cloud have their addresses.
const cloudServices = "100.64.0.0/10"

// checkDestination refuses what would take traffic away from a vSwitch or from the services of the cloud.
func checkDestination(c *state.Cloud, vpcID, destination string) *api.Error {
	prefix, err := netip.ParsePrefix(destination)
	if err != nil {
		return nil //nolint:nilerr // A prefix list; no document says that its blocks are looked at.
	}
	if prefix == netip.MustParsePrefix(cloudServices) {
		return api.BadRequest("InvalidCidrBlock", "The destination can't be the CIDR block of cloud services.")
	}
	for _, vsw := range c.VSwitches {
		subnet, err := netip.ParsePrefix(vsw.CidrBlock)
		if vsw.VpcID == vpcID && err == nil && subnet.Bits() <= prefix.Bits() && subnet.Contains(prefix.Addr()) {
			return api.BadRequest("InvalidCidrBlock", "The destination can't be the CIDR block of VSwitch %s or lie inside of it.", vsw.ID)
		}
	}
	return nil
}

func checkNextHop(c *state.Cloud, vpcID, kind, id string) *api.Error {
	switch kind {
	case "Instance":
		i := c.Instances[id]
		if i == nil || i.VpcID != vpcID {
			return nextHopNotFound()
		}
		return checkInstanceStatus(i)
	case "NetworkInterface":
		if eni := c.Interfaces[id]; eni == nil || eni.VpcID != vpcID {
			return nextHopNotFound()
		}
		return nil
	}
	for of, vpc := range map[string]string{
		"NatGateway":    memberOf(c.NatGateways, id, func(n *state.NatGateway) string { return n.VpcID }),
		ipv4GatewayWord: memberOf(c.Ipv4Gateways, id, func(g *state.InternetGateway) string { return g.VpcID }),
		haVipWord:       memberOf(c.HaVips, id, func(h *state.HaVip) string { return haVipVpc(c, h) }),
		"IPv6Gateway":   memberOf(c.Ipv6Gateways, id, func(g *state.InternetGateway) string { return g.VpcID }),
	} {
		if kind == of && vpc == vpcID {
			return nil
		}
	}
	return nextHopNotFound() // there are none of the other types
}

// memberOf is a text of the thing with an id, "" if there is no such thing.
func memberOf[T any](all map[string]*T, id string, of func(*T) string) string {
	if found := all[id]; found != nil {
		return of(found)
	}
	return ""
}

func nextHopTypes() []string {
	return []string{
		"Instance", "NetworkInterface", haVipWord, "RouterInterface", "VpnGateway", "NatGateway", "IPv6Gateway", "Attachment", "VpcPeer",
		"Ipv4Gateway", "GatewayEndpoint", "Ecr",
	}
}

// checkInstanceStatus refuses an instance on its way between two states.
func checkInstanceStatus(i *state.Instance) *api.Error {
	if i.Status != "Running" && i.Status != "Stopped" {
		return api.BadRequest("IncorrectInstanceStatus", "The current status of the instance does not support this operation.")
	}
	return nil
}

func nextHopNotFound() *api.Error {
	return api.BadRequest("InvalidNextHop.NotFound", "The specified next hop does not exist.")
}
