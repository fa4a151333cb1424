package logging

import (
	"log/slog"
	"sync"
	"time"
)

// Occasional keeps what others can repeat at will from filling the log: one line passes every ten seconds. The zero value is ready for
// use.
type Occasional struct {
	mu   sync.Mutex
	next time.Time
	more int
}

// Warn logs a line, with the number of those left out since the last one as "more", or leaves it out.
func (o *Occasional) Warn(log *slog.Logger, message string, attrs ...any) {
	if more, ok := o.pass(); ok {
		log.Warn(message, append(attrs, "more", more)...) //nolint:sloglint // The caller's message is a constant.
	}
}

// pass reports whether a line may pass now, and how many did not since the last one.
func (o *Occasional) pass() (more int, ok bool) {
	const interval = 10 * time.Second
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if now.Before(o.next) {
		o.more++
		return 0, false
	}
	more = o.more
	o.next, o.more = now.Add(interval), 0
	return more, true
}
