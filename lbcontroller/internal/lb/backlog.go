package lb

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
)

// Ensure implements controller.Kind.
func (k *Kind) Ensure(ctx context.Context, r controller.Request) controller.Outcome {
	lists := k.lists.Lend()
	o := k.ensure(ctx, r, lists)
	if o.Err == nil { // An error may name servers; nothing else of an outcome has any.
		lists.Return()
	}
	return k.inWords(k.callNext(r.Key, o))
}

// Release implements controller.Kind: first the Service's own CLB, then what it has on those of users.
func (k *Kind) Release(ctx context.Context, r controller.Request) controller.Outcome {
	return k.inWords(k.callNext(r.Key, k.release(ctx, r)))
}

// callNext wakes the Services for which the end of a pass makes room at the gateway.
func (k *Kind) callNext(key string, o controller.Outcome) controller.Outcome {
	if refusal := k.noRoom(o.Err); refusal != nil {
		k.creations.Refused(key, time.Now(), refusal.RetryAfter)
	} else {
		o.Wake = append(o.Wake, k.creations.Done(key, time.Now())...)
	}
	return o
}

// noRoom returns the refusal of making a CLB, if that is what went wrong and the gateway had no room for it.
func (k *Kind) noRoom(err error) *rpcerr.Error {
	failures, _ := errors.AsType[apply.Failures](err)
	for _, f := range failures {
		if e, ok := rpcerr.From(f.Err); ok && e.Reason == rpcerr.Throttled && e.Unsent && e.API == k.Product.Marks().CreateAPI {
			return e
		}
	}
	return nil
}

// putOff is the outcome for a Service whose CLB isn't asked for yet, since others wait for theirs. What was read is remembered until then.
func (k *Kind) putOff(s subject, d decision, wait time.Duration) controller.Outcome {
	if d.known.read {
		k.keep(s, d.entry.Holds(d.known.observed, ""), false)
	}
	err := &apply.Failure{Action: d.plan.Phases[0][0], Err: &rpcerr.Error{
		Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, Unsent: true, API: k.Product.Marks().CreateAPI,
		Message: "it is made when its turn comes, as the rate limit has no room and other Services wait for theirs already",
	}}
	return controller.Outcome{
		Service: s.svc, Err: err, Retry: controller.Retry{Mode: controller.RetryLook},
		Looks:  []controller.Look{{After: wait, Priority: reconcile.User}},
		Events: []controller.Event{controller.Failure(controller.ReasonSyncFailed, err)},
	}
}
