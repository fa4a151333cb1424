package plan_test

import (
	"strings"
	"testing"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// builtIn is the id of the group that every load balancer has: no id of a product's, as what matters is that it is
// built in.
const builtIn = "built-in"

// TestDefaultGroup: it is filled as a user's vServer group is, never made and never deleted.
func TestDefaultGroup(t *testing.T) {
	t.Parallel()
	mine := us().Group("default")
	wish := func(servers ...model.Server) model.Group {
		return model.Group{ID: builtIn, Name: builtIn, BuiltIn: true, Servers: servers}
	}
	for name, test := range map[string]struct {
		change func(d *model.Desired, o *model.Observed)
		want   string
	}{
		"of a new load balancer": {func(d *model.Desired, o *model.Observed) {
			d.Groups = append(d.Groups, wish(ecs(1, 0, 100, mine)))
			*o = model.Nothing()
		}, "1. create load balancer \n2. create server group k8s/30080/web/default/c with 1 servers\n2. change servers of " +
			"built-in: add 1, remove 0, update 0\n3. create listener 80/http"},
		"in place": {func(d *model.Desired, o *model.Observed) {
			d.Groups, o.Groups = append(d.Groups, wish(ecs(1, 0, 100, mine))), append(o.Groups, wish(ecs(1, 0, 100, mine), ecs(9, 0, 7, "")))
		}, ""},
		"put there by hand": {func(d *model.Desired, o *model.Observed) {
			d.Groups, o.Groups = append(d.Groups, wish(ecs(1, 0, 100, mine))), append(o.Groups, wish(ecs(1, 0, 7, ""), ecs(2, 0, 7, "by hand")))
		}, ""},
		"others": {func(d *model.Desired, o *model.Observed) {
			d.Groups, o.Groups = append(d.Groups, wish(ecs(1, 0, 50, mine), ecs(2, 0, 50, mine))),
				append(o.Groups, wish(ecs(1, 0, 100, mine), ecs(3, 0, 100, mine), ecs(9, 0, 7, "")))
		}, "1. change servers of built-in: add 1, remove 1, update 1"},
		"asked for no more": {func(d *model.Desired, o *model.Observed) {
			d.Groups, o.Groups = append(d.Groups, wish()), append(o.Groups, wish(ecs(1, 0, 100, mine), ecs(9, 0, 7, "")))
		}, "1. change servers of built-in: add 0, remove 1, update 0"},
		"asked for no more, on a user's": {func(d *model.Desired, o *model.Observed) {
			o.Groups, d.Reuse = append(o.Groups, wish(ecs(1, 0, 100, mine), ecs(9, 0, 7, ""))),
				model.Reuse{ID: "lb-1", Listeners: true, Filled: []string{builtIn}}
		}, "1. change servers of built-in: add 0, remove 1, update 0"},
		"never asked for": {func(_ *model.Desired, o *model.Observed) {
			o.Groups = append(o.Groups, wish(ecs(1, 0, 100, mine), ecs(9, 0, 7, "")))
		}, ""},
	} {
		d, o := observed()
		test.change(d, &o)
		p := Diff(d, o)
		wantPlan(t, p, test.want)
		if t.Failed() {
			t.Fatalf("that was %q", name)
		}
		if got, want := p.FillsBuiltIn(), strings.Contains(test.want, "servers of built-in"); got != want {
			t.Errorf("%s: fills the built-in group: %t, want %t", name, got, want)
		}
		for action := range p.Actions() {
			action.Effect(&o, Result{Instance: &slbv1.LoadBalancer{LoadBalancerId: "lb-1"}, GroupID: "rsp-1"})
		}
		wantPlan(t, Diff(d, o), "")
	}
	// Without servers it is none that lacks them: it has what the other groups have.
	d, o := observed()
	d.Groups, o.Groups = append(d.Groups, wish()), append(o.Groups, wish(ecs(1, 0, 100, mine)))
	if idle, _ := plan.Idle(d, o); len(idle) > 0 {
		t.Errorf("%q would have no server", idle)
	}
	// What was not read is not taken for empty.
	d, o = observed()
	if d.Groups = append(d.Groups, wish(ecs(1, 0, 100, mine))); Knows(d, o) {
		t.Error("the group was not read")
	}
	if _, ok := DiffServers(d, o); ok {
		t.Error("the group was not read, but its servers are compared")
	}
	wantPlan(t, FollowServers(d, o), "")
	o.Groups = append(o.Groups, wish())
	if !Knows(d, o) {
		t.Error("the group was read")
	}
}
