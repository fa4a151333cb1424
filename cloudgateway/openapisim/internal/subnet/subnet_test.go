package subnet

import (
	"net/netip"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// A block of eight addresses has four to hand out, and none that anything has.
func TestFree(t *testing.T) {
	t.Parallel()
	c := state.New("cn-hangzhou", "1")
	vsw := &state.VSwitch{ID: "vsw-1"}
	c.NLBs["nlb-1"] = &state.NLB{Zones: []*state.NLBZone{{VSwitchID: "vsw-1", PrivateIP: "10.0.0.1"},
		{VSwitchID: "vsw-2", PrivateIP: "10.0.0.4"}}}
	c.Instances["i-1"] = &state.Instance{VSwitchID: "vsw-1", PrivateIPs: []string{"10.0.0.2"}}
	c.Interfaces["eni-1"] = &state.NetworkInterface{VSwitchID: "vsw-1", PrivateIPs: []string{"10.0.0.3"}, Ipv6Addresses: []string{"2408::5"}}
	c.Instances["i-2"] = &state.Instance{VSwitchID: "vsw-2", PrivateIPs: []string{"10.0.0.4"}}
	used := Used(c, vsw)
	if !used["2408::5"] {
		t.Errorf("used are %v", used)
	}
	block := netip.MustParsePrefix("10.0.0.0/29")
	if got, ok := Free(block, used); !ok || got != "10.0.0.4" {
		t.Errorf("free is %q, %t", got, ok)
	}
	c.LoadBalancers["lb-1"] = &state.LoadBalancer{VSwitchID: "vsw-1", Address: "10.0.0.4"}
	if got, ok := Free(block, Used(c, vsw)); ok {
		t.Errorf("free is %q, but the cloud keeps the first address and the last three", got)
	}
}

// The block behind another one is of the same size, over the borders of bytes, too.
func TestNext(t *testing.T) {
	t.Parallel()
	for block, want := range map[string]string{
		"10.0.0.0/28": "10.0.0.16/28", "10.0.0.240/28": "10.0.1.0/28", "10.0.255.255/32": "10.1.0.0/32", "10.0.0.0/9": "10.128.0.0/9",
		"255.255.255.240/28": "invalid Prefix", "0.0.0.0/0": "invalid Prefix", "2408::ffff:0:0:0/80": "2408:0:0:1::/80",
	} {
		if got := Next(netip.MustParsePrefix(block)).String(); got != want {
			t.Errorf("behind %s is %s, want %s", block, got, want)
		}
	}
}
