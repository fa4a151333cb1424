package plan_test

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// TestEffects: each action changes what it names, and nothing beside it. What is believed to be there is compared with what is wanted
// until the next read.
func TestEffects(t *testing.T) {
	t.Parallel()
	key := func(port int32, protocol model.Protocol) model.ListenerKey {
		return model.ListenerKey{Port: port, Protocol: protocol}
	}
	listener := func(k model.ListenerKey, group string) model.Listener {
		return model.Listener{Key: k, Config: &slbv1.ListenerConfig{Scheduler: new("rr"), AclIds: []string{"acl-1"},
			ServerGroupId: &group}, Stopped: true}
	}
	web, dns := key(80, http), key(80, udp)
	start := func() model.Observed {
		return model.Observed{
			InstanceID: "lb-1", ConfigKnown: true,
			Listeners: []model.Listener{listener(web, "rsp-1"), listener(dns, "rsp-2")},
			Groups: []model.Group{
				{ID: "rsp-1", Name: "a", Servers: []model.Server{ecs(1, 80, 1, ""), ecs(3, 80, 1, "")}},
				{ID: "rsp-2", Name: "b", Servers: []model.Server{ecs(1, 80, 1, "")}},
			},
		}
	}
	for name, test := range map[string]struct {
		action Action
		result Result
		want   func(*model.Observed)
	}{
		"new group": {
			CreateGroup{Group: model.Group{Name: "c", Servers: []model.Server{ecs(1, 80, 1, "")}}}, Result{GroupID: "rsp-3"},
			func(o *model.Observed) {
				o.Groups = append(o.Groups, model.Group{ID: "rsp-3", Name: "c", Servers: []model.Server{ecs(1, 80, 1, "")}})
			},
		},
		"servers": {
			ChangeServers{GroupID: "rsp-1", Add: []model.Server{ecs(2, 80, 1, "")}, Update: []model.Server{ecs(3, 80, 9, "")},
				Remove: []model.Server{ecs(1, 80, 1, "")}}, Result{},
			func(o *model.Observed) { o.Groups[0].Servers = []model.Server{ecs(2, 80, 1, ""), ecs(3, 80, 9, "")} },
		},
		"servers of the built-in group of a new instance": {
			ChangeServers{GroupID: builtIn, Name: builtIn, BuiltIn: true, Add: []model.Server{ecs(2, 0, 1, "")}}, Result{},
			func(o *model.Observed) {
				o.Groups = append(o.Groups, model.Group{ID: builtIn, Name: builtIn, BuiltIn: true,
					Servers: []model.Server{ecs(2, 0, 1, "")}})
			},
		},
		"group goes": {DeleteGroup{GroupID: "rsp-1"}, Result{}, func(o *model.Observed) { o.Groups = o.Groups[1:] }},
		"group that the cloud keeps": {
			DeleteGroup{GroupID: "rsp-1", Servers: []model.Server{ecs(1, 80, 1, "")}}, Result{Held: true},
			func(o *model.Observed) { o.Groups[0].Servers, o.Groups[0].Held = o.Groups[0].Servers[1:], true },
		},
		"new listener": {
			CreateListener{Listener: model.Listener{Key: key(81, tcp), Group: "b",
				Config: &slbv1.ListenerConfig{Scheduler: new("wrr")}}, Group: GroupRef{Name: "b"}}, Result{},
			func(o *model.Observed) {
				o.Listeners = append(o.Listeners, model.Listener{Key: key(81, tcp),
					Config: &slbv1.ListenerConfig{Scheduler: new("wrr"), ServerGroupId: new("rsp-2")}})
			},
		},
		"new redirect": {
			CreateListener{Listener: model.Listener{Key: key(81, http), LeadsTo: 443,
				Config: &slbv1.ListenerConfig{ForwardPort: new(int32(443))}}}, Result{},
			func(o *model.Observed) {
				o.Listeners = append(o.Listeners, model.Listener{Key: key(81, http), LeadsTo: 443,
					Config: &slbv1.ListenerConfig{ForwardPort: new(int32(443))}})
			},
		},
		"new https listener has no further certificates": {
			CreateListener{Listener: model.Listener{Key: key(81, https), Config: &slbv1.ListenerConfig{}}}, Result{},
			func(o *model.Observed) {
				o.Listeners = append(o.Listeners, model.Listener{Key: key(81, https), Config: &slbv1.ListenerConfig{},
					Further: []model.FurtherCertificates{}})
			},
		},
		"attribute": {
			UpdateListener{Key: web, Changed: &slbv1.ListenerConfig{Scheduler: new("wrr")}}, Result{},
			func(o *model.Observed) { config(o.Listeners[0].Config).Scheduler = new("wrr") },
		},
		"access control lists": {
			UpdateListener{Key: web, Changed: &slbv1.ListenerConfig{AclIds: []string{"acl-2"}}}, Result{},
			func(o *model.Observed) { config(o.Listeners[0].Config).AclIds = []string{"acl-2"} },
		},
		"group of a listener": {
			UpdateListener{Key: web, Group: GroupRef{ID: "rsp-2"}}, Result{},
			func(o *model.Observed) { config(o.Listeners[0].Config).ServerGroupId = new("rsp-2") },
		},
		"listener starts": {StartListener{Key: dns}, Result{}, func(o *model.Observed) { o.Listeners[1].Stopped = false }},
		"listener goes":   {DeleteListener{Key: dns}, Result{}, func(o *model.Observed) { o.Listeners = o.Listeners[:1] }},
		"instance goes":   {DeleteInstance{}, Result{}, func(o *model.Observed) { *o = model.Nothing() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, got := start(), start()
			test.want(&want)
			test.action.Effect(&got, test.result)
			if diff := gocmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEffectsLeaveListsAlone: lists of servers are long and shared, so that an effect replaces one and changes none in place.
func TestEffectsLeaveListsAlone(t *testing.T) {
	t.Parallel()
	const servers = 1000
	var list []model.Server
	for n := range servers {
		list = append(list, ecs(n, 80, 1, ""))
	}
	slices.SortFunc(list, model.Server.Compare)
	before := slices.Clone(list)
	many := list[servers/2:]
	for name, action := range map[string]Action{
		"one comes":  ChangeServers{GroupID: "rsp-1", Add: []model.Server{ecs(servers, 80, 1, "")}},
		"one goes":   ChangeServers{GroupID: "rsp-1", Remove: list[1:2]},
		"many go":    ChangeServers{GroupID: "rsp-1", Remove: many},
		"one weighs": ChangeServers{GroupID: "rsp-1", Update: []model.Server{ecs(7, 80, 9, "")}},
		"held":       DeleteGroup{GroupID: "rsp-1", Servers: many},
	} {
		o := model.Observed{Groups: []model.Group{{ID: "rsp-1", Servers: list}}}
		after := o.Clone()
		action.Effect(&after, Result{Held: true})
		if !slices.Equal(before, o.Groups[0].Servers) {
			t.Errorf("%s: the list of before has changed", name)
		}
		if slices.Equal(before, after.Groups[0].Servers) {
			t.Errorf("%s: nothing has changed", name)
		}
		if !slices.IsSortedFunc(after.Groups[0].Servers, model.Server.Compare) {
			t.Errorf("%s: not in order", name)
		}
	}
}

// TestServersAfterAChange: whatever comes, changes and goes, the servers afterwards are what a slow and simple way finds, and in order.
func TestServersAfterAChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []model.Server {
			var list []model.Server
			for _, n := range rapid.SliceOf(rapid.IntRange(1, 9)).Draw(t, name) {
				list = append(list, ecs(n, 80, rapid.Int32Range(1, 3).Draw(t, "weight"), name))
			}
			return list
		}
		have := draw("have") // Some may be there twice.
		slices.SortFunc(have, model.Server.Compare)
		a := ChangeServers{Add: draw("add"), Remove: draw("remove"), Update: draw("update")}
		named := map[model.ServerKey]bool{}
		for _, s := range slices.Concat(a.Add, a.Remove, a.Update) {
			named[s.ServerKey] = true
		}
		want := slices.DeleteFunc(slices.Clone(have), func(s model.Server) bool { return named[s.ServerKey] })
		want = slices.Concat(want, a.Add, a.Update)
		byAll := func(a, b model.Server) int {
			return cmp.Or(a.Compare(b), cmp.Compare(a.Description, b.Description), cmp.Compare(a.Weight, b.Weight))
		}
		slices.SortFunc(want, byAll)
		got := a.After(have)
		if !slices.IsSortedFunc(got, model.Server.Compare) {
			t.Errorf("%v is not in order", got)
		}
		slices.SortFunc(got, byAll)
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%v of %v (-want +got):\n%s", a, have, diff)
		}
	})
}
