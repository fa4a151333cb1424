// Package controller brings load balancers to what Services ask for. It knows Services, what is written on them, their events and the
// queue, and nothing of a kind of load balancers: each kind is one implementation of Kind.
package controller

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/cluster"
)

const (
	// maxWaiting is how many Services may wait for the cloud or the record at once, beyond those that are worked on. The
	// gateway takes 256 calls on a connection, and is the throttle: more would only hold memory, 0.3 MiB each with 1 000
	// nodes.
	maxWaiting = 200
	// maxPeriodic is how many Services are verified at once: what a user changes must not wait behind them at the gateway.
	maxPeriodic = 4
)

// Controller reconciles Services.
type Controller struct {
	base    *base
	watcher *watcher
}

// New makes a controller; nothing runs yet.
func New(cfg Config) (*Controller, error) {
	b := &base{Config: cfg, events: reporter{kube.NewEvents(cfg.Recorder, 0)}, metrics: newMetrics(cfg.Registerer)}
	c := &Controller{base: b, watcher: &watcher{base: b}}
	runner, err := reconcile.New(reconcile.Config{
		Name: "service-controller", Reconciler: worker{publisher{b}}, Workers: cfg.Workers, Waiting: maxWaiting, Periodic: maxPeriodic,
		Drain: cfg.Drain, Registerer: cfg.Registerer, Tracers: cfg.Tracers, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("make the queue: %w", err)
	}
	b.queue.Runner = runner
	c.watcher.gather = reconcile.NewGather(cfg.NodeQuiet, cfg.NodeMax, func(context.Context) { c.watcher.nodesChanged() })
	if b.cluster, err = cluster.New(cfg.Client, c.watcher.handlers()); err == nil {
		b.secrets, err = cluster.NewSecrets(cfg.Client, cfg.SecretNamespaces, c.watcher.secretChanged)
	}
	if err != nil {
		return nil, fmt.Errorf("watch the cluster: %w", err)
	}
	b.nodes.lister, b.nodes.excludeControlPlane, b.nodes.drain = b.cluster.Nodes, cfg.ExcludeControlPlane, cfg.DrainNodes
	b.nodes.current.Store(backend.New(nil))
	return c, nil
}

// Watch keeps the caches until ctx ends. It runs in a standby too, so that it can take over at once.
func (c *Controller) Watch(ctx context.Context) error {
	var watching errgroup.Group
	watching.Go(func() error { return kube.RunInformers(ctx, c.base.cluster.Factory) })
	for _, secrets := range c.base.secrets {
		watching.Go(func() error { return kube.RunInformers(ctx, secrets.Factory) })
	}
	return watching.Wait()
}

// Checks are the conditions of readiness.
func (c *Controller) Checks() []admin.Check {
	return []admin.Check{{
		Name: "caches", Remedy: "check the API server, and that the ServiceAccount may list and watch them (the chart's RBAC)",
		Check: func(context.Context) error {
			return c.base.cluster.Listing.Ready("Services, Nodes, EndpointSlices and Pods", c.base.cluster.Synced())
		},
	}}
}

// Resume tries at once what failed while the gateway could not be reached.
func (c *Controller) Resume() { c.base.queue.Resume() }

// Run reconciles until ctx ends. Only one replica may.
func (c *Controller) Run(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), c.base.cluster.Synced) {
		return nil // Stopped before the caches were complete.
	}
	c.base.secrets.Await(ctx, c.base.claimsKnown)
	set, err := c.base.nodes.snapshot()
	if err != nil {
		return err
	}
	c.base.nodes.current.Store(set)
	c.base.queue.leading.Store(true)
	defer c.base.queue.leading.Store(false)
	if err := c.watcher.queueAll(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	beside, ctx := errgroup.WithContext(ctx)
	beside.Go(func() error { return c.watcher.gather.Run(ctx) })
	for _, kind := range c.base.Kinds {
		if kind.Run != nil {
			beside.Go(func() error { return kind.Run(ctx) })
		}
	}
	err = c.base.queue.Run(ctx)
	cancel()
	return errors.Join(err, beside.Wait())
}
