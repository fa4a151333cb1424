package apply_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/routecontroller/internal/apply"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

const (
	vpcID   = "vpc-test"
	tableID = "vtb-1"
)

func newApplier(t *testing.T) (*inprocess.Cloud, *apply.Applier) {
	t.Helper()
	seed := state.New("cn-hangzhou", "")
	seed.Vpcs[vpcID] = &state.Vpc{CidrBlock: "192.168.0.0/16"}
	seed.RouteTables[tableID] = &state.RouteTable{VpcID: vpcID, Type: "System"}
	for i := range 4 {
		seed.Instances[fmt.Sprintf("i-%d", i)] = &state.Instance{VpcID: vpcID, PrivateIPs: []string{fmt.Sprintf("192.168.0.%d", i+1)}}
	}
	cloud := inprocess.New(t, vpcID, seed)
	return cloud, apply.New(apply.Config{Routes: cloud.Client().Routes, VPCID: vpcID, ClusterID: "c-1"})
}

func route(i int) table.Route {
	return table.Route{Key: table.Key{
		CIDR: netip.MustParsePrefix(fmt.Sprintf("10.0.%d.0/24", i)), InstanceID: fmt.Sprintf("i-%d", i),
	}, Node: fmt.Sprintf("node-%d", i)}
}

func TestApply(t *testing.T) {
	t.Parallel()
	cloud, applier := newApplier(t)
	first := applier.Apply(t.Context(), tableID, nil, []table.Route{route(0), route(1)})
	if err := first.Err(); err != nil {
		t.Fatal(err)
	}
	if len(first.Created) != 2 || !first.Created[0].Available {
		t.Fatalf("created %+v, want two available entries", first.Created)
	}
	second := applier.Apply(t.Context(), tableID, first.Created[:1], []table.Route{route(2)})
	if err := second.Err(); err != nil {
		t.Fatal(err)
	}
	if n := len(cloud.Writes()); n != 3 {
		t.Errorf("%d writes, want one per kind and pass", n)
	}
	marks := map[string]string{}
	cloud.Look(func(c *state.Cloud) {
		for _, e := range c.RouteTables[tableID].Entries {
			if e.Type == "Custom" {
				marks[e.Cidr] = e.Description
			}
		}
	})
	if diff := cmp.Diff(map[string]string{"10.0.1.0/24": "k8s/c-1/node-1", "10.0.2.0/24": "k8s/c-1/node-2"}, marks); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
}

func TestNothingToDoCostsNothing(t *testing.T) {
	t.Parallel()
	cloud, applier := newApplier(t)
	if err := applier.Apply(t.Context(), tableID, nil, nil).Err(); err != nil {
		t.Fatal(err)
	}
	if n := len(cloud.Calls()); n != 0 {
		t.Errorf("%d calls, want 0", n)
	}
}

func TestOneBadRouteFailsAlone(t *testing.T) {
	t.Parallel()
	_, applier := newApplier(t)
	result := applier.Apply(t.Context(), tableID, nil, []table.Route{route(0), route(9), route(1)}) // i-9 does not exist.
	if len(result.Created) != 2 || len(result.CreateFailed) != 1 || result.CreateFailed[0].Route != route(9) {
		t.Errorf("created %+v, failed %+v", result.Created, result.CreateFailed)
	}
	err := result.Err()
	if rpcerr.ReasonOf(err) != rpcerr.InstanceNotFound {
		t.Errorf("reason %q of %v, want that of the failed route", rpcerr.ReasonOf(err), err)
	}
	if want := "1 of 3 changes failed, the first: create route 10.0.9.0/24 of node node-9"; !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("error %v, want it to say %q", err, want)
	}
}

func TestRouteWhosePlaceIsNotFreedIsNotTried(t *testing.T) {
	t.Parallel()
	cloud, applier := newApplier(t)
	old := applier.Apply(t.Context(), tableID, nil, []table.Route{route(0)}).Created
	cloud.ResetCalls()
	busy := &rpcerr.Error{Code: codes.Aborted, Reason: rpcerr.ResourceBusy, Message: "busy"}
	cloud.Fail("BatchDeleteRouteEntries", 1, busy)
	taken := route(0)
	taken.InstanceID = "i-1"
	result := applier.Apply(t.Context(), tableID, old, []table.Route{taken})
	if n := len(cloud.CallsOf("BatchCreateRouteEntries")); n != 0 {
		t.Errorf("%d creations though the deletion failed", n)
	}
	if len(result.CreateFailed) != 1 || len(result.DeleteFailed) != 1 || rpcerr.ReasonOf(result.Err()) != rpcerr.ResourceBusy {
		t.Errorf("result %+v, want both to fail with the deletion's reason", result)
	}
}

func TestLostAnswerFailsAll(t *testing.T) {
	t.Parallel()
	cloud, applier := newApplier(t)
	cloud.FailAfter("BatchCreateRouteEntries", 1, &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown})
	result := applier.Apply(t.Context(), tableID, nil, []table.Route{route(0), route(1)})
	if len(result.Created) != 0 || len(result.CreateFailed) != 2 {
		t.Errorf("result %+v, want no success to be claimed", result)
	}
	if e, ok := errors.AsType[*rpcerr.Error](result.Err()); ok && e.Reason != rpcerr.OutcomeUnknown {
		t.Errorf("reason %q", e.Reason)
	}
}

// shortAnswers is a gateway that leaves the last result out.
type shortAnswers struct{ vpcv1.RouteServiceClient }

func (s shortAnswers) BatchCreateRouteEntries(
	_ context.Context, req *vpcv1.BatchCreateRouteEntriesRequest, _ ...grpc.CallOption,
) (*vpcv1.BatchCreateRouteEntriesResponse, error) {
	return &vpcv1.BatchCreateRouteEntriesResponse{Results: make([]*vpcv1.RouteEntryResult, len(req.GetRouteEntries())-1)}, nil
}

func TestShortAnswerFailsAll(t *testing.T) {
	t.Parallel()
	applier := apply.New(apply.Config{Routes: shortAnswers{}, VPCID: vpcID, ClusterID: "c-1"})
	result := applier.Apply(t.Context(), tableID, nil, []table.Route{route(0), route(1)})
	if len(result.Created) != 0 || len(result.CreateFailed) != 2 || !strings.Contains(fmt.Sprint(result.Err()), "1 results for 2 entries") {
		t.Errorf("result %+v, want no success to be claimed", result)
	}
}
