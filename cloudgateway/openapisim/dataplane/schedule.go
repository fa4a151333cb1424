package dataplane

// schedule chooses servers in turn. It remembers only what its scheduler needs, by server, so that a change of the group
// does not begin the turn anew. It is not safe for concurrent use.
type schedule struct {
	current map[targetID]int // smooth weighted round robin
	turn    uint64           // round robin
}

// pick chooses one of the targets, which all have a weight above zero; it returns false if there are none. What is not "rr" is
// weighted round robin, the default of the cloud: its other schedulers would change which server serves a client, not whether one does.
func (s *schedule) pick(scheduler string, targets []target) (target, bool) {
	if len(targets) == 0 {
		return target{}, false
	}
	if scheduler == "rr" {
		s.turn++
		return targets[(s.turn-1)%uint64(len(targets))], true
	}
	return s.weighted(targets), true
}

// weighted is the smooth weighted round robin that nginx made popular: every target gains its weight, the richest is chosen and
// pays the total. In every round of the total each target comes as often as its weight, spread evenly.
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
