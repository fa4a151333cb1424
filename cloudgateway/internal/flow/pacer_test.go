package flow

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestNoWindowHoldsMoreThanTheLimit is the promise to the cloud: whatever the traffic, and wherever a window begins.
func TestNoWindowHoldsMoreThanTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := Limit{
			Calls:  rapid.IntRange(1, 100).Draw(t, "calls"),
			Window: rapid.SampledFrom([]time.Duration{time.Second, time.Minute}).Draw(t, "window"),
		}
		p, now := newPacer(limit, epoch), epoch
		var went []time.Time
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(2*limit.Window)).Draw(t, "quiet")))
			case 1:
				p.throttled(now, time.Duration(rapid.Int64Range(0, int64(limit.Window)).Draw(t, "told")))
			default: // a call that waits, with a timer that is late at times
				privileged := rapid.Bool().Draw(t, "privileged")
				wait := p.wait(now, 1, privileged)
				now = now.Add(wait + time.Duration(rapid.Int64Range(0, int64(time.Millisecond)).Draw(t, "late")))
				if p.take(now, privileged) {
					went = append(went, now)
				}
			}
		}
		for i := range went {
			if j := i + limit.Calls; j < len(went) && went[j].Sub(went[i]) < limit.Window {
				t.Fatalf("calls %d to %d went within %s, limit %s", i, j, went[j].Sub(went[i]), limit)
			}
		}
	})
}

// saturate lets calls go as fast as the pacer allows, and returns when each went.
func saturate(p *pacer, from time.Time, d, late time.Duration) []time.Time {
	var went []time.Time
	for now := from; now.Before(from.Add(d)); {
		if wait := p.wait(now, 1, false); wait > 0 {
			now = now.Add(wait + late)
			continue
		}
		if !p.take(now, false) {
			panic("wait and take disagree")
		}
		went = append(went, now)
	}
	return went
}

func TestSaturatedPacer(t *testing.T) {
	tests := []struct {
		name  string
		limit Limit
		late  time.Duration // of every timer
	}{
		{name: "SLB writes", limit: Limit{Calls: 63, Window: time.Minute}},
		{name: "late timers", limit: Limit{Calls: 63, Window: time.Minute}, late: 10 * time.Millisecond},
		{name: "creation", limit: Limit{Calls: 42, Window: time.Minute}},
		{name: "reads", limit: Limit{Calls: 2100, Window: time.Minute}, late: time.Millisecond},
		{name: "tags", limit: Limit{Calls: 3, Window: time.Second}},
		{name: "a single call", limit: Limit{Calls: 1, Window: time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			const windows = 10
			p := newPacer(tt.limit, epoch)
			went := saturate(p, epoch, windows*tt.limit.Window, tt.late)
			if share := float64(len(went)) / float64(windows*tt.limit.Calls); share < 0.95 {
				t.Errorf("used %.1f %% of the limit, want 95", 100*share)
			}
			// Calls never come in waves: at worst, what the burst has left goes evenly.
			slowest := tt.limit.Window / time.Duration(max(1, tt.limit.Calls-p.burst))
			for i := 1; i < len(went); i++ {
				if gap := went[i].Sub(went[i-1]); gap > slowest+2*tt.late+time.Microsecond {
					t.Fatalf("call %d went %s after the one before, want at most %s", i, gap, slowest)
				}
			}
		})
	}
}

// TestWaitOfTheLast: what is told to the last of many calls is true, also in the middle of a burst.
func TestWaitOfTheLast(t *testing.T) {
	for _, before := range []int{0, 10, 28, 40} {
		p, now := newPacer(Limit{Calls: 63, Window: time.Minute}, epoch), epoch
		for range before {
			now = now.Add(p.wait(now, 1, false))
			p.take(now, false)
		}
		for _, n := range []int{1, 20, 100, 1000} {
			ahead := *p
			ahead.sent = slices.Clone(p.sent)
			told, at := p.wait(now, n, false), now
			for range n {
				at = at.Add(ahead.wait(at, 1, false))
				if !ahead.take(at, false) {
					t.Fatal("wait and take disagree")
				}
			}
			if took, slack := at.Sub(now), 2*time.Second; told > took+slack || told < took-slack {
				t.Errorf("call %d after %d others: told to wait for %s, went after %s", n, before, told, took)
			}
		}
	}
}

func TestBurstAfterQuiet(t *testing.T) {
	p := newPacer(Limit{Calls: 42, Window: time.Minute}, epoch)
	burst := 0
	for p.take(epoch, true) {
		burst++
	}
	if burst != 21 {
		t.Errorf("%d calls went at once, want half the limit", burst)
	}
}

func TestReserve(t *testing.T) {
	p := newPacer(Limit{Calls: 63, Window: time.Minute}, epoch)
	for p.take(epoch, false) {
	}
	reserve := 0
	for p.take(epoch, true) {
		reserve++
	}
	if reserve != 3 {
		t.Errorf("%d privileged calls went after the others had to stop, want 3", reserve)
	}
}

func TestThrottled(t *testing.T) {
	limit := Limit{Calls: 60, Window: time.Minute}
	at := epoch.Add(20 * time.Second)
	p := newPacer(limit, epoch)
	tests := []struct {
		name  string
		at    time.Time
		told  time.Duration
		want  time.Duration // pause
		again bool
	}{
		{name: "nothing told: the rest of the minute", at: at, want: 40*time.Second + clockMargin},
		{name: "told less: what is left", at: at.Add(time.Second), told: time.Second, want: 39*time.Second + clockMargin, again: true},
		{name: "told more", at: at.Add(time.Second), told: time.Minute, want: time.Minute, again: true},
	}
	for _, tt := range tests {
		until, _, again := p.throttled(tt.at, tt.told)
		if got := until.Sub(tt.at); got != tt.want || again != tt.again {
			t.Errorf("%s: pause of %s, again %t, want %s", tt.name, got, again, tt.want)
		}
	}
	end := at.Add(time.Second + time.Minute)
	if p.take(end.Add(-time.Nanosecond), true) {
		t.Error("a call went during the pause")
	}
	if !p.take(end.Add(time.Second), true) {
		t.Error("no call went after the pause")
	}
}

// TestThrottledBucket: calls stop for long enough that those under way count as the same refusal.
func TestThrottledBucket(t *testing.T) {
	for _, tt := range []struct{ told, want time.Duration }{
		{0, time.Second}, {20 * time.Millisecond, time.Second}, {3 * time.Second, 3 * time.Second},
	} {
		p := newPacer(Limit{Calls: 10, Window: time.Second}, epoch)
		at := epoch.Add(300 * time.Millisecond)
		until, _, again := p.throttled(at, tt.told)
		if got := until.Sub(at); got != tt.want || again {
			t.Errorf("told %s: pause of %s, again %t, want %s", tt.told, got, again, tt.want)
		}
		if _, _, again := p.throttled(at.Add(160*time.Millisecond), tt.told); !again {
			t.Errorf("told %s: a call that was under way counts as another refusal", tt.told)
		}
	}
}

// TestThrottledCounts: what is learned from are the calls that the cloud granted in its window, which ended with the refusal.
func TestThrottledCounts(t *testing.T) {
	tests := []struct {
		name string
		told time.Duration
		want int
	}{
		{name: "nothing told: since the minute began", want: 19},
		{name: "told how long the window lasts", told: 35 * time.Second, want: 24},
		{name: "told to stay away: the last minute", told: 5 * time.Minute, want: 39},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPacer(Limit{Calls: 100, Window: time.Minute}, epoch)
			for i := range 40 { // from 20 s before the minute to 20 s after
				if at := epoch.Add(time.Duration(40+i) * time.Second); !p.take(at, true) {
					t.Fatalf("call %d did not go", i)
				}
			}
			if _, got, _ := p.throttled(epoch.Add(80*time.Second), tt.told); got != tt.want {
				t.Errorf("%d calls, want %d", got, tt.want)
			}
		})
	}
}

// TestTakeOver: together with the process before no window holds more than the limit if that one was at it, and half as much again
// at worst if it had been quiet and sent a burst in its last moment.
func TestTakeOver(t *testing.T) {
	limit := Limit{Calls: 63, Window: time.Minute}
	tests := []struct {
		name   string
		before []time.Time
		most   int
	}{
		{name: "was at it", before: saturate(newPacer(limit, epoch), epoch, 10*time.Minute, 0), most: 63},
		{name: "had been quiet and sent a burst", before: saturate(newPacer(limit, epoch), epoch, time.Nanosecond, 0), most: 63 + 31},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			at := tt.before[len(tt.before)-1]
			p := newPacer(limit, at)
			p.takeOver(at)
			went := append(tt.before, saturate(p, at, 5*time.Minute, 0)...)
			for i := range went {
				if j := i + tt.most; j < len(went) && went[j].Sub(went[i]) < limit.Window {
					t.Fatalf("calls %d to %d went within %s, want at most %d in %s", i, j, went[j].Sub(went[i]), tt.most, limit.Window)
				}
			}
			if first := went[len(tt.before)].Sub(at); first > time.Second {
				t.Errorf("the first call went after %s, want within a second", first)
			}
		})
	}
}
