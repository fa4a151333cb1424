package clb

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

const name = "a5e4dbfc9c2ae4642b0335607860aef6"

// seed puts an instance with one listener and two vServer groups into the cloud.
func seed(f *gatewaytest.Fake, id, lbName, tag string) {
	f.Lock()
	defer f.Unlock()
	lb := &slbv1.LoadBalancer{LoadBalancerId: id, Name: lbName, Address: "47.0.0.9"}
	if tag != "" {
		lb.Tags = []*commonv1.Tag{{Key: ownership.TagService, Value: tag}}
	}
	f.LoadBalancers[id] = lb
	f.Listeners[gatewaytest.ListenerKey{LoadBalancerID: id, Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP}] = &slbv1.Listener{
		Key:    &slbv1.ListenerKey{LoadBalancerId: id, Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP},
		Config: &slbv1.ListenerConfig{Scheduler: new("rr")}, Status: "stopped",
	}
	servers := []*slbv1.Server{{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-1", ServerIp: "192.168.0.1",
		Port: 30080, Weight: new(int32(100))}}
	f.ServerGroups["ours-"+id] = &gatewaytest.ServerGroup{ID: "ours-" + id, LoadBalancerID: id,
		Name: "k8s/30080/web/default/c", Servers: servers}
	f.ServerGroups["theirs-"+id] = &gatewaytest.ServerGroup{ID: "theirs-" + id, LoadBalancerID: id, Name: "theirs", Servers: servers}
}

func addTag(f *gatewaytest.Fake, key, value string) {
	f.Lock()
	defer f.Unlock()
	f.LoadBalancers["lb-1"].Tags = append(f.LoadBalancers["lb-1"].GetTags(), &commonv1.Tag{Key: key, Value: value})
}

// listenerOf leaves nothing on the instance but a listener that a cluster has made.
func listenerOf(f *gatewaytest.Fake, cluster string) {
	f.Lock()
	defer f.Unlock()
	clear(f.ServerGroups)
	clear(f.Listeners)
	f.Listeners[gatewaytest.ListenerKey{LoadBalancerID: "lb-1", Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP}] = &slbv1.Listener{
		Key:    &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP},
		Config: &slbv1.ListenerConfig{Description: new(ownership.Owner{Service: "web", Namespace: "default", ClusterID: cluster}.Listener(80))},
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	published := observe.Hint{RecordedID: "lb-1", Addresses: []string{"47.0.0.9"}}
	for what, test := range map[string]struct {
		seed func(*gatewaytest.Fake)
		hint observe.Hint
		want string
		fail bool
	}{
		"nothing": {seed: func(*gatewaytest.Fake) {}},
		"by recorded id": {seed: func(f *gatewaytest.Fake) { seed(f, "lb-1", "x", name) },
			hint: observe.Hint{RecordedID: "lb-1"}, want: "lb-1"},
		"recorded id of another": {seed: func(f *gatewaytest.Fake) { seed(f, "lb-1", "x", "other") },
			hint: observe.Hint{RecordedID: "lb-1"}},
		"recorded id without tag":     {seed: func(f *gatewaytest.Fake) { seed(f, "lb-1", "x", "") }, hint: observe.Hint{RecordedID: "lb-1"}},
		"untagged, address published": {seed: func(f *gatewaytest.Fake) { seed(f, "lb-1", "x", "") }, hint: published},
		"untagged, address and name":  {seed: func(f *gatewaytest.Fake) { seed(f, "lb-1", name, "") }, hint: published, want: "lb-1"},
		"untagged, address and cluster": {seed: func(f *gatewaytest.Fake) {
			seed(f, "lb-1", "x", "")
			addTag(f,
				ownership.TagCluster, "c")
		}, hint: published, want: "lb-1"},
		"address and another cluster": {seed: func(f *gatewaytest.Fake) {
			seed(f, "lb-1", "x", "")
			addTag(f,
				ownership.TagCluster, "d")
		}, hint: published},
		"address, cluster, but reused": {seed: func(f *gatewaytest.Fake) {
			seed(f, "lb-1", "x", "")
			addTag(f, ownership.TagCluster, "c")
			addTag(f, ownership.TagReused, "true")
		}, hint: published},
		"cluster, another address": {seed: func(f *gatewaytest.Fake) {
			seed(f, "lb-1", "x", "")
			addTag(f,
				ownership.TagCluster, "c")
		}, hint: observe.Hint{RecordedID: "lb-1"}},
		"recorded id is gone, then tag": {seed: func(f *gatewaytest.Fake) { seed(f, "lb-2", "x", name) },
			hint: observe.Hint{RecordedID: "lb-1"}, want: "lb-2"},
		"by tag":  {seed: func(f *gatewaytest.Fake) { seed(f, "lb-1", "x", name) }, want: "lb-1"},
		"by name": {seed: func(f *gatewaytest.Fake) { seed(f, "lb-1", name, "") }, want: "lb-1"},
		"by tag, of another cluster": {seed: func(f *gatewaytest.Fake) {
			seed(f, "lb-1", "x", name)
			addTag(f,
				ownership.TagCluster, "d")
		}},
		"recorded, of another cluster": {seed: func(f *gatewaytest.Fake) {
			seed(f, "lb-1", "x", name)
			addTag(f,
				ownership.TagCluster, "d")
		}, hint: published},
		"by name, reused": {seed: func(f *gatewaytest.Fake) {
			seed(f, "lb-1", name, "")
			addTag(f,
				ownership.TagReused, "true")
		}},
		"by name, but a user's": {seed: func(f *gatewaytest.Fake) { seed(f, "lb-1", name, "") },
			hint: observe.Hint{Users: []string{"lb-1"}}},
		"by tag, though a user's": {seed: func(f *gatewaytest.Fake) { seed(f, "lb-1", name, name) },
			hint: observe.Hint{Users: []string{"lb-1"}}, want: "lb-1"},
		"recorded, but a user's": {seed: func(f *gatewaytest.Fake) { seed(f, "lb-1", name, "") },
			hint: observe.Hint{RecordedID: "lb-1", Addresses: published.Addresses, Users: []string{"lb-1"}}},
		"no cluster, on it another's": {seed: func(f *gatewaytest.Fake) { seed(f, "lb-1", "x", name); listenerOf(f, "d") }},
		"no cluster, on it ours": {seed: func(f *gatewaytest.Fake) {
			seed(f, "lb-1", "x", name)
			listenerOf(f,
				"c")
		}, want: "lb-1"},
		"recorded, no cluster, on it another's": {seed: func(f *gatewaytest.Fake) {
			seed(f, "lb-1", "x", name)
			listenerOf(f,
				"d")
		}, hint: published},
		"two": {seed: func(f *gatewaytest.Fake) {
			seed(f, "lb-1", "x", name)
			seed(f,
				"lb-2", "x", name)
		}, fail: true},
		"read fails": {seed: func(f *gatewaytest.Fake) {
			seed(f, "lb-1", "x", name)
			f.Fail("GetLoadBalancer", 1, &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable})
		}, hint: observe.Hint{RecordedID: "lb-1"}, fail: true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := gatewaytest.New(t)
			test.seed(f)
			test.hint.DefaultName, test.hint.ClusterID = name, "c"
			for _, view := range []observe.View{observe.Full, observe.Basic} {
				if view == observe.Basic && test.fail {
					continue // The fault is over.
				}
				got, err := observe.Observer{Reader: Product{Gateway: f.Client()}}.Find(t.Context(), test.hint, view)
				if (err != nil) != test.fail || got.InstanceID != test.want {
					t.Errorf("got %q, %v; want %q, failure %t", got.InstanceID, err, test.want, test.fail)
				}
			}
		})
	}
}

// TestServing: the published address is enough to keep servers right, and for nothing else.
func TestServing(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		tag  string
		hint observe.Hint
		want string
		full bool
	}{
		"our own":    {tag: name, hint: observe.Hint{RecordedID: "lb-1"}, want: "lb-1", full: true},
		"published":  {hint: observe.Hint{RecordedID: "lb-1", Addresses: []string{"47.0.0.9"}}, want: "lb-1"},
		"of another": {tag: "other", hint: observe.Hint{RecordedID: "lb-1"}, full: true},
		"gone":       {hint: observe.Hint{RecordedID: "lb-2", Addresses: []string{"47.0.0.9"}}, full: true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := gatewaytest.New(t)
			seed(f, "lb-1", "x", test.tag)
			test.hint.DefaultName = name
			got, err := observe.Observer{Reader: Product{Gateway: f.Client()}}.Serving(t.Context(), test.hint)
			if err != nil || got.InstanceID != test.want || got.ConfigKnown != test.full {
				t.Fatalf("got %+v, %v", got, err)
			}
			if want := test.want != ""; want != (len(got.Groups) > 0) || (want && test.full) != (len(got.Listeners) > 0) {
				t.Errorf("got %d groups and %d listeners", len(got.Groups), len(got.Listeners))
			}
		})
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	f := gatewaytest.New(t)
	seed(f, "lb-1", "x", name)
	got, err := Product{Gateway: f.Client()}.Read(t.Context(), "lb-1", observe.Extent{View: observe.Full})
	if err != nil {
		t.Fatal(err)
	}
	if !got.ConfigKnown || got.Reused || len(got.Listeners) != 1 || !got.Listeners[0].Stopped || len(got.Groups) != 1 {
		t.Fatalf("got %+v", got)
	}
	for _, g := range got.Groups {
		if len(g.Servers) != 1 || g.Name != "k8s/30080/web/default/c" {
			t.Errorf("group %s: %d servers read", g.Name, len(g.Servers))
		}
		for _, s := range g.Servers {
			if s.IP != "" {
				t.Error("the address of an instance counts as identity")
			}
		}
	}
}

// TestReused: on a CLB that many Services share only what concerns one of them is read, and all of that.
func TestReused(t *testing.T) {
	t.Parallel()
	f := gatewaytest.New(t)
	seed(f, "lb-1", "x", "")
	servers := []*slbv1.Server{{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-1", Port: 30080, Weight: new(int32(100))}}
	f.Lock()
	for id, name := range map[string]string{"old": "k8s/31080/web/default/c", "filled": "users", "another": "k8s/30080/api/default/c"} {
		f.ServerGroups[id] = &gatewaytest.ServerGroup{ID: id, LoadBalancerID: "lb-1", Name: name, Servers: servers}
	}
	f.Unlock()
	owner := ownership.Owner{Service: "web", Namespace: "default", ClusterID: "c"}
	for what, test := range map[string]struct {
		parts observe.Parts
		want  []string
		calls int
	}{
		"expected":     {observe.Parts{Owner: owner, Names: []string{"k8s/30080/web/default/c"}}, []string{"old", "ours-lb-1"}, 2},
		"not expected": {observe.Parts{Owner: owner}, []string{"old", "ours-lb-1"}, 3},
		"filled":       {observe.Parts{Owner: owner, IDs: []string{"filled"}}, []string{"filled", "old", "ours-lb-1"}, 3},
		"of nobody":    {observe.Parts{Owner: ownership.Owner{Service: "none"}}, nil, 1},
	} {
		f.ResetCalls()
		got, err := Product{Gateway: f.Client()}.reused(t.Context(), "lb-1", test.parts)
		if err != nil || !got.Reused || !got.ConfigKnown || len(got.Listeners) != 1 {
			t.Fatalf("%s: got %+v, %v", what, got, err)
		}
		var ids []string
		for _, g := range got.Groups {
			ids = append(ids, g.ID)
			if len(g.Servers) != 1 {
				t.Errorf("%s: group %s has %d servers", what, g.ID, len(g.Servers))
			}
		}
		slices.Sort(ids)
		if diff := cmp.Diff(test.want, ids); diff != "" || len(f.Calls()) != test.calls {
			t.Errorf("%s: %d calls, groups (-want +got):\n%s", what, len(f.Calls()), diff)
		}
	}
	f.Fail("GetServerGroup", 1, &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled})
	if got, err := (Product{Gateway: f.Client()}).reused(t.Context(), "lb-1", observe.Parts{Owner: owner}); err == nil ||
		got.InstanceID != "" {
		t.Errorf("a failed read gives %+v, %v", got, err)
	}
}

// The existing CCM takes a failed read for an empty vServer group.
func TestB02FailedReadIsAnError(t *testing.T) {
	t.Parallel()
	f := gatewaytest.New(t)
	seed(f, "lb-1", "x", name)
	owner := observe.Parts{Owner: ownership.Owner{Service: "web", Namespace: "default", ClusterID: "c"}}
	got, err := Product{Gateway: f.Client()}.groups(t.Context(), "lb-1", owner)
	if err != nil || len(got.Groups) != 1 || got.ConfigKnown {
		t.Fatalf("got %+v, %v", got, err)
	}
	if diff := cmp.Diff("ours-lb-1", got.Groups[0].ID); diff != "" {
		t.Error(diff)
	}
	f.Fail("GetServerGroup", 1, &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled})
	if got, err := (Product{Gateway: f.Client()}).groups(t.Context(), "lb-1", owner); err == nil || len(got.Groups) > 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}
