package write

import (
	"context"
	"fmt"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// Attempt sends a write until it is known what has become of it. It waits while the thing is busy. After a lost answer, or a refusal that
// may mean that it was done before, it looks.
type Attempt struct {
	Send func(ctx context.Context) error
	// Doubtful reports whether a refusal may mean that it is done.
	Doubtful func(error) bool
	// Done looks.
	Done func(ctx context.Context) (bool, error)
	// Again reports whether what is left after such a refusal may be sent again; nil: the refusal stands.
	Again func(error) bool
	// Doubt is for the error when nobody can look after such a refusal, e.g. "it is there already, but reading it failed".
	Doubt string
}

// Run ends when it is done, or can't be done.
func (a Attempt) Run(ctx context.Context) error {
	again := func(err error) bool { return cloud.Busy(err) || cloud.Unclear(err) || a.Again != nil && a.Again(err) }
	return cloud.Retry(ctx, again, func(ctx context.Context) error {
		err := a.Send(ctx)
		if err == nil || !cloud.Unclear(err) && !a.Doubtful(err) {
			return err
		}
		done, lookErr := a.Done(ctx)
		switch {
		case lookErr != nil && !again(err):
			return fmt.Errorf("%s: %w", a.Doubt, lookErr)
		case lookErr == nil && done:
			return nil
		}
		return err
	})
}
