package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/deploy/tools/local/world"
)

// neighbour is one of two clusters with the same id and the same pod ranges, and what its controllers have to say about the other's routes.
type neighbour struct {
	testWorld

	orphans int               // routes with the cluster's mark that none of its Nodes has
	refused int               // routes of its Nodes whose destinations lead to instances of the other cluster
	before  map[string]string // its nodes
}

// twoClusters starts another cluster in the same VPC, with the same id and the same pod ranges, and lets both run for an hour. Its nodes want
// destinations that routes of this cluster have, and some that are free. No node and no route of either cluster goes.
func (j *jury) twoClusters(t *testing.T) {
	there := j.routes(t)
	_, since, err := j.Cloud().Calls(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	j.forget(t)
	other := bootWith(t, world.Config{
		Nodes: 18, Controllers: []string{world.Node, world.Route}, Node: impatientNode(), Route: impatientRoute(), Beside: j.World,
	})
	eventually(t, "the nodes of the other cluster have ranges", func(context.Context) error {
		for _, node := range other.nodes(t) {
			if len(node.Spec.PodCIDRs) == 0 {
				return fmt.Errorf("%s has none", node.Name)
			}
		}
		return nil
	})
	wanted := wantedRoutes(other.nodes(t))
	both := maps.Clone(wanted)
	maps.Copy(both, there)
	free := len(both) - len(there)
	taken := len(wanted) - free
	if taken == 0 || free == 0 {
		t.Fatalf("the other cluster wants %d destinations, of which %d are taken; want some of both", len(wanted), taken)
	}
	// A leader looks at the table when it starts, and again only after minutes. This cluster's has to find all routes of the other.
	eventually(t, "the other cluster has the free destinations", func(context.Context) error { return j.hasRoutes(t, both) })
	clusters := []*neighbour{
		{testWorld: other, orphans: len(there), refused: taken},
		{testWorld: j.testWorld, orphans: free + len(there) - len(j.nodes(t))},
	}
	reported := func(ctx context.Context) error { return j.neighboursKnow(ctx, t, both, clusters) }
	j.enthrone(t, reported)
	for _, c := range clusters {
		c.before = c.uids(t)
		c.depose(t)
		c.age(t, aged)
		c.forgetEvents(t)
	}
	other.enthrone(t, func(ctx context.Context) error { return other.looked(ctx, true) })
	j.enthrone(t, reported)
	for _, c := range clusters {
		c.depose(t)
		if diff := cmp.Diff(c.before, c.uids(t)); diff != "" {
			t.Errorf("nodes (-before +after):\n%s", diff)
		}
	}
	if diff := diffRoutes(both, j.routes(t)); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	j.checkWrites(t, since, "CreateRouteEntries", "CreateRouteEntry")
}

// neighboursKnow gives nil if the table has the routes of both clusters, and each cluster has an event and a metric about those of the other.
func (j *jury) neighboursKnow(ctx context.Context, t *testing.T, both map[netip.Prefix]string, clusters []*neighbour) error {
	t.Helper()
	if err := j.hasRoutes(t, both); err != nil {
		return err
	}
	for _, c := range clusters {
		if err := c.looked(ctx, true); err != nil {
			return err
		}
		if got := c.tableMetric(ctx, "routecontroller_orphan_routes"); got != float64(c.orphans) {
			return fmt.Errorf("metric of routes without a Node: %v, want %d", got, c.orphans)
		}
		if got := c.tableMetric(ctx, "routecontroller_refused_routes"); got != float64(c.refused) {
			return fmt.Errorf("metric of routes that are refused: %v, want %d", got, c.refused)
		}
		text := fmt.Sprintf("%d routes of cluster %s have no Node", c.orphans, world.ClusterID)
		if err := hasText(c.eventsAbout(t, "RouteTable", world.RouteTableID, "RoutesWithoutNode"), text); err != nil {
			return err
		}
		refused := map[string]bool{}
		for _, e := range c.eventsAbout(t, "Node", "", "CreateRouteFailed") {
			if strings.Contains(e.Message, "destination ") { // Nodes may have waited for their ranges of pods before.
				refused[e.InvolvedObject.Name] = true
			}
		}
		if len(refused) != c.refused {
			return fmt.Errorf("events about routes that are refused: %d, want %d", len(refused), c.refused)
		}
	}
	return nil
}
