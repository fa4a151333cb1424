package plan_test

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// TestWhatAPlanChanges: reads before a write, limits and events depend on what kinds of things a plan touches.
func TestWhatAPlanChanges(t *testing.T) {
	t.Parallel()
	servers := ChangeServers{GroupID: "rsp-1", Add: []model.Server{ecs(1, 80, 1, "")}}
	inBuiltIn := ChangeServers{GroupID: builtIn, BuiltIn: true, Add: servers.Add}
	for name, test := range map[string]struct {
		plan                                   Plan
		config, deletes, fillsBuiltIn, nothing bool
	}{
		"nothing":                        {plan: Plan{}, nothing: true},
		"only refused":                   {plan: Plan{Refused: []string{"no"}}, nothing: true},
		"servers":                        {plan: Plan{Phases: []Phase{{servers}}}},
		"servers of the built-in group":  {plan: Plan{Phases: []Phase{{servers}, {inBuiltIn}}}, fillsBuiltIn: true},
		"a new group":                    {plan: Plan{Phases: []Phase{{servers}, {CreateGroup{}}}}, config: true},
		"a listener goes":                {plan: Plan{Phases: []Phase{{servers, DeleteListener{}}}}, config: true, deletes: true},
		"a group goes":                   {plan: Plan{Phases: []Phase{{DeleteGroup{}}}}, config: true, deletes: true},
		"a certificate goes":             {plan: Plan{Phases: []Phase{{RemoveCertificates{}}}}, config: true, deletes: true},
		"a listener and a name change":   {plan: Plan{Phases: []Phase{{UpdateListener{}}, {UpdateInstance{}}}}, config: true},
		"the instance goes, all of ours": {plan: Plan{Phases: []Phase{{DeleteInstance{}}}}, config: true},
	} {
		got := []bool{test.plan.ChangesConfig(), test.plan.Deletes(), test.plan.FillsBuiltIn(), test.plan.Empty()}
		if want := []bool{test.config, test.deletes, test.fillsBuiltIn, test.nothing}; !slices.Equal(want, got) {
			t.Errorf("%s: config, deletes, built-in group, nothing: got %v, want %v", name, got, want)
		}
	}
}

// TestRemoveFirst: only where servers come and go there is room to make.
func TestRemoveFirst(t *testing.T) {
	t.Parallel()
	one := []model.Server{ecs(1, 80, 1, "")}
	p := Plan{Phases: []Phase{
		{CreateGroup{}, ChangeServers{Name: "come", Add: one}, ChangeServers{Name: "go", Remove: one}},
		{ChangeServers{Name: "both", Add: one, Remove: one}},
	}}
	p.RemoveFirst()
	var first []string
	for action := range p.Actions() {
		if change, ok := action.(ChangeServers); ok && change.RemoveFirst {
			first = append(first, change.Name)
		}
	}
	if diff := gocmp.Diff([]string{"both"}, first); diff != "" {
		t.Errorf("removes first (-want +got):\n%s", diff)
	}
}

// TestBegin: only the groups of a CLB that is made wait for servers, and those that take traffic come first. Lists stay in order.
func TestBegin(t *testing.T) {
	t.Parallel()
	idle, a, b, c, none := ecs(1, 80, 0, ""), ecs(2, 80, 1, ""), ecs(3, 80, 100, ""), ecs(4, 80, 2, ""), ecs(5, 80, 0, "")
	group := func(servers ...model.Server) CreateGroup { return CreateGroup{Group: model.Group{Servers: servers}} }
	for name, tt := range map[string]struct {
		phases []Phase
		want   [][]model.Server
		left   bool
	}{
		"the load balancer is there": {[]Phase{{group(idle, a, b, c)}}, [][]model.Server{{idle, a, b, c}}, false},
		"no more than the first":     {[]Phase{{CreateInstance{}}, {group(idle, a)}}, [][]model.Server{{idle, a}}, false},
		"more":                       {[]Phase{{CreateInstance{}}, {group(idle, a, b, c)}}, [][]model.Server{{a, b}}, true},
		"one of two groups":          {[]Phase{{CreateInstance{}}, {group(c), group(idle, a, b)}}, [][]model.Server{{c}, {a, b}}, true},
		"few take traffic":           {[]Phase{{CreateInstance{}}, {group(idle, a, none)}}, [][]model.Server{{idle, a}}, true},
		"no servers":                 {[]Phase{{CreateInstance{}}, {group()}}, [][]model.Server{nil}, false},
	} {
		p := Plan{Phases: tt.phases}
		left := p.Begin(2)
		var got [][]model.Server
		for action := range p.Actions() {
			if create, ok := action.(CreateGroup); ok {
				got = append(got, create.Group.Servers)
			}
		}
		if diff := gocmp.Diff(tt.want, got); diff != "" || left != tt.left {
			t.Errorf("%s: left %t, want %t; servers (-want +got):\n%s", name, left, tt.left, diff)
		}
	}
}

// TestServers: those that come or change are looked for among the instances that there are; those that go need not be there.
func TestServers(t *testing.T) {
	t.Parallel()
	a, b, c := ecs(1, 80, 1, ""), ecs(2, 80, 1, ""), ecs(3, 80, 1, "")
	for name, test := range map[string]struct {
		action Action
		want   []model.Server
	}{
		"new group": {CreateGroup{Group: model.Group{Servers: []model.Server{a, b}}}, []model.Server{a, b}},
		"change":    {ChangeServers{Add: []model.Server{a}, Update: []model.Server{b}, Remove: []model.Server{c}}, []model.Server{a, b}},
		"deletion":  {DeleteGroup{Servers: []model.Server{a}}, nil},
	} {
		if diff := gocmp.Diff(test.want, Servers(test.action)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestWithout: what is left out takes with it what needs it, and nothing else.
func TestWithout(t *testing.T) {
	t.Parallel()
	d, _ := observed()
	d.Groups = append(d.Groups, model.Group{Name: us().Group("30081")})
	p := Diff(d, model.Observed{InstanceID: "lb-1", ConfigKnown: true, Instance: &slbv1.LoadBalancer{}})
	p.Refused = []string{"something else"}
	named := func(name string) func(Action) bool {
		return func(a Action) bool {
			create, ok := a.(CreateGroup)
			return ok && create.Group.Name == us().Group(name)
		}
	}
	for name, test := range map[string]struct {
		leave      string
		rest, left string
	}{
		"no group": {"1",
			"1. create server group k8s/30080/web/default/c with 1 servers\n1. create server group k8s/30081/web/default/c with 0 servers\n" +
				"2. create listener 80/http\nrefused: something else", ""},
		"a group without a listener": {"30081",
			"1. create server group k8s/30080/web/default/c with 1 servers\n2. create listener 80/http\nrefused: something else",
			"1. create server group k8s/30081/web/default/c with 0 servers"},
		"the group of a listener": {"30080", "1. create server group k8s/30081/web/default/c with 0 servers\nrefused: something else",
			"1. create server group k8s/30080/web/default/c with 1 servers\n1. create listener 80/http"},
	} {
		rest, left := p.Without(named(test.leave))
		wantPlan(t, rest, test.rest)
		wantPlan(t, Plan{Phases: []Phase{left}}, test.left)
		if t.Failed() {
			t.Fatalf("that was %q", name)
		}
	}
}

// TestGroupRef: a listener finds the group that the plan has made for it.
func TestGroupRef(t *testing.T) {
	t.Parallel()
	o := model.Observed{Groups: []model.Group{{ID: "rsp-1", Name: "a"}, {ID: "rsp-2", Name: "b"}, {ID: "rsp-3"}}}
	for want, ref := range map[string]GroupRef{"rsp-2": {Name: "b"}, "rsp-9": {ID: "rsp-9", Name: "b"}, "": {Name: "c"}} {
		if got := ref.Resolve(o); got != want {
			t.Errorf("%+v: got %q, want %q", ref, got, want)
		}
	}
	if got := (GroupRef{}).Resolve(o); got != "" {
		t.Errorf("no group is %q", got)
	}
}

// TestWhatPeopleRead: the texts of actions that no other test prints.
func TestWhatPeopleRead(t *testing.T) {
	t.Parallel()
	key := model.ListenerKey{Port: 443, Protocol: https}
	extension := model.FurtherCertificates{Domain: "www.example.com", Certificates: []string{"cert-1"}}
	for want, action := range map[string]Action{
		"change listener 443/https: scheduler, health_check.interval": UpdateListener{Key: key,
			Changed: &slbv1.ListenerConfig{Scheduler: new("rr"), HealthCheck: &slbv1.HealthCheck{Interval: new(int32(5))}}},
		"change listener 443/https: scheduler, server group": UpdateListener{Key: key,
			Changed: &slbv1.ListenerConfig{Scheduler: new("rr")}, Group: GroupRef{Name: "a"}},
		"give listener 443/https certificate cert-1 for www.example.com":             AddCertificates{Key: key, Further: extension},
		"change the certificate of listener 443/https for www.example.com to cert-1": ChangeCertificates{Key: key, Further: extension},
		"take the certificate for www.example.com off listener 443/https":            RemoveCertificates{Key: key, Further: extension},
	} {
		if got := action.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := Name(ChangeServers{Name: "a"}) + ", " + Name(CreateGroup{Group: model.Group{Name: "b"}}) + ", " +
		Name(DeleteInstance{}); got != "change servers of a, create server group b, delete load balancer" {
		t.Errorf("got %q", got)
	}
}

// TestUsesGroups: of a plan without such actions only the server groups have to be read that it deletes.
func TestUsesGroups(t *testing.T) {
	t.Parallel()
	next := []CreateListener{{}}
	for _, test := range []struct {
		action Action
		want   bool
	}{
		{UpdateInstance{}, false}, {CreateInstance{}, true}, {DeleteInstance{}, true},
		{CreateListener{}, true}, {UpdateListener{}, false}, {UpdateListener{Group: GroupRef{Name: "web"}}, true}, {StartListener{}, false},
		{DeleteListener{GroupID: "rsp-1"}, false}, {DeleteListener{Next: next}, true},
		{AddCertificates{}, false}, {ChangeCertificates{}, false}, {RemoveCertificates{}, false},
		{CreateGroup{}, true}, {plan.UpdateGroup{}, true}, {ChangeServers{}, true}, {DeleteGroup{}, false},
		{plan.CreateList{}, false}, {ChangeList{}, false}, {plan.DeleteList{}, false},
	} {
		if got := (plan.Plan{Phases: []plan.Phase{{test.action}}}).UsesGroups(); got != test.want {
			t.Errorf("%T: got %t, want %t", test.action, got, test.want)
		}
	}
	p := Plan{Phases: []Phase{{DeleteListener{GroupID: "rsp-3"}}, {DeleteGroup{GroupID: "rsp-1"}, ChangeServers{GroupID: "rsp-2"}}}}
	if got := p.DeletedGroups(); !slices.Equal(got, []string{"rsp-1"}) {
		t.Errorf("deleted groups: %v", got)
	}
}
