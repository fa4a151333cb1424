package controller

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/reconcile"
)

const (
	// arrivalQuiet and arrivalMax bound how long nodes that join are gathered for one read. One node alone waits for
	// arrivalQuiet. The next read begins arrivalMax after it at the earliest, so that nodes which trickle in cost no more
	// reads than those that come at once.
	arrivalQuiet = 100 * time.Millisecond
	arrivalMax   = time.Second
	// foundAge is how long what was read of a node may be used for another attempt, where the first one failed at the API server.
	foundAge = time.Minute
)

// found is what one read showed of a node's instance.
type found struct {
	instance *ecsv1.Instance
	// eni is the primary network interface, nil if it was not read.
	eni *ecsv1.NetworkInterface
	at  time.Time
	// node is whose it is: one that was made anew under its name may have another instance.
	node types.UID
}

// arrivals gathers nodes that wait for their initialisation, so that all of them are read in few cloud calls, and keeps what was
// read until the first attempt on each takes it.
type arrivals struct {
	gather *reconcile.Gather

	mu      sync.Mutex
	waiting map[string]bool
	known   map[string]found
}

func newArrivals(fire func(ctx context.Context, names []string)) *arrivals {
	a := &arrivals{waiting: map[string]bool{}, known: map[string]found{}}
	a.gather = reconcile.NewGather(arrivalQuiet, arrivalMax, func(ctx context.Context) { fire(ctx, a.takeWaiting()) }).Apart(arrivalMax)
	return a
}

func (a *arrivals) add(name string) {
	a.mu.Lock()
	a.waiting[name] = true
	a.mu.Unlock()
	a.gather.Trigger()
}

func (a *arrivals) takeWaiting() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	names := make([]string, 0, len(a.waiting))
	for name := range a.waiting {
		names = append(names, name)
	}
	clear(a.waiting)
	return names
}

func (a *arrivals) keep(node *corev1.Node, f found) {
	f.node = node.UID
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known[node.Name] = f
}

// take gives what was read of a node, once: a second attempt has to look again unless the first one gives it back.
func (a *arrivals) take(node *corev1.Node) (found, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f, ok := a.known[node.Name]
	delete(a.known, node.Name)
	return f, ok && f.node == node.UID && time.Since(f.at) < foundAge
}

func (a *arrivals) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, name)
	delete(a.known, name)
}
