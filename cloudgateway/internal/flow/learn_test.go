package flow

import (
	"testing"
	"testing/synctest"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// TestLearnsFromAWrongLimit: the cloud's limit is not the documented one. Most of it is used soon, and few calls are refused.
func TestLearnsFromAWrongLimit(t *testing.T) {
	tests := []struct {
		name              string
		truth, documented int
		window            time.Duration // those of a second are buckets of the cloud
		upTo              float64       // LearnUpTo
		phase             time.Duration // of the cloud's minute, when the work begins
		least             float64       // part of the limit that is used
	}{
		{name: "right, 90 a minute", truth: 90, documented: 90, window: time.Minute, upTo: 1, least: 0.99},
		{name: "right, and allowed to learn more", truth: 90, documented: 90, window: time.Minute, upTo: 4, least: 0.9},
		{name: "twice 90 a minute", truth: 90, documented: 180, window: time.Minute, upTo: 1, least: 0.9},
		{name: "twice 90 a minute, late in a minute", truth: 90, documented: 180, window: time.Minute, upTo: 1,
			phase: 50 * time.Second, least: 0.9},
		{name: "half of 90 a minute", truth: 90, documented: 45, window: time.Minute, upTo: 4, phase: 35 * time.Second, least: 0.85},
		{name: "right, 10 a second", truth: 10, documented: 10, window: time.Second, upTo: 1, least: 0.99},
		{name: "twice 10 a second", truth: 10, documented: 20, window: time.Second, upTo: 1, least: 0.85},
		{name: "half of 10 a second", truth: 10, documented: 5, window: time.Second, upTo: 4, least: 0.85},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run, soon := 40*time.Minute, 10*time.Minute
				if tt.window == time.Second {
					run, soon = 10*time.Minute, 3*time.Minute
				}
				pass(tt.phase)
				a := newAccount(tt.truth, tt.window)
				u := newUser(t, a, func(cfg *config.Budget) {
					cfg.LearnUpTo = tt.upTo
					cfg.Overrides = map[string]config.Limit{"slb/" + learned: override(tt.documented, tt.window)}
				})
				u.work(t, Change, 3*tt.documented, run)
				granted, refused := u.count(soon, run)
				used := float64(granted) / (float64((run-soon)/tt.window) * float64(tt.truth))
				all, allRefused := u.count(0, run)
				part := float64(allRefused) / float64(all+allRefused)
				t.Logf("%.1f %% of the limit used after %s, %d refused of %d then; in all %d (%.2f %%)",
					100*used, soon, refused, granted+refused, allRefused, 100*part)
				if used < tt.least {
					t.Errorf("%.1f %% of the limit used, want %.0f", 100*used, 100*tt.least)
				}
				if part >= 0.01 || tt.least > 0.95 && allRefused > 0 {
					t.Errorf("%.2f %% of the calls were refused", 100*part)
				}
			})
		})
	}
}

// TestRestartUnderLoad: a gateway is killed while it is at its limit, or just after a burst, and another one goes on at once. Who
// knows of the one before has hardly a call refused; who doesn't learns from a few.
func TestRestartUnderLoad(t *testing.T) {
	tests := []struct {
		name  string
		ran   time.Duration // before the kill
		knows bool          // of the one before
		most  int           // calls that may be refused
	}{
		{name: "at its limit, known", ran: 10*time.Minute + 20*time.Second, knows: true, most: 2},
		{name: "at its limit, not known", ran: 10*time.Minute + 20*time.Second, most: 15},
		{name: "after a burst, known", ran: time.Second, knows: true, most: 2},
		{name: "after a burst, not known", ran: time.Second, most: 15},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const run = 30 * time.Minute
				a := newAccount(minuteWrites, time.Minute)
				newUser(t, a, nil).work(t, Change, 200, tt.ran)
				u := newUser(t, a, nil)
				if tt.knows {
					u.budget.TakeOver(time.Now())
				}
				u.work(t, Change, 200, run)
				granted, refused := u.count(0, tt.ran+run)
				t.Logf("%d calls in %s, %d refused", granted, run, refused)
				if refused > tt.most {
					t.Errorf("%d calls were refused, want at most %d", refused, tt.most)
				}
				if want := 0.9 * minuteWrites * run.Minutes(); float64(granted) < want {
					t.Errorf("%d calls in %s, want %.0f", granted, run, want)
				}
			})
		})
	}
}

// TestChangesAfterATakeover: a gateway that had little to do is replaced. The changes of users after that go at once, although nobody
// knows how much of the window is left.
func TestChangesAfterATakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(minuteWrites, time.Minute)
		newUser(t, a, nil).work(t, Change, 1, time.Second)
		pass(20 * time.Second)
		u := newUser(t, a, nil)
		u.budget.TakeOver(time.Now())
		for n := range 20 {
			begin := time.Now()
			ctx := WithCaller(t.Context(), Caller{Name: "lbcontroller", Priority: Change})
			if err := u.budget.Acquire(ctx, "slb", learned); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(begin); waited > time.Second/probeRate {
				t.Errorf("change %d waited for %s", n+1, waited)
			}
			pass(time.Second)
		}
	})
}
