package controller

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/routecontroller/internal/apply"
	"alicloud-controllers.dev/routecontroller/internal/plan"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

// Reasons of events; the first three are those of the existing CCM.
const (
	eventCreated      = "CreatedRoute"         // Normal: the route of the Node is in the table.
	eventCreateFailed = "CreateRouteFailed"    // Warning: the cloud did not make the route; it is tried again.
	eventSyncFailed   = "SyncRouteFailed"      // Warning: the VPC or a route table can't be read or changed; it is tried again.
	eventForeign      = "ForeignRoute"         // Warning: an entry that is not ours is in the way of the Node's route; remove it.
	eventQuota        = "RouteTableNearlyFull" // Warning: 80 % of the table's quota is used; ask for more.
)

// quotaWarning is the share of the quota, in percent, from which on is warned.
const quotaWarning = 80

// report tells the nodes what became of their routes: events for what is new, conditions through the board.
func (c *Controller) report(tableID string, claims table.Claims, p plan.Plan, result apply.Result) {
	verdicts := verdictsOf(tableID, claims, p, result)
	c.tellFailures(verdicts, c.board.post(tableID, verdicts))
	for _, entry := range result.Created {
		c.log.Info("route created", "routeTable", tableID, "cidr", entry.CIDR, "instance", entry.InstanceID)
	}
	for _, entry := range result.Deleted {
		c.log.Info("route deleted", "routeTable", tableID, "cidr", entry.CIDR, "nextHop", entry.NextHop)
	}
	created := createdNodes(p, result)
	for _, route := range created {
		c.nodeEvent(route.Node, corev1.EventTypeNormal, eventCreated,
			fmt.Sprintf("Created route %s to %s in route table %s", route.CIDR, route.InstanceID, tableID))
	}
	c.metrics.refused.WithLabelValues(tableID).Set(float64(len(p.Refused)))
	for about := range verdicts {
		node, err := c.nodes.Get(about.node)
		if err != nil {
			continue // The node has gone meanwhile.
		}
		if _, differs := c.wantedCondition(node); differs {
			c.conditions.Add(about.node, reconcile.Node)
		}
	}
}

// tellFailures warns about what is new in the verdicts, once for each node and cause.
func (c *Controller) tellFailures(verdicts, previous map[claim]verdict) {
	type warning struct{ node, message string }
	told := map[warning]bool{}
	for about, v := range verdicts {
		w := warning{about.node, v.message}
		if v.message != "" && previous[about].message != v.message && !told[w] {
			told[w] = true
			c.nodeEvent(about.node, corev1.EventTypeWarning, eventCreateFailed, v.message)
		}
	}
}

// reportForeign warns once about every entry that takes a part of a node's traffic.
func (c *Controller) reportForeign(tableID string, m *memory, foreign []plan.Refusal) {
	reported := make(map[table.Key]bool, len(foreign))
	for _, refusal := range foreign {
		reported[refusal.Entry.Key] = true
		if !m.foreign[refusal.Entry.Key] {
			c.nodeEvent(refusal.Route.Node, corev1.EventTypeWarning, eventForeign, "route table "+tableID+": "+refusal.Reason)
		}
	}
	m.foreign = reported
}

// verdictsOf says about every claim whether the table has the route.
func verdictsOf(tableID string, claims table.Claims, p plan.Plan, result apply.Result) map[claim]verdict {
	verdicts := make(map[claim]verdict, len(claims.Wanted)+len(claims.Unroutable))
	of := func(r table.Route) claim { return claim{r.Node, r.Key} }
	for _, node := range claims.Unroutable {
		verdicts[claim{node.Node, node.Key}] = verdict{message: node.Reason}
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
	for _, refusal := range p.Refused {
		verdicts[of(refusal.Route)] = verdict{message: "route table " + tableID + ": " + refusal.Reason}
	}
	available := make(map[table.Key]bool, len(result.Created))
	for _, entry := range result.Created {
		available[entry.Key] = entry.Available
	}
	for _, route := range p.Create {
		verdicts[of(route)] = verdict{ready: available[route.Key]}
	}
	for _, failure := range result.CreateFailed {
		var v verdict
		// Being asked to wait is no failure that anybody had to act on.
		if _, wait := rpcerr.RetryAfter(failure.Err); !wait {
			v.message = fmt.Sprintf("route table %s: create route %s: %v", tableID, failure.Route.CIDR, failure.Err)
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

// watchQuota warns once when a table gets nearly full, and again only after it had room.
func (c *Controller) watchQuota(tableID string, m *memory) {
	c.metrics.entries.WithLabelValues(tableID).Set(float64(m.custom))
	full := c.cfg.RouteQuota > 0 && m.custom*100 >= c.cfg.RouteQuota*quotaWarning
	if full && !m.full {
		c.tableEvent(tableID, eventQuota, fmt.Sprintf("%d of %d custom entries are used; ask for a higher quota vpc_quota_route_entrys_num",
			m.custom, c.cfg.RouteQuota))
	}
	m.full = full
}

func (c *Controller) nodeEvent(node, kind, reason, message string) {
	c.cfg.Recorder.Event(kube.NodeReference(node), kind, reason, message)
}

// tableEvent warns about a route table, for which there is no object in the API.
func (c *Controller) tableEvent(tableID, reason, message string) {
	c.cfg.Recorder.Event(&corev1.ObjectReference{Kind: "RouteTable", Name: tableID}, corev1.EventTypeWarning, reason, message)
}
