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
		var r results
		const size = 1 << 20
		a := &attempt{result: newResult(&slbv1.CreateServerGroupResponse{ServerGroupId: strings.Repeat("x", size)})}
		name := func(i int) key { return key{caller: "tool", method: creation, requestID: fmt.Sprint(i)} }
		const fit = space / size // but for the overhead
		for i := range 3 * fit {
			<-time.After(time.Second)
			r.put(name(i), a)
			if r.bytes > space {
				t.Fatalf("%d bytes", r.bytes)
			}
		}
		if len(r.byKey) != fit-1 || len(r.oldest) != fit-1 {
			t.Errorf("%d results in %d entries, want %d", len(r.byKey), len(r.oldest), fit-1)
		}
		if r.get(name(0)) != nil || r.get(name(3*fit-1)) == nil || r.get(name(2*fit+1)) == nil {
			t.Error("the oldest did not go first")
		}
		<-time.After(life - time.Second)
		if got := len(r.byKey); r.get(name(3*fit-1)) == nil || len(r.byKey) != 1 {
			t.Errorf("%d results, %d after all but the last are over", got, len(r.byKey))
		}
		<-time.After(time.Second)
		if r.get(name(3*fit-1)) != nil || r.bytes != 0 || len(r.oldest) != 0 {
			t.Errorf("%d bytes of %d are left", r.bytes, len(r.oldest))
		}
	})
}
