package plan

import (
	"fmt"
	"slices"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// Kept is a listener that stays on the servers that it has, since those that are asked for would leave it without any.
type Kept struct {
	Listener model.ListenerKey
	// Group is the name of the server group that the listener doesn't go to.
	Group string
	// Text says so, for users. It is one of the plan's refusals, too.
	Text string
}

// stay finds the listeners of ours that have servers which take traffic, and would have none if they went where they are asked to: to
// another server group, or away for a listener on their port. They stay. Nothing is refused while the network interfaces of pods are being
// looked up: it is tried when they are known.
func (s *survey) stay(d *model.Desired, o model.Observed, groups map[string]model.Group, frozen map[string]bool) {
	s.stays = map[model.ListenerKey]bool{}
	redirects := func(l model.Listener) bool { return l.LeadsTo != 0 }
	for _, redirect := range []bool{false, true} { // A redirect serves if its target does.
		for _, want := range d.Listeners {
			if redirects(want) != redirect || frozen[want.Group] {
				continue
			}
			old, serves := s.serving(want, o, groups)
			if !serves {
				continue
			}
			group, isIdle, isPending := s.idle(want, d, groups)
			if !isIdle {
				continue
			}
			s.stays[want.Key] = true
			s.holdPort(want.Key)
			if !isPending {
				s.kept = append(s.kept, Kept{Listener: want.Key, Group: group, Text: fmt.Sprintf(
					"listener %s keeps the servers that it has, as server group %s, which the Service asks for, would have none that takes traffic; "+
						"look whether pods are ready, have the target port and addresses of the VPC, and whether nodes are ready and their weight isn't 0, "+
						"or take back what was changed", KeyText(old.Key), group)})
			}
		}
	}
}

// holdPort keeps the listeners of ours that a new listener would replace.
func (s *survey) holdPort(wanted model.ListenerKey) {
	for key, have := range s.have {
		if key != wanted && have.ours && !have.wanted && !have.held && key.Meets(wanted) {
			have.held, have.replaced = true, true
			s.have[key] = have
			s.taken, s.used[have.GroupID()] = append(s.taken, key), true
			s.leaving = slices.DeleteFunc(s.leaving, func(other model.ListenerKey) bool { return other == key })
		}
	}
}

// serving returns a listener of ours that has servers and would lose them to the wanted one.
func (s *survey) serving(want model.Listener, o model.Observed, groups map[string]model.Group) (present, bool) {
	if old, exists := s.have[want.Key]; exists {
		moves := want.LeadsTo != old.LeadsTo || want.LeadsTo == 0 && goesTo(want, old.Listener, groups) != (GroupRef{})
		return old, moves && old.ours && mayHaveServers(old.Listener, o)
	}
	for _, l := range o.Listeners { // In the order of the cloud: the text names one.
		if old := s.have[l.Key]; old.ours && !old.wanted && l.Key.Meets(want.Key) && mayHaveServers(l, o) {
			return old, true
		}
	}
	return present{}, false
}

// goesTo is the server group that a present listener goes to; the zero value for that which it has.
func goesTo(want, old model.Listener, groups map[string]model.Group) GroupRef {
	if g, ok := groups[want.Group]; ok && g.ID == old.GroupID() {
		return GroupRef{}
	}
	return refTo(want.Group, groups)
}

// mayHaveServers reports whether a present listener has a server that takes traffic, as far as is known of its server group.
func mayHaveServers(l model.Listener, o model.Observed) bool {
	if target := l.LeadsTo; target != 0 {
		return slices.ContainsFunc(o.Listeners, func(t model.Listener) bool {
			return t.Key.Port == target && overTCP(t.Key) && t.LeadsTo == 0 && mayHaveServers(t, o)
		})
	}
	id := l.GroupID()
	i := slices.IndexFunc(o.Groups, func(g model.Group) bool { return g.ID == id || g.BuiltIn && id == "" })
	return i < 0 || TakesTraffic(o.Groups[i].Servers)
}

// TakesTraffic reports whether one of several servers does.
func TakesTraffic(servers []model.Server) bool {
	return slices.ContainsFunc(servers, func(s model.Server) bool { return s.Weight > 0 })
}

// Idle names the wanted server groups that would have no server that takes traffic, though the Service may have some, and reports whether
// that is only because network interfaces of pods are being looked up.
func Idle(d *model.Desired, o model.Observed) (names []string, isPending bool) {
	current, _ := matchGroups(d, o)
	isPending = true
	for _, g := range d.Groups {
		if isIdle, waits := idleGroup(d, g, current); isIdle && !g.BuiltIn {
			names, isPending = append(names, g.Name), isPending && waits
		}
	}
	return names, isPending
}

// idle reports whether a wanted listener would have no server that takes traffic, or whether that can't be told yet. It names the server
// group.
func (s *survey) idle(want model.Listener, d *model.Desired, groups map[string]model.Group) (group string, isIdle, isPending bool) {
	if port := want.LeadsTo; port != 0 {
		i := slices.IndexFunc(d.Listeners, func(l model.Listener) bool { return l.Key.Port == port && overTCP(l.Key) && l.LeadsTo == 0 })
		if i < 0 || s.stays[d.Listeners[i].Key] {
			return "", false, false
		}
		want = d.Listeners[i]
	}
	i := slices.IndexFunc(d.Groups, func(g model.Group) bool { return g.Name == want.Group })
	if i < 0 {
		return want.Group, false, false
	}
	isIdle, isPending = idleGroup(d, d.Groups[i], groups)
	return want.Group, isIdle, isPending
}

// idleGroup is idle for a wanted server group.
func idleGroup(d *model.Desired, g model.Group, groups map[string]model.Group) (isIdle, isPending bool) {
	switch have, isThere := groups[g.Name]; {
	case g.Pending:
		return true, true
	case g.Nobody: // The Service has no server that could be lost.
		return false, false
	case !isThere:
		return !TakesTraffic(resolved(g.Servers)), false
	default:
		if change := diffServers(d.Owner, g, have); change != nil {
			have.Servers = change.after(have.Servers)
		}
		return !TakesTraffic(have.Servers), false
	}
}

// made leaves out the server groups that are not there and that only listeners would use that don't go to them.
func (s *survey) made(wanted []model.Group, d *model.Desired, current map[string]model.Group) []model.Group {
	names := map[string]bool{}
	for _, l := range d.Listeners {
		if s.stays[l.Key] {
			names[l.Group] = true
		}
	}
	for _, l := range d.Listeners {
		if !s.stays[l.Key] {
			delete(names, l.Group)
		}
	}
	if len(names) == 0 {
		return wanted
	}
	return slices.DeleteFunc(wanted, func(g model.Group) bool {
		_, isThere := current[g.Name]
		return names[g.Name] && !isThere
	})
}

// followNodes keeps the servers right of the server groups of nodes that listeners keep.
func (p *Plan) followNodes(d *model.Desired, o model.Observed, s survey) {
	if len(s.stays) == 0 || d.OnNodes == nil {
		return
	}
	left := s.staying(o.Groups)
	var phase Phase
	for _, want := range d.OnNodes() {
		for _, have := range o.Groups {
			isLeft := slices.ContainsFunc(left, func(g model.Group) bool { return g.ID == have.ID })
			if have.Name != want.Name || have.Shape != want.Shape || isLeft {
				continue
			}
			if change := diffServers(d.Owner, want, have); change != nil {
				phase = append(phase, *change)
			}
		}
	}
	p.add(phase)
}

// staying leaves out the server groups that listeners keep.
func (s *survey) staying(surplus []model.Group) []model.Group {
	kept := map[string]bool{}
	for key, have := range s.have {
		kept[have.GroupID()] = kept[have.GroupID()] || s.stays[key] || have.replaced
	}
	return slices.DeleteFunc(slices.Clone(surplus), func(g model.Group) bool { return kept[g.ID] })
}
