package plan

import (
	"slices"
	"strings"

	"alicloud-controllers.dev/lbcontroller/internal/mark"
	"alicloud-controllers.dev/lbcontroller/internal/model"
)

// Diff returns the way from what is there, which must be known completely, to what is wanted.
//
// The order makes before it breaks: a new instance, then vServer groups with their servers, then listeners (see listenerWork), and
// at the end the groups that nothing uses any more. Attributes of a present instance come with these: nothing waits for them, and
// one that the cloud refuses must not keep servers from following their nodes.
func Diff(d *model.Desired, o model.Observed) Plan {
	var p Plan
	if o.InstanceID == "" {
		p.add(Phase{CreateInstance{Spec: d.Instance.Spec}})
	}
	current, surplus := matchGroups(d, o)
	p.add(groupPhase(d, current))
	stillUsed := p.listeners(d, o, current)
	last := cleanUp(d.Owner, surplus, stillUsed)
	if o.InstanceID != "" {
		last = append(last, p.instance(d, o)...)
	}
	p.add(last)
	return p
}

// DiffServers returns the way to the wanted servers if only the groups of the instance are known. It gives up if a wanted group
// is missing or another one of ours is left over: then the listeners must be known too.
func DiffServers(d *model.Desired, o model.Observed) (Plan, bool) {
	current, surplus := matchGroups(d, o)
	for _, g := range surplus {
		if d.Owner.Owns(g.Name) {
			return Plan{}, false
		}
	}
	if len(current) != len(d.Groups) {
		return Plan{}, false
	}
	var p Plan
	p.add(groupPhase(d, current))
	return p, true
}

// FollowServers returns the way to the wanted servers in the groups that there are. Groups are neither made nor given up: that is
// for a Service whose configuration can't be understood.
func FollowServers(d *model.Desired, o model.Observed) Plan {
	current, _ := matchGroups(d, o)
	present := *d
	present.Groups = slices.DeleteFunc(slices.Clone(d.Groups), func(g model.Group) bool {
		_, ok := current[g.Name]
		return !ok
	})
	var p Plan
	p.add(groupPhase(&present, current))
	return p
}

// Release returns the way to give up an instance of ours. A preserved one keeps all it has but our protections and tags.
func Release(o model.Observed, preserve bool) Plan {
	var p Plan
	if o.InstanceID == "" {
		return p
	}
	if preserve {
		p.add(unprotect(o, true))
		return p
	}
	p.add(unprotect(o, false))
	p.add(Phase{DeleteInstance{}})
	return p
}

// matchGroups pairs present groups with wanted ones by name. Names are not unique in the cloud: the group that a listener uses
// wins, then the lowest id, and the others are surplus.
func matchGroups(d *model.Desired, o model.Observed) (current map[string]model.Group, surplus []model.Group) {
	wanted := make(map[string]bool, len(d.Groups))
	for _, g := range d.Groups {
		wanted[g.Name] = true
	}
	used := map[string]bool{}
	for _, l := range o.Listeners {
		used[l.Config.GetServerGroupId()] = true
	}
	current = make(map[string]model.Group, len(d.Groups))
	for _, g := range o.Groups {
		best, taken := current[g.Name]
		switch {
		case !wanted[g.Name]:
			surplus = append(surplus, g)
		case !taken:
			current[g.Name] = g
		case used[g.ID] && !used[best.ID] || used[g.ID] == used[best.ID] && g.ID < best.ID:
			current[g.Name] = g
			surplus = append(surplus, best)
		default:
			surplus = append(surplus, g)
		}
	}
	return current, surplus
}

func groupPhase(d *model.Desired, current map[string]model.Group) Phase {
	var phase Phase
	for _, want := range d.Groups {
		have, ok := current[want.Name]
		if !ok {
			want.Servers = resolved(want.Servers)
			phase = append(phase, CreateGroup{Group: want})
			continue
		}
		if change := diffServers(d.Owner, want, have); change != nil {
			phase = append(phase, *change)
		}
	}
	return phase
}

// resolved leaves out servers whose network interface isn't known.
func resolved(servers []model.Server) []model.Server {
	var result []model.Server
	for _, s := range servers {
		if s.ID != "" {
			result = append(result, s)
		}
	}
	return result
}

// diffServers compares by identity in one pass. A server with a foreign description is left alone; one at the place of a wanted
// server counts as present.
func diffServers(owner mark.Owner, want, have model.Group) *ChangeServers {
	present := make(map[model.ServerKey]model.Server, len(have.Servers))
	for _, s := range have.Servers {
		present[s.ServerKey] = s
	}
	change := ChangeServers{GroupID: have.ID, Name: have.Name}
	wanted := make(map[model.ServerKey]bool, len(want.Servers))
	for _, s := range resolved(want.Servers) {
		wanted[s.ServerKey] = true
		old, ok := present[s.ServerKey]
		if want.KeepWeights && ok {
			s.Weight = old.Weight
		}
		switch {
		case !ok:
			change.Add = append(change.Add, s)
		case old != s && owner.Owns(old.Description):
			change.Update = append(change.Update, s)
		}
	}
	keep := make(map[string]bool, len(want.Unresolved))
	for _, ip := range want.Unresolved {
		keep[ip] = true
	}
	for _, s := range have.Servers {
		if !wanted[s.ServerKey] && owner.Owns(s.Description) && (s.IP == "" || !keep[s.IP]) {
			change.Remove = append(change.Remove, s)
		}
	}
	if len(change.Add)+len(change.Remove)+len(change.Update) == 0 {
		return nil
	}
	return &change
}

// cleanUp deletes the groups of ours that are not wanted any more. A group that holds a foreign server, or that a listener still
// uses which isn't ours, only loses our servers.
func cleanUp(owner mark.Owner, surplus []model.Group, stillUsed map[string]bool) Phase {
	var phase Phase
	for _, g := range surplus {
		if !owner.Owns(g.Name) {
			continue
		}
		foreign := stillUsed[g.ID]
		remove := ChangeServers{GroupID: g.ID, Name: g.Name}
		for _, s := range g.Servers {
			if owner.Owns(s.Description) {
				remove.Remove = append(remove.Remove, s)
			} else {
				foreign = true
			}
		}
		switch {
		case !foreign:
			phase = append(phase, DeleteGroup{GroupID: g.ID, Name: g.Name})
		case len(remove.Remove) > 0:
			phase = append(phase, remove)
		}
	}
	return phase
}

// sameList compares comma lists as sets.
func sameList(a, b string) bool {
	return sameSet(strings.Split(a, ","), strings.Split(b, ","))
}

func sameSet(a, b []string) bool {
	count := map[string]int{}
	for _, s := range a {
		count[s] |= 1
	}
	for _, s := range b {
		count[s] |= 2
	}
	for _, bits := range count {
		if bits != 3 {
			return false
		}
	}
	return true
}
