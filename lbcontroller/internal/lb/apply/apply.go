// Package apply carries out a plan, call after call. It decides nothing; what it has done is folded into what is known to be there.
package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// Caller makes the calls of a kind of load balancers.
type Caller interface {
	// Bind puts the id of an access list that was made only now into an action: in place of model.ComingList. Pure.
	Bind(action plan.Action, id string) plan.Action
	// Call makes the one call of an action; now is what the actions before have left. The error is that of the gateway. Of a group that was
	// made without its servers the result has the id, beside the error.
	Call(ctx context.Context, w Work, now model.Observed, action plan.Action) (plan.Result, error)
	// Prove finds out whether a listener that takes the place of another could be made, and changes nothing. The error says why not; none
	// doesn't rule out that the cloud refuses it all the same.
	Prove(ctx context.Context, now model.Observed, coming plan.CreateListener) error
}

// Work is a plan with what it takes to carry it out.
type Work struct {
	Plan plan.Plan
	// Observed is what was there when the plan was made.
	Observed model.Observed
	// GroupsApart says that server groups stand by themselves: they are made beside the load balancer, and changed and deleted beside each
	// other.
	GroupsApart bool
	// Room bounds what goes beside something else.
	Room Room
	// Life distinguishes one instance of a Service from the next: the same life never buys twice.
	Life Life
	// Created is called with the id of a new instance before anything else is done.
	Created func(ctx context.Context, id string) error
	// Tell is called with what people should know of how an action was carried out.
	Tell func(text string)
}

// Failure is an action that the cloud did not carry out, or not wholly.
type Failure struct {
	Action plan.Action
	Err    error
	// CameBack says of a listener that could not be made that the one in whose place it was to come was made again.
	CameBack bool
}

// Error names the action and the error. How many servers it is about is no part of that: it differs with every attempt.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %v", plan.Name(f.Action), f.Err) }

// Unwrap returns the error of the call.
func (f *Failure) Unwrap() error { return f.Err }

// Failures are those of one plan, in the order of its actions. They are an error with several causes: the caller that decides what they
// mean for the Service looks at all of them.
type Failures []*Failure

// Error lists the failures.
func (f Failures) Error() string {
	texts := make([]string, len(f))
	for i, failure := range f {
		texts[i] = failure.Error()
	}
	return strings.Join(texts, "\n")
}

// Unwrap returns the failures.
func (f Failures) Unwrap() []error {
	errs := make([]error, len(f))
	for i, failure := range f {
		errs[i] = failure
	}
	return errs
}

// Apply carries out the plan and returns what is there afterwards. After an error, which is of type Failures, that is what is certain: the
// effects of the actions that went well. One action goes after the other: the cloud changes an instance in one way at a time, and refuses a
// second change while the first is under way. Server groups that stand by themselves go beside each other. An action that fails holds back
// only those that need it.
func Apply(ctx context.Context, c Caller, w Work) (model.Observed, error) {
	now := w.Observed.Clone()
	var failures Failures
	var missing []plan.Action // What failed, and what was held back for that.
	var partial []plan.Action // Server groups that were made without their servers.
	isHeld := func(action plan.Action) bool {
		return slices.ContainsFunc(missing, func(m plan.Action) bool { return plan.Needs(action, m) }) ||
			slices.ContainsFunc(partial, func(m plan.Action) bool { return plan.NeedsServers(action, m) })
	}
	steps := stepsOf(w.Plan)
	w.besideInstance(ctx, c, steps)
	for i, s := range steps {
		if len(w.Observed.Lists) == 0 && len(now.Lists) > 0 && !s.isBegun() {
			s.action = c.Bind(s.action, now.Lists[0].ID)
		}
		if !s.isBegun() && isHeld(s.action) {
			missing = append(missing, s.action)
			continue
		}
		if unproved := prove(ctx, c, now, s.action); len(unproved) > 0 {
			failures, missing = append(failures, unproved...), append(missing, s.action)
			continue
		}
		w.besideEachOther(ctx, c, now, steps[i:], isHeld)
		result, err := s.answer(ctx, c, w, now)
		if err != nil {
			failures = append(failures, &Failure{Action: s.action, Err: err})
			if !isPartial(s.action, result) {
				missing = append(missing, s.action)
				continue
			}
			partial = append(partial, s.action)
		}
		s.action.Effect(&now, result)
	}
	failures = bringBack(ctx, c, w, &now, missing, failures)
	if len(failures) > 0 {
		return now, failures
	}
	return now, nil
}

// prove returns what can't take the place of a listener that is to go.
func prove(ctx context.Context, c Caller, now model.Observed, action plan.Action) (failures Failures) {
	gone, ok := action.(plan.DeleteListener)
	if !ok {
		return nil
	}
	for _, next := range gone.Next {
		if err := c.Prove(ctx, now, next); err != nil {
			failures = append(failures, &Failure{Action: next, Err: err})
		}
	}
	return failures
}

// bringBack makes the listeners again that have gone for others which could not be made, and adds to the failures what of that fails.
func bringBack(ctx context.Context, c Caller, w Work, now *model.Observed, missing []plan.Action, failures Failures) Failures {
	isMissing := func(key model.ListenerKey) bool {
		return slices.ContainsFunc(missing, func(m plan.Action) bool {
			create, ok := m.(plan.CreateListener)
			return ok && create.Listener.Key == key
		})
	}
	for action := range w.Plan.Actions() {
		gone, ok := action.(plan.DeleteListener)
		isTaken := func(l model.Listener) bool { return l.Key.Meets(gone.Key) }
		if !ok || slices.ContainsFunc(now.Listeners, isTaken) ||
			!slices.ContainsFunc(gone.Next, func(next plan.CreateListener) bool { return isMissing(next.Listener.Key) }) {
			continue
		}
		for _, back := range gone.Back() {
			if slices.ContainsFunc(failures, func(f *Failure) bool { return plan.Needs(back, f.Action) }) {
				continue
			}
			result, err := c.Call(ctx, w, *now, back)
			if err != nil {
				failures = append(failures, &Failure{Action: back, Err: err})
				continue
			}
			back.Effect(now, result)
		}
		for _, f := range failures {
			create, isListener := f.Action.(plan.CreateListener)
			f.CameBack = f.CameBack || isListener && create.Listener.Key != gone.Key && create.Listener.Key.Meets(gone.Key)
		}
	}
	return failures
}

// isPartial reports of a failed action that what others need of it is there all the same.
func isPartial(action plan.Action, result plan.Result) bool {
	_, isGroup := action.(plan.CreateGroup)
	return isGroup && result.GroupID != ""
}
