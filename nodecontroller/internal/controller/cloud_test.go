package controller_test

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/kube/kubetest"
)

// newWorld makes a cluster, and a cloud that has a VPC.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Cluster: kubetest.New(t), t: t}
	seed := state.New(region, "")
	seed.Vpcs[vpcID] = &state.Vpc{CidrBlock: "192.168.0.0/16"}
	seed.VSwitches["vsw-1"] = &state.VSwitch{VpcID: vpcID, ZoneID: region + "-h", CidrBlock: "192.168.0.0/16"}
	w.cloud = inprocess.New(t, vpcID, seed)
	w.answers = &answers{ClientConnInterface: w.cloud.Behind, gateway: w.cloud.Behind}
	w.cloud.Behind = w.answers
	return w
}

// move lets the same connection lead to a gateway that works elsewhere, in a region in which the cloud has the same. It is for a VPC.
func (w *world) move(to, vpc string) {
	w.t.Helper()
	seed := state.New(to, "")
	seed.Add(w.cloud.Cloud) // The former cloud is not used any more.
	moved := inprocess.New(w.t, vpc, seed)
	w.cloud.Cloud, w.cloud.Sim = moved.Cloud, moved.Sim
	w.answers.mu.Lock()
	defer w.answers.mu.Unlock()
	w.answers.gateway = moved.Behind
}

// answers is the gateway with errors in place of what it says of some instances, by their ids. A call of the cloud is about many, so that
// the cloud fails for all of them; where the gateway needs several, it is for some.
type answers struct {
	grpc.ClientConnInterface

	mu      sync.Mutex
	gateway grpc.ClientConnInterface
	bad     map[string]error
	given   map[string]proto.Message // by the request; nil: each is asked for
}

// still lets the gateway give the answers to reads that it gave before, as of a cloud in which nothing happens. To read 5 000 instances
// costs it more processor time than all that the controller does with them.
func (w *world) still() {
	w.answers.mu.Lock()
	defer w.answers.mu.Unlock()
	w.answers.given = map[string]proto.Message{}
}

// unreadable lets the gateway give errors in place of instances; nil ends it.
func (w *world) unreadable(bad map[string]error) {
	w.answers.mu.Lock()
	defer w.answers.mu.Unlock()
	w.answers.bad = bad
}

func (a *answers) Invoke(ctx context.Context, method string, request, answer any, options ...grpc.CallOption) error {
	asked, _ := request.(proto.Message)
	got, _ := answer.(proto.Message)
	a.mu.Lock()
	gateway, still := a.gateway, a.given != nil
	a.mu.Unlock()
	var key string
	if still {
		fields, err := proto.MarshalOptions{Deterministic: true}.Marshal(asked)
		if err != nil {
			return err
		}
		key = method + string(fields)
		a.mu.Lock()
		before := a.given[key]
		a.mu.Unlock()
		if before != nil {
			proto.Merge(got, before)
			return nil
		}
	}
	if err := gateway.Invoke(ctx, method, request, answer, options...); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if still {
		a.given[key] = proto.Clone(got)
	}
	switch answer := answer.(type) {
	case *ecsv1.GetInstanceResponse:
		return a.bad[answer.GetInstance().GetInstanceId()]
	case *ecsv1.BatchGetInstancesResponse:
		for _, result := range answer.GetResults() {
			if err := a.bad[result.GetRequested()]; err != nil {
				result.Instance, result.Error = nil, rpcerr.ToItem(err)
			}
		}
	case *ecsv1.ConfirmAbsentResponse:
		for _, result := range answer.GetResults() {
			if err := a.bad[result.GetRequested()]; err != nil {
				result.Presence, result.Instance, result.Error = ecsv1.Presence_PRESENCE_UNCLEAR, nil, rpcerr.ToItem(err)
			}
		}
	}
	return nil
}

// refused lets the cloud refuse all calls of an action of ECS.
func (w *world) refused(action, code, message string) {
	w.t.Helper()
	rule := fault.Rule{Product: "ecs", Action: action, Error: &fault.Error{Code: code, Message: message}}
	if err := w.cloud.Sim.SetFaults(rule); err != nil {
		w.t.Fatal(err)
	}
}

// instance lets the cloud have instance i-i with its primary network interface.
func (w *world) instance(i int) { w.cloud.Sim.Update(func(c *state.Cloud) { addInstance(c, i) }) }

// instances lets the cloud have the first n instances.
func (w *world) instances(n int) {
	w.cloud.Sim.Update(func(c *state.Cloud) {
		for i := range n {
			addInstance(c, i)
		}
	})
}

func addInstance(c *state.Cloud, i int) {
	id, eni, zone := fmt.Sprintf("i-%d", i), fmt.Sprintf("eni-%d", i), region+"-h"
	ip := []string{fmt.Sprintf("192.168.%d.%d", i/250, i%250)}
	c.Instances[id] = &state.Instance{
		ID: id, Name: id, HostName: fmt.Sprintf("iZ%dZ", i), ZoneID: zone, InstanceType: "ecs.g7.xlarge", Status: "Running", VpcID: vpcID,
		VSwitchID: "vsw-1", PrivateIPs: ip, Tags: []state.Tag{{Key: "ack.aliyun.com", Value: "c-1"}},
	}
	c.Interfaces[eni] = &state.NetworkInterface{
		ID: eni, Type: "Primary", Status: "InUse", InstanceID: id, VpcID: vpcID, VSwitchID: "vsw-1", ZoneID: zone, PrimaryIP: ip[0],
		PrivateIPs: ip, SourceDestCheck: true,
	}
}

// eip binds an EIP to an instance.
func eip(c *state.Cloud, i *state.Instance, address string) {
	i.EipID = "eip-" + address
	c.Eips[i.EipID] = &state.Eip{
		ID: i.EipID, Address: address, Bandwidth: "5", Status: "InUse", InstanceID: i.ID, InstanceType: "EcsInstance",
	}
}

// open lets the network interface of i-i forward packets, as that of a node in service does.
func (w *world) open(i int) {
	w.cloud.Sim.Update(func(c *state.Cloud) { c.Interfaces[fmt.Sprintf("eni-%d", i)].SourceDestCheck = false })
}

// checked reports whether the source/destination check of an interface is on.
func (w *world) checked(eni string) (on bool) {
	w.cloud.Look(func(c *state.Cloud) { on = c.Interfaces[eni].SourceDestCheck })
	return on
}

// vanish takes an instance away, with its network interface.
func (w *world) vanish(i int) {
	w.hide(i)
	w.cloud.Sim.Update(func(c *state.Cloud) { delete(c.Interfaces, fmt.Sprintf("eni-%d", i)) })
}

// hide takes an instance out of the cloud's answers about instances only.
func (w *world) hide(i int) {
	w.cloud.Sim.Update(func(c *state.Cloud) { delete(c.Instances, fmt.Sprintf("i-%d", i)) })
}

// TestProcessLinksNoGateway: what tests take from the gateway is not in the process, nor is the cloud's SDK.
func TestProcessLinksNoGateway(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "alicloud-controllers.dev/nodecontroller/cmd/...")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, "alicloud-controllers.dev/nodecontroller/internal/controller") {
		t.Fatal("the controller is not among what is linked, so nothing was found out")
	}
	for _, pkg := range linked {
		if strings.HasPrefix(pkg, "alicloud-controllers.dev/cloudgateway/") || strings.HasPrefix(pkg, "github.com/aliyun/") {
			t.Errorf("%s is linked", pkg)
		}
	}
}
