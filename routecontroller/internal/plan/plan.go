package plan

import (
	"fmt"
	"net/netip"
	"slices"

	"alicloud-controllers.dev/routecontroller/internal/table"
)

// Policy bounds what may be changed at all.
type Policy struct {
	// ClusterID is the cluster whose mark makes an entry ours.
	ClusterID string
	// ClusterCIDRs are the ranges of pods. Nothing outside of them is ever created or deleted.
	ClusterCIDRs []netip.Prefix
	// Reserved are the ranges that the cloud lets no route overlap.
	Reserved []netip.Prefix
}

// Input is a complete view of both sides. A view with something missing must never be planned on.
type Input struct {
	Claims  table.Claims
	Entries []table.Entry
	// Seen are routes that were claimed by a node earlier on, with the name of that node: the proof of ownership for entries
	// that were made by the existing CCM, which leaves no mark.
	Seen map[table.Key]string
	// Instances is what the cloud said about further instances, by their ids.
	Instances map[string]InstanceState
}

// InstanceState is what the cloud said about an instance that is no node.
type InstanceState int

const (
	// Stranger is an instance that is not proven to be of the cluster.
	Stranger InstanceState = iota
	// Member is an instance of the cluster.
	Member
	// Gone is an instance that does not exist any more.
	Gone
)

// Plan is what has to happen to a table, and what is the case without anything happening.
type Plan struct {
	// Create are the wanted routes that are missing, and whose place is free.
	Create []table.Route
	// Obstacles are entries of ours in the way of wanted routes. To replace an entry is to delete it, so they are orphans that a wanted route
	// waits for.
	Obstacles []Obstacle
	// Orphans are entries of ours that no node claims. When they go is a matter of time, and thus of the caller.
	Orphans []table.Entry
	// Ready are the wanted routes that exist and work.
	Ready []table.Route
	// Pending are the wanted routes that the cloud is still working on; look again later.
	Pending []table.Route
	// Refused are the wanted routes that can't be had without touching what is not ours.
	Refused []Refusal
	// Foreign are entries not ours that take a part of a wanted route's traffic.
	Foreign []Refusal
}

// Refusal says why something is not done.
type Refusal struct {
	Route  table.Route
	Reason string
	// Entry is what is in the way, if anything is.
	Entry table.Entry
}

// Obstacle is an entry of ours that is in the way of a wanted route: at its destination, or inside of it.
type Obstacle struct {
	Route table.Route
	Entry table.Entry
	// Moved is set if the entry leads to the instance of a node that claims another range by now.
	Moved bool
}

// Blocks reports whether the route can't be there together with the entry. An entry inside of its destination takes a part of its traffic.
func (o Obstacle) Blocks() bool { return o.Entry.CIDR == o.Route.CIDR }

// Freed are the wanted routes whose places are free once some entries have been deleted.
func (p Plan) Freed(deleted []table.Entry) []table.Route {
	var routes []table.Route
	for _, o := range p.Obstacles {
		if o.Blocks() && slices.Contains(deleted, o.Entry) {
			routes = append(routes, o.Route)
		}
	}
	return routes
}

// Diff plans the way from the entries of a table to the claims of the nodes. The plan does not depend on the order of the
// entries.
func Diff(in Input, policy Policy) Plan {
	d := differ{Input: in, Policy: policy, byCIDR: map[netip.Prefix]table.Entry{}, wanted: map[netip.Prefix]table.Route{},
		possible: map[netip.Prefix]table.Route{}, held: map[table.Key]string{}, nodes: map[string]bool{},
		members: map[string]bool{}, sizes: map[size]bool{}, unclear: map[string]bool{}, unclearMarks: map[string]bool{}}
	d.index()
	var p Plan
	for _, route := range in.Claims.Wanted {
		d.planRoute(&p, route)
	}
	for _, entry := range table.Ordered(in.Entries) {
		d.planUnclaimed(&p, entry)
	}
	return p
}

// differ holds the indexes that keep Diff linear.
type differ struct {
	Input
	Policy
	byCIDR map[netip.Prefix]table.Entry
	// wanted are all wanted routes, and possible those that are not refused, by destination.
	wanted, possible map[netip.Prefix]table.Route
	// held are the routes of silent, leaving, unroutable and excluded nodes, with the nodes.
	held map[table.Key]string
	// nodes are the instances of nodes, and members those and the instances of former nodes.
	nodes, members map[string]bool
	// sizes are those of the ranges that nodes have or had.
	sizes map[size]bool
	// unclear are nodes whose route is not known, and their marks; what was made for them is kept.
	unclear      map[string]bool
	unclearMarks map[string]bool
}

// size is that of a range, and its family.
type size struct {
	bits int
	ipv6 bool
}

func sizeOf(cidr netip.Prefix) size { return size{cidr.Bits(), cidr.Addr().Is6()} }

func (d *differ) index() {
	for _, entry := range d.Entries {
		d.byCIDR[entry.CIDR] = entry
	}
	for _, route := range d.Claims.Wanted {
		d.wanted[route.CIDR], d.possible[route.CIDR] = route, route
	}
	for _, route := range slices.Concat(d.Claims.Held, d.Claims.Excluded) {
		d.held[route.Key] = route.Node
	}
	for _, route := range slices.Concat(d.Claims.Wanted, d.Claims.Held, d.Claims.Excluded) {
		d.nodes[route.InstanceID], d.members[route.InstanceID] = true, true
		d.sizes[sizeOf(route.CIDR)] = true
	}
	for key := range d.Seen {
		d.members[key.InstanceID], d.sizes[sizeOf(key.CIDR)] = true, true
	}
	for _, node := range d.Claims.Unclear {
		d.unclear[node] = true
		d.unclearMarks[table.Mark(d.ClusterID, node)] = true
	}
}

func (d *differ) planRoute(p *Plan, route table.Route) {
	entry, exists := d.byCIDR[route.CIDR]
	switch {
	case exists && entry.Key == route.Key && entry.Available:
		p.Ready = append(p.Ready, route)
	case exists && entry.Key == route.Key:
		p.Pending = append(p.Pending, route)
	case !d.inCluster(route.CIDR):
		d.refuse(p, Refusal{Route: route, Reason: fmt.Sprintf(
			"pod CIDR %s lies outside of clusterCIDRs %v", route.CIDR, d.ClusterCIDRs)})
	case d.reserved(route.CIDR).IsValid():
		d.refuse(p, Refusal{Route: route, Reason: fmt.Sprintf("pod CIDR %s overlaps %s, which is the range of a vSwitch "+
			"or of the cloud's own services; give the cluster other pod ranges", route.CIDR, d.reserved(route.CIDR))})
	case !exists:
		p.Create = append(p.Create, route)
	case !d.ours(entry):
		d.refuse(p, Refusal{Route: route, Entry: entry, Reason: fmt.Sprintf(
			"destination %s is taken by an entry to %s%s that is not of this cluster; delete it to let the route be created",
			entry.CIDR, entry.NextHop, Described(entry))})
	case d.held[entry.Key] != "":
		d.refuse(p, Refusal{Route: route, Entry: entry, Reason: fmt.Sprintf(
			"nodes %s and %s have the same pod CIDR %s, and the route there is that of %s; delete one of the two Nodes, so "+
				"that it gets another range "+
				"when its kubelet registers again", d.held[entry.Key], route.Node, entry.CIDR, d.held[entry.Key])})
	case !entry.Available:
		p.Pending = append(p.Pending, route)
	default:
		p.Obstacles = append(p.Obstacles, d.obstacle(route, entry))
	}
}

// Described gives what somebody has written about an entry, for people.
func Described(entry table.Entry) string {
	if entry.Description == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", entry.Description)
}

// refuse notes that a route can't be had. What lies inside of its destination is in no route's way then.
func (d *differ) refuse(p *Plan, refusal Refusal) {
	p.Refused = append(p.Refused, refusal)
	delete(d.possible, refusal.Route.CIDR)
}

// obstacle says of an entry in the way, which is the route of no node, whether a node used to have it.
func (d *differ) obstacle(route table.Route, entry table.Entry) Obstacle {
	return Obstacle{Route: route, Entry: entry, Moved: d.nodes[entry.InstanceID]}
}

// planUnclaimed looks at an entry that is no node's route: it may take a part of a node's traffic, or be left over.
func (d *differ) planUnclaimed(p *Plan, entry table.Entry) {
	if _, claimed := d.wanted[entry.CIDR]; claimed || d.held[entry.Key] != "" || !d.inCluster(entry.CIDR) {
		return
	}
	route, inside := d.possibleAround(entry.CIDR)
	switch {
	case inside && !d.ours(entry):
		p.Foreign = append(p.Foreign, Refusal{Route: route, Entry: entry, Reason: fmt.Sprintf(
			"entry %s to %s%s is not of this cluster and takes a part of pod CIDR %s", entry.CIDR, entry.NextHop, Described(entry), route.CIDR)})
	case inside && entry.Available:
		p.Obstacles = append(p.Obstacles, d.obstacle(route, entry))
	case inside:
		p.Pending = append(p.Pending, route)
	case entry.Available && d.leftOver(entry):
		p.Orphans = append(p.Orphans, entry)
	}
}

// possibleAround finds the wanted route that strictly contains a range, among those that can be had.
func (d *differ) possibleAround(cidr netip.Prefix) (table.Route, bool) {
	for bits := cidr.Bits() - 1; bits >= 0; bits-- {
		around, err := cidr.Addr().Prefix(bits)
		if err != nil {
			return table.Route{}, false
		}
		if route, ok := d.possible[around]; ok {
			return route, true
		}
	}
	return table.Route{}, false
}

// ours reports whether an entry in the way of a node may be deleted: it carries our mark; or it has no description, a
// range such as nodes have, and leads to an instance of the cluster, which is what the existing CCM makes. What that
// one left behind leads to an instance that is gone by now: such an entry serves no node, and makes room. Any other
// description is that of somebody else.
func (d *differ) ours(entry table.Entry) bool {
	if entry.Description != "" {
		return table.MarkedBy(entry.Description, d.ClusterID)
	}
	if entry.InstanceID == "" || !d.sizes[sizeOf(entry.CIDR)] {
		return false
	}
	state := d.Instances[entry.InstanceID]
	return d.members[entry.InstanceID] || state == Member || state == Gone
}

// leftOver reports whether an entry was made for a node that does not claim it any more. More proof is asked for than in ours,
// since nothing is in need of its place.
func (d *differ) leftOver(entry table.Entry) bool {
	if entry.InstanceID == "" {
		return false
	}
	if entry.Description != "" {
		return table.MarkedBy(entry.Description, d.ClusterID) && !d.unclearMarks[entry.Description]
	}
	node, seen := d.Seen[entry.Key]
	return seen && !d.unclear[node]
}

// reserved gives the range of the cloud that a range overlaps, an invalid one if there is none.
func (d *differ) reserved(cidr netip.Prefix) netip.Prefix {
	for _, reserved := range d.Reserved {
		if reserved.Overlaps(cidr) {
			return reserved
		}
	}
	return netip.Prefix{}
}

func (d *differ) inCluster(cidr netip.Prefix) bool {
	for _, cluster := range d.ClusterCIDRs {
		if cluster.Bits() <= cidr.Bits() && cluster.Contains(cidr.Addr()) {
			return true
		}
	}
	return false
}
