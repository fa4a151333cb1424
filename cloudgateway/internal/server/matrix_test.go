package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// operation is a write RPC and what it needs to be there before.
type operation struct {
	name    string
	actions []string // the cloud's writes it consists of, each of which is struck once
	prepare func(t *testing.T, w *world) ids
	run     func(ctx context.Context, w *world, at ids) error
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
			name: "UpdateLoadBalancer", actions: []string{"SetLoadBalancerName", "TagResources", "SetLoadBalancerDeleteProtection"},
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
			name: "ApplyServerChanges that only removes", actions: []string{"RemoveVServerGroupBackendServers"}, prepare: withGroup,
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

// TestFaultMatrix strikes every cloud write of every write RPC with every fault. The end must be that of an undisturbed run,
// or a refusal that changed nothing and goes away by repeating the RPC.
func TestFaultMatrix(t *testing.T) {
	busy := &fault.Error{Status: 400, Code: "SystemBusy", Message: "The system is busy."}
	down := &fault.Error{Status: 503, Code: "ServiceUnavailable", Message: "The request has failed due to a temporary failure."}
	faults := []struct {
		name  string
		rule  fault.Rule
		allow rpcerr.Reason // refusal that is right
	}{
		{name: "error before", rule: fault.Rule{Error: down}},
		{name: "error after", rule: fault.Rule{Error: down, When: fault.After}},
		{name: "dropped before", rule: fault.Rule{Drop: true}},
		{name: "dropped after", rule: fault.Rule{Drop: true, When: fault.After}},
		{name: "busy", rule: fault.Rule{Error: busy}},
		{
			name: "throttled", allow: rpcerr.Throttled,
			rule: fault.Rule{Error: &fault.Error{Status: 400, Code: "Throttling.User", Message: "Request was denied due to user flow control."}},
		},
	}
	for _, op := range operations() {
		undisturbed := newWorld(t)
		at := op.prepare(t, undisturbed)
		if err := op.run(t.Context(), undisturbed, at); err != nil {
			t.Fatalf("%s undisturbed: %v", op.name, err)
		}
		want := undisturbed.picture()
		for _, action := range op.actions {
			for _, f := range faults {
				t.Run(fmt.Sprintf("%s/%s %s", op.name, action, f.name), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t)
					at := op.prepare(t, w)
					f.rule.Action, f.rule.Times = action, 1
					w.strike(t, f.rule)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					err := op.run(ctx, w, at)
					if struck := w.sim.Faults()[0].Struck; struck != 1 {
						t.Fatalf("the fault struck %d times; the test is wrong", struck)
					}
					if err != nil && (f.allow == "" || rpcerr.ReasonOf(err) != f.allow) {
						t.Fatalf("%v", err)
					}
					if err == nil && f.allow != "" {
						t.Errorf("no error, want %s", f.allow)
					}
					if err != nil {
						if err := op.run(ctx, w, at); err != nil {
							t.Fatalf("repeated: %v", err)
						}
					}
					if diff := cmp.Diff(want, w.picture()); diff != "" {
						t.Errorf("the cloud's state (-undisturbed +got):\n%s", diff)
					}
				})
			}
		}
	}
}

// picture describes what the cloud holds, without what differs from run to run.
func (w *world) picture() []string {
	var lines []string
	w.sim.View(func(c *state.Cloud) {
		groups := map[string]string{}
		for _, g := range c.ServerGroups {
			groups[g.ID] = g.Name
			var servers []string
			for _, s := range g.Servers {
				servers = append(servers, fmt.Sprintf("%s %s:%d*%d %s", s.Type, s.ServerID, s.Port, s.Weight, s.Description))
			}
			slices.Sort(servers)
			lines = append(lines, fmt.Sprintf("group %s %q", g.Name, servers))
		}
		for _, lb := range c.LoadBalancers {
			tags := slices.SortedFunc(slices.Values(lb.Tags), func(a, b state.Tag) int { return strings.Compare(a.Key, b.Key) })
			lines = append(lines, fmt.Sprintf("lb %s %s %v %s", lb.Name, lb.Spec, tags, lb.DeleteProtection))
			for _, l := range lb.Listeners {
				attributes := maps.Clone(l.Attributes)
				attributes["VServerGroupId"] = groups[attributes["VServerGroupId"]]
				lines = append(lines, fmt.Sprintf("listener %d/%s %s %v", l.Port, l.Protocol, l.Status, attributes))
			}
		}
		for _, table := range c.RouteTables {
			for _, e := range table.Entries {
				lines = append(lines, fmt.Sprintf("route %s %s %s %s", e.Cidr, e.NextHopID, e.Status, e.Description))
			}
		}
		for _, n := range c.Interfaces {
			if !n.SourceDestCheck {
				lines = append(lines, "forwarding "+n.InstanceID)
			}
		}
	})
	slices.Sort(lines)
	return lines
}
