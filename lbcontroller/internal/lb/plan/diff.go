package plan

import (
	"fmt"
	"slices"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// Diff returns the way from what is there, which must be known completely, to what is wanted.
//
// The order makes before it breaks: the list of who may connect, a new instance, then server groups with their servers,
// then listeners (see listenerWork), and at the end the groups that nothing uses any more. Attributes of a present
// instance come with these: nothing waits for them, and one that the cloud refuses must not keep servers from following
// their nodes.
func Diff(kind Differ, d *model.Desired, o model.Observed) Plan {
	var p Plan
	if !d.Binding.IsAsked() { // What goes off the internet does so before anything is opened.
		p.bind(kind, d, o, false)
	}
	d, unguarded := p.access(kind, d, o)
	guards := len(p.Phases)
	if o.InstanceID == "" && d.Reuse.ID == "" {
		p.add(Phase{kind.Create(d)})
	}
	current, surplus := matchGroups(d, o)
	frozen, why := unusable(d, o, current)
	p.Refused = slices.Concat(p.Refused, d.Refused, why)
	s := surveyOf(d, o)
	s.stay(d, o, current, frozen)
	p.groups(kind, d.Owner, s.made(without(d, frozen), d, current), current)
	p.followNodes(d, o, s)
	stillUsed := p.listeners(kind, d, o, current, frozen, s)
	surplus = p.keepServing(d, o, s.staying(surplus))
	var last Phase
	if len(frozen) == 0 { // What a frozen port has now may be what it is to lose.
		last = surplusGroups(d, surplus, stillUsed)
	}
	var opening Phase
	if there, is := balancer(kind, d, o); is {
		changes, refused := kind.Update(d, there)
		p.Refused = append(p.Refused, refused...)
		var closing Phase
		for _, change := range changes {
			switch {
			case closes(change):
				closing = append(closing, change)
			case !opens(change):
				last = append(last, change)
			case !unguarded:
				opening = append(opening, change)
			}
		}
		if len(closing) > 0 {
			p.Phases = slices.Insert(p.Phases, guards, closing)
		}
	}
	p.add(last)
	p.add(opening)
	if d.Binding.IsAsked() {
		p.bind(kind, d, o, unguarded)
	}
	if !unguarded {
		p.add(surplusLists(kind, d, o))
	}
	p.openNothing(kind, d, o, unguarded)
	p.mark(kind, d, o)
	return p
}

// balancer is the load balancer that there is, or will be once it is made: a creation may not take all that is asked for.
func balancer(kind Differ, d *model.Desired, o model.Observed) (there model.Observed, is bool) {
	if o.InstanceID != "" || d.Reuse.ID != "" {
		return o, o.InstanceID != ""
	}
	made := o.Clone()
	kind.Create(d).Effect(&made, Result{})
	return made, true
}

// keepServing leaves alone the server groups that the ports of a Service had under another name, before pods became its
// backends or ceased to be, or with another shape, as long as a listener of the user's forwards to one: only the user
// can send it to the new group.
func (p *Plan) keepServing(d *model.Desired, o model.Observed, surplus []model.Group) []model.Group {
	if d.Reuse.ID == "" || d.Reuse.Listeners {
		return surplus
	}
	return slices.DeleteFunc(slices.Clone(surplus), func(g model.Group) bool {
		i := slices.IndexFunc(o.Listeners, func(l model.Listener) bool { return l.GroupID() == g.ID })
		reshaped := slices.ContainsFunc(d.Groups, func(want model.Group) bool { return want.Name == g.Name && want.Shape != g.Shape })
		if i < 0 || !reshaped && !slices.Contains(d.Former, g.Name) {
			return false
		}
		p.refuse(
			"listener %s still forwards to server group %s, whose servers stay as they are; let it forward to the new server group of the Service",
			KeyText(o.Listeners[i].Key), g.Name)
		return true
	})
}

// DiffServers returns the way to the wanted servers if only the groups of the instance are known. It gives up if a wanted group
// is missing or another one of ours is left over: then the listeners must be known too.
func DiffServers(d *model.Desired, o model.Observed) (Plan, bool) {
	current, surplus := matchGroups(d, o)
	var p Plan
	frozen, _ := unusable(d, o, current)
	if len(current) != len(d.Groups) || len(frozen) > 0 || len(surplusGroups(d, surplus, nil)) > 0 {
		return Plan{}, false
	}
	p.groups(nil, d.Owner, d.Groups, current)
	return p, true
}

// FollowServers returns the way to the wanted servers in the groups that there are. Groups are neither made nor given up: that is
// for a Service whose configuration can't be understood.
func FollowServers(d *model.Desired, o model.Observed) Plan {
	current, _ := matchGroups(d, o)
	missing, _ := unusable(d, o, current)
	for _, g := range d.Groups {
		if _, ok := current[g.Name]; !ok {
			missing[g.Name] = true
		}
	}
	wanted := without(d, missing)
	for i, g := range wanted {
		wanted[i] = likePresent(d.Owner, g, current[g.Name])
	}
	var p Plan
	p.groups(nil, d.Owner, wanted, current)
	return p
}

// likePresent gives the servers of a group whose weights are to stay the weight of one that is there: what the Service
// says of weights can't be understood, and a new server gets no less than the others.
func likePresent(owner ownership.Owner, want, have model.Group) model.Group {
	i := slices.IndexFunc(have.Servers, func(s model.Server) bool { return owner.Owns(s.Description) })
	if !want.KeepWeights || i < 0 {
		return want
	}
	want.Servers = slices.Clone(want.Servers)
	for n := range want.Servers {
		want.Servers[n].Weight = have.Servers[i].Weight
	}
	return want
}

// without leaves groups out by name.
func without(d *model.Desired, names map[string]bool) []model.Group {
	return slices.DeleteFunc(slices.Clone(d.Groups), func(g model.Group) bool { return names[g.Name] })
}

// Leave returns the way to take what is the owner's off a user's instance: listeners, if they were managed, server
// groups of its name, and its servers in the user's groups that were filled.
func Leave(owner ownership.Owner, reuse model.Reuse, o model.Observed) Plan {
	nothing := &model.Desired{Owner: owner, Reuse: reuse}
	var p Plan
	used := p.listeners(nil, nothing, o, nil, nil, surveyOf(nothing, o)) // Nothing is compared where nothing is wanted.
	p.add(surplusGroups(nothing, o.Groups, used))
	return p
}

// Release returns the way to give up an instance of ours. One that is preserved keeps all it has but our protections and
// tags, and gets the tag kept, which says so; kept is nil for any other.
func Release(kind Differ, o model.Observed, kept *commonv1.Tag) Plan {
	var p Plan
	if o.InstanceID == "" || o.Reused {
		return p
	}
	change := kind.Unprotect(o, kept != nil)
	if have := o.Tags(); kept != nil && len(have) < fewTags && have[kept.GetKey()] != kept.GetValue() {
		change = kind.Tagged(change, kept)
	}
	if change != nil {
		p.add(Phase{change})
	}
	if kept == nil {
		p.add(Phase{DeleteInstance{}})
	}
	return p
}

// Wants reports whether a present server group is one of the wanted ones that are no user's.
func Wants(wanted []model.Group, g model.Group) bool {
	return slices.ContainsFunc(wanted, func(w model.Group) bool { return w.ID == "" && w.Name == g.Name && w.Shape == g.Shape })
}

// matchGroups pairs present groups with wanted ones: the user's by id, ours by name. Names are not unique in the cloud: the group that
// a listener uses wins, then the lowest id, and the others are surplus.
func matchGroups(d *model.Desired, o model.Observed) (current map[string]model.Group, surplus []model.Group) {
	type form struct{ name, shape string }
	wanted, users := make(map[form]bool, len(d.Groups)), map[string]bool{}
	for _, g := range d.Groups {
		if users[g.ID] = g.ID != ""; g.ID == "" {
			wanted[form{g.Name, g.Shape}] = true
		}
	}
	used := usedBy(o.Listeners)
	current = make(map[string]model.Group, len(d.Groups))
	for _, g := range o.Groups {
		best, taken := current[g.Name]
		_, made := ownership.MadeFor(g.Name)
		switch {
		case users[g.ID] && (!made || o.Nobodys[g.Name]):
			current[g.ID] = g
		case !wanted[form{g.Name, g.Shape}]:
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

// unusable returns the names of the user's groups that can't be filled, and why: one isn't there, or was made for a Service.
func unusable(d *model.Desired, o model.Observed, current map[string]model.Group) (frozen map[string]bool, why []string) {
	frozen = map[string]bool{}
	refuse := func(g model.Group, format string, args ...any) {
		frozen[g.Name] = true
		why = append(why, "annotation vgroup-port names server group "+g.ID+", which "+fmt.Sprintf(format, args...))
	}
	for _, want := range d.Groups {
		if _, ok := current[want.Name]; ok || want.ID == "" || want.BuiltIn && o.InstanceID == "" {
			continue
		}
		if i := slices.IndexFunc(o.Groups, func(g model.Group) bool { return g.ID == want.ID }); i >= 0 {
			refuse(want, "was made for a Service (%s); name one that was made by hand", o.Groups[i].Name)
		} else {
			refuse(want, "load balancer %s doesn't have; correct it, or make the server group", o.InstanceID)
		}
	}
	return frozen, why
}

// groups adds the phase for server groups. Without a kind only their servers are compared.
func (p *Plan) groups(kind Differ, owner ownership.Owner, wanted []model.Group, current map[string]model.Group) {
	var phase Phase
	for _, want := range wanted {
		have, ok := current[want.Name]
		if want.BuiltIn && !ok { // A new instance has it, without servers.
			have, ok = model.Group{ID: want.ID, Name: want.Name, BuiltIn: true}, true
		}
		if !ok {
			want.Servers = resolved(want.Servers)
			phase = append(phase, CreateGroup{Group: want})
			continue
		}
		if change := diffServers(owner, want, have); change != nil {
			phase = append(phase, *change)
		}
		if kind == nil || want.ID != "" || want.Config == nil || have.Config == nil { // Of a user's group only the servers are changed.
			continue
		}
		changed, refused := kind.ChangedGroup(want.Config, have.Config)
		if refused != "" {
			p.refuse("server group %s: %s", have.Name, refused)
		}
		if changed != nil {
			phase = append(phase, UpdateGroup{GroupID: have.ID, Name: have.Name, Changed: changed})
		}
	}
	p.add(phase)
}

// resolved leaves out servers whose network interface isn't known.
func resolved(servers []model.Server) []model.Server {
	isUnknown := func(s model.Server) bool { return s.ID == "" }
	if !slices.ContainsFunc(servers, isUnknown) {
		return servers
	}
	return slices.DeleteFunc(slices.Clone(servers), isUnknown)
}

// differing leaves out most of what both lists begin and end with: a node that comes or goes is one server of a thousand, and lists are
// ordered. Of a server that is there twice, both are compared.
func differing(have, want []model.Server) (restHave, restWant []model.Server) {
	for len(have) > 1 && len(want) > 0 && have[0] == want[0] && have[1].ServerKey != have[0].ServerKey {
		have, want = have[1:], want[1:]
	}
	for len(have) > 1 && len(want) > 0 && have[len(have)-1] == want[len(want)-1] &&
		have[len(have)-2].ServerKey != have[len(have)-1].ServerKey {
		have, want = have[:len(have)-1], want[:len(want)-1]
	}
	return have, want
}

// diffServers compares by identity in one pass. A server with a foreign description is left alone; one at the place of a wanted
// server counts as present.
func diffServers(owner ownership.Owner, want, have model.Group) *ChangeServers {
	asked := len(want.Servers)
	have.Servers, want.Servers = differing(have.Servers, want.Servers)
	present, wanted := make(map[model.ServerKey]int, len(have.Servers)), make([]bool, len(have.Servers))
	for i, s := range have.Servers {
		present[s.ServerKey] = i
	}
	change := ChangeServers{GroupID: have.ID, Name: have.Name, BuiltIn: have.BuiltIn}
	change.compare(owner, want, have, present, wanted)
	serving := len(want.Servers) < asked || slices.Contains(wanted, true)
	isWanted := func(s model.Server) bool { return wanted[present[s.ServerKey]] }
	serving = change.surplus(owner, want, have, isWanted, want.Most-asked) || serving
	if want.KeepLast && !serving && len(change.Add) == 0 {
		return nil
	}
	if len(change.Add)+len(change.Remove)+len(change.Update) == 0 {
		return nil
	}
	return &change
}

// compare adds what wanted servers lack, and notes which of those that are present are wanted.
func (c *ChangeServers) compare(owner ownership.Owner, want, have model.Group, present map[model.ServerKey]int, wanted []bool) {
	first := 0
	for n, s := range want.Servers {
		i, ok := present[s.ServerKey]
		switch {
		case s.ID == "", !ok && want.OnlyRemove: // The network interface of the first isn't known.
		case !ok:
			if len(c.Add) == 0 {
				first = n
			}
			if n == first+len(c.Add) { // Mostly it is one server, or all that follow the first ones.
				c.Add = want.Servers[first : n+1 : n+1]
			} else {
				c.Add = append(c.Add, s)
			}
		default:
			wanted[i] = true
			old := have.Servers[i]
			if want.KeepWeights {
				s.Weight = old.Weight
			}
			if old != s && owner.Owns(old.Description) {
				c.Update = append(c.Update, s)
			}
		}
	}
}

// surplus adds the servers that are there and not wanted any more. It reports whether one of them stays and serves; there is so
// much room for those that stay.
func (c *ChangeServers) surplus(owner ownership.Owner, want, have model.Group, isWanted func(model.Server) bool, room int) (serving bool) {
	unresolved := make(map[string]bool, len(want.Unresolved))
	for _, ip := range want.Unresolved {
		unresolved[ip] = true
	}
	for _, s := range have.Servers {
		switch place := s.Place(); {
		case isWanted(s), !owner.Owns(s.Description), s.IP != "" && unresolved[s.IP]:
		case want.Staying[place] && (want.Most <= 0 || room > 0):
			room--
			serving = serving || s.Weight > 0
		case want.Draining[place] && !want.KeepWeights:
			if s.Weight != 0 {
				s.Weight = 0
				c.Update = append(c.Update, s)
			}
		default:
			c.Remove = append(c.Remove, s)
		}
	}
	return serving
}

// surplusGroups deletes the groups of ours that are not wanted any more. A group that holds a foreign server, or that a listener or rule
// still uses which isn't ours, only loses our servers. So does a group of the user's that was filled.
func surplusGroups(d *model.Desired, surplus []model.Group, stillUsed map[string]bool) Phase {
	var phase Phase
	for _, g := range surplus {
		ours := d.Owner.Owns(g.Name)
		if !ours && !slices.Contains(d.Reuse.Filled, g.ID) {
			continue
		}
		foreign := !ours || g.Held || stillUsed[g.ID]
		remove := ChangeServers{GroupID: g.ID, Name: g.Name, BuiltIn: g.BuiltIn}
		for _, s := range g.Servers {
			if d.Owner.Owns(s.Description) {
				remove.Remove = append(remove.Remove, s)
			} else {
				foreign = true
			}
		}
		switch {
		case !foreign:
			phase = append(phase, DeleteGroup{GroupID: g.ID, Name: g.Name, Servers: remove.Remove})
		case len(remove.Remove) > 0:
			phase = append(phase, remove)
		}
	}
	return phase
}
