package app

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// gate is what every call to the cloud passes: only the active replica calls.
type gate struct {
	budget *flow.Budget
	// holds reports whether the lease is certain to be this replica's. Nil: there is no election.
	holds func() bool
	// drain is how long after the end of the lease what was sent before may wait for its answer. 0: for ever.
	drain time.Duration

	mu      sync.Mutex
	term    *term          // nil: this replica is on standby
	changes sync.WaitGroup // that were sent and are not answered; none begins without a term
}

// mostWait is how long the end of a term waits for the answers to changes while the lease is this replica's.
const mostWait = 12 * time.Second

// term is a time for which this replica is the active one.
type term struct {
	calls   context.Context // ends with the term
	answers context.Context // ends when another replica may begin

	endCalls, endAnswers func()
}

// errTermEnded ends the handlers whose answers come too late.
var errTermEnded = errors.New("another replica of the gateway takes over")

// begin lets calls go. If another replica may have called up to a time, as the Lease says, the present window counts as spent as far as
// that one may have spent it; zero: none has.
//
// A process without an election that is restarted can't know what it has spent before. It begins as if it had spent nothing, since
// a first start is much more frequent than a crash under full load: the first create of a minute then goes at once instead of
// after a pause. The price is a few refused calls, after which the gateway keeps to its share for some windows.
func (t *gate) begin(ctx context.Context, until time.Time) {
	if !until.IsZero() {
		t.budget.TakeOver(until)
	}
	ctx = context.WithoutCancel(ctx) // The term ends by end.
	calls, endCalls := context.WithCancel(ctx)
	answers, endAnswers := context.WithCancelCause(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.term = &term{calls: calls, answers: answers, endCalls: endCalls, endAnswers: func() { endAnswers(errTermEnded) }}
}

// end refuses the calls that have not been sent yet, also those that wait, and returns when the changes that were sent are answered: then
// another replica may begin. While the lease is this replica's, it is so for another drain. Reads are not waited for.
func (t *gate) end() {
	t.mu.Lock()
	ended := t.term
	t.term = nil
	t.mu.Unlock()
	if ended == nil {
		return
	}
	ended.endCalls()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		t.changes.Wait()
	}()
	for waited, step := time.Duration(0), t.drain; ; waited += step {
		if step == 0 {
			step = mostWait
		}
		select {
		case <-answered:
			if t.drain > 0 {
				time.AfterFunc(t.drain, ended.endAnswers)
			}
			return
		case <-time.After(step):
		}
		if waited+step >= mostWait || !t.Holds() {
			ended.endAnswers()
			<-answered // The calls end with their handlers.
			return
		}
	}
}

// Enter implements openapi.Turn. Acquire has just looked at the lease, and a connection looks again before it writes.
func (t *gate) Enter(mutating bool) (end func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.term == nil {
		return nil, onStandby()
	}
	if !mutating {
		return func() {}, nil
	}
	t.changes.Add(1)
	return t.changes.Done, nil
}

// Holds implements openapi.Turn.
func (t *gate) Holds() bool { return t.holds == nil || t.holds() }

func (t *gate) current() *term {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.term
}

// within ends a handler's context, which ends by itself too, when another replica may begin.
func (t *gate) within(ctx context.Context) context.Context {
	now := t.current()
	if now == nil {
		return ctx // Its calls are refused.
	}
	ctx, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(now.answers, func() { cancel(context.Cause(now.answers)) })
	context.AfterFunc(ctx, func() { forget() })
	return ctx
}

// Acquire implements openapi.Budget.
func (t *gate) Acquire(ctx context.Context, product, action string) error {
	now := t.current()
	if now == nil {
		return onStandby()
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(now.calls, cancel)() //nolint:contextcheck // The term outlives the call.
	err := t.budget.Acquire(waiting, product, action)
	if now.calls.Err() != nil || !t.Holds() {
		return onStandby()
	}
	return err
}

func onStandby() error {
	return rpcerr.Errorf(rpcerr.NotActive, "this replica of the gateway is on standby; another one is active").WithRetry(time.Second)
}

// Answered implements openapi.Budget.
func (t *gate) Answered(product, action string) { t.budget.Answered(product, action) }

// Throttled implements openapi.Budget.
func (t *gate) Throttled(product, action string, retryAfter time.Duration) time.Duration {
	return t.budget.Throttled(product, action, retryAfter)
}

// priorities rank calls. None is above what the protocol allows for its method, nor above what the configuration allows for its caller.
type priorities struct {
	callers map[string]flow.Priority
	others  flow.Priority
}

func newPriorities(cfg config.Config) priorities {
	p := priorities{callers: map[string]flow.Priority{}}
	p.others, _ = method.PriorityNamed(cfg.Budget.MaxPriority) // The names are the same, as a test knows.
	for _, account := range cfg.ControllerAccounts() {
		p.callers[account] = flow.Backend
	}
	for name, own := range cfg.Budget.Callers {
		if highest, named := method.PriorityNamed(own.MaxPriority); named {
			p.callers[name] = highest
		}
	}
	return p
}

// controllersOf are the users whose calls may use more than the share: the controllers, and the gateway itself.
func controllersOf(cfg config.Config) []string {
	return append(slices.Sorted(maps.Values(cfg.ControllerAccounts())), flow.OwnName)
}

// of is the priority of a call: what the caller asks for, as far as the method's ceiling and its own allow. Names that
// this version does not know count as the highest.
func (p priorities) of(caller string, ceiling flow.Priority, asked []string) flow.Priority {
	highest, named := p.callers[caller]
	if !named {
		highest = p.others
	}
	highest = min(highest, ceiling)
	for _, name := range asked {
		if wanted, known := method.PriorityNamed(name); known {
			highest = min(highest, wanted)
		}
	}
	return highest
}

// onBehalf puts into the context of a call, for the queues, on whose behalf it is and with which priority.
func onBehalf(cfg config.Config) func(context.Context) context.Context {
	p := newPriorities(cfg)
	return func(ctx context.Context) context.Context {
		caller, ok := rpc.CallerFrom(ctx)
		if !ok {
			return ctx
		}
		policy, _ := rpc.PolicyFrom(ctx)
		priority := p.of(caller.Name, flow.Priority(policy.Priority), metadata.ValueFromIncomingContext(ctx, gateway.PriorityKey))
		return inTheNameOf(ctx, cfg.Budget, flow.Caller{Name: caller.Name, Priority: priority})
	}
}

// patient lets requests that change nothing, since they only ask whether the cloud would carry them out, wait for all others.
func patient(b config.Budget, next grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if dry, ok := req.(interface{ GetValidateOnly() bool }); ok && dry.GetValidateOnly() {
			ctx = inTheNameOf(ctx, b, flow.Caller{Name: flow.CallerFrom(ctx).Name, Priority: flow.Background})
		}
		return next(ctx, req, info, handler)
	}
}

// inTheNameOf lets writes and calls to the cloud wait as the caller. Reads share calls with those of the same priority.
// Those of a caller that may not use all of the budget share them with its own only, but for background work, which never
// may: what waits for its share of the budget must not make others wait.
func inTheNameOf(ctx context.Context, b config.Budget, caller flow.Caller) context.Context {
	owner := ""
	if b.Callers[caller.Name].Bounded() || caller.Priority > flow.Background && b.KeepsToShare(caller.Name) {
		owner = caller.Name
	}
	return batch.WithLane(flow.WithCaller(ctx, caller), caller.Name, owner, int(caller.Priority))
}
