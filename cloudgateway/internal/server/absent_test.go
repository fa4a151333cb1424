package server

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestAnAbsentPartIsNotTheWhole: whatever part of a load balancer goes while it is read, the load balancer is not
// called absent. Only the answer that it is absent itself has that reason.
func TestAnAbsentPartIsNotTheWhole(t *testing.T) {
	const group, listener, balancer = "ResourceNotFound.VServerGroup", "ListenerNotFound", "InvalidLoadBalancerId.NotFound"
	for _, tt := range []struct {
		action, code string
		times        int // 0: always
		want         rpcerr.Reason
	}{
		{action: "DescribeVServerGroupAttribute", code: group, times: 1},
		{action: "DescribeVServerGroupAttribute", code: group, want: rpcerr.CloudUnavailable},
		{action: "DescribeVServerGroups", code: group, want: rpcerr.CloudUnavailable},
		{action: "DescribeVServerGroups", code: balancer, want: rpcerr.LoadBalancerNotFound},
		{action: "DescribeLoadBalancerListeners", code: listener, want: rpcerr.CloudUnavailable},
		{action: "DescribeLoadBalancerListeners", code: balancer, want: rpcerr.LoadBalancerNotFound},
		{action: "DescribeLoadBalancers", code: "ResourceNotExist", want: rpcerr.CloudUnavailable},
	} {
		t.Run(tt.action+" "+tt.code, func(t *testing.T) {
			w := newWorld(t)
			lb := w.createBalancer(t, "lb-1")
			w.createGroup(t, lb)
			w.strike(t, fault.Rule{Action: tt.action, Times: tt.times, Error: &fault.Error{Status: 404, Code: tt.code, Message: "It is gone."}})
			_, err := w.LoadBalancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{LoadBalancerId: lb, View: slbv1.View_VIEW_FULL})
			if got := rpcerr.ReasonOf(err); got != tt.want || (err == nil) != (tt.want == "") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if _, ok := rpcerr.RetryAfter(err); tt.want == rpcerr.CloudUnavailable && !ok {
				t.Errorf("%v does not say when to ask again", err)
			}
		})
	}
}

// TestAGroupThatGoesWhileItIsRead: the load balancer is then read without it, also if what is remembered still lists it.
func TestAGroupThatGoesWhileItIsRead(t *testing.T) {
	w := newWorld(t)
	lb := w.createBalancer(t, "lb-1")
	w.createGroup(t, lb)
	request := &slbv1.GetLoadBalancerRequest{LoadBalancerId: lb, View: slbv1.View_VIEW_FULL, MaxAge: durationpb.New(time.Hour)}
	request.ServerGroupIds = []string{"none"} // Then the list is remembered, and its group is not.
	if _, err := w.LoadBalancers.GetLoadBalancer(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	w.sim.Update(func(c *state.Cloud) { clear(c.ServerGroups) })
	request.ServerGroupIds = nil
	answer, err := w.LoadBalancers.GetLoadBalancer(t.Context(), request)
	if err != nil || len(answer.GetLoadBalancer().GetServerGroups()) != 0 {
		t.Errorf("got %v, %v, want no groups", answer.GetLoadBalancer().GetServerGroups(), err)
	}
}

// TestWhatIsNamedAndAbsent: an update that names another thing, which does not exist, does not say that of the thing to be updated.
func TestWhatIsNamedAndAbsent(t *testing.T) {
	w := newWorld(t, func(c *openapisim.Config) {
		c.Seed.Interfaces["eni-1"] = &state.NetworkInterface{VSwitchID: testVSwitch, PrimaryIP: "192.168.20.1"}
	})
	_, err := w.NetworkInterfaces.UpdateNetworkInterface(t.Context(), &ecsv1.UpdateNetworkInterfaceRequest{
		NetworkInterfaceId: "eni-1", SecurityGroupIds: []string{"sg-gone"},
	})
	wantNotFound(t, err, rpcerr.SecurityGroupNotFound)
	lb := w.createBalancer(t, "lb-1")
	w.strike(t, fault.Rule{Action: "MoveResourceGroup", Error: &fault.Error{Status: 404,
		Code: "EntityNotExists.ResourceGroup", Message: "It is gone."}})
	_, err = w.LoadBalancers.UpdateLoadBalancer(t.Context(), &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: lb,
		ResourceGroupId: new("rg-gone")})
	wantNotFound(t, err, rpcerr.NotFoundReason)
	w.strike(t, fault.Rule{Action: "ModifyInstanceAttribute", Error: &fault.Error{Status: 404,
		Code: "InvalidThing.NotFound", Message: "It is gone."}})
	_, err = w.Instances.UpdateInstance(t.Context(), &ecsv1.UpdateInstanceRequest{InstanceId: instanceID(0), Name: new("web")})
	wantNotFound(t, err, rpcerr.NotFoundReason)
}

// TestTheEndOfAnInstanceIsSeen: the cloud takes it out of server groups and frees its EIP.
func TestTheEndOfAnInstanceIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *openapisim.Config) {
			c.Seed.Eips["eip-1"] = &state.Eip{Status: "InUse", InstanceID: instanceID(0), InstanceType: "EcsInstance"}
			c.Seed.Instances[instanceID(0)].EipID = "eip-1"
		})
		lb := w.createBalancer(t, "lb-1")
		group := w.createGroup(t, lb, ecsServers(0, 2)...)
		if _, err := w.ServerGroups.ApplyDefaultServerChanges(t.Context(), &slbv1.ApplyDefaultServerChangesRequest{
			LoadBalancerId: lb, Add: []*slbv1.DefaultServer{{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: instanceID(0),
				Weight: new(int32(100))}},
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Listeners.CreateListener(t.Context(), &slbv1.CreateListenerRequest{
			Key:    &slbv1.ListenerKey{LoadBalancerId: lb, Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP},
			Config: &slbv1.ListenerConfig{ServerGroupId: &group},
		}); err != nil {
			t.Fatal(err)
		}
		questions := map[string]proto.Message{
			slbv1.ServerGroupService_GetServerGroup_FullMethodName:        &slbv1.GetServerGroupRequest{ServerGroupId: group},
			slbv1.ServerGroupService_ListServerGroups_FullMethodName:      &slbv1.ListServerGroupsRequest{LoadBalancerId: lb},
			slbv1.ServerGroupService_GetDefaultServerGroup_FullMethodName: &slbv1.GetDefaultServerGroupRequest{LoadBalancerId: lb},
			slbv1.ServerHealthService_ListServerHealth_FullMethodName:     &slbv1.ListServerHealthRequest{LoadBalancerId: lb},
			vpcv1.EipService_GetEip_FullMethodName:                        &vpcv1.GetEipRequest{AllocationId: "eip-1"},
			vpcv1.EipService_ListEips_FullMethodName:                      &vpcv1.ListEipsRequest{},
		}
		before := map[string]string{}
		for method, request := range questions {
			before[method] = w.ask(t, method, request, time.Hour)
		}
		if _, err := w.Instances.DeleteInstance(t.Context(), &ecsv1.DeleteInstanceRequest{InstanceId: instanceID(0), Force: true}); err != nil {
			t.Fatal(err)
		}
		for method, request := range questions {
			remembered, now := w.ask(t, method, request, time.Hour), w.ask(t, method, request, 0)
			if remembered != now || now == before[method] {
				t.Errorf("%s: before\n%s, remembered\n%s, it is now\n%s", method, before[method], remembered, now)
			}
		}
	})
}
