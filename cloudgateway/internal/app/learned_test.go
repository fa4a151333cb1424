package app

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
)

// oneLease is the API server with the gateway's Lease.
type oneLease struct {
	coordinationv1client.LeaseInterface

	lease coordinationv1.Lease
}

func (o *oneLease) Get(context.Context, string, metav1.GetOptions) (*coordinationv1.Lease, error) {
	return o.lease.DeepCopy(), nil
}

func (o *oneLease) Update(_ context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	lease.DeepCopyInto(&o.lease)
	return lease, nil
}

// TestLearnedLimitsSurviveARestart: what one replica has learned counts for the next, which begins with fewer calls than a new one.
func TestLearnedLimitsSurviveARestart(t *testing.T) {
	const action = "CreateVServerGroup" // 90 a minute, of which a quarter goes at once beside others
	for _, tt := range []struct {
		name    string
		ran     time.Duration // of the first replica, after it has learned
		elected bool
		most    int // calls that the next sends before it has to wait
	}{
		{"after it was written", saveInterval + 10*time.Second, true, 30},
		{"stopped before that", 10 * time.Second, true, 30},
		{"without an election", saveInterval + 10*time.Second, false, 90},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &oneLease{}
				replica := func(ran time.Duration, act func(*flow.Budget)) {
					budget, err := flow.New(config.Default().Budget, nil, slog.New(slog.DiscardHandler))
					if err != nil {
						t.Fatal(err)
					}
					limits := &learnedLimits{lease: "gateway", budget: budget, log: slog.New(slog.DiscardHandler)}
					if tt.elected {
						limits.leases = server
					}
					ctx, stop := context.WithTimeout(t.Context(), ran)
					defer stop()
					limits.run(ctx, func() { act(budget) }, func() {})
				}
				replica(tt.ran, func(b *flow.Budget) { b.Throttled("slb", action, time.Second) })
				sent, caller := 0, flow.WithCaller(t.Context(), flow.Caller{Priority: flow.Change})
				replica(10*time.Second, func(b *flow.Budget) {
					for {
						ctx, cancel := context.WithTimeout(caller, 600*time.Millisecond) // leaves 100 ms to wait
						err := b.Acquire(ctx, "slb", action)
						cancel()
						if err != nil {
							return
						}
						sent++
					}
				})
				t.Logf("%d calls", sent)
				if sent > tt.most || sent <= tt.most-30 {
					t.Errorf("the next replica sent %d calls before it had to wait, want at most %d", sent, tt.most)
				}
			})
		})
	}
}

// silent is an API server that does not answer.
type silent struct {
	coordinationv1client.LeaseInterface
}

func (silent) Get(ctx context.Context, _ string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestTermEndsBeforeTheLastSave: how long work may go on is counted from the loss of the Lease, for which the API server may be the cause.
func TestTermEndsBeforeTheLastSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget, err := flow.New(config.Default().Budget, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		limits := &learnedLimits{leases: silent{}, lease: "gateway", budget: budget, log: slog.New(slog.DiscardHandler)}
		const term = 10 * time.Second
		ctx, stop := context.WithTimeout(t.Context(), term)
		defer stop()
		begun := time.Now()
		var ended time.Duration
		limits.run(ctx, func() { budget.Throttled("slb", "CreateVServerGroup", time.Second) }, func() { ended = time.Since(begun) })
		if took := time.Since(begun); ended != term || took <= term {
			t.Errorf("the term of %s ended after %s, and the last attempt to save after %s", term, ended, took)
		}
	})
}
