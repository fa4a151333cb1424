package clb

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

const name = "a5e4dbfc9c2ae4642b0335607860aef6"

// newCloud is a cloud with an instance and nothing else.
func newCloud(t *testing.T) *inprocess.Cloud {
	t.Helper()
	seed := state.New("cn-hangzhou", "")
	seed.Vpcs["vpc-test"] = &state.Vpc{CidrBlock: "192.168.0.0/16"}
	seed.VSwitches["vsw-1"] = &state.VSwitch{VpcID: "vpc-test", ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.0.0/18"}
	seed.Instances["i-1"] = &state.Instance{VpcID: "vpc-test", VSwitchID: "vsw-1", ZoneID: "cn-hangzhou-h", Status: "Running",
		PrivateIPs: []string{"192.168.0.1"}}
	return inprocess.New(t, "vpc-test", seed)
}

// seed puts an instance with one listener and two vServer groups into the cloud.
func seed(f *inprocess.Cloud, id, lbName, tag string) {
	lb := &state.LoadBalancer{Name: lbName, Address: "47.0.0.9", AddressType: "internet", Listeners: []*state.Listener{
		{Port: 80, Protocol: "tcp", Status: "stopped", Attributes: map[string]string{"Scheduler": "rr"}}}}
	if tag != "" {
		lb.Tags = []state.Tag{{Key: ownership.TagService, Value: tag}}
	}
	f.Add(&state.Cloud{LoadBalancers: map[string]*state.LoadBalancer{id: lb}, ServerGroups: map[string]*state.ServerGroup{
		"ours-" + id:   {LoadBalancerID: id, Name: "k8s/30080/web/default/c", Servers: oneServer()},
		"theirs-" + id: {LoadBalancerID: id, Name: "theirs", Servers: oneServer()},
	}})
}

func oneServer() []*state.Server {
	return []*state.Server{{Type: "ecs", ServerID: "i-1", ServerIP: "192.168.0.1", Port: 30080, Weight: 100}}
}

func addTag(f *inprocess.Cloud, key, value string) {
	f.Change(func(c *state.Cloud) {
		c.LoadBalancers["lb-1"].Tags = append(c.LoadBalancers["lb-1"].Tags, state.Tag{Key: key, Value: value})
	})
}

// listenerOf leaves nothing on the instance but a listener that a cluster has made.
func listenerOf(f *inprocess.Cloud, cluster string) {
	f.Change(func(c *state.Cloud) {
		clear(c.ServerGroups)
		c.Recount()
		description := ownership.Owner{Service: "web", Namespace: "default", ClusterID: cluster}.Listener(80)
		c.LoadBalancers["lb-1"].Listeners = []*state.Listener{{Port: 80, Protocol: "tcp", Status: "running",
			Attributes: map[string]string{"Description": description}}}
	})
}

func TestFind(t *testing.T) {
	t.Parallel()
	published := observe.Hint{RecordedID: "lb-1", Addresses: []string{"47.0.0.9"}}
	for what, test := range map[string]struct {
		seed func(*inprocess.Cloud)
		hint observe.Hint
		want string
		fail bool
	}{
		"nothing": {seed: func(*inprocess.Cloud) {}},
		"by recorded id": {seed: func(f *inprocess.Cloud) { seed(f, "lb-1", "x", name) },
			hint: observe.Hint{RecordedID: "lb-1"}, want: "lb-1"},
		"recorded id of another": {seed: func(f *inprocess.Cloud) { seed(f, "lb-1", "x", "other") },
			hint: observe.Hint{RecordedID: "lb-1"}},
		"recorded id without tag":     {seed: func(f *inprocess.Cloud) { seed(f, "lb-1", "x", "") }, hint: observe.Hint{RecordedID: "lb-1"}},
		"untagged, address published": {seed: func(f *inprocess.Cloud) { seed(f, "lb-1", "x", "") }, hint: published},
		"untagged, address and name":  {seed: func(f *inprocess.Cloud) { seed(f, "lb-1", name, "") }, hint: published, want: "lb-1"},
		"untagged, address and cluster": {seed: func(f *inprocess.Cloud) {
			seed(f, "lb-1", "x", "")
			addTag(f,
				ownership.TagCluster, "c")
		}, hint: published, want: "lb-1"},
		"address and another cluster": {seed: func(f *inprocess.Cloud) {
			seed(f, "lb-1", "x", "")
			addTag(f,
				ownership.TagCluster, "d")
		}, hint: published},
		"address, cluster, but reused": {seed: func(f *inprocess.Cloud) {
			seed(f, "lb-1", "x", "")
			addTag(f, ownership.TagCluster, "c")
			addTag(f, ownership.TagReused, "true")
		}, hint: published},
		"cluster, another address": {seed: func(f *inprocess.Cloud) {
			seed(f, "lb-1", "x", "")
			addTag(f,
				ownership.TagCluster, "c")
		}, hint: observe.Hint{RecordedID: "lb-1"}},
		"recorded id is gone, then tag": {seed: func(f *inprocess.Cloud) { seed(f, "lb-2", "x", name) },
			hint: observe.Hint{RecordedID: "lb-1"}, want: "lb-2"},
		"by tag":  {seed: func(f *inprocess.Cloud) { seed(f, "lb-1", "x", name) }, want: "lb-1"},
		"by name": {seed: func(f *inprocess.Cloud) { seed(f, "lb-1", name, "") }, want: "lb-1"},
		"by tag, of another cluster": {seed: func(f *inprocess.Cloud) {
			seed(f, "lb-1", "x", name)
			addTag(f,
				ownership.TagCluster, "d")
		}},
		"recorded, of another cluster": {seed: func(f *inprocess.Cloud) {
			seed(f, "lb-1", "x", name)
			addTag(f,
				ownership.TagCluster, "d")
		}, hint: published},
		"by name, reused": {seed: func(f *inprocess.Cloud) {
			seed(f, "lb-1", name, "")
			addTag(f,
				ownership.TagReused, "true")
		}},
		"by name, but a user's": {seed: func(f *inprocess.Cloud) { seed(f, "lb-1", name, "") },
			hint: observe.Hint{Users: []string{"lb-1"}}},
		"by tag, though a user's": {seed: func(f *inprocess.Cloud) { seed(f, "lb-1", name, name) },
			hint: observe.Hint{Users: []string{"lb-1"}}, want: "lb-1"},
		"recorded, but a user's": {seed: func(f *inprocess.Cloud) { seed(f, "lb-1", name, "") },
			hint: observe.Hint{RecordedID: "lb-1", Addresses: published.Addresses, Users: []string{"lb-1"}}},
		"no cluster, on it another's": {seed: func(f *inprocess.Cloud) { seed(f, "lb-1", "x", name); listenerOf(f, "d") }},
		"no cluster, on it ours": {seed: func(f *inprocess.Cloud) {
			seed(f, "lb-1", "x", name)
			listenerOf(f,
				"c")
		}, want: "lb-1"},
		"recorded, no cluster, on it another's": {seed: func(f *inprocess.Cloud) {
			seed(f, "lb-1", "x", name)
			listenerOf(f,
				"d")
		}, hint: published},
		"two": {seed: func(f *inprocess.Cloud) {
			seed(f, "lb-1", "x", name)
			seed(f,
				"lb-2", "x", name)
		}, fail: true},
		"read fails": {seed: func(f *inprocess.Cloud) {
			seed(f, "lb-1", "x", name)
			f.Fail("GetLoadBalancer", 1, &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable})
		}, hint: observe.Hint{RecordedID: "lb-1"}, fail: true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newCloud(t)
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
			f := newCloud(t)
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
	f := newCloud(t)
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
	f := newCloud(t)
	seed(f, "lb-1", "x", "")
	for id, name := range map[string]string{"old": "k8s/31080/web/default/c", "filled": "users", "another": "k8s/30080/api/default/c"} {
		f.Add(&state.Cloud{ServerGroups: map[string]*state.ServerGroup{id: {LoadBalancerID: "lb-1", Name: name, Servers: oneServer()}}})
	}
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
	f := newCloud(t)
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

// TestHealthOf: a word that is new says nothing about a server.
func TestHealthOf(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]readiness.Health{
		"normal": readiness.Good, "abnormal": readiness.Bad, "unavailable": readiness.Unknown, "warming": readiness.Unknown,
	} {
		if got := healthOf(status); got != want {
			t.Errorf("%q is taken for %d, want %d", status, got, want)
		}
	}
}
