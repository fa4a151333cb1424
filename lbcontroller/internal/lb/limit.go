package lb

import (
	"errors"
	"slices"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// retrySubset is when a Service is tried again with as many servers as the cloud takes.
const retrySubset = time.Second

// learnLimit takes down how many servers the cloud takes, if it refused some though room was made. It reports whether the next pass may go well
// with fewer servers: nothing else has failed, and so few were not tried before.
func (k *Kind) learnLimit(key string, d decision, err error) bool {
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
		if i := slices.IndexFunc(d.known.observed.Groups, func(g model.Group) bool { return g.ID == change.GroupID }); i >= 0 {
			have = len(d.known.observed.Groups[i].Servers) - len(change.Remove)
		}
		// The cloud doesn't say how many it takes. Of many, the gateway may have brought in a part before it was refused.
		limit := max(have, (have+len(change.Add))/2, 1)
		if least == 0 || limit < least {
			least = limit
		}
	}
	if least > 0 {
		return k.memory.SetLimit(key, least)
	}
	return len(failures) > 0
}

// withSubset returns the outcome of a pass that is repeated with fewer servers: the repetition reports which are left out.
func withSubset(o controller.Outcome) controller.Outcome {
	o.Events = slices.DeleteFunc(o.Events, func(e controller.Event) bool { return e.Reason == controller.ReasonSyncFailed })
	o.Retry = controller.Retry{Mode: controller.RetryAfter, After: retrySubset}
	return o
}
