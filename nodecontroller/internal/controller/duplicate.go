package controller

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// reportDuplicates says of Nodes that their instance is that of another Node, too.
func (c *Controller) reportDuplicates(all []*corev1.Node) {
	before, now := c.duplicates, nodestate.Duplicates(all)
	c.duplicates = now
	for name := range before {
		if _, still := now[name]; !still {
			c.events.Resolve(kube.NodeReference(name), eventDuplicate)
		}
	}
	byName := make(map[string]*corev1.Node, len(all))
	for _, node := range all {
		byName[node.Name] = node
	}
	for i, name := range slices.Sorted(maps.Keys(now)) {
		if i == maxEvents {
			break
		}
		node, other := byName[name], now[name]
		next := "if the kubelet was renamed, delete the Node that is not its own any more; else correct --provider-id and delete this Node"
		if nodes.Silent(node) {
			next = "its kubelet doesn't report: if it was renamed, delete this Node"
		}
		c.warn(name, eventDuplicate, fmt.Sprintf("spec.providerID %s is that of node %s, too; %s", node.Spec.ProviderID, other, next))
	}
}
