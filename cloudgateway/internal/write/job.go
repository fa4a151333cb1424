package write

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/catalogue"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// Token is what the cloud knows a write by: the same caller that repeats a request with the same id, through whichever
// gateway, gets what the first one began, and callers can't meet each other's. Without an id every write is one of its
// own. A request that makes several writes gives each step a name.
func Token(ctx context.Context, method, requestID, step string) string {
	if requestID == "" {
		return rand.Text()
	}
	caller, _ := rpc.CallerFrom(ctx)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", caller.Name, method, requestID, step))
	const enough = 20
	return hex.EncodeToString(sum[:enough])
}

// Job is what the cloud carries out after it has accepted a write.
type Job struct {
	// ID is the cloud's.
	ID string
	// Ended is false while the cloud is at it, or does not show the job yet.
	Ended bool
	// Code and Message say why it failed; empty: it did not.
	Code, Message string
}

// Jobs awaits the ends of jobs.
type Jobs struct {
	// Look reads a job. Looks at the same time should share calls.
	Look func(ctx context.Context, id string) (Job, error)
}

const (
	// firstJobLook and nextJobLook are the times before the first look at a job and between two more: the shortest jobs take a second.
	firstJobLook = time.Second
	nextJobLook  = 2 * time.Second
)

// Await waits for the end of a job. Name is for errors, e.g. "CreateListener of nlb-1". A look that fails is made again
// as long as there is time: the job goes on whatever becomes of it.
func (j Jobs) Await(ctx context.Context, name, id string) error {
	ctx, cancel := cloud.Earlier(ctx)
	defer cancel()
	var err error
	for pause := firstJobLook; cloud.Sleep(ctx, pause); pause = nextJobLook {
		var job Job
		if job, err = j.Look(ctx, id); err != nil || !job.Ended {
			continue
		}
		if job.Code == "" {
			return nil
		}
		failure := rpcerr.Errorf(rpcerr.JobFailed, "job %s of %s has failed: %s", id, name,
			catalogue.Text(job.Message))
		failure.CloudCode = catalogue.Short(job.Code)
		return failure
	}
	why := ""
	if err != nil {
		why = fmt.Sprintf(" (the last look failed: %v)", err)
	}
	return rpcerr.Errorf(rpcerr.ResourceBusy,
		"job %s of %s goes on after the deadline%s; a repetition with the same request_id waits for it", id, name, why).
		WithRetry(nextJobLook)
}
