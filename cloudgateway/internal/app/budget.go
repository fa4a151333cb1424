package app

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/metadata"

	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/gateway/method"
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
		Share: b.Share, Overrides: overrides, LearnUpTo: b.LearnUpTo, Callers: b.Callers, Registerer: registry, Logger: log,
	})
}

// priorities rank calls. None is above what the protocol allows for its method, nor above what the configuration allows for its caller.
type priorities struct {
	callers map[string]flow.Priority
	others  flow.Priority
}

func newPriorities(cfg config.Config) priorities {
	p := priorities{callers: map[string]flow.Priority{}}
	p.others, _ = method.PriorityNamed(cfg.Budget.MaxPriority) // The names are the same, as a test knows.
	for _, account := range cfg.ControllerAccounts() {
		p.callers[account] = flow.Backend
	}
	for name, own := range cfg.Budget.Callers {
		if highest, named := method.PriorityNamed(own.MaxPriority); named {
			p.callers[name] = highest
		}
	}
	return p
}

// of is the priority of a call: what the caller asks for, as far as the method's ceiling and its own allow. Names that this version does not
// know count as the highest.
func (p priorities) of(caller string, ceiling flow.Priority, asked []string) flow.Priority {
	highest, named := p.callers[caller]
	if !named {
		highest = p.others
	}
	highest = min(highest, ceiling)
	for _, name := range asked {
		if wanted, known := method.PriorityNamed(name); known {
			highest = min(highest, wanted)
		}
	}
	return highest
}

// onBehalf tells the queues on whose behalf a call is, and with which priority.
func onBehalf(cfg config.Config) func(context.Context) context.Context {
	p := newPriorities(cfg)
	return func(ctx context.Context) context.Context {
		caller, ok := rpc.CallerFrom(ctx)
		if !ok {
			return ctx
		}
		policy, _ := rpc.PolicyFrom(ctx)
		priority := p.of(caller.Name, flow.Priority(policy.Priority), metadata.ValueFromIncomingContext(ctx, gateway.PriorityKey))
		return inTheNameOf(ctx, cfg.Budget, flow.Caller{Name: caller.Name, Priority: priority})
	}
}

// inTheNameOf lets writes and calls to the cloud wait as the caller. Reads share calls with those of the same priority. Those of a caller who
// may not use all of the budget share them with its own only: what waits for its share of the budget must not make others wait.
func inTheNameOf(ctx context.Context, b config.Budget, caller flow.Caller) context.Context {
	owner := ""
	if b.Callers[caller.Name].Bounded() {
		owner = caller.Name
	}
	return batch.WithLane(flow.WithCaller(ctx, caller), caller.Name, owner, int(caller.Priority))
}
