package rpc

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"
)

// Account knows what every caller has under way, and refuses what would be too much. A call is under way from its
// headers to the last byte of its answer. No caller may have more than is left for others, so that several that have
// all that they may leave room for the next one.
type Account struct {
	limits Limits
	read   places

	mu      sync.Mutex
	all     share
	callers map[string]*share // those that have something under way
}

// share is what is under way.
type share struct {
	calls, bytes int
	places       chan struct{} // one for each request that is being read, and each answer that is being encoded
	reads        held
}

// answerRoom is what every call has for its answer from the beginning, in bytes, so that a usual one is never refused
// when the work is done.
const answerRoom = 16 << 10

// callRoom is what every call of gRPC takes from the beginning: its client may send as much as the window of HTTP/2 that
// nobody reads, before its request has a place to be read, and behind it.
const callRoom = answerRoom + window

func newAccount(limits Limits) *Account {
	return &Account{limits: limits, read: places{left: limits.Receiving}, callers: make(map[string]*share)}
}

// entry is a call of a caller that is under way.
type entry struct {
	account *Account
	caller  string
	of      *share
	bytes   int
}

// enter begins a call that takes so many bytes from the beginning. End it.
func (a *Account) enter(caller string, room int) (*entry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.callers[caller]
	if of == nil {
		of = &share{places: make(chan struct{}, a.limits.ReceivingPerCaller)}
	}
	switch {
	case of.calls >= a.limits.CallsPerCaller:
		return nil, tooMuch(fmt.Sprintf("%s has %d calls under way, the most that a caller may have", caller, of.calls))
	case of.calls >= a.limits.Calls-a.all.calls:
		return nil, tooMuch(fmt.Sprintf("%d calls are under way, the most that the gateway takes of %s beside others", a.all.calls, caller))
	}
	e := &entry{account: a, caller: caller, of: of}
	if err := e.add(room); err != nil {
		return nil, err
	}
	a.callers[caller] = of
	of.calls++
	a.all.calls++
	return e, nil
}

// reading waits for a place to read the request.
func (e *entry) reading(ctx context.Context) (done func(), err error) {
	return e.account.reading(ctx, e.of.places, &e.of.reads)
}

// reading waits for a place of the caller's own, and then for one of those of all.
func (a *Account) reading(ctx context.Context, own chan struct{}, reads *held) (done func(), err error) {
	leave, err := placeIn(ctx, own)
	if err != nil {
		return nil, err
	}
	giveBack, err := a.read.take(ctx, reads)
	if err != nil {
		leave()
		return nil, err
	}
	return func() {
		giveBack()
		leave()
	}, nil
}

// place waits for a place to encode the answer.
func (e *entry) place(ctx context.Context) (done func(), err error) { return placeIn(ctx, e.of.places) }

func placeIn(ctx context.Context, places chan struct{}) (done func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hold adds what the request takes in memory.
func (e *entry) hold(bytes int) error {
	e.account.mu.Lock()
	defer e.account.mu.Unlock()
	return e.add(bytes)
}

// answer adds what the answer takes in memory beyond the room that it has.
func (e *entry) answer(bytes int) error {
	if most := e.account.limits.BytesPerCaller; bytes > most {
		return &rpcerr.Error{Code: codes.ResourceExhausted, Message: fmt.Sprintf("the answer has %d bytes, and a caller may have %d under way: "+
			"ask for less at a time, with page_size where the request has it", bytes, most)}
	}
	return e.hold(max(0, bytes-answerRoom))
}

// add adds bytes, with the account locked.
func (e *entry) add(bytes int) error {
	a := e.account
	switch {
	case e.of.bytes+bytes > a.limits.BytesPerCaller:
		return tooMuch(fmt.Sprintf("the calls of %s that are under way hold more than %d bytes of requests and answers", e.caller,
			a.limits.BytesPerCaller))
	case e.of.bytes+bytes > a.limits.Bytes-a.all.bytes:
		return tooMuch(fmt.Sprintf("the calls under way hold %d bytes of requests and answers, "+
			"the most that the gateway takes of %s beside others", a.all.bytes, e.caller))
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
