// Package limit refuses calls beyond the rate limits of the OpenAPI. Each action has a limit of its own, per account and
// region. Limits over a minute count in fixed windows of the clock: a client that is throttled in one minute can call in the next.
// Limits over a second are token buckets as deep as their number of calls.
package limit

import (
	_ "embed" // the table of limits
	"encoding/csv"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// published holds one row per action: product, action, calls, window in seconds, and whether Alibaba Cloud publishes the
// number ("no": taken over from actions of the same kind).
//
//go:embed limits.csv
var published string

// Limit allows Calls in each Window. No calls mean no limit.
type Limit struct {
	Calls  int          `json:"calls"`
	Window api.Duration `json:"window"`
}

// Table holds limits by "product/action".
type Table map[string]Limit

// Default returns the documented limits.
func Default() (Table, error) { return parse(published) }

func parse(text string) (Table, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read limits.csv: %w", err)
	}
	table := Table{}
	for i, row := range rows[1:] {
		calls, err := strconv.Atoi(row[2])
		if err != nil {
			return nil, fmt.Errorf("limits.csv row %d: %w", i+2, err)
		}
		seconds, err := strconv.Atoi(row[3])
		if err != nil {
			return nil, fmt.Errorf("limits.csv row %d: %w", i+2, err)
		}
		name := row[0] + "/" + row[1]
		if _, twice := table[name]; twice {
			return nil, fmt.Errorf("limits.csv row %d: %s has a row already", i+2, name)
		}
		table[name] = Limit{Calls: calls, Window: api.Duration(time.Duration(seconds) * time.Second)}
	}
	return table, nil
}

// Validate reports a limit that can't be kept.
func (l Limit) Validate() error {
	if l.Calls < 0 {
		return fmt.Errorf("calls: %d is negative", l.Calls)
	}
	if l.Calls > 0 && l.Window <= 0 {
		return fmt.Errorf("window: is required, for example 60s")
	}
	return nil
}

// bucket is what one action has used up.
type bucket struct {
	window time.Time // start of the fixed window
	used   int
	tokens float64 // of the token bucket
	filled time.Time
}

// Limiter counts calls against a table.
type Limiter struct {
	mu      sync.Mutex
	table   Table
	enabled bool
	buckets map[string]*bucket
}

// New returns a limiter with a copy of the table.
func New(table Table, enabled bool) *Limiter {
	return &Limiter{table: maps.Clone(table), enabled: enabled, buckets: map[string]*bucket{}}
}

// Reset takes the limiter to where it was with a table.
func (l *Limiter) Reset(table Table, enabled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.table, l.enabled, l.buckets = maps.Clone(table), enabled, map[string]*bucket{}
}

// Enable switches all limits on or off. Calls made while they are off don't count.
func (l *Limiter) Enable(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.enabled = on
}

// Set changes some limits. What was used of them is forgotten.
func (l *Limiter) Set(changes Table) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for action, limit := range changes {
		l.table[action] = limit
		delete(l.buckets, action)
	}
}

// Get returns whether limits are on, and a copy of the table.
func (l *Limiter) Get() (enabled bool, table Table) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.enabled, maps.Clone(l.table)
}

// State is what is left of an action's limit.
type State struct {
	Limit, Remain int
	Left          time.Duration // until the window ends
}

// State returns what is left of an action's limit, which the header X-RateLimit-User-API says; false if it has none.
func (l *Limiter) State(product, action string, now time.Time) (State, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := product + "/" + action
	limit, b := l.table[key], l.buckets[key]
	window := time.Duration(limit.Window)
	switch {
	case !l.enabled || limit.Calls == 0:
		return State{}, false
	case b == nil:
		return State{Limit: limit.Calls, Remain: limit.Calls}, true
	case window <= time.Second:
		return State{Limit: limit.Calls, Remain: int(b.tokens)}, true
	}
	return State{Limit: limit.Calls, Remain: limit.Calls - b.used, Left: b.window.Add(window).Sub(now)}, true
}

// Allow counts a call. If it is one too many, it returns how long the caller has to wait.
func (l *Limiter) Allow(product, action string, now time.Time) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := product + "/" + action
	limit := l.table[key]
	if !l.enabled || limit.Calls == 0 {
		return 0, true
	}
	b := l.buckets[key]
	if b == nil {
		b = &bucket{tokens: float64(limit.Calls), filled: now}
		l.buckets[key] = b
	}
	if window := time.Duration(limit.Window); window > time.Second {
		return b.countInWindow(limit.Calls, window, now)
	}
	return b.takeToken(limit, now)
}

func (b *bucket) countInWindow(calls int, window time.Duration, now time.Time) (time.Duration, bool) {
	if start := now.Truncate(window); !start.Equal(b.window) {
		b.window, b.used = start, 0
	}
	if b.used >= calls {
		return b.window.Add(window).Sub(now), false
	}
	b.used++
	return 0, true
}

func (b *bucket) takeToken(limit Limit, now time.Time) (time.Duration, bool) {
	perSecond := float64(limit.Calls) / time.Duration(limit.Window).Seconds()
	if elapsed := now.Sub(b.filled); elapsed > 0 {
		b.tokens = min(b.tokens+elapsed.Seconds()*perSecond, float64(limit.Calls))
	}
	b.filled = now
	if b.tokens < 1 {
		return time.Duration((1 - b.tokens) / perSecond * float64(time.Second)), false
	}
	b.tokens--
	return 0, true
}
