package server

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
)

// createBalancer makes an intranet instance and gives its id.
func (w *world) createBalancer(t *testing.T, requestID string) string {
	t.Helper()
	answer, err := w.LoadBalancers.CreateLoadBalancer(t.Context(), balancerRequest(requestID))
	if err != nil {
		t.Fatalf("create load balancer: %v", err)
	}
	return answer.GetLoadBalancer().GetLoadBalancerId()
}

func balancerRequest(requestID string) *slbv1.CreateLoadBalancerRequest {
	return &slbv1.CreateLoadBalancerRequest{
		RequestId: requestID, Name: "web", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTRANET,
		VpcId: testVPC, VswitchId: testVSwitch, Spec: "slb.s1.small",
		InstanceChargeType:     slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC,
		DeleteProtection:       true,
		ModificationProtection: &slbv1.ModificationProtection{Enabled: true, Reason: "managed.by.ack"},
		Tags:                   []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-1"}, {Key: "kubernetes.do.not.delete", Value: "web"}},
	}
}

func (w *world) createGroup(t *testing.T, lb string, servers ...*slbv1.Server) string {
	t.Helper()
	answer, err := w.ServerGroups.CreateServerGroup(t.Context(), groupRequest(lb, servers...))
	if err != nil {
		t.Fatalf("create vServer group: %v", err)
	}
	return answer.GetServerGroupId()
}

func groupRequest(lb string, servers ...*slbv1.Server) *slbv1.CreateServerGroupRequest {
	return &slbv1.CreateServerGroupRequest{RequestId: "group-" + lb, LoadBalancerId: lb, Name: "k8s/80/web", Servers: servers}
}

func listenerRequest(lb, group string) *slbv1.CreateListenerRequest {
	return &slbv1.CreateListenerRequest{
		Key: &slbv1.ListenerKey{LoadBalancerId: lb, Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP},
		Config: &slbv1.ListenerConfig{
			Description: new("k8s/80/web"), ServerGroupId: new(group), Scheduler: new("rr"),
			HealthCheck: &slbv1.HealthCheck{Interval: proto.Int32(4)},
		},
	}
}

// ids are what a test works on.
type ids struct{ lb, group string }

func withGroup(t *testing.T, w *world) ids {
	t.Helper()
	lb := w.createBalancer(t, "lb-1")
	return ids{lb: lb, group: w.createGroup(t, lb, ecsServers(0, 30)...)}
}

func withListener(t *testing.T, w *world) ids {
	t.Helper()
	at := withGroup(t, w)
	if _, err := w.Listeners.CreateListener(t.Context(), listenerRequest(at.lb, at.group)); err != nil {
		t.Fatal(err)
	}
	return at
}

func TestColdCreateTakesFourCalls(t *testing.T) {
	w := newWorld(t)
	lb := w.createBalancer(t, "lb-1")
	group := w.createGroup(t, lb, ecsServers(0, 20)...)
	if _, err := w.Listeners.CreateListener(t.Context(), listenerRequest(lb, group)); err != nil {
		t.Fatalf("create listener: %v", err)
	}
	want := []string{"CreateLoadBalancer", "CreateVServerGroup", "CreateLoadBalancerTCPListener", "StartLoadBalancerListener"}
	if diff := cmp.Diff(want, w.actions(true)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if _, err := w.LoadBalancers.UpdateLoadBalancer(t.Context(), &slbv1.UpdateLoadBalancerRequest{
		LoadBalancerId: lb, DeleteProtection: new(false),
	}); err != nil {
		t.Fatal(err)
	}
	w.forget()
	if _, err := w.LoadBalancers.DeleteLoadBalancer(t.Context(), &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: lb}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"DeleteLoadBalancer"}, w.actions(true)); diff != "" {
		t.Errorf("calls of the deletion (-want +got):\n%s", diff)
	}
}

func TestServerChangesTakeTheFewestCalls(t *testing.T) {
	const modify, add, remove, set = "ModifyVServerGroupBackendServers", "AddVServerGroupBackendServers",
		"RemoveVServerGroupBackendServers", "SetVServerGroupAttribute"
	tests := []struct {
		name    string
		request *slbv1.ApplyServerChangesRequest
		want    []string
	}{
		{name: "nothing", request: &slbv1.ApplyServerChangesRequest{}},
		{name: "one more node", request: &slbv1.ApplyServerChangesRequest{Add: ecsServers(50, 1)}, want: []string{add}},
		{
			name:    "forty more nodes", // what a burst of joining nodes costs
			request: &slbv1.ApplyServerChangesRequest{Add: ecsServers(50, 40)}, want: []string{add},
		},
		{
			name:    "more than a call takes",
			request: &slbv1.ApplyServerChangesRequest{Add: ecsServers(50, 45)}, want: []string{add, add},
		},
		{
			name:    "a rolling update",
			request: &slbv1.ApplyServerChangesRequest{Add: ecsServers(50, 10), Remove: ecsServers(0, 10)}, want: []string{modify},
		},
		{name: "gone already", request: &slbv1.ApplyServerChangesRequest{Remove: ecsServers(90, 1)}, want: []string{remove}},
		{
			name:    "replacement of one that is gone already",
			request: &slbv1.ApplyServerChangesRequest{Add: ecsServers(50, 1), Remove: ecsServers(90, 1)},
			want:    []string{modify, "DescribeVServerGroupAttribute", add},
		},
		{
			name:    "of two, with one node more", // of which none needs to be there
			request: &slbv1.ApplyServerChangesRequest{Add: ecsServers(50, 3), Remove: ecsServers(89, 2)},
			want:    []string{add, remove},
		},
		{
			name: "at the quota",
			request: &slbv1.ApplyServerChangesRequest{
				Add: ecsServers(50, 2), Remove: ecsServers(0, 2), Update: ecsServers(10, 1), RemoveFirst: true,
			},
			want: []string{remove, add, set},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tt.request.LoadBalancerId = w.createBalancer(t, "lb-1")
			tt.request.ServerGroupId = w.createGroup(t, tt.request.GetLoadBalancerId(), ecsServers(0, 20)...)
			w.forget()
			answer, err := w.ServerGroups.ApplyServerChanges(t.Context(), tt.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, w.actions(true)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if got, want := int(answer.GetCloudCalls()), len(w.actions(false)); got != want {
				t.Errorf("the answer says %d calls, made %d", got, want)
			}
		})
	}
}

// TestTooManyServersInACall: the gateway learns what the account may send.
func TestTooManyServersInACall(t *testing.T) {
	w := newWorld(t, func(c *openapisim.Config) { c.Settings.ServersPerCall = 8 })
	lb := w.createBalancer(t, "lb-1")
	w.forget()
	group := w.createGroup(t, lb, ecsServers(0, 10)...)
	for _, first := range []int{20, 40} {
		if _, err := w.ServerGroups.ApplyServerChanges(t.Context(), &slbv1.ApplyServerChangesRequest{
			LoadBalancerId: lb, ServerGroupId: group, Add: ecsServers(first, 10),
		}); err != nil {
			t.Fatal(err)
		}
	}
	// 10 are too many, 5 are not, and so they stay: a creation that is refused, an empty one, an addition that is refused, and
	// three times two additions.
	if got := len(w.actions(false)); got != 9 {
		t.Errorf("%d writes, want 9: %q", got, w.actions(false))
	}
}

func TestFullViewReadsTheSelectedGroups(t *testing.T) {
	w := newWorld(t)
	lb := w.createBalancer(t, "lb-1")
	group := w.createGroup(t, lb, ecsServers(0, 3)...)
	foreign, err := w.ServerGroups.CreateServerGroup(t.Context(), &slbv1.CreateServerGroupRequest{
		RequestId: "foreign", LoadBalancerId: lb, Name: "by-hand", Servers: ecsServers(5, 2),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Listeners.CreateListener(t.Context(), listenerRequest(lb, group)); err != nil {
		t.Fatal(err)
	}
	w.forget()
	answer, err := w.LoadBalancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{
		LoadBalancerId: lb, View: slbv1.View_VIEW_FULL, ServerGroupNamePrefixes: []string{"k8s/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := answer.GetLoadBalancer()
	if len(got.GetListeners()) != 1 || len(got.GetServerGroups()) != 2 || len(got.GetTags()) != 2 {
		t.Fatalf("got %v", got)
	}
	for _, g := range got.GetServerGroups() {
		own := g.GetServerGroupId() == group
		if g.GetServersLoaded() != own || (len(g.GetServers()) == 3) != own || g.GetServerCount() == 0 {
			t.Errorf("group %s (by hand: %t): %v", g.GetName(), g.GetServerGroupId() == foreign.GetServerGroupId(), g)
		}
	}
	want := []string{
		"DescribeLoadBalancerListeners", "DescribeLoadBalancers", "DescribeVServerGroupAttribute", "DescribeVServerGroups",
	}
	calls := w.actions(true)
	slices.Sort(calls)
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}

	w.strike(t, fault.Rule{Action: "DescribeVServerGroups", Error: &fault.Error{Status: 403, Code: "Forbidden.RAM", Message: "no"}})
	if _, err := w.LoadBalancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{
		LoadBalancerId: lb, View: slbv1.View_VIEW_FULL,
	}); rpcerr.ReasonOf(err) != rpcerr.CloudForbidden {
		t.Errorf("a part could not be read: got %v, want CLOUD_FORBIDDEN", err)
	}
}

func TestReadsOfWhatIsNotThere(t *testing.T) {
	w := newWorld(t)
	lb := w.createBalancer(t, "lb-1")
	_, err := w.LoadBalancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-gone"})
	wantNotFound(t, err, rpcerr.LoadBalancerNotFound)
	_, err = w.ServerGroups.GetServerGroup(t.Context(), &slbv1.GetServerGroupRequest{ServerGroupId: "rsp-gone"})
	wantNotFound(t, err, rpcerr.ServerGroupNotFound)
	_, err = w.Listeners.UpdateListener(t.Context(), &slbv1.UpdateListenerRequest{
		Key:    &slbv1.ListenerKey{LoadBalancerId: lb, Port: 1, Protocol: slbv1.Protocol_PROTOCOL_TCP},
		Config: &slbv1.ListenerConfig{Scheduler: new("rr")},
	})
	wantNotFound(t, err, rpcerr.ListenerNotFound)
	answer, err := w.LoadBalancers.ListLoadBalancers(t.Context(), &slbv1.ListLoadBalancersRequest{
		LoadBalancerIds: []string{"lb-gone", lb}, Tags: []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-1"}},
	})
	if err != nil || len(answer.GetLoadBalancers()) != 1 {
		t.Errorf("got %v, %v, want the one that exists", answer.GetLoadBalancers(), err)
	}
	// Deleting what is gone is a success.
	for _, err := range []error{
		second(w.LoadBalancers.DeleteLoadBalancer(t.Context(), &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: "lb-gone"})),
		second(w.Listeners.DeleteListener(t.Context(), &slbv1.DeleteListenerRequest{
			Key: &slbv1.ListenerKey{LoadBalancerId: lb, Port: 1, Protocol: slbv1.Protocol_PROTOCOL_TCP},
		})),
		second(w.ServerGroups.DeleteServerGroup(t.Context(), &slbv1.DeleteServerGroupRequest{
			LoadBalancerId: lb, ServerGroupId: "rsp-gone",
		})),
	} {
		if err != nil {
			t.Errorf("deletion of what is gone: %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func wantNotFound(t *testing.T, err error, reason rpcerr.Reason) {
	t.Helper()
	if !rpcerr.IsNotFound(err) || rpcerr.ReasonOf(err) != reason {
		t.Errorf("got %v, want %s", err, reason)
	}
}

func TestRefusalsThatTheCallerDecidesAbout(t *testing.T) {
	w := newWorld(t)
	at := withListener(t, w)
	_, err := w.LoadBalancers.DeleteLoadBalancer(t.Context(), &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: at.lb})
	if rpcerr.ReasonOf(err) != rpcerr.DeleteProtected {
		t.Errorf("got %v, want DELETE_PROTECTED", err)
	}
	_, err = w.ServerGroups.DeleteServerGroup(t.Context(), &slbv1.DeleteServerGroupRequest{LoadBalancerId: at.lb, ServerGroupId: at.group})
	if rpcerr.ReasonOf(err) != rpcerr.ServerGroupInUse {
		t.Errorf("got %v, want SERVER_GROUP_IN_USE", err)
	}
	_, err = w.Listeners.CreateListener(t.Context(), listenerRequest(at.lb, at.group))
	if rpcerr.ReasonOf(err) != rpcerr.ListenerExists {
		t.Errorf("got %v, want LISTENER_EXISTS", err)
	}
	other := balancerRequest("lb-1")
	other.Name = "other"
	_, err = w.LoadBalancers.CreateLoadBalancer(t.Context(), other)
	if rpcerr.ReasonOf(err) != rpcerr.IdempotencyMismatch {
		t.Errorf("got %v, want IDEMPOTENCY_MISMATCH", err)
	}
}

// TestGroupCreationIsRecognised: the cloud would make a second group of the same name. A repetition that comes after a failure
// completes the group of the first request, or makes another one if that is gone.
func TestGroupCreationIsRecognised(t *testing.T) {
	w := newWorld(t)
	lb := w.createBalancer(t, "lb-1")
	for _, gone := range []bool{false, true} {
		r := groupRequest(lb, ecsServers(0, 45)...)
		r.RequestId = fmt.Sprintf("gone-%t", gone)
		w.strike(t, fault.Rule{Action: "AddVServerGroupBackendServers", Times: 1, Error: &fault.Error{Status: 400, Code: "Throttling.User"}})
		if _, err := w.ServerGroups.CreateServerGroup(t.Context(), r); rpcerr.ReasonOf(err) != rpcerr.Throttled {
			t.Fatalf("got %v, want THROTTLED", err)
		}
		list, err := w.ServerGroups.ListServerGroups(t.Context(), &slbv1.ListServerGroupsRequest{LoadBalancerId: lb})
		if err != nil || len(list.GetServerGroups()) != 1 {
			t.Fatalf("got %v, %v, want the group that was begun", list.GetServerGroups(), err)
		}
		begun := list.GetServerGroups()[0].GetServerGroupId()
		remove := func(id string) {
			if _, err := w.ServerGroups.DeleteServerGroup(t.Context(),
				&slbv1.DeleteServerGroupRequest{LoadBalancerId: lb, ServerGroupId: id}); err != nil {
				t.Fatal(err)
			}
		}
		if gone {
			remove(begun)
		}
		answer, err := w.ServerGroups.CreateServerGroup(t.Context(), r)
		if err != nil || (answer.GetServerGroupId() == begun) == gone {
			t.Errorf("gone: %t; repeated: got %s, %v, the first was %s", gone, answer.GetServerGroupId(), err, begun)
		}
		remove(answer.GetServerGroupId())
	}
}

// TestGroupThatCanNotBeIdentified: after a lost answer the group is looked for. One of the same name that was there before, or that has
// other servers or tags, is never taken for it.
func TestGroupThatCanNotBeIdentified(t *testing.T) {
	owner := []*commonv1.Tag{{Key: "owner", Value: "web"}}
	servers := ecsServers(0, 2)
	group := func(tags []*commonv1.Tag, servers ...*slbv1.Server) func(lb string) *slbv1.CreateServerGroupRequest {
		return func(lb string) *slbv1.CreateServerGroupRequest {
			r := groupRequest(lb, servers...)
			r.Tags = tags
			return r
		}
	}
	tests := []struct {
		name          string
		before, asked func(lb string) *slbv1.CreateServerGroupRequest
		carriedOut    bool
		want          rpcerr.Reason
		writes        int
	}{
		{name: "other servers", before: group(owner, ecsServers(10, 2)...), asked: group(owner, servers...), carriedOut: true, writes: 1},
		{name: "other servers, not carried out", before: group(owner, ecsServers(10, 2)...), asked: group(owner, servers...), writes: 2},
		{name: "none, and some asked for", before: group(owner), asked: group(owner, servers...), carriedOut: true, writes: 1},
		{name: "none, and some asked for, not carried out", before: group(owner), asked: group(owner, servers...), writes: 2},
		{name: "none", before: group(owner), asked: group(owner), carriedOut: true, writes: 1},
		{name: "none, not carried out", before: group(owner), asked: group(owner), writes: 2},
		{name: "no tags", before: group(nil, servers...), asked: group(owner, servers...), writes: 2},
		{name: "more tags", before: group(owner, servers...), asked: group(nil, servers...), writes: 2},
		{
			name: "the same in everything", before: group(owner, servers...), asked: group(owner, servers...), carriedOut: true, writes: 1,
			want: rpcerr.OutcomeUnknown,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			lb := w.createBalancer(t, "lb-1")
			foreign := tt.before(lb)
			foreign.RequestId = "by-hand"
			before, err := w.ServerGroups.CreateServerGroup(t.Context(), foreign)
			if err != nil {
				t.Fatal(err)
			}
			lost := fault.Rule{Action: "CreateVServerGroup", Times: 1, Drop: true}
			if tt.carriedOut {
				lost.When = fault.After
			}
			w.strike(t, lost)
			w.forget()
			made, err := w.ServerGroups.CreateServerGroup(t.Context(), tt.asked(lb))
			if rpcerr.ReasonOf(err) != tt.want || (err == nil) != (tt.want == "") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if made.GetServerGroupId() == before.GetServerGroupId() {
				t.Errorf("took %s, which was there before", before.GetServerGroupId())
			}
			if writes := w.actions(false); len(writes) != tt.writes {
				t.Errorf("writes %q, want %d", writes, tt.writes)
			}
			if list, err := w.ServerGroups.ListServerGroups(t.Context(), &slbv1.ListServerGroupsRequest{LoadBalancerId: lb}); err != nil ||
				len(list.GetServerGroups()) != 2 {
				t.Errorf("groups %v, %v, want two", list, err)
			}
		})
	}
}

// TestWritesToOneInstanceTakeTurns: in a cloud that refuses a second change while it makes the first, no call is in vain.
func TestWritesToOneInstanceTakeTurns(t *testing.T) {
	w := newWorld(t)
	lb := w.createBalancer(t, "lb-1")
	w.strike(t, fault.Rule{Action: "CreateVServerGroup", When: fault.Before, Latency: api.Duration(5 * time.Millisecond)})
	w.forget()
	var calls sync.WaitGroup
	for i := range 10 {
		calls.Go(func() {
			r := groupRequest(lb, ecsServers(i, 1)...)
			r.Name, r.RequestId = fmt.Sprintf("group-%d", i), fmt.Sprintf("r-%d", i)
			if _, err := w.ServerGroups.CreateServerGroup(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if got := len(w.actions(true)); got != 10 {
		t.Errorf("%d calls, want 10", got)
	}
}

// TestOwnWritesAreSeen: what is remembered for callers who accept an age ends with the gateway's own writes.
func TestOwnWritesAreSeen(t *testing.T) {
	w := newWorld(t)
	at := withGroup(t, w)
	read := func() (names []string, servers int) {
		age := durationpb.New(time.Hour)
		lb, err := w.LoadBalancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{
			LoadBalancerId: at.lb, View: slbv1.View_VIEW_FULL, MaxAge: age,
		})
		if err != nil {
			t.Fatal(err)
		}
		list, err := w.LoadBalancers.ListLoadBalancers(t.Context(), &slbv1.ListLoadBalancersRequest{
			LoadBalancerIds: []string{at.lb}, MaxAge: age,
		})
		if err != nil {
			t.Fatal(err)
		}
		names = []string{lb.GetLoadBalancer().GetName(), list.GetLoadBalancers()[0].GetName()}
		return names, len(lb.GetLoadBalancer().GetServerGroups()[0].GetServers())
	}
	read()
	w.forget()
	if read(); len(w.actions(true)) != 0 {
		t.Errorf("calls %q for what is known", w.actions(true))
	}
	if _, err := w.LoadBalancers.UpdateLoadBalancer(t.Context(), &slbv1.UpdateLoadBalancerRequest{
		LoadBalancerId: at.lb, Name: new("new"),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ServerGroups.ApplyServerChanges(t.Context(), &slbv1.ApplyServerChangesRequest{
		LoadBalancerId: at.lb, ServerGroupId: at.group, Remove: ecsServers(0, 1),
	}); err != nil {
		t.Fatal(err)
	}
	names, servers := read()
	if diff := cmp.Diff([]string{"new", "new"}, names); diff != "" || servers != 29 {
		t.Errorf("names (-want +got):\n%s%d servers, want 29", diff, servers)
	}
}
