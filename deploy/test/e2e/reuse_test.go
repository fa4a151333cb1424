package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestUsersLoadBalancer is the life of two Services on a load balancer that somebody made by hand: one fills a vServer group of the user's,
// the other has listeners. In the end all is as it was.
func TestUsersLoadBalancer(t *testing.T) {
	t.Parallel()
	w := boot(t, 2, instant)
	w.initialised(t)
	users := oldCCM{testWorld: w, t: t, api: w.slb(t)}
	users.call("CreateLoadBalancer", map[string]string{"AddressType": "internet", "LoadBalancerName": "mine",
		"DeleteProtection": "on", "InstanceChargeType": "PayByCLCU"})
	id := users.lbOf("mine").ID
	users.call("CreateVServerGroup", map[string]string{"LoadBalancerId": id, "VServerGroupName": "mine"})
	group := users.groupOf(id, "mine")
	users.call("CreateLoadBalancerTCPListener", map[string]string{
		"LoadBalancerId": id, "ListenerPort": "80", "Bandwidth": "-1", "Scheduler": "wrr", "Description": "by hand", "VServerGroupId": group,
	})
	users.call("StartLoadBalancerListener", map[string]string{"LoadBalancerId": id, "ListenerPort": "80", "ListenerProtocol": "tcp"})
	before, since := w.state(t), w.position(t)

	cost := func(what string, want map[string]int) {
		t.Helper()
		calls, next := w.settle(t, since)
		since = next
		if diff := cmp.Diff(want, counts(calls, "slb")); diff != "" {
			t.Errorf("calls to SLB for %s (-want +got):\n%s", what, diff)
		}
	}
	w.create(t, newService("filling", map[string]string{"id": id, "vgroup-port": group + ":80", "weight": "50"}, 80))
	w.balanced(t, "filling")
	cost("a Service that fills a vServer group", map[string]int{
		"DescribeLoadBalancers": 1, "DescribeLoadBalancerListeners": 1, "DescribeVServerGroups": 1, "DescribeVServerGroupAttribute": 1,
		"AddVServerGroupBackendServers": 1, "TagResources": 1,
	})
	w.create(t, newService("listening", map[string]string{"id": id, "force-override-listeners": "true"}, 443))
	w.balanced(t, "listening")
	cost("a Service that has a listener", map[string]int{
		"DescribeLoadBalancers": 1, "DescribeLoadBalancerListeners": 2, "DescribeVServerGroups": 1, // Then whether it runs.
		"CreateVServerGroup": 1, "CreateLoadBalancerTCPListener": 1, "StartLoadBalancerListener": 1,
	})
	if g := w.state(t).ServerGroups[group]; len(g.Servers) != 2 ||
		slices.ContainsFunc(g.Servers, func(s *state.Server) bool { return s.Weight != 25 }) {
		t.Errorf("servers of the user's vServer group: %+v", g.Servers)
	}
	w.create(t, newService("late", map[string]string{"id": id, "force-override-listeners": "true"}, 443))
	eventuallyWarned(t, w, "late", "Service default/listening")

	for _, name := range []string{"filling", "listening", "late"} {
		w.remove(t, name)
	}
	after := w.state(t)
	if diff := cmp.Diff(before.ServerGroups, after.ServerGroups); diff != "" {
		t.Errorf("vServer groups (-before +after):\n%s", diff)
	}
	lb := after.LoadBalancers[id]
	if diff := cmp.Diff(before.LoadBalancers[id].Listeners, lb.Listeners); diff != "" {
		t.Errorf("listeners (-before +after):\n%s", diff)
	}
	if lb.DeleteProtection != "on" || tag(lb, "kubernetes.reused.by.user") != "true" || len(after.LoadBalancers) != 1 {
		t.Errorf("the user's CLB: %+v", lb)
	}
}

// eventuallyWarned waits for a warning on a Service.
func eventuallyWarned(t *testing.T, w testWorld, service, part string) {
	t.Helper()
	eventually(t, "a warning says what is wrong", func(ctx context.Context) error {
		events := w.events(ctx, service)
		if !slices.ContainsFunc(events, func(e string) bool { return strings.HasPrefix(e, "Warning ") && strings.Contains(e, part) }) {
			return fmt.Errorf("no warning has %q: %q", part, events)
		}
		return nil
	})
}
