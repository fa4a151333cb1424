package plan_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/routecontroller/internal/plan"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

const cluster = "c-1"

var (
	opts   = cmp.Options{cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmpopts.EquateEmpty()}
	policy = plan.Policy{ClusterID: cluster, ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}}
)

func key(cidr, instance string) table.Key {
	return table.Key{CIDR: netip.MustParsePrefix(cidr), InstanceID: instance}
}

func route(cidr, instance, node string) table.Route {
	return table.Route{Key: key(cidr, instance), Node: node}
}

func entry(cidr, instance, description string) table.Entry {
	return table.Entry{Key: key(cidr, instance), NextHop: instance, Description: description, Available: true}
}

func obstacle(r table.Route, e table.Entry, moved bool) plan.Plan {
	return plan.Plan{Obstacles: []plan.Obstacle{{Route: r, Entry: e, Moved: moved}}}
}

func wanted(routes ...table.Route) table.Claims { return table.Claims{Wanted: routes} }

func TestDiff(t *testing.T) {
	t.Parallel()
	a := route("10.0.1.0/24", "i-a", "a")
	mine := table.Mark(cluster, "a")
	tests := []struct {
		name string
		in   plan.Input
		want plan.Plan
	}{
		{name: "missing", in: plan.Input{Claims: wanted(a)}, want: plan.Plan{Create: []table.Route{a}}},
		{name: "there", in: plan.Input{Claims: wanted(a), Entries: []table.Entry{entry("10.0.1.0/24", "i-a", mine)}},
			want: plan.Plan{Ready: []table.Route{a}}},
		{name: "there, made by the existing CCM",
			in:   plan.Input{Claims: wanted(a), Entries: []table.Entry{entry("10.0.1.0/24", "i-a", "")}},
			want: plan.Plan{Ready: []table.Route{a}}},
		{name: "being made", in: plan.Input{Claims: wanted(a), Entries: []table.Entry{{Key: a.Key, NextHop: "i-a", Description: mine}}},
			want: plan.Plan{Pending: []table.Route{a}}},
		{name: "taken by an old route of ours", in: plan.Input{Claims: wanted(a), Entries: []table.Entry{entry("10.0.1.0/24", "i-old", mine)}},
			want: obstacle(a, entry("10.0.1.0/24", "i-old", mine), false)},
		{name: "taken by an old route of ours that is going",
			in:   plan.Input{Claims: wanted(a), Entries: []table.Entry{{Key: key("10.0.1.0/24", "i-old"), Description: mine}}},
			want: plan.Plan{Pending: []table.Route{a}}},
		{name: "taken by an unmarked route to another node",
			in: plan.Input{Claims: wanted(a, route("10.0.2.0/24", "i-b", "b")), Entries: []table.Entry{
				entry("10.0.1.0/24", "i-b", ""), entry("10.0.2.0/24", "i-b", ""),
			}},
			want: plan.Plan{
				Obstacles: []plan.Obstacle{{Route: a, Entry: entry("10.0.1.0/24", "i-b", ""), Moved: true}},
				Ready:     []table.Route{route("10.0.2.0/24", "i-b", "b")},
			}},
		{name: "taken by our route to a node that has another range by now",
			in: plan.Input{Claims: table.Claims{Wanted: []table.Route{a}, Held: []table.Route{route("10.0.2.0/24", "i-b", "b")}},
				Entries: []table.Entry{entry("10.0.1.0/24", "i-b", table.Mark(cluster, "b"))}},
			want: obstacle(a, entry("10.0.1.0/24", "i-b", table.Mark(cluster, "b")), true)},
		{name: "taken by the route of a silent node with the same range",
			in: plan.Input{Claims: table.Claims{Wanted: []table.Route{a}, Held: []table.Route{route("10.0.1.0/24", "i-b", "b")}},
				Entries: []table.Entry{entry("10.0.1.0/24", "i-b", table.Mark(cluster, "b"))}},
			want: plan.Plan{Refused: []plan.Refusal{{Route: a, Entry: entry("10.0.1.0/24", "i-b", table.Mark(cluster, "b")), Reason: "nodes " +
				"b and a have the same pod CIDR 10.0.1.0/24, and the route there is that of b; delete one of the two Nodes, so that it gets another " +
				"range when its kubelet registers again"}}}},
		{name: "taken by the route of a silent node with the same range, which is being made",
			in: plan.Input{Claims: table.Claims{Wanted: []table.Route{a}, Held: []table.Route{route("10.0.1.0/24", "i-b", "b")}},
				Entries: []table.Entry{{Key: key("10.0.1.0/24", "i-b"), NextHop: "i-b", Description: table.Mark(cluster, "b")}}},
			want: plan.Plan{Refused: []plan.Refusal{{
				Route: a, Entry: table.Entry{Key: key("10.0.1.0/24", "i-b"), NextHop: "i-b", Description: table.Mark(cluster, "b")},
				Reason: "nodes b and a have the same pod CIDR 10.0.1.0/24, and the route there is that of b; delete one of the two Nodes, " +
					"so that it gets another range when its kubelet registers again",
			}}}},
		{name: "inside of a route that can't be had, to a member",
			in: plan.Input{Claims: wanted(route("10.0.0.0/15", "i-a", "a")), Entries: []table.Entry{entry("10.0.1.0/24", "i-z", "")},
				Instances: map[string]plan.InstanceState{"i-z": plan.Member}},
			want: plan.Plan{Refused: []plan.Refusal{{
				Route: route("10.0.0.0/15", "i-a", "a"), Reason: "pod CIDR 10.0.0.0/15 lies outside of clusterCIDRs [10.0.0.0/16]",
			}}}},
		{name: "inside of a route whose place is taken, by a stranger",
			in: plan.Input{Claims: wanted(a), Entries: []table.Entry{entry("10.0.1.0/24", "i-x", "by hand"),
				entry("10.0.1.0/25", "i-x", "by hand")}},
			want: plan.Plan{Refused: []plan.Refusal{{Route: a, Entry: entry("10.0.1.0/24", "i-x", "by hand"), Reason: "destination 10.0.1.0/24 " +
				"is taken by an entry to i-x (\"by hand\") that is not of this cluster; delete it to let the route be created"}}}},
		{name: "taken by an unmarked route to a former node",
			in: plan.Input{Claims: wanted(a), Entries: []table.Entry{entry("10.0.1.0/24", "i-z", "")},
				Seen: map[table.Key]string{key("10.0.9.0/24", "i-z"): "z"}},
			want: obstacle(a, entry("10.0.1.0/24", "i-z", ""), false)},
		{name: "taken by an unmarked route to a proven member",
			in: plan.Input{Claims: wanted(a), Entries: []table.Entry{entry("10.0.1.0/24", "i-z", "")},
				Instances: map[string]plan.InstanceState{"i-z": plan.Member}},
			want: obstacle(a, entry("10.0.1.0/24", "i-z", ""), false)},
		{name: "taken by an unmarked route to an instance that is gone",
			in: plan.Input{Claims: wanted(a), Entries: []table.Entry{entry("10.0.1.0/24", "i-z", "")},
				Instances: map[string]plan.InstanceState{"i-z": plan.Gone}},
			want: obstacle(a, entry("10.0.1.0/24", "i-z", ""), false)},
		{name: "a part of it is taken by an unmarked route to an instance that is gone, of a size that nodes have",
			in: plan.Input{Claims: wanted(a, route("10.0.8.0/25", "i-b", "b")),
				Entries:   []table.Entry{entry("10.0.1.0/24", "i-a", mine), entry("10.0.1.0/25", "i-z", "")},
				Instances: map[string]plan.InstanceState{"i-z": plan.Gone}},
			want: plan.Plan{Obstacles: []plan.Obstacle{{Route: a, Entry: entry("10.0.1.0/25", "i-z", "")}}, Ready: []table.Route{a},
				Create: []table.Route{route("10.0.8.0/25", "i-b", "b")}}},
		{name: "a part of it is taken by an unmarked route to a node, of a size that no node has",
			in: plan.Input{Claims: wanted(a), Entries: []table.Entry{entry("10.0.1.0/24", "i-a", mine), entry("10.0.1.77/32", "i-a", "")}},
			want: plan.Plan{Ready: []table.Route{a}, Foreign: []plan.Refusal{{Route: a, Entry: entry("10.0.1.77/32", "i-a", ""),
				Reason: "entry 10.0.1.77/32 to i-a is not of this cluster and takes a part of pod CIDR 10.0.1.0/24"}}}},
		{name: "a part of it is taken by a route to a node that somebody has described",
			in: plan.Input{Claims: wanted(a), Entries: []table.Entry{entry("10.0.1.0/24", "i-a", mine), entry("10.0.1.77/32", "i-a", "VIP")}},
			want: plan.Plan{Ready: []table.Route{a}, Foreign: []plan.Refusal{{Route: a, Entry: entry("10.0.1.77/32", "i-a", "VIP"),
				Reason: "entry 10.0.1.77/32 to i-a (\"VIP\") is not of this cluster and takes a part of pod CIDR 10.0.1.0/24"}}}},
		{name: "taken by a route to a node that somebody has described",
			in: plan.Input{Claims: wanted(a, route("10.0.2.0/24", "i-b", "b")), Entries: []table.Entry{
				entry("10.0.1.0/24", "i-b", "VPN appliance"), entry("10.0.2.0/24", "i-b", ""),
			}},
			want: plan.Plan{Ready: []table.Route{route("10.0.2.0/24", "i-b", "b")}, Refused: []plan.Refusal{{
				Route: a, Entry: entry("10.0.1.0/24", "i-b", "VPN appliance"), Reason: "destination 10.0.1.0/24 is taken by an entry to i-b " +
					"(\"VPN appliance\") that is not of this cluster; delete it to let the route be created",
			}}}},
		{name: "left over by a node, and described by somebody",
			in: plan.Input{Entries: []table.Entry{entry("10.0.1.0/24", "i-z", "VPN appliance")},
				Seen: map[table.Key]string{key("10.0.1.0/24", "i-z"): "z"}}},
		{name: "taken by a route that somebody has described, though to an instance that is gone",
			in: plan.Input{Claims: wanted(a), Entries: []table.Entry{entry("10.0.1.0/24", "i-z", "our VPN")},
				Instances: map[string]plan.InstanceState{"i-z": plan.Gone}},
			want: plan.Plan{Refused: []plan.Refusal{{Route: a, Entry: entry("10.0.1.0/24", "i-z", "our VPN"), Reason: "destination " +
				"10.0.1.0/24 is taken by an entry to i-z (\"our VPN\") that is not of this cluster; delete it to let the route be created"}}}},
		{name: "to an instance that is gone, in nobody's way", in: plan.Input{Entries: []table.Entry{entry("10.0.1.0/24", "i-z", "")},
			Instances: map[string]plan.InstanceState{"i-z": plan.Gone}}},
		{name: "taken by a stranger",
			in: plan.Input{Claims: wanted(a), Entries: []table.Entry{entry("10.0.1.0/24", "i-x", "")},
				Instances: map[string]plan.InstanceState{"i-x": plan.Stranger}},
			want: plan.Plan{Refused: []plan.Refusal{{Route: a, Entry: entry("10.0.1.0/24", "i-x", ""), Reason: "destination 10.0.1.0/24 " +
				"is taken by an entry to i-x that is not of this cluster; delete it to let the route be created"}}}},
		{name: "taken by another cluster, though to an instance of ours",
			in: plan.Input{Claims: wanted(a, route("10.0.2.0/24", "i-b", "b")), Entries: []table.Entry{
				entry("10.0.1.0/24", "i-b", "k8s/c-2/x"), entry("10.0.2.0/24", "i-b", ""),
			}},
			want: plan.Plan{Ready: []table.Route{route("10.0.2.0/24", "i-b", "b")}, Refused: []plan.Refusal{{
				Route: a, Entry: entry("10.0.1.0/24", "i-b", "k8s/c-2/x"), Reason: "destination 10.0.1.0/24 " +
					"is taken by an entry to i-b (\"k8s/c-2/x\") that is not of this cluster; delete it to let the route be created",
			}}}},
		{name: "outside of the cluster's ranges", in: plan.Input{Claims: wanted(route("10.9.1.0/24", "i-a", "a"))},
			want: plan.Plan{Refused: []plan.Refusal{{
				Route: route("10.9.1.0/24", "i-a", "a"), Reason: "pod CIDR 10.9.1.0/24 lies outside of clusterCIDRs [10.0.0.0/16]",
			}}}},
		{name: "outside of the cluster's ranges, but there",
			in: plan.Input{Claims: wanted(route("10.9.1.0/24", "i-a", "a")), Entries: []table.Entry{
				entry("10.9.1.0/24", "i-a", ""), entry("10.9.1.0/25", "i-a", mine), entry("10.9.2.0/24", "i-a", mine),
			}},
			want: plan.Plan{Ready: []table.Route{route("10.9.1.0/24", "i-a", "a")}}},
		{name: "larger than the cluster's ranges", in: plan.Input{Claims: wanted(route("10.0.0.0/8", "i-a", "a"))},
			want: plan.Plan{Refused: []plan.Refusal{{
				Route: route("10.0.0.0/8", "i-a", "a"), Reason: "pod CIDR 10.0.0.0/8 lies outside of clusterCIDRs [10.0.0.0/16]",
			}}}},
		{name: "larger than the cluster's ranges, marked", in: plan.Input{Entries: []table.Entry{entry("10.0.0.0/8", "i-a", mine)}}},
		{name: "smaller entry of ours takes a part",
			in: plan.Input{Claims: wanted(a), Entries: []table.Entry{
				entry("10.0.1.0/24", "i-a", mine), entry("10.0.1.128/25", "i-a", mine),
			}},
			want: plan.Plan{Obstacles: []plan.Obstacle{{Route: a, Entry: entry("10.0.1.128/25", "i-a", mine), Moved: true}},
				Ready: []table.Route{a}}},
		{name: "smaller entry of a stranger takes a part",
			in: plan.Input{Claims: wanted(a), Entries: []table.Entry{
				entry("10.0.1.0/24", "i-a", mine), {Key: key("10.0.1.128/25", ""), NextHop: "ngw-1", Available: true},
			}},
			want: plan.Plan{Ready: []table.Route{a}, Foreign: []plan.Refusal{{
				Route: a, Entry: table.Entry{Key: key("10.0.1.128/25", ""), NextHop: "ngw-1", Available: true},
				Reason: "entry 10.0.1.128/25 to ngw-1 is not of this cluster and takes a part of pod CIDR 10.0.1.0/24",
			}}}},
		{name: "larger entry of a stranger", in: plan.Input{Claims: wanted(a), Entries: []table.Entry{
			entry("10.0.1.0/24", "i-a", mine), entry("10.0.0.0/16", "i-x", ""),
		}}, want: plan.Plan{Ready: []table.Route{a}}},
		{name: "larger entry of a stranger, from the same address",
			in: plan.Input{Claims: wanted(route("10.0.0.0/24", "i-a", "a")), Entries: []table.Entry{
				entry("10.0.0.0/24", "i-a", mine), entry("10.0.0.0/23", "i-x", ""),
			}}, want: plan.Plan{Ready: []table.Route{route("10.0.0.0/24", "i-a", "a")}}},
		{name: "the whole range of the cluster", in: plan.Input{Claims: wanted(route("10.0.0.0/16", "i-a", "a"))},
			want: plan.Plan{Create: []table.Route{route("10.0.0.0/16", "i-a", "a")}}},
		{name: "node is gone, marked", in: plan.Input{Entries: []table.Entry{entry("10.0.1.0/24", "i-a", mine)}},
			want: plan.Plan{Orphans: []table.Entry{entry("10.0.1.0/24", "i-a", mine)}}},
		{name: "node is gone, unmarked but seen", in: plan.Input{
			Entries: []table.Entry{entry("10.0.1.0/24", "i-a", "")}, Seen: map[table.Key]string{a.Key: "a"},
		}, want: plan.Plan{Orphans: []table.Entry{entry("10.0.1.0/24", "i-a", "")}}},
		{name: "nobody knows it", in: plan.Input{Entries: []table.Entry{entry("10.0.1.0/24", "i-a", "")}}},
		{name: "another cluster's", in: plan.Input{Entries: []table.Entry{entry("10.0.1.0/24", "i-a", "k8s/c-2/a")},
			Seen: map[table.Key]string{a.Key: "a"}}},
		{name: "unmarked to a node, not the node's range", in: plan.Input{Claims: wanted(a), Entries: []table.Entry{
			entry("10.0.1.0/24", "i-a", ""), entry("10.0.7.0/24", "i-a", ""),
		}}, want: plan.Plan{Ready: []table.Route{a}}},
		{name: "node is silent", in: plan.Input{Claims: table.Claims{Held: []table.Route{a}},
			Entries: []table.Entry{entry("10.0.1.0/24", "i-a", mine)}}},
		{name: "node is excluded", in: plan.Input{Claims: table.Claims{Excluded: []table.Route{a}},
			Entries: []table.Entry{entry("10.0.1.0/24", "i-a", mine)}}},
		{name: "node is silent and has no route", in: plan.Input{Claims: table.Claims{Held: []table.Route{a}}}},
		{name: "node's range is unclear", in: plan.Input{Claims: table.Claims{Unclear: []string{"a"}},
			Entries: []table.Entry{entry("10.0.1.0/24", "i-a", mine)}}},
		{name: "node's range is unclear, unmarked", in: plan.Input{Claims: table.Claims{Unclear: []string{"a"}},
			Entries: []table.Entry{entry("10.0.1.0/24", "i-a", "")}, Seen: map[table.Key]string{a.Key: "a"}}},
		{name: "overlapping ranges of two nodes", in: plan.Input{
			Claims: wanted(route("10.0.0.0/20", "i-b", "b"), a),
			Entries: []table.Entry{
				entry("10.0.0.0/20", "i-b", table.Mark(cluster, "b")), entry("10.0.1.0/24", "i-a", mine),
			},
		}, want: plan.Plan{Ready: []table.Route{route("10.0.0.0/20", "i-b", "b"), a}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, plan.Diff(tt.in, policy), opts); diff != "" {
				t.Errorf("Diff (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRangeOfAllAddresses is the widest range that an entry can be inside of.
func TestRangeOfAllAddresses(t *testing.T) {
	t.Parallel()
	all, inside := route("0.0.0.0/0", "i-a", "a"), entry("10.0.1.0/24", "i-x", "")
	got := plan.Diff(plan.Input{Claims: wanted(all), Entries: []table.Entry{entry("0.0.0.0/0", "i-a", ""), inside}},
		plan.Policy{ClusterID: cluster, ClusterCIDRs: []netip.Prefix{all.CIDR}})
	want := plan.Plan{Ready: []table.Route{all}, Foreign: []plan.Refusal{{
		Route: all, Entry: inside, Reason: "entry 10.0.1.0/24 to i-x is not of this cluster and takes a part of pod CIDR 0.0.0.0/0",
	}}}
	if diff := cmp.Diff(want, got, opts); diff != "" {
		t.Errorf("Diff (-want +got):\n%s", diff)
	}
}

// TestReservedRanges checks that no route is planned that overlaps a range of the cloud, and that a route that works is left alone.
func TestReservedRanges(t *testing.T) {
	t.Parallel()
	ranges := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("100.0.0.0/8")}
	reserving := plan.Policy{ClusterID: cluster, ClusterCIDRs: ranges, Reserved: table.Reserved([]*vpcv1.RouteEntry{
		{DestinationCidr: "10.0.1.0/25", Type: table.TypeSystem}, {DestinationCidr: "10.0.2.0/24", Type: table.TypeCustom},
	})}
	works := route("10.0.1.0/24", "i-1", "works")
	got := plan.Diff(plan.Input{
		Claims: table.Claims{Wanted: []table.Route{works, route("10.0.2.0/24", "i-2", "free"),
			route("10.0.0.0/16", "i-3", "around"), route("100.64.3.0/24", "i-4", "cloud")}},
		Entries: []table.Entry{{Key: works.Key, Available: true}},
	}, reserving)
	refused := map[string]bool{}
	for _, refusal := range got.Refused {
		refused[refusal.Route.Node] = true
	}
	if diff := cmp.Diff(map[string]bool{"around": true, "cloud": true}, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if len(got.Create) != 1 || got.Create[0].Node != "free" || len(got.Ready) != 1 || len(got.Obstacles) != 0 {
		t.Errorf("plan %+v", got)
	}
}
