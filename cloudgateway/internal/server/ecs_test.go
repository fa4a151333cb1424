package server

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestConcurrentReadsShareCalls: 5 000 nodes that ask at once cost at most 60 calls.
func TestConcurrentReadsShareCalls(t *testing.T) {
	const count = 5000
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *openapisim.Config) { c.Seed = seed(count) })
		var reads sync.WaitGroup
		for i := range count {
			reads.Go(func() {
				answer, err := w.Instances.GetInstance(t.Context(), &ecsv1.GetInstanceRequest{InstanceId: instanceID(i)})
				if err != nil || answer.GetInstance().GetInstanceId() != instanceID(i) {
					t.Errorf("%s: got %q, %v", instanceID(i), answer.GetInstance().GetInstanceId(), err)
				}
			})
		}
		reads.Wait()
		if got := len(w.actions(true)); got > 60 {
			t.Errorf("%d calls for %d instances, at most 60 are right", got, count)
		}
	})
}

func TestBatchGetInstances(t *testing.T) {
	w := newWorld(t, func(c *openapisim.Config) { c.Seed = seed(250) })
	names := []string{"i-gone"}
	for i := range 250 {
		names = append(names, instanceID(i))
	}
	answer, err := w.Instances.BatchGetInstances(t.Context(), &ecsv1.BatchGetInstancesRequest{InstanceIds: names})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range answer.GetResults() {
		if r.GetRequested() != names[i] {
			t.Errorf("result %d is of %q, want %s", i, r.GetRequested(), names[i])
		}
		if i == 0 {
			if e := r.GetError(); codes.Code(e.GetCode()) != codes.NotFound || e.GetReason() != string(rpcerr.InstanceNotFound) {
				t.Errorf("%s: got %v, want INSTANCE_NOT_FOUND", names[i], r)
			}
			continue
		}
		if r.GetInstance().GetInstanceId() != names[i] || r.GetError() != nil {
			t.Errorf("result %d: got %v, want %s", i, r, names[i])
		}
	}
	if got := len(w.actions(true)); got != 3 {
		t.Errorf("%d calls for 251 instances, want 3", got)
	}
}

// TestAFailedCallFailsItsOwnItems: and a failure is never taken for absence.
func TestAFailedCallFailsItsOwnItems(t *testing.T) {
	w := newWorld(t, func(c *openapisim.Config) { c.Seed = seed(200) })
	w.strike(t, fault.Rule{
		Action: "DescribeInstances", Times: 1, Error: &fault.Error{Status: 400, Code: "Throttling", Message: "slow down"},
	})
	var names []string
	for i := range 200 {
		names = append(names, instanceID(i))
	}
	answer, err := w.Instances.BatchGetInstances(t.Context(), &ecsv1.BatchGetInstancesRequest{InstanceIds: names})
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]int{}
	for _, r := range answer.GetResults() {
		outcomes[r.GetError().GetReason()]++
	}
	if diff := cmp.Diff(map[string]int{"": 100, "THROTTLED": 100}, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestInstanceFields(t *testing.T) {
	w := newWorld(t, func(c *openapisim.Config) {
		c.Seed.Eips["eip-1"] = &state.Eip{Address: "47.1.2.3", Status: "InUse", InstanceID: "i-full", InstanceType: "EcsInstance"}
		c.Seed.Instances["i-full"] = &state.Instance{
			Name: "node", HostName: "host", ZoneID: "cn-hangzhou-h", InstanceType: "ecs.g7.large", Status: "Stopped",
			ChargeType: "PrePaid", SpotStrategy: "NoSpot", VpcID: testVPC, VSwitchID: testVSwitch, StoppedMode: "StopCharging",
			PrivateIPs: []string{"192.168.9.9"}, EipID: "eip-1", Tags: []state.Tag{{Key: "ack.aliyun.com", Value: "c-1"}},
			Description: "of the shop", ResourceGroupID: "rg-1", DeploymentSetID: "ds-1", DeletionProtection: true,
			SecurityGroupIDs: []string{"sg-1"},
		}
		c.Seed.Interfaces["eni-full"] = &state.NetworkInterface{
			Type: "Primary", InstanceID: "i-full", VSwitchID: testVSwitch, PrimaryIP: "192.168.9.9", Ipv6Addresses: []string{"2408:1::9"},
		}
		c.Seed.Interfaces["eni-more"] = &state.NetworkInterface{InstanceID: "i-full", VSwitchID: testVSwitch, PrimaryIP: "192.168.9.10"}
	})
	answer, err := w.Instances.ListInstances(t.Context(), &ecsv1.ListInstancesRequest{
		VpcId: testVPC, PrivateIps: []string{"192.168.9.9", "192.168.200.200"}, Tags: []*commonv1.Tag{{Key: "ack.aliyun.com"}},
	})
	if err != nil || len(answer.GetInstances()) != 1 {
		t.Fatalf("got %v, %v, want one instance", answer, err)
	}
	// What the simulated cloud says of every instance.
	birthday := timestamppb.New(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	want := &ecsv1.Instance{
		InstanceId: "i-full", RegionId: "cn-hangzhou", ZoneId: "cn-hangzhou-h", InstanceType: "ecs.g7.large", Status: "Stopped",
		ChargeType: commonv1.ChargeType_CHARGE_TYPE_PRE_PAID, SpotStrategy: "NoSpot", VpcId: testVPC, VswitchId: testVSwitch,
		PrivateIps: []string{"192.168.9.9"},
		Eip:        "47.1.2.3", Name: "node", HostName: "host", Tags: []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-1"}},
		Ipv6Addresses: []string{"2408:1::9"}, PrimaryNetworkInterfaceId: "eni-full", NetworkInterfaceIds: []string{"eni-full", "eni-more"},
		Description: "of the shop", ResourceGroupId: "rg-1", DeploymentSetId: "ds-1", DeletionProtection: true,
		SecurityGroupIds: []string{"sg-1"}, StoppedMode: ecsv1.StoppedMode_STOPPED_MODE_STOP_CHARGING,
		CpuCount: 2, MemoryMib: 8192, OsType: "linux", OsName: "Alibaba Cloud Linux 3.2104 LTS", ImageId: "aliyun_3_x64_20G_alibase_20260101.vhd",
		CreationTime: birthday, StartTime: birthday, ExpirationTime: timestamppb.New(time.Date(2099, 12, 31, 15, 59, 0, 0, time.UTC)),
	}
	if diff := cmp.Diff(want, answer.GetInstances()[0], protocmp.Transform()); diff != "" {
		t.Errorf("instance (-want +got):\n%s", diff)
	}
}

func TestNetworkInterfacesByAddress(t *testing.T) {
	w := newWorld(t, func(c *openapisim.Config) {
		c.Seed.Interfaces["eni-1"] = &state.NetworkInterface{
			Type: "Secondary", Status: "InUse", InstanceID: instanceID(0), VpcID: testVPC, VSwitchID: testVSwitch, ZoneID: "cn-hangzhou-h",
			PrimaryIP: "192.168.20.1", PrivateIPs: []string{"192.168.20.1", "192.168.20.2"}, Ipv6Addresses: []string{"2408:1::5"},
		}
	})
	answer, err := w.NetworkInterfaces.BatchGetNetworkInterfaces(t.Context(), &ecsv1.BatchGetNetworkInterfacesRequest{
		VpcId: testVPC, IpAddresses: []string{"192.168.20.2", "2408:0001:0:0:0:0:0:5", "192.168.99.99"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range answer.GetResults() {
		got = append(got, r.GetNetworkInterface().GetNetworkInterfaceId()+r.GetError().GetReason())
	}
	if diff := cmp.Diff([]string{"eni-1", "eni-1", "NETWORK_INTERFACE_NOT_FOUND"}, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	calls := w.actions(true)
	if want := slices.Repeat([]string{"DescribeNetworkInterfaces"}, 2); !slices.Equal(want, calls) {
		t.Errorf("calls %q, want one per family", calls)
	}
}

// TestSourceDestCheck: a change ends what is remembered about the interface.
func TestSourceDestCheck(t *testing.T) {
	w := newWorld(t)
	eni := w.primaryInterface(t, instanceID(0))
	read := func() *bool {
		answer, err := w.NetworkInterfaces.GetNetworkInterface(t.Context(), &ecsv1.GetNetworkInterfaceRequest{
			NetworkInterfaceId: eni, MaxAge: durationpb.New(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetNetworkInterface().SourceDestCheck
	}
	for _, check := range []bool{false, true} {
		if _, err := w.NetworkInterfaces.UpdateNetworkInterface(t.Context(), &ecsv1.UpdateNetworkInterfaceRequest{
			NetworkInterfaceId: eni, SourceDestCheck: new(check),
		}); err != nil {
			t.Fatal(err)
		}
		if got := read(); got == nil || *got != check {
			t.Errorf("source/destination check is %v, want %t", got, check)
		}
	}
	_, err := w.NetworkInterfaces.GetNetworkInterface(t.Context(), &ecsv1.GetNetworkInterfaceRequest{NetworkInterfaceId: "eni-gone"})
	wantNotFound(t, err, rpcerr.NetworkInterfaceNotFound)
}

func TestCachedReadsMakeNoCalls(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		if _, err := w.Instances.GetInstance(t.Context(), &ecsv1.GetInstanceRequest{
			InstanceId: instanceID(0), MaxAge: durationpb.New(time.Minute),
		}); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(w.actions(true)); got != "[DescribeInstances]" {
		t.Errorf("calls %s, want one", got)
	}
	w.forget()
	list := func(maxAge time.Duration, tags ...string) {
		t.Helper()
		r := &ecsv1.ListInstancesRequest{VpcId: "vpc-1", MaxAge: durationpb.New(maxAge)}
		for _, key := range tags {
			r.Tags = append(r.Tags, &commonv1.Tag{Key: key})
		}
		if _, err := w.Instances.ListInstances(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	list(time.Minute, "a")
	list(time.Minute, "a")
	list(time.Minute, "b") // another list
	list(0, "a")           // now
	if got := fmt.Sprint(w.actions(true)); got != "[DescribeInstances DescribeInstances DescribeInstances]" {
		t.Errorf("calls of lists %s, want three", got)
	}
}

func (w *world) primaryInterface(t *testing.T, instance string) string {
	t.Helper()
	answer, err := w.Instances.GetInstance(t.Context(), &ecsv1.GetInstanceRequest{InstanceId: instance})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetInstance().GetPrimaryNetworkInterfaceId()
}
