package api

import (
	"net/netip"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// A range is handed out once, without its first and last addresses, and what was released last comes last.
func TestTrafficAddress(t *testing.T) {
	t.Parallel()
	c := &Context{State: state.New("cn-hangzhou", "1")}
	within := netip.MustParsePrefix("127.47.8.0/24")
	c.State.Eips["eip-1"] = &state.Eip{ID: "eip-1", Address: "127.47.8.7"}
	seen := map[string]bool{"127.47.8.7": true}
	for i := range 253 {
		address, ok := c.TrafficAddress(within)
		if parsed, err := netip.ParseAddr(address); !ok || err != nil || seen[address] || !within.Contains(parsed) {
			t.Fatalf("address %d: %q, %t", i, address, ok)
		}
		seen[address] = true
		c.State.LoadBalancers[address] = &state.LoadBalancer{Address: address}
	}
	if address, ok := c.TrafficAddress(within); ok || seen["127.47.8.0"] || seen["127.47.8.255"] {
		t.Errorf("the range has %s too", address)
	}
	delete(c.State.LoadBalancers, "127.47.8.9")
	if address, ok := c.TrafficAddress(within); !ok || address != "127.47.8.9" {
		t.Errorf("address %q, %t, want the released one", address, ok)
	}
}
