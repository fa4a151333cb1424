// Package controller initialises nodes from their ECS instances, keeps their labels and addresses in step, and deletes those
// whose instances are gone.
//
// A node with the taint of an uninitialised node is a key in a queue until it succeeds; many are worked on at once, and the
// gateway gathers their reads into few cloud calls. Everything else happens in a periodic sweep over all nodes.
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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/nodecontroller/internal/initialize"
	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
)

// sweepTimeout bounds one sweep; with thousands of changed nodes it is the API server that takes the time.
const sweepTimeout = 10 * time.Minute

// Config is what a Controller needs. All fields are required but VPCID, which is found out, and Deletion.
type Config struct {
	Client   kubernetes.Interface
	Gateway  *gateway.Client
	Recorder record.EventRecorder

	Region string
	VPCID  string
	// ClusterTag is the key of the tag that the cluster's instances carry.
	ClusterTag string
	Options    initialize.Options
	// DisableSourceDestCheck lets instances forward the packets of pods.
	DisableSourceDestCheck bool
	// SyncInterval is the time between sweeps.
	SyncInterval time.Duration
	// Workers is how many nodes are initialised at once.
	Workers int
	// Deletion bounds the deletion of nodes; nil switches it off.
	Deletion *lifecycle.Policy
	// Drain is how long work under way may go on when another replica is about to take over.
	Drain time.Duration

	Registerer prometheus.Registerer
	// Tracers begin a trace with every attempt; nil for no traces.
	Tracers trace.TracerProvider
	Logger  *slog.Logger
}

// Controller is the node controller.
type Controller struct {
	cfg     Config
	log     *slog.Logger
	factory informers.SharedInformerFactory
	nodes   corelisters.NodeLister
	synced  cache.InformerSynced
	init    *reconcile.Runner
	sweeps  *reconcile.Runner
	metrics *metrics
	// tracker is nil if deletion is off. Only the sweep uses it, of which there is one at a time.
	tracker *lifecycle.Tracker
	// leading tells that Run has begun; a standby watches and queues nothing.
	leading atomic.Bool
}

// New makes a Controller. Nothing happens before Watch.
func New(cfg Config) (*Controller, error) {
	c := &Controller{
		cfg:     cfg,
		log:     cfg.Logger,
		metrics: newMetrics(cfg.Registerer),
		factory: informers.NewSharedInformerFactoryWithOptions(cfg.Client, 0,
			informers.WithTransform(kube.TrimNode)),
	}
	if cfg.Deletion != nil {
		c.tracker = lifecycle.New(*cfg.Deletion)
	}
	var err error
	c.init, err = reconcile.New(reconcile.Config{
		Name: "nodeinit", Reconciler: reconcile.Func(c.reconcileNode), Workers: cfg.Workers,
		Drain: cfg.Drain, Registerer: cfg.Registerer, Tracers: cfg.Tracers, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	c.sweeps, err = reconcile.New(reconcile.Config{
		Name: "nodesweep", Reconciler: reconcile.Func(c.sweep), Timeout: sweepTimeout,
		Drain: cfg.Drain, Registerer: cfg.Registerer, Tracers: cfg.Tracers, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	informer := c.factory.Core().V1().Nodes()
	c.nodes = informer.Lister()
	registration, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: c.nodeAdded, UpdateFunc: c.nodeUpdated})
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
	if !cache.WaitForCacheSync(ctx.Done(), c.synced) {
		return nil
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
			c.init.Add(node.Name, reconcile.Periodic)
		}
	}
	c.sweeps.Add(sweepKey, reconcile.Periodic)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.init.Run(ctx) })
	group.Go(func() error { return c.sweeps.Run(ctx) })
	return group.Wait()
}

// Checks are the conditions of readiness.
func (c *Controller) Checks() []admin.Check {
	return []admin.Check{{Name: "caches", Check: func(context.Context) error {
		if !c.synced() {
			return errors.New("nodes are not listed yet")
		}
		return nil
	}}}
}

func (c *Controller) nodeAdded(object any) {
	if node, ok := object.(*corev1.Node); ok && c.leading.Load() && nodes.IsUninitialized(node) {
		c.init.Add(node.Name, reconcile.Node)
	}
}

// nodeUpdated ignores what can't turn a failed initialisation into a success, such as heartbeats, so that the delay between
// attempts holds, and all that does not tell of a stop or a start.
func (c *Controller) nodeUpdated(before, after any) {
	old, isOld := before.(*corev1.Node)
	node, isNode := after.(*corev1.Node)
	if isOld && isNode && c.leading.Load() && initialize.Matters(old, node, c.cfg.Options) {
		c.init.Add(node.Name, reconcile.Node)
	}
}
