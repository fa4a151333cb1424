package openapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/catalogue"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// Do sends a call and decodes the answer into out, unless that is nil. Every error of the cloud or of the way there is an
// *rpcerr.Error.
func (c *Client) Do(ctx context.Context, call Call, out any) (Result, error) {
	if _, has := ctx.Deadline(); !has {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
	}
	x := &exchange{client: c, call: call, needed: out != nil}
	got, err := x.run(ctx)
	result := Result{RequestID: requestIDOf(err)}
	if x.reached {
		result.Sent = x.started
	}
	if err == nil {
		result.RequestID = got.requestID()
		err = x.decode(got, result.RequestID, out)
	}
	rpc.NoteCloudRequest(ctx, result.RequestID)
	if call.Mutating && !result.Sent.IsZero() {
		rpc.NoteCloudChange(ctx)
	}
	return result, err
}

// exchange is one call on its way: what the last attempt brought and what is known from all of them. One goroutine runs it;
// only on is also written by the transport's.
type exchange struct {
	client *Client
	call   Call
	needed bool            // the text of the answer
	hold   func(int) error // nil unless the call is passed on, see Client.Pass
	body   []byte          // of each attempt

	// The last attempt.
	with    credentials.Credentials
	started time.Time
	on      atomic.Pointer[usage] // the connection that was there, by which the request may have reached the cloud
	answer  *answer               // nil if none came
	failure error                 // why none came
	refusal catalogue.Answer      // the answer, if it is an error
	meaning catalogue.Meaning     // of the refusal
	span    trace.Span
	end     func() // of the attempt's turn

	attempts int
	renewed  bool
	unclear  bool // an attempt may have been executed without our knowing
	reached  bool // an attempt may have reached the cloud
}

// run makes attempts until one settles the call.
func (x *exchange) run(ctx context.Context) (*answer, error) {
	ctx = httptrace.WithClientTrace(context.WithValue(ctx, exchangeKey{}, x), &httptrace.ClientTrace{
		// The transport repeats an attempt by itself only if nothing was written, and asks for a connection again then.
		GetConn: func(string) { x.on.Store(nil) },
		GotConn: func(got httptrace.GotConnInfo) { x.on.Store(usageOf(got.Conn)) },
	})
	first, err := http.NewRequestWithContext(ctx, x.call.method(), "", nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", x.call.api(), err)
	}
	defer func() { x.ended() }()
	if err := x.prepare(first); err != nil {
		return nil, unsent(err)
	}
	req, err := retryablehttp.FromRequest(first)
	if err == nil && len(x.body) > 0 {
		err = req.SetBody(x.body)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", x.call.api(), err)
	}
	_, err = x.client.retry.Do(req) //nolint:bodyclose // judge has read and closed it
	if x.succeeded() || x.passes() && x.answer != nil {
		return x.answer, nil
	}
	return nil, x.conclude(ctx, err)
}

// exchangeKey is that of the exchange in the context of its attempts.
type exchangeKey struct{}

// exchangeOf is the exchange that an attempt belongs to.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange) // There is one in each request that the client sends.
	return x
}

// newRetrying makes what repeats the attempts of all calls. What it decides is the exchange's.
func newRetrying(cfg Config, plain *http.Client) *retryablehttp.Client {
	return &retryablehttp.Client{
		HTTPClient: plain,
		Logger:     nil, // it would print URLs with signatures
		RetryMax:   maxRetries,
		CheckRetry: func(ctx context.Context, res *http.Response, err error) (bool, error) {
			return exchangeOf(ctx).judge(ctx, res, err)
		},
		PrepareRetry: func(r *http.Request) error { return exchangeOf(r.Context()).prepare(r) },
		Backoff: func(_, _ time.Duration, attempt int, res *http.Response) time.Duration {
			wait := jittered(cfg.Retry << attempt)
			if res == nil { // Only an answer asks for a wait.
				return wait
			}
			if x, ok := res.Request.Context().Value(exchangeKey{}).(*exchange); ok {
				wait = max(wait, x.hint())
			}
			return wait
		},
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
}

// jittered is a wait of which the upper half is random.
func jittered(wait time.Duration) time.Duration {
	half := wait / 2
	return half + rand.N(half+1) //nolint:gosec // Jitter needs no secrecy.
}

// unsent is the error of a call of which not even the first attempt was made.
func unsent(err error) error {
	e, ok := errors.AsType[*rpcerr.Error](err)
	if !ok {
		return err
	}
	marked := *e
	marked.Unsent = true
	return &marked
}

// prepare makes the next attempt ready, and its trace.
func (x *exchange) prepare(r *http.Request) error {
	x.attempts++
	x.beginSpan(r.Context())
	err := x.ready(r)
	if err != nil {
		x.endSpan(err)
	}
	return err
}

// ready gets what an attempt needs: newer credentials if the last ones were refused, room in the budget, a fresh signature.
func (x *exchange) ready(r *http.Request) error {
	ctx := r.Context()
	if x.meaning.Renew {
		x.renewed = true
		x.client.cfg.Credentials.Renew(ctx, x.with)
	}
	if err := x.acquire(ctx); err != nil {
		return err
	}
	end, err := x.client.cfg.Turn.Enter(x.call.Mutating)
	if err != nil {
		return err
	}
	x.end = end
	with, err := x.client.cfg.Credentials.Current()
	if err != nil {
		return rpcerr.Errorf(rpcerr.CloudCredentials, "%s", err).WithAPI(x.call.api())
	}
	s, err := x.client.sign(x.call, with)
	if err != nil {
		return rpcerr.Errorf(rpcerr.Internal, "%s", err).WithAPI(x.call.api())
	}
	// A new URL and header, never the old ones changed: the transport may still read those.
	r.URL, r.Host, r.Header = s.url, s.url.Host, s.header
	x.body = s.body
	x.with, x.started = with, time.Now()
	x.answer, x.failure, x.refusal, x.meaning = nil, nil, catalogue.Answer{}, catalogue.Meaning{}
	x.on.Store(nil)
	return nil
}

// judge looks at the outcome of an attempt and decides whether there is to be another.
func (x *exchange) judge(ctx context.Context, res *http.Response, err error) (bool, error) {
	if err == nil {
		x.answer, err = readAnswer(res, x.needed, x.hold)
	}
	refusal := x.unwritten(err)
	x.failure = cause(cmp.Or(refusal, err))
	x.reached = x.reached || x.answer != nil || x.on.Load() != nil
	if x.answer != nil {
		if said := x.answer.header.Get("X-Ratelimit-User-Api"); said != "" {
			x.client.limits.Store(x.call.Product, said)
		}
	}
	if x.answer != nil && !x.succeeded() {
		x.refusal = x.answer.failure(x.call)
		x.meaning = catalogue.Lookup(x.refusal)
	}
	x.discreet()
	if x.answer != nil && (x.succeeded() || catalogue.KnowsAction(x.refusal)) {
		x.client.cfg.Budget.Answered(string(x.call.Product), x.call.Action)
	}
	x.ended()
	x.record()
	x.endSpan(nil)
	if x.succeeded() {
		return false, nil
	}
	mayHaveRun := x.meaning.Unclear() || (x.answer == nil && x.on.Load() != nil)
	x.unclear = x.unclear || (x.call.Mutating && mayHaveRun)
	if x.passes() {
		return x.passAgain(), refusal
	}
	return x.worthRepeating() && (x.call.repeatable() || !mayHaveRun) && x.timeLeft(ctx), refusal
}

// unwritten is the error of an attempt that failed since its connection refused to write without the turn, nil if that is not why.
func (x *exchange) unwritten(err error) error {
	by := x.on.Load()
	if err == nil || by == nil || !by.refused() {
		return nil
	}
	x.on.Store(nil)
	return errNoTurn
}

// ended gives the turn of an attempt back, if it has one.
func (x *exchange) ended() {
	if x.end != nil {
		x.end()
		x.end = nil
	}
}

func (x *exchange) succeeded() bool { return x.answer != nil && x.answer.ok() }

// worthRepeating reports whether another attempt may end otherwise. Throttling is not repeated: the budget knows when.
func (x *exchange) worthRepeating() bool {
	if x.answer != nil {
		return x.meaning.Class == catalogue.Server && x.hint() <= longestHint || (x.meaning.Renew && !x.renewed)
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](x.failure)
	return !untrusted
}

// timeLeft reports whether the deadline leaves room for the wait before another attempt.
func (x *exchange) timeLeft(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	deadline, has := ctx.Deadline()
	return !has || time.Until(deadline) > x.longestWait(x.attempts-1)
}

// longestWait is that after an attempt, the first of which is 0 and the last maxRetries.
func (x *exchange) longestWait(attempt int) time.Duration {
	return max(x.hint(), x.client.cfg.Retry<<attempt)
}

// longestHint is the longest wait that is waited for inside of a call. What the cloud asks for beyond that is left to the caller.
const longestHint = 5 * time.Second

// hint is the wait that the last answer asks for.
func (x *exchange) hint() time.Duration {
	if x.answer == nil {
		return 0
	}
	return retryAfter(x.answer.header)
}

// conclude makes the error of a call that did not succeed. err is retryablehttp's: it matters if it is prepare's, which kept
// the next attempt from being made; otherwise it repeats what the last attempt brought.
func (x *exchange) conclude(ctx context.Context, err error) error {
	var e *rpcerr.Error
	if x.answer != nil {
		e = x.refused()
	} else {
		e = x.unanswered(ctx)
	}
	if prepareErr, ok := errors.AsType[*rpcerr.Error](err); ok {
		e = prepareErr
	}
	if x.unclear && !x.settled() {
		e = x.outcomeUnknown(e)
	}
	return e
}

// decode reads a successful answer, if out is not nil. What a proxy answers must not pass for the cloud's word that a
// write is done, nor that there is nothing of what was to be read. The cloud's answers have a request id.
func (x *exchange) decode(got *answer, requestID string, out any) error {
	wrong := ""
	if requestID == "" {
		wrong = "has no request id, so it is not the cloud's"
	} else if out != nil {
		if err := json.Unmarshal(got.body, out); err != nil {
			wrong = "can't be read: " + err.Error()
		}
	}
	if wrong == "" {
		return nil
	}
	e := rpcerr.Errorf(rpcerr.CloudUnavailable, "the answer %s", wrong).WithAPI(x.call.api())
	if x.call.Mutating {
		return x.outcomeUnknown(e)
	}
	return e
}

// refused is the error of an answer. It reports throttling to the budget, which knows best when the next call goes through.
func (x *exchange) refused() *rpcerr.Error {
	e := catalogue.Error(x.refusal)
	if x.meaning.Class == catalogue.Throttle {
		e.RetryAfter = max(x.refusal.RetryAfter, x.throttled())
	}
	return e
}

// throttled tells the budget that the cloud refused the call for its rate. It returns how long no call of the action will be sent.
func (x *exchange) throttled() time.Duration {
	return x.client.cfg.Budget.Throttled(string(x.call.Product), x.call.Action, x.refusal.RetryAfter)
}

// unanswered is the error of a call without an answer.
func (x *exchange) unanswered(ctx context.Context) *rpcerr.Error {
	host := x.client.hosts[x.call.Product]
	e := rpcerr.Errorf(rpcerr.CloudUnavailable, "no answer from %s: %v", host, x.failure).WithRetry(2 * time.Second).WithAPI(x.call.api())
	switch ctx.Err() {
	case nil:
	case context.Canceled:
		e.Code, e.RetryAfter, e.Message = codes.Canceled, 0, "the caller gave up waiting for "+host
	default:
		e.Code, e.RetryAfter, e.Message = codes.DeadlineExceeded, 0, fmt.Sprintf("no answer from %s before the deadline", host)
	}
	return e
}

// settled reports whether the refusal of a repeated call says that the earlier attempts were not executed either, because the
// same ClientToken or the same deletion would have succeeded otherwise.
func (x *exchange) settled() bool {
	settling := []catalogue.Class{catalogue.NotFound, catalogue.Exists, catalogue.Quota, catalogue.Dependency,
		catalogue.Invalid, catalogue.Money}
	return slices.Contains(settling, x.meaning.Class)
}

// outcomeUnknown says that it is not known whether the write was executed, and why.
func (x *exchange) outcomeUnknown(last *rpcerr.Error) *rpcerr.Error {
	e := *last
	e.Code, e.Reason, e.RetryAfter = codes.Unknown, rpcerr.OutcomeUnknown, 0
	if last.Reason != rpcerr.OutcomeUnknown {
		e.Message = "the change may have been made or not: " + last.Message
	}
	return &e
}

// cause takes away what net/http puts around a failure: the URL, and with it the signature.
func cause(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

func requestIDOf(err error) string {
	if e, ok := rpcerr.From(err); ok {
		return e.CloudRequestID
	}
	return ""
}
