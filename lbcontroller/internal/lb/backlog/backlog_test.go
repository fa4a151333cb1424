package backlog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestBacklog goes through steps such as "enter a/1: yes", each a second after the one before. A pass that only begins
// and is held back has not ended. A refusal holds for twenty seconds.
func TestBacklog(t *testing.T) {
	t.Parallel()
	const refused = 20 * time.Second
	for name, steps := range map[string][]string{
		"without a refusal all may ask": {"enter a/1: yes", "enter a/2: yes", "done a/1: ", "done a/2: ", "enter a/1: yes"},
		"one refusal holds for all, and each that is served calls one": {
			"enter a/1: yes", "enter a/2: yes", "enter a/9: yes", "refused a/2: ", "enter a/3: no", "enter a/4: no", "enter a/3: no",
			"done a/1: a/2", "enter a/2: yes", "enter a/4: no", "done a/2: a/3", "enter a/3: yes", "done a/3: a/4",
		},
		"the refused one waits behind those that were held back, so that it isn't called again and again": {
			"enter a/1: yes", "enter a/2: yes", "enter a/3: yes", "refused a/2: ", "enter a/4: no", "done a/1: a/2",
			"enter a/2: yes", "refused a/2: ",
			"done a/3: a/4",
		},
		"after the refusal all may ask, and one that is served calls two": {
			"enter a/1: yes", "enter a/2: yes", "refused a/1: ", "enter a/3: no", "enter a/4: no", "wait", "enter a/5: yes", "done a/2: a/1, a/3",
		},
		"one that was called and doesn't need it calls the next": {
			"enter a/1: yes", "enter a/2: yes", "refused a/2: ", "enter a/3: no", "done a/1: a/2", "done a/2: a/3", "done a/2: ", "enter a/3: yes",
		},
		"one that is called while it is held back stays called": {
			"enter a/1: yes", "enter a/2: yes", "refused a/2: ", "begin a/2: no", "enter a/3: no", "done a/1: a/2", "done a/2: ", "enter a/3: no",
			"enter a/2: yes", "done a/2: a/3",
		},
		"one that is called and goes wrong before it asks calls the next": {
			"enter a/1: yes", "enter a/2: yes", "refused a/2: ", "enter a/2: no", "enter a/3: no", "done a/1: a/2", "done a/2: a/3",
		},
		"one that was not called calls none": {"enter a/1: yes", "enter a/2: yes", "refused a/2: ", "done a/4: ", "done a/1: a/2"},
		"one that doesn't need it any more isn't called": {"enter a/1: yes", "enter a/2: yes", "refused a/2: ",
			"enter a/3: no", "done a/2: ", "done a/1: a/3"},
		"a refusal counts only of one that has asked": {"enter a/1: yes", "refused a/2: ", "enter a/3: yes"},
		"one whose pass panicked is held back and called": {"enter a/1: yes", "enter a/2: yes", "enter a/3: yes",
			"refused a/3: ", "enter a/2: no", "done a/1: a/3", "done a/3: a/2"},
		"one that is gone isn't called": {
			"enter a/1: yes", "enter a/2: yes", "refused a/2: ", "enter a/3: no", "forget a/2: ", "done a/1: a/3", "forget a/3: ", "enter a/4: yes",
		},
		"namespaces take turns": {
			"enter a/1: yes", "enter a/2: yes", "refused a/2: ", "enter a/3: no", "enter a/4: no", "done a/1: a/2", "enter a/2: yes",
			"enter b/1: no", "enter b/2: no", "done a/2: a/3", "enter a/3: yes", "done a/3: b/1", "enter b/1: yes", "done b/1: a/4",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b Backlog
			now := time.Unix(0, 0)
			for i, step := range steps {
				now = now.Add(time.Second)
				what, want, _ := strings.Cut(step, ": ")
				act, key, _ := strings.Cut(what, " ")
				var got string
				switch act {
				case "begin", "enter":
					if got = "yes"; b.Enter(key, now) > 0 {
						if got = "no"; act == "enter" { // That pass ends here.
							b.Done(key, now)
						}
					}
				case "refused":
					b.Refused(key, now, refused)
				case "done":
					got = strings.Join(b.Done(key, now), ", ")
				case "forget":
					b.Forget(key)
				case "wait":
					now = now.Add(refused)
				default:
					t.Fatalf("step %d: %q is none", i+1, step)
				}
				if got != want {
					t.Fatalf("step %d, %s: %q", i+1, step, got)
				}
			}
		})
	}
}

// TestComeBack: Services that nothing calls come back one after the other when the refusal ends, which is soon enough.
func TestComeBack(t *testing.T) {
	t.Parallel()
	var b Backlog
	now := time.Unix(0, 0)
	b.Enter("a/1", now)
	b.Refused("a/1", now, time.Minute)
	now = now.Add(20 * time.Second)
	for _, tt := range []struct {
		key  string
		want time.Duration
	}{
		{"a/1", 40 * time.Second},
		{"a/2", 41 * time.Second},
		{"b/1", 42 * time.Second},
		{"a/2", 41 * time.Second},
	} {
		if wait := b.Enter(tt.key, now); wait != tt.want {
			t.Errorf("%s comes back after %s, want %s", tt.key, wait, tt.want)
		}
	}
	now = now.Add(time.Hour)
	b.Enter("a/3", now)
	b.Refused("a/3", now, 3*time.Hour)
	if wait := b.Enter("a/1", now); wait != longest {
		t.Errorf("a refusal for hours holds for %s, want %s", wait, longest)
	}
}

// cloud lets one call through in a gap. From slowFrom to slowTo a gap is longer.
type cloud struct {
	gap, slowFrom, slowTo, slowGap time.Duration
	next                           time.Duration
}

// call returns how long a call waits. It is refused if its patience doesn't last so long.
func (c *cloud) call(now, patience time.Duration) (wait time.Duration, refused bool) {
	turn := max(c.next, now)
	if wait = turn - now; wait > patience {
		return wait, true
	}
	gap := c.gap
	if now >= c.slowFrom && now < c.slowTo {
		gap = c.slowGap
	}
	c.next = turn + gap
	return wait, false
}

// service is one of those that need the call. It works for some time after it.
type service struct {
	key              string
	patience         time.Duration
	due, end         time.Duration // when it comes back; when its pass ends
	running, refused bool
	gone             time.Duration // when it ceases to need the call
	served           bool
}

// step is how much time passes at once in a simulation.
const step = 200 * time.Millisecond

// simulate returns when all are served and how often they have asked.
func simulate(t interface{ Fatalf(string, ...any) }, c *cloud, services []*service, pass time.Duration) (took time.Duration, asked int) {
	var b Backlog
	start := time.Unix(0, 0)
	byKey := map[string]*service{}
	for _, s := range services {
		byKey[s.key] = s
	}
	for now := time.Duration(0); now < 24*time.Hour; now += step {
		at := start.Add(now)
		left := 0
		for _, s := range services {
			if s.served {
				continue
			}
			left++
			var next []string
			switch {
			case s.running && now >= s.end && s.refused:
				s.running, s.due = false, s.end+s.due
				b.Refused(s.key, at, s.due-s.end)
			case s.running && now >= s.end:
				s.running, s.served = false, true
				next = b.Done(s.key, at)
			case s.running:
			case s.gone > 0 && now >= s.gone:
				s.served = true
				next = b.Done(s.key, at)
			case now >= s.due:
				wait := b.Enter(s.key, at)
				if s.due = now + wait; wait > 0 {
					b.Done(s.key, at)
					break
				}
				asked++
				s.running = true
				if wait, s.refused = c.call(now, s.patience); s.refused {
					s.end, s.due = now, wait
				} else {
					s.end = now + wait + pass
				}
			}
			for _, key := range next {
				byKey[key].due = min(byKey[key].due, now)
			}
		}
		if left == 0 {
			return now, asked
		}
	}
	t.Fatalf("not all are served after a day")
	return 0, 0
}

// TestAllAreServed: whatever the gateway has room for and who goes, all are served about as fast as there is room, and ask about twice.
func TestAllAreServed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seconds := func(name string, least, most int) time.Duration {
			return time.Duration(rapid.IntRange(least, most).Draw(t, name)) * time.Second
		}
		c := &cloud{gap: time.Duration(rapid.IntRange(1, 15).Draw(t, "gap")) * step}
		if rapid.Bool().Draw(t, "slow for a while") {
			c.slowFrom, c.slowGap = seconds("slow from", 0, 60), seconds("slow gap", 5, 80)
			c.slowTo = c.slowFrom + seconds("slow for", 10, 100)
		}
		pass, patience := seconds("pass", 0, 20), seconds("patience", 5, 30)
		n := rapid.SampledFrom([]int{1, 2, 10, 100, 300}).Draw(t, "services")
		var services []*service
		for i := range n {
			s := &service{key: fmt.Sprintf("%c/%d", 'a'+rapid.IntRange(0, 2).Draw(t, "namespace"), i),
				due: seconds("arrives", 0, 30), patience: patience}
			if rapid.IntRange(0, 9).Draw(t, "has less patience") == 0 { // Its pass has begun before.
				s.patience /= 4
			}
			if rapid.IntRange(0, 4).Draw(t, "goes") == 0 {
				s.gone = s.due + seconds("after", 1, 100)
			}
			services = append(services, s)
		}
		took, asked := simulate(t, c, services, pass)
		// After a time with less room it takes a while until as many are under way as fit.
		best := max(c.slowTo, 30*time.Second) + c.slowGap + time.Duration(n)*c.gap + pass
		if most := best + best/5 + patience + 5*(pass+c.gap); took > most {
			t.Fatalf("all are served after %s, at best it is %s", took, best)
		}
		if most := 3*n + int(took/(10*time.Second)); asked > most {
			t.Fatalf("%d Services have asked %d times in %s", n, asked, took)
		}
	})
}
