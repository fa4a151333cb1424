package plan

import (
	"slices"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// Effect implements Action.
func (DeleteInstance) Effect(o *model.Observed, _ Result) { *o = model.Nothing() }

// Effect implements Action.
func (a UpdateGroup) Effect(o *model.Observed, _ Result) {
	for i := range o.Groups {
		if g := &o.Groups[i]; g.ID == a.GroupID && g.Config != nil {
			g.Config = mergedMessage(g.Config, a.Changed)
		}
	}
}

// Effect implements Action.
func (a CreateGroup) Effect(o *model.Observed, r Result) {
	o.Groups = append(o.Groups, model.Group{
		ID: r.GroupID, Name: a.Group.Name, Shape: a.Group.Shape, Config: a.Group.Config, Servers: a.Group.Servers,
	})
}

// Effect implements Action.
func (a ChangeServers) Effect(o *model.Observed, _ Result) {
	if a.BuiltIn && !slices.ContainsFunc(o.Groups, isBuiltIn) { // The instance is new.
		o.Groups = append(o.Groups, model.Group{ID: a.GroupID, Name: a.Name, BuiltIn: true})
	}
	for i := range o.Groups {
		g := &o.Groups[i]
		if g.ID != a.GroupID {
			continue
		}
		g.Servers = a.after(g.Servers)
	}
}

// after returns what becomes of ordered servers. Most stay, which is why they are copied and not compared one by one.
func (a ChangeServers) after(have []model.Server) []model.Server {
	changed := slices.Concat(a.Remove, a.Add, a.Update)
	coming := len(changed) - len(a.Remove)
	order := make([]int, len(changed))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return changed[i].Compare(changed[j]) })
	after := make([]model.Server, 0, len(have)+coming)
	for _, i := range order {
		s := &changed[i]
		at, _ := slices.BinarySearchFunc(have, *s, model.Server.Compare)
		after, have = append(after, have[:at]...), have[at:]
		for len(have) > 0 && have[0].ServerKey == s.ServerKey { // It may be there twice.
			have = have[1:]
		}
		if i >= len(a.Remove) {
			after = append(after, *s)
		}
	}
	return append(after, have...)
}

// Effect implements Action.
func (a DeleteGroup) Effect(o *model.Observed, r Result) {
	if r.Held {
		ChangeServers{GroupID: a.GroupID, Remove: a.Servers}.Effect(o, r)
		for i := range o.Groups {
			o.Groups[i].Held = o.Groups[i].Held || o.Groups[i].ID == a.GroupID
		}
		return
	}
	o.Groups = slices.DeleteFunc(o.Groups, func(g model.Group) bool { return g.ID == a.GroupID })
}

// Effect implements Action.
func (a CreateListener) Effect(o *model.Observed, r Result) {
	made := model.Listener{Key: a.Listener.Key, ID: r.ListenerID, LeadsTo: a.Listener.LeadsTo,
		Config: withGroup(a.Listener.Config, a.Group.Resolve(*o)), Tags: a.Listener.Tags}
	if a.Listener.Key.Protocol.HasCertificates() {
		made.Further = []model.FurtherCertificates{}
	}
	o.Listeners = append(o.Listeners, made)
}

// Effect implements Action.
func (a AddCertificates) Effect(o *model.Observed, r Result) {
	a.Further.ID = r.CertificatesID
	changeFurther(o, a.Key, func(list []model.FurtherCertificates) []model.FurtherCertificates { return append(list, a.Further) })
}

// Effect implements Action.
func (a ChangeCertificates) Effect(o *model.Observed, _ Result) {
	changeFurther(o, a.Key, func(list []model.FurtherCertificates) []model.FurtherCertificates {
		for i := range list {
			if list[i].ID == a.Further.ID {
				list[i] = a.Further
			}
		}
		return list
	})
}

// Effect implements Action.
func (a RemoveCertificates) Effect(o *model.Observed, _ Result) {
	changeFurther(o, a.Key, func(list []model.FurtherCertificates) []model.FurtherCertificates {
		return slices.DeleteFunc(list, func(e model.FurtherCertificates) bool { return e.ID == a.Further.ID })
	})
}

func changeFurther(o *model.Observed, key model.ListenerKey, change func([]model.FurtherCertificates) []model.FurtherCertificates) {
	for i := range o.Listeners {
		if o.Listeners[i].Key == key {
			o.Listeners[i].Further = change(o.Listeners[i].Further)
		}
	}
}

// Effect implements Action.
func (a UpdateListener) Effect(o *model.Observed, _ Result) {
	for i := range o.Listeners {
		l := &o.Listeners[i]
		if l.Key != a.Key {
			continue
		}
		if a.Changed != nil {
			l.Config = merged(l.Config, a.Changed)
		}
		l.Config = withGroup(l.Config, a.Group.Resolve(*o))
	}
}

// Effect implements Action.
func (a StartListener) Effect(o *model.Observed, _ Result) {
	for i := range o.Listeners {
		if o.Listeners[i].Key == a.Key {
			o.Listeners[i].Stopped = false
		}
	}
}

// Effect implements Action.
func (a DeleteListener) Effect(o *model.Observed, _ Result) {
	o.Listeners = slices.DeleteFunc(o.Listeners, func(l model.Listener) bool { return l.Key == a.Key })
}
