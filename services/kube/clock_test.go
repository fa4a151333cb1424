package kube

import (
	"testing"
	"time"
	"unsafe"
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

// TestSuspendedMachine: of times that the machine itself has read, as Holds does, the monotonic part counts nothing of a
// suspension, and the wall does.
func TestSuspendedMachine(t *testing.T) {
	t.Parallel()
	const suspended = time.Minute
	held := time.Now()
	now := held.Add(time.Second)
	// A time has the seconds of the wall from bit 30 of its first word on, if it has a monotonic part.
	*(*uint64)(unsafe.Pointer(&now)) += uint64(suspended/time.Second) << 30
	if now.Sub(held) != time.Second || now.Round(0).Sub(held.Round(0)) != time.Second+suspended {
		t.Fatalf("the times are %s apart, and on the wall %s", now.Sub(held), now.Round(0).Sub(held.Round(0)))
	}
	if got := (&watchedLock{held: held}).heldFor(now, now); got != time.Second+suspended {
		t.Errorf("the lease was last held %s ago, want %s", got, time.Second+suspended)
	}
}
