package controller

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"alicloud-controllers.dev/routecontroller/internal/apply"
	"alicloud-controllers.dev/routecontroller/internal/orphan"
	"alicloud-controllers.dev/routecontroller/internal/plan"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

const (
	// tableMaxDelay bounds the delay after failures, since whole nodes wait.
	tableMaxDelay = time.Minute
	// pendingDelay is when to look again at entries that the cloud is working on, and pendingShare how much of the time is let pass again that
	// the latest of them has taken, for each look reads the table. tableMaxDelay is the most.
	pendingDelay, pendingShare = 5 * time.Second, 4
	// pendingPatience is how long the cloud may work on a route before an event reports it. It takes seconds, and minutes when it is busy.
	pendingPatience = 5 * time.Minute
	// createTogether is how many routes one pass creates: enough to fill the gateway's calls, and few enough that no node waits for the
	// routes of all others. Between two passes other tables have their turn.
	createTogether = 100
	// liveApart is the least time between two lists of all nodes from the API server, which are tens of megabytes for thousands, unless a
	// node waits for what is deleted.
	liveApart = 30 * time.Second
)

// memory is what the controller knows of one table between passes. It saves reads; nothing depends on it being there.
type memory struct {
	reading
	evidence
	history
}

// reading is what a table was read to hold. It is refreshed when it is old and after every failure.
type reading struct {
	// entries are valid if known.
	entries map[netip.Prefix]table.Entry
	known   bool
	readAt  time.Time
	// custom counts all custom entries of the table, those included that can't concern us.
	custom int
	// reserved are the ranges that no route may overlap.
	reserved []netip.Prefix
}

// evidence is what the cloud said about the instances of entries.
type evidence struct {
	// instances is what it said since the table was read, and before what it said earlier.
	instances, before map[string]plan.InstanceState
	// unclear are instances about which nothing could be found out since then, and why. What is in instances of them is what was said before:
	// it says whose an entry is, and is no evidence that the instance is gone.
	unclear map[string]error
}

// history is what has happened to routes, and when.
type history struct {
	// seen are routes that nodes claimed while this process looked, with the nodes. When such a node goes, its entry goes at
	// once, mark or no mark.
	seen map[table.Key]string
	// excluded are routes that excluded nodes claimed. A user or another tool may have made them, so they stay when the node goes.
	excluded map[table.Key]bool
	// orphanSince says when an entry was first found without a node.
	orphanSince map[table.Key]time.Time
	// deleted are the times of the deletions that count for the budget, those of earlier leaders included.
	deleted []time.Time
	// counted are deletions among them that failed. A new reading of the table shows whether they had an effect.
	counted map[table.Key]time.Time
	// recorded is set once the memory holds what earlier leaders have recorded.
	recorded bool
	// failed says when the creation of a route failed last, and undeleted when the deletion of an orphan did.
	failed, undeleted map[table.Key]time.Time
	// unfinished says since when a route has been there without being available.
	unfinished map[table.Key]time.Time
	// reported are routes of which an event said that the cloud does not finish them, and none yet that it has.
	reported map[table.Key]bool
	// liveAt is when all nodes were listed from the API server last.
	liveAt time.Time
	// notBefore is when the gateway may be asked again.
	notBefore time.Time
}

func newMemory() *memory {
	return &memory{
		evidence: evidence{instances: map[string]plan.InstanceState{}, unclear: map[string]error{}},
		history: history{
			seen: map[table.Key]string{}, excluded: map[table.Key]bool{}, orphanSince: map[table.Key]time.Time{}, counted: map[table.Key]time.Time{},
			failed: map[table.Key]time.Time{}, undeleted: map[table.Key]time.Time{}, reported: map[table.Key]bool{},
		},
	}
}

// fresh reports whether the entries may be used without reading.
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
	m.before, m.instances = m.instances, map[string]plan.InstanceState{}
	clear(m.unclear)
	m.uncount()
}

// asked reports whether an instance was asked about since the table was read.
func (m *memory) asked(instance string) bool {
	_, asked := m.instances[instance]
	return asked
}

// setUnclear notes that a question about instances failed. They are not asked about again before the next reading,
// since nodes wait meanwhile, and an entry stays whose it was: otherwise one question without an answer would let its
// grace begin anew.
func (m *memory) setUnclear(err error, instances ...string) {
	for _, id := range instances {
		m.instances[id], m.unclear[id] = m.before[id], err
	}
}

// count takes deletions off the budget before they are made.
func (m *memory) count(entries []table.Entry, now time.Time) {
	for _, entry := range entries {
		m.deleted = append(m.deleted, now)
		m.counted[entry.Key] = now
	}
}

// uncount gives back what was counted for deletions that failed without an effect: their entries are there still.
func (m *memory) uncount() {
	for key, at := range m.counted {
		if entry := m.entries[key.CIDR]; entry.Key == key && entry.Available {
			if i := slices.Index(m.deleted, at); i >= 0 {
				m.deleted = slices.Delete(slices.Clone(m.deleted), i, i+1)
			}
		}
	}
	clear(m.counted)
}

// listsLive notes that all nodes are listed now for a deletion, or gives the time until they may be. It is now if a node waits for what is
// deleted: for its place, or for room in a table that is full.
func (m *memory) listsLive(v view, quota int, now time.Time) time.Duration {
	awaited := quota > 0 && m.custom+len(v.plan.Create) > quota
	for _, o := range v.waiting {
		awaited = awaited || o.InTheWay && slices.Contains(v.orphans.Delete, o.Entry)
	}
	if early := m.liveAt.Add(liveApart).Sub(now); early > 0 && !awaited {
		return early
	}
	m.liveAt = now
	return 0
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

// note keeps the routes that nodes claim and drops those that neither a node nor the table has any more.
func (m *memory) note(claims table.Claims) {
	claimed := make(map[table.Key]string, len(claims.Wanted)+len(claims.Held))
	for _, route := range slices.Concat(claims.Held, claims.Wanted) {
		claimed[route.Key] = route.Node
		delete(m.excluded, route.Key)
	}
	for _, route := range claims.Excluded {
		m.excluded[route.Key] = true
	}
	isThere := func(key table.Key) bool { return m.entries[key.CIDR].Key == key }
	maps.DeleteFunc(m.seen, func(key table.Key, _ string) bool { return claimed[key] == "" && !isThere(key) })
	maps.DeleteFunc(m.reported, func(key table.Key, _ bool) bool { return claimed[key] == "" && !isThere(key) })
	maps.DeleteFunc(m.excluded, func(key table.Key, _ bool) bool { return !isThere(key) })
	maps.Copy(m.seen, claimed)
}

// orphans gives the entries that no node claims, with what is known of them. Those of excluded nodes are left out, unless they are in the
// way of a node.
func (m *memory) orphans(p plan.Plan, now time.Time, watched func(table.Key) bool) []orphan.Orphan {
	var orphans []orphan.Orphan
	for _, o := range p.Obstacles {
		orphans = append(orphans, orphan.Orphan{Entry: o.Entry, InTheWay: true, Moved: o.Moved})
	}
	for _, entry := range p.Orphans {
		if !m.excluded[entry.Key] {
			orphans = append(orphans, orphan.Orphan{Entry: entry})
		}
	}
	since, undeleted := make(map[table.Key]time.Time, len(orphans)), make(map[table.Key]time.Time, len(m.undeleted))
	for i := range orphans {
		o := &orphans[i]
		o.Since, o.Watched = now, watched(o.Entry.Key)
		if first, known := m.orphanSince[o.Entry.Key]; known {
			o.Since = first
		}
		since[o.Entry.Key] = o.Since
		if at, failed := m.undeleted[o.Entry.Key]; failed {
			o.Failed, undeleted[o.Entry.Key] = at, at
		}
		switch state, asked := m.instances[o.Entry.InstanceID]; {
		case !asked || m.unclear[o.Entry.InstanceID] != nil:
		case state == plan.Gone:
			o.Instance = orphan.Gone
		default:
			o.Instance = orphan.Living
		}
	}
	m.orphanSince, m.undeleted = since, undeleted
	return orphans
}

// turn gives the missing routes to create next: those first that have not failed, then those whose failure is the longest ago, so that
// routes which can't be had do not keep others waiting.
func (m *memory) turn(missing []table.Route) []table.Route {
	failed := make(map[table.Key]time.Time, len(m.failed))
	for _, route := range missing {
		if at, ok := m.failed[route.Key]; ok {
			failed[route.Key] = at
		}
	}
	m.failed = failed
	ordered := slices.SortedStableFunc(slices.Values(missing), func(a, b table.Route) int { return failed[a.Key].Compare(failed[b.Key]) })
	return ordered[:min(len(ordered), createTogether)]
}

// pending gives the time until the next look at routes that are not available yet, 0 if all are.
func (m *memory) pending(routes []table.Route, created []table.Entry, now time.Time) time.Duration {
	var keys []table.Key
	for _, route := range routes {
		keys = append(keys, route.Key)
	}
	for _, entry := range created {
		if !entry.Available {
			keys = append(keys, entry.Key)
		}
	}
	unfinished, latest := make(map[table.Key]time.Time, len(keys)), time.Time{}
	for _, key := range keys {
		since, known := m.unfinished[key]
		if !known {
			since = now
		}
		unfinished[key] = since
		if since.After(latest) {
			latest = since
		}
	}
	m.unfinished = unfinished
	if len(keys) == 0 {
		return 0
	}
	return min(max(pendingDelay, now.Sub(latest)/pendingShare), tableMaxDelay)
}

// stuck are those of the routes that have been there for longer than pendingPatience.
func (m *memory) stuck(routes []table.Route, now time.Time) []table.Route {
	return slices.DeleteFunc(slices.Clone(routes), func(r table.Route) bool {
		since, known := m.unfinished[r.Key]
		return !known || now.Sub(since) < pendingPatience
	})
}

// applied takes over what was done.
func (m *memory) applied(result apply.Result) {
	for _, failure := range result.CreateFailed {
		m.failed[failure.Route.Key] = time.Now()
	}
	for _, failure := range result.DeleteFailed {
		m.undeleted[failure.Entry.Key] = time.Now()
	}
	for _, entry := range result.Deleted {
		delete(m.entries, entry.CIDR)
		delete(m.counted, entry.Key)
	}
	for _, entry := range result.Created {
		m.entries[entry.CIDR] = entry
	}
	m.custom += len(result.Created) - len(result.Deleted)
	if result.Err() != nil {
		m.forget()
	}
}
