package table_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/routecontroller/internal/table"
)

func TestEntriesOf(t *testing.T) {
	t.Parallel()
	entry := func(edit func(*vpcv1.RouteEntry)) *vpcv1.RouteEntry {
		e := &vpcv1.RouteEntry{
			DestinationCidr: "10.0.1.0/24", NextHopId: "i-a", NextHopType: "Instance", Type: "Custom", Status: "Available",
			Description: "k8s/c-1/a",
		}
		edit(e)
		return e
	}
	key := table.Key{CIDR: netip.MustParsePrefix("10.0.1.0/24"), InstanceID: "i-a"}
	tests := []struct {
		name string
		edit func(*vpcv1.RouteEntry)
		ipv6 bool
		want []table.Entry
	}{
		{name: "to an instance", edit: func(*vpcv1.RouteEntry) {},
			want: []table.Entry{{Key: key, NextHop: "i-a", Description: "k8s/c-1/a", Available: true}}},
		{name: "being made", edit: func(e *vpcv1.RouteEntry) { e.Status = "Pending" },
			want: []table.Entry{{Key: key, NextHop: "i-a", Description: "k8s/c-1/a"}}},
		{name: "to a gateway", edit: func(e *vpcv1.RouteEntry) { e.NextHopId, e.NextHopType = "ngw-1", "NatGateway" },
			want: []table.Entry{{Key: table.Key{CIDR: key.CIDR}, NextHop: "ngw-1", Description: "k8s/c-1/a", Available: true}}},
		{name: "to several", edit: func(e *vpcv1.RouteEntry) { e.NextHopId, e.MultipleNextHops = "", true },
			want: []table.Entry{{Key: table.Key{CIDR: key.CIDR}, NextHop: "several next hops", Description: "k8s/c-1/a", Available: true}}},
		{name: "system", edit: func(e *vpcv1.RouteEntry) { e.Type = "System" }},
		{name: "default", edit: func(e *vpcv1.RouteEntry) { e.DestinationCidr = "0.0.0.0/0" }},
		{name: "IPv6", edit: func(e *vpcv1.RouteEntry) { e.DestinationCidr = "fd00::/64" }},
		{name: "IPv6, wanted", edit: func(e *vpcv1.RouteEntry) { e.DestinationCidr = "FD00:0::/64" }, ipv6: true, want: []table.Entry{{
			Key:     table.Key{CIDR: netip.MustParsePrefix("fd00::/64"), InstanceID: "i-a"},
			NextHop: "i-a", Description: "k8s/c-1/a", Available: true,
		}}},
		{name: "IPv6 default", edit: func(e *vpcv1.RouteEntry) { e.DestinationCidr = "::/0" }, ipv6: true},
		{name: "a prefix list", edit: func(e *vpcv1.RouteEntry) { e.DestinationCidr = "pl-1" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, table.Scope{IPv6: tt.ipv6}.EntriesOf([]*vpcv1.RouteEntry{entry(tt.edit)}), opts); diff != "" {
				t.Errorf("EntriesOf (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMark(t *testing.T) {
	t.Parallel()
	long := table.Mark("c-1", strings.Repeat("n", 300))
	if len(long) != 256 || !table.MarkedBy(long, "c-1") {
		t.Errorf("mark of a long name: %d characters, of cluster c-1: %v", len(long), table.MarkedBy(long, "c-1"))
	}
	tests := []struct {
		description string
		ours        bool
	}{
		{description: "k8s/c-1/a", ours: true},
		{description: "k8s/c-10/a"},
		{description: "k8s//a"},
		{description: "k8s/c-1"},
		{description: "c-1/a"},
		{description: ""},
	}
	for _, tt := range tests {
		t.Run(tt.description, func(t *testing.T) {
			t.Parallel()
			if got := table.MarkedBy(tt.description, "c-1"); got != tt.ours {
				t.Errorf("MarkedBy = %v, want %v", got, tt.ours)
			}
		})
	}
	if table.MarkedBy("k8s//a", "") {
		t.Error("an empty cluster id owns entries")
	}
}

// FuzzMark checks that a mark is read back by the cluster that made it, and by no other.
func FuzzMark(f *testing.F) {
	f.Add("c-1", "node-1")
	f.Add("c", strings.Repeat("n", 300))
	f.Fuzz(func(t *testing.T, cluster, name string) {
		if cluster == "" || len(cluster) > 64 || strings.Contains(cluster, "/") {
			return // Refused by the configuration.
		}
		mark := table.Mark(cluster, name)
		if len(mark) > 256 {
			t.Errorf("mark has %d characters", len(mark))
		}
		if !table.MarkedBy(mark, cluster) || table.MarkedBy(mark, cluster+"x") {
			t.Errorf("mark %q is not recognized as that of %q only", mark, cluster)
		}
	})
}

// FuzzEntryOf checks that whatever the cloud answers, an entry has a proper destination of a family that is in scope.
func FuzzEntryOf(f *testing.F) {
	f.Add("10.0.1.0/24", "i-a", "Instance", "Custom", "Available", false)
	f.Add("0.0.0.0/0", "", "", "", "", true)
	f.Add("fd00::/64", "i-a", "", "", "", true)
	f.Fuzz(func(t *testing.T, cidr, hop, hopType, kind, status string, ipv6 bool) {
		entry, ok := table.Scope{IPv6: ipv6}.EntryOf(&vpcv1.RouteEntry{
			DestinationCidr: cidr, NextHopId: hop, NextHopType: hopType, Type: kind, Status: status,
		})
		if ok && (!ipv6 && !entry.CIDR.Addr().Is4() || entry.CIDR.Bits() == 0 || entry.CIDR != entry.CIDR.Masked()) {
			t.Errorf("EntryOf(%q) has destination %v", cidr, entry.CIDR)
		}
	})
}

func TestReserved(t *testing.T) {
	t.Parallel()
	got := table.Reserved([]*vpcv1.RouteEntry{
		{DestinationCidr: "192.168.0.0/24", Type: "System"}, {DestinationCidr: "fd00:1::1/64", Type: "System"},
		{DestinationCidr: "0.0.0.0/0", Type: "System"},
		{DestinationCidr: "10.0.1.0/24", Type: "Custom"}, {DestinationCidr: "pl-1", Type: "System"},
		{DestinationCidr: "0.0.0.0/1", Type: "System"},
	})
	var texts []string
	for _, prefix := range got {
		texts = append(texts, prefix.String())
	}
	if diff := cmp.Diff([]string{"100.64.0.0/10", "192.168.0.0/24", "fd00:1::/64", "0.0.0.0/1"}, texts); diff != "" {
		t.Errorf("ranges (-want +got):\n%s", diff)
	}
}

func TestCountCustom(t *testing.T) {
	t.Parallel()
	if n := table.CountCustom([]*vpcv1.RouteEntry{{Type: "Custom"}, {}, {Type: "System"}, {Type: "CEN"}}); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
}

func TestOrdered(t *testing.T) {
	t.Parallel()
	entry := func(cidr, instance string) table.Entry {
		return table.Entry{Key: table.Key{CIDR: netip.MustParsePrefix(cidr), InstanceID: instance}}
	}
	want := []table.Entry{entry("10.0.0.0/16", "i-a"), entry("10.0.0.0/24", "i-a"), entry("10.0.0.0/24", "i-b"), entry("10.0.1.0/24", "i-a")}
	given := []table.Entry{want[3], want[1], want[2], want[0]}
	same := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	if diff := cmp.Diff(want, table.Ordered(given), same); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if given[0] != want[3] {
		t.Error("the argument was ordered, too")
	}
}
