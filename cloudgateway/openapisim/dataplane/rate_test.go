package dataplane

import (
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The connections of each second are counted, also those beyond the limit; none is taken over into the next one.
func TestWithinRate(t *testing.T) {
	t.Parallel()
	f := &frontend{}
	at := time.Unix(1_800_000_000, 0)
	for n, tt := range []struct {
		after time.Duration
		most  int
		want  bool
	}{
		{0, 2, true}, {100 * time.Millisecond, 2, true}, {900 * time.Millisecond, 2, false}, {950 * time.Millisecond, 0, true},
		{time.Second, 2, true}, {time.Second, 2, true}, {1999 * time.Millisecond, 2, false}, {time.Hour, 2, true},
	} {
		if got := f.withinRate(tt.most, at.Add(tt.after)); got != tt.want {
			t.Errorf("connection %d, after %s: %v", n+1, tt.after, got)
		}
	}
}

// A listener of an NLB with one new connection a second resets the second one, and takes one again a second later.
func TestConnectionsPerSecond(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	address := nlbAt(t, b, tcpServer(t, "a"), func(l *state.NLBListener, _ *state.NLBServerGroup) { l.Cps = 1 })
	until := func(want string) {
		t.Helper()
		for range 10_000 { // two within a second, or one in the next: sooner or later
			if greeting(t, "127.0.0.1", address) == want {
				return
			}
		}
		t.Errorf("no client gets %q", want)
	}
	until("a 127.0.0.1")
	until("error")
	until("a 127.0.0.1")
	b.change(func(c *state.Cloud) { c.NLBListeners["l"].Cps = 0 })
	for range 5 {
		if got := greeting(t, "127.0.0.1", address); got != "a 127.0.0.1" {
			t.Fatalf("without a limit: %q", got)
		}
	}
}
