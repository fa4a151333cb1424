// Package fault decides which calls go wrong. A rule says which calls it matches, which of those it strikes and what
// happens then:
//
//	{"action": "CreateLoadBalancer", "nth": 2, "times": 1, "when": "after", "drop": true}
//
// lets the second CreateLoadBalancer take effect and closes its connection without an answer.
package fault

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// When says on which side of the effect a fault strikes.
type When string

// Before is the default: the call has no effect.
const (
	Before When = "before"
	After  When = "after"
)

// Rule describes a fault. Without Error, Drop, Empty and Stale the call is only slowed down.
type Rule struct {
	ID string `json:"id"` // chosen if empty; shown in the journal

	// A call matches if all that is given matches; product, action and parameters are patterns as of path.Match, to
	// which a "/" is a character like others.
	Product string            `json:"product,omitempty"`
	Action  string            `json:"action,omitempty"`
	Params  map[string]string `json:"params,omitempty"` // a parameter that was not sent counts as empty

	Nth         int          `json:"nth,omitempty"`         // first match that is struck, from 1; 0 counts as 1
	Times       int          `json:"times,omitempty"`       // how often the rule strikes; 0: without end
	Probability float64      `json:"probability,omitempty"` // of striking a match; 0 counts as 1
	For         api.Duration `json:"for,omitzero"`          // how long the rule lives, on the virtual clock; 0: without end

	When    When         `json:"when,omitempty"`
	Latency api.Duration `json:"latency,omitzero"` // real time added on that side of the effect
	Error   *Error       `json:"error,omitempty"`
	Drop    bool         `json:"drop,omitempty"`  // closes the connection without an answer
	Empty   bool         `json:"empty,omitempty"` // a read answers as if the account had nothing, as for callers without permission
	Stale   bool         `json:"stale,omitempty"` // a read answers from the state at which the rule came into force

	// Item restricts Error to those items of a batch of routes whose members match the patterns, for example
	// {"DstCidrBlock": "10.0.1.*/*"}; the others and the call itself succeed.
	Item map[string]string `json:"item,omitempty"`

	// Job lets Error and Latency strike the asynchronous job that the call starts: the call succeeds, the job takes Latency
	// longer on the virtual clock, and fails with Error. Products without jobs ignore the rule.
	Job bool `json:"job,omitempty"`

	Matched int `json:"matched"` // calls that matched so far
	Struck  int `json:"struck"`  // calls that were struck so far

	until time.Time
	past  *state.Cloud // of a stale rule
}

// Past returns the state that a stale rule shows.
func (r *Rule) Past() *state.Cloud { return r.past }

// StrikesItem reports whether the rule makes an item of a batch fail. The names of the item's members are in lower case.
func (r *Rule) StrikesItem(item map[string]string) bool {
	for name, pattern := range r.Item {
		if !fits(pattern, item[strings.ToLower(name)]) {
			return false
		}
	}
	return len(r.Item) > 0
}

// Error is the answer a fault gives.
type Error struct {
	Status     int          `json:"status"` // 0 counts as 400
	Code       string       `json:"code"`
	Message    string       `json:"message"`
	RetryAfter api.Duration `json:"retryAfter,omitzero"` // sent as x-acs-retry-after
}

// Validate completes the rule and reports every mistake in it.
func (r *Rule) Validate() error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	for name, pattern := range r.patterns() {
		_, err := path.Match(pattern, "")
		check(err == nil, "%s: %q is no pattern", name, pattern)
	}
	r.Nth = max(r.Nth, 1)
	if r.Probability == 0 {
		r.Probability = 1
	}
	if r.When == "" {
		r.When = Before
	}
	check(r.Times >= 0, "times: %d is negative", r.Times)
	check(r.Probability > 0 && r.Probability <= 1, "probability: %g is not in (0, 1]", r.Probability)
	check(r.When == Before || r.When == After, "when: %q is neither %s nor %s", r.When, Before, After)
	effects := 0
	if r.Error != nil {
		effects++
		if r.Error.Status == 0 {
			r.Error.Status = 400
		}
		check(r.Error.Status >= 400 && r.Error.Status <= 599, "error.status: %d is not in 400…599", r.Error.Status)
		check(r.Error.Code != "", "error.code: is required")
	}
	if r.Drop {
		effects++
	}
	if r.Empty {
		effects++
		check(r.When == Before, "when: must be %s together with empty", Before)
	}
	if r.Stale {
		effects++
		check(r.When == Before, "when: must be %s together with stale", Before)
	}
	if len(r.Item) > 0 {
		check(r.Error != nil, "error: is required together with item")
		check(r.When == Before, "when: must be %s together with item", Before)
	}
	if r.Job {
		check(!r.Drop && !r.Empty && !r.Stale && len(r.Item) == 0, "job: drop, empty, stale and item are not possible with it")
		check(r.When == Before, "when: must be %s together with job", Before)
	}
	check(effects <= 1, "error, drop, empty, stale: only one of them is possible")
	check(effects == 1 || r.Latency > 0, "error, drop, empty, stale, latency: one of them is required")
	return errors.Join(problems...)
}

func (r *Rule) patterns() map[string]string {
	patterns := map[string]string{"product": r.Product, "action": r.Action}
	for name, pattern := range r.Params {
		patterns["params."+name] = pattern
	}
	for name, pattern := range r.Item {
		patterns["item."+name] = pattern
	}
	return patterns
}

func (r *Rule) matches(c Call) bool {
	if c.Mutating && (r.Empty || r.Stale) || !c.Mutating && r.Job { // the former say what reads show
		return false
	}
	if r.Product != "" && !fits(r.Product, c.Product) || r.Action != "" && !fits(r.Action, c.Action) {
		return false
	}
	for name, pattern := range r.Params {
		if !fits(pattern, c.Params[name]) {
			return false
		}
	}
	return true
}

// fits reports whether a value matches. The values are no paths, some of them are JSON with address ranges in it.
func fits(pattern, value string) bool {
	const noSlash = "\x00"
	plain := strings.NewReplacer("/", noSlash)
	ok, err := path.Match(plain.Replace(pattern), plain.Replace(value))
	return err == nil && ok
}

// Call is what rules know of a call.
type Call struct {
	Product, Action string
	Mutating        bool
	Params          map[string]string
}

// Set holds the rules in force.
type Set struct {
	now    func() (*state.Cloud, error)
	mu     sync.Mutex
	rules  []*Rule
	lastID int
	random *rand.Rand
}

// NewSet returns a set without rules. Stale rules keep what now returns, a copy of the state, when they come into force.
// Probabilities are drawn from a fixed seed, so that a run can be repeated.
func NewSet(now func() (*state.Cloud, error)) *Set {
	return &Set{now: now, random: rand.New(rand.NewPCG(1, 2))} //nolint:gosec // repeatable, not secret
}

// Replace puts the rules in force instead of those that were. Nothing changes if one of them is wrong.
func (s *Set) Replace(rules []Rule, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ready, err := s.prepare(rules, now)
	if err == nil {
		s.rules = ready
	}
	return err
}

// Add puts more rules in force, after those that are.
func (s *Set) Add(rules []Rule, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ready, err := s.prepare(rules, now)
	if err == nil {
		s.rules = append(s.rules, ready...)
	}
	return err
}

func (s *Set) prepare(rules []Rule, now time.Time) ([]*Rule, error) {
	var problems []error
	ready := make([]*Rule, 0, len(rules))
	for i, rule := range rules {
		if rule.Error != nil {
			own := *rule.Error // Validate completes it
			rule.Error = &own
		}
		if err := rule.Validate(); err != nil {
			problems = append(problems, fmt.Errorf("faults[%d]: %w", i, err))
			continue
		}
		if rule.ID == "" {
			s.lastID++
			rule.ID = "fault-" + strconv.Itoa(s.lastID)
		}
		if rule.Stale {
			var err error
			if rule.past, err = s.now(); err != nil {
				problems = append(problems, fmt.Errorf("faults[%d]: stale: %w", i, err))
				continue
			}
		}
		rule.Matched, rule.Struck = 0, 0
		if rule.For > 0 {
			rule.until = now.Add(time.Duration(rule.For))
		}
		ready = append(ready, &rule)
	}
	return ready, errors.Join(problems...)
}

// Rules returns a copy of the rules in force, with what they did.
func (s *Set) Rules() []Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	rules := make([]Rule, 0, len(s.rules))
	for _, r := range s.rules {
		rules = append(rules, *r)
	}
	return rules
}

// Strike returns the first rule that strikes this call, or nil. Rules after it don't see the call.
func (s *Set) Strike(c Call, now time.Time) *Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		expired := !r.until.IsZero() && !now.Before(r.until)
		if expired || !r.matches(c) {
			continue
		}
		r.Matched++
		exhausted := r.Times > 0 && r.Struck >= r.Times
		if r.Matched < r.Nth || exhausted || r.Probability < 1 && s.random.Float64() >= r.Probability {
			continue
		}
		r.Struck++
		struck := *r
		return &struck
	}
	return nil
}
