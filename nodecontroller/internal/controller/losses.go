package controller

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/addresses"
	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// lossDoubted is how long answers have to lack an address before the node loses it.
const lossDoubted = time.Minute

// losses remembers since when answers of the cloud lack all internal addresses of a family that a node has. Since
// Kubernetes 1.37 kube-proxy ends when these change: without this memory, one answer that lacks an address would end it
// twice. The zero value is ready to use.
type losses struct {
	mu    sync.Mutex
	since map[string]time.Time // by the node's name
}

// doubts reports whether a change takes addresses away from a node in service for which the answers of a minute don't
// speak yet.
func (l *losses) doubts(node *corev1.Node, change nodestate.Change, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if nodes.IsUninitialized(node) || !change.AddressesDiffer || !addresses.Loses(node.Status.Addresses, change.Addresses) {
		delete(l.since, node.Name)
		return false
	}
	since, known := l.since[node.Name]
	if !known {
		if l.since == nil {
			l.since = map[string]time.Time{}
		}
		l.since[node.Name], since = now, now
	}
	return now.Sub(since) < lossDoubted
}

// forget drops what is remembered about a node that is gone.
func (l *losses) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.since, name)
}
