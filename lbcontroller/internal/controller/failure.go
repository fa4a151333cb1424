package controller

import (
	"errors"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/clb/desired"
)

// failed tells the user, and chooses the retry: what only the user can mend waits for the user.
func (c *Controller) failed(svc *corev1.Service, err error) error {
	if goesOn(err) {
		return nil
	}
	c.announce.fail(svc, reasonSyncFailed, err)
	if _, ok := errors.AsType[*desired.InvalidError](err); ok {
		return reconcile.Terminal(err)
	}
	if refused, ok := errors.AsType[*refusedError](err); ok {
		if refused.again > 0 {
			return reconcile.After(err, refused.again)
		}
		return reconcile.Terminal(err)
	}
	c.memory.Forget(keyOf(svc)) // What the failed calls have done isn't known.
	calls := failures(err)
	if slices.ContainsFunc(calls, func(e error) bool { return rpcerr.ReasonOf(e) == rpcerr.ServerLimit }) {
		c.memory.SetFull(keyOf(svc))
	}
	if !slices.ContainsFunc(calls, func(e error) bool { return !isInvalid(e) }) {
		return reconcile.Terminal(err)
	}
	return err
}

// failures lists the failed calls in an error: the actions of a phase fail each for its own reason.
func failures(err error) []error {
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok {
		return []error{err}
	}
	var list []error
	for _, e := range joined.Unwrap() {
		list = append(list, failures(e)...)
	}
	return list
}

// isInvalid tells whether the cloud refused what was asked, which repeating doesn't change.
func isInvalid(err error) bool {
	e, ok := rpcerr.From(err)
	return ok && e.Code == codes.InvalidArgument
}

// refusedError is what the controller won't do until the Service changes.
type refusedError struct {
	text string
	// again is when to look again all the same; 0 for not before the next check for drift.
	again time.Duration
}

func (e *refusedError) Error() string { return e.text }

// partlyRefusedError is what won't be done of what a Service asks for; the rest is. What is remembered holds: nothing has failed.
type partlyRefusedError struct{ text string }

func (e *partlyRefusedError) Error() string { return e.text }

// refuse tells what isn't done.
func (e *ensuring) refuse(refused []string) error {
	err := &partlyRefusedError{strings.Join(refused, "; ")}
	e.announce.fail(e.svc, reasonSyncFailed, err)
	return reconcile.Terminal(err)
}
