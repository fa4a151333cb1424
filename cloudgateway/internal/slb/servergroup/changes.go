package servergroup

import (
	"slices"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

// changes is a set of changes to the servers of one group.
type changes struct {
	add, remove, update []*slbv1.Server
	removeFirst         bool
	full                bool // the cloud takes no more servers until others have gone
}

func (c changes) size() int { return len(c.add) + len(c.remove) + len(c.update) }

func (c changes) empty() bool { return c.size() == 0 }

// verb is what a call does to servers.
type verb uint8

const (
	replace verb = iota // servers by others
	add
	set // weights and descriptions
	remove
)

// step is one cloud call: the servers that go and those that come or change.
type step struct {
	verb      verb
	out, into []*slbv1.Server
}

func (s step) size() int { return max(len(s.out), len(s.into)) }

// next gives what the first of the fewest calls does that make the changes, of which each names at most perCall servers; it is cut to that
// afterwards. Where the cloud can replace servers, as many removed servers as possible are replaced by added ones in
// one call: pairing all of min(add, remove) is never worse than pairing fewer, since each call of pairs does the work
// of one addition and one removal. Where that saves a growing group no call, e.g. when three servers come and two go,
// none is replaced: the cloud refuses that if one of the old servers has left the group with its instance, but ignores
// a removal of what is not there. A full group has no room for that. Servers come before they go, so that a group is
// never emptier than it was, unless removeFirst asks for the opposite.
func (c changes) next(perCall int, canReplace bool) step {
	calls := func(servers int) int { return (servers + perCall - 1) / perCall }
	pairs := min(len(c.add), len(c.remove))
	if !canReplace || !c.full && len(c.add) > pairs && calls(pairs)+calls(len(c.add)-pairs) == calls(len(c.add))+calls(len(c.remove)) {
		pairs = 0
	}
	switch {
	case c.removeFirst && len(c.remove) > 0:
		return step{verb: remove, out: c.remove}
	case pairs > 0:
		return step{verb: replace, out: c.remove[:pairs], into: c.add[:pairs]}
	case len(c.add) > 0:
		return step{verb: add, into: c.add}
	case len(c.update) > 0:
		return step{verb: set, into: c.update}
	}
	return step{verb: remove, out: c.remove}
}

// first gives the part of a step that names at most n servers of a kind.
func (s step) first(n int) step {
	return step{verb: s.verb, out: s.out[:min(n, len(s.out))], into: s.into[:min(n, len(s.into))]}
}

// remaining gives what of the changes is still to be done, given what the group holds: a server to add that is there with
// another weight needs an update, one to update that is gone can't be helped here and stays, so that the cloud's refusal
// reaches the caller.
func remaining(c changes, actual []*slbv1.Server) changes {
	there := make(map[serverKey]*slbv1.Server, len(actual))
	for _, s := range actual {
		there[keyOf(s)] = s
	}
	rest := changes{removeFirst: c.removeFirst, full: c.full}
	for _, s := range c.add {
		switch found, ok := there[keyOf(s)]; {
		case !ok:
			rest.add = append(rest.add, s)
		case !asWanted(s, found):
			rest.update = append(rest.update, s)
		}
	}
	for _, s := range c.update {
		if found, ok := there[keyOf(s)]; !ok || !asWanted(s, found) {
			rest.update = append(rest.update, s)
		}
	}
	for _, s := range c.remove {
		if _, ok := there[keyOf(s)]; ok {
			rest.remove = append(rest.remove, s)
		}
	}
	return rest
}

// asWanted reports whether a server has what was asked for; the cloud keeps a description if it is given none.
func asWanted(want, got *slbv1.Server) bool {
	return weightOf(want) == weightOf(got) &&
		(want.GetDescription() == "" || want.GetDescription() == got.GetDescription())
}

// normalize turns a server that is both removed and added into an update: the cloud refuses the same server on both sides.
func normalize(c changes) changes {
	removed := make(map[serverKey]bool, len(c.remove))
	for _, s := range c.remove {
		removed[keyOf(s)] = true
	}
	out := changes{update: slices.Clone(c.update), removeFirst: c.removeFirst}
	kept := map[serverKey]bool{}
	for _, s := range c.add {
		if removed[keyOf(s)] {
			kept[keyOf(s)] = true
			out.update = append(out.update, s)
			continue
		}
		out.add = append(out.add, s)
	}
	for _, s := range c.remove {
		if !kept[keyOf(s)] {
			out.remove = append(out.remove, s)
		}
	}
	return out
}

// after gives the changes that are left when a call of a plan is done, which is about the first servers of its kinds.
func (c changes) after(done step) changes {
	c.remove = c.remove[len(done.out):]
	if done.verb == set {
		c.update = c.update[len(done.into):]
	} else {
		c.add = c.add[len(done.into):]
	}
	return c
}

// without gives the changes that do not bring or change these servers.
func (c changes) without(servers []*slbv1.Server) changes {
	among := func(s *slbv1.Server) bool { return slices.Contains(servers, s) }
	c.add, c.update = slices.DeleteFunc(slices.Clone(c.add), among), slices.DeleteFunc(slices.Clone(c.update), among)
	return c
}
