package rule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// item is a rule of a batch, and what becomes of it.
type item struct {
	id   string // of the rule; known beforehand if it is to be deleted
	rule *slbv1.NewForwardingRule
	key  write.Key // of its creation, see write.Unique

	finished bool
	err      error // nil: success
}

func (i *item) finish(err error) { i.finished, i.err = true, err }

func unfinished(items []*item) []*item {
	return slices.DeleteFunc(slices.Clone(items), func(i *item) bool { return i.finished })
}

func finishAll(items []*item, err error) {
	for _, i := range items {
		i.finish(err)
	}
}

// inCalls finishes all items with calls of at most perCall of them. Send finishes those whose end is known, and says why it left others.
// If that is the fault of one of them, halving the call finds it, so that the others need not suffer; else it concerns all that come
// after.
func inCalls(items []*item, perCall int, send func([]*item) error) {
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
