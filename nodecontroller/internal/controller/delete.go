package controller

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
)

// deleteNode deletes a node if it still is the silent one that was decided on: the decision was made on cached state.
func (c *Controller) deleteNode(ctx context.Context, name string) error {
	cached, err := c.nodes.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get node: %w", err)
	}
	node, err := c.cfg.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get node: %w", err)
	}
	if node.UID != cached.UID || !nodes.Silent(node) {
		return errors.New("the node has changed meanwhile")
	}
	err = c.cfg.Client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &node.UID, ResourceVersion: &node.ResourceVersion},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete node: %w", err)
	}
	c.log.Info("node deleted, its instance is gone", "node", name, "providerId", node.Spec.ProviderID)
	c.metrics.deleted.Inc()
	c.normal(name, eventDeleted, "Deleted node "+name+", its instance "+node.Spec.ProviderID+" is gone")
	return nil
}

// isThere reports whether the very node exists and is not being deleted, by a live read: the cache may be behind.
func (c *Controller) isThere(ctx context.Context, s lifecycle.Observation) bool {
	node, err := c.cfg.Client.CoreV1().Nodes().Get(ctx, s.Node, metav1.GetOptions{})
	return err == nil && string(node.UID) == s.UID && node.DeletionTimestamp == nil
}
