package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

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
