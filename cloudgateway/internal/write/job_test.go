package write

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// TestToken: the cloud takes a write for the repetition of another only if caller, method, id and step are the same; without an id, never.
func TestToken(t *testing.T) {
	t.Parallel()
	of := func(caller, method, id, step string) string {
		return Token(rpc.WithCaller(t.Context(), rpc.Caller{Name: caller}), method, id, step)
	}
	if once, again := of("a", "m", "id", "s"), of("a", "m", "id", "s"); once != again {
		t.Error("a repetition is another write")
	}
	seen := map[string][]string{}
	for _, request := range [][]string{
		{"a", "m", "id", "s"}, {"b", "m", "id", "s"}, {"a", "n", "id", "s"}, {"a", "m", "other", "s"}, {"a", "m", "id", "t"},
		{"a", "m", "id s", ""}, {"a m", "", "id", "s"}, {"a", "m", "", "s"}, {"a", "m", "", "s"},
	} {
		token := of(request[0], request[1], request[2], request[3])
		if before, twice := seen[token]; twice || token == "" {
			t.Errorf("%q and %q have the same token %q", before, request, token)
		}
		seen[token] = request
	}
}

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
