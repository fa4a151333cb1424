package reuse

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

func owner() ownership.Owner {
	return ownership.Owner{Service: "web", Namespace: "default", ClusterID: "c-1"}
}

// observed is a CLB with an address and the tags key, value, key, value and so on.
func observed(id, address string, tags ...string) model.Observed {
	lb := &slbv1.LoadBalancer{LoadBalancerId: id, Address: address}
	for i := 0; i < len(tags); i += 2 {
		lb.Tags = append(lb.Tags, &commonv1.Tag{Key: tags[i], Value: tags[i+1]})
	}
	return model.Observed{InstanceID: id, Instance: lb}
}

// wantRefusal checks that a refusal says this, or that there is none where nothing is wanted.
func wantRefusal(t *testing.T, got *Refusal, again time.Duration, texts ...string) {
	t.Helper()
	switch {
	case (got != nil) != (len(texts) > 0):
		t.Errorf("got %v, want one: %t", got, len(texts) > 0)
	case got == nil:
	case got.Again != again:
		t.Errorf("looks again after %s, want %s", got.Again, again)
	default:
		for _, text := range texts {
			if !strings.Contains(got.Error(), text) {
				t.Errorf("%q doesn't say %q", got, text)
			}
		}
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	others := map[string]string{"nlb-": "is an NLB: make another one"}
	wantRefusal(t, Missing("lb-1", others), 5*time.Minute, "there is no load balancer lb-1",
		"alibaba-cloud-loadbalancer-id", "or make the load balancer")
	wantRefusal(t, Missing("nlb-1", others), 5*time.Minute, "load balancer nlb-1 is an NLB: make another one")
}

func TestMade(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tags []string
		want []string
	}{
		"by hand":             {},
		"by hand, with a tag": {tags: []string{"team", "web"}},
		"reused before":       {tags: []string{ownership.TagReused, "true"}},
		"for a Service":       {tags: []string{ownership.TagService, "a1"}, want: []string{"as its tag " + ownership.TagService + " says"}},
		"for a cluster":       {tags: []string{ownership.TagCluster, "c-1"}, want: []string{"as its tag " + ownership.TagCluster + " says"}},
		"with a tag of no one": {
			tags: []string{ownership.TagService, ""}, want: []string{"load balancer lb-1 belongs to a cluster or a Service"},
		},
	} {
		t.Run(name, func(t *testing.T) { wantRefusal(t, Made(observed("lb-1", "", tt.tags...)), 0, tt.want...) })
	}
}

func TestElsewhere(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		asks              bool
		asked, group, has string
		want              []string
	}{
		"nothing is asked": {asked: "rg-1", group: "rg-2"},
		"the same":         {asks: true, asked: "rg-1", group: "rg-1"},
		"another": {asks: true, asked: "rg-1", group: "rg-2", has: "lb-2",
			want: []string{`"rg-2"`, `"rg-1"`, "correct or remove"}},
		"another, but already there": {asks: true, asked: "rg-1", group: "rg-2", has: "lb-1"},
	} {
		t.Run(name, func(t *testing.T) {
			want := &model.Desired{}
			if tt.asks {
				want.Instance.ResourceGroup = tt.asked
			}
			named := observed("lb-1", "")
			named.Instance = &slbv1.LoadBalancer{ResourceGroupId: tt.group}
			wantRefusal(t, Elsewhere(Service{RecordedID: tt.has}, want, named), 0, tt.want...)
		})
	}
}

func TestTaken(t *testing.T) {
	t.Parallel()
	const next = "kubectl -n default patch service web --subresource=status"
	for name, tt := range map[string]struct {
		published []string
		eip       bool
		own       string
		want      []string
	}{
		"new":                                  {},
		"new, with a load balancer of its own": {own: "lb-9"},
		"there already":                        {published: []string{"1.1.1.1"}},
		"there and elsewhere":                  {published: []string{"2.2.2.2", "1.1.1.1"}},
		"by a host name":                       {published: []string{"2.2.2.2", ""}},
		"by an EIP":                            {published: []string{"2.2.2.2"}, eip: true},
		"elsewhere": {published: []string{"2.2.2.2"},
			want: []string{"publishes 2.2.2.2, which is not the address of load balancer lb-1", next}},
		"on its own": {published: []string{"2.2.2.2"}, own: "lb-9",
			want: []string{"has load balancer lb-9 of its own", "load balancer lb-9 is released", next}},
		"on its own, with the address": {published: []string{"1.1.1.1"}, own: "lb-9", want: []string{"has load balancer lb-9 of its own"}},
		"on its own, published by an EIP": {
			published: []string{"2.2.2.2"}, eip: true, own: "lb-9", want: []string{"has load balancer lb-9 of its own"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			svc := Service{Namespace: "default", Name: "web", Published: tt.published, ShowsBound: tt.eip}
			wantRefusal(t, Taken(svc, observed("lb-1", "1.1.1.1"), observed(tt.own, "")), 0, tt.want...)
		})
	}
}

func TestGone(t *testing.T) {
	t.Parallel()
	svc := Service{Namespace: "default", Name: "web", RecordedID: "lb-1"}
	wantRefusal(t, Gone(svc, true), 0)
	svc.Published = []string{"1.1.1.1"}
	wantRefusal(t, Gone(svc, false), 0,
		"load balancer lb-1, which is noted on the Service, was not made for it", "alibaba-cloud-loadbalancer-id")
	wantRefusal(t, Gone(svc, true), 0, "the load balancer lb-1 of this Service is gone", "kubectl -n default patch service web")
}

func TestInVain(t *testing.T) {
	t.Parallel()
	claims := ownership.Claims{{LoadBalancer: "lb-1"}}
	for name, tt := range map[string]struct {
		claims ownership.Claims
		tags   []string
		want   bool
	}{
		"by hand":                       {},
		"by hand, claimed":              {claims: claims},
		"of a cluster":                  {tags: []string{ownership.TagCluster, "c-1"}, want: true},
		"of a cluster since it has one": {claims: claims, tags: []string{ownership.TagCluster, "c-1"}},
		"its own":                       {tags: []string{ownership.TagService, "auid"}, want: true},
		"its own, with a note":          {claims: claims, tags: []string{ownership.TagService, "auid"}, want: true},
		"another's, with a note":        {claims: claims, tags: []string{ownership.TagService, "aother"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := InVain("uid", tt.claims, observed("lb-1", "", tt.tags...)); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func server(id string) model.ServerKey { return model.ServerKey{ID: id} }

// mine and others are servers whose descriptions say for whom they are there.
func mine(weight int32) model.Server {
	return model.Server{ServerKey: server("i-1"), Weight: weight, Description: owner().Group("80")}
}

func others() model.Server {
	return model.Server{ServerKey: server("i-2"), Weight: 7, Description: "by hand"}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	want := func(id string, groups ...model.Group) *model.Desired {
		return &model.Desired{Owner: owner(), Reuse: model.Reuse{ID: id, Listeners: true}, Groups: groups}
	}
	filled := observed("lb-1", "")
	filled.Groups = []model.Group{
		{ID: "rsp-2", Name: "by hand", Servers: []model.Server{others(), mine(1)}},
		{ID: "rsp-3", Name: "another's", Servers: []model.Server{others()}},
		{ID: "rsp-4", Name: owner().Group("80"), Servers: []model.Server{mine(1)}},
	}
	for name, tt := range map[string]struct {
		want        *model.Desired
		claim, kept string
	}{
		"one of its own": {want: want("", model.Group{ID: "rsp-1"})},
		"a user's": {want: want("lb-1", model.Group{Name: "k8s/80"}), claim: "lb-1,lb-1/listeners",
			kept: "lb-1,lb-1/listeners,lb-1/rsp-2"},
		"a user's, and its groups": {want: want("lb-1", model.Group{ID: "rsp-1"}), claim: "lb-1,lb-1/listeners,lb-1/rsp-1",
			kept: "lb-1,lb-1/listeners,lb-1/rsp-1,lb-1/rsp-2"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Claim(tt.want).String(); got != tt.claim {
				t.Errorf("claim %q, want %q", got, tt.claim)
			}
			if got := Kept(tt.want, filled).String(); got != tt.kept {
				t.Errorf("kept %q, want %q", got, tt.kept)
			}
		})
	}
}

func TestRemains(t *testing.T) {
	t.Parallel()
	o := owner()
	left := observed("lb-1", "")
	if got := Remains(o, left); got != "" {
		t.Errorf("%q remains of nothing", got)
	}
	left.Groups = []model.Group{{Name: "by hand"}, {Name: o.Group("80")}}
	left.Listeners = []model.Listener{
		{Config: &slbv1.ListenerConfig{Description: new("by hand")}}, {Config: &slbv1.ListenerConfig{Description: new(o.Listener(80))}},
	}
	if got, want := Remains(o, left), "server group k8s/80/web/default/c-1, listener k8s/80/web/default/c-1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnywhere(t *testing.T) {
	t.Parallel()
	own := []model.Group{{Name: "a"}, {Name: "b"}}
	names := func(d *model.Desired) string {
		if d == nil {
			return "nowhere"
		}
		var all []string
		for _, g := range d.Groups {
			all = append(all, g.Name)
		}
		return strings.Join(all, " ")
	}
	wanted := []model.Group{{Name: "b"}, {Name: "c"}}
	for name, tt := range map[string]struct {
		id     string
		claims ownership.Claims
		want   string
	}{
		"from a user's to one of its own":      {claims: ownership.Claims{{LoadBalancer: "lb-1"}}, want: "b c"},
		"from nowhere known to one of its own": {want: "nowhere"},
		"to a user's":                          {id: "lb-1", want: "b c a"},
	} {
		t.Run(name, func(t *testing.T) {
			want := &model.Desired{Reuse: model.Reuse{ID: tt.id}, Groups: wanted}
			if got := names(Anywhere(want, own, tt.claims)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if names(want) != "b c" {
				t.Error("what is wanted was changed")
			}
		})
	}
}

func TestWithFilled(t *testing.T) {
	t.Parallel()
	port80 := model.Group{Name: owner().Group("80"), Servers: []model.Server{{ServerKey: server("i-1"), Weight: 100},
		{ServerKey: server("i-3"), Weight: 100}}}
	port443 := model.Group{Name: owner().Group("443"), Servers: []model.Server{{ServerKey: server("i-1"), Weight: 100}}}
	want := &model.Desired{Owner: owner(), Groups: []model.Group{port80, port443, {ID: "rsp-1", Name: "rsp-1"}}}
	there := observed("lb-1", "")
	there.Groups = []model.Group{
		{ID: "rsp-0", Name: "by hand", Servers: []model.Server{others()}},
		{ID: "rsp-1", Name: "named", Servers: []model.Server{mine(5)}},
		{ID: "rsp-2", Name: "named before", Servers: []model.Server{others(), mine(5)}},
		{ID: "rsp-5", Name: "named before, too", Servers: []model.Server{mine(6), others()}},
		{ID: "rsp-3", Name: owner().Group("80"), Servers: []model.Server{mine(5)}},
		{ID: "rsp-4", Name: "of a port that is gone", Servers: []model.Server{{ServerKey: server("i-1"), Description: owner().Group("81")}}},
	}
	got := WithFilled(want, nil, there)
	filled := func(id string, weight int32) model.Group {
		servers := []model.Server{{ServerKey: server("i-1"), Weight: weight}, {ServerKey: server("i-3"), Weight: weight}}
		return model.Group{ID: id, Name: id, KeepWeights: true, Servers: servers}
	}
	if diff := cmp.Diff(append(want.Groups[:3:3], filled("rsp-2", 5), filled("rsp-5", 6)), got.Groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if len(want.Groups) != 3 || want.Groups[0].Servers[0].Weight != 100 {
		t.Error("what is wanted was changed")
	}
}

// TestWithFilledByClaims: a group in which nothing is the Service's any more is filled for its only port, if it is noted that it was.
func TestWithFilledByClaims(t *testing.T) {
	t.Parallel()
	port80 := model.Group{Name: owner().Group("80"), Servers: []model.Server{{ServerKey: server("i-1"), Weight: 100}}}
	port443 := model.Group{Name: owner().Group("443"), Servers: port80.Servers}
	there := observed("lb-1", "")
	of := model.Server{ServerKey: server("i-2"), Weight: 5, Description: "k8s/30080/another/default/" + owner().ClusterID}
	there.Groups = []model.Group{
		{ID: "rsp-1", Name: "empty"},
		{ID: "rsp-2", Name: "of another Service", Servers: []model.Server{others(), of}},
		{ID: "rsp-3", Name: "not noted"},
		{ID: "built-in", Name: "built-in", BuiltIn: true},
	}
	claims := ownership.ParseClaims("lb-1/rsp-1,lb-1/rsp-2,lb-1/built-in,lb-2/rsp-3")
	filled := func(id string, weight int32) model.Group {
		return model.Group{ID: id, Name: id, KeepWeights: true, Servers: []model.Server{{ServerKey: server("i-1"), Weight: weight}}}
	}
	for _, test := range []struct {
		ports  []model.Group
		mapped map[string]string
		want   []model.Group
	}{
		{[]model.Group{port80}, nil, []model.Group{port80, filled("rsp-1", 100), filled("rsp-2", 5)}},
		{[]model.Group{port80, port443}, nil, []model.Group{port80, port443}}, // Which of them was it?
		{[]model.Group{port80, port443}, map[string]string{"rsp-2": port443.Name, "rsp-3": port80.Name},
			[]model.Group{port80, port443, filled("rsp-2", 5)}},
	} {
		got := WithFilled(&model.Desired{Owner: owner(), Groups: test.ports, Mapped: test.mapped}, claims, there)
		if diff := cmp.Diff(test.want, got.Groups); diff != "" {
			t.Errorf("%d ports (-want +got):\n%s", len(test.ports), diff)
		}
	}
}
