// Package controller brings load balancers to what Services ask for. It knows Services, what is written on them, their events and the
// queue, and nothing of a kind of load balancers: each kind is one implementation of Kind.
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
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/seen"
)

const (
	// maxWaiting is how many Services may wait for the cloud or the record at once, beyond those that are worked on. The
	// gateway takes 256 calls on a connection, and is the throttle: more would only hold memory, 0.3 MiB each with 1 000
	// nodes.
	maxWaiting = 200
	// maxPeriodic is how many Services are verified at once: what a user changes must not wait behind them at the gateway.
	maxPeriodic = 4
)

// Config is what a Controller needs.
type Config struct {
	Client   kubernetes.Interface
	Recorder record.EventRecorder
	// Kinds are the kinds of load balancers. The first that wants a Service has it.
	Kinds   []Registration
	Workers int
	// SecretNamespaces are those in which Services may name Secrets with certificates.
	SecretNamespaces []string
	// NodeQuiet and NodeMax gather bursts of node changes.
	NodeQuiet, NodeMax time.Duration
	// ExcludeControlPlane keeps traffic off the nodes of the control plane.
	ExcludeControlPlane bool
	// DrainNodes takes new connections off nodes whose conditions say that they are being drained.
	DrainNodes bool
	// Drain is how long work under way may go on when another replica is about to take over.
	Drain      time.Duration
	Registerer prometheus.Registerer
	// Tracers begin a trace with every attempt; nil for no traces.
	Tracers trace.TracerProvider
	Logger  *slog.Logger
}

// Registration adds a kind to a controller.
type Registration struct {
	// MetricType is the value of the label type of the metrics, such as CLBType.
	MetricType string
	// Finalizer keeps a Service until the kind has released its load balancer. Every kind has its own, so that a Service that changes
	// from one to another is given up by the first.
	Finalizer string
	Kind      Kind
	// Previewer says what the kind would do.
	Previewer Previewer
	// Labels and Annotations are the keys under which the kind notes on Services what it must know later. Those that
	// another client takes off, by replacing a Service, are put back.
	Labels, Annotations []string
	// Run is what the kind does beside the passes, as long as this replica leads; nil for nothing.
	Run func(ctx context.Context) error
}

// Controller reconciles Services.
type Controller struct {
	Config
	events   *kube.Events
	turns    turns
	modes    modes
	metrics  metrics
	services seen.Services[service]
	bypassed bypassed

	runner    *reconcile.Runner
	informers informerSet
	secrets   secretsOf
	nodes     atomic.Pointer[backend.Set]
	gather    *reconcile.Gather
	// nodeChanges counts changes of nodes, and latest are the nodes after the last that was looked at. nodes are those
	// that Services were queued for.
	nodeChanges atomic.Int64
	latest      atomic.Pointer[nodesOf]
	// leading reports that Run has begun: a standby watches, but queues nothing and has nothing to say.
	leading atomic.Bool
}

// New makes a controller; nothing runs yet.
func New(cfg Config) (*Controller, error) {
	c := &Controller{
		Config:  cfg,
		events:  kube.NewEvents(cfg.Recorder, 0),
		metrics: newMetrics(cfg.Registerer),
	}
	runner, err := reconcile.New(reconcile.Config{
		Name: "service-controller", Reconciler: c, Workers: cfg.Workers, Waiting: maxWaiting, Periodic: maxPeriodic, Drain: cfg.Drain,
		Registerer: cfg.Registerer, Tracers: cfg.Tracers, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("make the queue: %w", err)
	}
	c.runner = runner
	c.nodes.Store(backend.New(nil))
	c.gather = reconcile.NewGather(cfg.NodeQuiet, cfg.NodeMax, func(context.Context) { c.nodesChanged() })
	if c.informers, err = c.newInformers(); err == nil {
		c.secrets, err = c.newSecrets()
	}
	if err != nil {
		return nil, fmt.Errorf("watch the cluster: %w", err)
	}
	return c, nil
}

// Watch keeps the caches until ctx ends. It runs in a standby too, so that it can take over at once.
func (c *Controller) Watch(ctx context.Context) error {
	var watching errgroup.Group
	watching.Go(func() error { return kube.RunInformers(ctx, c.informers.factory) })
	for _, secrets := range c.secrets {
		watching.Go(func() error { return kube.RunInformers(ctx, secrets.factory) })
	}
	return watching.Wait()
}

// Checks are the conditions of readiness.
func (c *Controller) Checks() []admin.Check {
	return []admin.Check{{
		Name: "caches", Remedy: "check the API server, and that the ServiceAccount may list and watch them (the chart's RBAC)",
		Check: func(context.Context) error {
			return c.informers.listing.Ready("Services, Nodes, EndpointSlices and Pods", c.informers.synced())
		},
	}}
}

// Resume tries at once what failed while the gateway could not be reached.
func (c *Controller) Resume() { c.runner.Resume() }

// Run reconciles until ctx ends. Only one replica may.
func (c *Controller) Run(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), c.informers.synced) {
		return nil // Stopped before the caches were complete.
	}
	c.secrets.await(ctx)
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	beside, ctx := errgroup.WithContext(ctx)
	beside.Go(func() error { return c.gather.Run(ctx) })
	for _, kind := range c.Kinds {
		if kind.Run != nil {
			beside.Go(func() error { return kind.Run(ctx) })
		}
	}
	err = c.runner.Run(ctx)
	cancel()
	return errors.Join(err, beside.Wait())
}
