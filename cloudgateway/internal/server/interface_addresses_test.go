package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// withManyAddresses gives the world an interface with 61 IPv4 addresses and 12 IPv6 addresses. All but the first go.
func withManyAddresses(c *openapisim.Config) (unwanted []string) {
	withVSwitches(c)
	eni := &state.NetworkInterface{
		VpcID: "vpc-eni", VSwitchID: "vsw-eni", ZoneID: "cn-hangzhou-h", Type: "Secondary", Status: "Available",
		PrimaryIP: "10.7.8.1", PrivateIPs: []string{"10.7.8.1"},
	}
	for i := range 60 {
		eni.PrivateIPs = append(eni.PrivateIPs, fmt.Sprintf("10.7.8.%d", 2+i))
	}
	for i := range 12 {
		eni.Ipv6Addresses = append(eni.Ipv6Addresses, fmt.Sprintf("2408:4000:7::%x", 1+i))
	}
	c.Seed.Interfaces = map[string]*state.NetworkInterface{"eni-many": eni}
	return append(append(unwanted, eni.PrivateIPs[1:]...), eni.Ipv6Addresses...)
}

// sizes are how many addresses each call took away.
func (w *world) sizes() (calls []string) {
	for _, c := range w.calls(false) {
		n := 0
		for name := range c.Params {
			if strings.HasPrefix(name, "PrivateIpAddress.") || strings.HasPrefix(name, "Ipv6Address.") {
				n++
			}
		}
		calls = append(calls, fmt.Sprint(c.Action, " ", n))
	}
	return calls
}

// TestManyAddressesGoInParts of what a call of the cloud takes. After an error in the middle, a repetition goes on with what is left.
func TestManyAddressesGoInParts(t *testing.T) {
	for _, tt := range []struct {
		name        string
		fault       *fault.Rule
		first, then []string
		failed      bool
	}{
		{name: "all at once", first: []string{
			"UnassignPrivateIpAddresses 50", "UnassignPrivateIpAddresses 10", "UnassignIpv6Addresses 10", "UnassignIpv6Addresses 2",
		}},
		{
			name: "the second part is refused", failed: true,
			fault: &fault.Rule{Action: "UnassignPrivateIpAddresses", Nth: 2, Times: 1, Error: &fault.Error{
				Status: 403, Code: "Forbidden.RAM", Message: "no",
			}},
			first: []string{"UnassignPrivateIpAddresses 50", "UnassignPrivateIpAddresses 10"},
			then:  []string{"UnassignPrivateIpAddresses 10", "UnassignIpv6Addresses 10", "UnassignIpv6Addresses 2"},
		},
		{
			name: "the other family is refused", failed: true,
			fault: &fault.Rule{Action: "UnassignIpv6Addresses", Times: 1, Error: &fault.Error{
				Status: 403, Code: "Forbidden.RAM", Message: "no",
			}},
			first: []string{"UnassignPrivateIpAddresses 50", "UnassignPrivateIpAddresses 10", "UnassignIpv6Addresses 10"},
			then:  []string{"UnassignIpv6Addresses 10", "UnassignIpv6Addresses 2"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var unwanted []string
			w := newWorld(t, func(c *openapisim.Config) { unwanted = withManyAddresses(c) })
			if tt.fault != nil {
				w.strike(t, *tt.fault)
			}
			remove := func() error {
				return second(w.NetworkInterfaces.UnassignAddresses(t.Context(),
					&ecsv1.UnassignAddressesRequest{NetworkInterfaceId: "eni-many", IpAddresses: unwanted}))
			}
			if err := remove(); (err != nil) != tt.failed {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.first, w.sizes()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			w.forget()
			if err := remove(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.then, w.sizes()); diff != "" {
				t.Errorf("calls of the repetition (-want +got):\n%s", diff)
			}
			w.sim.View(func(c *state.Cloud) {
				if n := c.Interfaces["eni-many"]; len(n.PrivateIPs) != 1 || len(n.Ipv6Addresses) != 0 {
					t.Errorf("left: %v %v", n.PrivateIPs, n.Ipv6Addresses)
				}
			})
		})
	}
}

// TestAddressesAreAssignedOnce: after an error at the second family, and after a failover, a repetition gives the rest and no more.
func TestAddressesAreAssignedOnce(t *testing.T) {
	w := newWorld(t, func(c *openapisim.Config) { withManyAddresses(c) })
	w.sim.Update(func(c *state.Cloud) { c.Interfaces["eni-many"].PrivateIPs = []string{"10.7.8.1"} })
	w.sim.Update(func(c *state.Cloud) { c.Interfaces["eni-many"].Ipv6Addresses = nil })
	w.strike(t, fault.Rule{Action: "AssignIpv6Addresses", Times: 1, Error: &fault.Error{
		Status: 403, Code: "InvalidVSwitchId.IpNotEnough", Message: "no",
	}})
	assign := func() (*ecsv1.AssignAddressesResponse, error) {
		return w.NetworkInterfaces.AssignAddresses(t.Context(), &ecsv1.AssignAddressesRequest{
			RequestId: "r-1", NetworkInterfaceId: "eni-many", Ipv4Count: 3, Ipv6Count: 2,
		})
	}
	if _, err := assign(); rpcerr.ReasonOf(err) != rpcerr.NoFreeAddress {
		t.Fatalf("got %v", err)
	}
	w.startGateway(t)
	answer, err := assign()
	if err != nil || len(answer.GetIpv4Addresses()) != 3 || len(answer.GetIpv6Addresses()) != 2 {
		t.Fatalf("got %v, %v", answer, err)
	}
	w.sim.View(func(c *state.Cloud) {
		if n := c.Interfaces["eni-many"]; len(n.PrivateIPs) != 4 || len(n.Ipv6Addresses) != 2 {
			t.Errorf("it has %v %v", n.PrivateIPs, n.Ipv6Addresses)
		}
	})
}
