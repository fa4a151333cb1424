package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/reconcile"
)

const (
	// tableTimeout bounds one pass over a table; the gateway waits until the cloud has made the entries.
	tableTimeout = 5 * time.Minute
	// conditionWorkers write conditions; they only ever talk to the API server.
	conditionWorkers = 10
)

// New makes a Controller. Nothing happens before Watch.
func New(cfg Config) (*Controller, error) {
	c := &Controller{
		cfg:      cfg,
		log:      cfg.Logger,
		events:   kube.NewEvents(cfg.Recorder, kube.RepeatWarnings),
		metrics:  newMetrics(cfg.Registerer, cfg.RouteQuota),
		deleted:  newDeletedRoutes(),
		verdicts: newClaimVerdicts(),
		factory: informers.NewSharedInformerFactoryWithOptions(cfg.Client, 0,
			informers.WithTransform(kube.TrimNode)),
	}
	var err error
	c.tables, err = reconcile.New(reconcile.Config{
		Name: "routetable", Reconciler: reconcile.Func(c.reconcileTable), Timeout: tableTimeout, MaxDelay: tableMaxDelay,
		Drain: cfg.Drain, Registerer: cfg.Registerer, Tracers: cfg.Tracers, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	c.conditions, err = reconcile.New(reconcile.Config{
		Name: "nodecondition", Reconciler: reconcile.Func(c.reconcileCondition), Workers: conditionWorkers,
		Drain: cfg.Drain, Registerer: cfg.Registerer, Tracers: cfg.Tracers, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	c.gather = reconcile.NewGather(cfg.GatherQuiet, cfg.GatherMax, func(context.Context) { c.addTables(reconcile.Node) })

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

// Watch keeps the cache of nodes until ctx ends. It runs in a standby too, so that it can take over at once.
func (c *Controller) Watch(ctx context.Context) error { return kube.RunInformers(ctx, c.factory) }

// Run works until ctx ends, on the cache that Watch keeps. Only one replica may.
func (c *Controller) Run(ctx context.Context) error {
	// No table may be looked at before all nodes are known: a missing node would make its route an orphan.
	if !cache.WaitForCacheSync(ctx.Done(), c.synced) {
		return nil
	}
	c.leading.Store(true)
	defer c.leading.Store(false)
	c.tables.Add(discoverKey, reconcile.Node)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.gather.Run(ctx) })
	group.Go(func() error { return c.tables.Run(ctx) })
	group.Go(func() error { return c.conditions.Run(ctx) })
	return group.Wait()
}

// Checks are the conditions of readiness. The route tables are looked for by the leader only.
func (c *Controller) Checks() []admin.Check {
	return []admin.Check{
		{
			Name: "caches", Remedy: "check the API server, and that the ServiceAccount may list and watch them (the chart's RBAC)",
			Check: func(context.Context) error { return c.listing.Ready("nodes", c.synced()) },
		},
		{Name: "tables", Check: func(context.Context) error {
			if !c.leading.Load() || c.target.Load() != nil {
				return nil
			}
			if err := c.undiscovered.Load(); err != nil && *err != nil {
				return fmt.Errorf("route tables are not found yet: %w", *err)
			}
			return errors.New("route tables are not found yet")
		}},
	}
}

// Resume tries at once what failed while the gateway could not be reached.
func (c *Controller) Resume() {
	c.tables.Resume()
	c.conditions.Resume()
}
