package plan_test

import (
	"strings"
	"testing"

	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// TestBeside: what leads to a load balancer goes before it, what it uses goes after it, and what is another's, is
// used or may be a copy stays.
func TestBeside(t *testing.T) {
	t.Parallel()
	owner := ownership.Owner{Service: "web", Namespace: "default", ClusterID: "c-1"}
	server := func(description string) []model.Server {
		return []model.Server{{ServerKey: model.ServerKey{Type: model.ECS, ID: "i-1", Port: 30080}, Description: description}}
	}
	name := owner.Dotted("30080", "tcp")
	there := model.Observed{
		InstanceID: "nlb-1",
		Bound:      []model.Bound{{ID: "eip-1", Ours: true, To: "nlb-1"}, {ID: "eip-2", Others: true}},
		Groups: []model.Group{
			{ID: "sgp-1", Name: name, Servers: server(name)}, {ID: "sgp-2", Name: name, Servers: server("by hand")},
			{ID: "sgp-3", Name: "mine"}, {ID: "sgp-4", Name: name, Servers: server(name)},
		},
		Lists:  []model.AccessList{{ID: "sg-1", Name: "k8s-nlb-a"}},
		Failed: []model.Thing{{Kind: model.ThingFailed, ID: "nlb-0", Name: "a"}},
	}
	all := plan.Beside{
		Owner: owner, Binding: &model.Binding{Made: true}, Kind: clb.Product{}, GroupsApart: true,
		Used: map[string]bool{"sgp-4": true},
	}
	const failed = "delete load balancer nlb-0, which could not be made"
	preserved := all
	preserved.Preserve = true
	notApart := all
	notApart.GroupsApart = false
	copied := there.Clone()
	copied.Lists = append(copied.Lists, model.AccessList{ID: "sg-2", Name: "k8s-nlb-a"})
	for what, tt := range map[string]struct {
		b           plan.Beside
		o           model.Observed
		first, last string
	}{
		"all": {all, there, "unbind EIP eip-1; release EIP eip-1",
			"delete server group " + name + "; " + failed + "; delete access list k8s-nlb-a"},
		"preserved": {preserved, there, "", failed + "; take the marks off access list k8s-nlb-a"},
		"groups are parts of the load balancer": {notApart, there, "unbind EIP eip-1; release EIP eip-1",
			failed + "; delete access list k8s-nlb-a"},
		"a copy of the list": {all, copied, "unbind EIP eip-1; release EIP eip-1",
			"delete server group " + name + "; " + failed},
		"nothing": {plan.Beside{}, model.Nothing(), "", ""},
	} {
		first, last := tt.b.Release(tt.o)
		text := func(p plan.Plan) string {
			var list []string
			for a := range p.Actions() {
				list = append(list, a.String())
			}
			return strings.Join(list, "; ")
		}
		if got := text(first); got != tt.first {
			t.Errorf("%s: before it goes %q", what, got)
		}
		if got := text(last); got != tt.last {
			t.Errorf("%s: after it %q", what, got)
		}
	}
	left := strings.Join(all.Left(model.Observed{
		Groups: []model.Group{{ID: "sgp-1", Name: name, Held: true}, {ID: "sgp-4", Name: name},
			{ID: "sgp-3", Name: "mine", Held: true},
			{ID: "sgp-5", Name: name, Servers: []model.Server{{Description: "mine"}}}},
		Lists:  []model.AccessList{{ID: "sg-1", Name: "k8s-nlb-a", Held: true}},
		Failed: []model.Thing{{ID: "nlb-0", Held: true}, {ID: "nlb-9"}},
	}), "; ")
	for _, part := range []string{
		"without the servers of the Service, as something else", "without the servers of the Service, as it has others",
		"with its servers", "sg-1), as something else uses it", "nlb-0",
	} {
		if !strings.Contains(left, part) {
			t.Errorf("%q isn't in what is left: %s", part, left)
		}
	}
	if strings.Contains(left, "mine") || strings.Contains(left, "nlb-9") {
		t.Errorf("what isn't left is told: %s", left)
	}
}
