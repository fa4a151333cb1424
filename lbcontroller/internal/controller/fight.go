package controller

import (
	"time"
)

const (
	// firstRestore is the least time between two writes of the same, which doubles with each.
	firstRestore = time.Second
	// contested is the delay from which on it is taken for a fight.
	contested = 8 * time.Second
	// forgiven is how long the same must not have been needed again, beyond the delay, for the delay to begin anew.
	forgiven = 10 * time.Minute
)

// Fight is about what is written again and again, because somebody takes it back: another client, or the controller itself by mistake. It
// would otherwise be answered at once, for ever. The zero value is peace.
type Fight struct {
	gist  string
	at    time.Time
	delay time.Duration
}

// Wait is how long the same must wait to be written once more; 0 if it may be now.
func (f Fight) Wait(gist string) time.Duration {
	if f.gist != gist {
		return 0
	}
	return max(0, f.delay-time.Since(f.at))
}

// Wrote notes that something was written. The delay grows up to last.
func (f *Fight) Wrote(gist string, last time.Duration) {
	next := Fight{gist: gist, at: time.Now(), delay: firstRestore}
	if f.gist == gist && time.Since(f.at) < f.delay+forgiven {
		next.delay = min(2*f.delay, last)
	}
	*f = next
}

// IsOn reports whether the same was written so often lately that it is a fight.
func (f Fight) IsOn() bool { return f.delay >= contested && time.Since(f.at) < f.delay+forgiven }
