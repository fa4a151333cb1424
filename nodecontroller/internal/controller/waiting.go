package controller

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
)

// forwarding holds the nodes that have everything but a network interface that lets the packets of pods through. They keep their
// taint meanwhile.
type forwarding struct {
	mu      sync.Mutex
	waiting map[string]forwardingWait
}

type forwardingWait struct {
	// uid is that of the Node that waits; one made anew under the same name may be another instance.
	uid      types.UID
	instance *ecsv1.Instance
	// cached is the Node as the cache had it, and written as it was written then. While the cache is behind, the latter is the truth.
	cached, written *corev1.Node
	since           time.Time
	// tried is set once the change may have been sent, so that another attempt looks before it sends again.
	tried bool
	// off is set once the check is known to be off; what is left is to write the node.
	off bool
	// failed is set if the last attempt was refused, and not put off: then there is nothing to wait for.
	failed bool
	warned bool
}

func newForwarding() *forwarding { return &forwarding{waiting: map[string]forwardingWait{}} }

func (f *forwarding) add(node, written *corev1.Node, instance *ecsv1.Instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait, ok := f.waiting[node.Name]
	if !ok || wait.uid != node.UID {
		wait = forwardingWait{uid: node.UID, since: time.Now()}
	}
	wait.instance, wait.cached, wait.written = instance, node, written
	f.waiting[node.Name] = wait
}

// begin gives what a node waits for, and notes that the change is about to be sent.
func (f *forwarding) begin(name string) (forwardingWait, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait, ok := f.waiting[name]
	if ok {
		sent := wait
		sent.tried = true
		f.waiting[name] = sent
	}
	return wait, ok
}

// attempted notes whether the last attempt was refused, or only put off.
func (f *forwarding) attempted(name string, uid types.UID, failed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if wait, ok := f.waiting[name]; ok && wait.uid == uid {
		wait.failed = failed
		f.waiting[name] = wait
	}
}

// switchedOff notes that the check is off, so that an attempt that fails later asks the cloud nothing more.
func (f *forwarding) switchedOff(name string, uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if wait, ok := f.waiting[name]; ok && wait.uid == uid {
		wait.off = true
		f.waiting[name] = wait
	}
}

// forget drops a Node that waits, and none that was made anew under its name.
func (f *forwarding) forget(name string, uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting[name].uid == uid {
		delete(f.waiting, name)
	}
}

func (f *forwarding) has(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.waiting[name]
	return ok
}

// overdue gives the nodes that the cloud has let wait for too long and that were not reported before.
func (f *forwarding) overdue(now time.Time) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for name, wait := range f.waiting {
		if !wait.warned && !wait.failed && now.Sub(wait.since) >= forwardingPatience {
			wait.warned = true
			f.waiting[name] = wait
			names = append(names, name)
		}
	}
	return names
}

// forwardingPatience is how long a node waits for its network interface before a warning says so.
const forwardingPatience = time.Minute
