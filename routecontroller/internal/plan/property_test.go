package plan_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"alicloud-controllers.dev/routecontroller/internal/plan"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

// worlds draws nodes and tables that get into each other's way often: few ranges, few instances, all kinds of owners.
func worlds(t *rapid.T) plan.Input {
	cidrs := rapid.Custom(func(t *rapid.T) netip.Prefix {
		second := rapid.SampledFrom([]byte{0, 0, 0, 9}).Draw(t, "second") // 10.9 is outside of the cluster's ranges.
		addr := netip.AddrFrom4([4]byte{10, second, rapid.ByteRange(0, 3).Draw(t, "third"), 0})
		return netip.PrefixFrom(addr, rapid.SampledFrom([]int{20, 24, 24, 24, 25}).Draw(t, "bits")).Masked()
	})
	name := rapid.Custom(func(t *rapid.T) string { return string('a' + rapid.ByteRange(0, 4).Draw(t, "name")) })
	in := plan.Input{Seen: map[table.Key]string{}, Instances: map[string]plan.InstanceState{}}
	for _, instance := range rapid.SliceOfNDistinct(name, 0, 5, rapid.ID).Draw(t, "instances asked about") {
		in.Instances["i-"+instance] = rapid.SampledFrom([]plan.InstanceState{plan.Stranger, plan.Member, plan.Gone}).Draw(t, "standing")
	}
	taken := map[netip.Prefix]bool{}
	for _, node := range rapid.SliceOfNDistinct(name, 0, 5, rapid.ID).Draw(t, "nodes") {
		r := table.Route{Key: table.Key{CIDR: cidrs.Draw(t, "podCIDR"), InstanceID: "i-" + node}, Node: node}
		switch kind := rapid.IntRange(0, 7).Draw(t, "kind"); {
		case kind == 0:
			in.Claims.Unclear = append(in.Claims.Unclear, node)
		case kind == 1:
			in.Claims.Held = append(in.Claims.Held, r)
		case kind == 2:
			in.Claims.Excluded = append(in.Claims.Excluded, r)
		case !taken[r.CIDR]:
			taken[r.CIDR] = true
			in.Claims.Wanted = append(in.Claims.Wanted, r)
		}
	}
	there := map[netip.Prefix]bool{}
	for range rapid.IntRange(0, 8).Draw(t, "entries") {
		e := table.Entry{
			Key:         table.Key{CIDR: cidrs.Draw(t, "destination"), InstanceID: "i-" + name.Draw(t, "next hop")},
			Description: rapid.SampledFrom([]string{"", "hand-made", "k8s/c-2/a", "k8s/c-1/a", "k8s/c-1/z"}).Draw(t, "description"),
			Available:   rapid.IntRange(0, 5).Draw(t, "status") > 0,
		}
		if rapid.IntRange(0, 5).Draw(t, "hop kind") == 0 {
			e.InstanceID = ""
		}
		if there[e.CIDR] {
			continue
		}
		there[e.CIDR] = true
		in.Entries = append(in.Entries, e)
		if rapid.Bool().Draw(t, "seen") && e.InstanceID != "" {
			in.Seen[e.Key] = name.Draw(t, "seen node")
		}
	}
	return in
}

// obstacles are the entries in the way of routes.
func obstacles(p plan.Plan) (entries []table.Entry) {
	for _, o := range p.Obstacles {
		entries = append(entries, o.Entry)
	}
	return entries
}

// perform is a model of the cloud: it does what a plan says, and deletes all that no node claims.
func perform(t *rapid.T, entries []table.Entry, p plan.Plan) []table.Entry {
	byCIDR := map[netip.Prefix]table.Entry{}
	for _, e := range entries {
		byCIDR[e.CIDR] = e
	}
	for _, e := range slices.Concat(obstacles(p), p.Orphans) {
		if byCIDR[e.CIDR] != e {
			t.Fatalf("deletes %v, which is not there", e)
		}
		delete(byCIDR, e.CIDR)
	}
	for _, r := range slices.Concat(p.Create, p.Freed(obstacles(p))) {
		if there, ok := byCIDR[r.CIDR]; ok {
			t.Fatalf("creates %v where %v is", r, there)
		}
		byCIDR[r.CIDR] = table.Entry{Key: r.Key, Description: table.Mark(cluster, r.Node), Available: true}
	}
	return slices.Collect(maps.Values(byCIDR))
}

func TestDiffReachesItsGoalInOnePass(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := worlds(t)
		p := plan.Diff(in, policy)
		in.Entries = perform(t, in.Entries, p)
		again := plan.Diff(in, policy)
		if len(again.Create)+len(again.Obstacles)+len(again.Orphans) > 0 {
			t.Fatalf("after %+v comes %+v", p, again)
		}
		outcomes := map[string]int{}
		for _, r := range again.Ready {
			outcomes[r.Node]++
		}
		for _, r := range again.Pending {
			outcomes[r.Node]++
		}
		for _, r := range again.Refused {
			outcomes[r.Route.Node]++
		}
		for _, r := range in.Claims.Wanted {
			if outcomes[r.Node] == 0 {
				t.Fatalf("nothing is said about the route of %s: %+v", r.Node, again)
			}
		}
	})
}

func TestDiffTouchesOnlyWhatIsOurs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := worlds(t)
		p := plan.Diff(in, policy)
		members := map[string]bool{}
		claimed := map[table.Key]bool{}
		sizes := map[int]bool{}
		for _, r := range slices.Concat(in.Claims.Wanted, in.Claims.Held, in.Claims.Excluded) {
			members[r.InstanceID] = true
			claimed[r.Key] = true
			sizes[r.CIDR.Bits()] = true
		}
		for instance, standing := range in.Instances {
			members[instance] = members[instance] || standing == plan.Member
		}
		for k := range in.Seen {
			members[k.InstanceID] = true
			sizes[k.CIDR.Bits()] = true
		}
		for _, e := range slices.Concat(obstacles(p), p.Orphans) {
			ours := table.MarkedBy(e.Description, cluster) || e.Description == "" && e.InstanceID != "" && sizes[e.CIDR.Bits()] &&
				(members[e.InstanceID] || in.Instances[e.InstanceID] == plan.Gone)
			switch {
			case !ours:
				t.Fatalf("deletes %+v, which is not ours", e)
			case claimed[e.Key]:
				t.Fatalf("deletes %+v, which a node claims", e)
			case !inside(e.CIDR):
				t.Fatalf("deletes %+v outside of the cluster's ranges", e)
			case !e.Available:
				t.Fatalf("deletes %+v, which the cloud is working on", e)
			}
		}
		for _, r := range slices.Concat(p.Create, p.Freed(obstacles(p))) {
			if !inside(r.CIDR) || !claimed[r.Key] {
				t.Fatalf("creates %+v", r)
			}
		}
	})
}

func inside(cidr netip.Prefix) bool {
	return slices.ContainsFunc(policy.ClusterCIDRs, func(c netip.Prefix) bool {
		return c.Overlaps(cidr) && c.Bits() <= cidr.Bits()
	})
}

func TestDiffIgnoresTheOrderOfEntries(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := worlds(t)
		before := plan.Diff(in, policy)
		in.Entries = rapid.Permutation(in.Entries).Draw(t, "permutation")
		after := plan.Diff(in, policy)
		if diff := cmp.Diff(before, after, opts); diff != "" {
			t.Fatalf("the plan depends on the order (-one +other):\n%s", diff)
		}
	})
}

func BenchmarkDiff(b *testing.B) {
	for _, n := range []int{100, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var in plan.Input
			for i := range n {
				cidr := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 0}), 24)
				k := table.Key{CIDR: cidr, InstanceID: fmt.Sprintf("i-%d", i)}
				in.Claims.Wanted = append(in.Claims.Wanted, table.Route{Key: k, Node: k.InstanceID})
				if i%100 > 0 {
					in.Entries = append(in.Entries, table.Entry{Key: k, Description: table.Mark(cluster, k.InstanceID), Available: true})
				}
			}
			wide := plan.Policy{ClusterID: cluster, ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
			for b.Loop() {
				plan.Diff(in, wide)
			}
		})
	}
}
