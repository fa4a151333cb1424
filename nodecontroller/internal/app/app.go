// Package app puts nodecontroller together.
package app

import (
	"context"
	"log/slog"
	"time"

	"alicloud-controllers.dev/services/replica"

	"alicloud-controllers.dev/nodecontroller/internal/config"
	"alicloud-controllers.dev/nodecontroller/internal/controller"
	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// Name of the process, and of the component that its events come from.
const Name = "nodecontroller"

// Run runs the process until ctx ends or a signal comes.
func Run(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	process := replica.Process{Name: Name, EventSource: Name, New: func(deps replica.Dependencies) (replica.Controller, error) {
		return controller.New(controllerConfig(cfg, deps))
	}}
	return process.Run(ctx, cfg.Config, log)
}

// Plan finds out what a controller with this configuration would change, and changes nothing.
func Plan(ctx context.Context, cfg config.Config) (controller.Preview, error) {
	return replica.Preview(ctx, Name, cfg.Config, func(ctx context.Context, deps replica.Dependencies) (controller.Preview, error) {
		c, err := controller.New(controllerConfig(cfg, deps))
		if err != nil {
			return controller.Preview{}, err
		}
		return c.Preview(ctx)
	})
}

func controllerConfig(cfg config.Config, deps replica.Dependencies) controller.Config {
	return controller.Config{
		Dependencies: deps,
		Region:       cfg.Region, VPCID: cfg.VPCID, ClusterTag: cfg.ClusterTag, ClusterID: cfg.ClusterID, NodeVPCIDs: cfg.NodeVPCIDs,
		Options: nodestate.Options{
			CloudRoutes: cfg.ConfigureCloudRoutes, IPv6: cfg.IPv6, ShutdownTaint: cfg.ShutdownTaint, Rules: cfg.Rules(),
		},
		DisableSourceDestCheck: cfg.DisableSourceDestCheck,
		SyncInterval:           time.Duration(cfg.SyncInterval),
		Workers:                cfg.Workers,
		ApproveServing:         cfg.ApproveServingCertificates,
		Deletion:               cfg.Deletion.Policy(),
		Maintenance:            maintenance(cfg.Maintenance),
	}
}

// maintenance is nil if it is switched off.
func maintenance(cfg config.Maintenance) *controller.Maintenance {
	if !cfg.Enabled {
		return nil
	}
	return &controller.Maintenance{Interval: time.Duration(cfg.Interval), Lead: time.Duration(cfg.Lead)}
}
