package openapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/proto/rpcerr"
)

// The three kinds of calls.
var (
	read       = Call{Product: SLB, Action: "DescribeLoadBalancers"}
	write      = Call{Product: SLB, Action: "CreateVServerGroup", Mutating: true}
	idempotent = Call{Product: SLB, Action: "CreateLoadBalancer", Mutating: true, Idempotent: true,
		Params: map[string]string{"ClientToken": "t"}}
)

func TestDo(t *testing.T) {
	cloud := newFakeCloud(t)
	w := newWorld(t, cloud.host(), nil)
	var out struct{ Name string }
	result, err := w.client.Do(t.Context(), Call{
		Product: ECS, Action: "DescribeInstances",
		Params: map[string]string{"InstanceIds": `["i-1 ~*+ü"]`, "Tag.1.Key": "k", "Empty": ""},
	}, &out)
	if err != nil {
		t.Fatal(err)
	}
	if out.Name != "x" || result.RequestID != "REQ-1" {
		t.Errorf("answer %+v, result %+v", out, result)
	}
	got := map[string]string{}
	for _, name := range []string{"Action", "Version", "RegionId", "InstanceIds", "Tag.1.Key", "Empty", "AccessKeyId",
		"SecurityToken", "Format"} {
		got[name] = cloud.calls[0].Get(name)
	}
	want := map[string]string{
		"Action": "DescribeInstances", "Version": "2014-05-26", "RegionId": "cn-test", "InstanceIds": `["i-1 ~*+ü"]`, "Tag.1.Key": "k",
		"Empty": "", "AccessKeyId": "LTAItest", "SecurityToken": "sts-token", "Format": "JSON",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"alicloud-controllers/test"}, cloud.agents); diff != "" {
		t.Errorf("user agents (-want +got):\n%s", diff)
	}
	if len(cloud.bad) > 0 {
		t.Error(cloud.bad)
	}
}

// TestForm: what is long or secret is signed, comes with every attempt, and is in no URL.
func TestForm(t *testing.T) {
	cloud := newFakeCloud(t, step{drop: true}, step{status: 503, code: "ServiceUnavailable"})
	w := newWorld(t, cloud.host(), nil)
	call := idempotent
	call.Form = map[string]string{"PrivateKey": "-----BEGIN PRIVATE KEY-----\nMII+/=\n", "Empty": ""}
	if _, err := w.client.Do(t.Context(), call, nil); err != nil {
		t.Fatal(err)
	}
	want := url.Values{"PrivateKey": {call.Form["PrivateKey"]}, "Empty": {""}}
	if diff := cmp.Diff([]url.Values{want, want, want}, cloud.forms); diff != "" {
		t.Errorf("bodies (-want +got):\n%s", diff)
	}
	for _, q := range cloud.calls {
		if q.Has("PrivateKey") || q.Get("ClientToken") != "t" {
			t.Errorf("the URL has %v", q)
		}
	}
	if len(cloud.bad) > 0 {
		t.Error(cloud.bad)
	}
}

// TestOutcomes is the matrix of kinds of calls and what may happen to them: how often they are sent and what the caller learns.
func TestOutcomes(t *testing.T) {
	const (
		ok       = codes.OK
		unknown  = rpcerr.OutcomeUnknown
		unavail  = rpcerr.CloudUnavailable
		attempts = 4 // one and three repetitions
	)
	always := func(s step) []step { return []step{s, s, s, s, s, s} }
	tests := []struct {
		name     string
		call     Call
		script   []step
		attempts int
		code     codes.Code
		reason   rpcerr.Reason
	}{
		{"read, dropped once", read, []step{{drop: true}}, 2, ok, ""},
		{"read, answer cut once", read, []step{{cut: true}}, 2, ok, ""},
		{"read, 503 once", read, []step{{status: 503, code: "ServiceUnavailable"}}, 2, ok, ""},
		{"read, 400 that is the cloud's fault", read, []step{{status: 400, code: "LocationServiceTimeout"}}, 2, ok, ""},
		{"read, page of a proxy", read, []step{{status: 502, body: "<html>bad gateway</html>"}}, 2, ok, ""},
		{"read, always dropped", read, always(step{drop: true}), attempts, codes.Unavailable, unavail},
		{"read, always 500", read, always(step{status: 500, code: "InternalError"}), attempts, codes.Unavailable, unavail},
		{"read, throttled", read, []step{{status: 400, code: "Throttling.User"}}, 1, codes.ResourceExhausted, rpcerr.Throttled},
		{"read, refused", read, []step{{status: 400, code: "InvalidParameter"}}, 1, codes.InvalidArgument, rpcerr.InvalidField},
		{"read, not JSON", read, []step{{body: "hello"}}, 1, codes.Unavailable, unavail},

		{"write, dropped", write, []step{{drop: true}}, 1, codes.Unknown, unknown},
		{"write, answer cut", write, []step{{cut: true}}, 1, codes.Unknown, unknown},
		{"write, 500", write, []step{{status: 500, code: "InternalError"}}, 1, codes.Unknown, unknown},
		{"write, page of a proxy", write, []step{{status: 502, body: "<html>bad gateway</html>"}}, 1, codes.Unknown, unknown},
		{"write, nonce used", write, []step{{status: 400, code: "SignatureNonceUsed"}}, 1, codes.Unknown, unknown},
		{"write, not JSON", write, []step{{body: "hello"}}, 1, codes.Unknown, unknown},
		{"write, busy", write, []step{{status: 400, code: "ServiceIsConfiguring"}}, 1, codes.Aborted, rpcerr.ResourceBusy},
		{"write, throttled", write, []step{{status: 400, code: "Throttling"}}, 1, codes.ResourceExhausted, rpcerr.Throttled},
		{"write, gone", write, []step{{status: 404, code: "InvalidLoadBalancerId.NotFound"}}, 1, codes.NotFound, rpcerr.LoadBalancerNotFound},

		{"idempotent write, dropped once", idempotent, []step{{drop: true}}, 2, ok, ""},
		{"idempotent write, 503 once", idempotent, []step{{status: 503, code: "ServiceUnavailable"}}, 2, ok, ""},
		{"idempotent write, always dropped", idempotent, always(step{drop: true}), attempts, codes.Unknown, unknown},
		{"idempotent write, dropped, then throttled", idempotent, []step{{drop: true}, {status: 400, code: "Throttling"}}, 2,
			codes.Unknown, unknown},
		{"idempotent write, dropped, then its token busy", idempotent,
			[]step{{drop: true}, {status: 400, code: "OperationFailed.TokenIsProcessing"}}, 2, codes.Unknown, unknown},
		{"idempotent write, dropped, then over quota", idempotent, []step{{drop: true}, {status: 400, code: "OverQuota"}}, 2,
			codes.ResourceExhausted, rpcerr.QuotaExceeded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cloud := newFakeCloud(t, tt.script...)
			w := newWorld(t, cloud.host(), nil)
			var out map[string]any
			_, err := w.client.Do(t.Context(), tt.call, &out)
			got := codeAndReason(err)
			if want := fmt.Sprint(tt.code, " ", tt.reason); got != want {
				t.Errorf("got %s, want %s (%v)", got, want, err)
			}
			if n := cloud.attempts(); n != tt.attempts {
				t.Errorf("%d attempts, want %d", n, tt.attempts)
			}
			if n := len(w.budget.acquired); n != tt.attempts {
				t.Errorf("asked the budget %d times for %d attempts", n, tt.attempts)
			}
			if len(cloud.bad) > 0 {
				t.Error(cloud.bad)
			}
			noSecrets(t, w, err)
		})
	}
}

// TestAnswerOfAnother: what answers with status 200 and no request id is not the cloud. Whether a write was executed is
// not known then, though nothing of the answer is needed, and what a read does not find there may exist.
func TestAnswerOfAnother(t *testing.T) {
	t.Parallel()
	const unknown, unavailable = "Unknown OUTCOME_UNKNOWN", "Unavailable CLOUD_UNAVAILABLE"
	for _, tt := range []struct {
		body string
		call Call
		out  any
		want string
	}{
		{"<html>log in</html>", write, nil, unknown},
		{"<html>log in</html>", read, &struct{}{}, unavailable},
		{"{}", write, &struct{}{}, unknown},
		{"{}", read, &struct{}{}, unavailable},
		{"null", read, &struct{}{}, unavailable},
		{"", write, nil, "OK "}, // The cloud's.
		{"", read, &struct{}{}, "OK "},
	} {
		cloud := newFakeCloud(t, step{body: tt.body})
		w := newWorld(t, cloud.host(), nil)
		if _, err := w.client.Do(t.Context(), tt.call, tt.out); codeAndReason(err) != tt.want {
			t.Errorf("%s, body %q: got %v, want %s", tt.call.Action, tt.body, err, tt.want)
		}
	}
}

func codeAndReason(err error) string {
	if err == nil {
		return fmt.Sprint(codes.OK, " ")
	}
	e, ok := rpcerr.From(err)
	if !ok {
		return err.Error()
	}
	return fmt.Sprint(e.Code, " ", e.Reason)
}

// noSecrets checks that neither the error nor the log says what nobody may know.
func noSecrets(t *testing.T, w *world, err error) {
	t.Helper()
	for name, text := range map[string]string{"error": fmt.Sprintf("%+v", err), "log": w.logs.String()} {
		for _, secret := range []string{testKey.AccessKeySecret, testKey.SecurityToken, "Signature=", "http://"} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s contains %q: %s", name, secret, text)
			}
		}
	}
}

func TestNothingListens(t *testing.T) {
	const host = "127.0.0.1:1"
	for _, call := range []Call{read, write, idempotent} {
		w := newWorld(t, host, nil)
		_, err := w.client.Do(t.Context(), call, nil)
		if e, ok := rpcerr.From(err); !ok || e.Reason != rpcerr.CloudUnavailable || e.Code != codes.Unavailable {
			t.Errorf("%s: %v, want CLOUD_UNAVAILABLE, since nothing was sent", call.Action, err)
		}
		if n := len(w.budget.acquired); n != 4 {
			t.Errorf("%s: %d attempts, want 4", call.Action, n)
		}
		noSecrets(t, w, err)
	}
}

// silent is a cloud that takes every request and answers none, on a clock of a test's own.
func silent(cfg *Config) {
	cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			_, _ = io.Copy(io.Discard, far) // until the client has gone
			_ = far.Close()
		}()
		return near, nil
	}
}

func TestDeadline(t *testing.T) {
	tests := []struct {
		call   Call
		code   codes.Code
		reason rpcerr.Reason
	}{
		{read, codes.DeadlineExceeded, rpcerr.CloudUnavailable},
		{write, codes.Unknown, rpcerr.OutcomeUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.call.Action, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "127.0.0.1", silent)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := w.client.Do(ctx, tt.call, nil)
				if got, want := codeAndReason(err), fmt.Sprint(tt.code, " ", tt.reason); got != want {
					t.Errorf("got %s, want %s (%v)", got, want, err)
				}
				noSecrets(t, w, err)
			})
		})
	}
}

func TestDefaultTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "127.0.0.1", silent)
		begin := time.Now()
		_, err := w.client.Do(context.WithoutCancel(t.Context()), read, nil)
		if took := time.Since(begin); codeAndReason(err) != "DeadlineExceeded CLOUD_UNAVAILABLE" || took != 30*time.Second {
			t.Errorf("error %v after %s", err, took)
		}
	})
}

func TestHungAttemptIsRepeated(t *testing.T) {
	cloud := newFakeCloud(t, step{hang: true})
	// Long enough for the answers after it on a busy machine.
	w := newWorld(t, cloud.host(), func(cfg *Config) { cfg.AttemptTimeout = 500 * time.Millisecond })
	if _, err := w.client.Do(t.Context(), read, nil); err != nil {
		t.Error(err)
	}
}

func TestNoRepetitionThatWouldMissTheDeadline(t *testing.T) {
	cloud := newFakeCloud(t, step{status: 503, code: "ServiceUnavailable"})
	w := newWorld(t, cloud.host(), func(cfg *Config) { cfg.Retry = time.Hour })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	begin := time.Now()
	_, err := w.client.Do(ctx, read, nil)
	if e, ok := rpcerr.From(err); !ok || e.CloudCode != "ServiceUnavailable" {
		t.Errorf("error %v, want the cloud's", err)
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("waited %s", took)
	}
}

func TestErrorSaysEverything(t *testing.T) {
	cloud := newFakeCloud(t, step{status: 404, code: "InvalidLoadBalancerId.NotFound"})
	w := newWorld(t, cloud.host(), nil)
	result, err := w.client.Do(t.Context(), Call{Product: SLB, Action: "DeleteLoadBalancer", Mutating: true}, nil)
	e, ok := errors.AsType[*rpcerr.Error](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	want := &rpcerr.Error{
		Code: codes.NotFound, Reason: rpcerr.LoadBalancerNotFound, Message: "The cloud says InvalidLoadBalancerId.NotFound.",
		API: "slb/DeleteLoadBalancer", CloudCode: "InvalidLoadBalancerId.NotFound", CloudRequestID: "REQ-1",
	}
	if diff := cmp.Diff(want, e, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if result.RequestID != "REQ-1" {
		t.Errorf("request id %q", result.RequestID)
	}
}

func TestThrottlingReachesTheBudget(t *testing.T) {
	tests := []struct {
		name       string
		header     http.Header
		retryAfter time.Duration
		want       time.Duration
	}{
		{"no header", nil, 0, 7 * time.Second},
		{"x-acs-retry-after", http.Header{"X-Acs-Retry-After": {"9500"}}, 9500 * time.Millisecond, 9500 * time.Millisecond},
		{"TimeLeft", http.Header{"X-Ratelimit-User-Api": {"Limit:1,Remain:0,TimeLeft:2000,Reset:1234"}}, 2 * time.Second, 7 * time.Second},
		{"Retry-After", http.Header{"Retry-After": {"3"}}, 3 * time.Second, 7 * time.Second},
		{"too much", http.Header{"X-Acs-Retry-After": {"99999999999999"}}, 5 * time.Minute, 5 * time.Minute},
		{"nonsense", http.Header{"X-Acs-Retry-After": {"-1"}, "Retry-After": {"soon"}}, 0, 7 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cloud := newFakeCloud(t, step{status: 400, code: "Throttling", header: tt.header})
			w := newWorld(t, cloud.host(), nil)
			w.budget.pause = 7 * time.Second
			_, err := w.client.Do(t.Context(), read, nil)
			if diff := cmp.Diff([]time.Duration{tt.retryAfter}, w.budget.throttled); diff != "" {
				t.Errorf("the budget got (-want +got):\n%s", diff)
			}
			if got, _ := rpcerr.RetryAfter(err); got != tt.want {
				t.Errorf("retry after %s, want %s", got, tt.want)
			}
		})
	}
}

func TestBudgetRefuses(t *testing.T) {
	refusal := &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, RetryAfter: time.Minute}
	tests := []struct {
		name    string
		call    Call
		refused int // which attempt
		reason  rpcerr.Reason
	}{
		{"first attempt", idempotent, 1, rpcerr.Throttled},
		{"repetition of a read", read, 2, rpcerr.Throttled},
		{"repetition of a write", idempotent, 2, rpcerr.OutcomeUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cloud := newFakeCloud(t, step{drop: true})
			w := newWorld(t, cloud.host(), nil)
			w.budget.refuse = func(n int) error {
				if n == tt.refused {
					return refusal
				}
				return nil
			}
			_, err := w.client.Do(t.Context(), tt.call, nil)
			if got := rpcerr.ReasonOf(err); got != tt.reason {
				t.Errorf("reason %s, want %s (%v)", got, tt.reason, err)
			}
			if unsent := rpcerr.IsUnsent(err); unsent != (tt.refused == 1) {
				t.Errorf("nothing was sent: %t", unsent)
			}
			if refusal.Unsent {
				t.Error("the budget's error is changed")
			}
			if n := cloud.attempts(); n != tt.refused-1 {
				t.Errorf("%d attempts, want %d", n, tt.refused-1)
			}
		})
	}
}

func TestRenewedCredentials(t *testing.T) {
	expired := step{status: 400, code: "InvalidSecurityToken.Expired"}
	newer := testKey
	newer.SecurityToken = "newer-token"
	t.Run("once", func(t *testing.T) {
		cloud := newFakeCloud(t, expired)
		w := newWorld(t, cloud.host(), nil)
		w.creds.keys = []credentials.Credentials{testKey, newer}
		if _, err := w.client.Do(t.Context(), write, nil); err != nil {
			t.Error(err)
		}
		if got := cloud.calls[1].Get("SecurityToken"); got != "newer-token" {
			t.Errorf("second attempt with token %q", got)
		}
	})
	t.Run("in vain", func(t *testing.T) {
		cloud := newFakeCloud(t, expired, expired, expired)
		w := newWorld(t, cloud.host(), nil)
		_, err := w.client.Do(t.Context(), write, nil)
		if got := codeAndReason(err); got != "FailedPrecondition CLOUD_CREDENTIALS" {
			t.Errorf("got %s (%v)", got, err)
		}
		if n := cloud.attempts(); n != 2 {
			t.Errorf("%d attempts, want 2", n)
		}
	})
	t.Run("none", func(t *testing.T) {
		w := newWorld(t, "127.0.0.1:1", nil)
		w.creds.err = errors.New("no role")
		_, err := w.client.Do(t.Context(), read, nil)
		if got := codeAndReason(err); got != "FailedPrecondition CLOUD_CREDENTIALS" {
			t.Errorf("got %s (%v)", got, err)
		}
	})
}

// TestConcurrentCalls is for the race detector, and shows that every signature is fresh although half of the attempts fail.
func TestConcurrentCalls(t *testing.T) {
	var script []step
	for range 20 {
		script = append(script, step{status: 503, code: "ServiceUnavailable"}, step{})
	}
	cloud := newFakeCloud(t, script...)
	w := newWorld(t, cloud.host(), nil)
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 5 {
				if _, err := w.client.Do(t.Context(), read, nil); err != nil && rpcerr.ReasonOf(err) != rpcerr.CloudUnavailable {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	if len(cloud.bad) > 0 {
		t.Error(cloud.bad)
	}
}
