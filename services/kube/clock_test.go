package kube

import (
	"testing"
	"time"
)

// TestPassedByBothClocks: a machine that was suspended has the time of the others on the wall only, and a wall that was
// set back does not make a lease younger.
func TestPassedByBothClocks(t *testing.T) {
	t.Parallel()
	then := time.Now()
	for name, tt := range map[string]struct{ monotonic, wall, want time.Duration }{
		"running":   {monotonic: time.Second, wall: time.Second, want: time.Second},
		"suspended": {monotonic: time.Second, wall: time.Minute, want: time.Minute},
		"set back":  {monotonic: time.Second, wall: -time.Hour, want: time.Second},
	} {
		if got := passed(then, then.Add(tt.monotonic), then.Add(tt.wall)); got != tt.want {
			t.Errorf("%s: %s have passed, want %s", name, got, tt.want)
		}
		lock := &watchedLock{held: then}
		if got := lock.heldFor(then.Add(tt.monotonic), then.Add(tt.wall)); got != tt.want {
			t.Errorf("%s: the lease was last held %s ago, want %s", name, got, tt.want)
		}
	}
}
