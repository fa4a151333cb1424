package backend

import (
	"cmp"
	"slices"
)

// zone is where candidates are.
type zone struct {
	name  string
	size  int
	score uint64
	// seats is how many of the zone are picked, and best those of the least score so far, in order.
	seats int
	best  []member
}

// member is a candidate that may be in a subset, by its place in the list: it is moved often, and may be large.
type member struct {
	at    int
	score uint64
}

// subset picks n of the candidates, the same for the same seed whatever their order, and spread over zones as evenly as these allow. It is
// rendezvous hashing: a candidate that comes or goes changes the place of no other candidate but one. A name has two
// parts, which are not joined: that would take a thousand allocations for each Service and node event.
func subset[T any](candidates []T, name func(*T) (first, second, zone string), seed string, n int) []T {
	if n <= 0 || len(candidates) <= n {
		return candidates
	}
	start := digest(fnvOffset, seed)
	sizes := zoneSizes(candidates, func(c *T) string {
		_, _, zone := name(c)
		return zone
	})
	zones := seated(sizes, start, n)
	for i := range candidates {
		first, second, in := name(&candidates[i])
		zones.find(in).take(member{i, mix(digest(digest(start, first), second))})
	}
	picked := make([]T, 0, n)
	for _, z := range zones {
		for _, m := range z.best {
			picked = append(picked, candidates[m.at])
		}
	}
	return picked
}

// zones are few, so that a search is quicker than a map.
type zones []*zone

func (z zones) find(name string) *zone {
	return z[slices.IndexFunc(z, func(z *zone) bool { return z.name == name })]
}

// zoneSize is how many candidates are in a zone.
type zoneSize struct {
	name string
	size int
}

// zoneSizes counts candidates by zone, in the order in which the zones come.
func zoneSizes[T any](candidates []T, zone func(*T) string) (sizes []zoneSize) {
	for i := range candidates {
		name := zone(&candidates[i])
		at := slices.IndexFunc(sizes, func(s zoneSize) bool { return s.name == name })
		if at < 0 {
			at, sizes = len(sizes), append(sizes, zoneSize{name: name})
		}
		sizes[at].size++
	}
	return sizes
}

// seated are the zones with their seats, where n candidates are picked with a seed whose digest is start.
func seated(sizes []zoneSize, start uint64, n int) zones {
	list := make(zones, len(sizes))
	for i, s := range sizes {
		list[i] = &zone{name: s.name, size: s.size, score: mix(digest(start, s.name))}
	}
	seat(list, n)
	return list
}

// take lets a candidate be among the best, if there is a seat for it.
func (z *zone) take(m member) {
	n := len(z.best)
	switch {
	case n < z.seats:
		z.best = append(z.best, m)
	case n == 0 || z.best[n-1].score <= m.score:
		return
	default:
		n--
	}
	for ; n > 0 && z.best[n-1].score >= m.score; n-- { // A step costs less than a search.
		z.best[n] = z.best[n-1]
	}
	z.best[n] = m
}

// seat says how many of each zone are picked. What can't be divided goes to zones in an order of the seed's own.
func seat(zones []*zone, n int) {
	// The smallest zones first: what they can't take is divided among the others.
	rest := slices.SortedFunc(slices.Values(zones), func(a, b *zone) int { return cmp.Compare(a.size, b.size) })
	for len(rest) > 0 && rest[0].size <= n/len(rest) {
		rest[0].seats = rest[0].size
		n -= rest[0].size
		rest = rest[1:]
	}
	slices.SortFunc(rest, func(a, b *zone) int { return cmp.Compare(a.score, b.score) })
	for i, z := range rest {
		z.seats = n / len(rest)
		if i < n%len(rest) {
			z.seats++
		}
	}
}

// The constants of FNV-1a.
const fnvOffset, fnvPrime uint64 = 14695981039346656037, 1099511628211

// digest goes on with an FNV-1a hash, which is the same in every process.
func digest(h uint64, text string) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * fnvPrime
	}
	return h
}

// mix spreads the bits of a hash of short and similar texts, as the end of MurmurHash3 does.
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
