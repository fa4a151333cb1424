// Package app puts lbcontroller together.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/process"
	"alicloud-controllers.dev/services/version"

	"alicloud-controllers.dev/lbcontroller/internal/build"
	"alicloud-controllers.dev/lbcontroller/internal/config"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
)

// component is the source of events, the name the existing CCM uses.
const component = "service-controller"

// Run runs the process until ctx ends or a signal arrives.
func Run(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	userAgent := "lbcontroller/" + version.String()
	client, err := kube.NewClient(cfg.Kubernetes, userAgent)
	if err != nil {
		return err
	}
	cfg.Gateway.UserAgent, cfg.Gateway.Logger = userAgent, log
	conn, err := gateway.Dial(cfg.Gateway)
	if err != nil {
		return fmt.Errorf("connect to the gateway: %w", err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			log.Warn("the connection to the gateway didn't close", "error", err)
		}
	}()
	recorder, flush := kube.NewRecorder(ctx, client, component)
	defer flush()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	ctl, err := controller.New(controllerConfig(cfg, client, conn, recorder, registry, log))
	if err != nil {
		return fmt.Errorf("make the controller: %w", err)
	}
	identity, err := kube.Identity()
	if err != nil {
		return err
	}
	server, err := admin.New(cfg.Admin, registry,
		admin.Check{Name: "caches", Check: func(context.Context) error {
			if !ctl.Synced() {
				return errors.New("the caches of Services, Nodes and EndpointSlices are not complete yet")
			}
			return nil
		}},
		admin.Check{Name: "gateway", Check: conn.Ready},
	)
	if err != nil {
		return fmt.Errorf("serve the admin address: %w", err)
	}
	return process.Run(ctx, log,
		process.Component{Name: "admin", Run: server.Run},
		process.Component{Name: "caches", Run: ctl.Watch},
		process.Component{Name: "controller", Run: func(ctx context.Context) error {
			return kube.RunElected(ctx, client, cfg.LeaderElection, identity, log, ctl.Run)
		}},
	)
}

func controllerConfig(cfg config.Config, client kubernetes.Interface, conn *gateway.Conn, recorder record.EventRecorder,
	registry prometheus.Registerer, log *slog.Logger,
) controller.Config {
	return controller.Config{
		Client:   client,
		Gateway:  conn.Client(),
		Recorder: recorder,
		Build: build.Config{
			ClusterID: cfg.ClusterID, VPCID: cfg.VPCID, VSwitchIDs: cfg.VSwitchIDs, ResourceGroupID: cfg.ResourceGroupID,
			PodBackends: cfg.BackendType == config.BackendENI,
		},
		Gate:          controller.Gate{ByLoadBalancerType: cfg.LoadBalancerTypeAnnotation},
		DisablePublic: cfg.DisablePublicLoadBalancer,
		Workers:       cfg.Workers,
		NodeQuiet:     time.Duration(cfg.NodeGather.Quiet),
		NodeMax:       time.Duration(cfg.NodeGather.Max),
		DriftCheck:    time.Duration(cfg.DriftCheckInterval),
		Drain:         cfg.LeaderElection.Drain(),
		Registerer:    registry,
		Logger:        log,
	}
}
