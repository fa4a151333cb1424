package budget

import (
	"slices"
	"time"
)

// Policy is a budget.
type Policy struct {
	// Window is the time in which at most the larger of Minimum and Percent of all go, and never more than half of them.
	Window  time.Duration
	Minimum int
	Percent int
}

// Limit is how many of total may go within the window. Half of them is the most, so that Minimum can't empty a small cluster; one may
// always go.
func (p Policy) Limit(total int) int {
	half := max(1, total/2) //nolint:mnd // The comment says so.
	return min(max(p.Minimum, total*p.Percent/100), half)
}

// Left is how many of total may go now, after those that went at earlier times.
func (p Policy) Left(now time.Time, total int, spent []time.Time) int {
	return max(0, p.Limit(total)-len(p.Within(now, spent)))
}

// Within gives the earlier deletions that count still. One of the future counts, too: clocks of replicas differ.
func (p Policy) Within(now time.Time, spent []time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(spent), func(at time.Time) bool { return now.Sub(at) >= p.Window })
}

// Refill is the time until more may go, at least a second.
func (p Policy) Refill(now time.Time, spent []time.Time) time.Duration {
	counted := p.Within(now, spent)
	if len(counted) == 0 {
		return p.Window
	}
	return max(time.Second, slices.MinFunc(counted, time.Time.Compare).Add(p.Window).Sub(now))
}
