package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const describeVSwitches = "DescribeVSwitches"

// TestLifeOfAVSwitch: each step with the cloud calls that it costs.
func TestLifeOfAVSwitch(t *testing.T) {
	w := newWorld(t, func(c *openapisim.Config) { c.Seed.Vpcs[testVPC].Ipv6Cidrs = []string{"2408:4005:1:100::/56"} })
	r := &vpcv1.CreateVSwitchRequest{
		RequestId: "r-1", VpcId: testVPC, ZoneId: "cn-hangzhou-i", CidrBlock: "192.168.64.0/24", Ipv6Subnet: new(int32(0)), Name: "web",
		Description: "of the shop", Tags: []*commonv1.Tag{{Key: "k", Value: "v"}},
	}
	made, err := w.VSwitches.CreateVSwitch(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	id := made.GetVswitch().GetVswitchId()
	want := &vpcv1.VSwitch{
		VswitchId: id, VpcId: testVPC, ZoneId: "cn-hangzhou-i", CidrBlock: "192.168.64.0/24", AvailableIpCount: 252, Name: "web",
		Description: "of the shop", Status: "Available", Ipv6CidrBlock: "2408:4005:1:100::/64", RouteTableId: testTable, Tags: r.GetTags(),
		ResourceGroupId: state.DefaultResourceGroup,
	}
	if diff := cmp.Diff(want, made.GetVswitch(), protocmp.Transform()); diff != "" {
		t.Errorf("new vSwitch (-want +got):\n%s", diff)
	}
	w.wantCalls(t, "creation", "CreateVSwitch", describeVSwitches)
	fresh := &vpcv1.GetVSwitchRequest{VswitchId: id, MaxAge: durationpb.New(time.Minute)}
	for range 2 {
		got, err := w.VSwitches.GetVSwitch(t.Context(), fresh)
		if diff := cmp.Diff(want, got.GetVswitch(), protocmp.Transform()); diff != "" || err != nil {
			t.Errorf("read vSwitch: %v (-want +got):\n%s", err, diff)
		}
	}
	w.wantCalls(t, "two reads", describeVSwitches)
	for range 2 {
		if _, err := w.VSwitches.DeleteVSwitch(t.Context(), &vpcv1.DeleteVSwitchRequest{VpcId: testVPC, VswitchId: id}); err != nil {
			t.Fatal(err)
		}
	}
	w.wantCalls(t, "two deletions", describeVSwitches, "DeleteVSwitch", describeVSwitches, describeVSwitches)
	_, err = w.VSwitches.GetVSwitch(t.Context(), fresh)
	wantNotFound(t, err, rpcerr.VSwitchNotFound)
}

func TestVSwitchRefusals(t *testing.T) {
	create := func(r *vpcv1.CreateVSwitchRequest) func(context.Context, *world) error {
		r.RequestId, r.ZoneId = "r-1", "cn-hangzhou-h"
		return func(ctx context.Context, w *world) error {
			_, err := w.VSwitches.CreateVSwitch(ctx, r)
			return err
		}
	}
	remove := func(id string) func(context.Context, *world) error {
		return func(ctx context.Context, w *world) error {
			_, err := w.VSwitches.DeleteVSwitch(ctx, &vpcv1.DeleteVSwitchRequest{VpcId: testVPC, VswitchId: id})
			return err
		}
	}
	for _, tt := range []struct {
		name  string
		fault string // code with which the first write is answered
		run   func(context.Context, *world) error
		want  rpcerr.Reason // empty: success
		calls []string
	}{
		{name: "create in nothing", run: create(&vpcv1.CreateVSwitchRequest{VpcId: "vpc-gone", CidrBlock: "10.0.0.0/24"}),
			want: rpcerr.VpcNotFound, calls: []string{"CreateVSwitch"}},
		{name: "create over another", run: create(&vpcv1.CreateVSwitchRequest{VpcId: testVPC, CidrBlock: "192.168.1.0/24"}),
			want: rpcerr.InvalidField, calls: []string{"CreateVSwitch"}},
		{
			name: "create while busy", fault: "TaskConflict", run: create(&vpcv1.CreateVSwitchRequest{VpcId: testVPC, CidrBlock: "192.168.64.0/24"}),
			calls: []string{"CreateVSwitch", "CreateVSwitch", describeVSwitches},
		},
		{name: "delete with instances in it", run: remove(testVSwitch), want: rpcerr.ResourceInUse,
			calls: []string{describeVSwitches, "DeleteVSwitch"}},
		{name: "delete with a table of its own", run: remove("vsw-table"), want: rpcerr.ResourceInUse,
			calls: []string{describeVSwitches, "DeleteVSwitch"}},
		{
			name: "delete while busy", fault: "IncorrectRouteEntryStatus", run: remove("vsw-empty"),
			calls: []string{describeVSwitches, "DeleteVSwitch", describeVSwitches, "DeleteVSwitch", describeVSwitches},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *openapisim.Config) {
				c.Seed.RouteTables["vtb-own"] = &state.RouteTable{VpcID: testVPC, Type: "Custom"}
				c.Seed.VSwitches["vsw-empty"] = &state.VSwitch{VpcID: testVPC, ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.100.0/24"}
				c.Seed.VSwitches["vsw-table"] = &state.VSwitch{
					VpcID: testVPC, ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.101.0/24", RouteTableID: "vtb-own",
				}
			})
			if tt.fault != "" {
				w.strike(t,
					fault.Rule{Action: tt.calls[slices.IndexFunc(tt.calls, func(a string) bool { return a != describeVSwitches })],
						Times: 1, Error: &fault.Error{Status: 400, Code: tt.fault, Message: "Not now."}})
			}
			err := tt.run(t.Context(), w)
			if got := rpcerr.ReasonOf(err); got != tt.want || (err == nil) != (tt.want == "") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			w.wantCalls(t, tt.name, tt.calls...)
		})
	}
}

func TestListNetworks(t *testing.T) {
	w := newWorld(t, func(c *openapisim.Config) {
		for i := range 60 {
			c.Seed.Vpcs[fmt.Sprintf("vpc-m%02d", i)] = &state.Vpc{CidrBlock: "10.0.0.0/8"}
		}
		odd := c.Seed.Vpcs["vpc-m07"]
		odd.Name, odd.Description, odd.Tags = "odd", "d", []state.Tag{{Key: "k", Value: "v"}}
		c.Seed.VSwitches["vsw-odd"] = &state.VSwitch{
			VpcID: "vpc-m07", ZoneID: "cn-hangzhou-i", CidrBlock: "10.1.0.0/16", Name: "odd", Tags: []state.Tag{{Key: "k", Value: "v"}},
		}
	})
	ids := make([]string, 60)
	for i := range ids {
		ids[i] = fmt.Sprintf("vpc-m%02d", len(ids)-1-i)
	}
	odd := &vpcv1.Vpc{
		VpcId: "vpc-m07", CidrBlock: "10.0.0.0/8", Name: "odd", Description: "d", Status: "Available",
		Tags: []*commonv1.Tag{{Key: "k", Value: "v"}}, ResourceGroupId: state.DefaultResourceGroup,
	}
	for _, tt := range []struct {
		name    string
		request *vpcv1.ListVpcsRequest
		found   int
		calls   int
	}{
		{"all", &vpcv1.ListVpcsRequest{}, 61, 2 + 1},
		{"by id, one unknown", &vpcv1.ListVpcsRequest{VpcIds: append(ids, "vpc-gone")}, 60, 4},
		{"by name", &vpcv1.ListVpcsRequest{Name: "odd"}, 1, 1},
		{"by tag", &vpcv1.ListVpcsRequest{Tags: []*commonv1.Tag{{Key: "k", Value: "v"}}}, 1, 1},
		{"by id and name", &vpcv1.ListVpcsRequest{VpcIds: ids[:2], Name: "odd"}, 0, 1},
	} {
		w.forget()
		got, err := w.Networks.ListVpcs(t.Context(), tt.request)
		sorted := slices.IsSortedFunc(got.GetVpcs(), func(a, b *vpcv1.Vpc) int { return strings.Compare(a.GetVpcId(), b.GetVpcId()) })
		if n := len(w.actions(true)); err != nil || len(got.GetVpcs()) != tt.found || n != tt.calls || !sorted {
			t.Errorf("%s: %d VPCs, in order: %t, %d calls, %v, want %d, %d calls", tt.name, len(got.GetVpcs()), sorted, n, err, tt.found, tt.calls)
		}
		if tt.found == 1 {
			if diff := cmp.Diff(odd, got.GetVpcs()[0], protocmp.Transform()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		}
	}
	for _, tt := range []struct {
		name    string
		request *vpcv1.ListVSwitchesRequest
		want    []string
	}{
		{"by zone", &vpcv1.ListVSwitchesRequest{ZoneId: "cn-hangzhou-i"}, []string{"vsw-odd"}},
		{"by name", &vpcv1.ListVSwitchesRequest{Name: "odd"}, []string{"vsw-odd"}},
		{"by tag", &vpcv1.ListVSwitchesRequest{Tags: []*commonv1.Tag{{Key: "k"}}}, []string{"vsw-odd"}},
		{"by VPC and zone", &vpcv1.ListVSwitchesRequest{VpcId: testVPC, ZoneId: "cn-hangzhou-i"}, nil},
		{"by id and zone", &vpcv1.ListVSwitchesRequest{VswitchIds: []string{"vsw-odd", testVSwitch}, ZoneId: "cn-hangzhou-h"},
			[]string{testVSwitch}},
	} {
		got, err := w.VSwitches.ListVSwitches(t.Context(), tt.request)
		var found []string
		for _, v := range got.GetVswitches() {
			found = append(found, v.GetVswitchId())
		}
		if diff := cmp.Diff(tt.want, found); diff != "" || err != nil {
			t.Errorf("vSwitches %s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}
