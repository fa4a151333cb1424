package nlb

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// change is a write that passed all checks and has changed nothing yet.
type change struct {
	kind     string // of the resource, as ListAsynJobs names it; "": the write is complete when the call answers
	id       string // of the resource; "": begin makes it
	balancer string // the load balancer that the job belongs to, or ""
	items    []string
	// begin happens whatever becomes of the job: it makes what is new and sets passing statuses. It returns the id of the
	// resource. Nil: there is nothing to begin with.
	begin func() string
	// apply is what a job that fails does not do.
	apply func()
}

// accepted answers a write that started a job.
func accepted(j *state.NLBJob) api.Object {
	out := api.Object{"JobId", j.ID}
	made := strings.HasPrefix(j.Action, "Create")
	switch {
	case j.ResourceType == kindGroup:
		return append(out, "ServerGroupId", j.ResourceID)
	case j.ResourceType == kindPolicy && j.Action != "DeleteSecurityPolicy":
		return append(out, "SecurityPolicyId", j.ResourceID)
	case j.ResourceType == kindListener && made:
		return append(out, "ListenerId", j.ResourceID)
	case j.ResourceType == kindBalancer && made:
		return append(out, "LoadbalancerId", j.ResourceID, "OrderId", orderID(j)) // the first is spelt so by the cloud
	}
	return out
}

// orderID is a number that is the same whenever the answer is given.
func orderID(j *state.NLBJob) int64 { return 2e14 + j.Created.Unix() }

// synchronous stands for the job of a write that has none, in the memory of client tokens.
const synchronous = "-"

// write returns an action that changes something. Check finds out what it would change. Every write takes ClientToken and
// DryRun.
func write(name string, check func(*api.Context) (*change, *api.Error), codes []string, params ...api.Param) api.Action {
	handle := func(c *api.Context) (any, *api.Error) {
		settle(c)
		operation := "nlb/" + name
		if earlier, err := clienttoken.Recall(c, operation); err != nil {
			return nil, fail(notIdempotent)
		} else if earlier == synchronous {
			return api.Object{}, nil
		} else if j := c.State.NLBJobs[earlier]; j != nil {
			return accepted(j), nil
		}
		what, err := check(c)
		if err != nil {
			return nil, err
		}
		if c.True("DryRun") {
			return nil, fail(dryRun)
		}
		if what.kind == "" {
			what.apply()
			clienttoken.Remember(c, operation, synchronous)
			return api.Object{}, nil
		}
		j := startJob(c, name, what)
		clienttoken.Remember(c, operation, j.ID)
		settle(c) // a job that takes no time has ended
		return accepted(j), nil
	}
	return api.Action{
		Name: name, Mutating: true, Handle: enveloped(name, handle), Codes: append(slices.Clone(codes), dryRun, notIdempotent),
		Params: append(params, api.Flag("DryRun"), api.Optional("ClientToken"), api.Optional("RegionId")),
	}
}

// startJob carries a change out and starts its job.
func startJob(c *api.Context, action string, what *change) *state.NLBJob {
	if what.begin != nil {
		what.id = cmp.Or(what.begin(), what.id)
	}
	took := c.Settings.NLBJob
	if action == "CreateLoadBalancer" {
		took, what.balancer = c.Settings.NLBActive, what.id
	}
	j := &state.NLBJob{
		ID: jobID(c), Action: action, ResourceType: what.kind, ResourceID: what.id, NLBID: what.balancer, Items: what.items,
		Number: c.State.Sequence, Status: processing, Created: c.Now, EndsAt: c.Now.Add(took),
	}
	if f := c.Job; f != nil {
		j.EndsAt = j.EndsAt.Add(f.Delay)
		if f.Error != nil {
			j.ErrorCode, j.ErrorMessage = f.Error.Code, f.Error.Message
		}
	}
	if j.ErrorCode == "" && what.apply != nil {
		what.apply()
	}
	forgetJobs(c)
	c.State.NLBJobs[j.ID] = j
	c.State.NLBRunningJobs = append(c.State.NLBRunningJobs, j.ID)
	return j
}

// jobID returns a new id in the form of a UUID.
func jobID(c *api.Context) string {
	raw := c.NewID("")
	digits := strings.Map(func(r rune) rune { return rune("0123456789abcdef"[r%16]) }, raw+raw)
	return digits[:8] + "-" + digits[8:12] + "-4" + digits[13:16] + "-a" + digits[17:20] + "-" + digits[20:32]
}

// stamp is a time as NLB writes it.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04Z")
}
