package controller

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/routecontroller/internal/apply"
	"alicloud-controllers.dev/routecontroller/internal/orphan"
	"alicloud-controllers.dev/routecontroller/internal/plan"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

// Reasons of events; the first three are those of the existing CCM.
const (
	// Normal: the route of the Node is in the table.
	eventCreated = "CreatedRoute"
	// Normal on the route table: these entries were deleted, and why.
	eventDeleted = "DeletedRoute"
	// Warning: the cloud did not make the route; it is tried again.
	eventCreateFailed = "CreateRouteFailed"
	// Warning on the route table: the VPC or the table can't be read or changed; it is tried again.
	eventSyncFailed = "SyncRouteFailed"
	// Warning: the cloud has worked on the Node's route for five minutes and is not done; the text says what to do.
	eventPending = "RoutePending"
	// Warning: an entry that is not ours is in the way of the Node's route; remove it.
	eventForeign = "ForeignRoute"
	// Warning on the route table: 80 % of its quota is used; ask for more.
	eventQuota = "RouteTableNearlyFull"
	// Warning on the route table: no Node claims these routes; the text says when they go, and why it is not known
	// whether their instances are gone.
	eventOrphans = "RoutesWithoutNode"
	// Warning on a route table of the VPC that gets no routes: vSwitches are bound to it, and nodes there reach no pods;
	// name it in routeTableIDs.
	eventUnmanaged = "RouteTableNotManaged"
	// Warning on the route table: a ConfigMap for the next leader can't be read or written; no route without a Node is
	// deleted.
	eventRecordFailed = "RecordFailed"
	// Warning on the route table: routes without a Node are kept, because too many would go or no Node is left.
	eventHeld = "RouteDeletionHeld"
)

// namedRoutes bounds the routes that an event names.
const namedRoutes = 5

// deletedTogether is how many deleted routes an event names, whose text is of 1024 bytes at most.
const deletedTogether = 8

// rangeGrace is how long a new Node may be without a range of pods. Each is for a moment.
const rangeGrace = 30 * time.Second

// quotaWarning is the share of the quota, in percent, from which on is warned.
const quotaWarning = 80

// report says what became of the routes: events for what is new, conditions through the verdicts of all tables, metrics.
func (c *Controller) report(tableID string, m *memory, v view, result apply.Result) {
	p := v.plan
	blocked, partly := c.heldEntries(v)
	verdicts := verdictsOf(tableID, v.claims, p, blocked, result)
	c.verdicts.post(tableID, verdicts)
	failing := map[string]bool{}
	for about, verdict := range verdicts {
		if verdict.err == nil {
			continue
		}
		failing[about.node] = true
		if !c.claims(about) {
			continue
		}
		if left := c.rangeDue(about); left > 0 {
			c.tables.AddAfter(tableID, reconcile.Periodic, left)
			continue
		}
		c.events.FailureOf(verdict.part, kube.NodeReference(about.node), eventCreateFailed, verdict.err)
	}
	for _, refusal := range slices.Concat(p.Foreign, partly) {
		if !c.claims(claim{refusal.Route.Node, refusal.Route.Key}) {
			continue
		}
		c.events.FailureOf(tableID+" "+refusal.Entry.CIDR.String(), kube.NodeReference(refusal.Route.Node), eventForeign,
			errors.New("route table "+tableID+": "+refusal.Reason))
	}
	c.reportOrphans(tableID, m, v)
	for _, entry := range result.Created {
		c.log.Info("route created", "routeTable", tableID, "cidr", entry.CIDR, "instance", entry.InstanceID)
	}
	for _, entry := range result.Deleted {
		c.log.Info("route deleted", "routeTable", tableID, "cidr", entry.CIDR, "nextHop", entry.NextHop)
	}
	c.reportDeleted(tableID, v, result.Deleted)
	for _, route := range createdNodes(p, result) {
		if !failing[route.Node] {
			c.events.Forget(kube.NodeReference(route.Node), eventCreateFailed, eventPending)
		}
		if node, err := c.nodes.Get(route.Node); err == nil && verdicts[claim{route.Node, route.Key}].ready {
			c.metrics.available.Observe(time.Since(node.CreationTimestamp.Time).Seconds())
		}
		c.events.Normal(kube.NodeReference(route.Node), eventCreated, fmt.Sprintf("Created route %s to %s in route table %s",
			route.CIDR, route.InstanceID, tableID))
	}
	c.metrics.count(tableID, v, len(blocked), result)
	// A node of two families has two verdicts, and is looked at once: the second look might see a cache without the first one's write.
	affected := map[string]bool{}
	for about := range verdicts {
		affected[about.node] = true
	}
	for _, route := range v.claims.Excluded {
		affected[route.Node] = true
	}
	for name := range affected {
		node, err := c.nodes.Get(name)
		if err != nil {
			continue // The node has gone meanwhile.
		}
		if _, differs := c.wantedCondition(node); differs {
			c.conditions.Add(name, reconcile.Node)
		}
	}
}

// reportDeleted says which entries were deleted, and why. One event names several, for those of one object are limited.
func (c *Controller) reportDeleted(tableID string, v view, deleted []table.Entry) {
	why := map[table.Key]string{}
	for _, o := range v.plan.Obstacles {
		why[o.Entry.Key] = fmt.Sprintf("in the way of node %s, which has %s", o.Route.Node, o.Route.CIDR)
	}
	for part := range slices.Chunk(deleted, deletedTogether) {
		texts := make([]string, len(part))
		for i, entry := range part {
			reason := cmp.Or(why[entry.Key], "no Node claims it")
			texts[i] = fmt.Sprintf("%s to %s%s: %s", entry.CIDR, entry.NextHop, plan.Described(entry), reason)
		}
		c.events.Normal(c.tableReference(tableID), eventDeleted, "Deleted "+strings.Join(texts, "; "))
	}
}

// claims reports whether a node still makes a claim. It may have gone or changed while the pass was under way, and the
// next one is due then.
func (c *Controller) claims(about claim) bool {
	node, err := c.nodes.Get(about.node)
	return err == nil && slices.Contains(c.cfg.Scope.KeysOf(node), about.Key)
}

// rangeDue is how long kube-controller-manager has left to give a new Node its range of pods, before its absence is worth a warning.
func (c *Controller) rangeDue(about claim) time.Duration {
	node, err := c.nodes.Get(about.node)
	if err != nil || about.Key != (table.Key{}) {
		return 0
	}
	left := time.Until(node.CreationTimestamp.Add(rangeGrace))
	if left > 2*rangeGrace { // The clocks of this host and the API server differ too much.
		return 0
	}
	return left
}

// reportStuck says on which routes the cloud works for too long. Nothing but the cloud can finish them: it refuses
// changes of an entry meanwhile.
func (c *Controller) reportStuck(tableID string, m *memory, v view) {
	part := func(r table.Route) string { return tableID + " " + r.CIDR.String() }
	for _, route := range m.stuck(v.plan.Pending, time.Now()) {
		m.reported[route.Key] = true
		c.events.Warn(kube.NodeReference(route.Node), kube.Warning{Reason: eventPending, Part: part(route), Message: fmt.Sprintf(
			"route table %s: the cloud has worked on the entry to %s for more than %s, and the route to %s is not available. "+
				"Look at the entry in the "+
				"console of the VPC, and at smaller ones inside of its range. If its state does not change, delete it there, and it is made anew; "+
				"if that is refused, ask the cloud's support", tableID, route.CIDR, pendingPatience, route.InstanceID)})
	}
	waiting := map[table.Key]bool{} // The route of a node may be there and wait for a smaller one to vanish.
	for _, route := range v.plan.Pending {
		waiting[route.Key] = true
	}
	for _, route := range v.plan.Ready {
		if !m.reported[route.Key] || waiting[route.Key] {
			continue
		}
		node, err := c.nodes.Get(route.Node)
		if err != nil {
			continue // The node has gone meanwhile.
		}
		if ready, _, _ := c.verdicts.ready(node.Name, c.cfg.Scope.KeysOf(node)); ready { // In all tables, and for both families.
			c.events.Resolve(kube.NodeReference(node.Name), eventPending)
			delete(m.reported, route.Key)
		}
	}
}

// reportOrphans says which routes have no node and why they stay.
func (c *Controller) reportOrphans(tableID string, m *memory, v view) {
	unclear, why, example := m.unclearOrphans(v.waiting)
	c.metrics.countUnclear(tableID, unclear)
	c.metrics.held.WithLabelValues(tableID).Set(float64(v.orphans.Held))
	c.metrics.foreign.WithLabelValues(tableID).Set(float64(len(v.plan.Foreign)))
	c.metrics.fault.WithLabelValues(tableID).Set(0)
	switch {
	case len(v.waiting) == 0:
		c.events.Resolve(c.tableReference(tableID), eventOrphans, eventHeld)
	case v.orphans.Fault:
		c.metrics.fault.WithLabelValues(tableID).Set(1)
		c.log.Error("no node claims a route, routes are kept; check that the API server has the nodes of this cluster",
			"routeTable", tableID, "routes", len(v.waiting))
		c.events.Warning(c.tableReference(tableID), eventHeld, fmt.Sprintf("%d routes carry the mark of cluster %s and no Node claims any; "+
			"they are kept. Check that the API server has the Nodes of this cluster, and that no other cluster has its id",
			len(v.waiting), c.cfg.ClusterID))
	case v.recordErr != nil: // It has an event of its own.
	case v.orphans.Held > 0:
		c.events.Warning(c.tableReference(tableID), eventHeld, fmt.Sprintf("%d routes of Nodes that are gone are kept for now: "+
			"at most the larger of %d and %d %% go within %s", v.orphans.Held, c.cfg.Orphans.Minimum, c.cfg.Orphans.Percent, c.cfg.Orphans.Window))
	case len(v.waiting) > len(v.orphans.Delete):
		text := fmt.Sprintf("%d routes of cluster %s have no Node: %s. Each is deleted %s after its instance is gone, or after %s",
			len(v.waiting), c.cfg.ClusterID, nameRoutes(v.waiting), c.cfg.Orphans.GoneGrace, c.cfg.Orphans.Grace)
		if example == nil {
			c.events.Warning(c.tableReference(tableID), eventOrphans, text)
			return
		}
		c.events.Failure(c.tableReference(tableID), eventOrphans,
			fmt.Errorf("%s. Whether the instances of %d of them are gone can't be found out: %w", text, unclear[why], example))
	}
}

// nameRoutes names the first of some routes.
func nameRoutes(orphans []orphan.Orphan) string {
	var names []string
	for _, o := range orphans[:min(len(orphans), namedRoutes)] {
		names = append(names, fmt.Sprintf("%s to %s", o.Entry.CIDR, o.Entry.NextHop))
	}
	if len(orphans) > namedRoutes {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// heldEntries says of the entries of ours in the way of routes that do not go now why they stay, and until when: of those that
// block a route, and of those that take a part of its traffic. The texts stay the same meanwhile.
func (c *Controller) heldEntries(v view) (blocked, partly []plan.Refusal) {
	about := make(map[table.Key]orphan.Orphan, len(v.plan.Obstacles))
	for _, o := range v.waiting {
		about[o.Entry.Key] = o
	}
	for _, o := range v.plan.Obstacles {
		if slices.Contains(v.orphans.Delete, o.Entry) {
			continue
		}
		why := "which goes as soon as deletions are allowed again: the events of the route table say what holds them"
		if due := about[o.Entry.Key].Due(c.cfg.Orphans); time.Now().Before(due) {
			why = fmt.Sprintf(
				"which is the instance of no Node here; the entry stays until that instance is gone, or until %s. Check that no other "+
					"cluster has the id %q or this range of pods; delete the entry if nobody needs it", due.UTC().Format(time.RFC3339), c.cfg.ClusterID)
		}
		if o.Blocks() {
			what := fmt.Sprintf("destination %s has an entry of this cluster to %s, ", o.Entry.CIDR, o.Entry.NextHop)
			blocked = append(blocked, plan.Refusal{Route: o.Route, Entry: o.Entry, Reason: what + why})
			continue
		}
		what := fmt.Sprintf("a part of pod CIDR %s, %s, has an entry of this cluster to %s, ", o.Route.CIDR, o.Entry.CIDR, o.Entry.NextHop)
		partly = append(partly, plan.Refusal{Route: o.Route, Entry: o.Entry, Reason: what + why})
	}
	return blocked, partly
}

// verdictsOf says about every claim whether the table has the route.
func verdictsOf(tableID string, claims table.Claims, p plan.Plan, blocked []plan.Refusal, result apply.Result) map[claim]verdict {
	verdicts := make(map[claim]verdict, len(claims.Wanted)+len(claims.Unroutable))
	of := func(r table.Route) claim { return claim{r.Node, r.Key} }
	part := func(r table.Route) string { return tableID + " " + r.CIDR.String() }
	for _, node := range claims.Unroutable {
		// What is wrong with the node is the same for all its routes and in all tables.
		verdicts[claim{node.Node, node.Key}] = verdict{err: errors.New(node.Reason), part: node.Reason}
	}
	for _, route := range p.Ready {
		verdicts[of(route)] = verdict{ready: true}
	}
	for _, route := range p.Pending {
		// The same route may be ready and wait for a smaller one to vanish.
		if _, known := verdicts[of(route)]; !known {
			verdicts[of(route)] = verdict{}
		}
	}
	for _, refusal := range slices.Concat(p.Refused, blocked) {
		cause := "route table " + tableID + ": " + refusal.Reason
		verdicts[of(refusal.Route)] = verdict{err: errors.New(cause), part: part(refusal.Route), cause: cause}
	}
	available := make(map[table.Key]bool, len(result.Created))
	for _, entry := range result.Created {
		available[entry.Key] = entry.Available
	}
	for _, route := range p.Create {
		verdicts[of(route)] = verdict{ready: available[route.Key]}
	}
	for _, failure := range result.CreateFailed {
		v := verdict{part: part(failure.Route)}
		// Being asked to wait is no failure that a user had to act on.
		if _, wait := rpcerr.RetryAfter(failure.Err); !wait {
			v.err = fmt.Errorf("route table %s: create route %s: %w", tableID, failure.Route.CIDR, failure.Err)
		}
		verdicts[of(failure.Route)] = v
	}
	return verdicts
}

// createdNodes gives the planned routes that were created.
func createdNodes(p plan.Plan, result apply.Result) []table.Route {
	done := make(map[table.Key]bool, len(result.Created))
	for _, entry := range result.Created {
		done[entry.Key] = true
	}
	var routes []table.Route
	for _, route := range p.Create {
		if done[route.Key] {
			routes = append(routes, route)
		}
	}
	return routes
}

// watchQuota warns when a table gets nearly full.
func (c *Controller) watchQuota(tableID string, m *memory) {
	c.metrics.entries.WithLabelValues(tableID).Set(float64(m.custom))
	if c.cfg.RouteQuota > 0 {
		c.metrics.quotaUsed.WithLabelValues(tableID).Set(float64(m.custom) / float64(c.cfg.RouteQuota))
	}
	if c.cfg.RouteQuota == 0 || m.custom*100 < c.cfg.RouteQuota*quotaWarning {
		c.events.Resolve(c.tableReference(tableID), eventQuota)
		return
	}
	c.events.Warning(c.tableReference(tableID), eventQuota, fmt.Sprintf("%d %% of the %d custom entries that the table may hold are used; "+
		"ask for a higher quota vpc_quota_route_entrys_num", quotaWarning, c.cfg.RouteQuota))
}

func (c *Controller) tableFailure(tableID, reason string, err error) {
	c.events.Failure(c.tableReference(tableID), reason, err)
}

// tableReference stands for a route table, for which there is no object in the API; its events are where the controller is.
func (c *Controller) tableReference(tableID string) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "RouteTable", Namespace: c.cfg.Namespace, Name: tableID}
}
