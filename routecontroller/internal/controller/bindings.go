package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/routecontroller/internal/table"
)

// bindingsKey is the key under which the other tables of the VPC are looked at. No id of a table has a space.
const bindingsKey = " bindings"

// instancesTogether is how many instances are read in one call of the gateway.
const instancesTogether = 1000

// bindings says which vSwitches use a table that gets no routes. A node there reaches no pod, whatever the other tables
// have.
type bindings struct {
	mu sync.Mutex
	// unmanaged are the tables by the vSwitches that are bound to them, nil before they were looked for.
	unmanaged map[string]string
	// vswitches are those of instances, as far as it matters, and readAt is when the oldest of them was read.
	vswitches map[string]string
	readAt    time.Time
	// failing is set if the last look failed. It is repeated later and later, so that nobody else asks for it.
	failing bool
}

// replace takes over what was read.
func (b *bindings) replace(unmanaged, vswitches map[string]string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unmanaged, b.vswitches, b.readAt, b.failing = unmanaged, vswitches, at, false
}

// old gives what is known of vSwitches if it is no older than age.
func (b *bindings) old(now time.Time, age time.Duration) (vswitches map[string]string, readAt time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.readAt) >= age {
		return map[string]string{}, now
	}
	return maps.Clone(b.vswitches), b.readAt
}

// failed lets nodes have their conditions though the tables were never read: most VPCs have no other table.
func (b *bindings) failed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failing = true
	if b.unmanaged == nil {
		b.unmanaged = map[string]string{}
	}
}

// stuck reports whether the last look failed.
func (b *bindings) stuck() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failing
}

// tableOf gives the unmanaged table that the vSwitch of an instance is bound to, "" for none. It is not known of an
// instance that came after the last look, if there are such tables at all.
func (b *bindings) tableOf(instance string) (tableID string, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.unmanaged) == 0 {
		return "", b.unmanaged != nil
	}
	vswitch, known := b.vswitches[instance]
	return b.unmanaged[vswitch], known
}

// vswitchesOf gives the vSwitches that are bound to tables which get no routes, with the tables.
func vswitchesOf(tables []*vpcv1.RouteTable, managed []string) map[string]string {
	bound := map[string]string{}
	for _, t := range tables {
		if slices.Contains(managed, t.GetRouteTableId()) {
			continue
		}
		for _, vswitch := range t.GetVswitchIds() {
			bound[vswitch] = t.GetRouteTableId()
		}
	}
	for _, t := range tables { // The system table may have those in its list that are bound to another one.
		if !slices.Contains(managed, t.GetRouteTableId()) {
			continue
		}
		for _, vswitch := range t.GetVswitchIds() {
			delete(bound, vswitch)
		}
	}
	return bound
}

// lookAtBindings looks whether vSwitches are bound to tables that get no routes, and which nodes are there: tables are
// bound and unbound while the controller runs. It is one call of the cloud, and only where there are such tables one
// for 100 nodes more.
func (c *Controller) lookAtBindings(ctx context.Context) error {
	t := c.target.Load()
	if !c.awaited() {
		ctx = gateway.WithPriority(ctx, gateway.Background)
	}
	all, err := c.nodes.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	defer func() { // Also of those of a table that is bound no more, and of those that have waited for the first look.
		for _, node := range all {
			if _, differs := c.wantedCondition(node); differs {
				c.conditions.Add(node.Name, reconcile.Periodic)
			}
		}
	}()
	if err := c.readBindings(ctx, t, all); err != nil {
		c.bindings.failed()
		if _, wait := rpcerr.RetryAfter(err); !wait {
			c.tableFailure(discoverEvents, eventSyncFailed, err)
		}
		return err
	}
	c.events.Resolve(c.tableReference(discoverEvents), eventSyncFailed)
	c.tables.AddAfter(bindingsKey, reconcile.Periodic, c.cfg.SyncInterval)
	return nil
}

// readBindings reads which vSwitches and nodes have tables without routes, and says so.
func (c *Controller) readBindings(ctx context.Context, t *target, all []*corev1.Node) error {
	resp, err := c.cfg.Gateway.Routes.ListRouteTables(ctx, &vpcv1.ListRouteTablesRequest{VpcId: t.vpcID})
	if err != nil {
		return fmt.Errorf("list the route tables of %s: %w", t.vpcID, err)
	}
	unmanaged := vswitchesOf(resp.GetRouteTables(), t.tableIDs)
	known, readAt := c.bindings.old(time.Now(), c.cfg.SyncInterval-c.cfg.SyncInterval/10)
	vswitches := map[string]string{}
	if len(unmanaged) > 0 {
		if vswitches, err = c.readVSwitches(ctx, all, known); err != nil {
			return err
		}
	}
	c.bindings.replace(unmanaged, vswitches, readAt)
	c.reportBindings(t, unmanaged, vswitches)
	return nil
}

// readVSwitches gives the vSwitches of the instances of nodes. It reads those that are not known; one that the cloud
// does not know has none.
func (c *Controller) readVSwitches(ctx context.Context, all []*corev1.Node, known map[string]string) (map[string]string, error) {
	vswitches := map[string]string{}
	var unread []string
	for _, node := range all {
		id, ok := nodes.ParseProviderID(node.Spec.ProviderID)
		if !ok {
			continue
		}
		vswitch, read := known[id.InstanceID]
		if _, twice := vswitches[id.InstanceID]; !read && !twice && id.Region == c.region && !nodes.Excluded(node) {
			unread = append(unread, id.InstanceID)
		}
		vswitches[id.InstanceID] = vswitch
	}
	for part := range slices.Chunk(unread, instancesTogether) {
		answer, err := c.cfg.Gateway.Instances.BatchGetInstances(ctx, &ecsv1.BatchGetInstancesRequest{InstanceIds: part})
		if err != nil {
			return nil, fmt.Errorf("get %d instances: %w", len(part), err)
		}
		for _, result := range answer.GetResults() {
			if instance := result.GetInstance(); instance != nil {
				vswitches[instance.GetInstanceId()] = instance.GetVswitchId()
			}
		}
	}
	return vswitches, nil
}

// reportBindings says on the tables that get no routes which vSwitches are bound to them. Where the configuration names
// the tables, that is worth a warning only if nodes are there.
func (c *Controller) reportBindings(t *target, unmanaged, vswitches map[string]string) {
	bound, count := map[string][]string{}, map[string]int{}
	for vswitch, id := range unmanaged {
		bound[id] = append(bound[id], vswitch)
	}
	for _, vswitch := range vswitches {
		if id := unmanaged[vswitch]; id != "" {
			count[id]++
		}
	}
	c.metrics.unmanaged.Reset()
	warned := map[string]bool{}
	for id, list := range bound {
		c.metrics.unmanaged.WithLabelValues(id).Set(float64(count[id]))
		if count[id] == 0 && len(c.cfg.RouteTableIDs) > 0 {
			continue
		}
		slices.Sort(list)
		warned[id] = true
		c.events.Warning(c.tableReference(id), eventUnmanaged, fmt.Sprintf(
			"the vSwitches %s of %s are bound to route table %s, which gets no routes "+
				"to pods: %d nodes there reach none. Name it in routeTableIDs, together with %s", strings.Join(list, ", "), t.vpcID, id, count[id],
			strings.Join(t.tableIDs, ", ")))
	}
	for id := range t.warned {
		if !warned[id] {
			c.events.Resolve(c.tableReference(id), eventUnmanaged)
		}
	}
	t.warned = warned
}

// unmanagedTable says why a node reaches no pods though its routes are there: its vSwitch is bound to another table; ""
// if it is not. It is not known before the table of its vSwitch is.
func (c *Controller) unmanagedTable(keys []table.Key) (cause string, known bool) {
	for _, key := range keys {
		id, known := c.bindings.tableOf(key.InstanceID)
		switch {
		case !known:
			if !c.bindings.stuck() {
				c.tables.Add(bindingsKey, reconcile.Node)
			}
			return "", false
		case id != "":
			return fmt.Sprintf("its vSwitch is bound to route table %s, which gets no routes; name it in routeTableIDs", id), true
		}
	}
	return "", true
}
