// Package replay answers a repeated write with the result of the first. Callers make a repetition recognisable by the request_id
// of their request; what has none is not looked at.
package replay

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/memo"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// Memory knows the writes under way and the results of those that have succeeded. It is for callers that didn't get their answer,
// so it never looks at what became of the resource since: one that was deleted meanwhile is still the first result.
type Memory struct {
	policies rpc.Policies // say which methods change something
	replayed *prometheus.CounterVec

	mu       sync.Mutex
	underway map[key]*attempt
	results  *memo.Store[key, *attempt] // those that succeeded
}

// New makes a Memory.
func New(policies rpc.Policies, registerer prometheus.Registerer) *Memory {
	return &Memory{
		policies: policies,
		replayed: promauto.With(registerer).NewCounterVec(prometheus.CounterOpts{
			Name: "cloudgateway_requests_replayed_total",
			Help: "Writes that were answered with the result of an earlier request with the same request_id.",
		}, []string{"method"}),
		underway: map[key]*attempt{},
		results:  memo.NewStore[key, *attempt](semaphore.NewWeighted(space)),
	}
}

// key is whose request it is, and which. Callers can't meet each other's requests.
type key struct{ caller, method, requestID string }

// attempt is a request that was begun.
type attempt struct {
	content [sha256.Size]byte
	ended   chan struct{} // is closed at its end
	result  *anypb.Any    // after the end; nil: it failed
}

// Intercept is a grpc.UnaryServerInterceptor. It comes after identity and permission, which are asked for repetitions too, and before
// the handler, which also checks the form of the id: a wrong one is refused there, and refusals are not remembered.
func (m *Memory) Intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	request, ok := req.(interface {
		proto.Message
		GetRequestId() string
	})
	if !ok || request.GetRequestId() == "" || !m.policies[info.FullMethod].Mutating {
		return next(ctx, req)
	}
	if dry, ok := req.(interface{ GetValidateOnly() bool }); ok && dry.GetValidateOnly() {
		return next(ctx, req) // It is no attempt at the request.
	}
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("recognise the request: %w", err)
	}
	caller, _ := rpc.CallerFrom(ctx)
	k := key{caller: caller.Name, method: info.FullMethod, requestID: request.GetRequestId()}
	return m.once(ctx, k, sha256.Sum256(content), func() (any, error) { return next(ctx, req) })
}

// Before is Intercept in front of another interceptor, which sees only what is not answered from the memory.
func (m *Memory) Before(inner grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		return m.Intercept(ctx, req, info, func(ctx context.Context, req any) (any, error) { return inner(ctx, req, info, handler) })
	}
}

// once makes the write, unless it is done. A repetition waits for an attempt that is under way; if that fails, it makes the next one
// itself, as if it had come after the failure, since that may be about the first caller only: its deadline, or that it went away.
func (m *Memory) once(ctx context.Context, k key, content [sha256.Size]byte, write func() (any, error)) (any, error) {
	for again := false; ; again = true {
		current, ours := m.enter(k, content)
		switch {
		case ours:
			response, err := m.try(k, current, write)
			if e, ok := rpcerr.From(err); ok && again && e.Unsent {
				maybeSent := *e // by the attempt that was waited for
				maybeSent.Unsent, err = false, &maybeSent
			}
			return response, err
		case current.content != content:
			return nil, mismatch(k)
		}
		select {
		case <-current.ended:
			if current.result != nil {
				m.replayed.WithLabelValues(k.method).Inc()
				rpc.NoteReplay(ctx)
				return current.result.UnmarshalNew()
			}
		case <-ctx.Done():
			return nil, waited(ctx, k)
		}
	}
}

// enter gives the attempt that there is, or begins one, which is then ours to make.
func (m *Memory) enter(k key, content [sha256.Size]byte) (current *attempt, ours bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if done, _, ok := m.results.Get(k, time.Now(), life); ok {
		return done, false
	}
	if current, ok := m.underway[k]; ok {
		return current, false
	}
	begun := &attempt{content: content, ended: make(chan struct{})}
	m.underway[k] = begun
	return begun, true
}

// try makes an attempt, and remembers it if it succeeds.
func (m *Memory) try(k key, a *attempt, write func() (any, error)) (any, error) {
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.underway, k)
		if a.result != nil {
			m.results.Put(k, a, overhead+len(k.caller)+len(k.requestID)+len(a.result.GetValue()), time.Now(), life)
		}
		close(a.ended)
	}()
	response, err := write()
	if message, ok := response.(proto.Message); ok && err == nil {
		a.result = newResult(message)
	}
	return response, err
}

func mismatch(k key) error {
	e := rpcerr.Invalidf("request_id", "%q was used for another request less than an hour ago; take a new one", k.requestID)
	e.Reason = rpcerr.IdempotencyMismatch
	return e
}

// waited is the answer to a repetition whose time ended before the attempt for which it waited.
func waited(ctx context.Context, k key) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return rpcerr.Errorf(rpcerr.ResourceBusy,
		"the first request with request_id %q took until the deadline; repeat it with the same id", k.requestID).
		WithRetry(time.Second)
}

const (
	// life is how long a result is remembered, as the protocol says.
	life = time.Hour
	// space bounds what is remembered, in bytes: more than an hour of what the cloud's limits let through.
	space = 32 << 20
	// overhead is about what a result takes besides its texts.
	overhead = 512
)

// newResult gives an answer as it goes over the wire: that is small, and can't be changed. It gives nil for one that is not to be
// remembered: one that can't be sent, and one with errors of items, which are for the caller to try again.
func newResult(m proto.Message) *anypb.Any {
	if !complete(m) {
		return nil
	}
	result, err := anypb.New(m)
	if err != nil {
		return nil
	}
	return result
}

// complete reports whether an answer has no error of an item.
func complete(m proto.Message) bool {
	failed := errors.New("has failed")
	return protorange.Range(m.ProtoReflect(), func(at protopath.Values) error {
		if within, ok := at.Index(-1).Value.Interface().(protoreflect.Message); ok {
			if _, bad := within.Interface().(*commonv1.ItemError); bad {
				return failed
			}
		}
		return nil
	}) == nil
}
