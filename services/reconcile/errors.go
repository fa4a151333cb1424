package reconcile

import (
	"errors"
	"fmt"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"
)

// ErrNotBegun says that nothing was tried yet: the key is added again when its turn comes. It says nothing about what
// has failed before, whose delay goes on growing.
var ErrNotBegun = errors.New("not begun: another key has its turn")

// terminalError wraps an error that no repetition can mend.
type terminalError struct{ err error }

func (e *terminalError) Error() string { return e.err.Error() }
func (e *terminalError) Unwrap() error { return e.err }

// Terminal marks err as one that no repetition can mend, e.g. a wrong annotation: the key is not tried again until it
// is added again. Terminal(nil) is nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err: err}
}

// afterError asks for another attempt at a chosen time.
type afterError struct {
	err   error
	delay time.Duration
}

func (e *afterError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("to be continued in %s", e.delay)
	}
	return e.err.Error()
}

func (e *afterError) Unwrap() error { return e.err }

// After asks for another attempt after delay and does not count as a failure: the reconciler waits for something that is on
// its way. err says what, and may be nil.
func After(err error, delay time.Duration) error {
	return &afterError{err: err, delay: delay}
}

// deferredError asks for another attempt at a time that the gateway chose.
type deferredError struct {
	err   error
	delay time.Duration
}

func (e *deferredError) Error() string { return e.err.Error() }
func (e *deferredError) Unwrap() error { return e.err }

// Defer is for an error of several calls, one of which carries a RetryInfo: the attempt is repeated after delay, as if
// it had failed with that one alone.
func Defer(err error, delay time.Duration) error { return &deferredError{err: err, delay: delay} }

// retryAfter returns the time that the gateway asks for.
func retryAfter(err error) (time.Duration, bool) {
	if e, ok := errors.AsType[*deferredError](err); ok {
		return e.delay, true
	}
	return rpcerr.RetryAfter(err)
}
