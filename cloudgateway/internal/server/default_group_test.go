package server

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// defaultServers makes servers on the instances from first on.
func defaultServers(first, count int) []*slbv1.DefaultServer {
	list := make([]*slbv1.DefaultServer, count)
	for i := range list {
		list[i] = &slbv1.DefaultServer{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: instanceID(first + i), Weight: new(int32(100))}
	}
	return list
}

func weighing(weight int32, list []*slbv1.DefaultServer) []*slbv1.DefaultServer {
	for _, s := range list {
		s.Weight = new(weight)
	}
	return list
}

// defaultGroup reads the default server group now.
func (w *world) defaultGroup(t *testing.T, lb string) []*slbv1.DefaultServer {
	t.Helper()
	answer, err := w.ServerGroups.GetDefaultServerGroup(t.Context(), &slbv1.GetDefaultServerGroupRequest{LoadBalancerId: lb})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetServers()
}

// TestDefaultServerChanges on a group of the first 20 instances: the end, and the calls it takes.
func TestDefaultServerChanges(t *testing.T) {
	const add, set, remove, look = "AddBackendServers", "SetBackendServers", "RemoveBackendServers", "DescribeLoadBalancerAttribute"
	tests := []struct {
		name    string
		request *slbv1.ApplyDefaultServerChangesRequest
		calls   []string
		want    []*slbv1.DefaultServer
	}{
		{name: "nothing", request: &slbv1.ApplyDefaultServerChangesRequest{}, want: defaultServers(0, 20)},
		{
			name:    "all leftovers go",
			request: &slbv1.ApplyDefaultServerChangesRequest{Remove: defaultServers(0, 20)}, calls: []string{remove},
		},
		{
			name:    "more than a call takes",
			request: &slbv1.ApplyDefaultServerChangesRequest{Add: defaultServers(20, 45)}, calls: []string{add, add}, want: defaultServers(0, 65),
		},
		{
			name: "everything, and nothing is emptier meanwhile", // the cloud can't replace servers here
			request: &slbv1.ApplyDefaultServerChangesRequest{
				Add: defaultServers(20, 1), Remove: defaultServers(0, 1), Update: weighing(5, defaultServers(1, 1)),
			},
			calls: []string{add, set, remove}, want: slices.Concat(weighing(5, defaultServers(1, 1)), defaultServers(2, 19)),
		},
		{
			name: "at the quota",
			request: &slbv1.ApplyDefaultServerChangesRequest{
				Add: defaultServers(20, 1), Remove: defaultServers(0, 1), RemoveFirst: true,
			},
			calls: []string{remove, add}, want: defaultServers(1, 20),
		},
		{
			name:    "some are there already",
			request: &slbv1.ApplyDefaultServerChangesRequest{Add: weighing(7, defaultServers(19, 2))},
			calls:   []string{add, look, add, set}, want: slices.Concat(defaultServers(0, 19), weighing(7, defaultServers(19, 2))),
		},
		{
			name:    "gone already",
			request: &slbv1.ApplyDefaultServerChangesRequest{Remove: defaultServers(90, 1)}, calls: []string{remove}, want: defaultServers(0, 20),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			lb := w.createBalancer(t, "lb-1")
			prepare := &slbv1.ApplyDefaultServerChangesRequest{LoadBalancerId: lb, Add: defaultServers(0, 20)}
			if _, err := w.ServerGroups.ApplyDefaultServerChanges(t.Context(), prepare); err != nil {
				t.Fatal(err)
			}
			w.forget()
			tt.request.LoadBalancerId = lb
			answer, err := w.ServerGroups.ApplyDefaultServerChanges(t.Context(), tt.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.calls, w.actions(true)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if got, want := int(answer.GetCloudCalls()), len(w.actions(false)); got != want {
				t.Errorf("the answer says %d calls, made %d", got, want)
			}
			got := w.defaultGroup(t, lb)
			if diff := cmp.Diff(tt.want, got, protocmp.Transform(), protocmp.IgnoreFields(&slbv1.DefaultServer{}, "server_ip")); diff != "" {
				t.Errorf("group (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDefaultServerThatIsUnknown: the others don't wait for it.
func TestDefaultServerThatIsUnknown(t *testing.T) {
	w := newWorld(t)
	lb := w.createBalancer(t, "lb-1")
	servers := defaultServers(0, 3)
	servers[1].ServerId = "i-gone"
	_, err := w.ServerGroups.ApplyDefaultServerChanges(t.Context(), &slbv1.ApplyDefaultServerChangesRequest{LoadBalancerId: lb, Add: servers})
	wantNotFound(t, err, rpcerr.ServerNotFound)
	if got := w.defaultGroup(t, lb); len(got) != 2 {
		t.Errorf("the group is %v, want the two that there are", got)
	}
}

// TestDefaultServerGroupReads: of any instance, remembered until the gateway changes it, and serving where a listener says so.
func TestDefaultServerGroupReads(t *testing.T) {
	w := newWorld(t)
	_, err := w.ServerGroups.GetDefaultServerGroup(t.Context(), &slbv1.GetDefaultServerGroupRequest{LoadBalancerId: "lb-gone"})
	wantNotFound(t, err, rpcerr.LoadBalancerNotFound)
	lb := w.createBalancer(t, "lb-1")
	read := func() (servers, calls int) {
		w.forget()
		answer, err := w.ServerGroups.GetDefaultServerGroup(t.Context(), &slbv1.GetDefaultServerGroupRequest{
			LoadBalancerId: lb, MaxAge: durationpb.New(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(answer.GetServers()), len(w.actions(true))
	}
	if servers, calls := read(); servers != 0 || calls != 1 {
		t.Errorf("%d servers in %d calls, want none in 1", servers, calls)
	}
	if _, calls := read(); calls != 0 {
		t.Errorf("%d calls for what is known", calls)
	}
	eni := &slbv1.DefaultServer{Type: slbv1.ServerType_SERVER_TYPE_ENI, Weight: new(int32(3)), Description: "pod"}
	w.sim.View(func(c *state.Cloud) {
		for id, n := range c.Interfaces {
			if n.InstanceID == instanceID(7) {
				eni.ServerId, eni.ServerIp = id, n.PrimaryIP
			}
		}
	})
	add := &slbv1.ApplyDefaultServerChangesRequest{LoadBalancerId: lb, Add: []*slbv1.DefaultServer{eni}}
	if _, err := w.ServerGroups.ApplyDefaultServerChanges(t.Context(), add); err != nil {
		t.Fatal(err)
	}
	if servers, calls := read(); servers != 1 || calls != 1 {
		t.Errorf("%d servers in %d calls after a change, want 1 in 1", servers, calls)
	}
	if diff := cmp.Diff([]*slbv1.DefaultServer{eni}, w.defaultGroup(t, lb), protocmp.Transform()); diff != "" {
		t.Errorf("group (-want +got):\n%s", diff)
	}
	key := &slbv1.ListenerKey{LoadBalancerId: lb, Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP}
	cfg := &slbv1.ListenerConfig{BackendServerPort: new(int32(8080))}
	if _, err := w.Listeners.CreateListener(t.Context(), &slbv1.CreateListenerRequest{Key: key, Config: cfg}); err != nil {
		t.Fatal(err)
	}
	w.wantListener(t, key, cfg)
	answer, err := w.ServerHealth.ListServerHealth(t.Context(), &slbv1.ListServerHealthRequest{LoadBalancerId: lb})
	if diff := cmp.Diff([]string{"80/TCP " + eni.GetServerId() + ":8080 normal"}, healthTexts(answer)); err != nil || diff != "" {
		t.Errorf("%v, health (-want +got):\n%s", err, diff)
	}
}
