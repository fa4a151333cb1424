package flow

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// regulator decides when a user of an account sends. *Budget is one; those in this file are what other clients of clouds have.
type regulator interface {
	Acquire(ctx context.Context, product, action string) error
	Throttled(product, action string, retryAfter time.Duration) time.Duration
}

// informed is a regulator that learns from calls that were granted, too.
type informed interface{ granted() }

// tokens is a bucket whose rate a rule changes. Callers wait in the order in which they come.
type tokens struct {
	turn    chan struct{} // of the first that waits
	mu      sync.Mutex
	rate    float64 // a second
	burst   float64
	left    float64
	at      time.Time
	refused func(now time.Time)
	success func(now time.Time)
}

func newTokens(perMinute, burst float64) *tokens {
	return &tokens{turn: make(chan struct{}, 1), rate: perMinute / 60, burst: burst, left: burst, at: time.Now()}
}

// Acquire implements regulator.
func (b *tokens) Acquire(ctx context.Context, _, _ string) error {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		b.mu.Lock()
		now := time.Now()
		b.left = min(b.burst, b.left+now.Sub(b.at).Seconds()*b.rate)
		b.at = now
		if b.left >= 1-epsilon {
			b.left--
			b.mu.Unlock()
			return nil
		}
		wait := time.Duration(math.Ceil((1 - b.left) / b.rate * float64(time.Second)))
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(wait, time.Second)): // The rate may have grown meanwhile.
		}
	}
}

// Throttled implements regulator.
func (b *tokens) Throttled(string, string, time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refused != nil {
		b.refused(time.Now())
	}
	return 0
}

func (b *tokens) granted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.success != nil {
		b.success(time.Now())
	}
}

// fixed is a bucket of 70 % of the limit, which knows nothing of others: what Terway and Karpenter have.
func fixed(perMinute float64) regulator { return newTokens(0.7*perMinute, 2) }

// additive grows by a sixtieth of the limit with each second in which nothing is refused, spread over a minute, and
// halves at most once a second.
func additive(perMinute float64) regulator {
	b := newTokens(perMinute, 2)
	most, last := b.rate, time.Now()
	grown := last
	b.refused = func(now time.Time) {
		if now.Sub(last) >= time.Second {
			b.rate, last, grown = max(b.rate/2, most/64), now, now
		}
	}
	b.success = func(now time.Time) {
		b.rate = min(most, b.rate+now.Sub(grown).Seconds()*most/60/32)
		grown = now
	}
	return b
}

// cubic is the adaptive mode of the AWS SDKs: after a refusal 0.7 of what was sent, then along a cubic curve to the
// rate at which it was, and beyond.
func cubic(perMinute float64) regulator {
	const beta, scale, smooth, least = 0.7, 0.4, 0.8, 0.5
	b := newTokens(60*perMinute, 10*perMinute) // Without a limit until the first refusal.
	enabled, lastMax, window, thrown := false, 0.0, 0.0, time.Now()
	measured, sent, bucket := 0.0, 0, math.Floor(float64(time.Now().UnixMilli())/500)
	measure := func(now time.Time) {
		sent++
		if half := math.Floor(float64(now.UnixMilli()) / 500); half > bucket {
			measured = measured*(1-smooth) + smooth*float64(sent)/((half-bucket)/2)
			sent, bucket = 0, half
		}
	}
	set := func(rate float64) {
		rate = max(min(rate, 2*measured), least)
		b.rate, b.burst = rate, max(rate, 1)
		b.left = min(b.left, b.burst)
	}
	b.refused = func(now time.Time) {
		measure(now)
		lastMax = measured
		if enabled {
			lastMax = min(measured, b.rate)
		}
		window, thrown, enabled = math.Cbrt(lastMax*(1-beta)/scale), now, true
		set(lastMax * beta)
	}
	b.success = func(now time.Time) {
		measure(now)
		if enabled {
			set(scale*math.Pow(now.Sub(thrown).Seconds()-window, 3) + lastMax)
		}
	}
	return b
}

// ours is the budget of a gateway that takes a part of the account's limits for the whole.
func ours(t *testing.T, perMinute, of float64) regulator {
	t.Helper()
	return newBudget(t, func(cfg *config.Budget) {
		cfg.Part = of
		cfg.Overrides = map[string]config.Limit{"slb/" + learned: override(int(perMinute), time.Minute)}
	})
}

// rules are those that are compared.
func rules(t *testing.T) map[string]func(perMinute float64) regulator {
	t.Helper()
	return map[string]func(float64) regulator{
		"ours":         func(perMinute float64) regulator { return ours(t, perMinute, 1) },
		"fixed bucket": fixed, "AIMD": additive, "CUBIC": cubic,
	}
}

// bulk sends as much as a regulator lets.
func (u *user) bulk(t *testing.T, r regulator, d time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(as(t.Context(), "bulk", Change), d)
	defer stop()
	var workers sync.WaitGroup
	for range 50 {
		workers.Go(func() {
			for r.Acquire(ctx, "slb", learned) == nil {
				if u.send() {
					if i, ok := r.(informed); ok {
						i.granted()
					}
				} else {
					r.Throttled("slb", learned, 0)
				}
			}
		})
	}
	workers.Wait()
}

// TestComparedWithOtherRules is the table of ADR 8: the same situations under the rules that other clients have. Ours
// is the only one that is never bad: it uses most of the limit, has few calls refused, leaves others theirs, and lets a
// single call through soon. The others are played for the table only, with -v.
func TestComparedWithOtherRules(t *testing.T) {
	const run, settled = time.Hour, 20 * time.Minute
	part := func(of, all int) float64 { return 100 * float64(of) / float64(max(1, of+all)) }
	for name, rule := range rules(t) {
		if name != "ours" && !testing.Verbose() {
			continue
		}
		measure := func(situation string, f func(t *testing.T) (met string, good bool)) {
			t.Run(name+", "+situation, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					met, good := f(t)
					t.Logf("%s, %s: %s", name, situation, met)
					if name == "ours" && !good {
						t.Error("this is not what ADR 8 promises")
					}
				})
			})
		}
		measure("alone", func(t *testing.T) (string, bool) {
			u := &user{account: newAccount(minuteWrites, time.Minute)}
			u.bulk(t, rule(minuteWrites), run)
			granted, refused := u.count(0, run)
			used := 100 * float64(granted) / run.Minutes() / minuteWrites
			return fmt.Sprintf("%.1f %% of the limit used, %.2f %% refused", used, part(refused, granted)), used > 99 && refused == 0
		})
		measure("beside a stranger who wants half", func(t *testing.T) (string, bool) {
			a := newAccount(minuteWrites, time.Minute)
			ours, stranger := &user{account: a}, &user{account: a}
			var work sync.WaitGroup
			work.Go(func() { stranger.pace(minuteWrites/2, run) })
			work.Go(func() { ours.bulk(t, rule(minuteWrites), run) })
			work.Wait()
			granted, refused := ours.count(settled, run)
			theirs, hurt := stranger.count(settled, run)
			minutes := (run - settled).Minutes()
			return fmt.Sprintf("ours %.1f a minute, %.2f %% refused; the stranger's %.1f, %.1f %% refused",
				float64(granted)/minutes, part(refused, granted),
				float64(theirs)/minutes, part(hurt, theirs)), part(refused, granted) < 1 && float64(theirs)/minutes > 0.9*minuteWrites/2
		})
		for n, most := range map[int]float64{2: 1, 5: 2, 20: 5} {
			gateways := func(t *testing.T, most float64, rule func() regulator) (string, bool) {
				t.Helper()
				a := newAccount(minuteWrites, time.Minute)
				var all []*user
				var work sync.WaitGroup
				for i := range n {
					u := &user{account: a}
					all = append(all, u)
					work.Go(func() {
						pass(time.Duration(i) * 700 * time.Millisecond)
						u.bulk(t, rule(), run)
					})
				}
				work.Wait()
				total, hurt, squares := 0, 0, 0.0
				for _, u := range all {
					g, r := u.count(settled, run)
					total, hurt, squares = total+g, hurt+r, squares+float64(g)*float64(g)
				}
				used := 100 * float64(total) / (run - settled).Minutes() / minuteWrites
				return fmt.Sprintf("%.1f %% used, %.2f %% refused, Jain %.2f", used, part(hurt, total),
						float64(total)*float64(total)/(float64(n)*squares)),
					used > 85 && part(hurt, total) < most
			}
			measure(fmt.Sprint(n, " gateways"), func(t *testing.T) (string, bool) {
				return gateways(t, most, func() regulator { return rule(minuteWrites) })
			})
			if name == "ours" { // With such a part, the others would not differ.
				measure(fmt.Sprint(n, " gateways with a part each"), func(t *testing.T) (string, bool) {
					return gateways(t, 0.001, func() regulator { return ours(t, minuteWrites, 1/float64(n)) })
				})
			}
		}
		measure("the limit is half of the documented one", func(t *testing.T) (string, bool) {
			u := &user{account: newAccount(minuteWrites, time.Minute)}
			u.bulk(t, rule(2*minuteWrites), run)
			granted, refused := u.count(0, run)
			used := 100 * float64(granted) / run.Minutes() / minuteWrites
			return fmt.Sprintf("%.1f %% of the limit used, %.2f %% refused", used, part(refused, granted)), used > 90 && part(refused, granted) < 1
		})
		measure("after a stranger who took nine tenths", func(t *testing.T) (string, bool) {
			a := newAccount(minuteWrites, time.Minute)
			ours, stranger := &user{account: a}, &user{account: a}
			var work sync.WaitGroup
			work.Go(func() { stranger.pace(0.9*minuteWrites, settled) })
			work.Go(func() { ours.bulk(t, rule(minuteWrites), run) })
			work.Wait()
			for m := settled; m < run; m += time.Minute {
				if granted, _ := ours.count(m, m+time.Minute); granted >= minuteWrites*95/100 {
					return fmt.Sprintf("the whole limit in the minute %.0f", (m-settled).Minutes()+1), m-settled < 10*time.Minute
				}
			}
			return "never the whole limit", false
		})
		measure("one more call beside the bulk job", func(t *testing.T) (string, bool) {
			u, r := &user{account: newAccount(minuteWrites, time.Minute)}, rule(minuteWrites)
			var work sync.WaitGroup
			work.Go(func() { u.bulk(t, r, 20*time.Minute) })
			pass(time.Minute)
			longest := time.Duration(0)
			for range 60 {
				pass(9 * time.Second)
				begin := time.Now()
				for ok := false; !ok; ok = u.send() {
					if err := r.Acquire(as(t.Context(), "lbcontroller", Backend), "slb", learned); err != nil {
						t.Fatal(err)
					}
				}
				longest = max(longest, time.Since(begin))
			}
			work.Wait()
			return fmt.Sprintf("waits %s at most", longest.Round(100*time.Millisecond)), longest < 5*time.Second
		})
	}
}
