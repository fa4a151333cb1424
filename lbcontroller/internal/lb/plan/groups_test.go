package plan_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// TestServersOfAGroup: which servers come, go and change.
func TestServersOfAGroup(t *testing.T) {
	t.Parallel()
	ours := us().Group("30080")
	is := func(n int, weight int32) model.Server { return ecs(n, 30080, weight, ours) }
	place := func(n int) map[model.ServerKey]bool { return map[model.ServerKey]bool{is(n, 0).Place(): true} }
	eni := func(id, ip string) model.Server {
		return model.Server{ServerKey: model.ServerKey{Type: model.ENI, ID: id, IP: ip, Port: 80}, Weight: 100, Description: ours}
	}
	for name, test := range map[string]struct {
		want model.Group
		have []model.Server
		plan ChangeServers
	}{
		"the same": {want: model.Group{Servers: []model.Server{is(1, 100)}}, have: []model.Server{is(1, 100)}},
		"come": {want: model.Group{Servers: []model.Server{is(1, 100)}},
			plan: ChangeServers{Add: []model.Server{is(1, 100)}}},
		"go": {have: []model.Server{is(1, 100)}, plan: ChangeServers{Remove: []model.Server{is(1, 100)}}},
		"come and change": {want: model.Group{Servers: []model.Server{is(1, 50), is(2, 50)}},
			have: []model.Server{is(1, 100)}, plan: ChangeServers{Add: []model.Server{is(2, 50)}, Update: []model.Server{is(1, 50)}}},
		"come and go": {want: model.Group{Servers: []model.Server{is(2, 50)}},
			have: []model.Server{is(1, 100)}, plan: ChangeServers{Add: []model.Server{is(2, 50)}, Remove: []model.Server{is(1, 100)}}},
		"go and change": {want: model.Group{Servers: []model.Server{is(1, 50)}},
			have: []model.Server{is(1, 100), is(2, 100)}, plan: ChangeServers{Remove: []model.Server{is(2, 100)},
				Update: []model.Server{is(1, 50)}}},
		"another's at the same place": {want: model.Group{Servers: []model.Server{is(1, 50)}},
			have: []model.Server{ecs(1, 30080, 100, "by hand")}},
		"weights are kept": {want: model.Group{Servers: []model.Server{is(1, 50), is(2, 50)}, KeepWeights: true},
			have: []model.Server{is(1, 100)}, plan: ChangeServers{Add: []model.Server{is(2, 50)}}},
		"none may come": {want: model.Group{Servers: []model.Server{is(1, 50), is(2, 50)}, OnlyRemove: true},
			have: []model.Server{is(1, 50), is(3, 50)}, plan: ChangeServers{Remove: []model.Server{is(3, 50)}}},
		"kept": {want: model.Group{Staying: place(1)}, have: []model.Server{is(1, 100), is(2, 100)},
			plan: ChangeServers{Remove: []model.Server{is(2, 100)}}},
		"the last stay": {want: model.Group{KeepLast: true}, have: []model.Server{is(1, 100), is(2, 0)}},
		"the last but for one that stays": {want: model.Group{KeepLast: true, Staying: place(2)}, have: []model.Server{is(1, 100), is(2, 100)},
			plan: ChangeServers{Remove: []model.Server{is(1, 100)}}},
		"the last but for one without a weight": {want: model.Group{KeepLast: true, Staying: place(2)},
			have: []model.Server{is(1, 100), is(2, 0)}},
		"the last but for one that comes": {want: model.Group{KeepLast: true, Servers: []model.Server{is(2, 100)}},
			have: []model.Server{is(1, 100)},
			plan: ChangeServers{Add: []model.Server{is(2, 100)}, Remove: []model.Server{is(1, 100)}}},
		"the last where none may come": {want: model.Group{KeepLast: true, OnlyRemove: true,
			Servers: []model.Server{is(2, 100)}}, have: []model.Server{is(1, 100)}},
		"the last drain": {want: model.Group{KeepLast: true, Draining: place(1)}, have: []model.Server{is(1, 100)}},
		"draining": {want: model.Group{Draining: place(1)}, have: []model.Server{is(1, 100)},
			plan: ChangeServers{Update: []model.Server{is(1, 0)}}},
		"drained": {want: model.Group{Draining: place(1)}, have: []model.Server{is(1, 0)}},
		"draining, weights are kept": {want: model.Group{Draining: place(1), KeepWeights: true},
			have: []model.Server{is(1, 100)}, plan: ChangeServers{Remove: []model.Server{is(1, 100)}}},
		"another's drains": {want: model.Group{Draining: place(1)}, have: []model.Server{ecs(1, 30080, 100, "by hand")}},
		"interface is known later": {want: model.Group{Servers: []model.Server{eni("", "10.0.0.1")},
			Unresolved: []string{"10.0.0.1"}}, have: []model.Server{eni("eni-1", "10.0.0.1")}},
		"interface is of another pod": {want: model.Group{Servers: []model.Server{eni("", "10.0.0.1")},
			Unresolved: []string{"10.0.0.1"}}, have: []model.Server{eni("eni-1", "10.0.0.2")},
			plan: ChangeServers{Remove: []model.Server{eni("eni-1", "10.0.0.2")}}},
		"instance beside an interface": {want: model.Group{Servers: []model.Server{eni("", "10.0.0.1")},
			Unresolved: []string{"10.0.0.1"}}, have: []model.Server{is(1, 100)}, plan: ChangeServers{Remove: []model.Server{is(1, 100)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, o := observed()
			test.want.Name = ours
			d.Groups, o.Groups[0].Servers = []model.Group{test.want}, test.have
			var want Phase
			if len(test.plan.Add)+len(test.plan.Update)+len(test.plan.Remove) > 0 {
				test.plan.GroupID, test.plan.Name = "rsp-1", ours
				want = Phase{test.plan}
			}
			var got Phase
			for action := range Diff(d, o).Actions() {
				got = append(got, action)
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if p, ok := DiffServers(d, o); !ok || gocmp.Diff(Diff(d, o), p) != "" {
				t.Errorf("with the groups alone, the plan is another: %t\n%s", ok, p)
			}
		})
	}
}

// TestNewGroupHasOnlyServersThatAreKnown: a pod whose network interface isn't found comes later.
func TestNewGroupHasOnlyServersThatAreKnown(t *testing.T) {
	t.Parallel()
	d, o := observed()
	eni := ecs(2, 30080, 100, us().Group("30080"))
	eni.ID, eni.IP, eni.Type = "", "10.0.0.1", model.ENI
	d.Groups[0].Servers = append(d.Groups[0].Servers, eni)
	o.Groups, o.Listeners = nil, nil
	wantPlan(t, Diff(d, o), "1. create server group k8s/30080/web/default/c with 1 servers\n2. create listener 80/http")
}

// TestGroupsOfOneName: the cloud allows them. The one that a listener uses stays, or else that with the lower id, in
// whatever order they are listed.
func TestGroupsOfOneName(t *testing.T) {
	t.Parallel()
	name := us().Group("30080")
	group := func(id string) model.Group {
		return model.Group{ID: id, Name: name, Servers: []model.Server{ecs(1, 30080, 100, name)}}
	}
	for _, test := range []struct {
		groups   []string
		use, old string // ids of the group that the listener uses, and of the one that goes
	}{
		{[]string{"rsp-1", "rsp-2"}, "rsp-1", "rsp-2"}, {[]string{"rsp-2", "rsp-1"}, "rsp-1", "rsp-2"},
		{[]string{"rsp-1", "rsp-2"}, "rsp-2", "rsp-1"}, {[]string{"rsp-2", "rsp-1"}, "rsp-2", "rsp-1"},
		{[]string{"rsp-1", "rsp-2"}, "", "rsp-2"}, {[]string{"rsp-2", "rsp-1"}, "", "rsp-2"},
	} {
		d, o := observed()
		o.Groups = []model.Group{group(test.groups[0]), group(test.groups[1])}
		config(o.Listeners[0].Config).ServerGroupId = new(test.use)
		if test.use == "" {
			d.Listeners, o.Listeners = nil, nil
		}
		want := []Phase{{DeleteGroup{GroupID: test.old, Name: name, Servers: group("").Servers}}}
		if diff := gocmp.Diff(want, Diff(d, o).Phases); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test, diff)
		}
	}
}

// TestUsersListenerKeepsItsServers: pods become the backends, and so the group has another name. Only the user can send the listener there.
func TestUsersListenerKeepsItsServers(t *testing.T) {
	t.Parallel()
	const create = "1. create server group k8s/8080/web/default/c with 1 servers\n"
	for name, test := range map[string]struct {
		change func(*model.Desired, *model.Observed)
		want   string
	}{
		"forwards to it": {func(*model.Desired, *model.Observed) {}, create +
			"refused: listener 80/http still forwards to server group k8s/30080/web/default/c, " +
			"whose servers stay as they are; let it forward to the new server group of the Service"},
		"forwards elsewhere": {func(_ *model.Desired, o *model.Observed) { config(o.Listeners[0].Config).ServerGroupId = new("rsp-9") },
			create + "2. delete server group k8s/30080/web/default/c"},
		"of a port that is gone": {func(d *model.Desired, _ *model.Observed) { d.Former = []string{us().Group("30081")} },
			create + "2. change servers of k8s/30080/web/default/c: add 0, remove 1, update 0"},
		"listeners are ours": {func(d *model.Desired, o *model.Observed) {
			d.Reuse.Listeners = true
			config(o.Listeners[0].Config).Description = new(us().Listener(80))
			d.Listeners = []model.Listener{{Key: o.Listeners[0].Key, Group: us().Group("8080"),
				Config: &slbv1.ListenerConfig{Description: new(us().Listener(80))}}}
		}, create + "2. change listener 80/http: server group\n3. delete server group k8s/30080/web/default/c"},
	} {
		d, o := observed()
		d.Reuse, o.Reused = model.Reuse{ID: "lb-1"}, true
		d.Groups[0].Name, d.Listeners, d.Former = us().Group("8080"), nil, []string{us().Group("30080")}
		config(o.Listeners[0].Config).Description = new("by hand")
		test.change(d, &o)
		wantPlan(t, Diff(d, o), test.want)
		if t.Failed() {
			t.Fatalf("that was %q", name)
		}
	}
}

// TestFollowServersWithUnknownWeights: a new server gets the weight of the others.
func TestFollowServersWithUnknownWeights(t *testing.T) {
	t.Parallel()
	ours := us().Group("30080")
	for name, test := range map[string]struct {
		keep bool
		have []model.Server
		want []model.Server
	}{
		"of one of ours": {true, []model.Server{ecs(1, 30080, 7, ours)}, []model.Server{ecs(2, 30080, 7, ours)}},
		"of others it isn't": {true, []model.Server{ecs(9, 30080, 7, "by hand")}, []model.Server{ecs(1, 30080, 100, ours),
			ecs(2, 30080, 100, ours)}},
		"others stand before it": {true, []model.Server{ecs(9, 30080, 7, "by hand"), ecs(1, 30080, 8, ours)},
			[]model.Server{ecs(2, 30080, 8, ours)}},
		"the weights are known": {false, []model.Server{ecs(1, 30080, 100, ours), ecs(9, 30080, 7, "by hand")},
			[]model.Server{ecs(2, 30080, 100, ours)}},
	} {
		d, o := observed()
		d.Groups[0].Servers, d.Groups[0].KeepWeights = append(d.Groups[0].Servers, ecs(2, 30080, 100, ours)), test.keep
		o.Groups[0].Servers = test.have
		want := Plan{Phases: []Phase{{ChangeServers{GroupID: "rsp-1", Name: ours, Add: test.want}}}}
		if diff := gocmp.Diff(want, FollowServers(d, o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if d.Groups[0].Servers[0].Weight != 100 || d.Groups[0].Servers[1].Weight != 100 {
			t.Errorf("%s: the input was changed", name)
		}
	}
}

// TestMappedGroupOfAService: a vServer group that was made for a Service is filled by nobody else, wherever it stands in the list.
func TestMappedGroupOfAService(t *testing.T) {
	t.Parallel()
	d, o := observed()
	d.Reuse, o.Reused = model.Reuse{ID: "lb-1", Listeners: true}, true
	d.Groups[0].ID, d.Groups[0].Name, d.Listeners[0].Group = "rsp-u", "rsp-u", "rsp-u"
	o.Groups = []model.Group{{ID: "rsp-u", Name: "k8s/1/api/default/c"}, o.Groups[0]}
	wantPlan(t, Diff(d, o),
		"refused: annotation vgroup-port names server group rsp-u, which was made for a Service (k8s/1/api/default/c); "+
			"name one that was made by hand")
	if _, ok := DiffServers(d, o); ok {
		t.Error("the refusal is not reported if only the servers are compared")
	}
	wantPlan(t, FollowServers(d, o), "")
}
