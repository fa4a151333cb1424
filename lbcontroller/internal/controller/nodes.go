package controller

import (
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
)

// nodeSets are the nodes of the cluster as backends.
type nodeSets struct {
	lister corelisters.NodeLister
	// excludeControlPlane and drain are ExcludeControlPlane and DrainNodes of the configuration.
	excludeControlPlane, drain bool
	// changes counts changes of nodes, and latest are the nodes after the last that was looked at. current are those
	// that Services were queued for.
	changes atomic.Int64
	latest  atomic.Pointer[nodesOf]
	current atomic.Pointer[backend.Set]
}

// nodesOf are the nodes after so many changes.
type nodesOf struct {
	*backend.Set
	changes int64
}

// snapshot looks at the nodes in the cache.
func (n *nodeSets) snapshot() (*backend.Set, error) {
	changes := n.changes.Load()
	if last := n.latest.Load(); last != nil && last.changes == changes {
		return last.Set, nil
	}
	list, err := n.lister.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list the nodes in the cache: %w", err)
	}
	if n.excludeControlPlane {
		list = backend.WithoutControlPlane(list)
	}
	take := backend.New
	if n.drain {
		take = backend.NewDraining
	}
	set := take(list)
	n.latest.Store(&nodesOf{set, changes})
	return set, nil
}

// forPass are the nodes for a pass. Where pods are the servers, or say which nodes are, they come and go with their nodes, and a burst of
// nodes isn't waited for.
func (n *nodeSets) forPass(a assignment) (*backend.Set, error) {
	if a.wanted == nil || a.interest.Mode == backend.Cluster {
		return n.current.Load(), nil
	}
	return n.snapshot()
}
