package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"alicloud-controllers.dev/services/admin"
)

// checks are the conditions of readiness. Readiness is about this replica's ability to work, now or as the next leader, and so a
// standby is ready: otherwise a rolling update would wait for ever for the replica that must not lead yet, and a disruption budget
// would count one too few. Callers find the active replica by gRPC health checks and not by readiness.
func (g *Gateway) checks() []admin.Check {
	return []admin.Check{
		{
			Name:   "credentials",
			Check:  func(context.Context) error { return g.credentials.Ready() },
			Remedy: `run "cloudgateway doctor" with this configuration`,
		},
		{
			Name:   "cloud",
			Check:  func(context.Context) error { return g.openapi.Reachable() },
			Remedy: "check the network and DNS of the node, and network and endpoints of the configuration",
		},
		{
			Name:   "kubernetes",
			Check:  g.reachKubernetes,
			Remedy: "check the API server, the network of the node, and kubernetes.kubeconfig if it is set",
		},
		{
			Name: "leadership",
			Check: func(context.Context) error {
				_, err := g.election.Standing()
				return err
			},
			Remedy: "check that the ServiceAccount may create, get and update the Lease (the chart's RBAC)",
			Detail: g.standing,
		},
	}
}

// standing tells people who leads.
func (g *Gateway) standing() string {
	standing, err := g.election.Standing()
	switch {
	case err != nil:
		return "not known at present"
	case standing.Leads:
		return "this replica leads"
	case standing.Leader == "":
		return "standby: nobody leads at present"
	}
	return "standby: " + standing.Leader + " leads"
}

// reachKubernetes is a condition of readiness: without the API server no caller can be checked.
func (g *Gateway) reachKubernetes(ctx context.Context) error {
	err := g.kube.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Error()
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the API server has not answered in time, so callers can't be checked")
	}
	if err != nil {
		return fmt.Errorf("the API server can't be reached, so callers can't be checked: %w", err)
	}
	return nil
}

func newLeaderGauge(reg prometheus.Registerer) prometheus.Gauge {
	return promauto.With(reg).NewGauge(prometheus.GaugeOpts{
		Name: "cloudgateway_leader",
		Help: "1 in the replica that is active, 0 in a standby.",
	})
}
