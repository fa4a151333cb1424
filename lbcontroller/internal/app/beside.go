package app

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"

	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/replica"
	"alicloud-controllers.dev/services/version"

	"alicloud-controllers.dev/lbcontroller/internal/config"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/groupbinding"
)

// beside is work on the caches of the controller of Services.
type beside interface {
	Watch(ctx context.Context) error
	Run(ctx context.Context) error
}

// together are the controller of Services and what makes Services of other objects.
type together struct {
	*controller.Controller
	others []beside
}

// Watch keeps the caches of all until ctx ends.
func (t together) Watch(ctx context.Context) error {
	run := []func(context.Context) error{t.Controller.Watch}
	for _, other := range t.others {
		run = append(run, other.Watch)
	}
	return both(ctx, run...)
}

// Run works until ctx ends.
func (t together) Run(ctx context.Context) error {
	run := []func(context.Context) error{t.Controller.Run}
	for _, other := range t.others {
		run = append(run, other.Run)
	}
	return both(ctx, run...)
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

// withOthers puts beside the controller of Services what the configuration asks for.
func withOthers(c *controller.Controller, cfg config.Config, s replica.Dependencies) (replica.Controller, error) {
	all := together{Controller: c}
	for _, other := range []struct {
		enabled bool
		make    func(*controller.Controller, config.Config, replica.Dependencies) (beside, error)
	}{{cfg.GatewayAPI.Enabled, withGateways}, {cfg.ServerGroupBindings.Enabled, withBindings}} {
		if !other.enabled {
			continue
		}
		made, err := other.make(c, cfg, s)
		if err != nil {
			return nil, err
		}
		all.others = append(all.others, made)
	}
	return all, nil
}

// withBindings makes the controller of ServerGroupBindings.
func withBindings(c *controller.Controller, cfg config.Config, s replica.Dependencies) (beside, error) {
	rc, err := kube.RESTConfig(cfg.Kubernetes, Name+"/"+version.String()+" server-group-bindings")
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("make the client of ServerGroupBindings: %w", err)
	}
	bindings, err := groupbinding.New(groupbinding.Config{
		Client: s.Client, Bindings: client, Looker: groupbinding.Looker{Gateway: s.Gateway, VPCID: cfg.VPCID},
		CLBClass: classOf(cfg),
		Known:    c.Known(), Recorder: s.Recorder, Registerer: s.Registerer, Logger: s.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("watch the cluster for ServerGroupBindings: %w", err)
	}
	return bindings, nil
}

// classOf is the class of Services that get a CLB, "" for those without a class.
func classOf(cfg config.Config) string {
	if cfg.CLB.WithoutClass {
		return "" // It asks for one by any name, also where other controllers take classes.
	}
	return cfg.CLB.Class
}
