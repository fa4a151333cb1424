package memo

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
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

func TestErrorsAreNotRemembered(t *testing.T) {
	m := New[string, int](10)
	broken := errors.New("broken")
	if _, err := m.Do(t.Context(), "key", func(context.Context) (int, time.Duration, error) {
		return 0, time.Minute, broken
	}); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if _, ok := m.Get("key"); ok {
		t.Error("the failure is remembered")
	}
}

func TestPutIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[int, int](3)
		m.Put(0, 0, time.Second)
		m.Put(1, 1, time.Minute)
		m.Put(2, 2, time.Minute)
		<-time.After(time.Second)
		m.Put(3, 3, time.Minute) // in the place of 0, which has expired
		for _, key := range []int{1, 2, 3} {
			if v, ok := m.Get(key); !ok || v != key {
				t.Errorf("key %d is not there", key)
			}
		}
		m.Put(4, 4, time.Minute)
		if n := len(m.entries); n != 3 {
			t.Errorf("%d entries, want 3", n)
		}
		m.Put(4, 4, 0)
		if _, ok := m.Get(4); ok {
			t.Error("a life of zero does not forget")
		}
	})
}
