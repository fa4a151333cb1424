package vpc

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// verdict says how far a change has come.
type verdict uint8

const (
	todo    verdict = iota // has to be sent
	waiting                // the cloud is at it
	done
	failed
)

// change brings one thing into a state. The cloud answers before it has done what it was told, refuses while it is at something
// else, and an answer may get lost: what it shows decides, so nothing is sent that is not missing, and the same change made twice is
// made once.
type change[T any] struct {
	// name is for errors, e.g. "the association of eip-1".
	name string
	// look reads the thing now.
	look func(ctx context.Context) (T, error)
	// judge tells how far the thing has come, or why it can't come there.
	judge func(T) (verdict, error)
	// send makes the write. Nil: it was made before, and its effect is awaited.
	send func(ctx context.Context, seen T) error
	// lookFirst saves writes that have nothing to do, and tells send what there is; otherwise seen is empty the first time.
	lookFirst bool
	// doubtful tells of a refusal whether it may mean that the thing is as it shall be; nil: none does.
	doubtful func(error) bool
}

// run ends when the thing is as it shall be, and returns it as it was seen then.
func (ch change[T]) run(ctx context.Context) (T, error) {
	var (
		seen     T
		refusal  error // of the last attempt
		accepted = ch.send == nil
		begun    = accepted // the cloud may be at it
		v        verdict
		err      error
	)
	for attempt := 0; ; attempt++ {
		if v == todo && !accepted && (attempt > 0 || !ch.lookFirst) {
			switch refusal = ch.send(ctx, seen); {
			case refusal == nil:
				accepted, begun = true, true
			case cloud.Unclear(refusal):
				begun = true
			case !cloud.Busy(refusal) && !ch.mayMeanDone(refusal):
				return seen, refusal
			}
		}
		if seen, err = ch.look(ctx); err != nil {
			return seen, ch.unread(err, begun)
		}
		if v, err = ch.judge(seen); v == done || err != nil {
			return seen, err
		}
		switch {
		case v == todo && ch.mayMeanDone(refusal):
			return seen, refusal // The look has cleared the doubt.
		case v == todo && attempt == 0 && ch.lookFirst && !accepted:
			continue
		case !cloud.Sleep(ctx, pollWait):
			return seen, ch.unfinished(refusal)
		}
	}
}

func (ch change[T]) mayMeanDone(refusal error) bool {
	return refusal != nil && ch.doubtful != nil && ch.doubtful(refusal)
}

// unread is the error when the cloud can't be asked what became of a change.
func (ch change[T]) unread(err error, begun bool) error {
	if !begun {
		return err
	}
	return &rpcerr.Error{
		Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, Message: fmt.Sprintf("%s was sent, and its effect can't be read: %v", ch.name, err),
	}
}

// unfinished is the error when there is no more time.
func (ch change[T]) unfinished(refusal error) error {
	if refusal != nil {
		return refusal
	}
	return &rpcerr.Error{
		Code: codes.Aborted, Reason: rpcerr.ResourceBusy, RetryAfter: pollWait,
		Message: ch.name + " did not come to its end before the deadline; it may still do so",
	}
}

// set makes a write that says how something shall be, or one with a token.
func (c *Client) set(ctx context.Context, action string, params cloud.Params, out any) error {
	return cloud.Set(ctx, c.caller, cloud.Write(openapi.VPC, action, params), out)
}

// write makes a write of which a lost answer leaves the outcome open.
func (c *Client) write(ctx context.Context, action string, params cloud.Params) error {
	_, err := c.caller.Do(ctx, cloud.Write(openapi.VPC, action, params), nil)
	return err
}

// inUse is the refusal to touch something that something else has.
func inUse(api, format string, args ...any) error {
	return &rpcerr.Error{
		Code: codes.FailedPrecondition, Reason: rpcerr.ResourceInUse, API: "vpc/" + api, Message: fmt.Sprintf(format, args...),
	}
}
