package controller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/routecontroller/internal/apply"
	"alicloud-controllers.dev/routecontroller/internal/orphan"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

const (
	// recordRetry is when to try again what the next leader has to know.
	recordRetry = 30 * time.Second
	// confirmAge is how old a reading of a table may be on which orphans are deleted.
	confirmAge = 10 * time.Second
)

// reconcileTable brings one table in step with the nodes, or finds the tables.
func (c *Controller) reconcileTable(ctx context.Context, tableID string) error {
	if tableID == discoverKey {
		err := c.discover(ctx)
		c.undiscovered.Store(&err)
		if err == nil {
			c.events.Resolve(c.tableReference(discoverEvents), eventSyncFailed)
		} else if _, wait := rpcerr.RetryAfter(err); !wait {
			c.tableFailure(discoverEvents, eventSyncFailed, err)
		}
		return err
	}
	if tableID == bindingsKey {
		return c.lookAtBindings(ctx)
	}
	start := time.Now()
	t := c.target.Load()
	m := t.memories[tableID]
	// Events of nodes come at any time; what the gateway asked to wait for still has to be waited for.
	if wait := m.notBefore.Sub(start); wait > 0 {
		return reconcile.After(errors.New("the gateway asked to wait"), wait)
	}
	defer func() { c.metrics.observe(verbReconcile, start) }()
	err := c.pass(ctx, t, tableID, m)
	if err == nil {
		c.events.Resolve(c.tableReference(tableID), eventSyncFailed)
	}
	if wait, ok := rpcerr.RetryAfter(err); ok {
		m.notBefore = time.Now().Add(wait)
	}
	return err
}

// pass looks at one table once. Entries are deleted only if a look at the live nodes and a fresh reading of the table agree with what is
// cached. Those that count for the budget are on record before: the next leader has to know of them.
func (c *Controller) pass(ctx context.Context, t *target, tableID string, m *memory) error {
	recordErr := errors.Join(t.deletions.load(ctx, tableID, m), t.adopted.load(ctx, t.memories))
	v, err := c.look(ctx, tableID, m, c.cachedNodes, c.cfg.SyncInterval)
	if err == nil && len(v.orphans.Delete) > 0 {
		if early := m.listsLive(v, c.cfg.RouteQuota, time.Now()); early > 0 {
			v.orphans.Postpone(early)
		} else {
			v, err = c.look(ctx, tableID, m, c.liveNodes, confirmAge)
		}
	}
	if err != nil {
		if _, wait := rpcerr.RetryAfter(err); !wait {
			c.tableFailure(tableID, eventSyncFailed, err)
		}
		return err
	}
	c.record(ctx, t, tableID, m, &v, recordErr)
	v.plan.Create = slices.Concat(v.plan.Freed(v.orphans.Delete), v.plan.Create)
	create := m.turn(v.plan.Create)
	result := c.apply(ctx, t.applier, tableID, v.orphans.Delete, create)
	m.applied(result)
	c.report(tableID, m, v, result)
	c.reportStuck(tableID, m, v)
	c.watchQuota(tableID, m)
	if len(create) < len(v.plan.Create) && len(result.Created) > 0 {
		c.tables.Add(tableID, reconcile.Node)
	}
	return c.next(tableID, m, v, result)
}

// record writes down what the next leader has to know: since when entries have been orphans, the deletions that are about to be made, and
// the routes without a mark. If that fails, only orphans are deleted that the budget is not about.
func (c *Controller) record(ctx context.Context, t *target, tableID string, m *memory, v *view, err error) {
	now := time.Now()
	m.deleted = c.cfg.Orphans.Within(now, m.deleted)
	before := m.deleted
	m.count(v.orphans.Counted, now)
	if err == nil {
		err = errors.Join(t.deletions.save(ctx, tableID, m), t.adopted.save(ctx, t.memories))
	}
	c.metrics.recordFault.Set(0)
	if err == nil {
		c.events.Resolve(c.tableReference(tableID), eventRecordFailed)
		return
	}
	v.recordErr, m.deleted = err, before
	clear(m.counted)
	v.orphans.Hold()
	c.metrics.recordFault.Set(1)
	c.log.Error("what the next leader has to know can't be recorded, routes without a node are kept", "routeTable", tableID, "error", err)
	c.tableFailure(tableID, eventRecordFailed, err)
}

// look decides on a reading of the table that is no older than age, and on the nodes that list gives.
func (c *Controller) look(ctx context.Context, tableID string, m *memory, list func(context.Context) ([]*corev1.Node, error),
	age time.Duration,
) (view, error) {
	if err := c.read(ctx, tableID, m, age); err != nil {
		return view{}, err
	}
	nodes, err := list(ctx)
	if err != nil {
		return view{}, fmt.Errorf("list nodes: %w", err)
	}
	scope := c.cfg.Scope
	scope.Region = c.region
	v := view{claims: scope.Claims(nodes)}
	m.note(v.claims)
	c.askObstacles(ctx, m, v.claims)
	now := time.Now()
	c.decide(m, &v, now)
	if c.askOrphans(ctx, m, v, now) {
		c.decide(m, &v, now)
	}
	return v, nil
}

// decide makes of what is known what has to be done.
func (c *Controller) decide(m *memory, v *view, now time.Time) {
	v.plan = c.diff(m, v.claims)
	v.waiting = m.orphans(v.plan, now, c.deleted.has)
	facts := orphan.Facts{Claimed: len(v.claims.Wanted) + len(v.claims.Held) + len(v.claims.Excluded), Deleted: m.deleted}
	v.orphans = orphan.Decide(now, v.waiting, facts, c.cfg.Orphans)
}

func (c *Controller) cachedNodes(context.Context) ([]*corev1.Node, error) {
	return c.nodes.List(labels.Everything())
}

// liveNodes reads the nodes from the API server: a cache may have missed a Node that was made a moment ago.
func (c *Controller) liveNodes(ctx context.Context) ([]*corev1.Node, error) {
	list, err := c.cfg.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	nodes := make([]*corev1.Node, len(list.Items))
	for i := range list.Items {
		nodes[i] = &list.Items[i]
	}
	return nodes, nil
}

// next chooses when the table is looked at again.
func (c *Controller) next(tableID string, m *memory, v view, result apply.Result) error {
	delay := m.pending(v.plan.Pending, result.Created, time.Now()) // Time passes for them while other routes fail, too.
	if err := result.Err(); err != nil {
		return fmt.Errorf("route table %s: %w", tableID, err)
	}
	if delay > 0 {
		m.forget()
		return reconcile.After(errors.New("routes are not available yet"), delay)
	}
	check := time.Until(m.readAt.Add(c.cfg.SyncInterval))
	c.tables.AddAfter(tableID, reconcile.Periodic, check+rand.N(c.cfg.SyncInterval/10+1)) //nolint:gosec // Spreading load needs no secrecy.
	wait := v.orphans.Wait
	if v.recordErr != nil {
		wait = recordRetry
	}
	if wait > 0 {
		c.tables.AddAfter(tableID, reconcile.Periodic, wait)
	}
	return nil
}

// read refreshes the memory of a table if it is older than age or doubtful. A reading is complete or an error.
func (c *Controller) read(ctx context.Context, tableID string, m *memory, age time.Duration) error {
	if m.fresh(time.Now(), age) {
		return nil
	}
	now := time.Now()
	if m.known || !c.awaited() { // The reading is only old, or a leader begins and all nodes have their routes.
		ctx = gateway.WithPriority(ctx, gateway.Background)
	}
	// All entries are asked for, not only those to instances: any custom one may be in the way, all of them count for the quota, and the
	// system entries name the ranges of the vSwitches.
	resp, err := c.cfg.Gateway.Routes.ListRouteEntries(ctx, &vpcv1.ListRouteEntriesRequest{RouteTableId: tableID})
	c.metrics.read(tableID, err)
	if err != nil {
		return fmt.Errorf("list the entries of route table %s: %w", tableID, err)
	}
	m.remember(c.cfg.Scope.EntriesOf(resp.GetRouteEntries()), table.CountCustom(resp.GetRouteEntries()), now)
	m.reserved = table.Reserved(resp.GetRouteEntries())
	return nil
}

// awaited reports whether a node waits for a route: its condition doesn't say that it has one.
func (c *Controller) awaited() bool {
	list, err := c.nodes.List(labels.Everything())
	if err != nil {
		return true
	}
	served := map[string]bool{}
	for _, node := range list {
		served[node.Name] = networkUnavailable(node) == corev1.ConditionFalse
	}
	scope := c.cfg.Scope
	scope.Region = c.region
	return slices.ContainsFunc(scope.Claims(list).Wanted, func(r table.Route) bool { return !served[r.Node] })
}

func (c *Controller) apply(ctx context.Context, applier *apply.Applier, tableID string, remove []table.Entry,
	create []table.Route) apply.Result {
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
