// Package nodes holds the facts about nodes on which all controllers have to agree: which instance a node is, and which nodes
// are left out of what.
package nodes

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Labels that take a node out, unless their value is false.
const (
	// LabelExclude takes a node out of load balancing, of routes and of the periodic node sync.
	LabelExclude = "service.alibabacloud.com/exclude-node"
	// LabelExcludeOld is the older name of LabelExclude.
	LabelExcludeOld = "service.beta.kubernetes.io/exclude-node"
	// LabelExcludeFromLoadBalancers takes a node out of load balancing only (source: k8s.io/api, well-known labels).
	LabelExcludeFromLoadBalancers = corev1.LabelNodeExcludeBalancers
	// LabelExcludeFromLoadBalancersOld is the deprecated name of LabelExcludeFromLoadBalancers.
	LabelExcludeFromLoadBalancersOld = "alpha.service-controller.kubernetes.io/exclude-balancer"
)

// DefaultClusterTag is the key of the tag that ACK puts on the instances of a cluster; its value is the cluster's id.
const DefaultClusterTag = "ack.aliyun.com"

// Other labels, taints and annotations of nodes.
const (
	// LabelMaster marks a control plane node, old name.
	LabelMaster = "node-role.kubernetes.io/master"
	// LabelControlPlane marks a control plane node.
	LabelControlPlane = "node-role.kubernetes.io/control-plane"
	// LabelType with ValueVirtual marks a virtual node.
	LabelType = "type"
	// ValueVirtual is the value of LabelType of a virtual node.
	ValueVirtual = "virtual-kubelet"
	// LabelLingjun with value true marks a Lingjun machine, which is no ECS instance.
	LabelLingjun = "alibabacloud.com/lingjun-worker"
	// TaintUninitialized is taken off by the node controller (source: k8s.io/cloud-provider/api).
	TaintUninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
	// TaintShutdown is on a node whose instance is stopped (source: k8s.io/cloud-provider/api).
	TaintShutdown = "node.cloudprovider.kubernetes.io/shutdown"
	// TaintForeign is on a node that says it is an instance which is none of the cluster's; the node controller sets it
	// and takes it off. A taint because a kubelet may not change those of its own Node (source: Kubernetes, admission
	// plugin NodeRestriction).
	TaintForeign = "node.alibabacloud.com/foreign-instance"
	// TaintToBeDeleted is set by the cluster autoscaler before it removes a node.
	TaintToBeDeleted = "ToBeDeletedByClusterAutoscaler"
	// AnnotationProvidedIP holds kubelet's --node-ip (source: k8s.io/cloud-provider/api).
	AnnotationProvidedIP = "alpha.kubernetes.io/provided-node-ip"
	// AnnotationCloudLabels names the labels that the node controller has set and takes off again when the cloud has no value for them any
	// more; separated by commas.
	AnnotationCloudLabels = "node.alibabacloud.com/cloud-labels"
	// AnnotationInstanceAbsent is on a node whose kubelet reports though its instance is proven to be gone; its value is the instance. The
	// machine is another one then, and what the cloud does for the old one does not reach it.
	AnnotationInstanceAbsent = "node.alibabacloud.com/instance-absent"
)

// Conditions of a Node's life (source: Kubernetes 1.37, node lifecycle conditions, KEP-5683). Whoever maintains nodes sets and clears them.
const (
	ConditionMaintenancePlanned    corev1.NodeConditionType = "MaintenancePlanned"
	ConditionMaintenanceInProgress corev1.NodeConditionType = "MaintenanceInProgress"
	ConditionDrainInProgress       corev1.NodeConditionType = "DrainInProgress"
	// ReasonEventImminent is the reason of MaintenancePlanned by which the node controller says that the instance is interrupted within
	// moments, or is being interrupted.
	ReasonEventImminent = "SystemEventImminent"
)

// Draining reports whether a node is being drained or maintained, or is about to be.
func Draining(node *corev1.Node) bool {
	for _, kind := range []corev1.NodeConditionType{ConditionDrainInProgress, ConditionMaintenanceInProgress} {
		if c, _ := Condition(node, kind); c.Status == corev1.ConditionTrue {
			return true
		}
	}
	planned, _ := Condition(node, ConditionMaintenancePlanned)
	return planned.Status == corev1.ConditionTrue && planned.Reason == ReasonEventImminent
}

// Excluded reports whether the node is none of ours at all: it carries an exclude label or is a machine outside of the cloud.
func Excluded(node *corev1.Node) bool {
	return isSet(node, LabelExclude) || isSet(node, LabelExcludeOld) || strings.HasPrefix(node.Spec.ProviderID, hybridPrefix)
}

// ExcludedFromLoadBalancer reports whether the node must not be a backend: it is Excluded, carries a label that says so, among them the old
// one of the control plane, or is virtual. One that is about to be removed by the cluster autoscaler has TaintToBeDeleted.
func ExcludedFromLoadBalancer(node *corev1.Node) bool {
	return Excluded(node) ||
		isSet(node, LabelExcludeFromLoadBalancers) || isSet(node, LabelExcludeFromLoadBalancersOld) ||
		hasLabel(node, LabelMaster) || IsVirtual(node)
}

// IsControlPlane reports whether the node belongs to the control plane, by either label.
func IsControlPlane(node *corev1.Node) bool {
	return hasLabel(node, LabelMaster) || hasLabel(node, LabelControlPlane)
}

// IsVirtual reports whether the node stands for elastic container instances; it has no address of its own, but its pods do.
func IsVirtual(node *corev1.Node) bool { return node.Labels[LabelType] == ValueVirtual }

// IsLingjun reports whether the node is a Lingjun machine, of which the cloud's ECS API knows nothing.
func IsLingjun(node *corev1.Node) bool { return node.Labels[LabelLingjun] == "true" }

// IsUninitialized reports whether the node waits for its initialisation by the node controller.
func IsUninitialized(node *corev1.Node) bool { return HasTaint(node, TaintUninitialized) }

// Foreign reports whether the node says that it is an instance which is none of the cluster's: nothing in the cloud is
// changed for it.
func Foreign(node *corev1.Node) bool { return HasTaint(node, TaintForeign) }

// HasTaint reports whether the node has a taint of that key, with whatever effect.
func HasTaint(node *corev1.Node, key string) bool {
	for i := range node.Spec.Taints {
		if node.Spec.Taints[i].Key == key {
			return true
		}
	}
	return false
}

// InstanceAbsent reports whether the node's instance is proven to be gone though its kubelet reports.
func InstanceAbsent(node *corev1.Node) bool {
	id, ok := ParseProviderID(node.Spec.ProviderID)
	return ok && node.Annotations[AnnotationInstanceAbsent] == id.InstanceID
}

// Ready gives the status of the node's Ready condition, Unknown if it has none: a node that has not begun to report serves
// no traffic. Silent reports whether a node has stopped reporting.
func Ready(node *corev1.Node) corev1.ConditionStatus {
	if ready, ok := Condition(node, corev1.NodeReady); ok {
		return ready.Status
	}
	return corev1.ConditionUnknown
}

// Silent reports whether the kubelet of the node has stopped reporting: the Ready condition is there and Unknown. A node without
// the condition has not begun to report, which is no evidence of its end.
func Silent(node *corev1.Node) bool {
	ready, ok := Condition(node, corev1.NodeReady)
	return ok && ready.Status == corev1.ConditionUnknown
}

// Condition gives a condition of the node, false if it has none of that type.
func Condition(node *corev1.Node, kind corev1.NodeConditionType) (corev1.NodeCondition, bool) {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == kind {
			return node.Status.Conditions[i], true
		}
	}
	return corev1.NodeCondition{}, false
}

// isSet reports that a label says yes. Kubernetes 1.34 and later take false for a no.
func isSet(node *corev1.Node, key string) bool {
	return hasLabel(node, key) && !strings.EqualFold(node.Labels[key], "false")
}

func hasLabel(node *corev1.Node, key string) bool {
	_, ok := node.Labels[key]
	return ok
}
