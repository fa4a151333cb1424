// Package app puts the routecontroller together.
package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/kubernetes"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/process"
	"alicloud-controllers.dev/services/version"

	"alicloud-controllers.dev/routecontroller/internal/config"
	"alicloud-controllers.dev/routecontroller/internal/controller"
)

// Name of the process in events, leases and user agents.
const Name = "routecontroller"

// App is the assembled process.
type App struct {
	cfg      config.Config
	log      *slog.Logger
	client   kubernetes.Interface
	conn     *gateway.Conn
	registry *prometheus.Registry
	identity string
}

// New connects the process to its surroundings, without waiting for any of them.
func New(cfg config.Config, log *slog.Logger) (*App, error) {
	userAgent := Name + "/" + version.String()
	client, err := kube.NewClient(cfg.Kubernetes, userAgent)
	if err != nil {
		return nil, err
	}
	identity, err := kube.Identity()
	if err != nil {
		return nil, err
	}
	cfg.Gateway.UserAgent, cfg.Gateway.Logger = userAgent, log
	conn, err := gateway.Dial(cfg.Gateway)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &App{cfg: cfg, log: log, client: client, conn: conn, registry: registry, identity: identity}, nil
}

// Run works until ctx ends or a signal comes.
func (a *App) Run(ctx context.Context) (err error) {
	defer func() {
		if closeErr := a.conn.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("close the connection to the gateway: %w", closeErr)
		}
	}()
	recorder, flush := kube.NewRecorder(ctx, a.client, Name)
	defer flush()
	prefixes, _ := a.cfg.Prefixes() // Validate has checked them.
	routes, err := controller.New(controller.Config{
		Client: a.client, Gateway: a.conn.Client(), Recorder: recorder,
		ClusterID: a.cfg.ClusterID, Region: a.cfg.Region, VPCID: a.cfg.VPCID, RouteTableIDs: a.cfg.RouteTableIDs,
		ClusterCIDRs: prefixes, SyncInterval: time.Duration(a.cfg.SyncInterval), OrphanGrace: time.Duration(a.cfg.OrphanGrace),
		GatherQuiet: time.Duration(a.cfg.Gather.Quiet), GatherMax: time.Duration(a.cfg.Gather.Max), RouteQuota: a.cfg.RouteQuota,
		Drain: a.cfg.LeaderElection.Drain(), Registerer: a.registry, Logger: a.log,
	})
	if err != nil {
		return err
	}
	server, err := admin.New(a.cfg.Admin, a.registry,
		admin.Check{Name: "gateway", Check: a.conn.Ready}, admin.Check{Name: "nodes", Check: routes.Ready})
	if err != nil {
		return err
	}
	a.log.Info("starting", "version", version.String(), "cluster", a.cfg.ClusterID, "region", a.cfg.Region, "admin", server.Addr())
	return process.Run(ctx, a.log,
		process.Component{Name: "admin", Run: server.Run},
		process.Component{Name: "controller", Run: func(ctx context.Context) error {
			return kube.RunElected(ctx, a.client, a.cfg.LeaderElection, a.identity, a.log, routes.Run)
		}},
	)
}
