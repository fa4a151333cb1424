package lb

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// TestFilled: what is told of server groups of users are the Service's own servers in those that it names, and not more
// than fifty.
func TestFilled(t *testing.T) {
	t.Parallel()
	owner := ownership.Owner{Service: "web", Namespace: "default", ClusterID: "c-test"}
	server := func(id, ip, description string) model.Server {
		return model.Server{ServerKey: model.ServerKey{ID: id, IP: ip, Port: 80}, Weight: 5, Description: description}
	}
	var many []model.Server
	for i := range 60 {
		many = append(many, server(fmt.Sprintf("i-%02d", i), "", owner.Group("80")))
	}
	others := ownership.Owner{Service: "web", Namespace: "default", ClusterID: "c-other"}
	for _, c := range []struct {
		name   string
		wanted []model.Group
		there  []model.Group
		want   *controller.Filled
	}{
		{name: "groups of its own", wanted: []model.Group{{Name: "k8s/80/web/default/c-test"}, {ID: "built-in", BuiltIn: true}},
			there: []model.Group{{ID: "rsp-1", Servers: many}}},
		{name: "others are there, too", wanted: []model.Group{{ID: "rsp-1"}},
			there: []model.Group{{ID: "rsp-2", Servers: many}, {ID: "rsp-1", Servers: []model.Server{
				server("i-2", "", "by hand"), server("eni-1", "10.0.0.1", owner.Group("80")), server("i-1", "", others.Group("80")),
			}}}, want: &controller.Filled{Count: 1, Servers: []string{"eni-1/10.0.0.1:80=5"}}},
		{name: "it is gone", wanted: []model.Group{{ID: "rsp-1"}}, want: &controller.Filled{Servers: []string{}}},
	} {
		if diff := cmp.Diff(c.want, filled(&model.Desired{Owner: owner, Groups: c.wanted},
			model.Observed{Groups: c.there})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	got := filled(&model.Desired{Owner: owner, Groups: []model.Group{{ID: "rsp-1"}}},
		model.Observed{Groups: []model.Group{{ID: "rsp-1",
			Servers: many}}})
	if got.Count != len(many) || len(got.Servers) != shownServers {
		t.Errorf("of %d servers %d are told, and %d counted", len(many), len(got.Servers), got.Count)
	}
}
