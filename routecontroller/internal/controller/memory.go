package controller

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"alicloud-controllers.dev/routecontroller/internal/apply"
	"alicloud-controllers.dev/routecontroller/internal/plan"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

// memory is what the controller knows of one table between passes. It saves reads; it is refreshed when it is old and after
// every failure, and nothing depends on it being there.
type memory struct {
	// entries are valid if known.
	entries map[netip.Prefix]table.Entry
	known   bool
	readAt  time.Time
	// custom counts all custom entries of the table, those included that can't concern us.
	custom int
	// seen are routes that nodes claimed while this process looked, with the nodes. When such a node goes, its entry goes at
	// once, mark or no mark.
	seen map[table.Key]string
	// orphanSince tells when an entry was first found without a node.
	orphanSince map[table.Key]time.Time
	// standing is what the cloud said about instances that entries in the way of routes lead to.
	standing map[string]plan.Standing
	// foreign are the entries of others that were warned about.
	foreign map[table.Key]bool
	// notBefore is when the gateway may be asked again.
	notBefore time.Time
	// full tells that the quota has been warned about.
	full bool
}

func newMemory() *memory {
	return &memory{seen: map[table.Key]string{}, orphanSince: map[table.Key]time.Time{}, standing: map[string]plan.Standing{}}
}

// fresh tells whether the entries may be used without reading.
func (m *memory) fresh(now time.Time, interval time.Duration) bool {
	return m.known && now.Sub(m.readAt) < interval
}

// remember takes over a complete reading.
func (m *memory) remember(entries []table.Entry, custom int, now time.Time) {
	m.entries = make(map[netip.Prefix]table.Entry, len(entries))
	for _, entry := range entries {
		m.entries[entry.CIDR] = entry
	}
	m.known, m.readAt, m.custom = true, now, custom
	clear(m.standing)
}

// forget makes the next pass read the table.
func (m *memory) forget() { m.known = false }

// list gives the entries in no particular order.
func (m *memory) list() []table.Entry {
	entries := make([]table.Entry, 0, len(m.entries))
	for _, entry := range m.entries {
		entries = append(entries, entry)
	}
	return entries
}

// note keeps the routes that nodes claim and drops those that neither a node nor the table has any more. A node that is excluded
// by now may have claimed its route before.
func (m *memory) note(claims table.Claims) {
	claimed := make(map[table.Key]string, len(claims.Wanted)+len(claims.Held))
	for _, route := range slices.Concat(claims.Held, claims.Wanted) {
		claimed[route.Key] = route.Node
	}
	for key := range m.seen {
		if claimed[key] == "" && m.entries[key.CIDR].Key != key {
			delete(m.seen, key)
		}
	}
	maps.Copy(m.seen, claimed)
}

// due splits the orphans into those to delete now and the time to wait for the next of the others, 0 if there is none.
func (m *memory) due(orphans []table.Entry, now time.Time, grace time.Duration) ([]table.Entry, time.Duration) {
	var gone []table.Entry
	var wait time.Duration
	since := make(map[table.Key]time.Time, len(orphans))
	for _, entry := range orphans {
		first, known := m.orphanSince[entry.Key]
		if !known {
			first = now
		}
		since[entry.Key] = first
		left := grace - now.Sub(first)
		if _, seen := m.seen[entry.Key]; seen || left <= 0 {
			gone = append(gone, entry)
			continue
		}
		if wait == 0 || left < wait {
			wait = left
		}
	}
	m.orphanSince = since
	return gone, wait
}

// applied takes over what was done.
func (m *memory) applied(result apply.Result) {
	for _, entry := range result.Deleted {
		delete(m.entries, entry.CIDR)
	}
	for _, entry := range result.Created {
		m.entries[entry.CIDR] = entry
	}
	m.custom += len(result.Created) - len(result.Deleted)
	if result.Err() != nil {
		m.forget()
	}
}
