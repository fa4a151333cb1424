package server

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// newListsWorld has two instances that differ in everything, and two interfaces that do.
func newListsWorld(t *testing.T) *world {
	t.Helper()
	return newWorld(t, func(c *openapisim.Config) {
		c.Seed = seed(0)
		c.Seed.Vpcs["vpc-2"] = &state.Vpc{CidrBlock: "10.0.0.0/8"}
		c.Seed.VSwitches["vsw-2"] = &state.VSwitch{VpcID: "vpc-2", ZoneID: "cn-hangzhou-k", CidrBlock: "10.0.0.0/24"}
		c.Seed.Eips["eip-1"] = &state.Eip{Address: "47.1.1.1", InstanceID: "i-1", InstanceType: "EcsInstance"}
		c.Seed.Instances["i-1"] = &state.Instance{
			Name: "one", VSwitchID: testVSwitch, PrivateIPs: []string{"192.168.0.1"}, EipID: "eip-1", ResourceGroupID: "rg-1",
			SecurityGroupIDs: []string{"sg-1"}, InstanceType: "ecs.g7.large", Status: "Stopped", Tags: []state.Tag{{Key: "a", Value: "1"}},
		}
		c.Seed.Instances["i-2"] = &state.Instance{
			Name: "two", VSwitchID: "vsw-2", PrivateIPs: []string{"10.0.0.1"}, PublicIPs: []string{"47.1.1.2"}, ResourceGroupID: "rg-2",
			SecurityGroupIDs: []string{"sg-2"}, InstanceType: "ecs.c7.large", ChargeType: "PrePaid", Tags: []state.Tag{{Key: "a", Value: "2"}},
		}
		c.Seed.Interfaces["eni-pod"] = &state.NetworkInterface{
			VSwitchID: "vsw-2", PrimaryIP: "10.0.0.9", MacAddress: "00:16:3e:00:00:09", Name: "pod", Description: "of a pod",
			SecurityGroupIDs: []string{"sg-2"}, ResourceGroupID: "rg-2", Ipv4Prefixes: []string{"10.0.0.16/28"},
			Ipv6Prefixes: []string{"2408:1::/80"}, KeepOnRelease: true, Tags: []state.Tag{{Key: "a", Value: "2"}},
		}
	})
}

func TestListInstances(t *testing.T) {
	w := newListsWorld(t)
	tests := []struct {
		name   string
		filter *ecsv1.ListInstancesRequest
		want   string
	}{
		{"VPC", &ecsv1.ListInstancesRequest{VpcId: testVPC}, "i-1"},
		{"ids", &ecsv1.ListInstancesRequest{InstanceIds: []string{"i-2", "i-1", "i-gone"}}, "i-1 i-2"},
		{"ids and another", &ecsv1.ListInstancesRequest{InstanceIds: []string{"i-2", "i-1"}, ZoneId: "cn-hangzhou-k"}, "i-2"},
		{"private addresses", &ecsv1.ListInstancesRequest{VpcId: "vpc-2", PrivateIps: []string{"10.0.0.1", "192.168.0.1"}}, "i-2"},
		{"public addresses", &ecsv1.ListInstancesRequest{PublicIps: []string{"47.1.1.1", "47.1.1.2"}}, "i-2"},
		{"EIPs", &ecsv1.ListInstancesRequest{Eips: []string{"47.1.1.1", "47.1.1.2"}}, "i-1"},
		{"status", &ecsv1.ListInstancesRequest{Status: "Running"}, "i-2"},
		{"zone", &ecsv1.ListInstancesRequest{ZoneId: "cn-hangzhou-h"}, "i-1"},
		{"vSwitch", &ecsv1.ListInstancesRequest{VswitchId: "vsw-2"}, "i-2"},
		{"security group", &ecsv1.ListInstancesRequest{SecurityGroupId: "sg-1"}, "i-1"},
		{"resource group", &ecsv1.ListInstancesRequest{ResourceGroupId: "rg-2"}, "i-2"},
		{"name", &ecsv1.ListInstancesRequest{Name: "one"}, "i-1"},
		{"type", &ecsv1.ListInstancesRequest{InstanceType: "ecs.c7.large"}, "i-2"},
		{"charge type", &ecsv1.ListInstancesRequest{ChargeType: commonv1.ChargeType_CHARGE_TYPE_POST_PAID}, "i-1"},
		{"tag key", &ecsv1.ListInstancesRequest{Tags: []*commonv1.Tag{{Key: "a"}}}, "i-1 i-2"},
		{"tag", &ecsv1.ListInstancesRequest{Tags: []*commonv1.Tag{{Key: "a", Value: "2"}}}, "i-2"},
		{"two that don't meet", &ecsv1.ListInstancesRequest{Name: "one", ZoneId: "cn-hangzhou-k"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w.forget()
			answer, err := w.Instances.ListInstances(t.Context(), tt.filter)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, i := range answer.GetInstances() {
				ids = append(ids, i.GetInstanceId())
			}
			if got := strings.Join(ids, " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := strings.Join(w.actions(true), " "); got != "DescribeInstances" {
				t.Errorf("calls %s, want one", got)
			}
		})
	}
}

func TestListNetworkInterfaces(t *testing.T) {
	w := newListsWorld(t)
	tests := []struct {
		name   string
		filter *ecsv1.ListNetworkInterfacesRequest
		want   string
	}{
		{"instance", &ecsv1.ListNetworkInterfacesRequest{InstanceId: "i-1"}, "eni-1"},
		{"VPC", &ecsv1.ListNetworkInterfacesRequest{VpcId: "vpc-2"}, "eni-2 eni-pod"},
		{"vSwitch", &ecsv1.ListNetworkInterfacesRequest{VswitchId: testVSwitch}, "eni-1"},
		{"security group", &ecsv1.ListNetworkInterfacesRequest{SecurityGroupId: "sg-2"}, "eni-2 eni-pod"},
		{"resource group", &ecsv1.ListNetworkInterfacesRequest{ResourceGroupId: "rg-2"}, "eni-2 eni-pod"},
		{"name", &ecsv1.ListNetworkInterfacesRequest{Name: "pod"}, "eni-pod"},
		{"type", &ecsv1.ListNetworkInterfacesRequest{Type: "Primary"}, "eni-1 eni-2"},
		{"status", &ecsv1.ListNetworkInterfacesRequest{Status: "Available"}, "eni-pod"},
		{"tags", &ecsv1.ListNetworkInterfacesRequest{Tags: []*commonv1.Tag{{Key: "a", Value: "2"}}}, "eni-pod"},
		{"two that don't meet", &ecsv1.ListNetworkInterfacesRequest{InstanceId: "i-1", Status: "Available"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w.forget()
			answer, err := w.NetworkInterfaces.ListNetworkInterfaces(t.Context(), tt.filter)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, n := range answer.GetNetworkInterfaces() {
				ids = append(ids, n.GetNetworkInterfaceId())
			}
			if got := strings.Join(ids, " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := strings.Join(w.actions(true), " "); got != "DescribeNetworkInterfaces" {
				t.Errorf("calls %s, want one", got)
			}
		})
	}
}

func TestNetworkInterfaceFields(t *testing.T) {
	w := newListsWorld(t)
	answer, err := w.NetworkInterfaces.GetNetworkInterface(t.Context(), &ecsv1.GetNetworkInterfaceRequest{NetworkInterfaceId: "eni-pod"})
	if err != nil {
		t.Fatal(err)
	}
	want := &ecsv1.NetworkInterface{
		NetworkInterfaceId: "eni-pod", Type: "Secondary", Status: "Available", VpcId: "vpc-2", VswitchId: "vsw-2", ZoneId: "cn-hangzhou-k",
		PrimaryIp: "10.0.0.9", PrivateIps: []string{"10.0.0.9"}, SourceDestCheck: new(false), Name: "pod", Description: "of a pod",
		MacAddress: "00:16:3e:00:00:09", SecurityGroupIds: []string{"sg-2"}, ResourceGroupId: "rg-2",
		Tags: []*commonv1.Tag{{Key: "a", Value: "2"}}, Ipv4Prefixes: []string{"10.0.0.16/28"}, Ipv6Prefixes: []string{"2408:1::/80"},
		DeleteOnRelease: new(false), CreationTime: timestamppb.New(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
	}
	if diff := cmp.Diff(want, answer.GetNetworkInterface(), protocmp.Transform()); diff != "" {
		t.Errorf("interface (-want +got):\n%s", diff)
	}
}

// TestListInstanceEvents lists what is not over, in one call for all instances.
func TestListInstanceEvents(t *testing.T) {
	notBefore := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	w := newWorld(t, func(c *openapisim.Config) {
		c.Seed = seed(2)
		for _, e := range []state.InstanceEvent{
			{ID: "e-1", InstanceID: "i-0000", Type: "SystemMaintenance.Reboot", Status: "Scheduled", NotBefore: notBefore, Reason: "a fan"},
			{ID: "e-2", InstanceID: "i-0001", Type: "SystemFailure.Redeploy", Status: "Executing"},
			{ID: "e-3", InstanceID: "i-0000", Type: "SystemMaintenance.Reboot", Status: "Executed"},
		} {
			c.Seed.InstanceEvents[e.ID] = &e
		}
	})
	one := &ecsv1.InstanceEvent{
		EventId: "e-1", InstanceId: "i-0000", EventType: "SystemMaintenance.Reboot",
		NotBeforeTime: timestamppb.New(notBefore), Reason: "a fan", Status: "Scheduled",
	}
	two := &ecsv1.InstanceEvent{
		EventId: "e-2", InstanceId: "i-0001", EventType: "SystemFailure.Redeploy",
		Status: "Executing",
	}
	for name, tt := range map[string]struct {
		ids  []string
		want []*ecsv1.InstanceEvent
	}{
		"of the region":          {nil, []*ecsv1.InstanceEvent{one, two}},
		"of an instance":         {[]string{"i-0001"}, []*ecsv1.InstanceEvent{two}},
		"of one that is unknown": {[]string{"i-gone"}, nil},
	} {
		w.forget()
		got, err := w.Instances.ListInstanceEvents(t.Context(), &ecsv1.ListInstanceEventsRequest{InstanceIds: tt.ids})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, got.GetEvents(), protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := strings.Join(w.actions(true), " "); got != "DescribeInstanceHistoryEvents" {
			t.Errorf("%s: calls %s", name, got)
		}
	}
}
