package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// decision is what to write to a node, as far as that is known beforehand.
type decision func(node *corev1.Node) (nodestate.Change, error)

// write decides about a node and carries the change out, with one patch per subresource at most. The status comes first: when
// the taint of an uninitialised node goes, the condition that keeps pods away has to be there. It gives the node as it is then, which
// the cache may not have yet; one that is gone meanwhile is no failure.
func (c *Controller) write(ctx context.Context, node *corev1.Node, decide decision) (*corev1.Node, error) {
	change, err := decide(node)
	if err != nil {
		return node, err
	}
	if change.Status() {
		written, err := c.patch(ctx, node, change.StatusPatch(metav1.Now()), "status")
		if apierrors.IsNotFound(err) {
			return node, nil
		}
		if err != nil {
			return node, fmt.Errorf("patch status: %w", err)
		}
		node = written
	}
	// A conflict means that another client changed the node after it was read, maybe its taints: it is read and decided about again.
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if !change.Object() {
			return nil
		}
		written, err := c.patch(ctx, node, change.ObjectPatch(node))
		if err == nil {
			node = written
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		fresh, again := c.cfg.Client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
		if again != nil {
			return again
		}
		if fresh.UID != node.UID {
			change = nodestate.Change{} // Made anew, maybe for another instance: it is a key of its own.
			return nil
		}
		node = fresh
		if change, again = decide(node); again != nil {
			return again
		}
		return err
	})
	if apierrors.IsNotFound(err) {
		return node, nil
	}
	if err != nil {
		return node, fmt.Errorf("patch node: %w", err)
	}
	c.reportShutdown(node, change)
	return node, nil
}

// patch changes the very node that was read: the API server refuses, with a conflict, to patch one that was made anew under its name.
func (c *Controller) patch(ctx context.Context, node *corev1.Node, patch map[string]any, subresources ...string) (*corev1.Node, error) {
	if node.UID != "" {
		metadata, ok := patch["metadata"].(map[string]any)
		if !ok {
			metadata = map[string]any{}
			patch["metadata"] = metadata
		}
		metadata["uid"] = node.UID
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode the patch: %w", err)
	}
	return c.cfg.Client.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, subresources...)
}

// attempted records an event if an attempt failed, and gives the error as it is. Neither being asked to wait nor another client that
// keeps changing the node is a failure of the node.
func (c *Controller) attempted(ctx context.Context, node *corev1.Node, err error) error {
	if err == nil || ctx.Err() != nil || apierrors.IsConflict(err) {
		return err
	}
	if _, wait := rpcerr.RetryAfter(err); !wait {
		c.syncFailed(node, err)
	}
	return err
}

// inStep decides as nodestate does, by one state of the instance.
func (c *Controller) inStep(instance *ecsv1.Instance) decision {
	return func(node *corev1.Node) (nodestate.Change, error) {
		change, err := nodestate.Decide(node, instance, c.cfg.Options)
		if err == nil && c.losses.doubts(node, change, time.Now()) {
			change.Addresses, change.AddressesDiffer = nil, false
		}
		return change, err
	}
}

// inStepTainted is inStep for a node that must not run pods yet.
func (c *Controller) inStepTainted(instance *ecsv1.Instance) decision {
	return func(node *corev1.Node) (nodestate.Change, error) {
		change, err := nodestate.Decide(node, instance, c.cfg.Options)
		return change.Tainted(), err
	}
}

// onlyUntaint only takes the taint of an uninitialised node off.
func onlyUntaint(node *corev1.Node) (nodestate.Change, error) {
	if !nodes.IsUninitialized(node) {
		return nodestate.Change{}, nil
	}
	return nodestate.Change{Untaint: []string{nodes.TaintUninitialized}}, nil
}

// reportShutdown reports that the taint of a stopped instance has come or gone.
func (c *Controller) reportShutdown(node *corev1.Node, change nodestate.Change) {
	isShutdown := func(t corev1.Taint) bool { return t.Key == nodes.TaintShutdown }
	switch {
	case slices.ContainsFunc(change.Taint, isShutdown):
		c.log.Info("node tainted, its instance is stopped", "node", node.Name, "providerId", node.Spec.ProviderID)
		c.normal(node.Name, eventStopped,
			"The instance "+node.Spec.ProviderID+" is stopped; the node has the taint "+nodes.TaintShutdown)
	case slices.Contains(change.Untaint, nodes.TaintShutdown):
		c.log.Info("node untainted, its instance is not stopped any more", "node", node.Name, "providerId", node.Spec.ProviderID)
	}
}
