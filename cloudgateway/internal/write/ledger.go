package write

import (
	"context"
	"maps"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/services/rpc"
	"alicloud-controllers.dev/services/rpcerr"
)

// ledgerLife is how long it is remembered that a creation was begun: callers who don't know what became of their request repeat it
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
			return &rpcerr.Error{
				Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, RetryAfter: time.Minute,
				Message: "too many creations are unfinished; finish or drop them before new ones",
			}
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
