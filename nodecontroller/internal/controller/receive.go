package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/tracing"
)

// arrivalTimeout bounds the reads for nodes that have been gathered.
const arrivalTimeout = time.Minute

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
	if _, err := c.findHome(ctx); err != nil { // Asked for once, before all attempts ask.
		tracing.Log(ctx, c.log).Info("the VPC of the cluster is not known yet", "error", err)
	}
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

// giveBack keeps what was read of a node for the next attempt if it is the API server that failed: the cloud need not
// be asked again for that. It gives the error as it is.
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
	resp, err := c.cfg.Gateway.NetworkInterfaces.BatchGetNetworkInterfaces(ctx,
		&ecsv1.BatchGetNetworkInterfacesRequest{NetworkInterfaceIds: ids})
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
