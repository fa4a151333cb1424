// Package app puts routecontroller together.
package app

import (
	"context"
	"log/slog"
	"time"

	"alicloud-controllers.dev/services/replica"

	"alicloud-controllers.dev/routecontroller/internal/config"
	"alicloud-controllers.dev/routecontroller/internal/controller"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

// Name of the process, and of the component that its events come from.
const Name = "routecontroller"

// Run runs the process until ctx ends or a signal comes.
func Run(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	process := replica.Process{Name: Name, EventSource: Name, New: func(deps replica.Dependencies) (replica.Controller, error) {
		return newController(cfg, deps)
	}}
	return process.Run(ctx, cfg.Config, log)
}

// Plan finds out what a controller with this configuration would change, and changes nothing.
func Plan(ctx context.Context, cfg config.Config) (controller.Preview, error) {
	return replica.Preview(ctx, Name, cfg.Config, func(ctx context.Context, deps replica.Dependencies) (controller.Preview, error) {
		c, err := newController(cfg, deps)
		if err != nil {
			return controller.Preview{}, err
		}
		return c.Preview(ctx)
	})
}

func newController(cfg config.Config, deps replica.Dependencies) (*controller.Controller, error) {
	clusterCIDRs, err := cfg.Prefixes()
	if err != nil {
		return nil, err
	}
	return controller.New(controller.Config{
		Dependencies: deps,
		ClusterID:    cfg.ClusterID, ClusterTag: cfg.ClusterTag, VPCID: cfg.VPCID, Scope: table.Scope{Region: cfg.Region, IPv6: cfg.IPv6},
		RouteTableIDs: cfg.RouteTableIDs, ClusterCIDRs: clusterCIDRs, RouteQuota: cfg.RouteQuota,
		SyncInterval: time.Duration(cfg.SyncInterval),
		Orphans:      cfg.Orphans(),
		GatherQuiet:  time.Duration(cfg.Gather.Quiet),
		GatherMax:    time.Duration(cfg.Gather.Max),
	})
}
