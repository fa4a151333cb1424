package instance

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/ecs"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/catalogue"
)

// fakeCloud holds one instance, whose changes take a while.
type fakeCloud struct {
	takes time.Duration // a start or stop
	// fails stands in the way of a call; nil lets it pass.
	fails func(call openapi.Call, nth int) error

	mu      sync.Mutex
	calls   []string
	status  string
	becomes string
	at      time.Time // when it does; zero: it stays
}

func (f *fakeCloud) Do(_ context.Context, call openapi.Call, out any) (openapi.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.at.IsZero() && !time.Now().Before(f.at) {
		f.status, f.at = f.becomes, time.Time{}
	}
	name := call.Action
	for _, param := range []string{"Force", "ForceStop", "StoppedMode"} {
		if value := call.Params[param]; value != "" {
			name += " " + param + "=" + value
		}
	}
	f.calls = append(f.calls, name)
	if f.fails != nil {
		if err := f.fails(call, len(f.calls)); err != nil {
			return openapi.Result{}, err
		}
	}
	if call.Action == "DescribeInstanceStatus" {
		return openapi.Result{}, f.describe(out)
	}
	return openapi.Result{}, f.change(call)
}

func (f *fakeCloud) describe(out any) error {
	list := []map[string]string{}
	if f.status != gone {
		list = append(list, map[string]string{"InstanceId": "i-1", "Status": f.status})
	}
	text, err := json.Marshal(map[string]any{
		"TotalCount": len(list), "InstanceStatuses": map[string]any{"InstanceStatus": list},
	})
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

func (f *fakeCloud) change(call openapi.Call) error {
	begin := func(from, passing, final string) error {
		if f.status != from {
			return refusal(call, http.StatusForbidden, "IncorrectInstanceStatus")
		}
		f.status, f.becomes, f.at = passing, final, time.Now().Add(f.takes)
		return nil
	}
	switch {
	case f.status == gone:
		return refusal(call, http.StatusNotFound, "InvalidInstanceId.NotFound")
	case call.Action == "StartInstance":
		return begin(stopped, starting, running)
	case call.Action == "StopInstance":
		return begin(running, stopping, stopped)
	case call.Params["Force"] == "true" && f.status == running:
		return begin(running, stopping, gone)
	}
	return begin(stopped, stopped, gone)
}

func refusal(call openapi.Call, status int, code string) error {
	return catalogue.Error(catalogue.Answer{
		Product: string(call.Product), Action: call.Action, Status: status, Code: code, RequestID: "r-1", Mutating: call.Mutating,
	})
}

func newService(t *testing.T, fake *fakeCloud) *Service {
	t.Helper()
	shared := cloud.Shared{Locks: &flow.Keyed[string]{}, Room: batch.NewRoom(1 << 20), Logger: slog.New(slog.DiscardHandler)}
	return New(ecs.Config{Caller: fake, Shared: shared}, "cn-hangzhou", nil)
}

func TestLifecycle(t *testing.T) {
	const look = "DescribeInstanceStatus"
	begin := func(ctx context.Context, c *Service) error { return c.change(ctx, "i-1", start()) }
	halt := func(ctx context.Context, c *Service) error {
		return c.change(ctx, "i-1", stop(&ecsv1.StopInstanceRequest{InstanceId: "i-1"}))
	}
	remove := func(ctx context.Context, c *Service) error { return c.change(ctx, "i-1", deletion(false)) }
	busyOnce := func(call openapi.Call, nth int) error {
		if nth == 1 {
			return refusal(call, http.StatusBadRequest, "SystemBusy")
		}
		return nil
	}
	lost := func(call openapi.Call, nth int) error {
		if nth == 1 {
			return refusal(call, http.StatusServiceUnavailable, "ServiceUnavailable")
		}
		return nil
	}
	tests := []struct {
		name    string
		status  string
		becomes string // the status after a second, without a call
		takes   time.Duration
		fails   func(openapi.Call, int) error
		run     func(context.Context, *Service) error
		want    rpcerr.Reason
		calls   string
		end     string
		text    string // of the error
	}{
		{name: "start", status: stopped, run: begin, calls: "StartInstance " + look, end: running},
		{name: "start that takes a while", status: stopped, takes: 3 * time.Second, run: begin, end: running,
			calls: strings.Join([]string{"StartInstance", look, look, look}, " ")},
		{name: "start of a running one", status: running, run: begin, calls: "StartInstance " + look, end: running},
		{name: "start of one that somebody starts", status: starting, becomes: running, run: begin, end: running,
			calls: strings.Join([]string{"StartInstance", look, look}, " ")},
		{name: "start of one that is busy", status: stopped, fails: busyOnce, run: begin, end: running,
			calls: strings.Join([]string{"StartInstance", look, "StartInstance", look}, " ")},
		{name: "start of none", status: gone, run: begin, want: rpcerr.InstanceNotFound, calls: "StartInstance"},
		{name: "start that takes too long", status: stopped, takes: time.Hour, run: begin, want: rpcerr.ResourceBusy, end: starting,
			text: "StartInstance of i-1 did not come to its end before the deadline; it may still do so"},
		{name: "start that was lost", status: stopped, fails: lost, run: begin, end: running,
			calls: strings.Join([]string{"StartInstance", look, "StartInstance", look}, " ")},
		{name: "start of which nobody knows", status: stopped, run: begin, want: rpcerr.OutcomeUnknown, calls: "StartInstance " + look,
			end: stopped,
			fails: func(call openapi.Call, _ int) error {
				return refusal(call, http.StatusServiceUnavailable, "ServiceUnavailable")
			}},
		{name: "delete of a running one whose answer was lost", status: running, fails: lost, run: remove,
			want: rpcerr.InvalidState, calls: "DeleteInstance " + look, end: running},
		{name: "start of one that somebody deletes", status: starting, becomes: gone, run: begin, want: rpcerr.InstanceNotFound, end: gone,
			calls: strings.Join([]string{"StartInstance", look, look}, " ")},
		{name: "stop", status: running, run: halt, calls: "StopInstance " + look, end: stopped},
		{name: "stop of a stopped one", status: stopped, run: halt, calls: "StopInstance " + look, end: stopped},
		{name: "stop with a hammer", status: running, end: stopped, calls: "StopInstance ForceStop=true StoppedMode=StopCharging " + look,
			run: func(ctx context.Context, c *Service) error {
				return c.change(ctx, "i-1", stop(&ecsv1.StopInstanceRequest{
					InstanceId: "i-1", Force: true, StoppedMode: ecsv1.StoppedMode_STOPPED_MODE_STOP_CHARGING,
				}))
			}},
		{name: "stop that keeps what it has", status: running, end: stopped, calls: "StopInstance StoppedMode=KeepCharging " + look,
			run: func(ctx context.Context, c *Service) error {
				return c.change(ctx, "i-1", stop(&ecsv1.StopInstanceRequest{
					InstanceId: "i-1", StoppedMode: ecsv1.StoppedMode_STOPPED_MODE_KEEP_CHARGING,
				}))
			}},
		{name: "delete", status: stopped, run: remove, calls: "DeleteInstance " + look, end: gone},
		{name: "delete of none", status: gone, run: remove, calls: "DeleteInstance", end: gone},
		{name: "delete of a running one", status: running, run: remove, want: rpcerr.InvalidState, calls: "DeleteInstance " + look,
			end: running, text: "instance i-1 is Running; stop it before, or set force"},
		{name: "delete with force", status: running, takes: time.Second, end: gone,
			calls: strings.Join([]string{"DeleteInstance Force=true", look, look}, " "),
			run:   func(ctx context.Context, c *Service) error { return c.change(ctx, "i-1", deletion(true)) }},
		{name: "a status that can't be read", status: stopped, run: begin, want: rpcerr.OutcomeUnknown, end: running,
			text: "StartInstance of i-1 was sent, and its effect can't be read",
			fails: func(call openapi.Call, _ int) error {
				if call.Action == look {
					return refusal(call, http.StatusForbidden, "Forbidden.RAM")
				}
				return nil
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := &fakeCloud{status: tt.status, takes: tt.takes, fails: tt.fails}
				if tt.becomes != "" || tt.status == starting {
					fake.becomes, fake.at = tt.becomes, time.Now().Add(time.Second)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := tt.run(ctx, newService(t, fake))
				if got := rpcerr.ReasonOf(err); got != tt.want || (err == nil) != (tt.want == "") || !strings.Contains(fmt.Sprint(err), tt.text) {
					t.Errorf("got %v, want %q and %q", err, tt.want, tt.text)
				}
				if got := strings.Join(fake.calls, " "); tt.calls != "" && got != tt.calls {
					t.Errorf("calls %q, want %q", got, tt.calls)
				}
				if fake.status != tt.end {
					t.Errorf("the instance is %q, want %q", fake.status, tt.end)
				}
			})
		})
	}
}

// TestEarlyChangesAreRepeated: an instance that is on its way elsewhere gets there first.
func TestEarlyChangesAreRepeated(t *testing.T) {
	for _, tt := range []struct {
		action, end string
		run         func(context.Context, *Service) error
	}{
		{"StartInstance", running, func(ctx context.Context, c *Service) error { return c.change(ctx, "i-1", start()) }},
		{"DeleteInstance", gone, func(ctx context.Context, c *Service) error { return c.change(ctx, "i-1", deletion(false)) }},
	} {
		t.Run(tt.action, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := &fakeCloud{status: stopping, becomes: stopped, at: time.Now().Add(5 * time.Second)}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := tt.run(ctx, newService(t, fake)); err != nil || fake.status != tt.end {
					t.Errorf("the instance is %q: %v", fake.status, err)
				}
			})
		})
	}
}

// TestWaitingHoldsNobodyUp: an instance that does not come to its end can be stopped by force.
func TestWaitingHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeCloud{status: stopped, takes: time.Hour}
		c := newService(t, fake)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		started := make(chan error, 1)
		go func() { started <- c.change(ctx, "i-1", start()) }()
		synctest.Wait()
		if err := c.writes.Do(ctx, "i-1", func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if e, ok := rpcerr.From(<-started); !ok || e.Code != codes.Aborted || e.RetryAfter <= 0 {
			t.Errorf("got %v, want ABORTED with the time to wait", e)
		}
	})
}

// TestWatchersShareCalls: whoever waits for many instances costs as many calls as one who waits for one, up to 50.
func TestWatchersShareCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeCloud{status: stopped}
		c := newService(t, fake)
		ids := make([]string, 0, 51)
		for i := range 51 {
			ids = append(ids, fmt.Sprintf("i-%d", i))
		}
		response, err := c.BatchGetInstanceStatuses(t.Context(), &ecsv1.BatchGetInstanceStatusesRequest{InstanceIds: ids})
		if err != nil {
			t.Fatal(err)
		}
		results := response.GetResults()
		var got []string
		for _, r := range results[:3] {
			got = append(got, r.GetStatus()+r.GetError().GetReason())
		}
		if diff := cmp.Diff([]string{"INSTANCE_NOT_FOUND", stopped, "INSTANCE_NOT_FOUND"}, got); diff != "" || len(results) != 51 {
			t.Errorf("%d results (-want +got):\n%s", len(results), diff)
		}
		if len(fake.calls) != 2 {
			t.Errorf("%d calls for 51 instances, want 2", len(fake.calls))
		}
	})
}
