package flow

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

const (
	learned      = "CreateVServerGroup"
	minuteWrites = 90 // calls of it that the cloud of these tests grants in a minute
)

// account is a cloud account: it grants calls of one action as the simulated cloud does, and knows what it granted to whom.
type account struct {
	limiter interface {
		Allow(product, action string, now time.Time) (time.Duration, bool)
	}
	begun time.Time
}

func newAccount(calls int, window time.Duration) *account {
	return &account{
		limiter: limit.New(limit.Table{"slb/" + learned: {Calls: calls, Window: api.Duration(window)}}, true),
		begun:   time.Now(),
	}
}

// user is somebody who uses an account; without a budget a stranger who sends as he likes.
type user struct {
	account *account
	budget  *Budget

	mu               sync.Mutex
	granted, refused []time.Time
}

// send makes one call, which takes 160 ms, and reports whether the cloud granted it.
func (u *user) send() bool {
	const latency = 160 * time.Millisecond
	pass(latency / 2)
	_, ok := u.account.limiter.Allow("slb", learned, time.Now())
	u.mu.Lock()
	if ok {
		u.granted = append(u.granted, time.Now())
	} else {
		u.refused = append(u.refused, time.Now())
	}
	u.mu.Unlock()
	pass(latency / 2)
	if !ok && u.budget != nil {
		u.budget.Throttled("slb", learned, 0)
	}
	return ok
}

// work sends until d is over, with so many calls under way or waiting at a time.
func (u *user) work(t *testing.T, p Priority, atOnce int, d time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(as(t.Context(), "bulk", p), d)
	defer stop()
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for u.budget.Acquire(ctx, "slb", learned) == nil {
				u.send()
			}
		})
	}
	workers.Wait()
}

// pace sends so many calls a minute evenly until d is over.
func (u *user) pace(perMinute float64, d time.Duration) {
	var calls sync.WaitGroup
	for begin := time.Now(); time.Since(begin) < d; pass(time.Duration(float64(time.Minute) / perMinute)) {
		calls.Go(func() { u.send() })
	}
	calls.Wait()
}

// count is how many calls were granted and refused in a time since the account began.
func (u *user) count(from, to time.Duration) (granted, refused int) {
	in := func(all []time.Time) (n int) {
		for _, at := range all {
			if since := at.Sub(u.account.begun); since >= from && since < to {
				n++
			}
		}
		return n
	}
	return in(u.granted), in(u.refused)
}

// newUser is a gateway that uses the account.
func newUser(t *testing.T, a *account, change func(*config.Budget)) *user {
	t.Helper()
	return &user{account: a, budget: newBudget(t, change)}
}

// TestAloneUsesTheWholeLimit: nobody else uses the account. Many calls are through in the time that the cloud's windows allow at best.
func TestAloneUsesTheWholeLimit(t *testing.T) {
	for _, tt := range []struct {
		action       string
		calls, limit int
		phase        time.Duration // of the cloud's minute, when the calls come
		skew         time.Duration // by which the cloud's clock is ahead of ours
	}{
		{"CreateLoadBalancer", 150, 60, 0, 0},
		{"CreateLoadBalancer", 150, 60, 25 * time.Second, 0},
		{"CreateLoadBalancer", 150, 60, 50 * time.Second, 0},
		{"CreateLoadBalancer", 180, 60, 0, 0},
		{"CreateVServerGroup", 150, 90, 0, 0},
		{"CreateVServerGroup", 150, 90, 40 * time.Second, 0},
		{"CreateVServerGroup", 1000, 90, 0, 0},
		{"CreateVServerGroup", 1000, 90, 10 * time.Second, 0},
		{"CreateVServerGroup", 1500, 90, 59500 * time.Millisecond, 0},
		{"CreateVServerGroup", 1000, 90, 20 * time.Second, 200 * time.Millisecond},
		{"CreateVServerGroup", 1000, 90, 20 * time.Second, -200 * time.Millisecond},
		{"CreateDomainExtension", 1500, 400, 33 * time.Second, 0},
	} {
		t.Run(fmt.Sprintf("%d of %d from %s skewed by %s", tt.calls, tt.limit, tt.phase, tt.skew), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBudget(t, func(cfg *config.Budget) {
					cfg.Overrides = map[string]config.Limit{"slb/" + tt.action: override(tt.limit, time.Minute)}
				})
				cloud := limit.New(limit.Table{"slb/" + tt.action: {Calls: tt.limit, Window: api.Duration(time.Minute)}}, true)
				pass(tt.phase)
				begin := time.Now()
				var work sync.WaitGroup
				var mu sync.Mutex
				refused := 0
				for range tt.calls {
					work.Go(func() {
						for {
							if err := b.Acquire(as(t.Context(), "bulk", Change), "slb", tt.action); err != nil {
								t.Error(err)
								return
							}
							pass(80 * time.Millisecond)
							if _, ok := cloud.Allow("slb", tt.action, time.Now().Add(tt.skew)); ok {
								return
							}
							mu.Lock()
							refused++
							mu.Unlock()
							b.Throttled("slb", tt.action, 0)
						}
					})
				}
				work.Wait()
				took := time.Since(begin)
				best := time.Duration((tt.calls-1)/tt.limit)*time.Minute - tt.phase // when the window of the last call begins
				t.Logf("%s, at best %s (%.2f), %d refused", took.Round(time.Millisecond), best, took.Seconds()/best.Seconds(), refused)
				if took.Seconds() > 1.1*best.Seconds() {
					t.Errorf("took %s, want at most 1.1 times %s", took, best)
				}
				if refused > 0 {
					t.Errorf("%d of %d calls were refused", refused, tt.calls)
				}
			})
		})
	}
}

// TestBesideAStranger: somebody else uses half of the limit. Both get what they want, and few calls are refused after the first window.
func TestBesideAStranger(t *testing.T) {
	for _, phase := range []time.Duration{0, 20 * time.Second, 47 * time.Second} {
		t.Run(phase.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const run, half = time.Hour, minuteWrites / 2
				pass(phase)
				a := newAccount(minuteWrites, time.Minute)
				ours, stranger := newUser(t, a, nil), &user{account: a}
				var work sync.WaitGroup
				work.Go(func() { stranger.pace(half, run) })
				work.Go(func() { ours.work(t, Change, 200, run) })
				work.Wait()
				// The first window is that in which the stranger is noticed.
				granted, refused := ours.count(time.Minute-phase, run)
				theirs, hurt := stranger.count(time.Minute-phase, run)
				part := float64(refused) / float64(granted+refused)
				minutes := (run - time.Minute + phase).Minutes()
				t.Logf("ours %.1f a minute, %.2f %% refused; the stranger's %.1f, %.2f %% refused",
					float64(granted)/minutes, 100*part, float64(theirs)/minutes, 100*float64(hurt)/float64(theirs+hurt))
				if part >= 0.01 {
					t.Errorf("%.2f %% of our calls were refused, want less than 1 %%", 100*part)
				}
				for who, n := range map[string]int{"the gateway": granted, "the stranger": theirs} {
					if rate := float64(n) / minutes; rate < 0.9*half {
						t.Errorf("%s got %.1f calls a minute, want nearly %d", who, rate, half)
					}
				}
				// Within one window of the first refusal the gateway has fallen back to its share.
				first := ours.refused[0].Sub(a.begun)
				if n, _ := ours.count(first+time.Minute, first+2*time.Minute); float64(n) > defaultShare*minuteWrites {
					t.Errorf("%d calls in the minute after the first with a refusal, want the share at most", n)
				}
			})
		})
	}
}

// TestGatewaysShareAnAccount: several gateways have more to do than the account allows. They come to fair shares without knowing of each
// other, also of one that comes later.
func TestGatewaysShareAnAccount(t *testing.T) {
	for _, tt := range []struct {
		gateways      int
		refused, fair float64 // at most, of the calls; Jain's index at least, 1 if all get the same
	}{
		{gateways: 2, refused: 0.01, fair: 0.99}, {gateways: 5, refused: 0.02, fair: 0.85}, {gateways: 20, refused: 0.1, fair: 0.7},
	} {
		t.Run(fmt.Sprint(tt.gateways), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const run, late, settled = 2 * time.Hour, 20 * time.Minute, time.Hour
				a := newAccount(minuteWrites, time.Minute)
				var users []*user
				var work sync.WaitGroup
				for i := range tt.gateways {
					u := newUser(t, a, nil)
					users = append(users, u)
					work.Go(func() {
						starts := time.Duration(i) * 700 * time.Millisecond
						if i == 0 {
							starts = late
						}
						pass(starts)
						u.work(t, Change, 200, run-starts)
					})
				}
				work.Wait()
				var got []int
				total, refused := 0, 0
				for _, u := range users {
					g, r := u.count(settled, run)
					got = append(got, g)
					total, refused = total+g, refused+r
				}
				latecomer := float64(got[0])
				slices.Sort(got)
				used := float64(total) / ((run - settled).Minutes() * minuteWrites)
				part := float64(refused) / float64(total+refused)
				fair := float64(total) / float64(tt.gateways)
				jain := 0.0
				for _, g := range got {
					jain += float64(g) * float64(g)
				}
				jain = float64(total) * float64(total) / (float64(tt.gateways) * jain)
				t.Logf("%.1f %% of the limit used, %.2f %% refused; least %.2f, most %.2f, the late one %.2f of a fair share; Jain's index %.3f",
					100*used, 100*part, float64(got[0])/fair, float64(got[len(got)-1])/fair, latecomer/fair, jain)
				if used < 0.8 {
					t.Errorf("%.1f %% of the limit used, want 80", 100*used)
				}
				if part >= tt.refused {
					t.Errorf("%.2f %% of the calls were refused, want less than %.0f", 100*part, 100*tt.refused)
				}
				if jain < tt.fair {
					t.Errorf("shares %v: Jain's index is %.3f, want %.2f", got, jain, tt.fair)
				}
			})
		})
	}
}

// TestRecoversWhenContentionEnds: for more than an hour others leave only a tenth. Soon after they have gone the whole limit is in use.
func TestRecoversWhenContentionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const contention, soon = 70 * time.Minute, 12 * time.Minute
		a := newAccount(minuteWrites, time.Minute)
		ours, stranger := newUser(t, a, nil), &user{account: a}
		var work sync.WaitGroup
		work.Go(func() { stranger.pace(0.9*minuteWrites, contention) })
		work.Go(func() { ours.work(t, Change, 200, contention+soon+5*time.Minute) })
		work.Wait()
		for m := contention; m < contention+soon+5*time.Minute; m += time.Minute {
			granted, _ := ours.count(m, m+time.Minute)
			t.Logf("minute %2.0f after the contention: %d calls", (m - contention).Minutes(), granted)
		}
		granted, refused := ours.count(contention+soon, contention+soon+4*time.Minute)
		if granted < 4*minuteWrites*95/100 || refused > 0 {
			t.Errorf("%d calls in four minutes, %d refused, want the whole limit of %d a minute", granted, refused, minuteWrites)
		}
	})
}

// TestBackgroundKeepsToTheShare: background work leaves the rest of the limit alone even if nobody wants it, and user work that comes
// finds room at once.
func TestBackgroundKeepsToTheShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const run = 10 * time.Minute
		a := newAccount(minuteWrites, time.Minute)
		u := newUser(t, a, nil)
		var work sync.WaitGroup
		work.Go(func() { u.work(t, Background, 200, run) })
		pass(90 * time.Second)
		for range 10 {
			begin := time.Now()
			if err := u.budget.Acquire(as(t.Context(), "user", Change), "slb", learned); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); took > time.Second {
				t.Errorf("a user's call waited for %s", took)
			}
			pass(23 * time.Second)
		}
		work.Wait()
		granted, refused := u.count(0, run)
		if rate := float64(granted) / run.Minutes(); rate > defaultShare*minuteWrites || rate < 0.95*defaultShare*minuteWrites || refused > 0 {
			t.Errorf("%.1f background calls a minute, %d refused; want the share, %.0f", rate, refused, defaultShare*minuteWrites)
		}
	})
}

// sliding is a cloud that counts in the minute before each call, wherever that begins.
type sliding struct {
	mu   sync.Mutex
	went []time.Time
}

func (s *sliding) Allow(_, _ string, now time.Time) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.went) > 0 && now.Sub(s.went[0]) >= time.Minute {
		s.went = s.went[1:]
	}
	if len(s.went) >= minuteWrites {
		return 0, false
	}
	s.went = append(s.went, now)
	return 0, true
}

// TestOtherWindows: the cloud's windows are not those of the clock. A few refusals show it, and the whole limit is used nevertheless.
func TestOtherWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const run = 30 * time.Minute
		pass(50 * time.Second)
		a := &account{limiter: &sliding{}, begun: time.Now()}
		u := newUser(t, a, nil)
		u.work(t, Change, 200, run)
		granted, refused := u.count(0, run)
		used := float64(granted) / (run.Minutes() * minuteWrites)
		t.Logf("%.1f %% of the limit used, %d of %d refused", 100*used, refused, granted+refused)
		if used < 0.95 {
			t.Errorf("%.1f %% of the limit used, want 95", 100*used)
		}
		if refused*100 >= granted+refused {
			t.Errorf("%d of %d calls were refused, want less than 1 %%", refused, granted+refused)
		}
	})
}
