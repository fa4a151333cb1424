package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// withVSwitches gives the world a vSwitch with both families and a security group.
func withVSwitches(c *openapisim.Config) {
	c.Seed.Vpcs["vpc-eni"] = &state.Vpc{CidrBlock: "10.0.0.0/8", Ipv6Cidrs: []string{"2408:4000:7::/56"}}
	c.Seed.VSwitches["vsw-eni"] = &state.VSwitch{
		VpcID: "vpc-eni", ZoneID: "cn-hangzhou-h", CidrBlock: "10.7.0.0/16", Ipv6Cidr: "2408:4000:7::/64",
	}
	c.Seed.SecurityGroups = map[string]*state.SecurityGroup{"sg-eni": {VpcID: "vpc-eni", Type: "normal"}}
	for _, id := range []string{"i-eni-1", "i-eni-2"} {
		c.Seed.Instances[id] = &state.Instance{VpcID: "vpc-eni", VSwitchID: "vsw-eni", ZoneID: "cn-hangzhou-h", Status: "Running",
			PrivateIPs: []string{map[string]string{"i-eni-1": "10.7.9.1", "i-eni-2": "10.7.9.2"}[id]}}
	}
}

func newInterface(requestID string) *ecsv1.CreateNetworkInterfaceRequest {
	return &ecsv1.CreateNetworkInterfaceRequest{
		RequestId: requestID, VswitchId: "vsw-eni", SecurityGroupIds: []string{"sg-eni"}, Name: "pods", Ipv4Count: 2, Ipv6Count: 1,
	}
}

// TestInterfaceFromBeginToEnd is the life of an interface of pods.
func TestInterfaceFromBeginToEnd(t *testing.T) {
	w := newWorld(t, withVSwitches)
	answer, err := w.NetworkInterfaces.CreateNetworkInterface(t.Context(), newInterface("r-1"))
	if err != nil {
		t.Fatal(err)
	}
	eni := answer.GetNetworkInterface()
	id := eni.GetNetworkInterfaceId()
	if eni.GetStatus() != "Available" || len(eni.GetPrivateIps()) != 3 || len(eni.GetIpv6Addresses()) != 1 {
		t.Errorf("made %v", eni)
	}
	attach := func(instance string) error {
		return second(w.NetworkInterfaces.AttachNetworkInterface(t.Context(),
			&ecsv1.AttachNetworkInterfaceRequest{NetworkInterfaceId: id, InstanceId: instance}))
	}
	detach := func(instance string) error {
		return second(w.NetworkInterfaces.DetachNetworkInterface(t.Context(),
			&ecsv1.DetachNetworkInterfaceRequest{NetworkInterfaceId: id, InstanceId: instance}))
	}
	remove := func() error {
		return second(w.NetworkInterfaces.DeleteNetworkInterface(t.Context(), &ecsv1.DeleteNetworkInterfaceRequest{NetworkInterfaceId: id}))
	}
	w.forget()
	for range 2 { // The second finds it done.
		if err := attach("i-eni-1"); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"DescribeNetworkInterfaces", "AttachNetworkInterface", "DescribeNetworkInterfaces",
		"DescribeNetworkInterfaces"}, w.actions(true)); diff != "" {
		t.Errorf("calls of two attachments (-want +got):\n%s", diff)
	}
	for what, err := range map[string]error{"attach to another": attach("i-eni-2"), "delete": remove()} {
		if rpcerr.ReasonOf(err) != rpcerr.ResourceInUse {
			t.Errorf("%s: got %v, want RESOURCE_IN_USE", what, err)
		}
	}
	more, err := w.NetworkInterfaces.AssignAddresses(t.Context(), &ecsv1.AssignAddressesRequest{
		RequestId: "r-2", NetworkInterfaceId: id, Ipv4Count: 2, Ipv6Count: 2,
	})
	if err != nil || len(more.GetIpv4Addresses()) != 2 || len(more.GetIpv6Addresses()) != 2 {
		t.Fatalf("assigned %v, %v", more, err)
	}
	unassign := func(addresses ...string) error {
		return second(w.NetworkInterfaces.UnassignAddresses(t.Context(),
			&ecsv1.UnassignAddressesRequest{NetworkInterfaceId: id, IpAddresses: addresses}))
	}
	for range 2 {
		if err := unassign(append(more.GetIpv4Addresses(), append(more.GetIpv6Addresses(), "10.7.77.77")...)...); err != nil {
			t.Fatal(err)
		}
	}
	w.sim.View(func(c *state.Cloud) {
		if n := c.Interfaces[id]; len(n.PrivateIPs) != 3 || len(n.Ipv6Addresses) != 1 {
			t.Errorf("left: %v %v", n.PrivateIPs, n.Ipv6Addresses)
		}
	})
	if err := unassign(eni.GetPrimaryIp()); rpcerr.ReasonOf(err) != rpcerr.InvalidField {
		t.Errorf("the primary address: got %v, want INVALID_FIELD", err)
	}
	if err := detach("i-eni-2"); err != nil {
		t.Errorf("detach from another: %v", err)
	}
	w.sim.View(func(c *state.Cloud) {
		if c.Interfaces[id].InstanceID != "i-eni-1" {
			t.Errorf("it is attached to %q", c.Interfaces[id].InstanceID)
		}
	})
	for _, step := range []func() error{
		func() error { return detach("i-eni-1") }, func() error { return detach("i-eni-1") }, remove, remove,
		func() error { return detach("i-eni-1") }, func() error { return unassign("10.7.77.77") },
	} {
		if err := step(); err != nil {
			t.Error(err)
		}
	}
	wantNotFound(t, attach("i-eni-1"), rpcerr.NetworkInterfaceNotFound)
}

// TestScopeOfInterfaces: a caller attaches what is its own, to what is its own.
func TestScopeOfInterfaces(t *testing.T) {
	w := newWorld(t, withVSwitches, func(c *openapisim.Config) {
		web := []state.Tag{{Key: "team", Value: "web"}}
		c.Seed.Instances["i-eni-1"].Tags = web
		c.Seed.Interfaces = map[string]*state.NetworkInterface{
			"eni-in": {
				VpcID: "vpc-eni", VSwitchID: "vsw-eni", ZoneID: "cn-hangzhou-h", Type: "Secondary", Status: "Available",
				PrimaryIP: "10.7.8.1", PrivateIPs: []string{"10.7.8.1"}, Tags: web,
			},
			"eni-out": {
				VpcID: "vpc-eni", VSwitchID: "vsw-eni", ZoneID: "cn-hangzhou-h", Type: "Secondary", Status: "Available",
				PrimaryIP: "10.7.8.2", PrivateIPs: []string{"10.7.8.2"},
			},
		}
	})
	w.scopes = []config.Scope{{Callers: []string{scoped}, Tags: map[string]string{"team": "web"}}}
	w.startGateway(t)
	for _, tt := range []struct {
		eni, instance string
		forbidden     bool
	}{{"eni-out", "i-eni-1", true}, {"eni-in", "i-eni-2", true}, {"eni-in", "i-eni-1", false}} {
		_, err := w.NetworkInterfaces.AttachNetworkInterface(t.Context(),
			&ecsv1.AttachNetworkInterfaceRequest{NetworkInterfaceId: tt.eni, InstanceId: tt.instance})
		if got := rpcerr.ReasonOf(err) == rpcerr.CallerForbidden; got != tt.forbidden || !tt.forbidden && err != nil {
			t.Errorf("%s to %s: got %v", tt.eni, tt.instance, err)
		}
	}
	if err := second(w.NetworkInterfaces.DeleteNetworkInterface(t.Context(),
		&ecsv1.DeleteNetworkInterfaceRequest{NetworkInterfaceId: "eni-out"})); rpcerr.ReasonOf(err) != rpcerr.CallerForbidden {
		t.Errorf("delete: got %v", err)
	}
	err := second(w.NetworkInterfaces.CreateNetworkInterface(t.Context(), newInterface("r-1")))
	if rpcerr.ReasonOf(err) != rpcerr.CallerForbidden {
		t.Errorf("create without the tag: got %v", err)
	}
}
