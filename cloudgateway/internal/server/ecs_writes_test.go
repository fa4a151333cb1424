package server

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestInstanceChanges changes an instance in every way. Each change is to be seen at once by who accepts old answers.
func TestInstanceChanges(t *testing.T) {
	const id = "i-0000"
	start := func(ctx context.Context, w *world) error {
		_, err := w.Instances.StartInstance(ctx, &ecsv1.StartInstanceRequest{InstanceId: id})
		return err
	}
	stop := func(ctx context.Context, w *world) error {
		_, err := w.Instances.StopInstance(ctx, &ecsv1.StopInstanceRequest{
			InstanceId: id, StoppedMode: ecsv1.StoppedMode_STOPPED_MODE_KEEP_CHARGING,
		})
		return err
	}
	remove := func(force bool) func(context.Context, *world) error {
		return func(ctx context.Context, w *world) error {
			_, err := w.Instances.DeleteInstance(ctx, &ecsv1.DeleteInstanceRequest{InstanceId: id, Force: force})
			return err
		}
	}
	update := func(r *ecsv1.UpdateInstanceRequest) func(context.Context, *world) error {
		return func(ctx context.Context, w *world) error {
			r.InstanceId = id
			_, err := w.Instances.UpdateInstance(ctx, r)
			return err
		}
	}
	steps := []struct {
		name  string
		do    func(context.Context, *world) error
		want  rpcerr.Reason
		calls string
		then  *ecsv1.Instance // the fields that the changes are about; nil: there is none
	}{
		{"attributes", update(&ecsv1.UpdateInstanceRequest{Name: new("web"), Description: new("of the shop"), DeletionProtection: new(true)}),
			"", "ModifyInstanceAttribute",
			&ecsv1.Instance{Name: "web", Description: "of the shop", DeletionProtection: true, Status: "Running"}},
		{"delete a protected one", remove(true), rpcerr.DeleteProtected, "DeleteInstance",
			&ecsv1.Instance{Name: "web", Description: "of the shop", DeletionProtection: true, Status: "Running"}},
		{"one attribute and tags", update(&ecsv1.UpdateInstanceRequest{
			DeletionProtection: new(false), SetTags: []*commonv1.Tag{{Key: "a", Value: "1"}, {Key: "b"}},
		}), "", "ModifyInstanceAttribute TagResources",
			&ecsv1.Instance{Name: "web", Description: "of the shop", Status: "Running", Tags: []*commonv1.Tag{{Key: "a", Value: "1"}, {Key: "b"}}}},
		{"tags", update(&ecsv1.UpdateInstanceRequest{SetTags: []*commonv1.Tag{{Key: "a", Value: "2"}}, RemoveTagKeys: []string{"b", "none"}}),
			"", "TagResources UntagResources",
			&ecsv1.Instance{Name: "web", Description: "of the shop", Status: "Running", Tags: []*commonv1.Tag{{Key: "a", Value: "2"}}}},
		{"no tag", update(&ecsv1.UpdateInstanceRequest{RemoveTagKeys: []string{"a"}}), "", "UntagResources",
			&ecsv1.Instance{Name: "web", Description: "of the shop", Status: "Running"}},
		{"start a running one", start, "", "StartInstance DescribeInstanceStatus",
			&ecsv1.Instance{Name: "web", Description: "of the shop", Status: "Running"}},
		{"stop", stop, "", "StopInstance DescribeInstanceStatus", &ecsv1.Instance{
			Name: "web", Description: "of the shop", Status: "Stopped", StoppedMode: ecsv1.StoppedMode_STOPPED_MODE_KEEP_CHARGING}},
		{"start", start, "", "StartInstance DescribeInstanceStatus",
			&ecsv1.Instance{Name: "web", Description: "of the shop", Status: "Running"}},
		{"delete a running one", remove(false), rpcerr.InvalidState, "DeleteInstance DescribeInstanceStatus",
			&ecsv1.Instance{Name: "web", Description: "of the shop", Status: "Running"}},
		{"delete with force", remove(true), "", "DeleteInstance DescribeInstanceStatus", nil},
		{"delete again", remove(false), "", "DeleteInstance", nil},
		{"start none", start, rpcerr.InstanceNotFound, "StartInstance", nil},
		{"stop none", stop, rpcerr.InstanceNotFound, "StopInstance", nil},
		{"name none", update(&ecsv1.UpdateInstanceRequest{Name: new("web")}), rpcerr.InstanceNotFound, "ModifyInstanceAttribute", nil},
		{"tag none", update(&ecsv1.UpdateInstanceRequest{RemoveTagKeys: []string{"a"}}), rpcerr.InstanceNotFound, "UntagResources", nil},
	}
	w := newWorld(t)
	eni := w.primaryInterface(t, id)
	for _, tt := range steps {
		w.forget()
		if err := tt.do(t.Context(), w); rpcerr.ReasonOf(err) != tt.want || (err == nil) != (tt.want == "") {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
		if got := strings.Join(w.actions(true), " "); got != tt.calls {
			t.Errorf("%s: calls %s, want %s", tt.name, got, tt.calls)
		}
		answer, err := w.Instances.GetInstance(t.Context(), &ecsv1.GetInstanceRequest{InstanceId: id, MaxAge: durationpb.New(time.Hour)})
		if tt.then == nil {
			wantNotFound(t, err, rpcerr.InstanceNotFound)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		now := answer.GetInstance()
		got := &ecsv1.Instance{
			Name: now.GetName(), Description: now.GetDescription(), DeletionProtection: now.GetDeletionProtection(), Status: now.GetStatus(),
			StoppedMode: now.GetStoppedMode(), Tags: now.GetTags(),
		}
		if diff := cmp.Diff(tt.then, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s: instance (-want +got):\n%s", tt.name, diff)
		}
	}
	_, err := w.NetworkInterfaces.GetNetworkInterface(t.Context(), &ecsv1.GetNetworkInterfaceRequest{
		NetworkInterfaceId: eni, MaxAge: durationpb.New(time.Hour),
	})
	wantNotFound(t, err, rpcerr.NetworkInterfaceNotFound)
}

func TestInstanceStatuses(t *testing.T) {
	w := newWorld(t)
	ids := []string{"i-gone"}
	for i := range 50 {
		ids = append(ids, instanceID(i))
	}
	answer, err := w.Instances.BatchGetInstanceStatuses(t.Context(), &ecsv1.BatchGetInstanceStatusesRequest{InstanceIds: ids})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, r := range answer.GetResults() {
		got = append(got, r.GetStatus()+r.GetError().GetReason())
		if r.GetRequested() != ids[i] {
			t.Errorf("result %d is of %q, want %s", i, r.GetRequested(), ids[i])
		}
	}
	if want := append([]string{"INSTANCE_NOT_FOUND"}, slices.Repeat([]string{"Running"}, 50)...); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := strings.Join(w.actions(true), " "); got != "DescribeInstanceStatus DescribeInstanceStatus" {
		t.Errorf("calls %s, want one for 50 instances", got)
	}
}

// TestNetworkInterfaceChanges: everything but tags in one call.
func TestNetworkInterfaceChanges(t *testing.T) {
	w := newWorld(t, func(c *openapisim.Config) {
		for _, id := range []string{"sg-1", "sg-2"} {
			c.Seed.SecurityGroups[id] = &state.SecurityGroup{VpcID: testVPC, Type: "normal"}
		}
		c.Seed.Interfaces["eni-1"] = &state.NetworkInterface{
			VSwitchID: testVSwitch, PrimaryIP: "192.168.20.1", SourceDestCheck: true, SecurityGroupIDs: []string{"sg-1"},
			Tags: []state.Tag{{Key: "old", Value: "1"}},
		}
	})
	list := func() []*ecsv1.NetworkInterface {
		t.Helper()
		answer, err := w.NetworkInterfaces.ListNetworkInterfaces(t.Context(), &ecsv1.ListNetworkInterfacesRequest{
			Status: "Available", MaxAge: durationpb.New(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetNetworkInterfaces()
	}
	before := list()
	w.forget()
	if _, err := w.NetworkInterfaces.UpdateNetworkInterface(t.Context(), &ecsv1.UpdateNetworkInterfaceRequest{
		RequestId: "r-1", NetworkInterfaceId: "eni-1", SourceDestCheck: new(false), Name: new("pods"), Description: new("of pods"),
		SecurityGroupIds: []string{"sg-2", "sg-1"}, DeleteOnRelease: new(false),
		SetTags: []*commonv1.Tag{{Key: "new", Value: "1"}}, RemoveTagKeys: []string{"old"},
	}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(w.actions(true), " "); got != "ModifyNetworkInterfaceAttribute TagResources UntagResources" {
		t.Errorf("calls %s", got)
	}
	want := before[0]
	want.SourceDestCheck, want.DeleteOnRelease, want.Name, want.Description = new(false), new(false), "pods", "of pods"
	want.SecurityGroupIds, want.Tags = []string{"sg-2", "sg-1"}, []*commonv1.Tag{{Key: "new", Value: "1"}}
	if diff := cmp.Diff(before, list(), protocmp.Transform()); diff != "" {
		t.Errorf("interfaces (-want +got):\n%s", diff)
	}
	_, err := w.NetworkInterfaces.UpdateNetworkInterface(t.Context(), &ecsv1.UpdateNetworkInterfaceRequest{
		NetworkInterfaceId: "eni-gone", Name: new("pods"),
	})
	wantNotFound(t, err, rpcerr.NetworkInterfaceNotFound)
}

// TestRefusedByECS: what can't be right is refused by field, all at once, and the cloud never hears of it.
func TestRefusedByECS(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("n", 129)
	tests := []struct {
		name string
		do   func() error
		want []string // fields
	}{
		{"list of what there can't be", func() error {
			_, err := w.Instances.ListInstances(t.Context(), &ecsv1.ListInstancesRequest{
				VpcId: "a,b", ZoneId: "z z", VswitchId: "/", SecurityGroupId: "*", ResourceGroupId: "?", InstanceType: "<", Name: long,
				Status: "Lost", ChargeType: 9, InstanceIds: []string{""}, MaxAge: durationpb.New(-1),
			})
			return err
		}, []string{
			"instance_type", "resource_group_id", "security_group_id", "vpc_id", "vswitch_id", "zone_id", "name", "status", "charge_type",
			"instance_ids[0]", "max_age",
		}},
		{"two lists", func() error {
			_, err := w.Instances.ListInstances(t.Context(), &ecsv1.ListInstancesRequest{InstanceIds: []string{"i-1"}, Eips: []string{"47.1.1.1"}})
			return err
		}, []string{"instance_ids"}},
		{"addresses", func() error {
			_, err := w.Instances.ListInstances(t.Context(), &ecsv1.ListInstancesRequest{PublicIps: []string{"here"}, Eips: []string{"there"}})
			return err
		}, []string{"public_ips[0]", "eips[0]", "instance_ids"}},
		{"private addresses of anywhere", func() error {
			_, err := w.Instances.ListInstances(t.Context(), &ecsv1.ListInstancesRequest{PrivateIps: []string{"192.168.0.1"}})
			return err
		}, []string{"vpc_id"}},
		{"statuses", func() error {
			_, err := w.Instances.BatchGetInstanceStatuses(t.Context(), &ecsv1.BatchGetInstanceStatusesRequest{
				InstanceIds: []string{"i-1", "i,2"}, MaxAge: durationpb.New(-1),
			})
			return err
		}, []string{"instance_ids[1]", "max_age"}},
		{"nothing", func() error {
			_, err := w.Instances.UpdateInstance(t.Context(), &ecsv1.UpdateInstanceRequest{InstanceId: "i-0000"})
			return err
		}, []string{"name"}},
		{"words", func() error {
			_, err := w.Instances.UpdateInstance(t.Context(), &ecsv1.UpdateInstanceRequest{
				RequestId: "two words", Name: new(""), Description: new("https://x"), SetTags: []*commonv1.Tag{{}},
			})
			return err
		}, []string{"request_id", "instance_id", "name", "description", "set_tags[0].key"}},
		{"long words", func() error {
			_, err := w.Instances.UpdateInstance(t.Context(), &ecsv1.UpdateInstanceRequest{
				InstanceId: "i-0000", Name: &long, Description: new(long + long), RemoveTagKeys: []string{""},
			})
			return err
		}, []string{"name", "description", "remove_tag_keys"}},
		{"start", func() error {
			_, err := w.Instances.StartInstance(t.Context(), &ecsv1.StartInstanceRequest{RequestId: "two words"})
			return err
		}, []string{"request_id", "instance_id"}},
		{"stop", func() error {
			_, err := w.Instances.StopInstance(t.Context(), &ecsv1.StopInstanceRequest{RequestId: "two words", StoppedMode: 7})
			return err
		}, []string{"request_id", "instance_id", "stopped_mode"}},
		{"delete", func() error {
			_, err := w.Instances.DeleteInstance(t.Context(), &ecsv1.DeleteInstanceRequest{RequestId: "two words", InstanceId: "i 1"})
			return err
		}, []string{"request_id", "instance_id"}},
		{"interfaces that there can't be", func() error {
			_, err := w.NetworkInterfaces.ListNetworkInterfaces(t.Context(), &ecsv1.ListNetworkInterfacesRequest{
				InstanceId: "/", VpcId: "/", VswitchId: "/", SecurityGroupId: "/", ResourceGroupId: "/", Status: long, Name: long, Type: "Third",
				Tags: []*commonv1.Tag{{}}, MaxAge: durationpb.New(-1),
			})
			return err
		}, []string{
			"instance_id", "resource_group_id", "security_group_id", "vpc_id", "vswitch_id", "status", "name", "type", "tags[0].key", "max_age",
		}},
		{"interface", func() error {
			_, err := w.NetworkInterfaces.UpdateNetworkInterface(t.Context(), &ecsv1.UpdateNetworkInterfaceRequest{
				RequestId: "two words", Name: new("n"), Description: new("http://x"), SecurityGroupIds: []string{"/"},
			})
			return err
		}, []string{"request_id", "network_interface_id", "name", "description", "security_group_ids[0]"}},
		{"many groups", func() error {
			_, err := w.NetworkInterfaces.UpdateNetworkInterface(t.Context(), &ecsv1.UpdateNetworkInterfaceRequest{
				NetworkInterfaceId: "eni-1", SecurityGroupIds: slices.Repeat([]string{"sg-1"}, 17),
			})
			return err
		}, []string{"security_group_ids"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, ok := rpcerr.From(tt.do())
			if !ok || e.Code != codes.InvalidArgument {
				t.Fatalf("got %v, want INVALID_ARGUMENT", e)
			}
			var fields []string
			for _, f := range e.Fields {
				fields = append(fields, f.Field)
			}
			slices.Sort(fields)
			if diff := cmp.Diff(slices.Sorted(slices.Values(tt.want)), fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
	if got := w.actions(true); len(got) > 0 {
		t.Errorf("calls %q, want none", got)
	}
}
