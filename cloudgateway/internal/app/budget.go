package app

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
)

// newBudget makes the budget that the configuration describes.
func newBudget(b config.Budget, registry *prometheus.Registry, log *slog.Logger) (*flow.Budget, error) {
	overrides := make(map[string]flow.Limit, len(b.Overrides))
	for action, l := range b.Overrides {
		overrides[action] = flow.Limit{Calls: l.Calls, Window: l.Window.Or(0)}
	}
	callers := make(map[string]flow.Terms, len(b.Callers))
	for name, t := range b.Callers {
		callers[name] = flow.Terms(t)
	}
	return flow.New(flow.Config{
		Share: b.Share, Overrides: overrides, LearnUpTo: b.LearnUpTo, Callers: callers, Registerer: registry, Logger: log,
	})
}
