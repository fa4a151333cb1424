package clock

import (
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	t.Parallel()
	realNow := time.Date(2026, 5, 1, 10, 0, 0, 0, time.FixedZone("", 3600))
	c := New(func() time.Time { return realNow })
	check := func(step string, want time.Time, frozen bool) {
		t.Helper()
		if now := c.Now(); now != want.UTC() || c.Frozen() != frozen {
			t.Errorf("%s: %v frozen=%v, want %v frozen=%v", step, now, c.Frozen(), want, frozen)
		}
	}
	check("real", realNow, false)
	c.Advance(time.Hour)
	check("advanced", realNow.Add(time.Hour), false)
	realNow = realNow.Add(time.Second)
	check("running", realNow.Add(time.Hour), false)
	set := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	c.Set(set)
	realNow = realNow.Add(time.Second)
	check("standing", set, true)
	c.Advance(time.Minute)
	check("moved while standing", set.Add(time.Minute), true)
	c.Set(time.Time{})
	check("standing at no time in particular", time.Time{}, true)
	c.Real()
	check("real again", realNow, false)
}
