package controller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// home is where the cluster's instances are, as far as that is known.
type home struct {
	where atomic.Pointer[nodestate.Home]
	// inhabited is set once an instance of a node was found there. Before, it is as likely that the configuration is wrong
	// as that a node is.
	inhabited atomic.Bool

	mu sync.Mutex
	// late are the Nodes that became the controller's after they had registered, by name. Else a kubelet that keeps its
	// instance to itself, or leaves its Node out by a label, until the Node is not new any more would be asked for less.
	late map[string]types.UID
}

// note remembers a Node that has become the controller's.
func (h *home) note(node *corev1.Node) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.late == nil {
		h.late = map[string]types.UID{}
	}
	h.late[node.Name] = node.UID
}

// joins reports whether a node was not in service yet, as far as is known.
func (h *home) joins(node *corev1.Node) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	uid, late := h.late[node.Name]
	return late && uid == node.UID || nodestate.Joins(node, time.Now())
}

func (h *home) forget(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.late, name)
}

// findHome gives where the instances of the cluster are. Where the configuration names no VPC, the gateway is asked for
// its own once.
func (c *Controller) findHome(ctx context.Context) (nodestate.Home, error) {
	if known := c.home.where.Load(); known != nil {
		return *known, nil
	}
	vpc, err := c.cfg.Gateway.VPC(ctx, c.cfg.VPCID)
	if err != nil {
		return nodestate.Home{}, err
	}
	where := nodestate.Home{VPCs: slices.Concat([]string{vpc}, c.cfg.NodeVPCIDs), Tag: c.cfg.ClusterTag, ClusterID: c.cfg.ClusterID}
	c.home.where.Store(&where)
	return where, nil
}

// belongs is an error that says why the instance of a node is none of the cluster's, or why that can't be found out.
func (c *Controller) belongs(ctx context.Context, node *corev1.Node, instance *ecsv1.Instance) error {
	where, err := c.findHome(ctx)
	if err != nil {
		return err
	}
	if where.Contains(instance) {
		c.home.inhabited.Store(true)
	}
	if why := where.Foreign(c.home.joins(node), instance, c.cfg.Options); why != "" {
		return foreignError{errors.New(why)}
	}
	return nil
}

// mayKeep is belongs for a node in service: an error means that it is to be marked. It is none before an instance of
// any node was found where the cluster is: of a wrong configuration all nodes would suffer.
func (c *Controller) mayKeep(ctx context.Context, node *corev1.Node, instance *ecsv1.Instance) error {
	if err := c.belongs(ctx, node, instance); isForeign(err) && (c.home.inhabited.Load() || c.home.joins(node)) {
		return err
	}
	return nil
}

// foreignError says why an instance is none of the cluster's.
type foreignError struct{ error }

func isForeign(err error) bool {
	var foreign foreignError
	return errors.As(err, &foreign)
}

// refuse marks a node whose instance is none of the cluster's, so that it gets no route and becomes no server, and
// gives the reason again.
func (c *Controller) refuse(ctx context.Context, node *corev1.Node, why error) error {
	_, err := c.write(ctx, node, func(node *corev1.Node) (nodestate.Change, error) { return nodestate.Refused(node), nil })
	return errors.Join(why, err)
}
