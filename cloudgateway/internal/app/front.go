package app

import (
	"context"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/front"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// frontConfig is that of the OpenAPI front. Calls through it wait as those of a caller of the gateway's own API do,
// with the priority of a user's change at most.
func (g *Gateway) frontConfig(registry prometheus.Registerer, forget func(products ...string)) front.Config {
	p := newPriorities(g.cfg)
	return front.Config{
		Front: g.cfg.Front, TLS: rpc.TLSConfig(g.cfg.TLS), Region: g.cfg.Region, Refused: slices.Collect(maps.Values(g.cfg.ControllerAccounts())),
		Cloud: g.openapi, Authorizer: g.authorizer, Guard: g.services.Guard(), Counts: g.gate.budget.Counts,
		Context: func(ctx context.Context, caller string) context.Context {
			return inTheNameOf(g.gate.within(ctx), g.cfg.Budget, flow.Caller{Name: caller, Priority: p.of(caller, flow.Change, nil)})
		},
		Forget: func(products ...string) {
			forget(products...)
			g.services.Guard().Forget(products...)
		},
		Registerer: registry, Logger: g.log,
	}
}
