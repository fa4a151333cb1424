package desired_test

import (
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// CLB is the example of a kind. Its names and those of the package in short.
type (
	Config       = desired.Config
	Input        = desired.Input
	Result       = desired.Result
	View         = desired.View
	InvalidError = desired.InvalidError
)

// Build builds for a CLB.
func Build(cfg Config, in Input) (Result, error) {
	return desired.Build(cfg, in, clb.Product{VSwitchIDs: cfg.VSwitchIDs})
}

// specOf is the request for a wanted CLB.
func specOf(d *model.Desired) *slbv1.CreateLoadBalancerRequest {
	s, _ := d.Instance.Spec.(*slbv1.CreateLoadBalancerRequest)
	return s
}

// config are the attributes of a listener.
func config(c model.ListenerConfig) *slbv1.ListenerConfig {
	attributes, _ := c.(*slbv1.ListenerConfig)
	return attributes
}
