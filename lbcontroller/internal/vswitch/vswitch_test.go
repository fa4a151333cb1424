package vswitch_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/lbcontroller/internal/vswitch"
)

// TestAll is the table of which vSwitches are taken, and in which order.
func TestAll(t *testing.T) {
	t.Parallel()
	with := func(v *vpcv1.VSwitch, change func(*vpcv1.VSwitch)) *vpcv1.VSwitch {
		change(v)
		return v
	}
	of := func(id, block string, room int64) *vpcv1.VSwitch {
		return &vpcv1.VSwitch{VswitchId: id, CidrBlock: block, AvailableIpCount: room, Status: "Available"}
	}
	tagged := func(v *vpcv1.VSwitch, value string) *vpcv1.VSwitch {
		return with(v, func(v *vpcv1.VSwitch) {
			v.Tags = []*commonv1.Tag{{Key: "of", Value: "x"}, {Key: vswitch.Tag, Value: value}}
		})
	}
	a, b, c := of("vsw-a", "10.0.0.0/24", 5), of("vsw-b", "10.0.1.0/24", 9), of("vsw-c", "10.0.2.0/24", 9)
	full := of("vsw-full", "10.0.3.0/24", 0)
	pending := with(of("vsw-pending", "10.0.4.0/24", 9), func(v *vpcv1.VSwitch) { v.Status = "Pending" })
	dual := with(of("vsw-dual", "10.0.5.0/24", 1), func(v *vpcv1.VSwitch) { v.Ipv6CidrBlock = "2001:db8::/64" })
	nodes := []string{"not an address", "10.0.1.7", "10.0.0.255", "172.16.0.1", "10.0.3.3", "10.0.4.4"}
	tests := map[string]struct {
		search vswitch.Search
		list   []*vpcv1.VSwitch
		want   []string
	}{
		"nothing is known": {vswitch.Search{}, []*vpcv1.VSwitch{a, b}, nil},
		"those of nodes, the most room": {vswitch.Search{Nodes: nodes},
			[]*vpcv1.VSwitch{a, b, c}, []string{"vsw-b", "vsw-a"}},
		"neither full nor coming ones": {vswitch.Search{Nodes: nodes}, []*vpcv1.VSwitch{full, pending}, nil},
		"configured ones in their order": {vswitch.Search{Configured: []string{"vsw-c", "vsw-a"}},
			[]*vpcv1.VSwitch{a, b, c}, []string{"vsw-c", "vsw-a"}},
		"then others": {vswitch.Search{Configured: []string{"vsw-a"}, Nodes: nodes},
			[]*vpcv1.VSwitch{a, b, c}, []string{"vsw-a", "vsw-b"}},
		"configured ones are full": {vswitch.Search{Configured: []string{"vsw-full"}, Nodes: nodes},
			[]*vpcv1.VSwitch{full, a}, []string{"vsw-a"}},
		"a configured one of another VPC": {vswitch.Search{Configured: []string{"vsw-x"}, Nodes: nodes},
			[]*vpcv1.VSwitch{a}, []string{"vsw-a"}},
		"tagged for all clusters": {vswitch.Search{ClusterID: "c-1", Nodes: nodes},
			[]*vpcv1.VSwitch{a, tagged(of("vsw-t", "10.0.9.0/24", 1), "")}, []string{"vsw-t"}},
		"tagged for this cluster": {vswitch.Search{ClusterID: "c-1", Nodes: nodes},
			[]*vpcv1.VSwitch{a, tagged(of("vsw-t", "10.0.9.0/24", 1), "c-1")}, []string{"vsw-t"}},
		"tagged for another cluster": {vswitch.Search{ClusterID: "c-1", Nodes: nodes},
			[]*vpcv1.VSwitch{a, tagged(of("vsw-t", "10.0.9.0/24", 1), "c-2")}, []string{"vsw-a"}},
		"the tagged one is full": {vswitch.Search{ClusterID: "c-1", Nodes: nodes},
			[]*vpcv1.VSwitch{a, tagged(of("vsw-t", "10.0.9.0/24", 0), "")}, nil},
		"an address names its vSwitch": {vswitch.Search{Nodes: nodes, Address: "10.0.0.9"},
			[]*vpcv1.VSwitch{a, b}, []string{"vsw-a"}},
		"an address that no vSwitch holds": {vswitch.Search{Nodes: nodes, Address: "10.0.8.9"},
			[]*vpcv1.VSwitch{a, b}, nil},
		"with IPv6": {vswitch.Search{Nodes: append(slices.Clone(nodes), "10.0.5.5"), IPv6: true},
			[]*vpcv1.VSwitch{a, b, dual}, []string{"vsw-dual"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, v := range test.search.All(test.list) {
				got = append(got, v.GetVswitchId())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("vSwitches (-want +got):\n%s", diff)
			}
		})
	}
}
