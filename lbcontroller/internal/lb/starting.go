package lb

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// Starter is a Product whose cloud goes on starting a listener when the call has ended. It refuses connections until then.
type Starter interface {
	// Starting returns the listeners of a load balancer that are being started, by one read.
	Starting(ctx context.Context, id string) ([]model.ListenerKey, error)
}

// A listener runs a second or two after its start. One look then is enough for all that a change has started.
const (
	firstStart = 3 * time.Second
	slowStart  = time.Minute
)

// starting are listeners of a Service that don't run yet, as far as is known.
type starting struct {
	keys []model.ListenerKey
	// at is when it is looked at again, and pause the time before that.
	at    time.Time
	pause time.Duration
}

// started are the listeners that a plan makes or starts, of those that are wanted.
func started(p plan.Plan) []model.ListenerKey {
	var keys []model.ListenerKey
	for action := range p.Actions() {
		switch a := action.(type) {
		case plan.CreateListener:
			keys = append(keys, a.Listener.Key)
		case plan.StartListener:
			keys = append(keys, a.Key)
		}
	}
	return keys
}

// startingOf are the wanted listeners that were seen starting.
func startingOf(want *model.Desired, there []model.Listener) []model.ListenerKey {
	var keys []model.ListenerKey
	for _, l := range there {
		if l.Starting && slices.ContainsFunc(want.Listeners, func(w model.Listener) bool { return w.Key == l.Key }) {
			keys = append(keys, l.Key)
		}
	}
	return keys
}

// saysStarting reports whether a Service says that listeners don't run yet.
func saysStarting(svc *corev1.Service) bool {
	return slices.ContainsFunc(svc.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == controller.ConditionSynced && c.Reason == controller.ReasonStarting
	})
}

// keysOfListeners are those of the wanted listeners.
func keysOfListeners(want *model.Desired) []model.ListenerKey {
	keys := make([]model.ListenerKey, len(want.Listeners))
	for i, l := range want.Listeners {
		keys[i] = l.Key
	}
	return keys
}

// with adds listeners that were started just now.
func (s starting) with(keys []model.ListenerKey, now time.Time) starting {
	if len(keys) == 0 {
		return s
	}
	s.keys = slices.Concat(s.keys, keys)
	slices.SortFunc(s.keys, model.ListenerKey.Compare)
	return starting{keys: slices.Compact(s.keys), at: now.Add(firstStart), pause: firstStart}
}

// still are those of them that were seen starting just now.
func (s starting) still(seen []model.ListenerKey, now time.Time) starting {
	s.keys = slices.DeleteFunc(slices.Clone(s.keys), func(key model.ListenerKey) bool { return !slices.Contains(seen, key) })
	if len(s.keys) == 0 {
		return starting{}
	}
	return s.later(now)
}

// later puts the next look off.
func (s starting) later(now time.Time) starting {
	s.pause = min(2*s.pause, slowStart)
	s.at = now.Add(s.pause)
	return s
}

// awaitStart finds out which listeners of a Service don't run yet, after a pass that went well. What was read for the pass says so; without
// that it is looked at when it is time.
func (e *engine) awaitStart(ctx context.Context, s pass, d decision, after model.Observed) {
	starter, is := e.Product.(Starter)
	if !is {
		return
	}
	now, wait := time.Now(), s.memory.starting
	switch {
	case d.read && len(wait.keys) == 0:
		wait = wait.with(startingOf(s.want.Desired, d.there().Listeners), now)
	case d.read:
		wait = wait.still(startingOf(s.want.Desired, d.there().Listeners), now)
	case len(wait.keys) > 0 && !now.Before(wait.at):
		seen, err := starter.Starting(ctx, after.InstanceID)
		switch {
		case isUnreadable(err): // A gateway of before. Nothing is known of it then.
			wait = starting{}
		case err != nil:
			wait = wait.later(now)
		default:
			wait = wait.still(seen, now)
		}
	}
	s.memory.starting = wait.with(started(d.plan), now)
}

// withStarting adds to an outcome that listeners don't run yet.
func withStarting(o controller.Outcome, s pass) controller.Outcome {
	wait := s.memory.starting
	if len(wait.keys) == 0 || o.Err != nil {
		return o
	}
	texts := make([]string, len(wait.keys))
	for i, key := range wait.keys {
		texts[i] = plan.KeyText(key)
	}
	o.Starting = strings.Join(texts, ", ")
	o.Looks = append(o.Looks, controller.Look{After: time.Until(wait.at), Priority: reconcile.Endpoint})
	return o
}
