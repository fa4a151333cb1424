package server

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const describeEips = "DescribeEipAddresses"

// TestLifeOfAnEip: each step with the cloud calls that it costs.
func TestLifeOfAnEip(t *testing.T) {
	w := newWorld(t)
	bought, err := w.Eips.AllocateEip(t.Context(), &vpcv1.AllocateEipRequest{
		RequestId: "r-1", Name: "web", Description: "of the shop", BandwidthMbps: 20,
		InternetChargeType: vpcv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_TRAFFIC, Isp: "BGP_PRO",
		ResourceGroupId: "rg-1", Tags: []*commonv1.Tag{{Key: "b", Value: "2"}, {Key: "a", Value: "1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	id := bought.GetEip().GetAllocationId()
	want := &vpcv1.Eip{
		AllocationId: id, IpAddress: bought.GetEip().GetIpAddress(), Status: "Available", BandwidthMbps: 20,
		InternetChargeType: vpcv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_TRAFFIC,
		InstanceChargeType: commonv1.ChargeType_CHARGE_TYPE_POST_PAID, Name: "web", Description: "of the shop",
		ResourceGroupId: "rg-1", Isp: "BGP_PRO", RegionId: "cn-hangzhou",
		BusinessStatus: "Normal", CreationTime: bought.GetEip().GetCreationTime(),
		Tags: []*commonv1.Tag{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}},
	}
	if diff := cmp.Diff(want, bought.GetEip(), protocmp.Transform()); diff != "" {
		t.Errorf("new EIP (-want +got):\n%s", diff)
	}
	w.wantCalls(t, "allocation", "AllocateEipAddress", describeEips)

	if _, err := w.Eips.UpdateEip(t.Context(), &vpcv1.UpdateEipRequest{
		AllocationId: id, Description: new("of the other shop"), BandwidthMbps: new(int32(5)),
		SetTags: []*commonv1.Tag{{Key: "b", Value: "3"}}, RemoveTagKeys: []string{"a"},
	}); err != nil {
		t.Fatal(err)
	}
	w.wantCalls(t, "update", "ModifyEipAddressAttribute", "TagResources", "UnTagResources")

	bind := &vpcv1.AssociateEipRequest{AllocationId: id, InstanceId: instanceID(0), InstanceType: "EcsInstance"}
	bound, err := w.Eips.AssociateEip(t.Context(), bind)
	if err != nil {
		t.Fatal(err)
	}
	want.Description, want.BandwidthMbps, want.Tags = "of the other shop", 5, []*commonv1.Tag{{Key: "b", Value: "3"}}
	want.Status, want.InstanceId, want.InstanceType = "InUse", instanceID(0), "EcsInstance"
	if diff := cmp.Diff(want, bound.GetEip(), protocmp.Transform()); diff != "" {
		t.Errorf("bound EIP (-want +got):\n%s", diff)
	}
	w.wantCalls(t, "association", "AssociateEipAddress", describeEips)
	again, err := w.Eips.AssociateEip(t.Context(), bind)
	if diff := cmp.Diff(bound, again, protocmp.Transform()); diff != "" || err != nil {
		t.Errorf("associated again: %v (-first +second):\n%s", err, diff)
	}
	w.forget()

	// What was just read is remembered, and forgotten with the next change.
	fresh := &vpcv1.GetEipRequest{AllocationId: id, MaxAge: durationpb.New(time.Minute)}
	for range 2 {
		got, err := w.Eips.GetEip(t.Context(), fresh)
		if diff := cmp.Diff(want, got.GetEip(), protocmp.Transform()); diff != "" || err != nil {
			t.Errorf("read EIP: %v (-want +got):\n%s", err, diff)
		}
	}
	w.wantCalls(t, "two reads", describeEips)
	for range 2 {
		if _, err := w.Eips.UnassociateEip(t.Context(), &vpcv1.UnassociateEipRequest{AllocationId: id, InstanceId: instanceID(0)}); err != nil {
			t.Fatal(err)
		}
	}
	w.wantCalls(t, "two unassociations", describeEips, "UnassociateEipAddress", describeEips, describeEips)
	for range 2 {
		if _, err := w.Eips.ReleaseEip(t.Context(), &vpcv1.ReleaseEipRequest{AllocationId: id}); err != nil {
			t.Fatal(err)
		}
	}
	w.wantCalls(t, "two releases", "ReleaseEipAddress", describeEips, "ReleaseEipAddress", describeEips)
	_, err = w.Eips.GetEip(t.Context(), fresh)
	wantNotFound(t, err, rpcerr.EipNotFound)
}

// TestEipThatIsPaidBefore: the order is paid, or there would be an order and no EIP.
func TestEipThatIsPaidBefore(t *testing.T) {
	w := newWorld(t)
	r := &vpcv1.AllocateEipRequest{RequestId: "r-1", InstanceChargeType: commonv1.ChargeType_CHARGE_TYPE_PRE_PAID,
		PricingCycle: "Month", Period: 3}
	first, err := w.Eips.AllocateEip(t.Context(), r)
	if err != nil || first.GetEip().GetInstanceChargeType() != commonv1.ChargeType_CHARGE_TYPE_PRE_PAID {
		t.Fatalf("got %v, %v, want one that is paid before", first, err)
	}
	params := w.calls(false)[0].Params
	got := []string{params["PricingCycle"], params["Period"], params["AutoPay"], params["ClientToken"]}
	if diff := cmp.Diff([]string{"Month", "3", "true", "r-1"}, got); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	second, err := w.Eips.AllocateEip(t.Context(), r)
	if diff := cmp.Diff(first, second, protocmp.Transform()); diff != "" || err != nil {
		t.Errorf("the same again: %v (-first +second):\n%s", err, diff)
	}
}

// TestEipsOfAnInterface: each private address can have one.
func TestEipsOfAnInterface(t *testing.T) {
	w := newWorld(t, func(c *openapisim.Config) {
		c.Seed.Interfaces["eni-1"] = &state.NetworkInterface{
			VpcID: testVPC, VSwitchID: testVSwitch, PrivateIPs: []string{"192.168.9.1", "192.168.9.2"},
		}
		for _, id := range []string{"eip-1", "eip-2"} {
			c.Seed.Eips[id] = &state.Eip{Address: "47.1.2." + id[4:], Status: "Available", Bandwidth: "5"}
		}
	})
	bind := func(id, address string) error {
		_, err := w.Eips.AssociateEip(t.Context(), &vpcv1.AssociateEipRequest{
			AllocationId: id, InstanceId: "eni-1", InstanceType: "NetworkInterface", PrivateIpAddress: address, Mode: "NAT",
		})
		return err
	}
	for id, address := range map[string]string{"eip-1": "192.168.9.1", "eip-2": "192.168.9.2"} {
		if err := bind(id, address); err != nil {
			t.Error(err)
		}
	}
	if err := bind("eip-1", "192.168.9.2"); rpcerr.ReasonOf(err) != rpcerr.ResourceInUse {
		t.Errorf("got %v, want RESOURCE_IN_USE: it is bound to the other address", err)
	}
	if _, err := w.Eips.UnassociateEip(t.Context(), &vpcv1.UnassociateEipRequest{AllocationId: "eip-1"}); err != nil {
		t.Error(err)
	}
}

// wantCalls compares the calls since the last time, reads included.
func (w *world) wantCalls(t *testing.T, what string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, w.actions(true)); diff != "" {
		t.Errorf("%s: calls (-want +got):\n%s", what, diff)
	}
	w.forget()
}

// TestEipsInTheWay: what an EIP is bound to decides whether it may be changed, and nothing is taken away from anybody.
func TestEipsInTheWay(t *testing.T) {
	seeded := func(c *openapisim.Config) {
		c.Seed.Eips["eip-free"] = &state.Eip{Address: "47.1.2.1", Status: "Available", Bandwidth: "5"}
		c.Seed.Eips["eip-paid"] = &state.Eip{Address: "47.1.2.2", Status: "Available", Bandwidth: "5", InstanceChargeType: "PrePaid"}
		c.Seed.Eips["eip-bound"] = &state.Eip{
			Address: "47.1.2.3", Status: "InUse", Bandwidth: "5", InstanceID: instanceID(1), InstanceType: "EcsInstance",
		}
	}
	associate := func(id, instance string) func(context.Context, *world) error {
		return func(ctx context.Context, w *world) error {
			_, err := w.Eips.AssociateEip(ctx, &vpcv1.AssociateEipRequest{AllocationId: id, InstanceId: instance, InstanceType: "EcsInstance"})
			return err
		}
	}
	unassociate := func(id, instance string) func(context.Context, *world) error {
		return func(ctx context.Context, w *world) error {
			_, err := w.Eips.UnassociateEip(ctx, &vpcv1.UnassociateEipRequest{AllocationId: id, InstanceId: instance})
			return err
		}
	}
	release := func(id string) func(context.Context, *world) error {
		return func(ctx context.Context, w *world) error {
			_, err := w.Eips.ReleaseEip(ctx, &vpcv1.ReleaseEipRequest{AllocationId: id})
			return err
		}
	}
	const bind, unbind, free = "AssociateEipAddress", "UnassociateEipAddress", "ReleaseEipAddress"
	tests := []struct {
		name   string
		fault  string // code with which the first write is answered
		run    func(context.Context, *world) error
		want   rpcerr.Reason // empty: success
		remedy string        // a part of the message
		calls  []string
	}{
		{
			name: "associate what another has", run: associate("eip-bound", instanceID(0)), want: rpcerr.ResourceInUse,
			remedy: "EIP eip-bound is bound to EcsInstance i-0001", calls: []string{bind, describeEips},
		},
		{
			name: "associate with who has another", run: associate("eip-free", instanceID(1)), want: rpcerr.ResourceInUse,
			remedy: "already has an elastic IP address", calls: []string{bind, describeEips},
		},
		{name: "associate with nobody", run: associate("eip-free", "i-gone"), want: rpcerr.InstanceNotFound, calls: []string{bind}},
		{name: "associate nothing", run: associate("eip-gone", instanceID(0)), want: rpcerr.EipNotFound, calls: []string{bind}},
		{
			name: "associate while busy", fault: "TaskConflict", run: associate("eip-free", instanceID(0)),
			calls: []string{bind, describeEips, bind, describeEips},
		},
		{name: "take from another", run: unassociate("eip-bound", instanceID(0)), calls: []string{describeEips}},
		{name: "take what is free", run: unassociate("eip-free", ""), calls: []string{describeEips}},
		{name: "take from whoever has it", run: unassociate("eip-bound", ""), calls: []string{describeEips, unbind, describeEips}},
		{name: "take what is gone", run: unassociate("eip-gone", ""), calls: []string{describeEips}},
		{
			name: "release what is bound", run: release("eip-bound"), want: rpcerr.ResourceInUse, remedy: "unassociate it first",
			calls: []string{free, describeEips},
		},
		{name: "release what is paid for", run: release("eip-paid"), want: rpcerr.InvalidState, calls: []string{free}},
		{
			name: "release what is protected", fault: "InvalidOperation.DeletionProtection", run: release("eip-free"),
			want: rpcerr.DeleteProtected, calls: []string{free},
		},
		{name: "release while busy", fault: "TaskConflict", run: release("eip-free"), calls: []string{free, describeEips, free, describeEips}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seeded)
			if tt.fault != "" {
				w.strike(t, fault.Rule{Action: tt.calls[0], Times: 1, Error: &fault.Error{Status: 400, Code: tt.fault, Message: "Not now."}})
			}
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

func TestListEips(t *testing.T) {
	const many = 120
	w := newWorld(t, func(c *openapisim.Config) {
		for i := range many {
			c.Seed.Eips[fmt.Sprintf("eip-%03d", i)] = &state.Eip{Address: fmt.Sprintf("47.1.2.%d", i), Status: "Available", Bandwidth: "5"}
		}
		odd := c.Seed.Eips["eip-007"]
		odd.Name, odd.Status, odd.ISP, odd.InstanceChargeType, odd.ResourceGroupID = "odd", "InUse", "BGP_PRO", "PrePaid", "rg-1"
		odd.InstanceID, odd.InstanceType, odd.Tags = "lb-x", "SlbInstance", []state.Tag{{Key: "k", Value: "v"}}
	})
	ids, addresses := make([]string, many), make([]string, many)
	for i := range ids {
		ids[i], addresses[i] = fmt.Sprintf("eip-%03d", many-1-i), fmt.Sprintf("47.1.2.%d", i)
	}
	for _, tt := range []struct {
		name    string
		request *vpcv1.ListEipsRequest
		found   int
		calls   int
	}{
		{"all", &vpcv1.ListEipsRequest{}, many, 2 + 1},
		{"by id, one twice and one unknown", &vpcv1.ListEipsRequest{AllocationIds: append(ids, "eip-000", "eip-gone")}, many, 3},
		{"by address", &vpcv1.ListEipsRequest{IpAddresses: addresses}, many, 3},
		{"by id and address", &vpcv1.ListEipsRequest{AllocationIds: ids[:60], IpAddresses: addresses}, 60, 6},
		{"by id and status", &vpcv1.ListEipsRequest{AllocationIds: ids, Status: "InUse"}, 1, 3},
		{"by name", &vpcv1.ListEipsRequest{Name: "odd"}, 1, 1},
		{"by status", &vpcv1.ListEipsRequest{Status: "InUse"}, 1, 1},
		{"by line", &vpcv1.ListEipsRequest{Isp: "BGP_PRO"}, 1, 1},
		{"by charge type", &vpcv1.ListEipsRequest{InstanceChargeType: commonv1.ChargeType_CHARGE_TYPE_PRE_PAID}, 1, 1},
		{"by resource group", &vpcv1.ListEipsRequest{ResourceGroupId: "rg-1"}, 1, 1},
		{"by tag", &vpcv1.ListEipsRequest{Tags: []*commonv1.Tag{{Key: "k"}}}, 1, 1},
		{"by type of instance", &vpcv1.ListEipsRequest{AssociatedInstanceType: "SlbInstance"}, 1, 1},
		{
			"by instance", &vpcv1.ListEipsRequest{AssociatedInstanceType: "SlbInstance", AssociatedInstanceId: "lb-y"}, 0, 1,
		},
	} {
		w.forget()
		got, err := w.Eips.ListEips(t.Context(), tt.request)
		if err != nil || len(got.GetEips()) != tt.found {
			t.Errorf("%s: %d EIPs, %v, want %d", tt.name, len(got.GetEips()), err, tt.found)
		}
		for i, e := range got.GetEips() {
			if i > 0 && e.GetAllocationId() <= got.GetEips()[i-1].GetAllocationId() {
				t.Errorf("%s: %s is out of order", tt.name, e.GetAllocationId())
			}
			if tt.found == 1 && e.GetAllocationId() != "eip-007" {
				t.Errorf("%s: got %s", tt.name, e.GetAllocationId())
			}
		}
		if n := len(w.actions(true)); n != tt.calls {
			t.Errorf("%s: %d calls, want %d", tt.name, n, tt.calls)
		}
	}
}

// TestScopeOfControllersForEips: lbcontroller may bind and unbind an EIP of a user's, and releases none but those that it has allocated.
func TestScopeOfControllersForEips(t *testing.T) {
	cluster := func(id string) []state.Tag { return []state.Tag{{Key: "ack.aliyun.com", Value: id}} }
	w := newWorld(t, func(c *openapisim.Config) {
		c.Seed.LoadBalancers["lb-1"] = &state.LoadBalancer{AddressType: "intranet", Spec: "slb.s2.small", Tags: cluster("c-1")}
		c.Seed.LoadBalancers["lb-2"] = &state.LoadBalancer{AddressType: "intranet", Spec: "slb.s2.small", Tags: cluster("c-2")}
		for id, labels := range map[string][]state.Tag{"eip-user": nil, "eip-other": cluster("c-2")} {
			c.Seed.Eips[id] = &state.Eip{Address: "47.1.2.3", Status: "Available", Bandwidth: "5", Tags: labels}
		}
	})
	w.scopes = []config.Scope{{Callers: []string{scoped}, ClusterID: "c-1", Controller: true}}
	w.startGateway(t)
	bind := func(id, lb string) error {
		return second(w.Eips.AssociateEip(t.Context(), &vpcv1.AssociateEipRequest{AllocationId: id, InstanceId: lb, InstanceType: "SlbInstance"}))
	}
	unbind := func(id string) error {
		return second(w.Eips.UnassociateEip(t.Context(), &vpcv1.UnassociateEipRequest{AllocationId: id, InstanceId: "lb-1"}))
	}
	release := func(id string) error {
		return second(w.Eips.ReleaseEip(t.Context(), &vpcv1.ReleaseEipRequest{AllocationId: id}))
	}
	made, err := w.Eips.AllocateEip(t.Context(), &vpcv1.AllocateEipRequest{
		RequestId: "r-1", Tags: []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	own := made.GetEip().GetAllocationId()
	for _, step := range []struct {
		what string
		err  error
		want rpcerr.Reason
	}{
		{"bind a user's", bind("eip-user", "lb-1"), ""},
		{"unbind it", unbind("eip-user"), ""},
		{"release it", release("eip-user"), rpcerr.CallerForbidden},
		{"bind it to a load balancer of another cluster", bind("eip-user", "lb-2"), rpcerr.CallerForbidden},
		{"bind that of another cluster", bind("eip-other", "lb-1"), rpcerr.CallerForbidden},
		{"release that", release("eip-other"), rpcerr.CallerForbidden},
		{"bind an own one", bind(own, "lb-1"), ""},
		{"unbind it again", unbind(own), ""},
		{"release an own one", release(own), ""},
		{"release it once more", release(own), ""},
	} {
		if rpcerr.ReasonOf(step.err) != step.want {
			t.Errorf("%s: %v, want reason %q", step.what, step.err, step.want)
		}
	}
}
