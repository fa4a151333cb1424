package backend

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

func names(list []Node) map[string]bool {
	set := map[string]bool{}
	for _, n := range list {
		set[n.Name] = true
	}
	return set
}

func candidates(n, zones int) []Node {
	list := make([]Node, n)
	for i := range list {
		list[i] = Node{Name: fmt.Sprint("node-", i), InstanceID: fmt.Sprint("i-", i), Zone: fmt.Sprint("zone-", i%zones)}
	}
	return list
}

func subsetOf(list []Node, seed string, n int) map[string]bool {
	return names(subset(list, func(n *Node) (string, string, string) { return n.InstanceID, "", n.Zone }, seed, n))
}

// TestSubsetProperties: a subset has as many members as it can, is spread over the zones as evenly as they allow, does
// not depend on the order, and one node that goes changes at most one place.
func TestSubsetProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 12), 1, 5).Draw(t, "zones")
		var list []Node
		for zone, size := range sizes {
			for i := range size {
				list = append(list, Node{Name: fmt.Sprintf("node-%d-%d", zone, i), InstanceID: fmt.Sprintf("i-%d-%d", zone, i),
					Zone: fmt.Sprint("zone-", zone)})
			}
		}
		seed, n := rapid.StringN(1, 8, -1).Draw(t, "seed"), rapid.IntRange(1, 40).Draw(t, "n")
		picked := subsetOf(list, seed, n)
		if len(picked) != min(n, len(list)) {
			t.Fatalf("%d of %d picked, want %d", len(picked), len(list), n)
		}
		perZone := map[string]int{}
		for _, node := range list {
			if picked[node.Name] {
				perZone[node.Zone]++
			}
		}
		for a, sizeA := range sizes {
			for b := range sizes {
				x, y := perZone[fmt.Sprint("zone-", a)], perZone[fmt.Sprint("zone-", b)]
				if x < sizeA && y > x+1 {
					t.Fatalf("zone %d has %d of its %d nodes, zone %d has %d", a, x, sizeA, b, y)
				}
			}
		}
		shuffled := rapid.Permutation(list).Draw(t, "order")
		again := subsetOf(shuffled, seed, n)
		for name := range picked {
			if !again[name] {
				t.Fatalf("another order picks others: %s is missing", name)
			}
		}
		if len(sizes) > 1 {
			return // The places of zones may move when a zone shrinks.
		}
		without := subsetOf(shuffled[1:], seed, n)
		lost := 0
		for name := range picked {
			if !without[name] {
				lost++
			}
		}
		if !picked[shuffled[0].Name] && lost > 0 || lost > 1 {
			t.Fatalf("%d members are lost when %s goes", lost, shuffled[0].Name)
		}
	})
}

// TestSubsetStability: with 500 nodes in three zones and 200 Services that take 25 of them, a node that joins is
// written to its share of the Services and to nobody else.
func TestSubsetStability(t *testing.T) {
	t.Parallel()
	const nodes, services, size, joins = 500, 200, 25, 80
	list := candidates(nodes, 3)
	written := 0
	for service := range services {
		seed := fmt.Sprint("service-", service)
		before := subsetOf(list, seed, size)
		for n := range joins {
			joined := Node{Name: "joined", InstanceID: fmt.Sprintf("i-bp%d", n*7919), Zone: fmt.Sprint("zone-", n%3)}
			after := subset(append(list[:nodes:nodes], joined), func(n *Node) (string, string, string) {
				return n.InstanceID, "",
					n.Zone
			}, seed, size)
			others := 0
			for _, node := range after {
				if node.Name == joined.Name {
					written++
				} else if !before[node.Name] {
					others++
				}
			}
			if len(after) != size || others > 0 {
				t.Fatalf("Service %d takes %d others when one node joins", service, others)
			}
		}
	}
	expected := float64(joins*services*size) / (nodes + 1)
	t.Logf("%d Services were written to in %d joins, %.1f expected", written, joins, expected)
	if float64(written) > 1.05*expected {
		t.Errorf("%d Services were written to, %.1f expected: more than 5 %% above", written, expected)
	}
}

// TestSubsetIsFair: every node is taken about as often as the others.
func TestSubsetIsFair(t *testing.T) {
	t.Parallel()
	const nodes, services, size = 100, 2000, 10
	list := candidates(nodes, 4)
	taken := map[string]int{}
	for i := range services {
		for name := range subsetOf(list, fmt.Sprint("uid-", i), size) {
			taken[name]++
		}
	}
	for _, n := range list {
		// 200 are expected, with a standard deviation of 13.
		if taken[n.Name] < 130 || taken[n.Name] > 270 {
			t.Errorf("%s is taken by %d of %d Services", n.Name, taken[n.Name], services)
		}
	}
}

// BenchmarkChangesSubset is what a node event costs for one Service of a cluster with 1 000 nodes.
func BenchmarkChangesSubset(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	var list []*corev1.Node
	for i := range 1000 {
		list = append(list, node(fmt.Sprint("node-", i), fmt.Sprintf("r.i-%x", random.Uint64()),
			map[string]string{corev1.LabelTopologyZone: fmt.Sprint(i % 3)}))
	}
	comparison := Compare(New(list[1:]), New(list))
	b.ReportAllocs()
	service := 0
	for b.Loop() {
		service++
		comparison.ChangesSubset(Policy{Seed: fmt.Sprint("uid-", service), MaxNodes: 25})
	}
}

// TestRankedSubset: where the nodes that came or went are ranked, the answer is that of picking among all nodes.
func TestRankedSubset(t *testing.T) {
	t.Parallel()
	ranked, changed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 60).Draw(t, "nodes")
		zones := rapid.IntRange(1, 4).Draw(t, "zones")
		draw := func(what string) []*corev1.Node {
			var list []*corev1.Node
			for i := range count {
				n := node(fmt.Sprint("node-", i), fmt.Sprint("r.i-", i),
					map[string]string{corev1.LabelTopologyZone: fmt.Sprint(i % zones)})
				switch rapid.IntRange(0, 30).Draw(t, fmt.Sprint(what, " of node ", i)) {
				case 0:
					continue
				case 1:
					n.Status.Conditions = nil
				case 2:
					n.Labels[corev1.LabelTopologyZone] = "0"
				case 3:
					n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}}
				}
				list = append(list, n)
			}
			return list
		}
		c := Compare(New(draw("before")), New(draw("after")))
		for service := range 10 {
			p := Policy{Seed: fmt.Sprint("uid-", service), MaxNodes: rapid.IntRange(1, 30).Draw(t, "most"),
				Drain: rapid.Bool().Draw(t, "drain")}
			want := c.changesPicked(p)
			if got, isKnown := c.rank(p); isKnown {
				ranked++
				if got != want {
					t.Fatalf("%+v: ranked %t, picked %t", p, got, want)
				}
			}
			if want {
				changed++
			}
			if got := c.ChangesSubset(p); got != want {
				t.Fatalf("%+v: %t, want %t", p, got, want)
			}
		}
	})
	t.Logf("%d were ranked, %d changed", ranked, changed)
	if ranked == 0 || changed == 0 {
		t.Error("nothing was ranked, or nothing changed")
	}
}

// TestBoundAndWeight: a group has room for the nodes that a Service takes and for the servers on virtual nodes beside them, and each takes
// the full weight if nothing asks for another.
func TestBoundAndWeight(t *testing.T) {
	t.Parallel()
	source := Source{
		Nodes: New([]*corev1.Node{
			node("a", "r.i-a", nil), node("b", "r.i-b", nil), node("c", "r.i-c", nil),
			node("v", "", map[string]string{"type": "virtual-kubelet"}),
		}),
		Slices: []*discoveryv1.EndpointSlice{{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"10.0.0.1"}, NodeName: new("v")}, {Addresses: []string{"10.0.0.2"}, NodeName: new("v")},
		}}},
	}
	port := corev1.ServicePort{Name: "http", Port: 80, NodePort: 30080, TargetPort: intstr.FromInt32(8080)}
	for name, test := range map[string]struct {
		policy      Policy
		most, count int
		weight      int32
	}{
		"all nodes":                          {Policy{Mode: Cluster}, 0, 5, 100},
		"some nodes":                         {Policy{Mode: Cluster, MaxNodes: 2}, 4, 4, 100},
		"some nodes, and less room":          {Policy{Mode: Cluster, MaxNodes: 2, Limit: 3}, 3, 3, 100},
		"another weight":                     {Policy{Mode: Cluster, Each: new(int32(7))}, 0, 5, 7},
		"pods":                               {Policy{Mode: Pods}, 0, 2, 100},
		"pods, and less room":                {Policy{Mode: Pods, Limit: 1}, 1, 1, 100},
		"the number of nodes is not of pods": {Policy{Mode: Pods, MaxNodes: 1}, 0, 2, 100},
	} {
		choice := source.Choose(test.policy, port)
		if choice.Most != test.most || choice.Len() != test.count {
			t.Errorf("%s: %d of at most %d, want %d of %d", name, choice.Len(), choice.Most, test.count, test.most)
		}
		for share := range choice.All() {
			if share.Weight != test.weight {
				t.Errorf("%s: %v has the weight %d, want %d", name, share.Backend, share.Weight, test.weight)
			}
		}
	}
}

// TestSubsetStays: which nodes a Service takes is the same in each release, or an upgrade would move the servers of all Services.
func TestSubsetStays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		seed  string
		zones int
		want  string
	}{
		{"a", 1, "i-64 i-79 i-161 i-131 i-154 i-55 i-49"},
		{"b", 3, "i-87 i-15 i-46 i-151 i-199 i-110 i-164"},
		{"uid-7", 4, "i-112 i-92 i-129 i-9 i-154 i-199 i-155"},
	} {
		var picked []string
		place := func(n *Node) (string, string, string) { return n.InstanceID, "", n.Zone }
		for _, n := range subset(candidates(200, tt.zones), place, tt.seed, 7) {
			picked = append(picked, n.InstanceID)
		}
		if got := strings.Join(picked, " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.seed, got, tt.want)
		}
	}
}
