package server

import (
	"context"
	"slices"
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"
)

// operation is a write RPC and what it needs to be there before.
type operation struct {
	name    string
	actions []string // the cloud's writes it consists of, each of which is struck once
	prepare func(t *testing.T, w *world) ids
	run     func(ctx context.Context, w *world, at ids) error
	// resume is what a caller does whose gateway was killed and which may not simply repeat the RPC; nil: it may.
	resume func(ctx context.Context, w *world, at ids) error
}

// ids are what an operation works on.
type ids struct{ lb, group string }

func withBalancer(t *testing.T, w *world) ids { return ids{lb: w.createBalancer(t, "lb-1")} }

func withGroup(t *testing.T, w *world) ids {
	at := withBalancer(t, w)
	at.group = w.createGroup(t, at.lb, ecsServers(0, 30)...)
	return at
}

func withListener(t *testing.T, w *world) ids {
	at := withGroup(t, w)
	if _, err := w.Listeners.CreateListener(t.Context(), listenerRequest(at.lb, at.group)); err != nil {
		t.Fatal(err)
	}
	return at
}

func operations() []operation {
	key := func(at ids) *slbv1.ListenerKey {
		return &slbv1.ListenerKey{LoadBalancerId: at.lb, Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP}
	}
	entries := []*vpcv1.RouteEntry{
		{RouteTableId: testTable, DestinationCidr: "10.0.0.0/24", NextHopId: instanceID(0), Description: "k8s"},
		{RouteTableId: testTable, DestinationCidr: "10.0.1.0/24", NextHopId: instanceID(1), Description: "k8s"},
	}
	createRoutes := func(ctx context.Context, w *world, _ ids) error {
		r, err := w.Routes.BatchCreateRouteEntries(ctx, &vpcv1.BatchCreateRouteEntriesRequest{VpcId: testVPC, RouteEntries: entries})
		return firstFailure(err, r.GetResults())
	}
	return []operation{
		{
			name: "CreateLoadBalancer", actions: []string{"CreateLoadBalancer"},
			prepare: func(*testing.T, *world) ids { return ids{} },
			run: func(ctx context.Context, w *world, _ ids) error {
				_, err := w.LoadBalancers.CreateLoadBalancer(ctx, balancerRequest("lb-1"))
				return err
			},
		},
		{
			name: "UpdateLoadBalancer", actions: []string{"SetLoadBalancerName", "TagResources", "UntagResources", "SetLoadBalancerDeleteProtection"},
			prepare: withBalancer,
			run: func(ctx context.Context, w *world, at ids) error {
				_, err := w.LoadBalancers.UpdateLoadBalancer(ctx, &slbv1.UpdateLoadBalancerRequest{
					LoadBalancerId: at.lb, Name: new("other"), DeleteProtection: new(false),
					SetTags: []*commonv1.Tag{{Key: "more", Value: "1"}}, RemoveTagKeys: []string{"ack.aliyun.com"},
				})
				return err
			},
		},
		{
			name: "DeleteLoadBalancer", actions: []string{"DeleteLoadBalancer"},
			prepare: func(t *testing.T, w *world) ids {
				at := withListener(t, w)
				if _, err := w.LoadBalancers.UpdateLoadBalancer(t.Context(), &slbv1.UpdateLoadBalancerRequest{
					LoadBalancerId: at.lb, DeleteProtection: new(false),
				}); err != nil {
					t.Fatal(err)
				}
				return at
			},
			run: func(ctx context.Context, w *world, at ids) error {
				_, err := w.LoadBalancers.DeleteLoadBalancer(ctx, &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: at.lb})
				return err
			},
		},
		{
			name: "CreateServerGroup", actions: []string{"CreateVServerGroup", "AddVServerGroupBackendServers"}, prepare: withBalancer,
			run: func(ctx context.Context, w *world, at ids) error {
				_, err := w.ServerGroups.CreateServerGroup(ctx, groupRequest(at.lb, ecsServers(0, 45)...))
				return err
			},
			resume: resumeGroup,
		},
		{
			name: "ApplyServerChanges", prepare: withGroup,
			actions: []string{"ModifyVServerGroupBackendServers", "AddVServerGroupBackendServers", "SetVServerGroupAttribute"},
			run: func(ctx context.Context, w *world, at ids) error {
				lighter := ecsServers(20, 5)
				for _, s := range lighter {
					s.Weight = 1
				}
				_, err := w.ServerGroups.ApplyServerChanges(ctx, &slbv1.ApplyServerChangesRequest{
					LoadBalancerId: at.lb, ServerGroupId: at.group, Add: ecsServers(50, 25), Remove: ecsServers(0, 5), Update: lighter,
				})
				return err
			},
		},
		{
			name: "ApplyServerChanges, only removals", actions: []string{"RemoveVServerGroupBackendServers"}, prepare: withGroup,
			run: func(ctx context.Context, w *world, at ids) error {
				_, err := w.ServerGroups.ApplyServerChanges(ctx, &slbv1.ApplyServerChangesRequest{
					LoadBalancerId: at.lb, ServerGroupId: at.group, Remove: ecsServers(0, 25),
				})
				return err
			},
		},
		{
			name: "DeleteServerGroup", actions: []string{"DeleteVServerGroup"}, prepare: withGroup,
			run: func(ctx context.Context, w *world, at ids) error {
				_, err := w.ServerGroups.DeleteServerGroup(ctx,
					&slbv1.DeleteServerGroupRequest{LoadBalancerId: at.lb, ServerGroupId: at.group})
				return err
			},
		},
		{
			name: "CreateListener", actions: []string{"CreateLoadBalancerTCPListener", "StartLoadBalancerListener"}, prepare: withGroup,
			run: func(ctx context.Context, w *world, at ids) error {
				_, err := w.Listeners.CreateListener(ctx, listenerRequest(at.lb, at.group))
				return err
			},
			resume: resumeListener,
		},
		{
			name: "UpdateListener", actions: []string{"SetLoadBalancerTCPListenerAttribute"}, prepare: withListener,
			run: func(ctx context.Context, w *world, at ids) error {
				_, err := w.Listeners.UpdateListener(ctx, &slbv1.UpdateListenerRequest{
					Key: key(at), Config: &slbv1.ListenerConfig{Scheduler: new("wrr")},
				})
				return err
			},
		},
		{
			name: "StartListener", actions: []string{"StartLoadBalancerListener"},
			prepare: func(t *testing.T, w *world) ids {
				at := withListener(t, w)
				if _, err := w.Listeners.StopListener(t.Context(), &slbv1.StopListenerRequest{Key: key(at)}); err != nil {
					t.Fatal(err)
				}
				return at
			},
			run: func(ctx context.Context, w *world, at ids) error {
				_, err := w.Listeners.StartListener(ctx, &slbv1.StartListenerRequest{Key: key(at)})
				return err
			},
		},
		{
			name: "StopListener", actions: []string{"StopLoadBalancerListener"}, prepare: withListener,
			run: func(ctx context.Context, w *world, at ids) error {
				_, err := w.Listeners.StopListener(ctx, &slbv1.StopListenerRequest{Key: key(at)})
				return err
			},
		},
		{
			name: "DeleteListener", actions: []string{"DeleteLoadBalancerListener"}, prepare: withListener,
			run: func(ctx context.Context, w *world, at ids) error {
				_, err := w.Listeners.DeleteListener(ctx, &slbv1.DeleteListenerRequest{Key: key(at)})
				return err
			},
		},
		{
			name: "BatchCreateRouteEntries", actions: []string{"CreateRouteEntries"},
			prepare: func(*testing.T, *world) ids { return ids{} }, run: createRoutes,
		},
		{
			name: "BatchDeleteRouteEntries", actions: []string{"DeleteRouteEntries"},
			prepare: func(t *testing.T, w *world) ids {
				if err := createRoutes(t.Context(), w, ids{}); err != nil {
					t.Fatal(err)
				}
				return ids{}
			},
			run: func(ctx context.Context, w *world, _ ids) error {
				r, err := w.Routes.BatchDeleteRouteEntries(ctx, &vpcv1.BatchDeleteRouteEntriesRequest{VpcId: testVPC, RouteEntries: entries})
				return firstFailure(err, r.GetResults())
			},
		},
		{
			name: "UpdateNetworkInterface", actions: []string{"ModifyNetworkInterfaceAttribute"},
			prepare: func(t *testing.T, w *world) ids { return ids{group: w.primaryInterface(t, instanceID(0))} },
			run: func(ctx context.Context, w *world, at ids) error {
				_, err := w.NetworkInterfaces.UpdateNetworkInterface(ctx, &ecsv1.UpdateNetworkInterfaceRequest{
					NetworkInterfaceId: at.group, SourceDestCheck: new(false),
				})
				return err
			},
		},
	}
}

// resumeGroup looks for the group by its name and adds the servers that it lacks.
func resumeGroup(ctx context.Context, w *world, at ids) error {
	want := groupRequest(at.lb, ecsServers(0, 45)...)
	listed, err := w.ServerGroups.ListServerGroups(ctx, &slbv1.ListServerGroupsRequest{LoadBalancerId: at.lb})
	if err != nil {
		return err
	}
	if len(listed.GetServerGroups()) == 0 {
		_, err = w.ServerGroups.CreateServerGroup(ctx, want)
		return err
	}
	id := listed.GetServerGroups()[0].GetServerGroupId()
	found, err := w.ServerGroups.GetServerGroup(ctx, &slbv1.GetServerGroupRequest{ServerGroupId: id})
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, s := range found.GetServerGroup().GetServers() {
		there[s.GetServerId()] = true
	}
	_, err = w.ServerGroups.ApplyServerChanges(ctx, &slbv1.ApplyServerChangesRequest{
		LoadBalancerId: at.lb, ServerGroupId: id,
		Add: slices.DeleteFunc(want.GetServers(), func(s *slbv1.Server) bool { return there[s.GetServerId()] }),
	})
	return err
}

// resumeListener starts the listener if it is there already.
func resumeListener(ctx context.Context, w *world, at ids) error {
	want := listenerRequest(at.lb, at.group)
	_, err := w.Listeners.CreateListener(ctx, want)
	if rpcerr.ReasonOf(err) == rpcerr.ListenerExists {
		_, err = w.Listeners.StartListener(ctx, &slbv1.StartListenerRequest{Key: want.GetKey()})
	}
	return err
}

func firstFailure(err error, results []*vpcv1.RouteEntryResult) error {
	for _, r := range results {
		if err == nil {
			err = rpcerr.FromItem(r.GetError())
		}
	}
	return err
}

func (w *world) primaryInterface(t *testing.T, instance string) string {
	t.Helper()
	answer, err := w.Instances.GetInstance(t.Context(), &ecsv1.GetInstanceRequest{InstanceId: instance})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetInstance().GetPrimaryNetworkInterfaceId()
}
