package knowledge

import (
	"sync"
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// Memory is what is remembered of one Service. The zero value is empty.
type Memory struct {
	mu    sync.Mutex
	entry Entry // without a UID if nothing is remembered of the cloud
	// full reports that the cloud has just refused more servers.
	full bool
	// doubts counts the changes by a user.
	doubts uint64
	// met is the UID for which Meet was called.
	met string
	// limit is how many servers the cloud takes in a server group, and limited how long that is believed.
	limit   int
	limited time.Time
}

// limitFor is how long a limit is believed: quotas can be raised.
const limitFor = 4 * time.Hour

// State says what a recalled entry is good for.
type State int

// The states.
const (
	// Unknown: nothing is remembered.
	Unknown State = iota
	// Due: it is time to read the cloud again.
	Due
	// Doubted: a user has changed the Service since the cloud was read.
	Doubted
	// Current: what is remembered counts.
	Current
)

// Get returns what is remembered of a Service, however old it is.
func (m *Memory) Get(uid string) Entry {
	e, _ := m.recall(uid, time.Time{}, nil, false)
	return e
}

// Recall returns the entry of a Service as far as it counts at a time; an empty one if it doesn't. Its servers are in lists.
func (m *Memory) Recall(uid string, now time.Time, lists *model.Lists) (Entry, State) {
	return m.recall(uid, now, lists, true)
}

// Last is Recall without regard to doubts.
func (m *Memory) Last(uid string, now time.Time) (Entry, State) {
	return m.recall(uid, now, nil, false)
}

func (m *Memory) recall(uid string, now time.Time, lists *model.Lists, doubting bool) (Entry, State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, none := m.entry, Entry{Known: Nothing{}}
	if doubting {
		none.doubts = m.doubts
	}
	switch {
	case e.UID == "" || e.UID != uid:
		return none, Unknown
	case !now.IsZero() && !e.VerifyAt.IsZero() && !now.Before(e.VerifyAt):
		none.RefusedSince = e.RefusedSince
		return none, Due
	case doubting && e.doubts != m.doubts:
		return none, Doubted
	}
	return e.unpack(lists), Current
}

// Put remembers.
func (m *Memory) Put(e Entry, packer *Packer) {
	e = packer.pack(e)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entry, m.full = e, false
}

// Doubt makes the next Recall say that the cloud has to be read, whatever is put meanwhile by a caller that has recalled before.
func (m *Memory) Doubt() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubts++
}

// Forget makes the next pass read the cloud.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entry, m.full = Entry{}, false
}

// ForgetOn is Forget for a Service that names a user's load balancer or is there, if it is concerned. It reports
// whether it was: one that names another stays where it is as long as it may not move.
func (m *Memory) ForgetOn(loadBalancer string, concerned func(Entry) bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry
	if e.UID == "" || e.Named != loadBalancer && There(e.Known).InstanceID != loadBalancer || !concerned(e.unpack(nil)) {
		return false
	}
	m.entry, m.full = Entry{}, false
	return true
}

// Meet reports whether it is called for a Service for the first time, and no user has changed it since it was seen.
func (m *Memory) Meet(uid string) (first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first, m.met = m.met != uid && m.doubts == 0, uid
	return first
}

// SetFull notes that the cloud refused more servers, so that the next change removes before it adds.
func (m *Memory) SetFull() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.full = true
}

// Full reports whether SetFull was called since the last Put.
func (m *Memory) Full() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.full
}

// SetLimit notes that the cloud takes only so many servers in a server group of a Service. It reports whether more were tried before.
func (m *Memory) SetLimit(servers int) (isNews bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	isNews = !time.Now().Before(m.limited) || servers < m.limit
	m.limit, m.limited = servers, time.Now().Add(limitFor)
	return isNews
}

// Limit returns how many servers a server group of a Service can have and how long that is believed, 0 if no limit is known.
func (m *Memory) Limit() (servers int, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Now().Before(m.limited) {
		return m.limit, m.limited
	}
	return 0, time.Time{}
}
