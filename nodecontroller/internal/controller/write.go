package controller

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/initialize"
)

// write carries out a change with one patch per subresource at most. The status comes first: when the taint goes, the condition
// that keeps pods away has to be there.
func (c *Controller) write(ctx context.Context, node *corev1.Node, change initialize.Change) error {
	if change.Status() {
		written, err := c.patch(ctx, node.Name, change.StatusPatch(metav1.Now()), "status")
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("patch status: %w", err)
		}
		node = written
	}
	if !change.Object() {
		return nil
	}
	// A conflict means that somebody changed the node after it was read, maybe its taints: they are read again.
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		_, err := c.patch(ctx, node.Name, change.ObjectPatch(node))
		if !apierrors.IsConflict(err) {
			return err
		}
		fresh, getErr := c.cfg.Client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
		if getErr != nil {
			return getErr
		}
		node = fresh
		change.Untaint = nodes.IsUninitialized(node)
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("patch node: %w", err)
	}
	return nil
}

func (c *Controller) patch(ctx context.Context, name string, patch map[string]any, subresources ...string) (*corev1.Node, error) {
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode the patch: %w", err)
	}
	return c.cfg.Client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, subresources...)
}
