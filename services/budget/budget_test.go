package budget_test

import (
	"testing"
	"time"

	"alicloud-controllers.dev/services/budget"
)

var (
	policy = budget.Policy{Window: 10 * time.Minute, Minimum: 3, Percent: 5}
	now    = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
)

func TestLimit(t *testing.T) {
	t.Parallel()
	for total, want := range map[int]int{0: 1, 1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 3, 7: 3, 60: 3, 100: 5, 5000: 250} {
		if got := policy.Limit(total); got != want {
			t.Errorf("%d of %d may go, want %d", got, total, want)
		}
	}
}

func TestLeft(t *testing.T) {
	t.Parallel()
	ago := func(minutes ...time.Duration) []time.Time {
		var times []time.Time
		for _, m := range minutes {
			times = append(times, now.Add(-m*time.Minute))
		}
		return times
	}
	tests := []struct {
		name   string
		spent  []time.Time
		want   int
		refill time.Duration
	}{
		{name: "nothing went", want: 3, refill: 10 * time.Minute},
		{name: "one went", spent: ago(1), want: 2, refill: 9 * time.Minute},
		{name: "long ago", spent: ago(30, 10), want: 3, refill: 10 * time.Minute},
		{name: "used up", spent: ago(8, 5, 1), refill: 2 * time.Minute},
		{name: "more than used up", spent: ago(9, 8, 5, 1), refill: time.Minute},
		{name: "the oldest counts for half a second more", spent: []time.Time{now.Add(500*time.Millisecond - 10*time.Minute)}, want: 2,
			refill: time.Second},
		{name: "by another clock, in the future", spent: ago(-2, -1, 0), refill: 10 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := policy.Left(now, 20, tt.spent); got != tt.want {
				t.Errorf("%d may go, want %d", got, tt.want)
			}
			if got := policy.Refill(now, tt.spent); got != tt.refill {
				t.Errorf("more may go in %s, want %s", got, tt.refill)
			}
		})
	}
}
