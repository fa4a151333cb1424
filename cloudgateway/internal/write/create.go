package write

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// Create makes something for which the cloud has no token, so that nobody may blindly send again. After a lost answer, of this attempt of
// a request or of an earlier one, it looks for what the request may have made. That is never anything that was there before.
type Create[T any] struct {
	Ledger *Ledger
	Key    Key
	// API and Name are for errors, e.g. "slb/CreateVServerGroup" and `vServer group "web"`.
	API, Name string
	// Send makes the call.
	Send func(ctx context.Context) (*T, error)
	// Find reads everything now that is as the request wants it in all that the cloud shows, tags included. A cache or a filter that lags
	// behind must not be asked.
	Find func(ctx context.Context) ([]*T, error)
	// Unmistakable: nothing is read before the creation is sent, since what Find gives is as unlike anything else as one can tell.
	Unmistakable bool
	// Read reads one by its id now; nil if it is gone.
	Read func(ctx context.Context, id string) (*T, error)
	// ID gives an id.
	ID func(*T) string
}

// Run makes it, or gives what an earlier attempt has made. The creation stays in the ledger until Ledger.End, so that a caller who has
// more to do with what was made finds it again.
func (c Create[T]) Run(ctx context.Context) (*T, error) {
	begun, repeated := c.Ledger.Get(c.Key)
	if repeated {
		if made, err := c.recall(ctx, begun); made != nil || err != nil {
			return made, err
		}
	}
	if !repeated || begun.ID != "" {
		var err error
		if begun, err = c.before(ctx); err != nil {
			return nil, err
		}
	}
	if err := c.Ledger.Begin(c.Key, begun); err != nil {
		return nil, err
	}
	made, err := c.send(ctx, begun)
	switch {
	case err == nil:
		return made, c.Ledger.Begin(c.Key, Begun{ID: c.ID(made)})
	case !cloud.Unclear(err):
		c.Ledger.End(c.Key)
	}
	return nil, err
}

// before looks at what there is before anything was sent.
func (c Create[T]) before(ctx context.Context) (begun Begun, err error) {
	if c.Unmistakable {
		return begun, nil
	}
	there, err := c.Find(ctx)
	for _, t := range there {
		begun.Before = append(begun.Before, c.ID(t))
	}
	return begun, err
}

func (c Create[T]) recall(ctx context.Context, begun Begun) (*T, error) {
	if begun.ID != "" {
		return c.Read(ctx, begun.ID)
	}
	made, err := c.made(ctx, begun)
	if made == nil || err != nil {
		return nil, err
	}
	return made, c.Ledger.Begin(c.Key, Begun{ID: c.ID(made)})
}

// send sends as often as it is known that there is nothing yet.
func (c Create[T]) send(ctx context.Context, begun Begun) (made *T, err error) {
	undecidable := false
	again := func(err error) bool { return !undecidable && (cloud.Busy(err) || cloud.Unclear(err)) }
	err = cloud.Retry(ctx, again, func(ctx context.Context) (err error) {
		if made, err = c.Send(ctx); !cloud.Unclear(err) {
			return err
		}
		found, lookErr := c.made(ctx, begun)
		if lookErr != nil {
			undecidable = true
			return lookErr
		}
		if found == nil {
			return err
		}
		made = found
		return nil
	})
	return made, err
}

// made looks for the work of the request. Nil means that it was not carried out; an error, that nobody can know.
func (c Create[T]) made(ctx context.Context, begun Begun) (*T, error) {
	found, err := c.Find(ctx)
	if err != nil {
		return nil, c.unknown("reading back what there is failed: %v", err)
	}
	found = slices.DeleteFunc(found, func(t *T) bool { return slices.Contains(begun.Before, c.ID(t)) })
	switch len(found) {
	case 0:
		return nil, nil //nolint:nilnil // Absence is an answer.
	case 1:
		return found[0], nil
	}
	return nil, c.unknown("%d of them came since then", len(found))
}

func (c Create[T]) unknown(format string, args ...any) error {
	return &rpcerr.Error{
		Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, API: c.API,
		Message: fmt.Sprintf("the answer to the creation of %s was lost: ", c.Name) + fmt.Sprintf(format, args...),
	}
}

// Existing is for Find where a list does not show all of a thing: it reads some by their ids, and keeps those that are there and fit.
func Existing[T any](
	ctx context.Context, ids []string, read func(ctx context.Context, id string) (*T, error), fits func(*T) bool,
) (found []*T, err error) {
	for _, id := range ids {
		t, err := read(ctx, id)
		if err != nil {
			return nil, err
		}
		if t != nil && fits(t) {
			found = append(found, t)
		}
	}
	return found, nil
}
