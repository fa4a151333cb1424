package gatewaytest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/services/gateway/gatewaytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a Fake with one of everything that a load balancer needs.
func world(t *testing.T) *gatewaytest.Fake {
	t.Helper()
	f := gatewaytest.New(t)
	f.VSwitches["vsw-1"] = &vpcv1.VSwitch{VswitchId: "vsw-1", VpcId: "vpc-1"}
	for i := range 30 {
		id := fmt.Sprintf("i-%d", i)
		f.Instances[id] = &ecsv1.Instance{InstanceId: id, VpcId: "vpc-1", PrivateIps: []string{fmt.Sprintf("192.168.0.%d", i)}}
	}
	f.NetworkInterfaces["eni-1"] = &ecsv1.NetworkInterface{
		NetworkInterfaceId: "eni-1", VpcId: "vpc-1", PrimaryIp: "192.168.1.1", PrivateIps: []string{"192.168.1.1", "192.168.1.2"},
	}
	return f
}

// balancer creates an instance and gives its id.
func balancer(t *testing.T, f *gatewaytest.Fake, requestID string) string {
	t.Helper()
	answer, err := f.Client().LoadBalancers.CreateLoadBalancer(t.Context(), &slbv1.CreateLoadBalancerRequest{
		RequestId: requestID, Name: "n", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET,
		Tags: []*commonv1.Tag{{Key: "cluster", Value: "c"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetLoadBalancer().GetLoadBalancerId()
}

func group(t *testing.T, f *gatewaytest.Fake, lb string, servers ...*slbv1.Server) string {
	t.Helper()
	answer, err := f.Client().ServerGroups.CreateServerGroup(t.Context(), &slbv1.CreateServerGroupRequest{
		RequestId: "group-of-" + lb, LoadBalancerId: lb, Name: "k8s/80", Servers: servers,
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetServerGroupId()
}

func ecs(id string) *slbv1.Server {
	return &slbv1.Server{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: id, Port: 30080, Weight: new(int32(100))}
}

func tcp(lb string, port int32) *slbv1.ListenerKey {
	return &slbv1.ListenerKey{LoadBalancerId: lb, Port: port, Protocol: slbv1.Protocol_PROTOCOL_TCP}
}

func TestLifeOfALoadBalancer(t *testing.T) {
	t.Parallel()
	f := world(t)
	ctx, c := t.Context(), f.Client()
	lb := balancer(t, f, "r-1")
	rsp := group(t, f, lb, ecs("i-1"))
	if _, err := c.Listeners.CreateListener(ctx, &slbv1.CreateListenerRequest{
		Key: tcp(lb, 80), Config: &slbv1.ListenerConfig{ServerGroupId: &rsp, AclIds: []string{"acl-1"}},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Listeners.UpdateListener(ctx, &slbv1.UpdateListenerRequest{
		Key: tcp(lb, 80), Config: &slbv1.ListenerConfig{Scheduler: new("wrr"), AclIds: []string{"acl-2"}},
	}); err != nil {
		t.Fatal(err)
	}
	changes, err := c.ServerGroups.ApplyServerChanges(ctx, &slbv1.ApplyServerChangesRequest{
		ServerGroupId: rsp, LoadBalancerId: lb, Add: []*slbv1.Server{ecs("i-2")}, Remove: []*slbv1.Server{ecs("i-1"), ecs("i-9")},
	})
	if err != nil || changes.GetCloudCalls() != 1 {
		t.Errorf("ApplyServerChanges = %v, %v", changes, err)
	}
	got, err := c.LoadBalancers.GetLoadBalancer(ctx, &slbv1.GetLoadBalancerRequest{LoadBalancerId: lb, View: slbv1.View_VIEW_FULL})
	if err != nil {
		t.Fatal(err)
	}
	want := &slbv1.LoadBalancer{
		LoadBalancerId: lb, Name: "n", Address: "47.0.0.1", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET,
		IpVersion: slbv1.IpVersion_IP_VERSION_IPV4, NetworkType: "classic", Status: "active",
		Tags: []*commonv1.Tag{{Key: "cluster", Value: "c"}},
		Listeners: []*slbv1.Listener{{
			Key: tcp(lb, 80), Status: "running",
			Config: &slbv1.ListenerConfig{ServerGroupId: &rsp, AclIds: []string{"acl-2"}, Scheduler: new("wrr")},
		}},
		ServerGroups: []*slbv1.ServerGroup{{
			ServerGroupId: rsp, Name: "k8s/80", ServerCount: 1, ServersLoaded: true, Servers: []*slbv1.Server{ecs("i-2")},
		}},
	}
	if diff := cmp.Diff(want, got.GetLoadBalancer(), protocmp.Transform()); diff != "" {
		t.Errorf("full view (-want +got):\n%s", diff)
	}
	if _, err := c.LoadBalancers.DeleteLoadBalancer(ctx, &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: lb}); err != nil {
		t.Fatal(err)
	}
	f.Lock()
	defer f.Unlock()
	if n := len(f.LoadBalancers) + len(f.Listeners) + len(f.ServerGroups); n != 0 {
		t.Errorf("%d things are left after the deletion", n)
	}
}

func TestCreationIsIdempotent(t *testing.T) {
	t.Parallel()
	f := world(t)
	lost := errors.New("lost")
	f.FailAfter("CreateLoadBalancer", 1, lost)
	request := &slbv1.CreateLoadBalancerRequest{RequestId: "r-1", Name: "n"}
	if _, err := f.Client().LoadBalancers.CreateLoadBalancer(t.Context(), request); err == nil {
		t.Fatal("the answer was not lost")
	}
	if _, err := f.Client().LoadBalancers.CreateLoadBalancer(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	f.Lock()
	if len(f.LoadBalancers) != 1 {
		t.Errorf("%d instances, want 1", len(f.LoadBalancers))
	}
	f.Unlock()
	request.Name = "other"
	_, err := f.Client().LoadBalancers.CreateLoadBalancer(t.Context(), request)
	if rpcerr.ReasonOf(err) != rpcerr.IdempotencyMismatch {
		t.Errorf("other content gives %v", err)
	}
	calls := f.CallsOf("CreateLoadBalancer")
	if len(calls) != 3 || !errors.Is(calls[0].Err, lost) || calls[1].Err != nil || calls[2].Err == nil {
		t.Errorf("calls = %v", calls)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	f := world(t)
	ctx, c := t.Context(), f.Client()
	lb := balancer(t, f, "r-1")
	rsp := group(t, f, lb, ecs("i-1"))
	other := balancer(t, f, "r-2")
	listener := &slbv1.CreateListenerRequest{Key: tcp(lb, 80), Config: &slbv1.ListenerConfig{ServerGroupId: &rsp}}
	if _, err := c.Listeners.CreateListener(ctx, listener); err != nil {
		t.Fatal(err)
	}
	https := &slbv1.ListenerKey{LoadBalancerId: lb, Port: 443, Protocol: slbv1.Protocol_PROTOCOL_HTTPS}
	if _, err := c.Listeners.CreateListener(ctx, &slbv1.CreateListenerRequest{
		Key: https, Config: &slbv1.ListenerConfig{ServerGroupId: &rsp, ServerCertificateId: new("cert")},
	}); err != nil {
		t.Fatal(err)
	}
	redirect := &slbv1.ListenerKey{LoadBalancerId: lb, Port: 8080, Protocol: slbv1.Protocol_PROTOCOL_HTTP}
	if _, err := c.Listeners.CreateListener(ctx, &slbv1.CreateListenerRequest{
		Key: redirect, Config: &slbv1.ListenerConfig{ForwardPort: new(int32(443))},
	}); err != nil {
		t.Fatal(err)
	}
	f.Lock()
	f.LoadBalancers[other].DeleteProtection = true
	f.ServersPerGroup = 2
	f.Unlock()
	key := func(port int32, protocol slbv1.Protocol) *slbv1.ListenerKey {
		return &slbv1.ListenerKey{LoadBalancerId: lb, Port: port, Protocol: protocol}
	}
	create := func(key *slbv1.ListenerKey, config *slbv1.ListenerConfig) error {
		_, err := c.Listeners.CreateListener(ctx, &slbv1.CreateListenerRequest{Key: key, Config: config})
		return err
	}
	apply := func(req *slbv1.ApplyServerChangesRequest) error {
		req.ServerGroupId, req.LoadBalancerId = rsp, lb
		_, err := c.ServerGroups.ApplyServerChanges(ctx, req)
		return err
	}
	for _, tc := range []struct {
		name string
		call func() error
		want rpcerr.Reason // "" for success
	}{
		{name: "taken port", call: func() error { return create(tcp(lb, 80), nil) }, want: rpcerr.ListenerExists},
		{name: "taken port, other TCP protocol", call: func() error {
			return create(key(80, slbv1.Protocol_PROTOCOL_HTTP),
				nil)
		}, want: rpcerr.ListenerExists},
		{name: "UDP beside TCP", call: func() error { return create(key(80, slbv1.Protocol_PROTOCOL_UDP), nil) }},
		{name: "no such group", call: func() error { return create(tcp(lb, 81), &slbv1.ListenerConfig{ServerGroupId: new("rsp-9")}) },
			want: rpcerr.ServerGroupNotFound},
		{name: "group of another instance", call: func() error { return create(tcp(other, 81), &slbv1.ListenerConfig{ServerGroupId: &rsp}) },
			want: rpcerr.ServerGroupNotFound},
		{name: "no such instance", call: func() error { return create(tcp("lb-9", 81), nil) }, want: rpcerr.LoadBalancerNotFound},
		{name: "bad port", call: func() error { return create(tcp(lb, 0), nil) }, want: rpcerr.InvalidField},
		{name: "HTTPS without certificate", call: func() error {
			return create(key(444, slbv1.Protocol_PROTOCOL_HTTPS),
				nil)
		}, want: rpcerr.InvalidField},
		{name: "redirect to nothing", call: func() error {
			return create(key(8081, slbv1.Protocol_PROTOCOL_HTTP), &slbv1.ListenerConfig{ForwardPort: new(int32(9))})
		}, want: rpcerr.ListenerNotFound},
		{name: "update of no listener", call: func() error {
			_, err := c.Listeners.UpdateListener(ctx, &slbv1.UpdateListenerRequest{Key: tcp(lb, 9)})
			return err
		}, want: rpcerr.ListenerNotFound},
		{name: "listener redirected to", call: func() error {
			_, err := c.Listeners.DeleteListener(ctx, &slbv1.DeleteListenerRequest{Key: https})
			return err
		}, want: rpcerr.ListenerInUse},
		{name: "listener gone", call: func() error {
			_, err := c.Listeners.DeleteListener(ctx, &slbv1.DeleteListenerRequest{Key: tcp(lb, 9)})
			return err
		}},
		{name: "group in use", call: func() error {
			_, err := c.ServerGroups.DeleteServerGroup(ctx, &slbv1.DeleteServerGroupRequest{ServerGroupId: rsp, LoadBalancerId: lb})
			return err
		}, want: rpcerr.ServerGroupInUse},
		{name: "group gone", call: func() error {
			_, err := c.ServerGroups.DeleteServerGroup(ctx, &slbv1.DeleteServerGroupRequest{ServerGroupId: "rsp-9", LoadBalancerId: lb})
			return err
		}},
		{name: "read of no group", call: func() error {
			_, err := c.ServerGroups.GetServerGroup(ctx, &slbv1.GetServerGroupRequest{ServerGroupId: "rsp-9"})
			return err
		}, want: rpcerr.ServerGroupNotFound},
		{name: "no such server", call: func() error { return apply(&slbv1.ApplyServerChangesRequest{Add: []*slbv1.Server{ecs("i-99")}}) },
			want: rpcerr.ServerNotFound},
		{name: "update of a server that is not there",
			call: func() error { return apply(&slbv1.ApplyServerChangesRequest{Update: []*slbv1.Server{ecs("i-5")}}) },
			want: rpcerr.ServerNotFound},
		{name: "too many servers", call: func() error {
			return apply(&slbv1.ApplyServerChangesRequest{Add: []*slbv1.Server{ecs("i-2"), ecs("i-3")}, Remove: []*slbv1.Server{ecs("i-1")}})
		}, want: rpcerr.ServerLimit},
		{name: "not too many when removed first", call: func() error {
			return apply(&slbv1.ApplyServerChangesRequest{
				Add: []*slbv1.Server{ecs("i-2"), ecs("i-3")}, Remove: []*slbv1.Server{ecs("i-1")}, RemoveFirst: true,
			})
		}},
		{name: "delete protection", call: func() error {
			_, err := c.LoadBalancers.DeleteLoadBalancer(ctx, &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: other})
			return err
		}, want: rpcerr.DeleteProtected},
		{name: "deletion of nothing", call: func() error {
			_, err := c.LoadBalancers.DeleteLoadBalancer(ctx, &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: "lb-9"})
			return err
		}},
		{name: "intranet without vSwitch", call: func() error {
			_, err := c.LoadBalancers.CreateLoadBalancer(ctx, &slbv1.CreateLoadBalancerRequest{
				RequestId: "r-3", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTRANET, VswitchId: "vsw-9",
			})
			return err
		}, want: rpcerr.VSwitchNotFound},
		{name: "creation without request_id", call: func() error {
			_, err := c.LoadBalancers.CreateLoadBalancer(ctx, &slbv1.CreateLoadBalancerRequest{})
			return err
		}, want: rpcerr.InvalidField},
		{name: "list without filter", call: func() error {
			_, err := c.LoadBalancers.ListLoadBalancers(ctx, &slbv1.ListLoadBalancersRequest{})
			return err
		}, want: rpcerr.InvalidField},
	} {
		if err := tc.call(); rpcerr.ReasonOf(err) != tc.want || (tc.want == "") != (err == nil) {
			t.Errorf("%s: %v, want reason %q", tc.name, err, tc.want)
		}
	}
}

func TestListLoadBalancersByTag(t *testing.T) {
	t.Parallel()
	f := world(t)
	lb := balancer(t, f, "r-1")
	for value, want := range map[string]int{"c": 1, "other": 0} {
		answer, err := f.Client().LoadBalancers.ListLoadBalancers(t.Context(), &slbv1.ListLoadBalancersRequest{
			Tags: []*commonv1.Tag{{Key: "cluster", Value: value}},
		})
		if err != nil || len(answer.GetLoadBalancers()) != want {
			t.Errorf("value %q finds %v, %v", value, answer, err)
		}
	}
	if _, err := f.Client().LoadBalancers.UpdateLoadBalancer(t.Context(), &slbv1.UpdateLoadBalancerRequest{
		LoadBalancerId: lb, RemoveTagKeys: []string{"cluster"}, SetTags: []*commonv1.Tag{{Key: "a", Value: "b"}}, Name: new("new"),
	}); err != nil {
		t.Fatal(err)
	}
	f.Lock()
	defer f.Unlock()
	if got := f.LoadBalancers[lb]; got.GetName() != "new" || len(got.GetTags()) != 1 || got.GetTags()[0].GetKey() != "a" {
		t.Errorf("after the update: %v", got)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	f := world(t)
	busy := &rpcerr.Error{Code: codes.Aborted, Reason: rpcerr.ResourceBusy, Message: "busy"}
	f.Fail("GetInstance", 2, busy)
	get := func() error {
		_, err := f.Client().Instances.GetInstance(t.Context(), &ecsv1.GetInstanceRequest{InstanceId: "i-1"})
		return err
	}
	for i, want := range []rpcerr.Reason{rpcerr.ResourceBusy, rpcerr.ResourceBusy, ""} {
		if err := get(); rpcerr.ReasonOf(err) != want {
			t.Errorf("call %d: %v, want %q", i, err, want)
		}
	}
	f.Interpose(func(seq int, method string, _ proto.Message) gatewaytest.Fault {
		if seq == 1 && method == "GetInstance" {
			return gatewaytest.Fault{Before: busy}
		}
		return gatewaytest.Fault{}
	})
	for i, want := range []rpcerr.Reason{"", rpcerr.ResourceBusy, ""} {
		if err := get(); rpcerr.ReasonOf(err) != want {
			t.Errorf("interposed call %d: %v, want %q", i, err, want)
		}
	}
	balancer(t, f, "r-1")
	if writes := f.Writes(); len(writes) != 1 || writes[0].Method != "CreateLoadBalancer" {
		t.Errorf("Writes = %v", writes)
	}
	f.ResetCalls()
	if calls := f.Calls(); len(calls) != 0 {
		t.Errorf("Calls after ResetCalls = %v", calls)
	}
}

// TestServerThatIsNotThere: the others of the request become servers, and the error is about the one.
func TestServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	f := world(t)
	lb, c := balancer(t, f, "one"), f.Client().ServerGroups
	server := func(id string) *slbv1.Server {
		return &slbv1.Server{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: id, Port: 80, Weight: new(int32(100))}
	}
	_, err := c.CreateServerGroup(t.Context(), &slbv1.CreateServerGroupRequest{
		RequestId: "group", LoadBalancerId: lb, Name: "group", Servers: []*slbv1.Server{server("i-none"), server("i-1")},
	})
	if rpcerr.ReasonOf(err) != rpcerr.ServerNotFound {
		t.Errorf("the creation: %v", err)
	}
	list, err := c.ListServerGroups(t.Context(), &slbv1.ListServerGroupsRequest{LoadBalancerId: lb})
	if err != nil || len(list.GetServerGroups()) != 1 {
		t.Fatalf("got %v, %v", list, err)
	}
	id := list.GetServerGroups()[0].GetServerGroupId()
	_, err = c.ApplyServerChanges(t.Context(), &slbv1.ApplyServerChangesRequest{
		LoadBalancerId: lb, ServerGroupId: id, Add: []*slbv1.Server{server("i-none"), server("i-2")}, Remove: []*slbv1.Server{server("i-1")},
	})
	if rpcerr.ReasonOf(err) != rpcerr.ServerNotFound {
		t.Errorf("the change: %v", err)
	}
	answer, err := c.GetServerGroup(t.Context(), &slbv1.GetServerGroupRequest{ServerGroupId: id})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]*slbv1.Server{server("i-2")}, answer.GetServerGroup().GetServers(), protocmp.Transform()); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

// TestDefaultGroup: it is there from the beginning, has servers without ports, and goes with its load balancer.
func TestDefaultGroup(t *testing.T) {
	t.Parallel()
	f := world(t)
	lb, c := balancer(t, f, "one"), f.Client().ServerGroups
	server := func(id string, weight int32) *slbv1.DefaultServer {
		return &slbv1.DefaultServer{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: id, Weight: new(weight)}
	}
	apply := func(request *slbv1.ApplyDefaultServerChangesRequest) error {
		request.LoadBalancerId = lb
		_, err := c.ApplyDefaultServerChanges(t.Context(), request)
		return err
	}
	if err := apply(&slbv1.ApplyDefaultServerChangesRequest{Add: []*slbv1.DefaultServer{server("i-1", 100), server("i-2", 100)}}); err != nil {
		t.Fatal(err)
	}
	if err := apply(&slbv1.ApplyDefaultServerChangesRequest{Remove: []*slbv1.DefaultServer{server("i-1", 0)},
		Update: []*slbv1.DefaultServer{server("i-2", 5)}}); err != nil {
		t.Fatal(err)
	}
	if err := apply(&slbv1.ApplyDefaultServerChangesRequest{Add: []*slbv1.DefaultServer{server("i-none",
		1)}}); rpcerr.ReasonOf(err) != rpcerr.ServerNotFound {
		t.Errorf("a server that isn't there: %v", err)
	}
	answer, err := c.GetDefaultServerGroup(t.Context(), &slbv1.GetDefaultServerGroupRequest{LoadBalancerId: lb})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]*slbv1.DefaultServer{server("i-2", 5)}, answer.GetServers(), protocmp.Transform()); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if _, err := f.Client().LoadBalancers.DeleteLoadBalancer(t.Context(), &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: lb}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetDefaultServerGroup(t.Context(),
		&slbv1.GetDefaultServerGroupRequest{LoadBalancerId: lb}); rpcerr.ReasonOf(err) != rpcerr.LoadBalancerNotFound {
		t.Errorf("after the load balancer: %v", err)
	}
}
