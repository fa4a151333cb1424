package controller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/routecontroller/internal/apply"
	"alicloud-controllers.dev/routecontroller/internal/plan"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

const (
	// pendingDelay is when to look again at entries that the cloud is working on.
	pendingDelay = 5 * time.Second
	// clusterTag is the tag that ACK puts on the instances of a cluster; its value is the cluster's id.
	clusterTag = "ack.aliyun.com"
)

// reconcileTable brings one table in step with the nodes, or finds the tables.
func (c *Controller) reconcileTable(ctx context.Context, tableID string) error {
	if tableID == discoverKey {
		err := c.discover(ctx)
		// A failed call is the gateway's affair and passes; anything else waits for somebody to act.
		if _, call := rpcerr.From(err); err != nil && !call {
			c.tableEvent(discoverEvents, eventSyncFailed, err.Error())
		}
		return err
	}
	start := time.Now()
	t := c.target.Load()
	m := t.memories[tableID]
	// Events of nodes come at any time; what the gateway asked to wait for still has to be waited for.
	if wait := m.notBefore.Sub(start); wait > 0 {
		return reconcile.After(errors.New("the gateway asked to wait"), wait)
	}
	defer func() { c.metrics.observe(verbReconcile, start) }()
	err := c.pass(ctx, t.applier, tableID, m)
	if wait, ok := rpcerr.RetryAfter(err); ok {
		m.notBefore = time.Now().Add(wait)
	}
	return err
}

// pass looks at one table once.
func (c *Controller) pass(ctx context.Context, applier *apply.Applier, tableID string, m *memory) error {
	if err := c.read(ctx, tableID, m); err != nil {
		if _, wait := rpcerr.RetryAfter(err); !wait {
			c.tableEvent(tableID, eventSyncFailed, err.Error())
		}
		return err
	}
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	claims := c.cfg.Scope.Claims(nodes)
	m.note(claims)
	p := c.plan(ctx, m, claims)
	orphans, wait := m.due(p.Orphans, time.Now(), c.cfg.OrphanGrace)
	result := c.apply(ctx, applier, tableID, slices.Concat(p.Delete, orphans), p.Create)
	m.applied(result)
	c.report(tableID, claims, p, result)
	c.reportForeign(tableID, m, p.Foreign)
	c.watchQuota(tableID, m)
	return c.next(tableID, m, p, result, wait)
}

// next chooses when the table is looked at again.
func (c *Controller) next(tableID string, m *memory, p plan.Plan, result apply.Result, wait time.Duration) error {
	if err := result.Err(); err != nil {
		return fmt.Errorf("route table %s: %w", tableID, err)
	}
	if len(p.Pending) > 0 || slices.ContainsFunc(result.Created, func(e table.Entry) bool { return !e.Available }) {
		m.forget()
		return reconcile.After(errors.New("routes are not available yet"), pendingDelay)
	}
	check := time.Until(m.readAt.Add(c.cfg.SyncInterval))
	c.tables.AddAfter(tableID, reconcile.Periodic, check+rand.N(c.cfg.SyncInterval/10+1)) //nolint:gosec // Spreading load needs no secrecy.
	if wait > 0 {
		c.tables.AddAfter(tableID, reconcile.Periodic, wait)
	}
	return nil
}

// read refreshes the memory of a table if it is old or doubtful. A reading is complete or an error.
func (c *Controller) read(ctx context.Context, tableID string, m *memory) error {
	if m.fresh(time.Now(), c.cfg.SyncInterval) {
		return nil
	}
	now := time.Now()
	// All custom entries are asked for, not only those to instances: any of them may be in the way, and all count for the quota.
	resp, err := c.cfg.Gateway.Routes.ListRouteEntries(ctx, &vpcv1.ListRouteEntriesRequest{RouteTableId: tableID, Type: table.TypeCustom})
	if err != nil {
		return fmt.Errorf("list the entries of route table %s: %w", tableID, err)
	}
	m.remember(c.cfg.Scope.EntriesOf(resp.GetRouteEntries()), len(resp.GetRouteEntries()), now)
	return nil
}

// plan diffs, and once more if unmarked entries in the way turn out to lead to instances of the cluster, or to none at all.
func (c *Controller) plan(ctx context.Context, m *memory, claims table.Claims) plan.Plan {
	policy := plan.Policy{ClusterID: c.cfg.ClusterID, ClusterCIDRs: c.cfg.ClusterCIDRs}
	in := plan.Input{Claims: claims, Entries: m.list(), Seen: m.seen, Standing: m.standing}
	p := plan.Diff(in, policy)
	var unknown, nodes []string
	for _, refusal := range slices.Concat(p.Refused, p.Foreign) {
		id := refusal.Entry.InstanceID
		if _, asked := m.standing[id]; id != "" && !asked && !table.Marked(refusal.Entry.Description) {
			unknown, nodes = append(unknown, id), append(nodes, refusal.Route.InstanceID)
		}
	}
	if len(unknown) == 0 {
		return p
	}
	if err := c.askStanding(ctx, m, unknown, nodes); err != nil {
		// Not knowing is no failure: the entries are left alone then.
		c.log.Warn("can't tell whose instances are in the way of routes", "instances", unknown, "error", err)
		return p
	}
	return plan.Diff(in, policy)
}

// askStanding asks the cloud about instances that entries lead to, and about the nodes that these are in the way of: only an answer
// that has a node's instance proves by its silence that another is gone.
func (c *Controller) askStanding(ctx context.Context, m *memory, unknown, nodes []string) error {
	ids := slices.Concat(unknown, nodes)
	resp, err := c.cfg.Gateway.Instances.BatchGetInstances(ctx, &ecsv1.BatchGetInstancesRequest{InstanceIds: ids})
	if err != nil {
		return err
	}
	results := resp.GetResults()
	if len(results) != len(ids) {
		return fmt.Errorf("gateway answered %d results for %d instances", len(results), len(ids))
	}
	seesNodes := slices.ContainsFunc(results[len(unknown):], func(r *ecsv1.InstanceResult) bool { return r.GetInstance() != nil })
	for i, id := range unknown {
		m.standing[id] = c.standingOf(results[i], seesNodes)
	}
	return nil
}

func (c *Controller) standingOf(result *ecsv1.InstanceResult, seesNodes bool) plan.Standing {
	if rpcerr.ReasonOf(rpcerr.FromItem(result.GetError())) == rpcerr.InstanceNotFound && seesNodes {
		return plan.Gone
	}
	for _, tag := range result.GetInstance().GetTags() {
		if tag.GetKey() == clusterTag && tag.GetValue() == c.cfg.ClusterID {
			return plan.Member
		}
	}
	return plan.Stranger
}

func (c *Controller) apply(ctx context.Context, applier *apply.Applier, tableID string, remove []table.Entry, create []table.Route) apply.Result {
	start := time.Now()
	result := applier.Apply(ctx, tableID, remove, create)
	if len(create) > 0 {
		c.metrics.observe(verbCreate, start)
	}
	if len(remove) > 0 {
		c.metrics.observe(verbDelete, start)
	}
	return result
}
