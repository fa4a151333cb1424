package controller_test

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/services/kube/kubetest"
)

// newWorld makes a cluster, and a cloud that has a VPC with its table.
func newWorld(t *testing.T) *world {
	t.Helper()
	seed := state.New(region, "")
	seed.Vpcs[vpcID] = &state.Vpc{CidrBlock: "192.168.0.0/16"}
	seed.VSwitches["vsw-1"] = &state.VSwitch{VpcID: vpcID, ZoneID: region + "-h", CidrBlock: "192.168.0.0/17"}
	seed.VSwitches["vsw-2"] = &state.VSwitch{VpcID: vpcID, ZoneID: region + "-i", CidrBlock: "192.168.128.0/17"}
	seed.RouteTables[tableA] = &state.RouteTable{VpcID: vpcID, Type: "System"}
	return &world{Cluster: kubetest.New(t), t: t, cloud: inprocess.New(t, vpcID, seed)}
}

// move lets the gateway work in another region, in which the cloud has the same.
func (w *world) move(to string) {
	w.t.Helper()
	seed := state.New(to, "")
	seed.Add(w.cloud.Cloud) // The former cloud is not used any more.
	w.cloud = inprocess.New(w.t, vpcID, seed)
}

// quota lets a table have that many entries.
func (w *world) quota(routes int) {
	settings := w.cloud.Sim.Settings()
	settings.Quotas.RouteEntries = routes
	w.cloud.Sim.SetSettings(settings)
}

// spoil lets the cloud refuse all calls of an action of ECS; without a code it ends that.
func (w *world) spoil(action, code, message string) {
	w.t.Helper()
	var rules []fault.Rule
	if code != "" {
		rules = []fault.Rule{{Product: "ecs", Action: action, Error: &fault.Error{Code: code, Message: message}}}
	}
	if err := w.cloud.Sim.SetFaults(rules...); err != nil {
		w.t.Fatal(err)
	}
}

// instance lets the cloud have the instance of a node.
func (w *world) instance(n *corev1.Node, tags ...state.Tag) {
	_, id, ok := strings.Cut(n.Spec.ProviderID, ".")
	if !ok {
		return
	}
	w.cloud.Sim.Update(func(c *state.Cloud) { addInstance(c, id, tags...) })
}

// addInstance adds an instance with its network interface.
func addInstance(c *state.Cloud, id string, tags ...state.Tag) {
	c.Sequence++
	ip, zone := []string{fmt.Sprintf("192.168.%d.%d", c.Sequence/250, c.Sequence%250+1)}, region+"-h"
	c.Instances[id] = &state.Instance{
		ID: id, Name: id, Status: "Running", InstanceType: "ecs.g7.xlarge", VpcID: vpcID, VSwitchID: "vsw-1", ZoneID: zone,
		PrivateIPs: ip, Tags: tags,
	}
	c.Interfaces["eni-"+id] = &state.NetworkInterface{
		ID: "eni-" + id, Type: "Primary", Status: "InUse", InstanceID: id, VpcID: vpcID, VSwitchID: "vsw-1", ZoneID: zone,
		PrimaryIP: ip[0], PrivateIPs: ip,
	}
}

func tag(key, value string) state.Tag { return state.Tag{Key: key, Value: value} }

// release takes an instance away, with its network interface.
func (w *world) release(id string) {
	w.hide(id)
	w.cloud.Sim.Update(func(c *state.Cloud) { delete(c.Interfaces, "eni-"+id) })
}

// hide takes an instance out of the cloud's answers about instances only.
func (w *world) hide(id string) {
	w.cloud.Sim.Update(func(c *state.Cloud) { delete(c.Instances, id) })
}

// table lets the VPC have one more table.
func (w *world) table(id string) {
	w.cloud.Sim.Update(func(c *state.Cloud) {
		c.RouteTables[id] = &state.RouteTable{ID: id, VpcID: vpcID, Type: "Custom"}
	})
}

// entry lets the cloud have a route.
func (w *world) entry(tableID, cidr, instance, description string) {
	w.cloud.Sim.Update(func(c *state.Cloud) { addEntry(c, tableID, cidr, instance, description) })
}

func addEntry(c *state.Cloud, tableID, cidr, instance, description string) {
	c.Sequence++
	c.RouteTables[tableID].Entries = append(c.RouteTables[tableID].Entries, &state.RouteEntry{
		ID: fmt.Sprintf("rte-%d", c.Sequence), Cidr: cidr, NextHopID: instance, NextHopType: "Instance", Type: "Custom",
		Status: "Available", Description: description,
	})
}

// edit changes an entry that is there.
func (w *world) edit(tableID, cidr string, change func(*state.RouteEntry)) {
	w.cloud.Sim.Update(func(c *state.Cloud) {
		for _, e := range c.RouteTables[tableID].Entries {
			if e.Cidr == cidr {
				change(e)
			}
		}
	})
}

// status changes that of an entry, for as long as the test wants.
func (w *world) status(tableID, cidr, status string) {
	w.edit(tableID, cidr, func(e *state.RouteEntry) { e.Status = status })
}

// remove takes entries out of a table by hand, all that are not the cloud's own without any.
func (w *world) remove(tableID string, cidrs ...string) {
	w.cloud.Sim.Update(func(c *state.Cloud) {
		table := c.RouteTables[tableID]
		table.Entries = slices.DeleteFunc(table.Entries, func(e *state.RouteEntry) bool {
			return e.Type == "Custom" && (len(cidrs) == 0 || slices.Contains(cidrs, e.Cidr))
		})
	})
}

// routes says what a table holds beside the cloud's own entries, as "destination→instance".
func (w *world) routes(tableID string) (list []string) {
	w.cloud.Sim.View(func(c *state.Cloud) {
		table := c.RouteTables[tableID]
		if table == nil {
			return
		}
		for _, e := range table.Entries {
			if e.Type == "Custom" {
				list = append(list, e.Cidr+"→"+e.NextHopID)
			}
		}
	})
	slices.Sort(list)
	return list
}

// TestProcessLinksNoGateway: what tests take from the gateway is not in the process, nor is the cloud's SDK.
func TestProcessLinksNoGateway(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "alicloud-controllers.dev/routecontroller/cmd/...")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, "alicloud-controllers.dev/routecontroller/internal/controller") {
		t.Fatal("the controller is not among what is linked, so nothing was found out")
	}
	for _, pkg := range linked {
		if strings.HasPrefix(pkg, "alicloud-controllers.dev/cloudgateway/") || strings.HasPrefix(pkg, "github.com/aliyun/") {
			t.Errorf("%s is linked", pkg)
		}
	}
}

// edited is the gateway with its answers changed by a test, for what the simulated cloud never says.
type edited struct {
	grpc.ClientConnInterface

	edit func(answer any)
}

func (c edited) Invoke(ctx context.Context, method string, request, answer any, options ...grpc.CallOption) error {
	err := c.ClientConnInterface.Invoke(ctx, method, request, answer, options...)
	if err == nil {
		c.edit(answer)
	}
	return err
}
