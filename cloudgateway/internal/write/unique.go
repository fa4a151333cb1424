package write

import (
	"context"

	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// Unique makes something that the cloud has no token for, and of which it lets there be only one. When the cloud says that there is one
// already, and it is as asked for, it can only be what this request made, if this request was sent before.
type Unique[T any] struct {
	Ledger *Ledger
	Key    Key
	// Name is for errors, e.g. `the domain extension of "example.com"`.
	Name string
	// Exists is the reason of the refusal to make a second one.
	Exists rpcerr.Reason
	// Send makes the call.
	Send func(ctx context.Context) (*T, error)
	// Find reads what there is now; nil if there is none, or none as the request wants it.
	Find func(ctx context.Context) (*T, error)
}

// Run makes it, or gives what an earlier attempt has made. The creation stays in the ledger until Ledger.End, so that a caller who has
// more to do with what was made finds it again.
func (u Unique[T]) Run(ctx context.Context) (made *T, err error) {
	_, sent := u.Ledger.Get(u.Key)
	if err := u.Ledger.Begin(u.Key, Begun{}); err != nil {
		return nil, err
	}
	err = Attempt{
		Send: func(ctx context.Context) (err error) {
			made, err = u.Send(ctx)
			sent = sent || err == nil || cloud.Unclear(err)
			return err
		},
		Doubtful: func(err error) bool { return sent && rpcerr.ReasonOf(err) == u.Exists },
		Done: func(ctx context.Context) (bool, error) {
			found, err := u.Find(ctx)
			if err != nil || found == nil {
				return false, err
			}
			made = found
			return true, nil
		},
		Doubt: u.Name + " is there already, but reading whether it is as asked for failed",
	}.Run(ctx)
	if !sent {
		u.Ledger.End(u.Key) // There is nothing that a repetition could find.
	}
	return made, err
}
