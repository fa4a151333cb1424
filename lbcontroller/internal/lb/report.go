package lb

import (
	"context"
	"time"

	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
)

// reportAgain is when differences that are only reported are read again, and comparePause how long after a change of
// backends they are: another controller may be about to follow it.
const (
	reportAgain  = 10 * time.Minute
	comparePause = time.Minute
)

// report compares what a Service asks for with the cloud, and reports what would be done. All reads have the priority of the background.
func (e *engine) report(ctx context.Context, s pass) controller.Outcome {
	ctx = gateway.WithPriority(ctx, gateway.Background)
	if there := knowledge.There(s.entry.Known); there.ConfigKnown {
		// Only the backends can have changed.
		if d, _ := decide(s, knowledge.Of(there), false); len(d.withheld) > 0 {
			if soon := time.Now().Add(comparePause); s.entry.VerifyAt.After(soon) {
				s.entry.VerifyAt = soon
				s.memory.Put(s.entry, s.packer)
			}
		}
		return controller.Outcome{Looks: s.looks()}
	}
	if refused, ok := recall(s).(knowledge.Refused); ok {
		return outcomeOfRefusal(s, refused.Refusal)
	}
	s.fresh = false // Another controller may have made a load balancer since.
	s, d, err := e.compare(ctx, s)
	if err != nil {
		return outcomeOfFailure(s, false, err)
	}
	if refusal := d.refusal(); refusal != nil {
		return outcomeOfRefusal(s, refusal)
	}
	o := controller.Outcome{Publish: &controller.Publication{KeepIngress: true},
		Resolved: []string{controller.ReasonSyncFailed, controller.ReasonHeld}}
	s.entry = d.entry
	s.entry.Known = d.known
	if !d.complete() {
		s.entry.VerifyAt = time.Now().Add(min(reportAgain, e.DriftCheck))
		o = heldBack(s, d, controller.Outcome{})
	}
	s.entry = keep(s, s.entry, true)
	o.Looks = s.looks()
	e.Shared.metrics.withhold(s.memory, withheld{s.policy, len(d.withheld)})
	return o
}
