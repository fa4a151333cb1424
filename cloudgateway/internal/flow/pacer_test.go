package flow

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestNoWindowHoldsMoreThanTheLimit is the promise to the cloud: whatever the traffic, no minute of the clock has more calls.
func TestNoWindowHoldsMoreThanTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := Limit{Calls: rapid.IntRange(1, 100).Draw(t, "calls"), Window: time.Minute}
		p, now := newPacer(limit, epoch), epoch
		p.even = rapid.Bool().Draw(t, "even")
		went := map[time.Time]int{}
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			long := rapid.Bool().Draw(t, "long")
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(2*limit.Window)).Draw(t, "quiet")))
			case 1:
				p.throttled(now, time.Duration(rapid.Int64Range(1, int64(limit.Window)).Draw(t, "retryAfter")))
			default: // a call that waits, with a timer that is late at times
				wait := p.wait(now, 1, long)
				now = now.Add(wait + time.Duration(rapid.Int64Range(0, int64(time.Millisecond)).Draw(t, "late")))
				if p.take(now, long) {
					went[now.Truncate(limit.Window)]++
				}
			}
		}
		for window, calls := range went {
			if calls > limit.Calls {
				t.Fatalf("%d calls went in the window of %s, limit %v", calls, window, limit)
			}
		}
	})
}

// TestWaitOfTheLast: the wait that is predicted for the last of many calls is right, also in the middle of a window.
func TestWaitOfTheLast(t *testing.T) {
	for _, even := range []bool{false, true} {
		for _, before := range []int{0, 10, 28, 40} {
			p, now := newPacer(Limit{Calls: 63, Window: time.Minute}, epoch), epoch
			p.even = even
			for range before {
				now = now.Add(p.wait(now, 1, false))
				p.take(now, false)
			}
			for _, n := range []int{1, 20, 100, 1000} {
				ahead := *p
				predicted, at := p.wait(now, n, n > p.calls-p.sent), now
				for left := n; left > 0; left-- {
					for {
						long := left > ahead.calls-ahead.sent
						wait := ahead.wait(at, 1, long)
						if wait <= 0 {
							break
						}
						at = at.Add(wait)
					}
					if !ahead.take(at, left > ahead.calls-ahead.sent) {
						t.Fatal("wait and take disagree")
					}
				}
				if took, slack := at.Sub(now), 6*time.Second; predicted > took+slack || predicted < took-slack {
					t.Errorf("even %t: call %d after %d others: predicted to wait for %s, went after %s", even, n, before, predicted, took)
				}
			}
		}
	}
}

func TestThrottled(t *testing.T) {
	at := epoch.Add(20 * time.Second)
	p := newPacer(Limit{Calls: 60, Window: time.Minute}, epoch)
	tests := []struct {
		name       string
		at         time.Time
		retryAfter time.Duration
		want       time.Duration // pause
		again      bool
	}{
		{name: "no retry-after: the rest of the minute", at: at, want: 40*time.Second + clockMargin},
		{name: "a shorter retry-after: what is left", at: at.Add(time.Second), retryAfter: time.Second,
			want: 39*time.Second + clockMargin, again: true},
		{name: "a longer retry-after", at: at.Add(time.Second), retryAfter: time.Minute, want: time.Minute, again: true},
	}
	for _, tt := range tests {
		r := p.throttled(tt.at, tt.retryAfter)
		if got := p.pausedUntil.Sub(tt.at); got != tt.want || r.again != tt.again {
			t.Errorf("%s: pause of %s, again %t, want %s", tt.name, got, r.again, tt.want)
		}
	}
	end := at.Add(time.Second + time.Minute)
	if p.take(end.Add(-time.Nanosecond), false) {
		t.Error("a call went during the pause")
	}
	if !p.take(end.Add(time.Second), false) {
		t.Error("no call went after the pause")
	}
}

// TestThrottledBucket: calls stop for long enough that those under way count as the same refusal.
func TestThrottledBucket(t *testing.T) {
	for _, tt := range []struct{ retryAfter, want time.Duration }{
		{0, time.Second}, {20 * time.Millisecond, time.Second}, {3 * time.Second, 3 * time.Second},
	} {
		p := newPacer(Limit{Calls: 10, Window: time.Second}, epoch)
		at := epoch.Add(300 * time.Millisecond)
		r := p.throttled(at, tt.retryAfter)
		if got := p.pausedUntil.Sub(at); got != tt.want || r.again {
			t.Errorf("retry-after %s: pause of %s, again %t, want %s", tt.retryAfter, got, r.again, tt.want)
		}
		if r := p.throttled(at.Add(160*time.Millisecond), tt.retryAfter); !r.again {
			t.Errorf("retry-after %s: a call that was under way counts as another refusal", tt.retryAfter)
		}
	}
}

// TestPausesByTheMonotonicClock: a wall clock that is set back while calls are stopped does not stop them for longer. Only times that
// carry the monotonic clock have "m=" in their text.
func TestPausesByTheMonotonicClock(t *testing.T) {
	p := newPacer(Limit{Calls: 60, Window: time.Minute}, time.Now())
	p.throttled(time.Now(), 0)
	for name, at := range map[string]time.Time{"pause": p.pausedUntil, "window": p.end} {
		if !strings.Contains(at.String(), "m=") {
			t.Errorf("the end of the %s, %s, is a time of the wall clock", name, at)
		}
	}
}

// TestPacerIsSmall: a limit of a million calls a minute needs no more memory than one of sixty.
func TestPacerIsSmall(t *testing.T) {
	p, now := newPacer(Limit{Calls: 1_000_000, Window: time.Minute}, epoch), epoch.Add(time.Second)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	calls := 0
	for ; calls < 100_000; now = now.Add(10 * time.Millisecond) {
		for p.take(now, false) {
			calls++
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d calls allocated %d KiB", calls, grown>>10)
	}
}
