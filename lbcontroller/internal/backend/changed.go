package backend

import (
	"cmp"
	"slices"
)

// Comparison is what differs between two snapshots. What Services that select alike have in common is found out once.
type Comparison struct {
	before, after *Set
	views         map[View]*difference
}

// Compare compares two snapshots.
func Compare(before, after *Set) *Comparison {
	return &Comparison{before: before, after: after, views: map[View]*difference{}}
}

// ChangesSubset reports whether the nodes that carry traffic for a Service, or may be servers yet, differ.
func (c *Comparison) ChangesSubset(p Policy) bool {
	if changes, isKnown := c.rank(p); isKnown {
		return changes
	}
	return c.changesPicked(p)
}

// changesPicked picks among all nodes of before and among all of now.
func (c *Comparison) changesPicked(p Policy) bool {
	ready, notReady := c.before.take(p)
	nowReady, nowNotReady := c.after.take(p)
	d := c.of(p.Nodes)
	return !sameNodes(ready, nowReady) || !sameNodes(notReady, nowNotReady) || d.draining || p.Drain && d.leaving
}

// mostRanked is how many nodes that came or went are ranked, in place of picking anew: to rank one means to compare it
// with some hundred others, however many there are.
const mostRanked = 16

// rank finds the answer where a few of many nodes came or went, from their places among the nodes of their zones. One
// that isn't picked changes nothing for the others as long as the zones have the same seats.
func (c *Comparison) rank(p Policy) (changes, isKnown bool) {
	was, is := c.before.selection(p.Nodes).ready, c.after.selection(p.Nodes).ready
	if p.MaxNodes <= 0 || len(p.Unknown) > 0 || min(len(was), len(is)) < p.MaxNodes {
		return false, false
	}
	d := c.of(p.Nodes)
	switch {
	case len(d.gone)+len(d.come) > mostRanked:
		return false, false
	case d.draining || p.Drain && d.leaving:
		return true, true
	}
	start := digest(fnvOffset, p.Seed)
	had, has := seated(d.had, start, p.MaxNodes), seated(d.has, start, p.MaxNodes)
	if !slices.EqualFunc(had, has, func(a, b *zone) bool { return a.name == b.name && a.seats == b.seats }) {
		return false, false
	}
	picked := func(among []Share) func(Share) bool {
		return func(n Share) bool { return ranksWithin(among, n, start, has.find(n.zone).seats) }
	}
	return slices.ContainsFunc(d.gone, picked(was)) || slices.ContainsFunc(d.come, picked(is)), true
}

// ranksWithin reports whether fewer nodes of its zone than there are seats come before one.
func ranksWithin(among []Share, n Share, start uint64, seats int) bool {
	own := mix(digest(start, n.Instance))
	for i := 0; i < len(among) && seats > 0; i++ {
		if among[i].zone == n.zone && mix(digest(start, among[i].Instance)) < own {
			seats--
		}
	}
	return seats > 0
}

// difference is what differs for a view.
type difference struct {
	// gone and come are the ready nodes that aren't there any more, and weren't; one that has changed is both.
	gone, come []Share
	// had and has are the zones of the ready nodes, in order.
	had, has []zoneSize
	// draining and leaving say whether other nodes are drained, or leave.
	draining, leaving bool
}

func (c *Comparison) of(v View) *difference {
	if d, ok := c.views[v]; ok {
		return d
	}
	was, is := c.before.selection(v), c.after.selection(v)
	d := &difference{
		gone: missing(was.ready, is.ready), come: missing(is.ready, was.ready),
		had: sizesOf(was.ready), has: sizesOf(is.ready),
		draining: !sameNodes(was.draining, is.draining), leaving: !sameNodes(was.leaving, is.leaving),
	}
	c.views[v] = d
	return d
}

func sizesOf(list []Share) []zoneSize {
	sizes := zoneSizes(list, func(n *Share) string { return n.zone })
	slices.SortFunc(sizes, func(a, b zoneSize) int { return cmp.Compare(a.name, b.name) })
	return sizes
}

// missing are the nodes that another list doesn't have as they are.
func missing(list, other []Share) []Share {
	there := make(map[Share]bool, len(other))
	for _, n := range other {
		there[n] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(n Share) bool { return there[n] })
}
