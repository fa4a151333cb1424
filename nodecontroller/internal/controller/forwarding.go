package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"
)

// forwardingWorkers change network interfaces at once. The cloud's limit of the call is what bounds them; more would only wait in
// the gateway.
const forwardingWorkers = 10

// checked reports whether the source/destination check of an instance's primary network interface is still on. eni is the
// interface if it was read already.
func (c *Controller) checked(ctx context.Context, instance *ecsv1.Instance, eni *ecsv1.NetworkInterface) (bool, error) {
	id := instance.GetPrimaryNetworkInterfaceId()
	switch {
	case !c.forwards() || !c.reachable(ctx, instance):
		return false, nil
	case id == "" && len(instance.GetNetworkInterfaceIds()) == 0: // It is in the classic network.
		return false, nil
	case id == "":
		return false,
			fmt.Errorf(
				"the cloud does not say which of the network interfaces %s of instance %s is the primary one, whose source/destination check "+
					"has to be off for pods to be reached; it is read again, or set disableSourceDestCheck to false and switch it off by hand",
				strings.Join(instance.GetNetworkInterfaceIds(), ", "), instance.GetInstanceId())
	}
	if eni == nil {
		resp, err := c.cfg.Gateway.NetworkInterfaces.GetNetworkInterface(ctx, &ecsv1.GetNetworkInterfaceRequest{NetworkInterfaceId: id})
		if err != nil {
			return false, fmt.Errorf("get network interface %s: %w", id, err)
		}
		eni = resp.GetNetworkInterface()
	}
	return eni.GetSourceDestCheck(), nil
}

// reachable reports whether routes may lead to an instance. None does to another VPC, so that nothing has to be changed there.
func (c *Controller) reachable(ctx context.Context, instance *ecsv1.Instance) bool {
	where, err := c.findHome(ctx)
	return err != nil || instance.GetVpcId() == "" || instance.GetVpcId() == where.VPCs[0]
}

// recheck looks at the network interfaces of nodes in service: somebody may have switched the source/destination check
// of one on again, or it was not to be off when the node joined. It is one call of the cloud for 100 nodes. What can't
// be read has its turn in the next round.
func (c *Controller) recheck(ctx context.Context, asked []*corev1.Node, results []*ecsv1.InstanceResult) error {
	var serving []*ecsv1.InstanceResult
	of := map[string]*corev1.Node{}
	for i, node := range asked {
		instance := results[i].GetInstance()
		if instance == nil || nodes.IsUninitialized(node) || !c.reachable(ctx, instance) ||
			c.belongs(ctx, node, instance) != nil {
			continue
		}
		serving, of[instance.GetInstanceId()] = append(serving, results[i]), node
	}
	ctx, cancel := context.WithTimeout(gateway.WithPriority(ctx, gateway.Background), answerTimeout)
	defer cancel()
	enis, err := c.readInterfaces(ctx, serving)
	if err != nil {
		return err
	}
	for _, result := range serving {
		instance := result.GetInstance()
		node, eni := of[instance.GetInstanceId()], enis[instance.GetPrimaryNetworkInterfaceId()]
		if eni.GetSourceDestCheck() {
			c.queueForwarding(node, node, instance)
		}
	}
	return nil
}

// forward switches the source/destination check of a waiting node's network interface off, and takes the node's taint off.
func (c *Controller) forward(ctx context.Context, name string) error {
	wait, ok := c.forwarding.begin(name)
	if !ok {
		return nil
	}
	node, err := c.nodes.Get(name)
	if apierrors.IsNotFound(err) || err == nil && node.UID != wait.uid {
		c.forwarding.forget(name, wait.uid)
		return nil
	}
	if err != nil {
		return fmt.Errorf("get node %s: %w", name, err)
	}
	if node == wait.cached {
		node = wait.written
	}
	if !wait.off {
		if err := c.switchCheckOff(ctx, wait); err != nil {
			_, putOff := rpcerr.RetryAfter(err)
			c.forwarding.attempted(name, wait.uid, !putOff)
			return c.attempted(ctx, node, err)
		}
		c.forwarding.switchedOff(name, wait.uid)
	}
	if !nodes.IsUninitialized(node) {
		c.forwarding.forget(name, wait.uid)
		c.events.Forget(kube.NodeReference(name), eventWaiting)
		c.events.Resolve(kube.NodeReference(name), eventSyncFailed)
		c.normal(name, eventCheckOff, "The source/destination check of network interface "+wait.instance.GetPrimaryNetworkInterfaceId()+
			" was on, so that pods of the node were not reached; it is off now")
		return nil
	}
	return c.attempted(ctx, node, c.finish(ctx, node, wait.instance, wait.since))
}

// switchCheckOff lets the primary network interface of an instance forward the packets of pods.
func (c *Controller) switchCheckOff(ctx context.Context, wait forwardingWait) error {
	if wait.tried {
		if checked, err := c.checked(ctx, wait.instance, nil); err != nil || !checked {
			return err
		}
	}
	eni := wait.instance.GetPrimaryNetworkInterfaceId()
	_, err := c.cfg.Gateway.NetworkInterfaces.UpdateNetworkInterface(ctx, &ecsv1.UpdateNetworkInterfaceRequest{
		NetworkInterfaceId: eni, SourceDestCheck: new(false),
	})
	if err != nil {
		return fmt.Errorf("switch off the source/destination check of network interface %s: %w", eni, err)
	}
	c.log.Info("source/destination check switched off", "networkInterface", eni, "instance", wait.instance.GetInstanceId())
	return nil
}

// watchForwarding reports nodes that wait for the cloud for long, until ctx ends.
func (c *Controller) watchForwarding(ctx context.Context) error {
	tick := time.NewTicker(forwardingPatience / 2) //nolint:mnd // Twice within the patience.
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			for _, name := range c.forwarding.overdue(now) {
				if node, err := c.nodes.Get(name); err != nil || !nodes.IsUninitialized(node) {
					continue
				}
				c.warn(name, eventWaiting, "The node has its labels and addresses, and keeps its taint "+nodes.TaintUninitialized+
					" until the source/destination check of its network interface is off; the cloud limits how many are changed in a minute")
			}
		}
	}
}

// finish writes what a node lacks, its taint included. Of a Node that went or was made anew meanwhile there is nothing to say.
func (c *Controller) finish(ctx context.Context, node *corev1.Node, instance *ecsv1.Instance, since time.Time) error {
	change, _ := c.inStep(instance)(node) // An error is that of the write.
	if _, err := c.write(ctx, node, c.inStep(instance)); err != nil {
		return err
	}
	if !c.current(node) {
		return nil
	}
	c.forwarding.forget(node.Name, node.UID)
	c.metrics.observe(verbRemoveTaint, since)
	c.metrics.initialized.Observe(time.Since(node.CreationTimestamp.Time).Seconds())
	c.events.Forget(kube.NodeReference(node.Name))
	c.reportTags(node, change)
	c.normal(node.Name, eventInitialized, "Initialized from instance "+instance.GetInstanceId())
	c.log.Info("node initialised", "node", node.Name, "instance", instance.GetInstanceId())
	return nil
}

// queueForwarding lets a node wait for its network interface, behind those that came before it.
func (c *Controller) queueForwarding(node, written *corev1.Node, instance *ecsv1.Instance) {
	c.forwarding.add(node, written, instance)
	c.forwardQueue.Add(node.Name, reconcile.Node)
}
