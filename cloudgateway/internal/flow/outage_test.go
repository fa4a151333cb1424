package flow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// guardian is what other clients have between a call and its attempts, for a cloud that fails.
type guardian interface {
	// repeat reports whether a failed attempt may be repeated.
	repeat() bool
	// reject reports whether an attempt is refused at once, without the cloud.
	reject(now time.Time) bool
	ended(now time.Time, ok bool)
}

// quota is a bucket of repetitions: each takes some tokens, each success gives some back.
type quota struct {
	tokens, most, cost, gain, least float64
}

func (q *quota) repeat() bool {
	if q.tokens < q.least+q.cost {
		return false
	}
	q.tokens -= q.cost
	return true
}

func (q *quota) reject(time.Time) bool { return false }

func (q *quota) ended(_ time.Time, ok bool) {
	if ok {
		q.tokens = min(q.most, q.tokens+q.gain)
	}
}

// breaker rejects calls as the SRE book says: the more, the fewer of those in the last two minutes were answered.
type breaker struct {
	quota

	rng               *rand.Rand
	requests, accepts []time.Time
}

// lately leaves out what is longer ago than two minutes.
func lately(all []time.Time, now time.Time) []time.Time {
	for len(all) > 0 && now.Sub(all[0]) > 2*time.Minute {
		all = all[1:]
	}
	return all
}

func (s *breaker) reject(now time.Time) bool {
	s.requests, s.accepts = lately(s.requests, now), lately(s.accepts, now)
	p := max(0, (float64(len(s.requests))-2*float64(len(s.accepts)))/float64(len(s.requests)+1))
	s.requests = append(s.requests, now)
	return s.rng.Float64() < p
}

func (s *breaker) ended(now time.Time, ok bool) {
	if ok {
		s.accepts = append(s.accepts, now)
	}
}

// TestOutage is what ADR 8 says about budgets of repetitions and breakers: five minutes in which the cloud fails, and
// 40 changes a minute that are tried again and again, as controllers do. Every attempt waits for the rate limit, which
// is budget enough.
func TestOutage(t *testing.T) {
	for _, failing := range []float64{0.05, 0.5, 1} {
		for name, g := range map[string]func() guardian{
			"ours, 3 repetitions": func() guardian { return &quota{tokens: 1e9, most: 1e9, cost: 0} },
			"no repetition":       func() guardian { return &quota{cost: 1} },
			"quota as gRPC A6":    func() guardian { return &quota{tokens: 10, most: 10, cost: 1, gain: .1, least: 5} },
			"quota as AWS":        func() guardian { return &quota{tokens: 500, most: 500, cost: 5, gain: 1} },
			"breaker of the SRE book": func() guardian {
				return &breaker{quota: quota{tokens: 1e9, most: 1e9}, rng: rand.New(rand.NewPCG(1, 2))}
			},
		} {
			t.Run(fmt.Sprint(name, failing), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					met, failed := outage(t, failing, g())
					t.Logf("%3.0f %% fail, %s: %s", 100*failing, name, met)
					if name == "ours, 3 repetitions" && failing < 1 && failed > failing/5 {
						t.Errorf("%.1f %% of the calls fail", 100*failed)
					}
				})
			})
		}
	}
}

// outage returns what happened, and the part of the calls that failed.
func outage(t *testing.T, failing float64, g guardian) (met string, part float64) {
	t.Helper()
	b := newBudget(t, func(cfg *config.Budget) {
		cfg.Overrides = map[string]config.Limit{"slb/" + learned: override(90, time.Minute)}
	})
	rng := rand.New(rand.NewPCG(3, 4))
	begin := time.Now()
	const from, to, run = 5 * time.Minute, 10 * time.Minute, 15 * time.Minute
	var mu sync.Mutex
	attempts, calls, failed := 0, 0, 0
	var late []time.Duration
	attempt := func() bool {
		mu.Lock()
		if g.reject(time.Now()) {
			mu.Unlock()
			return false
		}
		mu.Unlock()
		ctx, cancel := context.WithTimeout(as(t.Context(), "lbcontroller", Change), 30*time.Second)
		defer cancel()
		if b.Acquire(ctx, "slb", learned) != nil {
			return false
		}
		pass(100 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		since := time.Since(begin)
		ok := since < from || since >= to || rng.Float64() >= failing
		if since >= from && since < to {
			attempts++
		}
		g.ended(time.Now(), ok)
		return ok
	}
	call := func() bool {
		for n := 0; ; n++ {
			if attempt() {
				return true
			}
			mu.Lock()
			again := n < 3 && g.repeat()
			mu.Unlock()
			if !again {
				return false
			}
			pass(200 * time.Millisecond << n)
		}
	}
	var work sync.WaitGroup
	for time.Since(begin) < run {
		work.Go(func() {
			came := time.Since(begin)
			for wait := time.Second; ; wait = min(2*wait, time.Minute) {
				ok := call()
				mu.Lock()
				if came >= from && came < to {
					calls++
					if !ok {
						failed++
					}
				}
				if ok {
					if came >= from && came < to {
						late = append(late, max(0, time.Since(begin)-to))
					}
					mu.Unlock()
					return
				}
				mu.Unlock()
				pass(wait)
			}
		})
		pass(1500 * time.Millisecond)
	}
	work.Wait()
	slices.Sort(late)
	part = float64(failed) / float64(calls)
	return fmt.Sprintf("%.0f attempts a minute, %.1f %% of calls fail; after the end the last change is done after %s, half of them after %s",
		float64(attempts)/5, 100*part, late[len(late)-1].Round(time.Second), late[len(late)/2].Round(time.Second)), part
}
