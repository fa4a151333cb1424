package app

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"

	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/replica"
	"alicloud-controllers.dev/services/version"

	"alicloud-controllers.dev/lbcontroller/internal/config"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/gatewayapi"
)

// gatewayed is the controller of Services and that which makes Services of Gateways.
type gatewayed struct {
	*controller.Controller
	gateways *gatewayapi.Controller
}

// withGateways puts the controller of Gateways beside that of Services.
func withGateways(c *controller.Controller, cfg config.Config, s replica.Dependencies) (replica.Controller, error) {
	rc, err := kube.RESTConfig(cfg.Kubernetes, Name+"/"+version.String()+" gateway-api")
	if err != nil {
		return nil, err
	}
	client, err := versioned.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("make the client of the Gateway API: %w", err)
	}
	class := cfg.CLB.Class
	if cfg.CLB.WithoutClass {
		class = "" // It asks for one by any name, also where other controllers take classes.
	}
	gateways, err := gatewayapi.New(gatewayapi.Config{
		Options: gatewayapi.Options{PodBackends: cfg.BackendType == config.BackendENI, CLBClass: class},
		Client:  s.Client, Gateways: client, Known: c.Known(), Recorder: s.Recorder, Registerer: s.Registerer, Logger: s.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("watch the cluster for Gateways: %w", err)
	}
	return gatewayed{c, gateways}, nil
}

// Watch keeps the caches of both until ctx ends.
func (g gatewayed) Watch(ctx context.Context) error {
	return both(ctx, g.Controller.Watch, g.gateways.Watch)
}

// Run works until ctx ends.
func (g gatewayed) Run(ctx context.Context) error {
	return both(ctx, g.Controller.Run, g.gateways.Run)
}

// both runs two functions until ctx ends; the end of one ends the other.
func both(ctx context.Context, run ...func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	ctx, end := context.WithCancel(ctx)
	defer end()
	for _, f := range run {
		group.Go(func() error {
			defer end()
			return f(ctx)
		})
	}
	return group.Wait()
}
