package rpc

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"
)

// account knows what every caller has under way, and refuses what would be too much. No caller may have more than is
// left for others, so that several that have all that they may leave room for the next one.
type account struct {
	limits Limits

	mu      sync.Mutex
	all     share
	callers map[string]*share // those that have something under way
}

// share is what is under way.
type share struct {
	calls, bytes int
	receiving    chan struct{} // one place for each request that is being read
}

func newAccount(limits Limits) *account {
	return &account{limits: limits, callers: make(map[string]*share)}
}

// entry is a call of a caller that is under way.
type entry struct {
	account *account
	caller  string
	of      *share
	bytes   int
}

// enter begins a call. End it.
func (a *account) enter(caller string) (*entry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.callers[caller]
	if of == nil {
		of = &share{receiving: make(chan struct{}, a.limits.ReceivingPerCaller)}
	}
	switch {
	case of.calls >= a.limits.CallsPerCaller:
		return nil, tooMuch(fmt.Sprintf("%s has %d calls under way, the most that a caller may have", caller, of.calls))
	case of.calls >= a.limits.Calls-a.all.calls:
		return nil, tooMuch(fmt.Sprintf("%d calls are under way, the most that the gateway takes of %s beside others", a.all.calls, caller))
	}
	a.callers[caller] = of
	of.calls++
	a.all.calls++
	return &entry{account: a, caller: caller, of: of}, nil
}

// receive waits for a place to read the request.
func (e *entry) receive(ctx context.Context) (done func(), err error) {
	select {
	case e.of.receiving <- struct{}{}:
		return func() { <-e.of.receiving }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hold adds what the request takes in memory.
func (e *entry) hold(bytes int) error {
	a := e.account
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case e.of.bytes+bytes > a.limits.BytesPerCaller:
		return tooMuch(fmt.Sprintf("the requests of %s that are under way hold more than %d bytes", e.caller, a.limits.BytesPerCaller))
	case e.of.bytes+bytes > a.limits.Bytes-a.all.bytes:
		return tooMuch(
			fmt.Sprintf("the requests under way hold %d bytes, the most that the gateway takes of %s beside others", a.all.bytes, e.caller))
	}
	e.bytes += bytes
	e.of.bytes += bytes
	a.all.bytes += bytes
	return nil
}

// end gives back what the call held.
func (e *entry) end() {
	a := e.account
	a.mu.Lock()
	defer a.mu.Unlock()
	e.of.calls--
	e.of.bytes -= e.bytes
	a.all.calls--
	a.all.bytes -= e.bytes
	if e.of.calls == 0 {
		delete(a.callers, e.caller)
	}
}

func tooMuch(message string) error {
	return &rpcerr.Error{Code: codes.ResourceExhausted, Message: message, RetryAfter: time.Second}
}
