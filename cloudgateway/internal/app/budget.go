package app

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/metadata"

	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/rpc"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
)

// newBudget makes the budget that the configuration describes.
func newBudget(b config.Budget, registry *prometheus.Registry, log *slog.Logger) (*flow.Budget, error) {
	overrides := make(map[string]flow.Limit, len(b.Overrides))
	for action, l := range b.Overrides {
		overrides[action] = flow.Limit{Calls: l.Calls, Window: l.Window.Or(0)}
	}
	return flow.New(flow.Config{
		Share: b.Share, Overrides: overrides, LearnUpTo: b.LearnUpTo, Callers: terms(b), Registerer: registry, Logger: log,
	})
}

// newLocks makes the queues in front of single resources.
func newLocks(b config.Budget) *flow.Keyed[string] { return &flow.Keyed[string]{Callers: terms(b)} }

// terms are those of the callers that the configuration names.
func terms(b config.Budget) map[string]flow.Terms {
	callers := make(map[string]flow.Terms, len(b.Callers))
	for name, t := range b.Callers {
		callers[name] = flow.Terms(t)
	}
	return callers
}

// onBehalf tells the queues on whose behalf a call is: that of the gateway's caller, with the priority of the method that was called, or a
// lower one that the caller asked for.
func onBehalf(b config.Budget) func(context.Context) context.Context {
	return func(ctx context.Context) context.Context {
		caller, ok := rpc.CallerFrom(ctx)
		if !ok {
			return ctx
		}
		policy, _ := rpc.PolicyFrom(ctx)
		return inTheNameOf(ctx, b, flow.Caller{Name: caller.Name, Priority: priority(ctx, flow.Priority(policy.Priority))})
	}
}

// priority is that of a call, at most the highest that its method allows. Names that this version does not know count as the highest.
func priority(ctx context.Context, highest flow.Priority) flow.Priority {
	for _, name := range metadata.ValueFromIncomingContext(ctx, gateway.PriorityKey) {
		if p, known := flow.ParsePriority(name); known {
			highest = min(highest, p)
		}
	}
	return highest
}

// inTheNameOf lets writes and calls to the cloud wait as the caller. Reads share calls with those of the same priority. Those of a caller who
// may not use all of the budget share them with its own only: what waits for its share of the budget must not make others wait.
func inTheNameOf(ctx context.Context, b config.Budget, caller flow.Caller) context.Context {
	owner := ""
	if flow.Terms(b.Callers[caller.Name]).Bounded() {
		owner = caller.Name
	}
	return batch.WithLane(flow.WithCaller(ctx, caller), caller.Name, owner, int(caller.Priority))
}
