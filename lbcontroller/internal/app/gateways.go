package app

import (
	"fmt"

	"sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"

	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/replica"
	"alicloud-controllers.dev/services/version"

	"alicloud-controllers.dev/lbcontroller/internal/config"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/gatewayapi"
)

// gatewayClient makes a client of the Gateway API.
func gatewayClient(cfg config.Config) (versioned.Interface, error) {
	rc, err := kube.RESTConfig(cfg.Kubernetes, Name+"/"+version.String()+" gateway-api")
	if err != nil {
		return nil, err
	}
	client, err := versioned.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("make the client of the Gateway API: %w", err)
	}
	return client, nil
}

// gatewayOptions are what the configuration says of Gateways.
func gatewayOptions(cfg config.Config) gatewayapi.Options {
	return gatewayapi.Options{PodBackends: cfg.BackendType == config.BackendENI, CLBClass: classOf(cfg),
		NoNLB: !cfg.NLB.Enabled}
}

// withGateways makes the controller of Gateways.
func withGateways(c *controller.Controller, cfg config.Config, s replica.Dependencies) (beside, error) {
	client, err := gatewayClient(cfg)
	if err != nil {
		return nil, err
	}
	gateways, err := gatewayapi.New(gatewayapi.Config{
		Options: gatewayOptions(cfg), Client: s.Client, Gateways: client, Known: c.Known(), Recorder: s.Recorder,
		Registerer: s.Registerer, Logger: s.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("watch the cluster for Gateways: %w", err)
	}
	return gateways, nil
}
