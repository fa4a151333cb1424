package lb

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// TestNobodys: of the names on a user's load balancer those are nobody's that were made for a Service of this cluster
// which is gone. Nothing is said of the Service's own, of other clusters, and of what people have named.
func TestNobodys(t *testing.T) {
	t.Parallel()
	of := func(service, cluster string) ownership.Owner {
		return ownership.Owner{Service: service, Namespace: "default", ClusterID: cluster}
	}
	listener := func(description string) model.Listener {
		return model.Listener{Config: &slbv1.ListenerConfig{Description: &description}}
	}
	there := model.Observed{
		Listeners: []model.Listener{listener(of("web", "c-1").Listener(80)), listener(of("gone", "c-1").Listener(81)),
			listener(of("gone", "c-2").Listener(82)), listener("by hand"), listener(of("there", "c-1").Listener(83))},
		Groups: []model.Group{{ID: "rsp-1", Name: of("web", "c-1").Group("30080")},
			{ID: "rsp-2", Name: of("gone", "c-1").Group("30081")}},
		OtherGroups: map[string]string{"rsp-3": of("gone", "c-1").Dotted("30081", "tcp"), "rsp-4": "mine"},
	}
	asked := map[string]int{}
	exists := func(_ context.Context, namespace, name string, _ func(*corev1.Service) bool) (bool, error) {
		asked[namespace+"/"+name]++
		return name != "gone", nil
	}
	r := reader{clusterID: "c-1"}
	found, err := r.withNobodys(t.Context(), exists, of("web", "c-1"), there)
	if err != nil {
		t.Fatal(err)
	}
	gone := of("gone", "c-1")
	want := []string{gone.Dotted("30081", "tcp"), gone.Group("30081"), gone.Listener(81)}
	if got := slices.Sorted(maps.Keys(found.Nobodys)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("nobody's are %q", got)
	}
	if !maps.Equal(asked, map[string]int{"default/gone": 1, "default/there": 1}) {
		t.Errorf("asked for %v", asked)
	}
	_, err = r.withNobodys(t.Context(), func(context.Context, string, string, func(*corev1.Service) bool) (bool, error) {
		return false, errors.New("no answer")
	}, of("web", "c-1"), there)
	if err == nil {
		t.Error("what isn't known is taken for gone")
	}
	if found, err := r.withNobodys(t.Context(), nil, of("web", "c-1"), there); err != nil || len(found.Nobodys) > 0 {
		t.Errorf("without a way to ask: %v, %v", found.Nobodys, err)
	}
}

// TestServesSomebody: what serves stays, whoever has made it.
func TestServesSomebody(t *testing.T) {
	t.Parallel()
	owner := ownership.Owner{Service: "gone", Namespace: "default", ClusterID: "c-1"}
	there := func(group string, servers int, forwardsTo string) model.Observed {
		return model.Observed{
			Groups: []model.Group{{ID: "rsp-1", Name: group, Servers: make([]model.Server, servers)}},
			Listeners: []model.Listener{{
				Config: &slbv1.ListenerConfig{Description: new(owner.Listener(443)), ServerGroupId: &forwardsTo},
			}},
		}
	}
	for what, tt := range map[string]struct {
		o    model.Observed
		want bool
	}{
		"an empty group of its own":  {there(owner.Group("30443"), 0, "rsp-1"), false},
		"a server":                   {there(owner.Group("30443"), 1, "rsp-1"), true},
		"a group that isn't its own": {there("mine", 0, "rsp-1"), true},
		"a group that wasn't read":   {there(owner.Group("30443"), 0, "rsp-9"), true},
		"nothing":                    {model.Observed{}, false},
		"a redirect": {model.Observed{Listeners: []model.Listener{{
			LeadsTo: 443, Config: &slbv1.ListenerConfig{Description: new(owner.Listener(80)), ForwardPort: new(int32(443))},
		}}}, true},
	} {
		if got := servesSomebody(owner, tt.o); got != tt.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}
