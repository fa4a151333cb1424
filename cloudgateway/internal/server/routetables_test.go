package server

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/cloudgateway/writetest"
)

const (
	describeTables  = "DescribeRouteTableList"
	describeEntries = "DescribeRouteEntryList"
)

// TestLifeOfARouteTable: each step, done twice, with the cloud calls that it costs.
func TestLifeOfARouteTable(t *testing.T) {
	w := newWorld(t)
	r := &vpcv1.CreateRouteTableRequest{
		RequestId: "r-1", VpcId: testVPC, Name: "web", Description: "of the shop", Tags: []*commonv1.Tag{{Key: "k", Value: "v"}},
	}
	made, err := w.Routes.CreateRouteTable(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	id := made.GetRouteTable().GetRouteTableId()
	want := &vpcv1.RouteTable{
		RouteTableId: id, VpcId: testVPC, Type: "Custom", Name: "web", Description: "of the shop", Status: "Available", Tags: r.GetTags(),
		ResourceGroupId: state.DefaultResourceGroup,
	}
	if diff := cmp.Diff(want, made.GetRouteTable(), protocmp.Transform()); diff != "" {
		t.Errorf("new table (-want +got):\n%s", diff)
	}
	w.wantCalls(t, "creation", "CreateRouteTable", describeTables)

	const bind, unbind, remove = "AssociateRouteTable", "UnassociateRouteTable", "DeleteRouteTable"
	steps := []struct {
		name  string
		run   func() error
		calls []string
		bound string // table of the vSwitch afterwards
	}{
		{bind, func() error {
			_, err := w.Routes.AssociateRouteTable(t.Context(), &vpcv1.AssociateRouteTableRequest{
				VpcId: testVPC, RouteTableId: id, VswitchId: testVSwitch,
			})
			return err
		}, []string{bind, describeVSwitches, bind, describeVSwitches}, id},
		{unbind, func() error {
			_, err := w.Routes.UnassociateRouteTable(t.Context(), &vpcv1.UnassociateRouteTableRequest{
				VpcId: testVPC, RouteTableId: id, VswitchId: testVSwitch,
			})
			return err
		}, []string{unbind, describeVSwitches, unbind, describeVSwitches}, testTable},
		{remove, func() error {
			_, err := w.Routes.DeleteRouteTable(t.Context(), &vpcv1.DeleteRouteTableRequest{VpcId: testVPC, RouteTableId: id})
			return err
		}, []string{remove, describeTables, remove, describeTables}, testTable},
	}
	for _, step := range steps {
		for range 2 {
			if err := step.run(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
		}
		w.wantCalls(t, step.name, step.calls...)
		got, err := w.VSwitches.GetVSwitch(t.Context(), &vpcv1.GetVSwitchRequest{VswitchId: testVSwitch})
		if err != nil || got.GetVswitch().GetRouteTableId() != step.bound {
			t.Errorf("after %s: table %s, %v, want %s", step.name, got.GetVswitch().GetRouteTableId(), err, step.bound)
		}
		w.forget()
	}
}

// TestRouteTablesInTheWay: nothing is taken from anybody, and what stands in the way is named.
func TestRouteTablesInTheWay(t *testing.T) {
	associate := func(table, vswitch string) func(context.Context, *world) error {
		return func(ctx context.Context, w *world) error {
			_, err := w.Routes.AssociateRouteTable(ctx, &vpcv1.AssociateRouteTableRequest{VpcId: testVPC, RouteTableId: table, VswitchId: vswitch})
			return err
		}
	}
	unassociate := func(table, vswitch string) func(context.Context, *world) error {
		return func(ctx context.Context, w *world) error {
			_, err := w.Routes.UnassociateRouteTable(ctx, &vpcv1.UnassociateRouteTableRequest{VpcId: testVPC,
				RouteTableId: table, VswitchId: vswitch})
			return err
		}
	}
	remove := func(id string) func(context.Context, *world) error {
		return func(ctx context.Context, w *world) error {
			_, err := w.Routes.DeleteRouteTable(ctx, &vpcv1.DeleteRouteTableRequest{VpcId: testVPC, RouteTableId: id})
			return err
		}
	}
	const bind, unbind, del = "AssociateRouteTable", "UnassociateRouteTable", "DeleteRouteTable"
	for _, tt := range []struct {
		name   string
		fault  string // code with which the first write is answered
		run    func(context.Context, *world) error
		want   rpcerr.Reason // empty: success
		remedy string        // a part of the message
		calls  []string
	}{
		{name: "bind where another is", run: associate("vtb-free", "vsw-bound"), want: rpcerr.ResourceInUse,
			calls: []string{bind, describeVSwitches}},
		{name: "bind the system's", run: associate(testTable, testVSwitch), want: rpcerr.InvalidState, calls: []string{bind}},
		{name: "bind in another VPC", run: associate("vtb-other", testVSwitch), want: rpcerr.InvalidField, remedy: "vtb-other is of vpc-2"},
		{name: "bind nothing", run: associate("vtb-gone", testVSwitch), want: rpcerr.RouteTableNotFound, calls: []string{describeTables, bind}},
		{name: "bind to nothing", run: associate("vtb-free", "vsw-gone"), want: rpcerr.VSwitchNotFound, calls: []string{bind}},
		{
			name: "bind while busy", fault: "TaskConflict", run: associate("vtb-free", testVSwitch),
			calls: []string{bind, describeVSwitches, bind, describeVSwitches},
		},
		{name: "unbind from where another is", run: unassociate("vtb-free", "vsw-bound"), calls: []string{unbind, describeVSwitches}},
		{name: "unbind nothing", run: unassociate("vtb-gone", "vsw-bound"), calls: []string{describeTables, unbind, describeVSwitches}},
		{name: "unbind from nothing", run: unassociate("vtb-free", "vsw-gone"), calls: []string{unbind, describeVSwitches}},
		{name: "unbind the system's", run: unassociate(testTable, testVSwitch), want: rpcerr.InvalidState,
			calls: []string{unbind, describeVSwitches}},
		{
			name: "delete what is bound", run: remove("vtb-bound"), want: rpcerr.ResourceInUse,
			remedy: "is bound to vsw-bound; unassociate it first",
			calls:  []string{del, describeTables},
		},
		{name: "delete what has entries", run: remove("vtb-full"), want: rpcerr.ResourceInUse, remedy: "custom entries", calls: []string{del}},
		{name: "delete the system's", run: remove(testTable), want: rpcerr.InvalidState, calls: []string{del}},
		{
			name: "delete while busy", fault: "IncorrectRouteTableStatus", run: remove("vtb-free"),
			calls: []string{del, describeTables, del, describeTables},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *openapisim.Config) {
				c.Seed.Vpcs["vpc-2"] = &state.Vpc{CidrBlock: "10.0.0.0/8"}
				c.Seed.RouteTables["vtb-other"] = &state.RouteTable{VpcID: "vpc-2", Type: "Custom"}
				for _, id := range []string{"vtb-free", "vtb-bound", "vtb-full"} {
					c.Seed.RouteTables[id] = &state.RouteTable{VpcID: testVPC, Type: "Custom"}
				}
				c.Seed.RouteTables["vtb-full"].Entries = []*state.RouteEntry{{
					ID: "rte-1", Cidr: "10.0.0.0/24", NextHopID: instanceID(0), NextHopType: "Instance", Type: "Custom", Status: "Available",
				}}
				c.Seed.VSwitches["vsw-bound"] = &state.VSwitch{
					VpcID: testVPC, ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.100.0/24", RouteTableID: "vtb-bound",
				}
			})
			if tt.fault != "" {
				w.strike(t, fault.Rule{Action: tt.calls[0], Times: 1, Error: &fault.Error{Status: 400, Code: tt.fault, Message: "Not now."}})
			}
			for _, id := range []string{testVPC, "vpc-2"} { // The gateway knows whose tables they are.
				if _, err := w.Routes.ListRouteTables(t.Context(), &vpcv1.ListRouteTablesRequest{VpcId: id}); err != nil {
					t.Fatal(err)
				}
			}
			w.forget()
			err := tt.run(t.Context(), w)
			if got := rpcerr.ReasonOf(err); got != tt.want || (err == nil) != (tt.want == "") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && !strings.Contains(err.Error(), tt.remedy) {
				t.Errorf("got %v, want a message with %q", err, tt.remedy)
			}
			w.wantCalls(t, tt.name, tt.calls...)
		})
	}
}

// TestRoutesWithSeveralNextHops are made by a call each, beside those of a batch, and found by every next hop.
func TestRoutesWithSeveralNextHops(t *testing.T) {
	w := newWorld(t)
	wide := func(cidr string, hops ...*vpcv1.NextHop) *vpcv1.RouteEntry {
		return &vpcv1.RouteEntry{RouteTableId: testTable, DestinationCidr: cidr, Name: "wide", Description: "k8s", NextHops: hops}
	}
	one, two := &vpcv1.NextHop{NextHopId: instanceID(1)}, &vpcv1.NextHop{NextHopId: instanceID(2), NextHopType: "Instance",
		Weight: new(int32(50))}
	create := func(entries ...*vpcv1.RouteEntry) []*vpcv1.RouteEntryResult {
		answer, err := w.Routes.BatchCreateRouteEntries(t.Context(), &vpcv1.BatchCreateRouteEntriesRequest{VpcId: testVPC, RouteEntries: entries})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetResults()
	}
	narrow := &vpcv1.RouteEntry{RouteTableId: testTable, DestinationCidr: "10.0.2.0/24", NextHopId: instanceID(0)}
	if err := writetest.FirstFailure(nil, create(wide("10.0.0.0/24", one, two), narrow, wide("10.0.1.0/24", two, one))); err != nil {
		t.Fatal(err)
	}
	w.wantCalls(t, "creation", "DescribeRouteTableList", "CreateRouteEntry", describeEntries, "CreateRouteEntry",
		describeEntries, "CreateRouteEntries", describeEntries)

	list := func(r *vpcv1.ListRouteEntriesRequest) []*vpcv1.RouteEntry {
		r.RouteTableId = testTable
		answer, err := w.Routes.ListRouteEntries(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetRouteEntries()
	}
	byHop := list(&vpcv1.ListRouteEntriesRequest{NextHopId: instanceID(2)})
	want := wide("10.0.0.0/24", &vpcv1.NextHop{NextHopId: instanceID(1), NextHopType: "Instance", Weight: new(int32(100))}, two)
	want.Type, want.Status, want.MultipleNextHops = "Custom", "Available", true
	if len(byHop) != 2 {
		t.Fatalf("entries by next hop: %v, want two", byHop)
	}
	if diff := cmp.Diff(want, byHop[0], protocmp.Transform(), protocmp.IgnoreFields(want, "route_entry_id")); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
	if got := list(&vpcv1.ListRouteEntriesRequest{DestinationCidrs: []string{"10.0.2.0/24", "10.0.1.0/24", "10.0.9.0/24"}}); len(got) != 2 {
		t.Errorf("entries by destination: %v, want two", got)
	}
	w.forget()

	light := &vpcv1.NextHop{NextHopId: instanceID(2), Weight: new(int32(7))}
	results := create(wide("10.0.0.0/24", two, one), wide("10.0.1.0/24", one, light), wide("10.0.2.0/24", one, two))
	var got []string
	for _, r := range results {
		got = append(got, r.GetStatus()+" "+r.GetError().GetReason())
	}
	if diff := cmp.Diff([]string{"Available ", "Available ROUTE_CONFLICT", "Available ROUTE_CONFLICT"}, got); diff != "" {
		t.Errorf("the same, another weight, other hops (-want +got):\n%s", diff)
	}
	if err := rpcerr.FromItem(results[2].GetError()); !strings.Contains(err.Error(),
		`by "i-0000", so "i-0001" and "i-0002" (weight 50) can't be its next hop`) {
		t.Errorf("conflict: %v", err)
	}
	w.forget()
	deleted, err := w.Routes.BatchDeleteRouteEntries(t.Context(), &vpcv1.BatchDeleteRouteEntriesRequest{VpcId: testVPC, RouteEntries: byHop})
	if err := writetest.FirstFailure(err, deleted.GetResults()); err != nil {
		t.Fatal(err)
	}
	w.wantCalls(t, "deletion, of entries that are looked at before", describeEntries, "DeleteRouteEntries", describeEntries)
	if got := list(&vpcv1.ListRouteEntriesRequest{Type: "Custom"}); len(got) != 1 {
		t.Errorf("left: %v, want one", got)
	}
}

func TestUpdateRouteEntry(t *testing.T) {
	const modify = "ModifyRouteEntry"
	hop := func(i int) *vpcv1.NextHop { return &vpcv1.NextHop{NextHopId: instanceID(i)} }
	tests := []struct {
		name    string
		request *vpcv1.UpdateRouteEntryRequest
		entry   string        // "rte-1" if empty
		want    string        // next hop, name and description afterwards
		refusal rpcerr.Reason // empty: success
		calls   []string
	}{
		{
			name: "all", request: &vpcv1.UpdateRouteEntryRequest{Name: new("new"), Description: new("other"), NextHop: hop(1)},
			want: "i-0001 new other", calls: []string{describeEntries, modify, describeEntries},
		},
		{
			name: "the name", request: &vpcv1.UpdateRouteEntryRequest{Name: new("new"), NextHop: hop(0)}, want: "i-0000 new k8s",
			calls: []string{describeEntries, modify, describeEntries},
		},
		{name: "what is so", request: &vpcv1.UpdateRouteEntryRequest{Name: new("old"), NextHop: hop(0)},
			want: "i-0000 old k8s", calls: []string{describeEntries}},
		{name: "of several", entry: "rte-2", request: &vpcv1.UpdateRouteEntryRequest{NextHop: hop(0)},
			refusal: rpcerr.InvalidState, calls: []string{describeEntries}},
		{
			name: "name of several", entry: "rte-2", request: &vpcv1.UpdateRouteEntryRequest{Name: new("new")}, want: " new k8s",
			calls: []string{describeEntries, modify, describeEntries},
		},
		{name: "gone", entry: "rte-9", request: &vpcv1.UpdateRouteEntryRequest{Name: new("new")},
			refusal: rpcerr.RouteNotFound, calls: []string{describeEntries}},
		{name: "of nothing", request: &vpcv1.UpdateRouteEntryRequest{NextHop: &vpcv1.NextHop{NextHopId: "i-gone"}},
			refusal: rpcerr.InstanceNotFound, calls: []string{describeEntries, modify}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *openapisim.Config) {
				c.Seed.RouteTables[testTable].Entries = []*state.RouteEntry{
					{
						ID: "rte-1", Cidr: "10.0.0.0/24", NextHopID: instanceID(0), NextHopType: "Instance", Type: "Custom", Status: "Available",
						Name: "old", Description: "k8s",
					},
					{
						ID: "rte-2", Cidr: "10.0.1.0/24", Type: "Custom", Status: "Available", Name: "old", Description: "k8s",
						NextHops: []state.NextHop{{ID: instanceID(0), Type: "Instance"}, {ID: instanceID(1), Type: "Instance"}},
					},
				}
			})
			if tt.entry == "" {
				tt.entry = "rte-1"
			}
			// Whose the table is is known.
			if _, err := w.Routes.ListRouteTables(t.Context(), &vpcv1.ListRouteTablesRequest{VpcId: testVPC}); err != nil {
				t.Fatal(err)
			}
			w.forget()
			tt.request.VpcId, tt.request.RouteTableId, tt.request.RouteEntryId = testVPC, testTable, tt.entry
			answer, err := w.Routes.UpdateRouteEntry(t.Context(), tt.request)
			if got := rpcerr.ReasonOf(err); got != tt.refusal || (err == nil) != (tt.refusal == "") {
				t.Errorf("got %v, want %q", err, tt.refusal)
			}
			if e := answer.GetRouteEntry(); err == nil && e.GetNextHopId()+" "+e.GetName()+" "+e.GetDescription() != tt.want {
				t.Errorf("got %v, want %s", e, tt.want)
			}
			w.wantCalls(t, tt.name, tt.calls...)
		})
	}
}
