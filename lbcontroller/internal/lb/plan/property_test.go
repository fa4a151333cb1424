package plan_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

const (
	tcp   = model.TCP
	udp   = model.UDP
	http  = model.HTTP
	https = model.HTTPS
)

func us() ownership.Owner {
	return ownership.Owner{Service: "web", Namespace: "default", ClusterID: "c"}
}

func ecs(n int, port int32, weight int32, description string) model.Server {
	return model.Server{
		ServerKey: model.ServerKey{Type: model.ECS, ID: fmt.Sprintf("i-%d", n), Port: port},
		Weight:    weight, Description: description,
	}
}

// genDesired draws up to four ports, with a redirect from time to time.
func genDesired(t *rapid.T) *model.Desired {
	d := &model.Desired{Owner: us(), UID: "u", Instance: model.Instance{
		Spec: &slbv1.CreateLoadBalancerRequest{Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"),
			DeleteProtection: rapid.Bool().Draw(t, "protect")},
		Asked: Asked{Name: rapid.Bool().Draw(t, "asked name"), DeleteProtection: rapid.Bool().Draw(t, "asked protection")},
	}}
	groups := map[string]bool{}
	for _, port := range rapid.SliceOfNDistinct(rapid.Int32Range(1, 5), 0, 4, rapid.ID).Draw(t, "ports") {
		protocol := rapid.SampledFrom([]model.Protocol{tcp, udp, http, https}).Draw(t, "protocol")
		name := us().Group(fmt.Sprint(rapid.IntRange(1, 3).Draw(t, "nodePort")))
		d.Listeners = append(d.Listeners, model.Listener{Key: model.ListenerKey{Port: port, Protocol: protocol}, Group: name,
			Config: &slbv1.ListenerConfig{
				Description: new(us().Listener(port)), Scheduler: new(rapid.SampledFrom([]string{"rr", "wrr"}).Draw(t, "scheduler")),
			}})
		if !groups[name] {
			groups[name] = true
			g := model.Group{Name: name, KeepWeights: rapid.Bool().Draw(t, "keep weights")}
			for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(1, 5), 0, 4, rapid.ID).Draw(t, "servers") {
				g.Servers = append(g.Servers, ecs(n, 80, rapid.Int32Range(1, 2).Draw(t, "weight"), name))
			}
			slices.SortFunc(g.Servers, model.Server.Compare)
			d.Groups = append(d.Groups, g)
		}
	}
	reuse(t, d)
	if rapid.IntRange(0, 2).Draw(t, "default group") == 0 {
		d.Groups = append(d.Groups, genDefault(t, []string{us().Group("default")}))
	}
	forward(t, d.Listeners)
	slices.SortFunc(d.Listeners, func(a, b model.Listener) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(d.Groups, func(a, b model.Group) int { return cmp.Compare(a.Name, b.Name) })
	return d
}

// genDefault draws the default server group, with servers of the given descriptions.
func genDefault(t *rapid.T, descriptions []string) model.Group {
	g := model.Group{ID: builtIn, Name: builtIn, BuiltIn: true}
	for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(1, 6), 0, 4, rapid.ID).Draw(t, "default servers") {
		g.Servers = append(g.Servers, ecs(n, 0, rapid.Int32Range(1, 2).Draw(t, "weight"), rapid.SampledFrom(descriptions).Draw(t, "description")))
	}
	slices.SortFunc(g.Servers, model.Server.Compare)
	return g
}

// reuse makes it a user's instance from time to time, with a group of the user's to fill, or that was filled before.
func reuse(t *rapid.T, d *model.Desired) {
	if rapid.IntRange(0, 1).Draw(t, "reuse") == 0 {
		return
	}
	id := rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("rsp-%d", rapid.IntRange(0, 4).Draw(t, "id")) })
	d.Reuse = model.Reuse{ID: "lb-1", Listeners: rapid.Bool().Draw(t, "override"), Filled: rapid.SliceOfNDistinct(id, 0, 2,
		rapid.ID).Draw(t, "filled")}
	if rapid.Bool().Draw(t, "default filled") {
		d.Reuse.Filled = append(d.Reuse.Filled, builtIn)
	}
	if len(d.Groups) > 0 && rapid.Bool().Draw(t, "mapped") {
		own := d.Groups[0].Name
		d.Groups[0].ID = id.Draw(t, "mapped group")
		d.Groups[0].Name = d.Groups[0].ID
		for i := range d.Listeners {
			if d.Listeners[i].Group == own {
				d.Listeners[i].Group = d.Groups[0].ID
			}
		}
	}
	if !d.Reuse.Listeners {
		d.Listeners = nil
	}
}

// forward makes http listeners redirect to an https listener from time to time.
func forward(t *rapid.T, listeners []model.Listener) {
	i := slices.IndexFunc(listeners, func(l model.Listener) bool { return l.Key.Protocol == https })
	if i < 0 {
		return
	}
	for j := range listeners {
		if l := &listeners[j]; l.Key.Protocol == http && rapid.Bool().Draw(t, "forward") {
			redirect(l, listeners[i].Key.Port)
		}
	}
}

// genObserved draws an instance with things of ours and of others.
func genObserved(t *rapid.T) model.Observed {
	if rapid.IntRange(0, 4).Draw(t, "instance") == 0 {
		return model.Nothing()
	}
	o := model.Observed{InstanceID: "lb-1", ConfigKnown: true, Instance: &slbv1.LoadBalancer{LoadBalancerId: "lb-1", Name: "a"}}
	for i := range rapid.IntRange(0, 5).Draw(t, "groups") {
		name := us().Group(fmt.Sprint(rapid.IntRange(1, 4).Draw(t, "nodePort")))
		if owner := rapid.IntRange(0, 4).Draw(t, "owner"); owner < 2 {
			name = []string{"theirs", "k8s/1/api/default/c"}[owner]
		}
		g := model.Group{ID: fmt.Sprintf("rsp-%d", i), Name: name}
		for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(1, 6), 0, 4, rapid.ID).Draw(t, "servers") {
			description := us().Group("9")
			if rapid.IntRange(0, 3).Draw(t, "foreign") == 0 {
				description = "by hand"
			}
			g.Servers = append(g.Servers, ecs(n, 80, 1, description))
		}
		slices.SortFunc(g.Servers, model.Server.Compare)
		o.Groups = append(o.Groups, g)
	}
	for _, port := range rapid.SliceOfNDistinct(rapid.Int32Range(1, 6), 0, 4, rapid.ID).Draw(t, "ports") {
		l := model.Listener{Key: model.ListenerKey{Port: port, Protocol: rapid.SampledFrom([]model.Protocol{tcp, udp, http,
			https}).Draw(t, "protocol")},
			Config: &slbv1.ListenerConfig{Description: new(us().Listener(port)), Scheduler: new("rr")}, Stopped: rapid.Bool().Draw(t, "stopped")}
		if owner := rapid.IntRange(0, 5).Draw(t, "owner"); owner < 2 {
			config(l.Config).Description = new([]string{"by hand", "k8s/1/api/default/c"}[owner])
		}
		if len(o.Groups) > 0 {
			config(l.Config).ServerGroupId = new(rapid.SampledFrom(o.Groups).Draw(t, "group").ID)
		}
		o.Listeners = append(o.Listeners, l)
	}
	forward(t, o.Listeners)
	o.Groups = append(o.Groups, genDefault(t, []string{us().Group("default"), "by hand", ""}))
	return o
}

// cloud carries plans out and refuses what the real one refuses.
type cloud struct {
	now model.Observed
	ids int
}

func (c *cloud) do(a Action) error {
	if err := c.refuses(a); err != nil {
		return fmt.Errorf("%s: %w", a, err)
	}
	c.ids++
	a.Effect(&c.now, Result{Instance: &slbv1.LoadBalancer{LoadBalancerId: "lb-new"}, GroupID: fmt.Sprintf("rsp-new-%d", c.ids)})
	return nil
}

func (c *cloud) refuses(a Action) error {
	switch a := a.(type) {
	case CreateListener:
		for _, l := range c.now.Listeners {
			if l.Key.Port == a.Listener.Key.Port && plan.OverTCP(l.Key) == plan.OverTCP(a.Listener.Key) {
				return fmt.Errorf("port %d is taken", l.Key.Port)
			}
		}
		if a.Listener.Group != "" && a.Group.Resolve(c.now) == "" {
			return fmt.Errorf("group %s doesn't exist", a.Listener.Group)
		}
		if target := a.Listener.LeadsTo; target != 0 && !c.has(model.ListenerKey{Port: target, Protocol: https}) {
			return fmt.Errorf("target %d doesn't exist", target)
		}
	case UpdateListener:
		if a.Group != (GroupRef{}) && a.Group.Resolve(c.now) == "" {
			return fmt.Errorf("group %s doesn't exist", a.Group.Name)
		}
	case DeleteListener:
		for _, l := range c.now.Listeners {
			if a.Key.Protocol == https && l.LeadsTo == a.Key.Port {
				return fmt.Errorf("port %d redirects to it", l.Key.Port)
			}
		}
	case DeleteGroup:
		for _, l := range c.now.Listeners {
			if l.Config.GetServerGroupId() == a.GroupID {
				return fmt.Errorf("listener %d uses it", l.Key.Port)
			}
		}
	}
	return nil
}

func (c *cloud) has(key model.ListenerKey) bool {
	return slices.ContainsFunc(c.now.Listeners, func(l model.Listener) bool { return l.Key == key })
}

// foreign lists what isn't ours, which no plan may change. A listener without our description is ours only where we want one, and if it
// serves a group of ours, or if we may override the user's. On a user's instance its listeners may be none of our business at all.
func foreign(d *model.Desired, o model.Observed) []string {
	var list []string
	filled := slices.Clone(d.Reuse.Filled)
	for _, g := range d.Groups {
		filled = append(filled, g.ID)
	}
	for _, g := range o.Groups {
		switch {
		case us().Owns(g.Name):
		case g.BuiltIn && slices.Contains(filled, g.ID): // Every instance has it.
		case slices.Contains(filled, g.ID):
			list = append(list, "group "+g.ID)
		default:
			list = append(list, fmt.Sprint("group ", g.ID, g.Servers))
		}
		for _, s := range g.Servers {
			if !us().Owns(s.Description) {
				list = append(list, fmt.Sprint("server ", g.ID, s))
			}
		}
	}
	for _, l := range o.Listeners {
		wanted := slices.ContainsFunc(d.Listeners, func(w model.Listener) bool { return w.Key == l.Key })
		serves := slices.ContainsFunc(o.Groups, func(g model.Group) bool { return g.ID == l.Config.GetServerGroupId() && us().Owns(g.Name) })
		byHand := l.Config.GetDescription() == "by hand" || l.Config.GetDescription() == ""
		ours := us().Owns(l.Config.GetDescription()) || byHand && wanted && (serves || d.Reuse.Listeners)
		if !ours || d.Reuse.ID != "" && !d.Reuse.Listeners {
			list = append(list, fmt.Sprint("listener ", l.Key, proto.CloneOf(l.Config)))
		}
	}
	slices.Sort(list)
	return list
}

func TestDiffProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, o := genDesired(t), genObserved(t)
		if d.Reuse.ID != "" && o.InstanceID == "" {
			return // There is nothing to plan for: it is the user who makes it.
		}
		o.Reused = d.Reuse.ID != ""
		before := o.Clone()
		p := Diff(d, o)
		if diff := gocmp.Diff(before, o, protocmp.Transform()); diff != "" {
			t.Fatalf("Diff changed its input (-before +after):\n%s", diff)
		}
		c := &cloud{now: o.Clone()}
		untouched := foreign(d, o)
		c.carryOut(t, p)
		if diff := gocmp.Diff(untouched, foreign(d, c.now)); diff != "" {
			t.Fatalf("foreign things changed (-before +after):\n%s\nplan:\n%s", diff, p)
		}
		again := Diff(d, c.now)
		if !again.Empty() && sameNames(o) {
			// Which of two groups of one name is kept may be decided anew once no listener uses either.
			c.carryOut(t, again)
			again = Diff(d, c.now)
		}
		for range d.Listeners { // One that stays with its servers goes where it is asked to when the Service has taken these away.
			if again.Empty() || len(p.Kept) == 0 {
				break
			}
			c.carryOut(t, again)
			again = Diff(d, c.now)
		}
		if !again.Empty() {
			t.Fatalf("nothing was to be left to do:\n%s\nfirst:\n%s", again, p)
		}
		for _, l := range d.Listeners {
			if !c.has(l.Key) && len(p.Refused) == 0 {
				t.Fatalf("listener %v is missing after\n%s", l.Key, p)
			}
		}
	})
}

// carryOut does the actions of each phase in any order.
func (c *cloud) carryOut(t *rapid.T, p Plan) {
	for _, phase := range p.Phases {
		for _, i := range rapid.Permutation(indices(phase)).Draw(t, "order") {
			if err := c.do(phase[i]); err != nil {
				t.Fatalf("the cloud refuses: %v\nplan:\n%s", err, p)
			}
		}
	}
}

// sameNames reports whether two groups have one name.
func sameNames(o model.Observed) bool {
	names := map[string]bool{}
	for _, g := range o.Groups {
		if names[g.Name] {
			return true
		}
		names[g.Name] = true
	}
	return false
}

func indices(phase Phase) []int {
	list := make([]int, len(phase))
	for i := range list {
		list[i] = i
	}
	return list
}

// TestLeaveProperties: whatever is on a user's instance, all that is ours goes, as far as nobody else uses it, and nothing else does.
func TestLeaveProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, o := genDesired(t), genObserved(t)
		if d.Reuse.ID == "" || o.InstanceID == "" {
			return
		}
		nothing := &model.Desired{Owner: us(), Reuse: d.Reuse}
		c := &cloud{now: o.Clone()}
		untouched := foreign(nothing, o)
		p := Leave(us(), d.Reuse, o)
		c.carryOut(t, p)
		if diff := gocmp.Diff(untouched, foreign(nothing, c.now)); diff != "" {
			t.Fatalf("foreign things changed (-before +after):\n%s\nplan:\n%s", diff, p)
		}
		for _, g := range c.now.Groups {
			for _, s := range g.Servers {
				if us().Owns(s.Description) && (us().Owns(g.Name) || slices.Contains(d.Reuse.Filled, g.ID)) {
					t.Fatalf("server %v is left over after\n%s", s, p)
				}
			}
			if us().Owns(g.Name) && len(g.Servers) == 0 && !plan.UsedBy(c.now.Listeners)[g.ID] {
				t.Fatalf("group %s is left over after\n%s", g.ID, p)
			}
		}
		for _, l := range c.now.Listeners {
			if d.Reuse.Listeners && us().Owns(l.Config.GetDescription()) && len(p.Refused) == 0 {
				t.Fatalf("listener %v is left over after\n%s", l.Key, p)
			}
		}
		if again := Leave(us(), d.Reuse, c.now); !again.Empty() {
			t.Fatalf("nothing was to be left to do:\n%s\nfirst:\n%s", again, p)
		}
	})
}

func TestReleaseProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := genObserved(t)
		reused := o
		if reused.Reused = true; !Release(reused, false).Empty() {
			t.Fatal("a user's instance is to be released")
		}
		preserve := rapid.Bool().Draw(t, "preserve")
		c := &cloud{now: o.Clone()}
		for _, phase := range Release(o, preserve).Phases {
			for _, a := range phase {
				if err := c.do(a); err != nil {
					t.Fatal(err)
				}
			}
		}
		switch {
		case !preserve && c.now.InstanceID != "":
			t.Fatal("the instance is still there")
		case preserve && !gocmp.Equal(o.Listeners, c.now.Listeners, protocmp.Transform()):
			t.Fatal("listeners of a preserved instance changed")
		case preserve && !gocmp.Equal(o.Groups, c.now.Groups):
			t.Fatal("groups of a preserved instance changed")
		}
	})
}
