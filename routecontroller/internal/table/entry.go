package table

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
)

// TypeCustom is the type of the entries that people and controllers make.
const TypeCustom = "Custom"

// TypeSystem is the type of the entries that the cloud makes, one for each vSwitch and one for its own services.
const TypeSystem = "System"

// NextHopInstance is the next hop type of an ECS instance.
const NextHopInstance = "Instance"

const (
	markPrefix = "k8s/"
	// maxDescription is the cloud's limit (source: VPC API, CreateRouteEntries).
	maxDescription = 256
)

// Key is what makes two routes of one table the same route.
type Key struct {
	CIDR netip.Prefix
	// InstanceID is the ECS instance the route leads to; empty if it leads to something else.
	InstanceID string
}

// Route is a route that a node claims.
type Route struct {
	Key
	// Node is the name of the node.
	Node string
}

// Entry is a custom entry of a route table.
type Entry struct {
	Key
	// NextHop is what the entry leads to, for people.
	NextHop string
	// Description carries the mark of ownership, if there is one.
	Description string
	// Available says that the entry works and may be changed.
	Available bool
}

// EntryOf turns what the cloud holds into an Entry. It returns false for entries that can neither be a node's route nor stand in
// the way of one: system entries, those of a family that is out of scope, and default routes.
func (s Scope) EntryOf(e *vpcv1.RouteEntry) (Entry, bool) {
	if e.GetType() != "" && e.GetType() != TypeCustom {
		return Entry{}, false
	}
	cidr, err := netip.ParsePrefix(e.GetDestinationCidr())
	if err != nil || !s.covers(cidr) || cidr.Bits() == 0 {
		return Entry{}, false
	}
	entry := Entry{
		Key:         Key{CIDR: cidr.Masked()},
		NextHop:     e.GetNextHopId(),
		Description: e.GetDescription(),
		Available:   IsAvailable(e.GetStatus()),
	}
	switch {
	case e.GetMultipleNextHops():
		entry.NextHop = "several next hops"
	case e.GetNextHopType() == "" || e.GetNextHopType() == NextHopInstance:
		entry.InstanceID = e.GetNextHopId()
	}
	return entry, true
}

// Reserved are the ranges of a table that no route may overlap: those of the vSwitches, which the table has as system entries, and
// 100.64.0.0/10, which is the cloud's own (source: VPC API, CreateRouteEntry).
func Reserved(list []*vpcv1.RouteEntry) []netip.Prefix {
	reserved := []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, 0, 0}), 10)} //nolint:mnd // The comment says so.
	for _, e := range list {
		if cidr, err := netip.ParsePrefix(e.GetDestinationCidr()); err == nil && e.GetType() == TypeSystem && cidr.Bits() > 0 {
			reserved = append(reserved, cidr.Masked())
		}
	}
	return reserved
}

// CountCustom counts the entries that people and controllers made.
func CountCustom(list []*vpcv1.RouteEntry) int {
	n := 0
	for _, e := range list {
		if e.GetType() == "" || e.GetType() == TypeCustom {
			n++
		}
	}
	return n
}

// IsAvailable reports whether an entry in a status works.
func IsAvailable(status string) bool { return status == "Available" }

// EntriesOf turns a complete listing into entries, ordered by destination.
func (s Scope) EntriesOf(list []*vpcv1.RouteEntry) []Entry {
	entries := make([]Entry, 0, len(list))
	for _, e := range list {
		if entry, ok := s.EntryOf(e); ok {
			entries = append(entries, entry)
		}
	}
	return Ordered(entries)
}

// Ordered gives the entries by destination; the argument stays as it is.
func Ordered(entries []Entry) []Entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return CompareKeys(a.Key, b.Key) })
}

// Mark is the description of an entry made for a node of a cluster. It survives restarts, so that an entry whose node is long
// gone can still be distinguished from those of others.
func Mark(clusterID, node string) string {
	mark := markPrefix + clusterID + "/" + node
	return mark[:min(len(mark), maxDescription)]
}

// MarkedBy reports whether a description is the mark of this cluster.
func MarkedBy(description, clusterID string) bool {
	return clusterID != "" && strings.HasPrefix(description, markPrefix+clusterID+"/")
}

// CompareKeys orders routes by destination.
func CompareKeys(a, b Key) int {
	return cmp.Or(a.CIDR.Addr().Compare(b.CIDR.Addr()), cmp.Compare(a.CIDR.Bits(), b.CIDR.Bits()),
		strings.Compare(a.InstanceID, b.InstanceID))
}
