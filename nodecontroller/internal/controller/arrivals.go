package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/tracing"
)

const (
	// arrivalQuiet and arrivalMax bound how long nodes that join are gathered for one read. One node alone waits for arrivalQuiet. The next read
	// begins arrivalMax after it at the earliest, so that nodes which trickle in cost no more reads than those that come at once.
	arrivalQuiet = 100 * time.Millisecond
	arrivalMax   = time.Second
	// foundAge is how long what was read of a node may be used for another attempt, where the first one failed at the API server.
	foundAge = time.Minute
	// arrivalTimeout bounds the reads for nodes that have been gathered.
	arrivalTimeout = time.Minute
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

// receive reads the instances of nodes that have joined together and queues the nodes, the oldest first. What can't be read
// together, each attempt reads by itself: one bad id holds up no other node.
func (c *Controller) receive(ctx context.Context, names []string) {
	ctx, cancel := context.WithTimeout(ctx, arrivalTimeout)
	defer cancel()
	joining := make([]*corev1.Node, 0, len(names))
	for _, name := range names {
		if node, err := c.nodes.Get(name); err == nil {
			joining = append(joining, node)
		}
	}
	slices.SortFunc(joining, func(a, b *corev1.Node) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	if err := c.readTogether(ctx, joining); err != nil {
		tracing.Log(ctx, c.log).Info("joining nodes are read one by one", "nodes", len(joining), "error", err)
	}
	for _, node := range joining {
		c.init.Add(node.Name, reconcile.Node)
	}
}

// readTogether reads the instances of nodes, and their primary network interfaces where those may have to be changed.
func (c *Controller) readTogether(ctx context.Context, joining []*corev1.Node) error {
	var asked []*corev1.Node
	var ids []string
	for _, node := range joining {
		if id, ok := nodes.ParseProviderID(node.Spec.ProviderID); ok && id.Region == c.cfg.Region {
			asked, ids = append(asked, node), append(ids, id.InstanceID)
		}
	}
	if len(ids) < 2 { //nolint:mnd // One alone is read by its attempt.
		return nil
	}
	resp, err := c.cfg.Gateway.Instances.BatchGetInstances(ctx, &ecsv1.BatchGetInstancesRequest{InstanceIds: ids})
	if err != nil {
		return fmt.Errorf("get %d instances: %w", len(ids), err)
	}
	if len(resp.GetResults()) != len(ids) {
		return fmt.Errorf("gateway answered %d results for %d instances", len(resp.GetResults()), len(ids))
	}
	at := time.Now()
	enis, err := c.readInterfaces(ctx, resp.GetResults())
	for i, result := range resp.GetResults() {
		if instance := result.GetInstance(); instance != nil {
			c.arrivals.keep(asked[i], found{instance: instance, eni: enis[instance.GetPrimaryNetworkInterfaceId()], at: at})
		}
	}
	return err
}

// giveBack keeps what was read of a node for the next attempt if it is the API server that failed: the cloud need not be asked again for that.
// It gives the error as it is.
func (c *Controller) giveBack(node *corev1.Node, seen found, err error) error {
	if err == nil {
		return nil
	}
	if _, undecided := c.inStep(seen.instance)(node); undecided == nil {
		c.arrivals.keep(node, seen)
	}
	return err
}

// readInterfaces reads the primary network interfaces of instances, by their ids.
func (c *Controller) readInterfaces(ctx context.Context, results []*ecsv1.InstanceResult) (map[string]*ecsv1.NetworkInterface, error) {
	var ids []string
	for _, result := range results {
		if eni := result.GetInstance().GetPrimaryNetworkInterfaceId(); eni != "" && c.forwards() {
			ids = append(ids, eni)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	resp, err := c.cfg.Gateway.NetworkInterfaces.BatchGetNetworkInterfaces(ctx, &ecsv1.BatchGetNetworkInterfacesRequest{NetworkInterfaceIds: ids})
	if err != nil {
		return nil, fmt.Errorf("get %d network interfaces: %w", len(ids), err)
	}
	enis := make(map[string]*ecsv1.NetworkInterface, len(ids))
	for _, result := range resp.GetResults() {
		if eni := result.GetNetworkInterface(); eni != nil {
			enis[eni.GetNetworkInterfaceId()] = eni
		}
	}
	return enis, nil
}
