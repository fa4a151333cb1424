package write

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"alicloud-controllers.dev/proto/rpcerr"
)

// TestFailedJobsAreShort: what the cloud says of a job that has failed fills neither errors nor the log, nor does it quote a token.
func TestFailedJobsAreShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("x", 1<<20)
		jobs := Jobs{Look: func(context.Context, string) (Job, error) {
			return Job{Ended: true, Code: long, Message: "SecurityToken=secret of the gateway " + long}, nil
		}}
		e, _ := rpcerr.From(jobs.Await(t.Context(), "CreateListener of nlb-1", "job-1"))
		if e == nil || e.Reason != rpcerr.JobFailed || len(e.Message) > 400 || len(e.CloudCode) != 128 || strings.Contains(e.Message, "secret") {
			t.Errorf("got %v", e)
		}
	})
}
