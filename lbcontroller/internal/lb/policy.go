package lb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// Policy says which changes are made in the cloud at all; what it doesn't allow is reported and not done. The zero value is PolicySync.
type Policy string

// The policies, those of the configuration and of annotation sync-policy.
const (
	// PolicySync makes every change.
	PolicySync Policy = "sync"
	// PolicyUpsert creates and changes, and deletes neither CLBs nor listeners, their further certificates or vServer groups. Servers follow
	// nodes and pods: one that is left would send requests to a pod that is gone, or to whatever has its address next.
	PolicyUpsert Policy = "upsert-only"
	// PolicyReport writes nothing in the cloud, and on the Service nothing but conditions.
	PolicyReport Policy = "report"
)

// Allows reports whether the policy lets an action be carried out.
func (p Policy) Allows(action plan.Action) bool {
	switch p {
	case PolicyReport:
		return false
	case PolicyUpsert:
		_, verb := action.About()
		return verb != plan.VerbDelete
	case PolicySync:
	}
	return true
}

// split leaves out of a plan what the policy doesn't allow, and what needs that.
func (p Policy) split(whole plan.Plan) (rest plan.Plan, withheld []plan.Action) {
	return whole.Without(func(action plan.Action) bool { return !p.Allows(action) })
}

// keeps refuses to give up what a Service has elsewhere, unless the policy allows it. A Service moves as a whole or not at all.
func (p Policy) keeps(s subject, have knowledge) *reuse.Refusal {
	if p.Allows(plan.DeleteInstance{}) {
		return nil
	}
	var left []string
	if have.own.InstanceID != "" {
		left = append(left, have.own.InstanceID)
	}
	for _, claim := range s.claims().Without(s.want.Desired.Reuse.ID) {
		left = append(left, claim.LoadBalancer)
	}
	if len(left) == 0 {
		return nil
	}
	return &reuse.Refusal{Text: fmt.Sprintf("policy %s: the Service doesn't move, because it would give up what it has on CLB %s; %s", p, strings.Join(left, ", "), remedy)}
}

// remedy says how to have done what a policy holds back.
const remedy = "to have it done, set annotation " + annotation.Prefix + annotation.SyncPolicy + ": sync on the Service, or policy: sync in the configuration"

// policyOf is the policy for a Service: its own, or that of the configuration.
func (k *Kind) policyOf(view desired.View) Policy {
	if own := Policy(view.SyncPolicy()); own != "" {
		return own
	}
	return k.Policy
}

// withheld says that a policy holds changes back.
func (p Policy) withheld(id string, actions []plan.Action) error {
	if id != "" {
		id = " on CLB " + id
	}
	return fmt.Errorf("policy %s: not done%s: %s; %s", p, id, summary(plan.Plan{Phases: []plan.Phase{actions}}), remedy)
}

// reportAgain is when differences that are only reported are read again, and comparePause how long after a change of backends they are: another
// controller may be about to follow it.
const (
	reportAgain  = 10 * time.Minute
	comparePause = time.Minute
)

// report compares what a Service asks for with the cloud, and reports what would be done. All reads have the priority of the background.
func (k *Kind) report(ctx context.Context, s subject) controller.Outcome {
	ctx = gateway.WithPriority(ctx, gateway.Background)
	if s.state == memory.Known && s.entry.Observed.ConfigKnown {
		// Only the backends can have changed.
		if d, _ := tryDecide(s, known(s.entry.Observed)); len(d.withheld) > 0 {
			if soon := time.Now().Add(comparePause); s.entry.VerifyAt.After(soon) {
				s.entry.VerifyAt = soon
				k.memory.Put(s.key, s.entry)
			}
		}
		return controller.Outcome{Looks: s.looks()}
	}
	if have := recall(s); have.extent == refused {
		return k.outcomeOfRefusal(s, have.refusal)
	}
	s.fresh = false // Another controller may have made a CLB since.
	s, d, err := k.compare(ctx, s)
	if err != nil {
		return k.outcomeOfFailure(s, false, err)
	}
	if d.known.extent == refused {
		return k.outcomeOfRefusal(s, d.known.refusal)
	}
	o := controller.Outcome{Publish: &controller.Publication{KeepIngress: true}, Resolved: []string{controller.ReasonSyncFailed, controller.ReasonHeld}}
	s.entry = d.entry
	s.entry.Observed = d.known.observed
	if !d.complete() {
		s.entry.VerifyAt = time.Now().Add(min(reportAgain, k.DriftCheck))
		o = k.heldBack(s, d, controller.Outcome{})
	}
	s.entry = k.keep(s, s.entry, true)
	o.Looks = s.looks()
	k.Shared.metrics.withheld.set(s.key, s.policy, len(d.withheld))
	return o
}

// heldBack adds to an outcome what a policy or the plan itself leaves undone.
func (k *Kind) heldBack(s subject, d decision, o controller.Outcome) controller.Outcome {
	o.Retry = controller.Retry{Mode: controller.RetryNever}
	var errs []error
	if len(d.plan.Refused) > 0 {
		err := errors.New(joined(d.plan.Refused))
		errs, o.Reason = append(errs, err), controller.ReasonRefused
		o.Events = append(o.Events, controller.Failure(controller.ReasonSyncFailed, err))
	} else {
		o.Resolved = append(o.Resolved, controller.ReasonSyncFailed)
	}
	if len(d.withheld) > 0 {
		err := s.policy.withheld(d.known.observed.InstanceID, d.withheld)
		errs = append(errs, err)
		o.Events = append(o.Events, controller.Warningf(controller.ReasonHeld, "%s", err))
		if o.Reason == "" {
			o.Reason = controller.ReasonHeld
		}
	}
	o.Err = errors.Join(errs...)
	return o
}

// holdRelease is the outcome for a Service that is to give up what it has while its policy doesn't allow that. The Service stays until then:
// what it has would belong to no Service.
func (k *Kind) holdRelease(r controller.Request, policy Policy, what string) controller.Outcome {
	err := fmt.Errorf("policy %s: not done: %s; the Service keeps its finalizer until then; %s", policy, what, remedy)
	k.Shared.metrics.withheld.set(r.Key, policy, 1)
	return controller.Outcome{
		Err: err, Reason: controller.ReasonHeld, Retry: controller.Retry{Mode: controller.RetryNever},
		Events: []controller.Event{controller.Warningf(controller.ReasonHeld, "%s", err)},
	}
}

// withheldGauge counts the changes that policies hold back.
type withheldGauge struct {
	gauge *prometheus.GaugeVec

	mu   sync.Mutex
	last map[string]withheldOf // by key
}

type withheldOf struct {
	policy  Policy
	changes int
}

// set notes how many changes a policy holds back for a Service.
func (g *withheldGauge) set(key string, policy Policy, changes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if old, ok := g.last[key]; ok {
		g.gauge.WithLabelValues(string(old.policy)).Sub(float64(old.changes))
		delete(g.last, key)
	}
	if changes == 0 {
		return
	}
	if g.last == nil {
		g.last = map[string]withheldOf{}
	}
	g.last[key] = withheldOf{policy, changes}
	g.gauge.WithLabelValues(string(policy)).Add(float64(changes))
}
