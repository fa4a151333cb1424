package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/nodes"
)

// errNoInstance says that no instance is found by a node's address.
var errNoInstance = errors.New("there is no instance")

// instanceByAddress finds the one instance of the VPC that has the node's internal address and the cluster's tag. Anything but
// exactly one is an error: a wrong guess would give the node a stranger's routes.
func (c *Controller) instanceByAddress(ctx context.Context, node *corev1.Node) (*ecsv1.Instance, error) {
	ip, err := internalIP(node)
	if err != nil {
		return nil, err
	}
	vpc, err := c.cfg.Gateway.VPC(ctx, c.cfg.VPCID)
	if err != nil {
		return nil, err
	}
	resp, err := c.cfg.Gateway.Instances.ListInstances(ctx, &ecsv1.ListInstancesRequest{
		VpcId: vpc, PrivateIps: []string{ip}, Tags: []*commonv1.Tag{{Key: c.cfg.ClusterTag}},
	})
	if err != nil {
		return nil, fmt.Errorf("find the instance with address %s: %w", ip, err)
	}
	n := len(resp.GetInstances())
	if n == 0 {
		return nil, fmt.Errorf("%w in %s with address %s and tag %s; start the kubelet with --provider-id=%s.<instance id>",
			errNoInstance, vpc, ip, c.cfg.ClusterTag, c.cfg.Region)
	}
	if n != 1 {
		return nil, fmt.Errorf("%d instances in %s have address %s and tag %s; start the kubelet with --provider-id=%s.<instance id>",
			n, vpc, ip, c.cfg.ClusterTag, c.cfg.Region)
	}
	return resp.GetInstances()[0], nil
}

// internalIP is the node's one internal IPv4 address. Before the initialisation, the kubelet only reports its --node-ip, in an
// annotation.
func internalIP(node *corev1.Node) (string, error) {
	var found []string
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP && !strings.Contains(address.Address, ":") {
			found = append(found, address.Address)
		}
	}
	if len(found) == 0 {
		for text := range strings.SplitSeq(node.Annotations[nodes.AnnotationProvidedIP], ",") {
			if text = strings.TrimSpace(text); text != "" && !strings.Contains(text, ":") {
				found = append(found, text)
			}
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("spec.providerID is empty and the node has %d internal IPv4 addresses to find its instance by; "+
			"start the kubelet with --provider-id=<region>.<instance id>", len(found))
	}
	return found[0], nil
}
