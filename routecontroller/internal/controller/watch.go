package controller

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/routecontroller/internal/table"
)

// deletedKept is how long the deletion of a Node counts as watched; its routes go long before.
const deletedKept = 24 * time.Hour

// deletedRoutes holds the routes of Nodes that the API server was seen to delete.
type deletedRoutes struct {
	mu     sync.Mutex
	routes map[table.Key]time.Time
}

func newDeletedRoutes() *deletedRoutes { return &deletedRoutes{routes: map[table.Key]time.Time{}} }

func (d *deletedRoutes) add(keys []table.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(d.routes, func(_ table.Key, at time.Time) bool { return now.Sub(at) >= deletedKept })
	for _, key := range keys {
		d.routes[key] = now
	}
}

func (d *deletedRoutes) remove(keys []table.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range keys {
		delete(d.routes, key)
	}
}

func (d *deletedRoutes) has(key table.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.routes[key]
	return ok
}

func (c *Controller) nodeAdded(object any) {
	if node, ok := object.(*corev1.Node); ok {
		c.deleted.remove(c.cfg.Scope.KeysOf(node))
	}
	c.gather.Trigger()
}

// nodeDeleted takes only a deletion that the watch delivered for a fact. A Node that a new list lacks (cache.DeletedFinalStateUnknown)
// may be missing because the API server lost it.
func (c *Controller) nodeDeleted(object any) {
	if node, ok := object.(*corev1.Node); ok {
		c.deleted.add(c.unclaimed(c.cfg.Scope.KeysOf(node)))
		c.events.Forget(kube.NodeReference(node.Name))
	}
	c.gather.Trigger()
}

// unclaimed leaves out the routes of Nodes that there are: a Node may have registered under another name and kept instance and range.
func (c *Controller) unclaimed(keys []table.Key) []table.Key {
	present, err := c.nodes.List(labels.Everything())
	if err != nil {
		return nil // The cache of an informer gives no error; without it nothing is evidence.
	}
	for _, node := range present {
		claims := c.cfg.Scope.KeysOf(node)
		keys = slices.DeleteFunc(keys, func(key table.Key) bool { return slices.Contains(claims, key) })
	}
	return keys
}

func (c *Controller) nodeUpdated(before, after any) {
	old, isOld := before.(*corev1.Node)
	node, isNode := after.(*corev1.Node)
	if !isOld || !isNode {
		return
	}
	news := !table.SameClaim(old, node)
	if news { // A Node has neither instance nor range when it is added; it may get those of one that was deleted.
		c.deleted.remove(c.cfg.Scope.KeysOf(node))
	}
	if !c.leading.Load() {
		return
	}
	if news {
		c.gather.Trigger()
	}
	if networkUnavailable(old) != networkUnavailable(node) || nodes.Excluded(old) != nodes.Excluded(node) {
		c.conditions.Add(node.Name, reconcile.Node)
	}
}

// addTables queues all tables, or their discovery.
func (c *Controller) addTables(priority reconcile.Priority) {
	t := c.target.Load()
	if t == nil {
		c.tables.Add(discoverKey, priority)
		return
	}
	for _, id := range t.tableIDs {
		c.tables.Add(id, priority)
	}
}
