package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"
)

// Reasons and messages of the condition, the same as those of the existing CCM.
const (
	reasonRoute    = "RouteCreated"
	messageRoute   = "RouteController created a route"
	reasonNoRoute  = "NoRouteCreated"
	messageNoRoute = "RouteController failed to create a route"
	// reasonExcluded is ours: the node asks for no route any more.
	reasonExcluded  = "RouteNotWanted"
	messageExcluded = "The node has a label that excludes it, and gets no route"
)

// conflictDelay is when a Node is looked at again that the cache did not have as it is.
const conflictDelay = time.Second

// reconcileCondition writes the condition of one node if the tables say something else than it does.
func (c *Controller) reconcileCondition(ctx context.Context, name string) error {
	node, err := c.nodes.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get node %s: %w", name, err)
	}
	condition, ok := c.wantedCondition(node)
	if !ok {
		return nil
	}
	// The API server refuses to patch, with a conflict, a Node that was made anew under the name.
	patch := map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{condition}}}
	if node.UID != "" {
		patch["metadata"] = map[string]any{"uid": node.UID}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode the condition of node %s: %w", name, err)
	}
	// Conditions merge by type, so this patch can't undo what the kubelet writes meanwhile.
	_, err = c.cfg.Client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	if apierrors.IsConflict(err) {
		return reconcile.After(err, conflictDelay)
	}
	if err != nil {
		return fmt.Errorf("patch condition NetworkUnavailable of node %s: %w", name, err)
	}
	c.log.Info("condition NetworkUnavailable written", "node", name, "status", condition.Status)
	return nil
}

// wantedCondition gives the condition to write, and false if there is nothing to write.
func (c *Controller) wantedCondition(node *corev1.Node) (corev1.NodeCondition, bool) {
	if nodes.Excluded(node) {
		return released(node)
	}
	ready, known, cause := c.verdicts.ready(node.Name, c.cfg.Scope.KeysOf(node))
	if !known {
		return corev1.NodeCondition{}, false
	}
	if ready {
		if cause, known = c.unmanagedTable(c.cfg.Scope.KeysOf(node)); !known {
			return corev1.NodeCondition{}, false
		}
		ready = cause == ""
	}
	now := metav1.Now()
	condition := corev1.NodeCondition{
		Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: reasonRoute, Message: messageRoute,
		LastHeartbeatTime: now, LastTransitionTime: now,
	}
	if ready {
		there, _ := nodes.Condition(node, corev1.NodeNetworkUnavailable)
		return condition, there.Status != condition.Status || there.Reason == reasonExcluded
	}
	condition.Status, condition.Reason, condition.Message = corev1.ConditionTrue, reasonNoRoute, messageNoRoute
	if cause == "" {
		return condition, networkUnavailable(node) != condition.Status
	}
	condition.Message += ": " + cause
	there, _ := nodes.Condition(node, corev1.NodeNetworkUnavailable)
	if there.Status == condition.Status {
		condition.LastTransitionTime = there.LastTransitionTime
	}
	return condition, there.Status != condition.Status || there.Message != condition.Message
}

// released takes back what was said about a node that asks for no route any more; no other component would.
func released(node *corev1.Node) (corev1.NodeCondition, bool) {
	there, _ := nodes.Condition(node, corev1.NodeNetworkUnavailable)
	now := metav1.Now()
	return corev1.NodeCondition{
		Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: reasonExcluded, Message: messageExcluded,
		LastHeartbeatTime: now, LastTransitionTime: now,
	}, there.Status == corev1.ConditionTrue && there.Reason == reasonNoRoute
}

// networkUnavailable is the status of the condition, empty if there is none.
func networkUnavailable(node *corev1.Node) corev1.ConditionStatus {
	condition, _ := nodes.Condition(node, corev1.NodeNetworkUnavailable)
	return condition.Status
}
