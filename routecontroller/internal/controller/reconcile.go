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

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/routecontroller/internal/apply"
	"alicloud-controllers.dev/routecontroller/internal/orphan"
	"alicloud-controllers.dev/routecontroller/internal/plan"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

const (
	// pendingDelay is when to look again at entries that the cloud is working on, and pendingShare how much of the time is let pass again that
	// the latest of them has taken, for each look reads the table. tableMaxDelay is the most.
	pendingDelay, pendingShare = 5 * time.Second, 4
	// pendingPatience is how long the cloud may work on a route before an event reports it. It takes seconds, and minutes when it is busy.
	pendingPatience = 5 * time.Minute
	// recordRetry is when to try again what the next leader has to know.
	recordRetry = 30 * time.Second
	// createTogether is how many routes one pass creates: enough to fill the gateway's calls, and few enough that no node waits for the
	// routes of all others. Between two passes other tables have their turn.
	createTogether = 100
	// confirmAge is how old a reading of a table may be on which orphans are deleted.
	confirmAge = 10 * time.Second
	// oneCall is how many instances one call of the cloud returns (source: ECS API, DescribeInstances). Questions about orphans are filled
	// up to it with the instances of nodes, minWitnesses at least.
	oneCall, minWitnesses = 100, 3
	// askTimeout bounds a question about instances, for nodes wait for the rest of the pass.
	askTimeout = 30 * time.Second
	// clusterTag is the tag that ACK puts on the instances of a cluster; its value is the cluster's id.
	clusterTag = "ack.aliyun.com"
)

// reconcileTable brings one table in step with the nodes, or finds the tables.
func (c *Controller) reconcileTable(ctx context.Context, tableID string) error {
	if tableID == discoverKey {
		err := c.discover(ctx)
		c.undiscovered.Store(&err)
		if err == nil {
			c.events.Resolve(tableReference(discoverEvents), eventSyncFailed)
		} else if _, wait := rpcerr.RetryAfter(err); !wait {
			c.tableFailure(discoverEvents, eventSyncFailed, err)
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
	err := c.pass(ctx, t, tableID, m)
	if err == nil {
		c.events.Resolve(tableReference(tableID), eventSyncFailed)
	}
	if wait, ok := rpcerr.RetryAfter(err); ok {
		m.notBefore = time.Now().Add(wait)
	}
	return err
}

// pass looks at one table once. Entries are deleted only if a look at the live nodes and a fresh reading of the table agree with
// what is cached, and if the deletion is on record before: the next leader has to know of it.
func (c *Controller) pass(ctx context.Context, t *target, tableID string, m *memory) error {
	recordErr := errors.Join(t.ledger.load(ctx, tableID, m), t.adopted.load(ctx, t.memories))
	v, err := c.look(ctx, tableID, m, c.cachedNodes, c.cfg.SyncInterval)
	if err == nil && len(v.orphans.Delete) > 0 && recordErr == nil {
		v, err = c.lookLive(ctx, tableID, m, confirmAge)
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
// the routes without a mark. No orphan is deleted if that fails.
func (c *Controller) record(ctx context.Context, t *target, tableID string, m *memory, v *view, err error) {
	now := time.Now()
	m.deleted = c.cfg.Orphans.Within(now, m.deleted)
	before := m.deleted
	m.charge(v.orphans.Delete, now)
	if err == nil {
		err = errors.Join(t.ledger.save(ctx, tableID, m), t.adopted.save(ctx, t.memories))
	}
	c.metrics.recordFault.Set(0)
	if err == nil {
		c.events.Resolve(tableReference(tableID), eventRecordFailed)
		return
	}
	v.recordErr, m.deleted = err, before
	clear(m.charged)
	v.orphans.Held += len(v.orphans.Delete)
	v.orphans.Delete = nil
	c.metrics.recordFault.Set(1)
	c.log.Error("what the next leader has to know can't be recorded, routes without a node are kept", "routeTable", tableID, "error", err)
	c.tableFailure(tableID, eventRecordFailed, err)
}

// view is what one look at a table and the nodes has led to.
type view struct {
	claims table.Claims
	plan   plan.Plan
	// waiting are the entries that no node claims, those in the way of routes included, whether or not they go now.
	waiting []orphan.Orphan
	orphans orphan.Verdict
	// recordErr is why nothing is deleted though it is due: the next leader would not know of it.
	recordErr error
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

// lookLive looks at the live nodes and a reading of the table that is no older than age, and asks for a second witness of what is to be
// deleted.
func (c *Controller) lookLive(ctx context.Context, tableID string, m *memory, age time.Duration) (view, error) {
	v, err := c.look(ctx, tableID, m, c.liveNodes, age)
	if err == nil && c.contradicted(ctx, m, v) {
		c.decide(m, &v, time.Now())
	}
	return v, err
}

// decide makes of what is known what has to be done.
func (c *Controller) decide(m *memory, v *view, now time.Time) {
	v.plan = c.diff(m, v.claims)
	v.waiting = m.orphans(v.plan, now, c.departed.has)
	facts := orphan.Facts{Claimed: len(v.claims.Wanted) + len(v.claims.Held) + len(v.claims.Excluded), Deleted: m.deleted}
	v.orphans = orphan.Decide(now, v.waiting, facts, c.cfg.Orphans)
}

func (c *Controller) diff(m *memory, claims table.Claims) plan.Plan {
	return plan.Diff(plan.Input{Claims: claims, Entries: m.list(), Seen: m.seen, Standing: m.standing},
		plan.Policy{ClusterID: c.cfg.ClusterID, ClusterCIDRs: c.cfg.ClusterCIDRs, Reserved: m.reserved})
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

// askOrphans asks the cloud about the instances of orphans whose answer counts, and reports whether it has learned anything.
func (c *Controller) askOrphans(ctx context.Context, m *memory, v view, now time.Time) bool {
	var unknown []string
	for _, o := range v.waiting {
		if _, asked := m.standing[o.Entry.InstanceID]; !asked && o.Asking(now, c.cfg.Orphans) {
			unknown = append(unknown, o.Entry.InstanceID)
		}
	}
	if len(unknown) == 0 || len(v.claims.Wanted) == 0 {
		return false
	}
	var witnesses []string
	for _, route := range v.claims.Wanted[:min(len(v.claims.Wanted), max(minWitnesses, oneCall-len(unknown)))] {
		witnesses = append(witnesses, route.InstanceID)
	}
	if err := c.askStanding(gateway.WithPriority(ctx, gateway.Deletion), m, unknown, witnesses); err != nil {
		c.log.Warn("can't find out whether the instances of routes without a node exist", "instances", len(unknown), "error", err)
		m.doubt(err, unknown...)
		return false
	}
	return true
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

// askObstacles asks about the instances that unmarked entries in the way lead to: they may be of the cluster, or there no more.
func (c *Controller) askObstacles(ctx context.Context, m *memory, claims table.Claims) {
	p := c.diff(m, claims)
	var unknown, nodes []string
	for _, refusal := range slices.Concat(p.Refused, p.Foreign) {
		id := refusal.Entry.InstanceID
		if _, asked := m.standing[id]; id != "" && !asked && !table.Marked(refusal.Entry.Description) {
			unknown, nodes = append(unknown, id), append(nodes, refusal.Route.InstanceID)
		}
	}
	if len(unknown) == 0 {
		return
	}
	if err := c.askStanding(ctx, m, unknown, nodes); err != nil {
		// Not knowing is no failure: entries of which nothing was known before are left alone.
		m.doubt(err, unknown...)
		c.log.Warn("can't find out whose instances are in the way of routes", "instances", unknown, "error", err)
	}
}

// askStanding asks the cloud about instances that entries lead to, and about the instances of nodes: only an answer that has those proves
// by its silence that another is gone. As many of them as may go within a budget's window can be missing, since instances are released
// before their Nodes go.
func (c *Controller) askStanding(ctx context.Context, m *memory, unknown, nodes []string) error {
	ids := slices.Concat(unknown, nodes)
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resp, err := c.cfg.Gateway.Instances.BatchGetInstances(ctx, &ecsv1.BatchGetInstancesRequest{InstanceIds: ids})
	if err != nil {
		return err
	}
	results := resp.GetResults()
	if len(results) != len(ids) {
		return fmt.Errorf("gateway answered %d results for %d instances", len(results), len(ids))
	}
	found := 0
	for _, result := range results[len(unknown):] {
		if result.GetInstance() != nil {
			found++
		}
	}
	credible := found > 0 && len(nodes)-found <= c.cfg.Orphans.Limit(len(nodes))
	var incredible error
	for i, id := range unknown {
		standing, err := c.standingOf(results[i])
		if standing == plan.Gone && !credible {
			if incredible == nil {
				incredible = c.incredible(ctx, found, len(nodes))
			}
			err = incredible
		}
		if err != nil {
			m.doubt(err, id)
			continue
		}
		m.standing[id] = standing
	}
	return nil
}

// contradicted asks the cloud's list of network interfaces about the instances of entries that would be deleted now because the list of
// instances lacks them, or lacked them when it was last known, and reports whether it says otherwise. An answer can be complete but for just
// these instances, as with a RAM policy that lets the gateway see some instances only: the nodes that are asked about together with them are
// found all the same. What no list can leave out by the same mistake is the network interface that an instance has as long as it exists, and
// which goes with it. An answer counts only if it has the interface of a node. One instance that is there after all, or a question without an
// answer, takes the evidence from all that the list of instances lacked.
func (c *Controller) contradicted(ctx context.Context, m *memory, v view) bool {
	var gone []string
	for _, o := range v.waiting {
		id := o.Entry.InstanceID
		if m.standing[id] == plan.Gone && !o.Watched && !o.Moved && slices.Contains(v.orphans.Delete, o.Entry) && !slices.Contains(gone, id) {
			gone = append(gone, id)
		}
	}
	if len(gone) == 0 {
		return false
	}
	err := c.confirmGone(ctx, gone, v.claims)
	if err == nil {
		return false
	}
	c.log.Warn("instances may exist though the cloud does not list them, their routes are kept", "instances", gone, "error", err)
	for id, standing := range m.standing {
		if standing == plan.Gone {
			m.standing[id], m.doubted[id] = plan.Stranger, err
		}
	}
	return true
}

// confirmGone is nil if none of some instances has a network interface.
func (c *Controller) confirmGone(ctx context.Context, gone []string, claims table.Claims) error {
	ctx, cancel := context.WithTimeout(gateway.WithPriority(ctx, gateway.Deletion), askTimeout)
	defer cancel()
	if err := c.elsewhere(ctx); err != nil {
		return err
	}
	found := false
	for _, route := range claims.Wanted[:min(len(claims.Wanted), minWitnesses)] {
		interfaces, err := c.interfacesOf(ctx, route.InstanceID)
		if err != nil {
			return err
		}
		if found = len(interfaces) > 0; found {
			break
		}
	}
	if !found {
		return &noEvidence{causeWitness, "the cloud does not list the network interface of any node; check what the gateway may see"}
	}
	for _, id := range gone {
		interfaces, err := c.interfacesOf(ctx, id)
		if err != nil {
			return err
		}
		if len(interfaces) > 0 {
			return &noEvidence{causeWitness, fmt.Sprintf("the cloud does not list instance %s, but its network interface %s exists", id,
				interfaces[0].GetNetworkInterfaceId())}
		}
	}
	return nil
}

func (c *Controller) interfacesOf(ctx context.Context, instance string) ([]*ecsv1.NetworkInterface, error) {
	resp, err := c.cfg.Gateway.NetworkInterfaces.ListNetworkInterfaces(ctx, &ecsv1.ListNetworkInterfacesRequest{InstanceId: instance})
	if err != nil {
		return nil, fmt.Errorf("list the network interfaces of instance %s: %w", instance, err)
	}
	return resp.GetNetworkInterfaces(), nil
}

// standingOf gives what a result says about an instance. If it says nothing, the error is why.
func (c *Controller) standingOf(result *ecsv1.InstanceResult) (plan.Standing, error) {
	switch err := rpcerr.FromItem(result.GetError()); {
	case err == nil && result.GetInstance() != nil:
	case err == nil:
		return plan.Stranger, errors.New("gateway answered neither an instance nor an error")
	case rpcerr.ReasonOf(err) == rpcerr.InstanceNotFound:
		return plan.Gone, nil
	default:
		return plan.Stranger, err
	}
	for _, tag := range result.GetInstance().GetTags() {
		if tag.GetKey() == clusterTag && tag.GetValue() == c.cfg.ClusterID {
			return plan.Member, nil
		}
	}
	return plan.Stranger, nil
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
