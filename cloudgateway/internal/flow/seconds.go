package flow

import "time"

// secondsKept bounds how far back the counts go. A rate that grows as estimates do empties a bucket in less.
const secondsKept = 64

// seconds counts the calls of each of the last seconds, for limits that the cloud keeps as buckets.
type seconds struct {
	counts [secondsKept]struct {
		calls int
		first time.Time
	}
	last int64 // the latest second that is counted, since 1970
}

func (s *seconds) add(now time.Time) {
	s.advance(now)
	count := &s.counts[s.last%secondsKept]
	if count.calls == 0 {
		count.first = now
	}
	count.calls++
}

func (s *seconds) advance(now time.Time) {
	current := now.Unix()
	for next := max(s.last+1, current-secondsKept+1); next <= current; next++ {
		s.counts[next%secondsKept].calls = 0
	}
	s.last = max(s.last, current)
}

// granted is how many calls per second a bucket gives that has just refused the last of these calls. A bucket that is filled
// with n calls per second and holds n has granted n(t+1) at most in the last t seconds, and so many since it was last full:
// the most that any t tells is n. The number of calls in the last second would tell too much, since the bucket gave away what
// it had saved.
func (s *seconds) granted(now time.Time) float64 {
	s.advance(now)
	most, calls := 0.0, -1 // without the refused one
	for ago := range int64(secondsKept) {
		if count := s.counts[(s.last-ago)%secondsKept]; count.calls > 0 {
			calls += count.calls
			most = max(most, float64(calls)/(now.Sub(count.first).Seconds()+1))
		}
	}
	return most
}
