package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// listenerWork sorts what to do with listeners by what must come first.
type listenerWork struct {
	ready    Phase // updates, starts, and creations on free ports: nothing stands in their way
	unlink   Phase // deletions of redirects, whose targets can't be deleted before
	remove   Phase // other deletions
	replace  Phase // creations on ports that a deletion frees
	forward  Phase // creations of redirects, whose targets must exist
	secure   Phase // certificates by domain, of listeners that exist by then
	insecure Phase // certificates by domain that aren't wanted any more
	refused  []string
}

// survey is what the present listeners mean for the wanted ones.
type survey struct {
	have    map[model.ListenerKey]present
	leaving keys            // those that a deletion frees
	taken   keys            // those that a listener not ours holds, or one that is held
	used    map[string]bool // ids of the groups that listeners go on using other than as wanted
	// stays are the wanted listeners in whose place the present ones stay, since these have servers, and kept says so.
	stays map[model.ListenerKey]bool
	kept  []Kept
}

// keys are those of listeners.
type keys []model.ListenerKey

// meet reports whether one of them takes up a port of a listener.
func (k keys) meet(other model.ListenerKey) bool { return slices.ContainsFunc(k, other.Meets) }

// present is a listener that there is. Ours is changed when it is wanted, and otherwise deleted, unless it is held: the cloud keeps the
// target of a redirect.
type present struct {
	model.Listener
	wanted, ours, held bool
	// replaced says of one that is held that what is wanted in its place can't be made, or that a redirect which stays leads to it.
	replaced bool
	// servesAnother reports that the listener forwards to a server group that was made for another Service, the server.
	servesAnother bool
	server        ownership.Owner
}

// managesListeners reports whether the listeners of the load balancer are the Service's; on a user's they may all be the user's.
func managesListeners(d *model.Desired) bool { return d.Reuse.ID == "" || d.Reuse.Listeners }

func surveyOf(d *model.Desired, o model.Observed) survey {
	if !managesListeners(d) {
		return survey{}
	}
	s := survey{have: map[model.ListenerKey]present{}, used: map[string]bool{}}
	wanted := make(map[model.ListenerKey]bool, len(d.Listeners))
	for _, l := range d.Listeners {
		wanted[l.Key] = true
	}
	for _, l := range o.Listeners {
		have := present{Listener: l, wanted: wanted[l.Key]}
		have.server, have.servesAnother = servesAnother(d.Owner, l, o)
		have.ours = owns(d.Owner, l) || have.wanted && !madeForAnother(l, o) && !have.servesAnother &&
			(d.Reuse.Listeners || servesOurs(d.Owner, l, o)) || d.Reuse.Listeners && inTheWayOfNobody(d, l, o)
		s.have[l.Key] = have
		switch {
		case !have.ours:
			s.used[l.GroupID()] = true
			s.taken = append(s.taken, l.Key)
		case !have.wanted:
			s.leaving = append(s.leaving, l.Key)
		}
	}
	return s
}

// refusals are the wanted listeners that can't be made.
type refusals map[model.ListenerKey]bool

// target reports whether a listener redirects to one that can't be made.
func (r refusals) target(l model.Listener) bool {
	for key := range r {
		if key.Port == l.LeadsTo && overTCP(key) {
			return true
		}
	}
	return false
}

// refusals finds the listeners that are held, and the wanted ones that are refused for that or because others hold
// their ports. One leads to the other: a redirect to a refused port stays as it is, and holds its old target, on whose
// port nothing else can be made. A listener whose group is frozen isn't made either.
func (s *survey) refusals(d *model.Desired, frozen map[string]bool) refusals {
	r := refusing{survey: s, frozen: frozen, refused: refusals{}, targets: map[int32]bool{}, served: map[int32]bool{}}
	for _, want := range d.Listeners {
		if _, exists := s.have[want.Key]; (frozen[want.Group] || want.Waits != "" || s.stays[want.Key]) && !exists {
			r.refused[want.Key] = true
		}
	}
	for _, have := range s.have {
		r.targets[have.LeadsTo] = r.targets[have.LeadsTo] || !have.ours
	}
	for grown := true; grown; {
		grown = false
		for _, want := range d.Listeners {
			grown = r.refuse(want) || grown
		}
		grown = r.serveTargets() || grown
		grown = r.holdTargets() || grown
	}
	return r.refused
}

// refusing is how far refusals have been found.
type refusing struct {
	*survey
	frozen  map[string]bool
	refused refusals
	// targets are the ports that redirects lead to which stay, and served those of them whose servers stay, too.
	targets, served map[int32]bool
}

// refuse finds out whether a wanted listener is refused, or stays as it is, and reports whether that is news for others.
func (r *refusing) refuse(want model.Listener) (grown bool) {
	old, exists := r.have[want.Key]
	if exists {
		if r.refused.target(want) || r.frozen[want.Group] || r.stays[want.Key] {
			r.targets[old.LeadsTo] = true
		}
		if r.stays[want.Key] {
			r.served[old.LeadsTo] = true
		}
		return false
	}
	if r.taken.meet(want.Key) && !r.refused[want.Key] {
		r.refused[want.Key], grown = true, true
	}
	if r.refused[want.Key] || r.refused.target(want) { // What is there stays, and may hold other ports.
		held := len(r.taken)
		r.holdPort(want.Key)
		grown = grown || len(r.taken) > held
	}
	return grown
}

// serveTargets lets the targets of redirects that are replaced keep their servers.
func (r *refusing) serveTargets() (grown bool) {
	for _, have := range r.have {
		if port := have.LeadsTo; have.replaced && port != 0 && !r.served[port] {
			r.targets[port], r.served[port], grown = true, true, true
		}
	}
	return grown
}

// holdTargets holds listeners that nobody wants any more and that redirects lead to.
func (r *refusing) holdTargets() (grown bool) {
	for key, have := range r.have {
		if !overTCP(key) || !r.targets[key.Port] || !have.ours || have.wanted || have.held {
			continue
		}
		have.held, have.replaced, grown = true, r.served[key.Port], true
		r.have[key] = have
		r.taken, r.used[have.GroupID()] = append(r.taken, key), true
		r.leaving = slices.DeleteFunc(r.leaving, func(other model.ListenerKey) bool { return other == key })
	}
	return grown
}

// listeners adds the phases for listeners and returns the ids of the groups that listeners go on using other than as
// wanted.
func (p *Plan) listeners(kind Differ, d *model.Desired, o model.Observed, groups map[string]model.Group,
	frozen map[string]bool, s survey) (used map[string]bool) {
	if !managesListeners(d) {
		return usedBy(o.Listeners)
	}
	var w listenerWork
	refused := s.refusals(d, frozen)
	for _, kept := range s.kept {
		p.refuse("%s", kept.Text)
	}
	p.Kept, p.Waits = s.kept, len(s.stays) > len(s.kept)
	for _, l := range o.Listeners {
		switch have := s.have[l.Key]; {
		case have.wanted || !have.ours || have.replaced:
		case have.held:
			p.refuse("listener %s isn't deleted: a listener redirects to it that isn't ours or can't be changed", KeyText(l.Key))
		default:
			w.delete(l)
		}
	}
	for _, want := range d.Listeners {
		switch why, isHeld := s.holdsBack(want, frozen, refused); {
		case why != "":
			p.refuse("%s", why)
		case isHeld:
			s.used[s.have[want.Key].GroupID()] = true
		default:
			w.bring(kind, want, s, groups)
		}
	}
	p.Refused = append(p.Refused, w.refused...)
	w.pair()
	for _, phase := range []Phase{w.ready, w.unlink, w.remove, w.replace, w.forward, w.secure, w.insecure} {
		p.add(phase)
	}
	return s.used
}

// holdsBack reports whether a wanted listener is neither made nor changed, so that what is there stays. It says why, as
// text for users, unless that was reported already.
func (s survey) holdsBack(want model.Listener, frozen map[string]bool, refused refusals) (why string, isHeld bool) {
	old, exists := s.have[want.Key]
	switch {
	case frozen[want.Group]:
		return "", true
	case want.Waits != "" && !exists:
		return fmt.Sprintf("listener %s isn't made: %s", KeyText(want.Key), want.Waits), true
	case s.stays[want.Key] && (!exists || want.LeadsTo != old.LeadsTo):
		return "", true
	case refused[want.Key]:
		return fmt.Sprintf("port %d of the load balancer has %s; delete it, or choose another port", want.Key.Port,
			s.holder(want.Key)), true
	case refused.target(want): // A redirect to a refused listener would only fail.
		return "", true
	case exists && !old.ours:
		return old.taken(want), true
	}
	return "", false
}

// bring makes or changes a wanted listener. A redirect can't be changed, only recreated.
func (w *listenerWork) bring(kind Differ, want model.Listener, s survey, groups map[string]model.Group) {
	switch old, exists := s.have[want.Key]; {
	case !exists && s.leaving.meet(want.Key):
		w.create(want, groups, &w.replace)
	case !exists:
		w.create(want, groups, &w.ready)
	case want.LeadsTo != old.LeadsTo:
		w.delete(old.Listener)
		w.create(want, groups, &w.replace)
	default:
		w.update(kind, want, old.Listener, groups, s.stays[want.Key])
	}
}

func (w *listenerWork) create(l model.Listener, groups map[string]model.Group, phase *Phase) {
	if l.LeadsTo != 0 {
		phase = &w.forward
	}
	if l.Defaults != nil {
		l.Config, l.Defaults = merged(l.Defaults, l.Config), nil
	}
	for _, e := range l.Further {
		if len(e.Certificates) > 0 {
			w.secure = append(w.secure, AddCertificates{Key: l.Key, Further: e})
		}
	}
	*phase = append(*phase, CreateListener{Listener: l, Group: refTo(l.Group, groups)})
}

// refTo refers to the present group of that name, or to the one that the plan creates.
func refTo(name string, groups map[string]model.Group) GroupRef {
	return GroupRef{ID: groups[name].ID, Name: name}
}

func (w *listenerWork) delete(l model.Listener) {
	gone := DeleteListener{Key: l.Key, GroupID: l.GroupID(), Old: l}
	if l.LeadsTo != 0 {
		w.unlink = append(w.unlink, gone)
		return
	}
	w.remove = append(w.remove, gone)
}

// pair tells the listeners that go which ones take their place.
func (w *listenerWork) pair() {
	for _, phase := range []Phase{w.unlink, w.remove} {
		for i, action := range phase {
			gone, ok := action.(DeleteListener)
			if !ok {
				continue
			}
			for _, coming := range slices.Concat(w.replace, w.forward) {
				if create, ok := coming.(CreateListener); ok && create.Listener.Key.Meets(gone.Key) {
					gone.Next = append(gone.Next, create)
				}
			}
			phase[i] = gone
		}
	}
}

// update changes a present listener, which goes to the wanted server group unless it stays on the one that it has.
func (w *listenerWork) update(kind Differ, want, old model.Listener, groups map[string]model.Group, stays bool) {
	if want.LeadsTo == 0 {
		guard, others, refused := kind.Changed(want.Config, old.Config)
		if refused != "" {
			w.refused = append(w.refused, "listener "+KeyText(want.Key)+": "+refused)
		}
		if guard != nil {
			w.ready = append(w.ready, UpdateListener{Key: want.Key, Changed: guard, Guards: true})
		}
		change := UpdateListener{Key: want.Key, Changed: others}
		if !stays {
			change.Group = goesTo(want, old, groups)
		}
		if change.Changed != nil || change.Group != (GroupRef{}) {
			w.ready = append(w.ready, change)
		}
	}
	w.further(want, old)
	if old.Stopped {
		w.ready = append(w.ready, StartListener{Key: want.Key})
	}
}

// further compares the further certificates, if they are asked for. Those that aren't known are left alone.
func (w *listenerWork) further(want, old model.Listener) {
	if want.Further == nil || old.Further == nil {
		return
	}
	present := map[string]model.FurtherCertificates{}
	for _, e := range old.Further {
		present[strings.ToLower(e.Domain)] = e
	}
	for _, e := range want.Further {
		have, ok := present[e.Domain]
		delete(present, e.Domain)
		switch {
		case len(e.Certificates) == 0: // What is there stays.
		case !ok:
			w.secure = append(w.secure, AddCertificates{Key: want.Key, Further: e})
		case !slices.Equal(have.Certificates, e.Certificates):
			e.ID = have.ID
			w.secure = append(w.secure, ChangeCertificates{Key: want.Key, Further: e})
		}
	}
	for _, domain := range slices.Sorted(maps.Keys(present)) {
		w.insecure = append(w.insecure, RemoveCertificates{Key: want.Key, Further: present[domain]})
	}
}

// Knows reports whether all is known of what is there that a Service asks for: the further certificates of listeners,
// access lists, and what is bound, are read apart.
func Knows(d *model.Desired, o model.Observed) bool {
	if d.Access != nil && !o.ListsKnown || d.Binding != nil && !o.BoundKnown {
		return false
	}
	if o.InstanceID != "" && slices.ContainsFunc(d.Groups, isBuiltIn) && !slices.ContainsFunc(o.Groups, isBuiltIn) {
		return false
	}
	return len(Unread(d, o)) == 0
}

func isBuiltIn(g model.Group) bool { return g.BuiltIn }

// Unread are the present listeners whose further certificates have to be read for a comparison, or because another listener is to take
// their place: if it can't be made they come back.
func Unread(d *model.Desired, o model.Observed) []model.ListenerKey {
	isAsked := func(l model.Listener) bool {
		return slices.ContainsFunc(d.Listeners, func(want model.Listener) bool {
			return want.Key == l.Key && want.Further != nil || want.Key != l.Key && want.Key.Meets(l.Key) && l.Key.Protocol.HasCertificates()
		})
	}
	var keys []model.ListenerKey
	for _, l := range o.Listeners {
		if l.Further == nil && isAsked(l) {
			keys = append(keys, l.Key)
		}
	}
	return keys
}

// usedBy returns the ids of the groups that listeners use.
func usedBy(listeners []model.Listener) map[string]bool {
	used := map[string]bool{}
	for _, l := range listeners {
		used[l.GroupID()] = true
	}
	return used
}

// holder describes for people the listener that takes up the port of a wanted one.
func (s survey) holder(wanted model.ListenerKey) string {
	for key, have := range s.have {
		if owner, ok := ownership.MadeFor(have.Description()); ok && key.Meets(wanted) && !have.ours {
			return "a listener of " + ownerText(owner)
		}
	}
	return "a listener that isn't ours or can't be deleted"
}

// taken says, as text for users, why a present listener can't be the wanted one, and what to do.
func (l present) taken(want model.Listener) string {
	if owner, ok := ownership.MadeFor(l.Description()); ok {
		return fmt.Sprintf(
			"listener %s of the load balancer is that of %s; choose another port for one of the two, or delete the listener if nobody needs it",
			KeyText(want.Key), ownerText(owner))
	}
	if l.servesAnother {
		return fmt.Sprintf(
			"listener %s of the load balancer forwards to the server group of %s; choose another port for one of the two, or delete "+
				"the listener if nobody needs it",
			KeyText(want.Key), ownerText(l.server))
	}
	return fmt.Sprintf("listener %s exists on the load balancer and isn't ours; delete it, or set its description to %q",
		KeyText(want.Key), want.Description())
}

func ownerText(o ownership.Owner) string {
	return fmt.Sprintf("Service %s/%s (cluster %s)", o.Namespace, o.Service, o.ClusterID)
}

// madeForAnother reports whether a listener is another Service's by its description; of ours, owns decides before. A
// Service that is gone has none.
func madeForAnother(l model.Listener, o model.Observed) bool {
	_, made := ownership.MadeFor(l.Description())
	return made && !o.Nobodys[l.Description()]
}

// inTheWayOfNobody reports whether a listener was made for a Service that is gone, with its server group, and has the
// port of a wanted one of another protocol: it goes.
func inTheWayOfNobody(d *model.Desired, l model.Listener, o model.Observed) bool {
	_, serves := servesAnother(d.Owner, l, o)
	return l.Key.Protocol != 0 && o.Nobodys[l.Description()] && !serves &&
		slices.ContainsFunc(d.Listeners, func(want model.Listener) bool { return want.Key.Meets(l.Key) })
}

// owns reports whether a listener is ours, by its description. One of a protocol that this version doesn't know never is.
func owns(owner ownership.Owner, l model.Listener) bool {
	return l.Key.Protocol != 0 && owner.Owns(l.Description())
}

// servesOurs reports whether a listener serves one of our groups. That makes it ours where we want one: its description was edited. It
// is no reason to delete one: people bind listeners of their own to our groups.
func servesOurs(owner ownership.Owner, l model.Listener, o model.Observed) bool {
	return slices.ContainsFunc(o.Groups, func(g model.Group) bool { return g.ID == l.GroupID() && owner.Owns(g.Name) })
}

// servesAnother returns the Service for whose server group a listener works, if it isn't the owner. One that people
// bound to it by hand is none to take.
func servesAnother(owner ownership.Owner, l model.Listener, o model.Observed) (ownership.Owner, bool) {
	id := l.GroupID()
	name := o.OtherGroups[id]
	for _, g := range o.Groups {
		if g.ID == id {
			name = g.Name
		}
	}
	other, made := ownership.MadeFor(name)
	return other, made && !owner.Owns(name) && !o.Nobodys[name]
}

func overTCP(k model.ListenerKey) bool { return k.Protocol.OverTCP() }

// openNothing refuses new listeners that would let in whom the Service means to keep out, and with a new one the end of
// the one on its port.
func (p *Plan) openNothing(kind Differ, d *model.Desired, o model.Observed, unguarded bool) {
	on, why := " on the public load balancer", kind.Opener(d, o)
	if why == "" {
		on, why = "", d.AccessUnsaid
	}
	if unguarded {
		on, why = "", "it would be open to everybody"
	}
	var texts []string
	for action := range p.Actions() {
		if create, ok := action.(CreateListener); ok {
			texts = append(texts, KeyText(create.Listener.Key))
		}
	}
	if why == "" || len(texts) == 0 {
		return
	}
	*p, _ = p.Without(func(action Action) bool {
		switch a := action.(type) {
		case CreateListener:
			return true
		case DeleteListener:
			return len(a.Next) > 0
		}
		return false
	})
	p.refuse("no listener is made%s for %s, as %s", on, strings.Join(texts, ", "), why)
}
