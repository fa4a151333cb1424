package reconcile

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// take empties the ready keys, in order.
func take(q *queue) []string {
	var keys []string
	for ready(q) > 0 {
		key, _, _ := q.get()
		keys = append(keys, key)
		q.done(key)
	}
	return keys
}

func ready(q *queue) int {
	n := 0
	for p := range Priority(priorities) {
		n += q.depth(p)
	}
	return n
}

func TestQueueOrder(t *testing.T) {
	t.Parallel()
	q := newQueue()
	q.add("a", Periodic)
	q.add("b", User)
	q.add("c", Node)
	q.add("d", User)
	q.add("c", Periodic) // Never lowers.
	q.add("a", Endpoint) // Raises, and keeps the place of the first add.
	q.add("e", Endpoint)
	if diff := cmp.Diff([]string{"b", "d", "a", "e", "c"}, take(q)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestQueueHoldsBackActiveKeys(t *testing.T) {
	t.Parallel()
	q := newQueue()
	q.add("a", Node)
	key, priority, _ := q.get()
	if key != "a" || priority != Node {
		t.Fatalf("get = %q, %s", key, priority)
	}
	q.add("a", Periodic)
	q.add("a", User)
	if n := ready(q); n != 0 {
		t.Fatalf("%d keys ready while the only one is active", n)
	}
	q.done("a")
	key, priority, _ = q.get()
	if key != "a" || priority != User {
		t.Fatalf("get = %q, %s, want a with the highest priority added meanwhile", key, priority)
	}
	q.done("a")
	if n := ready(q); n != 0 {
		t.Fatalf("%d keys ready at the end", n)
	}
}

// TestQueueGivesOutRaisedKeys: a key that is held back as one of the least priority is given out when it is raised,
// though nothing else happens.
func TestQueueGivesOutRaisedKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		defer q.close()
		q.bound(2, 1)
		q.add("verified", Periodic)
		q.get()
		q.add("edited", Periodic)
		given := make(chan string, 1)
		go func() {
			key, _, _ := q.get()
			given <- key
		}()
		synctest.Wait()
		if len(given) > 0 {
			t.Fatalf("%q is given out beyond the bound", <-given)
		}
		q.add("edited", User)
		synctest.Wait()
		if len(given) == 0 {
			t.Error("the raised key waits for the end of another attempt")
		}
	})
}

func TestQueueDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		defer q.close()
		q.addAfter("late", Node, time.Hour)
		q.addAfter("late", User, 2*time.Hour) // The earlier time and the higher priority count.
		q.addAfter("soon", Periodic, time.Minute)
		q.addAfter("now", Periodic, 0)
		steps := []struct {
			after time.Duration
			want  []string
		}{
			{after: 0, want: []string{"now"}},
			{after: time.Minute, want: []string{"soon"}},
			{after: 59*time.Minute - 1, want: nil},
			{after: 1, want: []string{"late"}},
			{after: 2 * time.Hour, want: nil},
		}
		for _, step := range steps {
			wait(step.after)
			synctest.Wait()
			if diff := cmp.Diff(step.want, take(q)); diff != "" {
				t.Errorf("after %s more (-want +got):\n%s", step.after, diff)
			}
		}
	})
}

func TestQueueAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		q.add("a", User)
		wait(time.Minute)
		q.add("b", User)
		wait(time.Second)
		if got, want := q.oldest(), time.Minute+time.Second; got != want {
			t.Errorf("oldest = %s, want %s", got, want)
		}
	})
}

// wait lets the bubble's clock go on.
func wait(d time.Duration) { <-time.After(d) }

// TestQueueProperties compares the queue with the simplest model: a list of keys with priority, of which now and then
// the oldest has its turn.
func TestQueueProperties(t *testing.T) {
	t.Parallel()
	type entry struct {
		key      string
		priority Priority
		seq      int
	}
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue()
		var waiting, again []entry
		active := map[string]bool{}
		seq, given := 0, 0
		keys := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		raise := func(list []entry, e entry) []entry {
			i := slices.IndexFunc(list, func(other entry) bool { return other.key == e.key })
			if i < 0 {
				return append(list, e)
			}
			list[i].priority = max(list[i].priority, e.priority)
			return list
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				seq++
				e := entry{key: keys.Draw(t, "key"), priority: Priority(rapid.IntRange(0, priorities-1).Draw(t, "priority")), seq: seq}
				q.add(e.key, e.priority)
				if active[e.key] {
					again = raise(again, e)
				} else {
					waiting = raise(waiting, e)
				}
			},
			"get": func(t *rapid.T) {
				if len(waiting) == 0 {
					return // It would block.
				}
				best, oldest := 0, given%oldestEvery == oldestEvery-1
				given++
				for i, e := range waiting {
					if oldest && e.seq < waiting[best].seq || !oldest && (e.priority > waiting[best].priority ||
						e.priority == waiting[best].priority && e.seq < waiting[best].seq) {
						best = i
					}
				}
				key, priority, ok := q.get()
				if want := waiting[best]; !ok || key != want.key || priority != want.priority {
					t.Fatalf("get = %q, %s, %v, want %v", key, priority, ok, want)
				}
				waiting = slices.Delete(waiting, best, best+1)
				active[key] = true
			},
			"done": func(t *rapid.T) {
				if len(active) == 0 {
					return
				}
				var all []string
				for key := range active {
					all = append(all, key)
				}
				slices.Sort(all)
				key := rapid.SampledFrom(all).Draw(t, "active")
				q.done(key)
				delete(active, key)
				if i := slices.IndexFunc(again, func(e entry) bool { return e.key == key }); i >= 0 {
					waiting = append(waiting, again[i])
					again = slices.Delete(again, i, i+1)
				}
			},
			"": func(t *rapid.T) {
				if got := ready(q); got != len(waiting) {
					t.Fatalf("%d keys ready, want %d", got, len(waiting))
				}
			},
		})
	})
}

// TestQueueStarvesNoKey keeps a queue full of urgent keys: the one of the least priority is given out all the same.
func TestQueueStarvesNoKey(t *testing.T) {
	t.Parallel()
	q := newQueue()
	q.add("low", Periodic)
	for i := range 100 {
		q.add("urgent"+string(rune('a'+i%26)), User)
		key, _, _ := q.get()
		q.done(key)
		if key == "low" {
			if i == 0 {
				t.Error("given out before the urgent one")
			}
			return
		}
		for j := range 3 {
			q.add("more"+string(rune('a'+(i+j)%26)), User)
		}
	}
	t.Error("the key waits for ever")
}

// TestQueueStarvesNoKeyWithinItsBound: a key of the least priority is held back by the bound on those, whatever its age.
func TestQueueStarvesNoKeyWithinItsBound(t *testing.T) {
	t.Parallel()
	q := newQueue()
	q.bound(0, 1)
	q.add("under way", Periodic)
	q.get()
	q.add("low", Periodic)
	for range 40 {
		q.add("urgent", User)
		if key, _, _ := q.get(); key != "urgent" {
			t.Fatalf("%s is given out", key)
		}
		q.done("urgent")
	}
}

// TestPromote makes a key ready that waits for a delay: it is given out once.
func TestPromote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		q.addAfter("a", User, time.Minute)
		q.addAfter("b", Node, time.Minute)
		q.promote("a", Periodic)
		q.promote("c", Node)
		if got := take(q); !slices.Equal(got, []string{"a", "c"}) {
			t.Errorf("at once %v", got)
		}
		<-time.After(2 * time.Minute)
		synctest.Wait()
		if got := take(q); !slices.Equal(got, []string{"b"}) {
			t.Errorf("after the delay %v, want what was not promoted", got)
		}
		q.close()
	})
}
