// Package app puts the nodecontroller together.
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

	"alicloud-controllers.dev/nodecontroller/internal/config"
	"alicloud-controllers.dev/nodecontroller/internal/controller"
	"alicloud-controllers.dev/nodecontroller/internal/initialize"
)

// Name of the process in events, leases and user agents.
const Name = "nodecontroller"

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
	nodes, err := controller.New(controller.Config{
		Client: a.client, Gateway: a.conn.Client(), Recorder: recorder,
		Region: a.cfg.Region, VPCID: a.cfg.VPCID, ClusterTag: a.cfg.ClusterTag,
		Options:                initialize.Options{CloudRoutes: a.cfg.ConfigureCloudRoutes, IPv6: a.cfg.IPv6},
		DisableSourceDestCheck: a.cfg.DisableSourceDestCheck,
		SyncInterval:           time.Duration(a.cfg.SyncInterval), Workers: a.cfg.Workers, Deletion: a.cfg.Deletion.Policy(),
		Drain: a.cfg.LeaderElection.Drain(), Registerer: a.registry, Logger: a.log,
	})
	if err != nil {
		return err
	}
	server, err := admin.New(a.cfg.Admin, a.registry,
		admin.Check{Name: "gateway", Check: a.conn.Ready}, admin.Check{Name: "nodes", Check: nodes.Ready})
	if err != nil {
		return err
	}
	a.log.Info("starting", "version", version.String(), "cluster", a.cfg.ClusterID, "region", a.cfg.Region, "admin", server.Addr())
	return process.Run(ctx, a.log,
		process.Component{Name: "admin", Run: server.Run},
		process.Component{Name: "controller", Run: func(ctx context.Context) error {
			return kube.RunElected(ctx, a.client, a.cfg.LeaderElection, a.identity, a.log, nodes.Run)
		}},
	)
}
