// Package app puts lbcontroller together.
package app

import (
	"context"
	"log/slog"
	"time"

	"alicloud-controllers.dev/services/replica"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/config"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/orphan"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// Name of the process.
const Name = "lbcontroller"

// eventSource is the component of events, the name the existing CCM uses.
const eventSource = "service-controller"

// Run runs the process until ctx ends or a signal comes.
func Run(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	process := replica.Process{Name: Name, EventSource: eventSource, New: func(s replica.Dependencies) (replica.Controller, error) {
		c, err := controller.New(controller.Config{
			Client: s.Client, Recorder: s.Recorder, Drain: s.Drain,
			Registerer: s.Registerer, Tracers: s.Tracers, Logger: s.Logger,
			Kinds:   Kinds(cfg, s),
			Workers: cfg.Workers, ExcludeControlPlane: cfg.ExcludeControlPlaneNodes, DrainNodes: cfg.DrainNodes,
			SecretNamespaces: cfg.TLSSecretNamespaces,
			NodeQuiet:        time.Duration(cfg.NodeGather.Quiet),
			NodeMax:          time.Duration(cfg.NodeGather.Max),
		})
		if err != nil {
			return nil, err
		}
		return withOthers(c, cfg, s)
	}}
	return process.Run(ctx, cfg.Config, log)
}

// Kinds are the kinds of load balancers; each is registered here only. The first that wants a Service has it.
func Kinds(cfg config.Config, s replica.Dependencies) []controller.Registration {
	products := []lb.Product{
		clb.Product{
			Gateway: s.Gateway, VSwitchIDs: cfg.VSwitchIDs, Class: cfg.CLB.Class, OnlyClass: !cfg.CLB.WithoutClass,
			ByLoadBalancerType: cfg.LoadBalancerTypeAnnotation, DisablePublic: cfg.DisablePublicLoadBalancer,
			NodeHealthChecks: cfg.NodeHealthChecks, NoEIPs: !cfg.EIPs.Enabled,
		},
	}
	if cfg.NLB.Enabled {
		products = append(products, nlb.Product{
			Gateway: s.Gateway, VPCID: cfg.VPCID, ResourceGroupID: cfg.ResourceGroupID, VSwitchIDs: cfg.VSwitchIDs,
			ByLoadBalancerType: cfg.LoadBalancerTypeAnnotation, DisablePublic: cfg.DisablePublicLoadBalancer,
			NodeHealthChecks: cfg.NodeHealthChecks,
		})
	}
	var list []controller.Registration
	common := engineConfig(cfg, s)
	common.Shared = lb.NewShared(s.Gateway, cfg.VPCID, s.Registerer)
	for _, product := range products {
		common.Product, common.Quotas = product, lb.Quotas(cfg.Quotas.CLB)
		if product.Marks().Name == annotation.NLB {
			common.Quotas = lb.Quotas(cfg.Quotas.NLB)
		}
		list = append(list, lb.New(common))
	}
	return list
}

// engineConfig is what the configuration says about load balancers of every kind.
func engineConfig(cfg config.Config, s replica.Dependencies) lb.Config {
	return lb.Config{
		Gateway: s.Gateway, Registerer: s.Registerer, Logger: s.Logger,
		Records: knowledge.NewRecord(knowledge.RecordConfig{
			Client: s.Client, Namespace: cfg.LeaderElection.Namespace, Name: cfg.LeaderElection.Name + "-backends", Logger: s.Logger,
		}),
		Desired: desired.Config{
			ClusterID: cfg.ClusterID, VPCID: cfg.VPCID, VSwitchIDs: cfg.VSwitchIDs, ResourceGroupID: cfg.ResourceGroupID,
			MaxNodes: cfg.MaxNodesPerServerGroup, Drain: cfg.DrainTerminating, IgnoreBackendIPv6: !cfg.BackendIPv6,
			ServiceFields: cfg.ServiceFields, PodBackends: cfg.BackendType == config.BackendENI,
			NoSourceRanges: !cfg.SourceRanges.Enabled, NoRules: !cfg.SecurityGroups.Allow,
		},
		Policy: lb.Policy(cfg.Policy),
		Drift: lb.Drift{
			ReportInstance:  cfg.Drift.Instance == config.DriftReport,
			ReportListeners: cfg.Drift.Listeners == config.DriftReport,
			ReportStopped:   cfg.Drift.StoppedListeners == config.DriftReport,
		},
		Orphans: lb.Orphans{
			Client: s.Client, Recorder: s.Recorder,
			Interval: time.Duration(cfg.Orphans.Interval), Delete: cfg.Orphans.Delete,
			Policy: orphan.Policy{Grace: time.Duration(cfg.Orphans.Grace), PerDay: cfg.Orphans.PerDay},
		},
		SecurityGroups:   cfg.SecurityGroups.Check,
		HealthCheckRules: cfg.SecurityGroups.Allow,
		CertificateCheck: time.Hour,
		TLSSecrets:       len(cfg.TLSSecretNamespaces) > 0,
		CertificateGrace: time.Duration(cfg.TLSSecretGrace),
		DriftCheck:       time.Duration(cfg.DriftCheckInterval),
		HealthPatience:   time.Duration(cfg.ReadinessGate.Patience),
	}
}
