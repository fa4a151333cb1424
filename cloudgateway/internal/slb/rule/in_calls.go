package rule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// outcome is what became of one item of a batch.
type outcome struct {
	over bool
	err  error // nil: success
}

func (o *outcome) finish(err error) { o.over, o.err = true, err }

func (o *outcome) finished() bool { return o.over }

type item interface {
	finish(err error)
	finished() bool
}

func unfinished[T item](items []T) []T {
	return slices.DeleteFunc(slices.Clone(items), T.finished)
}

func finishAll[T item](items []T, err error) {
	for _, i := range items {
		i.finish(err)
	}
}

// inCalls finishes all items with calls of at most perCall of them. Send finishes those whose end is known, and says why it left others.
// If that is the fault of one of them, halving the call finds it, so that the others need not suffer; else it concerns all that come
// after.
func inCalls[T item](items []T, perCall int, send func([]T) error) {
	queue := slices.Collect(slices.Chunk(unfinished(items), perCall))
	for len(queue) > 0 {
		sent := queue[0]
		err := send(sent)
		rest := unfinished(sent)
		queue = queue[1:]
		switch {
		case len(rest) == 0:
		case !aboutOne(err):
			finishAll(rest, err)
			finishAll(slices.Concat(queue...), untried(err))
			return
		case len(rest) < len(sent):
			queue = slices.Insert(queue, 0, rest)
		case len(rest) == 1:
			rest[0].finish(err)
		default:
			half := len(rest) / 2
			queue = slices.Insert(queue, 0, rest[:half], rest[half:])
		}
	}
}

// untried is the error of what was not sent because a call before it failed. Its own outcome is not unknown.
func untried(err error) error {
	if e, ok := rpcerr.From(err); ok && cloud.Unclear(err) {
		known := *e
		known.Code, known.Reason, known.RetryAfter = codes.Unavailable, rpcerr.CloudUnavailable, time.Second
		err = &known
	}
	return fmt.Errorf("not tried, since a call before it failed: %w", err)
}

// aboutOne reports whether the refusal of a call may be about one of its items only.
func aboutOne(err error) bool {
	e, ok := rpcerr.From(err)
	return ok && (e.Code == codes.InvalidArgument || e.Code == codes.AlreadyExists || strings.HasPrefix(e.CloudCode, "Invalid") ||
		e.Reason == rpcerr.ServerGroupNotFound || e.Reason == rpcerr.ForwardingRuleNotFound)
}
