package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/nodecontroller/internal/initialize"
)

// labelLingjun marks nodes that are Lingjun machines and no ECS instances.
const labelLingjun = "alibabacloud.com/lingjun-worker"

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
		return nil
	case nodes.IsUninitialized(node):
		return c.initialise(ctx, node)
	default:
		return c.lookAtShutdown(ctx, node)
	}
}

// initialise brings one tainted node into service and tells it if that fails.
func (c *Controller) initialise(ctx context.Context, node *corev1.Node) error {
	start := time.Now()
	defer func() { c.metrics.observe(verbReconcile, start) }()
	err := c.initialiseNode(ctx, node)
	if err != nil {
		// Neither being asked to wait nor somebody who keeps changing the node is a failure of the node.
		if _, wait := rpcerr.RetryAfter(err); !wait && !apierrors.IsConflict(err) && ctx.Err() == nil {
			c.nodeEvent(node.Name, corev1.EventTypeWarning, eventSyncFailed, err.Error())
		}
	}
	return err
}

func (c *Controller) initialiseNode(ctx context.Context, node *corev1.Node) error {
	start := time.Now()
	id, ok := nodes.ParseProviderID(node.Spec.ProviderID)
	switch {
	case !ok && node.Spec.ProviderID != "" && node.Labels[labelLingjun] == "true":
		// The cloud's ECS API knows nothing of these machines: they are only let in.
		return c.write(ctx, node, letIn)
	case !ok && node.Spec.ProviderID != "":
		c.log.Debug("node is no ECS instance", "node", node.Name, "providerId", node.Spec.ProviderID)
		return nil
	case ok && id.Region != c.cfg.Region:
		return reconcile.Terminal(fmt.Errorf("spec.providerID %q names region %s, but this controller works for %s",
			node.Spec.ProviderID, id.Region, c.cfg.Region))
	}
	instance, err := c.instanceOf(ctx, node, id)
	if err != nil {
		return err
	}
	if err := c.allowForwarding(ctx, instance); err != nil {
		return err
	}
	if err := c.write(ctx, node, c.agree(instance)); err != nil {
		return err
	}
	c.metrics.observe(verbRemoveTaint, start)
	c.nodeEvent(node.Name, corev1.EventTypeNormal, eventInitialized, "Initialized from instance "+instance.GetInstanceId())
	c.log.Info("node initialised", "node", node.Name, "instance", instance.GetInstanceId())
	return nil
}

// agree decides as initialize does, by one state of the instance.
func (c *Controller) agree(instance *ecsv1.Instance) decision {
	return func(node *corev1.Node) (initialize.Change, error) {
		return initialize.Decide(node, instance, c.cfg.Options)
	}
}

// letIn only takes the taint of an uninitialised node off.
func letIn(node *corev1.Node) (initialize.Change, error) {
	if !nodes.IsUninitialized(node) {
		return initialize.Change{}, nil
	}
	return initialize.Change{Untaint: []string{nodes.TaintUninitialized}}, nil
}

// instanceOf finds the instance of a node: by its id, or by its address if the kubelet was not told an id.
func (c *Controller) instanceOf(ctx context.Context, node *corev1.Node, id nodes.ID) (*ecsv1.Instance, error) {
	if id.InstanceID == "" {
		return c.instanceByAddress(ctx, node)
	}
	resp, err := c.cfg.Gateway.Instances.GetInstance(ctx, &ecsv1.GetInstanceRequest{InstanceId: id.InstanceID})
	if err != nil {
		return nil, fmt.Errorf("get instance %s: %w", id.InstanceID, err)
	}
	return resp.GetInstance(), nil
}

// allowForwarding switches the source/destination check of the primary network interface off: packets of pods carry addresses
// that are not the instance's.
func (c *Controller) allowForwarding(ctx context.Context, instance *ecsv1.Instance) error {
	eni := instance.GetPrimaryNetworkInterfaceId()
	if !c.cfg.DisableSourceDestCheck || eni == "" {
		return nil
	}
	resp, err := c.cfg.Gateway.NetworkInterfaces.GetNetworkInterface(ctx, &ecsv1.GetNetworkInterfaceRequest{NetworkInterfaceId: eni})
	if err != nil {
		return fmt.Errorf("get network interface %s: %w", eni, err)
	}
	if !resp.GetNetworkInterface().GetSourceDestCheck() {
		return nil
	}
	_, err = c.cfg.Gateway.NetworkInterfaces.UpdateNetworkInterface(ctx, &ecsv1.UpdateNetworkInterfaceRequest{
		NetworkInterfaceId: eni, SourceDestCheck: new(false),
	})
	if err != nil {
		return fmt.Errorf("switch off the source/destination check of network interface %s: %w", eni, err)
	}
	c.log.Info("source/destination check switched off", "networkInterface", eni, "instance", instance.GetInstanceId())
	return nil
}
