package busytime

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// resource is something in the cloud that works on each change for a while. Its time is its own.
type resource struct {
	settles func() time.Duration
	refused int
}

// change makes one change as soon as the estimate allows, and gives how long after the one before it was taken.
func (r *resource) change(e *Estimator) time.Duration {
	const backoff = 375 * time.Millisecond
	busy, after := r.settles(), e.Next(0)
	if after >= busy {
		e.Accepted(after)
		return after
	}
	r.refused++
	e.Refused(after)
	for after < busy {
		after += backoff
	}
	e.Sufficed(after)
	return after
}

func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

func TestSteadyState(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	tests := []struct {
		name    string
		settles func() time.Duration
		mean    time.Duration // at most
	}{
		{"a cloud that is never busy", always(0), 0},
		{"300ms", always(300 * time.Millisecond), 350 * time.Millisecond},
		{"3s", always(3 * time.Second), 3400 * time.Millisecond},
		{
			"100ms to 500ms", func() time.Duration { return time.Duration(100+random.IntN(400)) * time.Millisecond },
			560 * time.Millisecond,
		},
		{
			"300ms, and seldom 2s", func() time.Duration {
				if random.IntN(100) == 0 {
					return 2 * time.Second
				}
				return 300 * time.Millisecond
			},
			450 * time.Millisecond,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			const learning, measured = 200, 2000
			e, r := &Estimator{}, &resource{settles: tt.settles}
			for range learning {
				r.change(e)
			}
			r.refused = 0
			var sum time.Duration
			for range measured {
				sum += r.change(e)
			}
			mean := sum / measured
			t.Logf("%d of %d writes refused, %s between two", r.refused, measured, mean)
			if limit := measured / 20; r.refused > limit {
				t.Errorf("%d of %d writes were refused, at most %d are right", r.refused, measured, limit)
			}
			if mean > tt.mean {
				t.Errorf("%s between two writes, at most %s are right", mean, tt.mean)
			}
		})
	}
}

// TestFollowsTheCloud: whatever the cloud did before, some hundred writes later few are refused and little time is lost.
func TestFollowsTheCloud(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		settles := rapid.SliceOfN(rapid.IntRange(0, 200), 1, 4).Draw(t, "settles in 20ms")
		e := &Estimator{}
		for _, n := range settles {
			s := time.Duration(n) * 20 * time.Millisecond
			r := &resource{settles: always(s)}
			for range 600 {
				r.change(e)
			}
			r.refused = 0
			for range 200 {
				r.change(e)
			}
			if r.refused > 10 {
				t.Fatalf("settles in %s: %d of 200 writes refused", s, r.refused)
			}
			if most := s + s/4; e.Pause() > most {
				t.Fatalf("settles in %s: pauses %s", s, e.Pause())
			}
		}
	})
}

// TestUninformativeObservations: they leave the estimate alone.
func TestUninformativeObservations(t *testing.T) {
	e := &Estimator{}
	e.Accepted(0)
	e.Refused(time.Minute)
	if e.Next(0) != 0 || e.Next(time.Hour) != 0 {
		t.Error("waits for nothing")
	}
	if e.Pause() != 0 {
		t.Fatalf("pauses %s before anything was learned", e.Pause())
	}
	e.Refused(time.Millisecond)
	e.Sufficed(400 * time.Millisecond)
	e.Accepted(time.Hour)
	e.Refused(100 * time.Millisecond)
	e.Refused(time.Hour)
	e.Sufficed(time.Hour)
	if e.Pause() != 400*time.Millisecond {
		t.Errorf("pauses %s, want the 400ms that were learned", e.Pause())
	}
	e.Sufficed(time.Millisecond)
	if e.Pause() != 0 {
		t.Errorf("pauses %s, want none", e.Pause())
	}
	e.Sufficed(time.Hour)
	if e.Pause() != Longest {
		t.Errorf("pauses %s, at most %s are right", e.Pause(), Longest)
	}
}
