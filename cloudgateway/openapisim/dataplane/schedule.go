package dataplane

import (
	"cmp"
	"maps"
	"math"
	"net/netip"
	"slices"
	"time"
)

// schedule chooses servers for new connections. It remembers only what its scheduler needs, by server, so that a change
// of the group does not begin the turn anew, and which client has which server. It is not safe for concurrent use.
type schedule struct {
	current map[targetID]int          // smooth weighted round robin
	turn    uint64                    // round robin
	kept    map[netip.Addr]assignment // of listeners that keep clients at their servers
}

// assignment is the server of a client, which keeps it until its time of persistence has passed without a new
// connection.
type assignment struct {
	id    targetID
	until time.Time
}

// maxKept bounds the clients whose servers are remembered. Beyond it, some are given another server too early.
const maxKept = 100_000

// demand is a new connection as schedulers see it.
type demand struct {
	client netip.AddrPort
	now    time.Time
	active func(targetID) int // the connections of a server
}

// pick chooses one of the targets, which are those of the pool that can be used and all have a weight above zero; it
// returns false if there are none.
func (s *schedule) pick(p *pool, targets []target, d demand) (target, bool) {
	if len(targets) == 0 {
		return target{}, false
	}
	if p.persistence == 0 {
		return s.next(p.scheduler, targets, d), true
	}
	client := d.client.Addr()
	last, known := s.kept[client]
	i := slices.IndexFunc(targets, func(t target) bool { return t.id == last.id })
	var chosen target
	if known && i >= 0 && d.now.Before(last.until) {
		chosen = targets[i]
	} else {
		chosen = s.next(p.scheduler, targets, d)
	}
	s.keep(client, assignment{id: chosen.id, until: d.now.Add(p.persistence)}, d.now)
	return chosen, true
}

func (s *schedule) keep(client netip.Addr, a assignment, now time.Time) {
	if s.kept == nil {
		s.kept = map[netip.Addr]assignment{}
	}
	if _, known := s.kept[client]; !known && len(s.kept) >= maxKept {
		maps.DeleteFunc(s.kept, func(_ netip.Addr, old assignment) bool { return !now.Before(old.until) })
		for other := range s.kept {
			if len(s.kept) < maxKept {
				break
			}
			delete(s.kept, other)
		}
	}
	s.kept[client] = a
}

// next applies a scheduler. The one by QUIC connections, qch, goes by the client's address: packets are not looked
// into.
func (s *schedule) next(scheduler string, targets []target, d demand) target {
	switch scheduler {
	case "rr":
		s.turn++
		return targets[(s.turn-1)%uint64(len(targets))]
	case "sch", "qch":
		return hashed(targets, hashText(d.client.Addr().String()))
	case "tch":
		return hashed(targets, hashText(d.client.String()))
	case "wlc":
		return slices.MinFunc(targets, func(a, b target) int {
			return cmp.Compare(d.active(a.id)*b.weight, d.active(b.id)*a.weight)
		})
	}
	return s.weighted(targets)
}

// hashed gives every key its server, by weight: a server that comes or goes changes only the keys that it takes or had
// (rendezvous hashing).
func hashed(targets []target, key uint64) target {
	score := func(t target) float64 {
		share := (float64(mix(key^t.id.hash())>>11) + 0.5) / (1 << 53)
		return float64(t.weight) / -math.Log(share)
	}
	return slices.MaxFunc(targets, func(a, b target) int { return cmp.Compare(score(a), score(b)) })
}

// weighted is the smooth weighted round robin that nginx made popular: every target gains its weight, the richest is
// chosen and pays the total. In every round of the total each target comes as often as its weight, spread evenly.
func (s *schedule) weighted(targets []target) target {
	next := make(map[targetID]int, len(targets))
	total, best := 0, 0
	for i, t := range targets {
		next[t.id] = s.current[t.id] + t.weight
		total += t.weight
		if next[t.id] > next[targets[best].id] {
			best = i
		}
	}
	next[targets[best].id] -= total
	s.current = next
	return targets[best]
}

// hash is the same for the same server in every process.
func (id targetID) hash() uint64 {
	h, raw := hashText(id.server), id.addr.Addr().As16()
	for _, octet := range raw {
		h = (h ^ uint64(octet)) * fnvPrime
	}
	return mix(h ^ uint64(id.addr.Port()))
}

const fnvPrime = 1099511628211

// hashText is FNV-1a, which is the same in every process.
func hashText(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * fnvPrime
	}
	return h
}

// mix spreads what differs in a few bits over all of them (the finalizer of SplitMix64).
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
