package replay

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
)

func TestOnlyCompleteAnswersAreRemembered(t *testing.T) {
	failed := &commonv1.ItemError{Code: 5}
	for _, tc := range []struct {
		name   string
		answer proto.Message
		want   bool
	}{
		{"nothing", &slbv1.DeleteListenerResponse{}, true},
		{"a resource", &slbv1.CreateLoadBalancerResponse{LoadBalancer: &slbv1.LoadBalancer{Tags: []*commonv1.Tag{{Key: "a"}}}}, true},
		{"no items", &vpcv1.BatchCreateRouteEntriesResponse{}, true},
		{"all done", &vpcv1.BatchCreateRouteEntriesResponse{Results: []*vpcv1.RouteEntryResult{{Status: "Available"}, {}}}, true},
		{"one failed", &vpcv1.BatchCreateRouteEntriesResponse{Results: []*vpcv1.RouteEntryResult{{}, {Error: failed}, {}}}, false},
		{"all failed", &vpcv1.BatchDeleteRouteEntriesResponse{Results: []*vpcv1.RouteEntryResult{{Error: failed}}}, false},
		{"an error without a text", &ecsv1.InstanceResult{Error: &commonv1.ItemError{}}, false},
	} {
		got := newResult(tc.answer)
		if (got != nil) != tc.want {
			t.Errorf("%s: remembered: %t, want %t", tc.name, got != nil, tc.want)
		}
		if got == nil {
			continue
		}
		if m, err := got.UnmarshalNew(); err != nil || !proto.Equal(m, tc.answer) {
			t.Errorf("%s: recalled as %v, %v", tc.name, m, err)
		}
	}
}

// TestResultsAreBounded: what takes too much space makes the oldest go, and time makes them go too.
func TestResultsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(nil, nil)
		const size = 1 << 20
		text := strings.Repeat("x", size)
		name := func(i int) key { return key{caller: "tool", method: creation, requestID: fmt.Sprint(i)} }
		put := func(i int) {
			response := func() (any, error) { return &slbv1.CreateServerGroupResponse{ServerGroupId: text}, nil }
			if _, err := m.once(t.Context(), name(i), [32]byte{}, response); err != nil {
				t.Fatal(err)
			}
		}
		remembered := func(i int) bool {
			_, _, ok := m.results.Get(name(i), time.Now(), life)
			return ok
		}
		const fit = space / size // but for the overhead
		const last = fit + 7
		for i := range last + 1 {
			<-time.After(time.Second)
			put(i)
		}
		if n := m.results.Len(); n != fit-1 {
			t.Errorf("%d results, want %d", n, fit-1)
		}
		if remembered(last-fit+1) || !remembered(last-fit+2) || !remembered(last) {
			t.Error("the oldest did not go first")
		}
		<-time.After(life + time.Second)
		if remembered(last) {
			t.Error("a result is remembered for too long")
		}
		put(0)
		if n := m.results.Len(); n != 1 {
			t.Errorf("%d results, want only the new one: the others are over", n)
		}
	})
}
