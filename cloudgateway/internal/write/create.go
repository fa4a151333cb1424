package write

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// Create makes something for which the cloud has no token, so that it must not be sent again blindly. After a lost
// answer, of this attempt of a request or of an earlier one, it looks for what the request may have made. That is never
// anything that was there before.
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
	// Unmistakable: nothing is read before the creation is sent, since hardly anything else can match what Find looks for.
	Unmistakable bool
	// Read reads one by its id now; nil if it is gone.
	Read func(ctx context.Context, id string) (*T, error)
	// ID gives an id.
	ID func(*T) string
}

// Run makes it, or gives what an earlier attempt has made. The creation stays in the ledger until Ledger.End, so that a caller that has
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

// made looks for the work of the request. Nil means that it was not carried out; an error, that it can't be known.
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
	return rpcerr.Errorf(rpcerr.OutcomeUnknown, "the answer to the creation of %s was lost: %s", c.Name,
		fmt.Sprintf(format, args...)).WithAPI(c.API)
}

// Existing is for Find where a list does not show all of a thing: it reads what is listed by its id, and keeps what is there and fits.
func Existing[T any](
	ctx context.Context, listed []*T, id func(*T) string, read func(ctx context.Context, id string) (*T, error), fits func(*T) bool,
) (found []*T, err error) {
	for _, l := range listed {
		t, err := read(ctx, id(l))
		if err != nil {
			return nil, err
		}
		if t != nil && fits(t) {
			found = append(found, t)
		}
	}
	return found, nil
}

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

// Run makes it, or gives what an earlier attempt has made. The creation stays in the ledger until Ledger.End, so that a caller that has
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

// ledgerLife is how long it is remembered that a creation was begun: callers that don't know what became of their request repeat it
// within minutes.
const ledgerLife = time.Hour

// ledgerSize bounds the creations of one kind that are remembered, and with them those that may be under way.
const ledgerSize = 10_000

// Ledger knows the creations that were begun and not seen to their end. To forget one of them could mean to make it twice, so it
// refuses new ones when it is full, and never drops one for another. It is safe for concurrent use.
type Ledger struct {
	size    int
	mu      sync.Mutex
	entries map[Key]ledgerEntry
}

// Key identifies a request to create something. Callers can't meet each other's requests.
type Key struct{ caller, requestID, name string }

// KeyOf gives the key of a request of the caller of ctx. The name is what else has to be the same in a repetition.
func KeyOf(ctx context.Context, requestID, name string) Key {
	caller, _ := rpc.CallerFrom(ctx)
	return Key{caller: caller.Name, requestID: requestID, name: name}
}

// Begun is what is known of a creation that was begun.
type Begun struct {
	// ID is that of what was made; empty while it is not known whether there is any.
	ID string
	// Before are the ids of what looked like it before it was sent, and hence is not its work.
	Before []string
}

type ledgerEntry struct {
	begun   Begun
	expires time.Time
}

// NewLedger makes a Ledger.
func NewLedger() *Ledger {
	return &Ledger{size: ledgerSize, entries: map[Key]ledgerEntry{}}
}

// Begin remembers a creation that is about to be sent, or what became known of one. It fails if there is no room for another one.
func (l *Ledger) Begin(key Key, begun Begun) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if _, known := l.entries[key]; !known && len(l.entries) >= l.size {
		maps.DeleteFunc(l.entries, func(_ Key, e ledgerEntry) bool { return !now.Before(e.expires) })
		if len(l.entries) >= l.size {
			return rpcerr.Errorf(rpcerr.Throttled, "too many creations are unfinished; finish or drop them before new ones").WithRetry(time.Minute)
		}
	}
	l.entries[key] = ledgerEntry{begun: begun, expires: now.Add(ledgerLife)}
	return nil
}

// Get gives what is known of a creation that was begun.
func (l *Ledger) Get(key Key) (Begun, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.entries[key]
	if !ok || !time.Now().Before(e.expires) {
		return Begun{}, false
	}
	return e.begun, true
}

// End forgets a creation: it was refused, or seen to its end.
func (l *Ledger) End(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.entries, key)
}
