// Package flow spends the cloud's rate limits: an account has so many calls of each action per minute, shared by everything
// that uses the account. A Budget lets calls go at the rate that the gateway may use, the important ones first, callers in
// turn, and refuses at once what would not go before its deadline. Keyed puts the writes of one resource in order.
package flow

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// headroom is what the deadline of a call has to leave for the call itself when it had to wait.
const headroom = 500 * time.Millisecond

// mostWaiting bounds the calls of one caller that wait for one action.
const mostWaiting = 5000

// Budget is the limiter of all actions of one account and region. It is safe for concurrent use and needs no closing.
type Budget struct {
	cfg     config.Budget
	log     *slog.Logger
	limits  map[string]Limit
	metrics metrics

	mu        sync.Mutex
	limiters  map[string]*limiter
	unlisted  unlisted
	takenOver time.Time // zero: no other process has called before
}

// New makes a budget that has not been used yet.
func New(cfg config.Budget, registerer prometheus.Registerer, log *slog.Logger) (*Budget, error) {
	limits, err := Granted(cfg)
	if err != nil {
		return nil, err
	}
	for name, limit := range limits {
		limits[name] = limit.part(cfg.Part)
	}
	return &Budget{cfg: cfg, log: log, limits: limits, metrics: newMetrics(registerer),
		limiters: make(map[string]*limiter), unlisted: unlisted{used: make(map[string]uint64)}}, nil
}

// Granted returns what the account is taken to have, by "product/Action": the documented limits, or what the configuration has instead.
func Granted(cfg config.Budget) (map[string]Limit, error) {
	limits, err := Limits()
	if err != nil {
		return nil, err
	}
	for name, limit := range cfg.Overrides {
		if _, known := limits[name]; !known {
			return nil, fmt.Errorf("budget override %q: no such action; want PRODUCT/ACTION such as slb/CreateLoadBalancer", name)
		}
		limits[name] = Limit{Calls: limit.Calls, Window: limit.Window.Or(0)}
	}
	return limits, nil
}

// TakeOver says that up to a time another process may have used the budget: the one that this one replaces. In windows that it may have
// used, calls go one after the other, so that a window which it has filled costs a refusal of one. What is longer ago than a window does
// not matter.
func (b *Budget) TakeOver(until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.takenOver = until
	for _, l := range b.limiters {
		l.takeOver(b.takenOver, now)
	}
}

// Acquire waits for the turn of one call. It refuses with THROTTLED and the true wait what can't go before the deadline of ctx.
func (b *Budget) Acquire(ctx context.Context, product, action string) error {
	return b.limiter(product, action).acquire(ctx, CallerFrom(ctx))
}

// The names under which a budget counts the actions of a product together of which it is not known that there are
// any: the table of limits does not have them, and the cloud has not answered yet. Their limits are also those of
// each action that the table does not have.
const (
	OtherReads  = "OtherReads"
	OtherWrites = "OtherWrites"
)

// Counts gives the name under which metrics of calls have an action. The table has few of the hundreds of actions
// that there are, and the number of names has to be bounded.
func (b *Budget) Counts(product, action string) string {
	if _, listed := b.limits[product+"/"+action]; listed {
		return action
	}
	return others(action)
}

func others(action string) string {
	if Reads(action) {
		return OtherReads
	}
	return OtherWrites
}

// Answered notes that the cloud knows an action. The cloud counts each by itself, so it has a limiter of its own from
// now on, unless there are too many. What the cloud does not know has none: a caller could make up names, and
// limiters with them.
func (b *Budget) Answered(product, action string) {
	name := product + "/" + action
	if _, listed := b.limits[name]; listed {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.unlisted.has(name) && b.makeRoom() {
		b.unlisted.use(name)
	}
}

// Throttled notes that the cloud refused a call for its rate. RetryAfter is the wait that the cloud named; zero: none. It returns
// how long no call of the action will go.
func (b *Budget) Throttled(product, action string, retryAfter time.Duration) time.Duration {
	b.Answered(product, action) // So that it is charged to no other.
	return b.limiter(product, action).throttled(retryAfter)
}

// limiter finds or makes the limiter of an action.
func (b *Budget) limiter(product, action string) *limiter {
	name := product + "/" + action
	limit, listed := b.limits[name]
	b.mu.Lock()
	defer b.mu.Unlock()
	if !listed {
		other := others(action)
		if limit, listed = b.limits[product+"/"+other]; !listed {
			limit = least(action).part(b.cfg.Part)
		}
		if b.unlisted.has(name) {
			b.unlisted.use(name)
		} else {
			name, action = product+"/"+other, other
		}
	}
	if l := b.limiters[name]; l != nil {
		return l
	}
	l := newLimiter(name, &b.cfg, limit, b.metrics.of(product, action), b.log)
	l.takeOver(b.takenOver, time.Now())
	b.limiters[name] = l
	return l
}

// mostUnlisted is how many actions that the table does not have a limiter of their own.
const mostUnlisted = 256

// unlisted are the actions that the table does not have and the cloud knows, by when they were used last.
type unlisted struct {
	used map[string]uint64
	turn uint64
}

func (u *unlisted) has(name string) bool { return u.used[name] > 0 }

func (u *unlisted) use(name string) {
	u.turn++
	u.used[name] = u.turn
}

// makeRoom reports whether there is room for another action, for which the one that nobody has used for longest may
// go. One whose calls wait, or are stopped, or that were sent in the present window, stays.
func (b *Budget) makeRoom() bool {
	if len(b.unlisted.used) < mostUnlisted {
		return true
	}
	now, oldest := time.Now(), ""
	for name, turn := range b.unlisted.used {
		if oldest != "" && turn > b.unlisted.used[oldest] {
			continue
		}
		if l := b.limiters[name]; l == nil || l.idle(now) {
			oldest = name
		}
	}
	if oldest == "" {
		return false
	}
	delete(b.unlisted.used, oldest)
	delete(b.limiters, oldest)
	product, action, _ := strings.Cut(oldest, "/")
	b.metrics.forget(product, action)
	return true
}
