package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// TestAVanishedServerDoesNotHoldUpTheOthers: nor does a group stay without servers for it.
func TestAVanishedServerDoesNotHoldUpTheOthers(t *testing.T) {
	for _, creating := range []bool{true, false} {
		t.Run(fmt.Sprintf("creating=%t", creating), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			lb := w.createBalancer(t, "lb-1")
			wanted := slices.Concat(ecsServers(0, 7), ecsServers(5000, 1), ecsServers(7, 20))
			var err error
			if creating {
				_, err = w.ServerGroups.CreateServerGroup(t.Context(), groupRequest(lb, wanted...))
			} else {
				_, err = w.ServerGroups.ApplyServerChanges(t.Context(), &slbv1.ApplyServerChangesRequest{
					LoadBalancerId: lb, ServerGroupId: w.createGroup(t, lb), Add: wanted,
				})
			}
			if rpcerr.ReasonOf(err) != rpcerr.ServerNotFound || !strings.Contains(err.Error(), "i-5000") {
				t.Errorf("got %v, want SERVER_NOT_FOUND that names i-5000", err)
			}
			groups, err := w.ServerGroups.ListServerGroups(t.Context(), &slbv1.ListServerGroupsRequest{LoadBalancerId: lb})
			if err != nil || len(groups.GetServerGroups()) != 1 || groups.GetServerGroups()[0].GetServerCount() != 27 {
				t.Errorf("got %v, %v, want one group of 27 servers", groups.GetServerGroups(), err)
			}
			if n := len(w.actions(false)); n > 12 {
				t.Errorf("%d writes to find one server among 28", n)
			}
		})
	}
}

// TestAServerThatIsGoneCostsOneRefusal: the cloud takes the servers of released instances out of all groups itself, so that what a
// controller then wants removed is gone. The call that says so is refused once, the group is read once, and what is left is done. Each node
// that is replaced costs this for every group, so a repetition would cost many calls.
func TestAServerThatIsGoneCostsOneRefusal(t *testing.T) {
	since := func(w *world, before int) []string { return w.actions(true)[before:] }
	t.Run("CLB", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		lb := w.createBalancer(t, "lb-1")
		group := w.createGroup(t, lb, ecsServers(0, 3)...)
		before := len(w.actions(true))
		_, err := w.ServerGroups.ApplyServerChanges(t.Context(), &slbv1.ApplyServerChangesRequest{
			LoadBalancerId: lb, ServerGroupId: group, Add: ecsServers(10, 1), Remove: ecsServers(90, 1),
		})
		want := []string{"ModifyVServerGroupBackendServers", "DescribeVServerGroupAttribute", "AddVServerGroupBackendServers"}
		if got := since(w, before); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v after %q, want %q", err, got, want)
		}
	})
	t.Run("NLB", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, slowJobs)
			_, group, _, err := w.serveNLB(t.Context(), "web", 3)
			if err != nil {
				t.Fatal(err)
			}
			before := len(w.actions(true))
			_, err = w.NetworkServerGroups.ApplyServerChanges(t.Context(), &nlbv1.ApplyServerChangesRequest{
				ServerGroupId: group, Add: nlbServers(10, 1), Remove: nlbServers(90, 1),
			})
			got := slices.DeleteFunc(since(w, before), func(action string) bool {
				return !strings.HasSuffix(action, "ServerGroup") && action != "ListServerGroupServers" // jobs
			})
			want := []string{"AddServersToServerGroup", "RemoveServersFromServerGroup", "ListServerGroupServers"}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%v after %q, want %q", err, got, want)
			}
		})
	})
}
