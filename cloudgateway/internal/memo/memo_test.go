package memo

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"
)

func TestDoRemembersUntilTheLifeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[string, int](10)
		loads := 0
		get := func() int {
			v, err := m.Do(t.Context(), "key", func(context.Context) (int, time.Duration, error) {
				loads++
				return loads, time.Minute, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		for _, want := range []int{1, 1} {
			if got := get(); got != want {
				t.Errorf("got load %d, want %d", got, want)
			}
		}
		<-time.After(time.Minute)
		if got := get(); got != 2 {
			t.Errorf("after its life: got load %d, want 2", got)
		}
	})
}

// late is a key whose text waits: it is asked for after Do looked at what is remembered, and before it joins a load.
type late struct{ wait func() }

func (l *late) GoString() string {
	l.wait()
	return "key"
}

// TestDoLooksAgain: a load that ended after a call looked, and before it joined one, is enough for that call.
func TestDoLooksAgain(t *testing.T) {
	for name, fails := range map[string]error{"value": nil, "error": errors.New("refused")} {
		t.Run(name, func(t *testing.T) {
			m := New[*late, int](10)
			loads := 0
			key := &late{wait: func() {}}
			do := func() (int, error) {
				return m.Do(t.Context(), key, func(context.Context) (int, time.Duration, error) {
					loads++
					return 7, time.Minute, fails
				})
			}
			key.wait = func() {
				key.wait = func() {}
				if _, err := do(); !errors.Is(err, fails) {
					t.Error(err)
				}
			}
			if _, err := do(); !errors.Is(err, fails) || loads != 1 {
				t.Errorf("%v after %d loads, want %v after one", err, loads, fails)
			}
		})
	}
}

func TestDoSharesALoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[string, int](10)
		release := make(chan struct{})
		var loads int
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				v, err := m.Do(t.Context(), "key", func(context.Context) (int, time.Duration, error) {
					loads++
					<-release
					return 7, time.Minute, nil
				})
				if v != 7 || err != nil {
					t.Errorf("got %d, %v", v, err)
				}
			})
		}
		synctest.Wait()
		close(release)
		group.Wait()
		if loads != 1 {
			t.Errorf("%d loads, want 1", loads)
		}
	})
}

func TestDoOfOneWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[string, int](10)
		release := make(chan struct{})
		load := func(ctx context.Context) (int, time.Duration, error) {
			<-release
			return 7, time.Minute, ctx.Err()
		}
		hurried, leave := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := m.Do(hurried, "key", load); !errors.Is(err, context.Canceled) {
				t.Errorf("the one who left got %v", err)
			}
		})
		synctest.Wait()
		group.Go(func() {
			if v, err := m.Do(t.Context(), "key", load); v != 7 || err != nil {
				t.Errorf("the one who stayed got %d, %v", v, err)
			}
		})
		synctest.Wait()
		leave()
		synctest.Wait()
		close(release)
		group.Wait()
	})
}

// TestErrors: those without a life are not remembered, and those with one never push a value out.
func TestErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[int, int](3)
		m.Put(-1, 1, time.Hour)
		broken := errors.New("broken")
		loads := 0
		ask := func(key int, life time.Duration) {
			if v, err := m.Do(t.Context(), key, func(context.Context) (int, time.Duration, error) {
				loads++
				return 7, life, broken
			}); v != 0 || !errors.Is(err, broken) {
				t.Errorf("got %d, %v, want %v", v, err, broken)
			}
		}
		ask(0, 0)
		ask(0, 0)
		if loads != 2 {
			t.Errorf("%d loads, want 2: an error without a life is remembered", loads)
		}
		for key := range 2 * mostErrors {
			ask(key, time.Minute)
			ask(key, time.Minute)
		}
		if loads != 2+2*mostErrors {
			t.Errorf("%d loads, want %d: one for each key", loads, 2+2*mostErrors)
		}
		if _, ok := m.Get(0); ok {
			t.Error("an error is taken for a value")
		}
		if _, ok := m.Get(-1); !ok {
			t.Error("errors have pushed out a value")
		}
		<-time.After(time.Minute)
		ask(2*mostErrors-1, time.Minute)
		if loads != 3+2*mostErrors {
			t.Error("an error is remembered past its life")
		}
	})
}

func TestPutIsBounded(t *testing.T) {
	m := New[int, int](3)
	for key := range 4 {
		m.Put(key, key, time.Minute)
	}
	there := 0
	for key := range 4 {
		if _, ok := m.Get(key); ok {
			there++
		}
	}
	if there != 3 {
		t.Errorf("%d entries, want 3", there)
	}
	m.Put(3, 3, 0)
	if _, ok := m.Get(3); ok {
		t.Error("a life of zero does not forget")
	}
}

// TestClearFunc: only the values of the keys that are meant are forgotten.
func TestClearFunc(t *testing.T) {
	m := New[string, int](10)
	m.Put("a", 1, time.Minute)
	m.Put("b", 2, time.Minute)
	m.ClearFunc(func(key string) bool { return key == "a" })
	_, hasA := m.Get("a")
	b, hasB := m.Get("b")
	if hasA || !hasB || b != 2 {
		t.Errorf("a is there: %t; b is there: %t, %d", hasA, hasB, b)
	}
}

// TestStoreKeepsTheLaterRead: an answer that comes late does not take the place of what was read after it.
func TestStoreKeepsTheLaterRead(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := NewStore[string, string](semaphore.NewWeighted(10))
	put := func(value string, at int) {
		s.Put("key", value, 1, start.Add(time.Duration(at)*time.Second), time.Minute)
	}
	for _, step := range []struct {
		value string
		at    int
		want  string
	}{{"second", 2, "second"}, {"first", 1, "second"}, {"third", 3, "third"}} {
		put(step.value, step.at)
		if got, _, _ := s.Get("key", start.Add(3*time.Second), time.Minute); got != step.want {
			t.Errorf("after the read at second %d: %q, want %q", step.at, got, step.want)
		}
	}
}
