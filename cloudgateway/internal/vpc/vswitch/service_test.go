package vswitch

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
)

// region is a cloud with some vSwitches.
type region struct {
	mu               sync.Mutex
	vswitches, calls int
}

func (r *region) Do(_ context.Context, call openapi.Call, out any) (openapi.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if call.Action == "CreateVSwitch" {
		return openapi.Result{}, json.Unmarshal([]byte(`{"RequestId":"R"}`), out)
	}
	var found []map[string]string
	page, _ := strconv.Atoi(call.Params["PageNumber"])
	for i := range r.vswitches {
		id := fmt.Sprintf("vsw-%03d", i)
		if wanted := call.Params["VSwitchId"]; wanted == id || wanted == "" {
			found = append(found, map[string]string{"VSwitchId": id, "Status": "Available"})
		}
	}
	total, first := len(found), (page-1)*vpc.PageSize
	found = found[min(first, total):min(first+vpc.PageSize, total)]
	data, err := json.Marshal(map[string]any{"TotalCount": total, "VSwitches": map[string]any{"VSwitch": found}})
	if err != nil {
		return openapi.Result{}, err
	}
	return openapi.Result{}, json.Unmarshal(data, out)
}

// TestCreationWithoutAnID: without its id the new one is none of those that are there.
func TestCreationWithoutAnID(t *testing.T) {
	answers := &region{vswitches: 2}
	c := New(vpc.New(answers, cloud.Shared{Locks: &flow.Keyed[string]{}, Logger: slog.New(slog.DiscardHandler)}))
	made, err := c.CreateVSwitch(t.Context(), &vpcv1.CreateVSwitchRequest{RequestId: "r", VpcId: "vpc-1", ZoneId: "cn-a",
		CidrBlock: "10.0.0.0/24"})
	if err == nil || answers.calls != 1 {
		t.Errorf("got %v and %v after %d calls, want an error after one", made, err, answers.calls)
	}
}

// TestVSwitchesByID: a few are read one by one, of more ids all are.
func TestVSwitchesByID(t *testing.T) {
	for _, tt := range []struct{ vswitches, ids, calls int }{
		{vswitches: 10, ids: 1, calls: 1},
		{vswitches: 10, ids: 5, calls: 5},
		{vswitches: 10, ids: 6, calls: 1},
		{vswitches: 120, ids: 100, calls: 5},
		{vswitches: 2, ids: 20_000, calls: 1},
	} {
		answers := &region{vswitches: tt.vswitches}
		c := New(vpc.New(answers, cloud.Shared{Logger: slog.New(slog.DiscardHandler)}))
		var ids, want []string
		for i := range tt.ids {
			ids = append(ids, fmt.Sprintf("vsw-%03d", i))
		}
		want = ids[:min(tt.ids, tt.vswitches)]
		list, err := c.vswitches.List(t.Context(), &vpcv1.ListVSwitchesRequest{VswitchIds: ids})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range list {
			got = append(got, v.GetVswitchId())
		}
		if !slices.Equal(got, want) || answers.calls != tt.calls {
			t.Errorf("%d of %d: got %d vSwitches in %d calls, want %d in %d", tt.ids, tt.vswitches, len(got), answers.calls, len(want), tt.calls)
		}
	}
}
