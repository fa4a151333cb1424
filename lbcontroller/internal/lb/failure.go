package lb

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// retryRefused is about when something is looked at again that only a user can correct. That may be in the cloud, which
// sends no notice of it.
const retryRefused = 30 * time.Minute

// verdict is what failed calls mean for a Service.
type verdict struct {
	retry controller.Retry
	// full reports that a server group takes no more servers, or an access list no more entries: the next pass removes before it adds.
	full bool
}

// judge decides what failed calls mean together. The longest time that the gateway asks for counts, whatever else has
// failed. What the cloud calls invalid isn't repeated soon, but from time to time: the cloud's codes aren't all known,
// and what is missing may be made. Nor is what took down a listener that serves, for one that no quota was left for.
func judge(calls []error) verdict {
	v := verdict{retry: controller.Retry{Mode: controller.RetryBackoff}}
	invalid := 0
	for _, err := range calls {
		if after, ok := rpcerr.RetryAfter(err); ok {
			v.retry.After = max(v.retry.After, after)
		}
		f, _ := errors.AsType[*apply.Failure](err)
		isUsedUp := rpcerr.ReasonOf(err) == rpcerr.QuotaExceeded && f != nil && f.CameBack // Each try takes a port down for a while.
		if e, ok := rpcerr.From(err); ok && e.Code == codes.InvalidArgument || isUsedUp {  // Repeating doesn't change it.
			invalid++
		}
		v.full = v.full || rpcerr.ReasonOf(err) == rpcerr.ServerLimit || isListFull(err)
	}
	if invalid == len(calls) {
		v.retry = controller.Retry{Mode: controller.RetryAfter, After: retryRefused}
	}
	return v
}

// isListFull reports that a list of who may connect takes no more entries.
func isListFull(err error) bool {
	f, ok := errors.AsType[*apply.Failure](err)
	if !ok || rpcerr.ReasonOf(f.Err) != rpcerr.QuotaExceeded {
		return false
	}
	part, verb := f.Action.About()
	return part == plan.PartAccess && verb != plan.VerbDelete
}

// causes lists the failed calls in an error.
func causes(err error) []error {
	several, ok := err.(interface{ Unwrap() []error }) // Only the outermost error may have several causes.
	if !ok {
		return []error{err}
	}
	var list []error
	for _, e := range several.Unwrap() {
		list = append(list, causes(e)...)
	}
	return list
}

// isGone reports that any of the failed calls found that the load balancer doesn't exist.
func isGone(err error) bool {
	return slices.ContainsFunc(causes(err), func(err error) bool { return rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound })
}

// isFinal reports that a call fails as often as it is tried.
func isFinal(err error) bool {
	e, ok := rpcerr.From(err)
	return ok && (e.Code == codes.InvalidArgument || e.Reason == rpcerr.QuotaExceeded || isUnreadable(err))
}

// isWithoutEffect reports of failed calls of a plan that none of them has changed anything: they were not sent, or what
// a listener shall be was refused.
func isWithoutEffect(err error) bool {
	failures, ok := errors.AsType[apply.Failures](err)
	return ok && !slices.ContainsFunc(failures, func(f *apply.Failure) bool {
		part, _ := f.Action.About()
		e, fromGateway := rpcerr.From(f.Err)
		refused := fromGateway && part == plan.PartListener && (e.Code == codes.InvalidArgument || e.Reason == rpcerr.QuotaExceeded)
		return !refused && !rpcerr.IsUnsent(f.Err)
	})
}

// isUnguarded reports that what says who may connect could not be changed as asked.
func isUnguarded(err error) bool {
	failures, _ := errors.AsType[apply.Failures](err)
	return slices.ContainsFunc(failures, func(f *apply.Failure) bool { return plan.IsGuard(f.Action) })
}

// withText adds to an outcome what people must know of the failure, in its event and in the condition.
func withText(o controller.Outcome, text string) controller.Outcome {
	if text == "" || o.Err == nil {
		return o
	}
	o.Err = fmt.Errorf("%w; %s", o.Err, text)
	for i := range o.Events {
		if o.Events[i].Reason == controller.ReasonSyncFailed {
			o.Events[i].Message += "\n" + text
		}
	}
	return o
}

// noteError is a refusal of the API server to write on the Service before the cloud is changed.
type noteError struct{ err error }

func (e *noteError) Error() string { return e.err.Error() }
func (e *noteError) Unwrap() error { return e.err }

// withLookup adds to an outcome that network interfaces of pods could not be looked up.
func withLookup(o controller.Outcome, lookup error) controller.Outcome {
	if lookup == nil {
		return o
	}
	calls := causes(lookup)
	o.Err, o.Retry, o.Reason = errors.Join(o.Err, lookup), judge(calls).retry, ""
	o.Events = append(o.Events, controller.Failure(controller.ReasonSyncFailed, calls...))
	o.Resolved = slices.DeleteFunc(o.Resolved, func(reason string) bool { return reason == controller.ReasonSyncFailed })
	return o
}

// withPending adds to an outcome that network interfaces of pods aren't known yet: that nothing went wrong so far doesn't say that the
// load balancer is as asked.
func withPending(o controller.Outcome, s pass) controller.Outcome {
	if len(s.pods.Pending) > 0 {
		o.Waits = true
		o.Resolved = slices.DeleteFunc(o.Resolved, func(reason string) bool { return reason == controller.ReasonSyncFailed })
	}
	return o
}

// withUpload adds to an outcome that certificates could not be uploaded. It counts more than what listeners wait for.
func withUpload(o controller.Outcome, upload error) controller.Outcome {
	if upload != nil {
		o.Events = slices.DeleteFunc(o.Events, func(e controller.Event) bool { return e.Reason == controller.ReasonSyncFailed })
	}
	return withLookup(o, upload)
}

// retrySubset is when a Service is tried again with as many servers as the cloud takes.
const retrySubset = time.Second

// learnLimit takes down how many servers the cloud takes, if it refused some though room was made. It reports whether
// the next pass may go well with fewer servers: nothing else has failed, and so few were not tried before.
func learnLimit(memory *state, there model.Observed, err error) bool {
	failures, _ := errors.AsType[apply.Failures](err)
	least := 0
	for _, f := range failures {
		if _, ok := f.Action.(plan.CreateGroup); ok && rpcerr.ReasonOf(f.Err) == rpcerr.ServerLimit {
			continue // It was made, and the next pass finds out how many it takes.
		}
		change, ok := f.Action.(plan.ChangeServers)
		if rpcerr.ReasonOf(f.Err) != rpcerr.ServerLimit || !ok || !change.RemoveFirst && len(change.Remove) > 0 {
			return false
		}
		have := 0
		if i := slices.IndexFunc(there.Groups, func(g model.Group) bool { return g.ID == change.GroupID }); i >= 0 {
			have = len(there.Groups[i].Servers) - len(change.Remove)
		}
		// The cloud doesn't say how many it takes. Of many, the gateway may have brought in a part before it was refused.
		limit := max(have, (have+len(change.Add))/2, 1)
		if least == 0 || limit < least {
			least = limit
		}
	}
	if least > 0 {
		return memory.SetLimit(least)
	}
	return len(failures) > 0
}

// withSubset returns the outcome of a pass that is repeated with fewer servers: the repetition reports which are left out.
func withSubset(o controller.Outcome) controller.Outcome {
	o.Events = slices.DeleteFunc(o.Events, func(e controller.Event) bool { return e.Reason == controller.ReasonSyncFailed })
	o.Retry = controller.Retry{Mode: controller.RetryAfter, After: retrySubset}
	return o
}

// notFound are the instances that the cloud refused as servers because it doesn't have them.
func notFound(err error) []string {
	failures, _ := errors.AsType[apply.Failures](err)
	var ids []string
	for _, f := range failures {
		if rpcerr.ReasonOf(f.Err) != rpcerr.ServerNotFound {
			continue
		}
		for _, s := range plan.Servers(f.Action) {
			if s.Type == model.ECS {
				ids = append(ids, s.ID)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// noRoom returns the refusal of making a load balancer, if that is what went wrong and it holds for all Services of the kind: the gateway
// had no room for the call, or the account has no quota left.
func noRoom(marks Marks, err error) *rpcerr.Error {
	failures, _ := errors.AsType[apply.Failures](err)
	for _, f := range failures {
		e, ok := rpcerr.From(f.Err)
		isThrottled := ok && e.Reason == rpcerr.Throttled && e.Unsent && e.API == marks.CreateAPI
		isUsedUp := ok && e.Reason == rpcerr.QuotaExceeded && plan.Is(f.Action, plan.PartInstance, plan.VerbCreate)
		if isThrottled || isUsedUp {
			return e
		}
	}
	return nil
}

// waits is the error of a load balancer that isn't asked for, since the refusal that another Service got holds for all.
func waits(marks Marks, refusal *rpcerr.Error) *rpcerr.Error {
	if refusal != nil && refusal.Reason == rpcerr.QuotaExceeded {
		return &rpcerr.Error{Code: refusal.Code, Reason: refusal.Reason, Unsent: true, API: refusal.API,
			Message: "it is made when its turn comes, as the quota has no room and other Services wait for theirs already: " + refusal.Message}
	}
	return &rpcerr.Error{
		Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, Unsent: true, API: marks.CreateAPI,
		Message: "it is made when its turn comes, as the rate limit has no room and other Services wait for theirs already",
	}
}
