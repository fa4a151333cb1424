package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"
)

// reconcileNode brings a tainted node into service, and looks whether the instance of another is stopped.
func (c *Controller) reconcileNode(ctx context.Context, name string) error {
	node, err := c.nodes.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get node %s: %w", name, err)
	}
	switch {
	case nodes.IsVirtual(node):
		if ok := nodes.IsUninitialized(node) && c.isInstance(node); ok {
			c.syncFailed(node,
				fmt.Errorf("label %s=%s says that the node is virtual, and spec.providerID %q that it is an ECS instance; take off the label, "+
					"or the taint %s if it is right", nodes.LabelType, nodes.ValueVirtual, node.Spec.ProviderID, nodes.TaintUninitialized))
		}
		return nil
	case nodes.IsUninitialized(node):
		return c.initialize(ctx, node)
	case c.isNameless(node):
		c.syncFailed(node, errors.New(c.providerIDProblem(node.Spec.ProviderID)+"; until then it is no server, and has no routes"))
		return nil
	default:
		return c.lookAtShutdown(ctx, node)
	}
}

// initialize brings one tainted node into service, or as far as it can come before its network interface is changed.
func (c *Controller) initialize(ctx context.Context, node *corev1.Node) error {
	start := time.Now()
	defer func() { c.metrics.observe(verbReconcile, start) }()
	return c.attempted(ctx, node, c.initializeNode(ctx, node))
}

func (c *Controller) initializeNode(ctx context.Context, node *corev1.Node) error {
	start := time.Now()
	id, ok := nodes.ParseProviderID(node.Spec.ProviderID)
	switch {
	case node.Spec.ProviderID == "" || ok && id.Region == c.cfg.Region:
	case !ok && nodes.IsLingjun(node): // It is only let in.
		_, err := c.write(ctx, node, onlyUntaint)
		return err
	case nodes.Excluded(node):
		c.reportExcluded(node)
		return nil
	default:
		return reconcile.Terminal(errors.New(c.providerIDProblem(node.Spec.ProviderID)))
	}
	seen, ok := c.arrivals.take(node)
	if !ok || id.InstanceID != "" && seen.instance.GetInstanceId() != id.InstanceID {
		instance, err := c.instanceOf(ctx, node, id)
		switch {
		case errors.Is(err, errNoInstance) && nodes.Excluded(node):
			c.reportExcluded(node)
			return nil
		case errors.Is(err, errNoInstance) && nodes.Silent(node):
			return reconcile.Terminal(fmt.Errorf("%w; the kubelet doesn't report: if its machine is gone, delete the Node", err))
		case err != nil:
			return err
		}
		seen = found{instance: instance, at: time.Now()}
	}
	if err := c.belongs(ctx, node, seen.instance); isForeign(err) {
		return c.refuse(ctx, node, err)
	} else if err != nil {
		return c.giveBack(node, seen, err)
	}
	checked, err := c.checked(ctx, seen.instance, seen.eni)
	if err == nil && !checked {
		return c.giveBack(node, seen, c.finish(ctx, node, seen.instance, start))
	}
	// Labels and addresses do not wait for the network interface, whose changes the cloud limits most.
	written, writeErr := c.write(ctx, node, c.inStepTainted(seen.instance))
	if err := errors.Join(err, c.giveBack(node, seen, writeErr)); err != nil {
		return err
	}
	c.queueForwarding(node, written, seen.instance)
	return nil
}

// reportExcluded says of an excluded node that it is none of the controller's.
func (c *Controller) reportExcluded(node *corev1.Node) {
	c.events.Resolve(kube.NodeReference(node.Name), eventSyncFailed)
	c.normal(node.Name, eventExcluded,
		fmt.Sprintf("The node is excluded, and spec.providerID %q is no ECS instance of %s; the taint %s is left to "+
			"whoever initializes the node. Take it off by hand if nothing does", node.Spec.ProviderID, c.cfg.Region, nodes.TaintUninitialized))
}

// providerIDProblem says why a provider id names no instance of this region, and what to do.
func (c *Controller) providerIDProblem(providerID string) string {
	id, ok := nodes.ParseProviderID(providerID)
	if !ok {
		return nodes.ProviderIDProblem(providerID, c.cfg.Region)
	}
	return fmt.Sprintf(
		"spec.providerID %q names region %s, but this controller works for %s; if that is the region of the instance, start the "+
			"kubelet with --provider-id=%s and delete the Node, else label it %s", providerID, id.Region, c.cfg.Region,
		nodes.ID{Region: c.cfg.Region, InstanceID: id.InstanceID}, nodes.LabelExclude)
}

// instanceOf finds the instance of a node: by its id, or by its address if it has no provider ID.
func (c *Controller) instanceOf(ctx context.Context, node *corev1.Node, id nodes.ID) (*ecsv1.Instance, error) {
	if id.InstanceID == "" {
		return c.instanceByAddress(ctx, node)
	}
	resp, err := c.cfg.Gateway.Instances.GetInstance(ctx, &ecsv1.GetInstanceRequest{InstanceId: id.InstanceID})
	if rpcerr.ReasonOf(err) == rpcerr.InstanceNotFound {
		return nil, fmt.Errorf("the cloud does not know the instance of spec.providerID %q; if it was released, delete the Node, else start the "+
			"kubelet with the right --provider-id: %w", node.Spec.ProviderID, err)
	}
	if err != nil {
		return nil, fmt.Errorf("get instance %s: %w", id.InstanceID, err)
	}
	return resp.GetInstance(), nil
}
