package rpc

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"alicloud-controllers.dev/cloudgateway/internal/rpc/hostile"
)

// TestPlaces: however many have as many places as they may, the next one finds one, there are never more, and who waits goes on when one
// is given back.
func TestPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const all, own, greedy = 42, 12, 6
		p := &places{left: all}
		var back []func()
		var taken []held
		for range greedy {
			mine := new(held)
			for range own {
				if p.tryTake(mine) == nil {
					back = append(back, func() { p.giveBack(mine) })
				}
			}
			taken = append(taken, *mine)
		}
		sum := 0
		for i, n := range taken {
			sum += int(n)
			if n == 0 {
				t.Errorf("caller %d finds no place: %d", i, taken)
			}
		}
		if sum+p.left != all || p.left < 1 || taken[0] != own {
			t.Errorf("taken %d, left %d, of %d", taken, p.left, all)
		}
		for p.left > 0 {
			back = append(back, second(p.take(t.Context(), new(held))))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.take(ctx, new(held)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("where nothing is left: got %v", err)
		}
		var waits sync.WaitGroup
		for range 3 {
			waits.Go(func() { second(p.take(t.Context(), new(held)))() })
		}
		synctest.Wait()
		back[0]()
		waits.Wait() // One after the other.
		for _, done := range back[1:] {
			done()
		}
		if p.left != all {
			t.Errorf("%d of %d are left in the end", p.left, all)
		}
	})
}

func second(done func(), err error) func() {
	if err != nil {
		return func() {}
	}
	return done
}

// TestRequestsOfAllAreBounded: a caller whose requests don't come to their end has none of the last places in which requests are read.
func TestRequestsOfAllAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Limits = Limits{Receiving: 5, Receive: time.Hour} })
	left := func() int {
		p := &w.server.account.read
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.left
	}
	r, err := w.dialRaw("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ended := atomic.Int64{}
	go r.Drain(&ended)
	for stream := uint32(1); stream < 16; stream += 2 {
		if err := errors.Join(r.Headers(stream, getMethod, tokenEditor, true), r.Stall(stream, 1<<10, 10)); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "a caller has what it may", func() bool { return left() == 2 })
	for stream := uint32(17); stream <= 19; stream += 2 { // They have places of their own, of which there are two.
		err := errors.Join(r.Headers(stream, healthv1.Health_Check_FullMethodName, "", true), r.Stall(stream, 1<<10, 10))
		if err != nil {
			t.Fatal(err)
		}
	}
	until(t, "and its health checks", func() bool { return left() == 1 })
	other := w.dial(tokenViewer)
	for range 10 {
		if err := w.get(other); err != nil {
			t.Fatalf("another caller: %v", err)
		}
		if left() < 1 {
			t.Fatal("no place is left")
		}
	}
	_ = r.Close()
	until(t, "all are given back", func() bool { return left() == 5 })
}

// TestHealthChecksBegunAsAStranger: what is read of health checks that began before the first permitted call is bounded as a stranger's.
func TestHealthChecksBegunAsAStranger(t *testing.T) {
	t.Parallel()
	const conns = 4
	w := newWorld(t, func(c *Config) { c.Limits = Limits{Receive: time.Hour} })
	var all sync.WaitGroup
	var ended atomic.Int64
	var clients []*hostile.Client
	reading := func() (requests int) {
		c := w.server.connections
		c.mu.Lock()
		defer c.mu.Unlock()
		for n := range c.all {
			requests += len(n.of.Load().reading)
		}
		return requests
	}
	for range conns {
		c, err := w.dialRaw("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
		all.Go(func() { c.Drain(&ended) })
		for stream := uint32(1); stream <= 3; stream += 2 {
			if err := c.Headers(stream, healthv1.Health_Check_FullMethodName, "", true); err != nil {
				t.Fatal(err)
			}
		}
	}
	until(t, "health checks are read", func() bool { return reading() == 2*conns })
	for _, c := range clients {
		if err := errors.Join(c.Headers(5, getMethod, tokenEditor, true), c.Send(5, nil)); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the connections are the caller's", func() bool {
		callers, _ := w.server.connections.count()
		return callers == conns
	})
	long := make([]byte, 900<<10)
	var sending sync.WaitGroup
	for _, c := range clients {
		for stream := uint32(1); stream <= 3; stream += 2 {
			sending.Go(func() { _ = c.Begin(stream, long) })
		}
	}
	until(t, "the connections are closed", func() bool {
		callers, _ := w.server.connections.count()
		return callers == 0
	})
	for _, c := range clients {
		_ = c.Close()
	}
	sending.Wait()
	all.Wait()
}
