package controller

import (
	"maps"
	"sync"
	"time"

	"alicloud-controllers.dev/routecontroller/internal/table"
)

// deletedKept is how long the deletion of a Node counts as watched; its routes go long before.
const deletedKept = 24 * time.Hour

// deletedRoutes holds the routes of Nodes that the API server was seen to delete.
type deletedRoutes struct {
	mu     sync.Mutex
	routes map[table.Key]time.Time
}

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

func newDeletedRoutes() *deletedRoutes { return &deletedRoutes{routes: map[table.Key]time.Time{}} }
