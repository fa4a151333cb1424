package server

import (
	"slices"
	"testing"
	"testing/synctest"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestScopeOfControllersForNLB is the same as TestScopeOfControllers, for NLBs and their server groups: what lbcontroller
// writes to what the gateway has read or made costs no reads.
func TestScopeOfControllersForNLB(t *testing.T) { synctest.Test(t, testScopeOfControllersForNLB) }

func testScopeOfControllersForNLB(t *testing.T) {
	w := newWorld(t, owned, func(cfg *openapisim.Config) {
		cfg.Seed.VSwitches[otherVSwitch] = &state.VSwitch{VpcID: testVPC, ZoneID: "cn-hangzhou-i", CidrBlock: "192.168.64.0/18"}
		for id, cluster := range map[string]string{"1": "c-1", "2": "c-1", "other": "c-2"} {
			tags := []state.Tag{{Key: "ack.aliyun.com", Value: cluster}}
			cfg.Seed.NLBs["nlb-"+id] = &state.NLB{VpcID: testVPC, Tags: tags}
			cfg.Seed.NLBServerGroups["sgp-"+id] = &state.NLBServerGroup{VpcID: testVPC, Name: "web", Tags: tags}
		}
		cfg.Seed.NLBServerGroups["sgp-user"] = &state.NLBServerGroup{VpcID: testVPC, Name: "mine"}
	})
	w.scopes = []config.Scope{{Callers: []string{scoped}, ClusterID: "c-1", Controller: true}}
	w.startGateway(t)
	next := 0
	apply := func(group string) error {
		next++
		return second(w.NetworkServerGroups.ApplyServerChanges(t.Context(), &nlbv1.ApplyServerChangesRequest{
			ServerGroupId: group, Add: nlbServers(next, 1),
		}))
	}
	update := func(id string, change *nlbv1.UpdateLoadBalancerRequest) error {
		change.LoadBalancerId = id
		return second(w.NetworkLoadBalancers.UpdateLoadBalancer(t.Context(), change))
	}
	renamed := func(id string) error { return update(id, &nlbv1.UpdateLoadBalancerRequest{Name: new("new")}) }
	jobs := func(action string) bool { return action == "ListAsynJobs" }
	costs := func(what string, err error, want ...string) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		got := slices.DeleteFunc(w.actions(true), jobs)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: calls %q, want %q", what, got, want)
		}
		w.forget()
	}
	forbidden := func(what string, err error, want ...string) {
		t.Helper()
		if rpcerr.ReasonOf(err) != rpcerr.CallerForbidden {
			t.Errorf("%s: got %v, want CALLER_FORBIDDEN", what, err)
		}
		costs(what, nil, want...)
	}

	for _, id := range []string{"nlb-1", "nlb-other"} {
		if _, err := w.NetworkLoadBalancers.GetLoadBalancer(t.Context(), &nlbv1.GetLoadBalancerRequest{LoadBalancerId: id}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.NetworkServerGroups.ListServerGroups(t.Context(), &nlbv1.ListServerGroupsRequest{}); err != nil {
		t.Fatal(err)
	}
	w.forget()
	costs("a group that was listed", apply("sgp-1"), "AddServersToServerGroup")
	costs("a user's group that was listed", apply("sgp-user"), "AddServersToServerGroup")
	costs("an NLB that was read", renamed("nlb-1"), "UpdateLoadBalancerAttribute")
	forbidden("a group of another cluster", apply("sgp-other"))
	forbidden("an NLB of another cluster", renamed("nlb-other"))

	tags := []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-1"}}
	made, err := w.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), nlbRequest("r-1"))
	costs("a new NLB", err, "CreateLoadBalancer", "ListLoadBalancers")
	own := made.GetLoadBalancer().GetLoadBalancerId()
	group, err := w.NetworkServerGroups.CreateServerGroup(t.Context(), &nlbv1.CreateServerGroupRequest{
		RequestId: "r-1", Name: "own", VpcId: testVPC, Tags: tags,
	})
	costs("a new group", err, "CreateServerGroup")
	costs("servers of the new group", apply(group.GetServerGroupId()), "AddServersToServerGroup")
	_, err = w.NetworkListeners.CreateListener(t.Context(), &nlbv1.CreateListenerRequest{
		RequestId: "r-1", LoadBalancerId: own, Protocol: nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCP, Port: 80,
		Config: &nlbv1.ListenerConfig{ServerGroupId: new(group.GetServerGroupId())},
	})
	costs("a listener of the new NLB", err, "CreateListener")
	// One whose tag is taken off is read again.
	costs("an NLB that is given up", update(own, &nlbv1.UpdateLoadBalancerRequest{RemoveTagKeys: []string{"ack.aliyun.com"}}),
		"UntagResources")
	costs("what was given up", renamed(own), "ListLoadBalancers", "ListLoadBalancers", "UpdateLoadBalancerAttribute")

	w.startGateway(t)
	costs("the first group after a failover", apply("sgp-1"), "AddServersToServerGroup", "ListServerGroups")
	costs("the second group after a failover", apply("sgp-2"), "AddServersToServerGroup")
	costs("the first NLB after a failover", renamed("nlb-1"), "ListLoadBalancers", "UpdateLoadBalancerAttribute")
	costs("the second NLB after a failover", renamed("nlb-2"), "UpdateLoadBalancerAttribute")
	forbidden("a group of another cluster after a failover", apply("sgp-other"), "ListServerGroups")
	forbidden("an NLB of another cluster after a failover", renamed("nlb-other"), "ListLoadBalancers")
}
