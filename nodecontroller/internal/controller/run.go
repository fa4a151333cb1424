package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
)

// sweepTimeout bounds one sweep; with thousands of changed nodes it is the API server that takes the time.
const sweepTimeout = 10 * time.Minute

// New makes a Controller. Nothing happens before Watch.
func New(cfg Config) (*Controller, error) {
	c := &Controller{
		cfg:        cfg,
		log:        cfg.Logger,
		events:     kube.NewEvents(cfg.Recorder, kube.RepeatWarnings),
		forwarding: newForwarding(),
		factory: informers.NewSharedInformerFactoryWithOptions(cfg.Client, 0,
			informers.WithTransform(kube.TrimNodeBut(cfg.Options.Annotations()...))),
	}
	c.metrics = newMetrics(cfg.Registerer, c.states, c.announced)
	c.arrivals = newArrivals(c.receive)
	c.held, c.failed = heldNodes{}, map[string]time.Time{}
	if cfg.Deletion != nil {
		c.deletions.record = kube.NewRecord[lifecycle.State](cfg.Client, cfg.Namespace, recordDeletions, recordFormat)
	}
	var err error
	if c.init, err = c.runner("nodeinit", c.reconcileNode, cfg.Workers, 0); err != nil {
		return nil, err
	}
	if c.forwardQueue, err = c.runner("nodeforward", c.forward, forwardingWorkers, 0); err != nil {
		return nil, err
	}
	if c.sweeps, err = c.runner("nodesweep", c.sweep, 1, sweepTimeout); err != nil {
		return nil, err
	}
	if c.maintenance, err = c.runner("nodemaintenance", c.announcePlans, 1, sweepTimeout); err != nil {
		return nil, err
	}
	if cfg.ApproveServing {
		if c.approval, err = c.newApproval(); err != nil {
			return nil, err
		}
	}
	informer := c.factory.Core().V1().Nodes()
	c.nodes = informer.Lister()
	if err := c.listing.Watch(informer.Informer()); err != nil {
		return nil, fmt.Errorf("watch nodes: %w", err)
	}
	registration, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: c.nodeAdded, UpdateFunc: c.nodeUpdated, DeleteFunc: c.nodeDeleted,
	})
	if err != nil {
		return nil, fmt.Errorf("watch nodes: %w", err)
	}
	c.synced = registration.HasSynced
	return c, nil
}

// Watch keeps the caches until ctx ends. It runs in a standby too, so that it can take over at once.
func (c *Controller) Watch(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return kube.RunInformers(ctx, c.factory) })
	if c.approval != nil {
		group.Go(func() error { return kube.RunInformers(ctx, c.approval.factory) })
	}
	return group.Wait()
}

// Run works until ctx ends, on the cache that Watch keeps. Only one replica may.
func (c *Controller) Run(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), c.synced) {
		return nil
	}
	var err error
	if c.cfg.Region, err = c.cfg.Gateway.AwaitRegion(ctx, c.cfg.Region, c.withoutRegion); err != nil {
		return nil // Only the end of ctx ends the waiting.
	}
	// From here on events count. Those before have left their traces in the cache.
	c.leading.Store(true)
	defer c.leading.Store(false)
	all, err := c.nodes.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for _, node := range all {
		if nodes.IsUninitialized(node) {
			c.arrivals.add(node.Name)
		}
	}
	c.sweeps.Add(sweepKey, reconcile.Periodic)
	c.maintenance.Add(sweepKey, reconcile.Periodic)
	group, ctx := errgroup.WithContext(ctx)
	if c.approval != nil {
		c.approval.start()
		group.Go(func() error { return c.approval.queue.Run(ctx) })
	}
	group.Go(func() error { return c.arrivals.gather.Run(ctx) })
	group.Go(func() error { return c.init.Run(ctx) })
	group.Go(func() error { return c.forwardQueue.Run(ctx) })
	group.Go(func() error { return c.watchForwarding(ctx) })
	group.Go(func() error { return c.sweeps.Run(ctx) })
	group.Go(func() error { return c.maintenance.Run(ctx) })
	return group.Wait()
}

// withoutRegion reports why nothing can begin, to the nodes that wait for it as well.
func (c *Controller) withoutRegion(err error) {
	step := "set region in the configuration"
	if rpcerr.Remedy(err) == "" { // An event has the remedy anyway.
		step = "look whether cloudgateway runs, or " + step
	}
	err = fmt.Errorf("nodes are not initialised before the region is known; %s: %w", step, err)
	c.log.Warn("nothing can begin", "error", err)
	all, listErr := c.nodes.List(labels.Everything())
	if listErr != nil { // A cache gives none.
		return
	}
	waiting := slices.DeleteFunc(all, func(node *corev1.Node) bool { return !nodes.IsUninitialized(node) || nodes.IsVirtual(node) })
	for _, node := range waiting[:min(len(waiting), maxEvents)] {
		c.syncFailed(node, err)
	}
}

// Resume tries at once what failed while the gateway could not be reached.
func (c *Controller) Resume() {
	for _, queue := range []*reconcile.Runner{c.init, c.forwardQueue, c.sweeps, c.maintenance} {
		queue.Resume()
	}
	if c.approval != nil {
		c.approval.queue.Resume()
	}
}

// Checks are the conditions of readiness.
func (c *Controller) Checks() []admin.Check {
	return []admin.Check{{
		Name: "caches", Remedy: "check the API server, and that the ServiceAccount may list and watch them (the chart's RBAC)",
		Check: func(context.Context) error {
			if err := c.listing.Ready("nodes", c.synced()); err != nil || c.approval == nil {
				return err
			}
			return c.approval.listing.Ready("certificate signing requests", c.approval.synced())
		},
	}}
}
