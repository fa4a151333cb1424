package flow

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// minutes is a cloud that counts each action by itself, in minutes of the clock.
type minutes struct {
	mu     sync.Mutex
	limits map[string]int
	used   map[string]int
	sent   map[string]int // by caller
	minute time.Time
}

// takes reports whether the cloud takes a call, and how long it says to wait.
func (m *minutes) takes(caller, action string) (bool, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if minute := now.Truncate(time.Minute); minute != m.minute {
		m.minute, m.used = minute, map[string]int{}
	}
	if m.used[action] >= m.limits[action] {
		return false, m.minute.Add(time.Minute).Sub(now)
	}
	m.used[action]++
	m.sent[caller]++
	return true, 0
}

// count gives how many calls of a caller were taken since the last count.
func (m *minutes) count(caller string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.sent[caller]
	m.sent[caller] = 0
	return n
}

// TestThrottlingIsChargedToItsAction: one tool makes 120 calls of an action a minute, which the cloud takes, and
// another one calls another action, of which the cloud takes few. The first goes on as if it were alone, although no
// row of the table has either.
func TestThrottlingIsChargedToItsAction(t *testing.T) {
	for _, limit := range []int{5, 20} {
		synctest.Test(t, func(t *testing.T) {
			b := newBudget(t, nil)
			cloud := &minutes{limits: map[string]int{"AttachSomething": 200, "RunSomething": limit}, sent: map[string]int{}}
			call := func(caller, action string) {
				ctx, cancel := context.WithTimeout(WithCaller(t.Context(), Caller{Name: caller, Priority: Change}), 8*time.Second)
				defer cancel()
				if b.Acquire(ctx, "ecs", action) != nil {
					return
				}
				if ok, wait := cloud.takes(caller, action); !ok {
					b.Throttled("ecs", action, wait)
					return
				}
				b.Answered("ecs", action)
			}
			<-time.After(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
			for minute := range 15 {
				cloud.count("B")
				for half := range 120 {
					go call("B", "AttachSomething")
					if half%4 == 0 {
						go call("A", "RunSomething")
					}
					<-time.After(500 * time.Millisecond)
					synctest.Wait()
				}
				if n := cloud.count("B"); n < 116 {
					t.Errorf("beside an action with %d calls a minute: %d calls in minute %d, want 116 to 120", limit, n, minute+1)
				}
			}
			<-time.After(time.Minute) // Calls that wait come to their end.
		})
	}
}

// TestFirstAnswerIsThrottling: an action whose first answer refuses it for its rate stops no other one. The answer may not
// say that the cloud knows the action: a 503 of something in between does not.
func TestFirstAnswerIsThrottling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, nil)
		b.Throttled("ecs", "RunSomething", time.Hour)
		begin := time.Now()
		if err := b.Acquire(t.Context(), "ecs", "AttachSomething"); err != nil || time.Since(begin) > 0 {
			t.Errorf("another action: %v after %s", err, time.Since(begin))
		}
	})
}

// TestUnlistedActionsAreBounded: made-up names count together, real ones by themselves, at most 256 of them, and
// those with calls that wait are not forgotten. The series of what is forgotten end.
func TestUnlistedActionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		b := newBudgetIn(t, reg, nil)
		for i := range 10_000 {
			if got := b.limiter("ecs", fmt.Sprint("Invent", i)).name; got != "ecs/OtherWrites" {
				t.Fatalf("an invented action counts as %s", got)
			}
		}
		b.Answered("ecs", "Invent0")
		first := b.limiter("ecs", "Invent0")
		if first.name != "ecs/Invent0" {
			t.Errorf("a real action counts as %s", first.name)
		}
		if want := b.limits["ecs/OtherWrites"]; first.allowance.limit != float64(want.Calls) {
			t.Errorf("its limit is %v, want %v", first.allowance.limit, want)
		}
		b.Throttled("ecs", "Invent0", 2*time.Hour)
		pause := first.pacer.pausedUntil
		for i := range 2 * mostUnlisted {
			b.Answered("ecs", fmt.Sprint("Real", i))
			b.limiter("ecs", fmt.Sprint("Real", i))
		}
		if n := len(b.unlisted.used); n != mostUnlisted {
			t.Errorf("%d actions have a limiter of their own", n)
		}
		if b.limiter("ecs", "Invent0") != first || pause.Before(time.Now()) {
			t.Error("what is stopped was forgotten")
		}
		if got := b.limiter("ecs", "Real0").name; got != "ecs/OtherWrites" {
			t.Errorf("what was not used for longest counts as %s", got)
		}
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if n := len(family.GetMetric()); n > mostUnlisted+10 {
				t.Errorf("%s has %d series", family.GetName(), n)
			}
		}
	})
}

// TestStoppedActionsKeepTheirLimiters: when the cloud has stopped as many unlisted actions as may have a limiter of their own, another one
// shares that of all others.
func TestStoppedActionsKeepTheirLimiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, nil)
		for i := range mostUnlisted {
			b.Throttled("ecs", fmt.Sprint("Real", i), 2*time.Hour)
		}
		b.Answered("ecs", "More")
		if got, n := b.limiter("ecs", "More").name, len(b.unlisted.used); got != "ecs/OtherWrites" || n != mostUnlisted {
			t.Errorf("one more counts as %s, and %d have a limiter of their own", got, n)
		}
	})
}
