package flow

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestLearnedLimitsAreRestored: a gateway that comes after another one begins where that one has ended, beside the same stranger.
func TestLearnedLimitsAreRestored(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(string) string
		age  time.Duration
		bad  bool // an error
		kept bool
	}{
		{name: "at once", kept: true},
		{name: "after minutes", age: learnedFor - time.Minute, kept: true},
		{name: "too late", age: learnedFor + time.Minute},
		{name: "of another version", edit: func(s string) string { return strings.Replace(s, `"version":1`, `"version":2`, 1) }, bad: true},
		{name: "broken", edit: func(s string) string { return s[1:] }, bad: true},
		{name: "an action that is gone", edit: func(s string) string { return strings.ReplaceAll(s, learned, "Gone") }},
		{name: "more than the limit", edit: func(s string) string { return strings.Replace(s, learned+`":`, learned+`":9`, 1) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				before, after := newBudget(t, nil), newBudget(t, nil)
				if text, found := before.Learned(); found {
					t.Fatalf("a new budget has learned %s", text)
				}
				before.Throttled("slb", learned, time.Second)
				text, found := before.Learned()
				if !found {
					t.Fatal("nothing was learned")
				}
				pass(tt.age)
				if tt.edit != nil {
					text = tt.edit(text)
				}
				if err := after.Restore(text); (err != nil) != tt.bad {
					t.Errorf("error %v", err)
				}
				want := minuteWrites
				if tt.kept {
					want = 63
				}
				if got := after.limiter("slb", learned).pacer.calls; got != want {
					t.Errorf("%d calls a minute, want %d", got, want)
				}
			})
		})
	}
}

// TestFailoverBesideAStranger: what a replica has learned spares others the calls by which the next one would learn it.
func TestFailoverBesideAStranger(t *testing.T) {
	for _, tt := range []struct {
		name        string
		kept        bool
		least, most int // calls of the stranger that are refused in five minutes
	}{{"kept", true, 0, 40}, {"not kept", false, 80, 300}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const before, after = 20*time.Minute + 20*time.Second, 5 * time.Minute
				a := newAccount(minuteWrites, time.Minute)
				stranger := &user{account: a}
				var pacing sync.WaitGroup
				pacing.Go(func() { stranger.pace(60, before+after) })
				first, next := newUser(t, a, nil), newUser(t, a, nil)
				first.work(t, Change, 200, before)
				next.budget.TakeOver(time.Now())
				text, found := first.budget.Learned()
				if !found {
					t.Fatal("nothing was learned beside a stranger")
				}
				if tt.kept {
					if err := next.budget.Restore(text); err != nil {
						t.Fatal(err)
					}
				}
				next.work(t, Change, 200, after)
				pacing.Wait()
				granted, refused := stranger.count(before, before+after)
				t.Logf("%d calls of the stranger granted, %d refused", granted, refused)
				if refused < tt.least || refused > tt.most {
					t.Errorf("%d calls of the stranger were refused, want %d to %d", refused, tt.least, tt.most)
				}
			})
		})
	}
}
