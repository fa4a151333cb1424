// Package controller keeps a CLB for every Service that wants one. It watches Services, EndpointSlices and Nodes, and joins the
// pure parts (build, plan) with those that act (observe, apply).
package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/backend/eni"
	"alicloud-controllers.dev/lbcontroller/internal/clb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/clb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/clb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/clb/observe"
)

// Config is what a Controller needs.
type Config struct {
	Client   kubernetes.Interface
	Gateway  *gateway.Client
	Recorder record.EventRecorder
	Build    desired.Config
	Gate     Gate
	// DisablePublic refuses to create public CLBs; those that exist are served on.
	DisablePublic bool
	Workers       int
	// NodeQuiet and NodeMax gather bursts of node changes.
	NodeQuiet, NodeMax time.Duration
	// DriftCheck is how often, about, a CLB that nothing happens to is read and compared.
	DriftCheck time.Duration
	// Drain is how long work under way may go on when another replica is about to take over.
	Drain      time.Duration
	Registerer prometheus.Registerer
	// Tracers begin a trace with every attempt; nil for no traces.
	Tracers trace.TracerProvider
	Logger  *slog.Logger
}

// Controller reconciles Services.
type Controller struct {
	Config
	patcher  patcher
	announce *announcer
	observer observe.Observer
	applier  apply.Applier
	enis     *eni.Resolver
	memory   *memory.Memory
	turns    turns
	metrics  metrics

	runner    *reconcile.Runner
	informers informerSet
	nodes     atomic.Pointer[backend.Set]
	gather    *reconcile.Gather
	// leading tells that Run has begun: a standby watches, but queues nothing and has nothing to tell.
	leading atomic.Bool
}

// New makes a controller; nothing runs yet.
func New(cfg Config) (*Controller, error) {
	c := &Controller{
		Config:   cfg,
		patcher:  patcher{client: cfg.Client},
		announce: &announcer{recorder: cfg.Recorder},
		observer: observe.Observer{Client: cfg.Gateway},
		applier:  apply.Applier{Client: cfg.Gateway},
		enis:     &eni.Resolver{Client: cfg.Gateway, VPCID: cfg.Build.VPCID},
		memory:   &memory.Memory{},
		metrics:  newMetrics(cfg.Registerer),
	}
	runner, err := reconcile.New(reconcile.Config{
		Name: "service-controller", Reconciler: c, Workers: cfg.Workers, Drain: cfg.Drain,
		Registerer: cfg.Registerer, Tracers: cfg.Tracers, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("make the queue: %w", err)
	}
	c.runner = runner
	c.nodes.Store(backend.New(nil))
	c.gather = reconcile.NewGather(cfg.NodeQuiet, cfg.NodeMax, c.nodesChanged)
	c.informers, err = c.newInformers()
	if err != nil {
		return nil, fmt.Errorf("watch the cluster: %w", err)
	}
	return c, nil
}

// Watch keeps the caches until ctx ends. It runs in a standby too, so that it can take over at once.
func (c *Controller) Watch(ctx context.Context) error {
	return kube.RunInformers(ctx, c.informers.factory)
}

// Checks are the conditions of readiness.
func (c *Controller) Checks() []admin.Check {
	return []admin.Check{{Name: "caches", Check: func(context.Context) error {
		if !c.informers.synced() {
			return errors.New("the caches of Services, Nodes and EndpointSlices are not complete yet")
		}
		return nil
	}}}
}

// Run reconciles until ctx ends. Only one replica may.
func (c *Controller) Run(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), c.informers.synced) {
		return nil // Stopped before the caches were complete.
	}
	set, err := c.snapshot()
	if err != nil {
		return err
	}
	c.nodes.Store(set)
	c.leading.Store(true)
	defer c.leading.Store(false)
	if err := c.queueAll(); err != nil {
		return err
	}
	gathering := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { gathering <- c.gather.Run(ctx) }()
	err = c.runner.Run(ctx)
	cancel()
	return errors.Join(err, <-gathering)
}

// Reconcile implements reconcile.Reconciler. Events and metrics are made here, at the edge, and nowhere deeper for errors.
func (c *Controller) Reconcile(ctx context.Context, key string) error {
	cached, err := c.informers.service(key)
	if apierrors.IsNotFound(err) {
		c.forget(key)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Service %s from the cache: %w", key, err)
	}
	svc := cached.DeepCopy() // Never change what the cache shares.
	wanted := c.Gate.Wants(svc)
	if !wanted && !hasFinalizer(svc) {
		return nil
	}
	return c.inTurn(svc, func() error {
		start := time.Now()
		var changed bool
		var err error
		if wanted {
			changed, err = c.ensure(ctx, svc)
		} else {
			changed, err = c.release(ctx, svc)
		}
		if changed || err != nil {
			c.metrics.record(verbOf(cached, wanted), start, err)
		}
		return err
	})
}

func (c *Controller) forget(key string) {
	c.memory.Forget(key)
	c.enis.Forget(key)
	c.announce.forget(key)
}
