package batch

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/memo"

	"golang.org/x/sync/semaphore"
)

func group(i, servers int) *slbv1.ServerGroup {
	g := &slbv1.ServerGroup{ServerGroupId: fmt.Sprint("rsp-", i)}
	for s := range servers {
		g.Servers = append(g.Servers, &slbv1.Server{ServerId: fmt.Sprint("i-", s), Port: 80, Weight: new(int32(100))})
	}
	return g
}

// TestNobodyAsked: what is read without an age is not remembered, and what is remembered goes when its time is over.
func TestNobodyAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config[string, *slbv1.ServerGroup]{Name: "groups", Logger: discard})
		read := func(i int, maxAge time.Duration) {
			if _, err := c.Do(t.Context(), fmt.Sprint(i), maxAge, func(context.Context) (*slbv1.ServerGroup, error) {
				return group(i, 200), nil
			}); err != nil {
				t.Error(err)
			}
		}
		for i := range 5000 {
			read(i, 0)
		}
		left := func() int {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.stored.Len() + len(c.flights) + len(c.waiting)
		}
		if n := left(); n > 0 {
			t.Errorf("%d things are left of reads that nobody wants remembered", n)
		}
		for i := range 100 {
			read(i, time.Minute)
		}
		if left() == 0 {
			t.Error("nothing is remembered; the test shows nothing")
		}
		pass(3 * time.Minute)
		synctest.Wait()
		if n := left(); n > 0 || c.sweep != nil {
			t.Errorf("%d things are left when their time is over", n)
		}
		if !c.cfg.Room.bytes.TryAcquire(ownRoom) {
			t.Error("not all memory is given back")
		}
	})
}

// BenchmarkPutIntoFull stores into a store that is full.
func BenchmarkPutIntoFull(b *testing.B) {
	g := group(0, 200)
	size := sizeOf(g)
	s := memo.NewStore[int, *slbv1.ServerGroup](semaphore.NewWeighted(15_000 * int64(size)))
	now := time.Now()
	for i := range 15_000 {
		s.Put(i, g, size, now, time.Hour)
	}
	i := 15_000
	for b.Loop() {
		s.Put(i, g, size, now, time.Hour)
		i++
	}
}

// TestAbsenceIsNotRemembered: what was not there is asked for again, and what was remembered and has gone is not shown any more.
func TestAbsenceIsNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there, loads := true, 0
		r := New(Config[string, string]{Logger: discard, MaxItems: 10, Load: func(context.Context, []string) (map[string]string, error) {
			loads++
			if there {
				return map[string]string{"k": "v"}, nil
			}
			return nil, nil
		}})
		get := func(maxAge time.Duration) string {
			value, err := r.Get(t.Context(), "k", maxAge)
			if err != nil {
				t.Error(err)
			}
			return value
		}
		get(time.Hour)
		there = false
		if get(0) != "" || get(time.Hour) != "" || get(time.Hour) != "" {
			t.Error("something is there that has gone")
		}
		if loads != 4 {
			t.Errorf("%d reads, want 4: absence is not remembered", loads)
		}
	})
}
