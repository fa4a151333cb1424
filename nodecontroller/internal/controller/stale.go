package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// markAbsent marks and reports a node whose instance is gone though its kubelet reports. A machine that is made anew under
// its name adopts the Node, and nothing changes spec.providerID: labels, addresses, routes and servers stay those of the dead machine.
func (c *Controller) markAbsent(ctx context.Context, node *corev1.Node) {
	id, _ := c.ours(node)
	if !nodes.InstanceAbsent(node) {
		c.log.Warn("the instance of a node is gone, and its kubelet reports", "node", node.Name, "instance", id.InstanceID)
		if _, err := c.write(ctx, node, func(node *corev1.Node) (nodestate.Change, error) {
			return nodestate.MarkAbsent(node, id.InstanceID), nil
		}); err != nil {
			c.log.Warn("node is not marked", "node", node.Name, "error", err)
		}
	}
	c.syncFailed(node,
		fmt.Errorf("the cloud does not know instance %s of spec.providerID, but the kubelet reports: the machine is another one%s. "+
			"Labels, addresses, routes and load balancers are still those of %s; delete the Node and restart the kubelet, which then registers anew",
			id.InstanceID, c.successor(ctx, node), id.InstanceID))
}

// successor names the instance that has the address of a node by now, for people; empty if that can't be found out.
func (c *Controller) successor(ctx context.Context, node *corev1.Node) string {
	ip, err := internalIP(node)
	if err != nil {
		return ""
	}
	vpc, err := c.cfg.Gateway.VPC(ctx, c.cfg.VPCID)
	if err != nil {
		return ""
	}
	answer, err := c.cfg.Gateway.Instances.ListInstances(gateway.WithPriority(ctx, gateway.Background),
		&ecsv1.ListInstancesRequest{VpcId: vpc, PrivateIps: []string{ip}})
	if err != nil || len(answer.GetInstances()) != 1 {
		return ""
	}
	return fmt.Sprintf(" (%s has its address %s)", answer.GetInstances()[0].GetInstanceId(), ip)
}
