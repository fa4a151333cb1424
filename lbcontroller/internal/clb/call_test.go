package clb

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

func wanted(ports ...int32) *model.Desired {
	owner := ownership.Owner{Service: "web", Namespace: "default", ClusterID: "c"}
	d := &model.Desired{Owner: owner, UID: "u",
		Instance: model.Instance{Spec: &slbv1.CreateLoadBalancerRequest{Name: "web", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET}}}
	for _, port := range ports {
		name := owner.Group(fmt.Sprint(30000 + port))
		d.Listeners = append(d.Listeners, model.Listener{Key: model.ListenerKey{Port: port, Protocol: model.TCP}, Group: name,
			Config: &slbv1.ListenerConfig{Description: new(owner.Listener(port)), Scheduler: new("rr"), BandwidthMbps: proto.Int32(-1)}})
		d.Groups = append(d.Groups, model.Group{Name: name})
	}
	return d
}

// TestRemembersWhatIsThere compares what the effects of the actions say with what the cloud says.
func TestRemembersWhatIsThere(t *testing.T) {
	t.Parallel()
	f := newCloud(t)
	p := Product{Gateway: f.Client()}
	now := model.Nothing()
	var recorded string
	for _, d := range []*model.Desired{wanted(80, 443), wanted(443, 8080), wanted()} {
		var err error
		now, err = apply.Apply(t.Context(), p, apply.Work{
			Plan: plan.Diff(Product{}, d, now), Observed: now, Life: apply.Life{ClusterID: "c", UID: "u"},
			Created: func(_ context.Context, id string) error { recorded = id; return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		read, err := p.Read(t.Context(), now.InstanceID, observe.Extent{View: observe.Full})
		if err != nil {
			t.Fatal(err)
		}
		if changes := plan.Diff(Product{}, d, read); !changes.Empty() {
			t.Errorf("what is there differs from what is wanted:\n%s", changes)
		}
		if len(read.Groups) != len(now.Groups) || len(read.Listeners) != len(now.Listeners) {
			t.Errorf("remembered %d groups and %d listeners, there are %d and %d", len(now.Groups), len(now.Listeners),
				len(read.Groups), len(read.Listeners))
		}
	}
	if recorded != now.InstanceID {
		t.Errorf("recorded %q, got %q", recorded, now.InstanceID)
	}
}

func TestFailureDoesNotHoldBackTheOthers(t *testing.T) {
	t.Parallel()
	f := newCloud(t)
	f.Fail("CreateServerGroup", 1, &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable})
	_, err := apply.Apply(t.Context(), Product{Gateway: f.Client()},
		apply.Work{Plan: plan.Diff(Product{}, wanted(80, 443), model.Nothing()), Observed: model.Nothing()})
	if rpcerr.ReasonOf(err) != rpcerr.CloudUnavailable {
		t.Errorf("got %v", err)
	}
	if got := len(f.CallsOf("CreateServerGroup")); got != 2 {
		t.Errorf("%d groups tried, want 2", got)
	}
	if got := len(f.CallsOf("CreateListener")); got != 1 {
		t.Errorf("%d listeners tried, want that of the group that there is", got)
	}
}

func TestUnrecordedInstanceStopsTheWork(t *testing.T) {
	t.Parallel()
	f := newCloud(t)
	broken := errors.New("the API server is away")
	_, err := apply.Apply(t.Context(), Product{Gateway: f.Client()}, apply.Work{
		Plan: plan.Diff(Product{}, wanted(80), model.Nothing()), Observed: model.Nothing(), Created: func(context.Context,
			string) error {
			return broken
		},
	})
	if !errors.Is(err, broken) || len(f.CallsOf("CreateServerGroup")) > 0 {
		t.Errorf("got %v", err)
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	spec := &slbv1.CreateLoadBalancerRequest{Name: "a"}
	id := func(l apply.Life, s *slbv1.CreateLoadBalancerRequest) string {
		got, err := l.RequestID(s)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	base := apply.Life{ClusterID: "c", UID: "u", Generation: "", Replaces: ""}
	seen := map[string]bool{id(base, spec): true}
	for name, other := range map[string]string{
		"cluster": id(apply.Life{ClusterID: "d", UID: "u"}, spec), "uid": id(apply.Life{ClusterID: "c", UID: "v"}, spec),
		"generation": id(apply.Life{ClusterID: "c", UID: "u", Generation: "1"}, spec),
		"replaces":   id(apply.Life{ClusterID: "c", UID: "u", Replaces: "lb-1"}, spec),
		"content":    id(base, &slbv1.CreateLoadBalancerRequest{Name: "b"}),
	} {
		if seen[other] || len(other) > 64 {
			t.Errorf("%s: id %q", name, other)
		}
		seen[other] = true
	}
	if diff := cmp.Diff(id(base, spec), id(base, proto.CloneOf(spec))); diff != "" {
		t.Errorf("the same life and content differ: %s", diff)
	}
	if first, second := groupRequestID(), groupRequestID(); first == second {
		t.Error("two groups share a request id")
	}
}

// TestRequestOfManyServers: a thousand servers are made at once, in order, and the list isn't changed.
func TestRequestOfManyServers(t *testing.T) {
	list := make([]model.Server, 1000)
	for n := range list {
		list[n] = model.Server{ServerKey: model.ServerKey{ID: fmt.Sprintf("i-%04d", n)}}
	}
	var made []*slbv1.Server
	if allocs := testing.AllocsPerRun(10, func() { made = servers(list) }); allocs > 10 {
		t.Errorf("%v allocations", allocs)
	}
	list[0], list[999] = list[999], list[0]
	for n, s := range servers(list) {
		if s.GetServerId() != made[n].GetServerId() {
			t.Fatalf("server %d is %s", n, s.GetServerId())
		}
	}
	if list[0].ID != "i-0999" {
		t.Error("the list is in another order")
	}
}
