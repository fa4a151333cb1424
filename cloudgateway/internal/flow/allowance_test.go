package flow

import (
	"testing"
	"time"
)

func TestAllowanceFalls(t *testing.T) {
	a := newAllowance(Limit{100, time.Minute}, 0.7, 1)
	for i, tt := range []struct {
		granted int
		want    float64
	}{
		{95, 70},   // others show: the share
		{60, 54},   // what was granted, and a little less
		{99, 48.6}, // never nothing
		{2, 24.3},  // others have used up the limit for once
		{0, 12.15}, {0, 6.075}, {0, 3.0375}, {0, 1.51875}, {0, 1}, {0, 1},
	} {
		a.refused(tt.granted)
		if diff := a.calls - tt.want; diff > epsilon || diff < -epsilon || !a.even() {
			t.Errorf("refusal %d, %d granted: %g, want %g", i, tt.granted, a.calls, tt.want)
		}
	}
	a = newAllowance(Limit{100, time.Second}, 0.9, 1)
	a.refused(0)
	a.refused(1000) // a bucket does not show what it grants
	if want := 90 * bucketFall; a.calls != want {
		t.Errorf("a bucket's allowance: %g, want %g", a.calls, want)
	}
}

// TestAllowanceGrows: from nothing to the whole limit in few windows in which calls wait, and beyond it only if that is allowed.
func TestAllowanceGrows(t *testing.T) {
	for _, upTo := range []float64{1, 2} {
		a := newAllowance(Limit{96, time.Minute}, 0.7, upTo)
		a.refused(50)
		for range 10 {
			a.refused(0)
		}
		windows := 0
		for ; a.calls < a.limit && windows < 20; windows++ {
			a.waited()
		}
		if windows > 7 {
			t.Errorf("up to %g: %d windows until the whole limit is used, want 7", upTo, windows)
		}
		for range 20 {
			a.waited()
		}
		if want := 96 * upTo; a.calls != want {
			t.Errorf("up to %g, in the end: %g, want %g", upTo, a.calls, want)
		}
	}
}
