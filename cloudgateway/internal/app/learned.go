package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"alicloud-controllers.dev/cloudgateway/internal/flow"
)

const (
	// learnedAnnotation of the Lease holds the rate limits that the active replica has learned.
	learnedAnnotation = "cloudgateway.alibabacloud.com/learned-limits"
	// saveInterval is how often they are written, if any are to be kept.
	saveInterval = time.Minute
	// learnedTimeout bounds a request about them. The gateway waits no longer: they save some refused calls, no more.
	learnedTimeout = 2 * time.Second
)

// learnedLimits keeps what the budget has learned in the Lease, so that it survives a restart and a failover. Without an election
// nothing is kept.
type learnedLimits struct {
	leases coordinationv1client.LeaseInterface // nil: there is no election
	lease  string
	budget *flow.Budget
	log    *slog.Logger
	saved  bool // the Lease has some
}

// learned makes those of the gateway.
func (g *Gateway) learned() *learnedLimits {
	l := &learnedLimits{lease: g.cfg.LeaderElection.Name, budget: g.gate.budget, log: g.log}
	if g.cfg.LeaderElection.Enabled {
		l.leases = g.kubeLease.CoordinationV1().Leases(g.cfg.LeaderElection.Namespace)
	}
	return l
}

// run goes on with what the replica before has learned, calls ready, and keeps what is learned until ctx ends. It calls
// end before it waits for the API server for the last time: that may be what the Lease was lost for.
func (l *learnedLimits) run(ctx context.Context, ready, end func()) {
	if l.leases == nil {
		ready()
		<-ctx.Done()
		end()
		return
	}
	if err := l.restore(ctx); err != nil {
		l.log.Warn("learned rate limits were not taken over", "lease", l.lease, "error", err)
	}
	ready()
	ticks := time.NewTicker(saveInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			end()
			l.save(context.WithoutCancel(ctx)) // while the Lease is still ours
			return
		case <-ticks.C:
			l.save(ctx)
		}
	}
}

func (l *learnedLimits) restore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, learnedTimeout)
	defer cancel()
	lease, err := l.leases.Get(ctx, l.lease, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the Lease: %w", err)
	}
	text := lease.Annotations[learnedAnnotation]
	if text == "" {
		return nil
	}
	l.saved = true
	return l.budget.Restore(text)
}

// save writes what is learned. A conflict with the renewal of the Lease is left to the next time, as everything else that goes wrong.
func (l *learnedLimits) save(ctx context.Context) {
	text, found := l.budget.Learned()
	if !found && !l.saved {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, learnedTimeout)
	defer cancel()
	lease, err := l.leases.Get(ctx, l.lease, metav1.GetOptions{})
	if err == nil {
		if lease.Annotations == nil {
			lease.Annotations = map[string]string{}
		}
		lease.Annotations[learnedAnnotation] = text
		_, err = l.leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		l.log.Info("learned rate limits were not kept; they will be tried again", "lease", l.lease, "error", err)
		return
	}
	l.saved = found
}
