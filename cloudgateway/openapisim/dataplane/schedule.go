package dataplane

import "math"

// schedule chooses servers in turn. It remembers only what its scheduler needs, by server, so that a change of the group
// does not begin the turn anew. It is not safe for concurrent use.
type schedule struct {
	current map[targetID]int // smooth weighted round robin
	turn    uint64           // round robin
}

// pick chooses one of the targets, which all have a weight above zero; it returns false if there are none. Key is what hashing
// schedulers hash; active tells how many connections a target has.
func (s *schedule) pick(scheduler string, targets []target, key uint64, active func(targetID) int) (target, bool) {
	if len(targets) == 0 {
		return target{}, false
	}
	switch scheduler {
	case "rr":
		s.turn++
		return targets[(s.turn-1)%uint64(len(targets))], true
	case "wlc":
		return leastLoaded(targets, active), true
	case "sch", "tch", "qch":
		return rendezvous(targets, key), true
	}
	return s.weighted(targets), true
}

// weighted is the smooth weighted round robin that nginx made popular: everybody gains its weight, the richest is chosen and
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

// leastLoaded chooses the target with the fewest connections for its weight.
func leastLoaded(targets []target, active func(targetID) int) target {
	best := targets[0]
	for _, t := range targets[1:] {
		// a/wa > b/wb without division; one more, so that the heavier of two idle ones is chosen
		if (active(best.id)+1)*t.weight > (active(t.id)+1)*best.weight {
			best = t
		}
	}
	return best
}

// rendezvous chooses the target with the highest score for the key. When a target comes or goes, only the keys that it gains or
// held change their target.
func rendezvous(targets []target, key uint64) target {
	best, highest := targets[0], math.Inf(-1)
	for _, t := range targets {
		// The logarithm makes the share of a target its share of the weights.
		h := float64(mix(key^t.id.hash())>>11) / (1 << 53)
		if score := -float64(t.weight) / math.Log(h); score > highest {
			best, highest = t, score
		}
	}
	return best
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
