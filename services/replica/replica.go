// Package replica is what every controller process is around its own work: the clients, the admin server and the election that
// lets one of its replicas work while the others stand by with warm caches.
package replica

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/process"
	"alicloud-controllers.dev/services/tracing"
	"alicloud-controllers.dev/services/version"
)

// Process is a controller process.
type Process struct {
	// Name of the process in user agents.
	Name string
	// EventSource is the component that its events come from.
	EventSource string
	// New makes the controller. It must not wait for anything.
	New func(Dependencies) (Controller, error)
}

// Dependencies are what a controller works with.
type Dependencies struct {
	Client     kubernetes.Interface
	Gateway    *gateway.Client
	Recorder   record.EventRecorder
	Registerer prometheus.Registerer
	// Tracers begin the traces of the controller's work; nil for no traces.
	Tracers trace.TracerProvider
	// Drain is how long work under way may go on when another replica is about to take over.
	Drain time.Duration
	// Namespace is where the controller keeps what has to outlive it, beside its Lease.
	Namespace string
	Logger    *slog.Logger
}

// Controller is the work of the process.
type Controller interface {
	// Watch keeps the caches until ctx ends. It runs in a standby too, so that it can take over at once.
	Watch(ctx context.Context) error
	// Run works until ctx ends, on the caches that Watch keeps meanwhile. Only one replica does.
	Run(ctx context.Context) error
	// Resume tries at once what failed and waits for its next attempt. It is called when the gateway can be reached again.
	Resume()
	// Checks are the conditions under which a replica, be it working or standing by, is ready.
	Checks() []admin.Check
}

// Run runs the process until ctx ends or a signal comes. It waits for neither the API server nor the gateway; /readyz says
// what is missing.
func (p Process) Run(ctx context.Context, cfg Config, log *slog.Logger) error {
	userAgent := p.Name + "/" + version.String()
	client, err := kube.NewClient(cfg.Kubernetes, userAgent)
	if err != nil {
		return err
	}
	// The Lease has a client with a rate limit of its own, so that no amount of work makes its renewal wait.
	forLease, err := kube.NewClient(cfg.Kubernetes, userAgent+" leader-election")
	if err != nil {
		return err
	}
	identity, err := kube.Identity()
	if err != nil {
		return err
	}
	traces, err := tracing.Start(ctx, cfg.Tracing, p.Name, version.String(), log)
	if err != nil {
		return err
	}
	cfg.Gateway.UserAgent, cfg.Gateway.Logger, cfg.Gateway.Tracers = userAgent, log, traces.Tracers()
	cfg.Gateway.Kubernetes = client
	conn, err := gateway.Dial(cfg.Gateway)
	if err != nil {
		return fmt.Errorf("connect to the gateway: %w", err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			log.Warn("the connection to the gateway didn't close", "error", err)
		}
	}()
	recorder, flush := kube.NewRecorder(ctx, client, p.EventSource)
	defer flush()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	controller, err := p.New(Dependencies{
		Client: client, Gateway: conn.Client(), Recorder: recorder, Registerer: registry, Tracers: traces.Tracers(),
		Drain: cfg.LeaderElection.Drain(), Namespace: cfg.namespace(), Logger: log,
	})
	if err != nil {
		return fmt.Errorf("make the controller: %w", err)
	}
	leadership := &leadership{
		election: kube.NewElection(forLease, cfg.LeaderElection, identity, log), client: forLease, recorder: recorder, log: log,
		name: p.Name, beside: cfg.AllowExistingCCM,
	}
	leadership.election.Register(registry, p.Name)
	checks := append(controller.Checks(), admin.Check{Name: "gateway", Check: conn.Ready}, leadership.check())
	server, err := admin.New(ctx, cfg.Admin, client, log, registry, checks...)
	if err != nil {
		return err
	}
	log.Info("starting", "version", version.String(), "cluster", cfg.ClusterID, "region", cfg.Region, "admin", server.Addr())
	return process.Run(ctx, log,
		process.Component{Name: "tracing", Run: traces.Run},
		process.Component{Name: "admin", Run: server.Run},
		process.Component{Name: "caches", Run: controller.Watch},
		process.Component{Name: "connection", Run: func(ctx context.Context) error { return conn.Watch(ctx, controller.Resume) }},
		process.Component{Name: "controller", Run: func(ctx context.Context) error {
			return leadership.run(ctx, controller.Run)
		}},
	)
}
