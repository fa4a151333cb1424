package flow

import (
	"testing"
	"time"
)

func TestEstimateFalls(t *testing.T) {
	tests := []struct {
		name          string
		window        time.Duration
		granted, also int // in the cloud's window, and refusals that follow the first
		want          float64
	}{
		{name: "to what was granted", window: time.Minute, granted: 70, want: 70},
		{name: "calls under way were not granted either", window: time.Minute, granted: 77, also: 7, want: 70},
		{name: "a bucket has granted many more", window: time.Second, granted: 70, also: 7, want: 70},
		{name: "at most by half", window: time.Minute, granted: 10, want: 45},
		{name: "at least by an eighth", window: time.Minute, granted: 100, want: 78.75},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := newEstimate(Limit{90, tt.window}, 1)
			e.refused(epoch, epoch.Add(time.Minute), tt.granted)
			for range tt.also {
				e.refusedToo()
			}
			if e.calls != tt.want {
				t.Errorf("estimate %g, want %g", e.calls, tt.want)
			}
		})
	}
	e := newEstimate(Limit{2, time.Minute}, 1)
	for i := range 10 {
		e.refused(epoch.Add(time.Duration(i)*time.Hour), epoch.Add(time.Duration(i)*time.Hour), 0)
	}
	if e.calls != 1 {
		t.Errorf("estimate %g, want never below 1", e.calls)
	}
}

func TestEstimateGrows(t *testing.T) {
	e := newEstimate(Limit{90, time.Minute}, 2)
	for range 63 {
		e.grow(epoch, 63)
	}
	if got := e.calls; got < 134.9 || got > 135.1 {
		t.Errorf("after a window of waiting calls: %g, want 135", got)
	}
	for range 630 {
		e.grow(epoch, 63)
	}
	if e.calls != 180 {
		t.Errorf("in the end: %g, want what is allowed, 180", e.calls)
	}
}

// TestEstimateHolds: each growth that ends in throttling is followed by a longer pause.
func TestEstimateHolds(t *testing.T) {
	e, now := newEstimate(Limit{90, time.Minute}, 1), epoch
	for _, want := range []time.Duration{4, 8, 16, 32, 64, 64} {
		e.refused(now, now, 60)
		before := e.calls
		e.grow(now.Add(want*time.Minute-1), 1)
		if e.calls != before {
			t.Errorf("grew before %d minutes were over", want)
		}
		now = now.Add(want * time.Minute)
		e.grow(now, 1)
		if e.calls <= before {
			t.Errorf("did not grow when %d minutes were over", want)
		}
	}
	now = now.Add(3 * time.Hour)
	e.refused(now, now, 60)
	if e.hold != shortestHold {
		t.Errorf("after a long time without throttling: hold of %s, want %s", e.hold, shortestHold)
	}
}
