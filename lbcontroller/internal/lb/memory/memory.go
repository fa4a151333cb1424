// Package memory remembers what the cloud is known to hold for each Service, so that most changes need no read. Nothing depends
// on it: a Service that isn't remembered is read.
package memory

import (
	"crypto/sha256"
	"sync"
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// Entry is what is known about a Service.
type Entry struct {
	// UID guards against another Service of the same name.
	UID string
	// Observed is what the cloud holds. While it is remembered the servers of its groups are in servers.
	Observed model.Observed
	servers  []packed
	// Named is the CLB that the Service names, "" for one of its own.
	Named string
	// Hash is the digest of the configuration that was noted on the Service, "" if none was.
	Hash string
	// VerifyAt is when the cloud must be read again.
	VerifyAt time.Time
	// Refused is why the Service can't have the CLB that it names, as long as it says RefusedFor; without a text it is not refused.
	Refused    reuse.Refusal
	RefusedFor string
	// RefusedSince is when the Service was refused first; every look since then has refused it again.
	RefusedSince time.Time
	// Absent reports that the Service was found to have no CLB whose servers could be kept right. Nothing else was looked at.
	Absent bool
	// EIPs are the addresses bound to the instance, if they are published, and EIPsUntil is how long that is believed. Nil if they weren't read.
	EIPs      []string
	EIPsUntil time.Time
	// None reports that the Service certainly has nothing: nothing was made for it yet, or it has given up all. That a CLB was searched for and not
	// found is less: the cloud may still be at one whose creation was lost sight of, and something may be on a user's.
	None bool
	// Released is the address of the CLB that the Service has given up, as long as the cache may not show that yet.
	Released string
	// ComparedFor is the digest of the configuration for which the cloud was read completely: what the plan refuses then is refused for
	// what was seen.
	ComparedFor string
	// Trusted is the digest of what the cloud is recorded to have, if only that is known and nothing was read.
	Trusted string
	// doubts is how often the Service had been doubted when the entry was recalled.
	doubts uint64
	// due reports that the entry stands for one that is to be verified.
	due bool
}

// Memory holds what is remembered of Services, by key. The zero value is empty.
type Memory struct {
	mu       sync.Mutex
	services map[string]*service
	lists    lists
}

// service is all that is remembered of a Service. It is made when the Service is first seen, and dropped with it.
type service struct {
	entry Entry // without a UID if nothing is remembered of the cloud
	// full reports that the cloud has just refused more servers.
	full bool
	// doubts counts the changes by a user.
	doubts uint64
	// met is the UID for which Meet was called.
	met   string
	limit limit
}

// of returns what is remembered of a Service; m is locked.
func (m *Memory) of(key string) *service {
	s := m.services[key]
	if s == nil {
		if m.services == nil {
			m.services = map[string]*service{}
		}
		s = &service{}
		m.services[key] = s
	}
	return s
}

// at returns a copy of what is remembered of a Service.
func (m *Memory) at(key string) service {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.services[key]; s != nil {
		return *s
	}
	return service{}
}

// change changes what is remembered of a Service.
func (m *Memory) change(key string, change func(*service)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m.of(key))
}

// forget drops what is remembered of the cloud.
func (s *service) forget() { s.entry, s.full = Entry{}, false }

// limitFor is how long a limit is believed: quotas can be raised.
const limitFor = 4 * time.Hour

// limit is how many servers the cloud takes.
type limit struct {
	servers int
	until   time.Time
}

// Get returns the entry of a Service. Its content must not be changed.
func (m *Memory) Get(key, uid string) (Entry, bool) { return m.get(key, uid, nil) }

func (m *Memory) get(key, uid string, lists *model.Lists) (Entry, bool) {
	e := m.at(key).entry
	if e.UID == "" || e.UID != uid {
		return Entry{}, false
	}
	return e.unpack(lists), true
}

// Digest is a digest of servers but for the port and the description of the first one, and of those that have the same. The digest for Services with
// the same nodes is made once.
func (m *Memory) Digest(servers []model.Server) [sha256.Size]byte {
	_, sum := m.lists.pack(servers)
	return sum
}

// pack returns an entry as it is remembered.
func (m *Memory) pack(e Entry) Entry {
	e.Observed.Groups, e.servers = m.lists.groups(e.Observed.Groups)
	return e
}

// unpack returns an entry that was remembered.
func (e Entry) unpack(lists *model.Lists) Entry {
	e.Observed.Groups, e.servers = unpack(e.Observed.Groups, e.servers, lists), nil
	return e
}

// State says whether an entry can be used.
type State int

// The states.
const (
	// Unknown: nothing is remembered.
	Unknown State = iota
	// Due: it is time to read the cloud again.
	Due
	// Known: what is remembered counts.
	Known
)

// Recall returns the entry of a Service as far as it counts at a time; an empty one if it doesn't. Its servers are in lists.
func (m *Memory) Recall(key, uid string, now time.Time, lists *model.Lists) (Entry, State) {
	e, state := m.last(key, uid, now, lists)
	doubts := m.at(key).doubts
	switch {
	case state == Known && e.doubts != doubts:
		return Entry{doubts: doubts}, Due
	case state != Known:
		e.doubts = doubts
	}
	return e, state
}

// Last is Recall without regard to doubts.
func (m *Memory) Last(key, uid string, now time.Time) (Entry, State) {
	return m.last(key, uid, now, nil)
}

func (m *Memory) last(key, uid string, now time.Time, lists *model.Lists) (Entry, State) {
	e, ok := m.get(key, uid, lists)
	switch {
	case !ok:
		return Entry{}, Unknown
	case !e.VerifyAt.IsZero() && !now.Before(e.VerifyAt):
		return Entry{due: true, RefusedSince: e.RefusedSince}, Due
	}
	return e, Known
}

// Doubt makes the next Recall say that the cloud has to be read, whatever is put meanwhile by a caller that has recalled before.
func (m *Memory) Doubt(key string) { m.change(key, func(s *service) { s.doubts++ }) }

// Renew returns the empty entry for what was read after e was recalled.
func Renew(e Entry) Entry { return Entry{doubts: e.doubts} }

// Holds returns the entry for what a Service has now, and the digest of the configuration that was noted on it. It is refused nothing.
func (e Entry) Holds(observed model.Observed, hash string) Entry {
	e.Observed, e.Hash, e.Trusted, e.Absent, e.None = observed, hash, "", false, false
	e.Refused, e.RefusedFor, e.RefusedSince = reuse.Refusal{}, "", time.Time{}
	return e
}

// Doubted reports that a user has changed the Service since the cloud was read.
func (e Entry) Doubted() bool { return e.doubts > 0 && e.VerifyAt.IsZero() && !e.due }

// WithoutDoubts returns an entry without the doubts that there were when another was recalled: the cloud has been compared since. A doubt makes a
// refusal new.
func WithoutDoubts(e, recalled Entry) Entry {
	e.doubts, e.RefusedSince = recalled.doubts, recalled.RefusedSince
	return e
}

// on reports that a Service names a CLB or is there: one that names another stays where it is as long as it may not move.
func (e Entry) on(loadBalancer string) bool {
	return e.Named == loadBalancer || e.Observed.InstanceID == loadBalancer
}

// Wake forgets what is remembered of other Services that name a user's load balancer or are there and that are concerned, and returns their keys.
func (m *Memory) Wake(except, loadBalancer string, concerned func(Entry) bool) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []string
	for key, s := range m.services {
		if e := s.entry; key != except && e.UID != "" && e.on(loadBalancer) && concerned(e.unpack(nil)) {
			keys = append(keys, key)
			s.forget()
		}
	}
	return keys
}

// Put remembers.
func (m *Memory) Put(key string, e Entry) {
	e = m.pack(e)
	m.change(key, func(s *service) { s.entry, s.full = e, false })
}

// Drop forgets all about a Service that no longer exists.
func (m *Memory) Drop(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.services, key)
}

// Meet reports whether it is called for a Service for the first time.
func (m *Memory) Meet(key, uid string) (first bool) {
	m.change(key, func(s *service) { first, s.met = s.met != uid, uid })
	return first
}

// Forget makes the next reconcile read the cloud.
func (m *Memory) Forget(key string) { m.change(key, (*service).forget) }

// SetFull notes that the cloud refused more servers, so that the next change removes before it adds.
func (m *Memory) SetFull(key string) { m.change(key, func(s *service) { s.full = true }) }

// Full reports whether SetFull was called since the last Put.
func (m *Memory) Full(key string) bool { return m.at(key).full }

// SetLimit notes that the cloud takes only so many servers in a vServer group of a Service. It reports whether more were tried before.
func (m *Memory) SetLimit(key string, servers int) (isNews bool) {
	m.change(key, func(s *service) {
		isNews = !time.Now().Before(s.limit.until) || servers < s.limit.servers
		s.limit = limit{servers: servers, until: time.Now().Add(limitFor)}
	})
	return isNews
}

// Limit returns how many servers a vServer group of a Service can have and how long that is believed, 0 if no limit is known.
func (m *Memory) Limit(key string) (servers int, until time.Time) {
	if l := m.at(key).limit; time.Now().Before(l.until) {
		return l.servers, l.until
	}
	return 0, time.Time{}
}
