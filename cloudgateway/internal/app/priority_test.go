package app

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/method"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
)

// TestPriorities: each caller × each priority that a method allows × each that is asked for. A call never ranks above
// its caller, its method, or what was asked for, and never below the lowest of them.
func TestPriorities(t *testing.T) {
	const account = "system:serviceaccount:"
	cfg := config.Default()
	cfg.LeaderElection.Namespace = "cloud"
	cfg.Budget.Callers = map[string]config.CallerBudget{
		account + "tools:web":            {MaxPriority: "user"},
		account + "tools:cleaner":        {MaxPriority: "deletion"},
		account + "tools:balancer":       {MaxPriority: "backend"},
		account + "tools:weighted":       {Weight: 2},
		account + "cloud:nodecontroller": {MaxPriority: "user"},
	}
	callers := map[string]flow.Priority{
		account + "cloud:lbcontroller":       flow.Backend,
		account + "cloud:nodecontroller":     flow.Change, // by configuration
		account + "cloud:routecontroller":    flow.Backend,
		account + "cloud:backup":             flow.Background,
		account + "kube-system:lbcontroller": flow.Background, // one of the name elsewhere
		account + "tools:web":                flow.Change,
		account + "tools:cleaner":            flow.Deletion,
		account + "tools:balancer":           flow.Backend,
		account + "tools:weighted":           flow.Background,
		"inventory.example.com":              flow.Background,
	}
	// The names are those of call metadata; others, as of a later version, count as the highest.
	asked := map[string]flow.Priority{
		"": flow.Backend, "urgent": flow.Backend, "backend": flow.Backend, "user": flow.Change, "deletion": flow.Deletion,
		"background": flow.Background,
	}
	p := newPriorities(cfg)
	for caller, ceiling := range callers {
		for highest := flow.Background; highest <= flow.Backend; highest++ {
			for name, wanted := range asked {
				if got, want := p.of(caller, highest, []string{name}), min(ceiling, highest, wanted); got != want {
					t.Errorf("%s calls a method of priority %s and asks for %q: %s, want %s", caller, highest, name, got, want)
				}
			}
			if got, want := p.of(caller, highest, nil), min(ceiling, highest); got != want {
				t.Errorf("%s calls a method of priority %s: %s, want %s", caller, highest, got, want)
			}
		}
	}
	cfg.Budget.MaxPriority = "user"
	if got := newPriorities(cfg).of("inventory.example.com", flow.Backend, nil); got != flow.Change {
		t.Errorf("with budget.maxPriority user, others have %s", got)
	}
	for _, name := range config.Priorities() {
		if _, known := method.PriorityNamed(name); !known {
			t.Errorf("the configuration allows %q, which is no priority", name)
		}
	}
}

// TestDryRunsArePatient: what changes nothing waits for everything else, and for its caller's share of the budget as before.
func TestDryRunsArePatient(t *testing.T) {
	for dry, want := range map[bool]flow.Priority{false: flow.Backend, true: flow.Background} {
		ctx := flow.WithCaller(t.Context(), flow.Caller{Name: "lbcontroller", Priority: flow.Backend})
		var got flow.Caller
		_, err := patient(config.Budget{}, func(ctx context.Context, _ any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
			got = flow.CallerFrom(ctx)
			return nil, nil //nolint:nilnil // Nobody looks at it.
		})(ctx, &nlbv1.ApplyServerChangesRequest{ValidateOnly: dry}, nil, nil)
		if err != nil || got != (flow.Caller{Name: "lbcontroller", Priority: want}) {
			t.Errorf("dry %t: %v, %v, want the priority %s", dry, got, err, want)
		}
	}
}
