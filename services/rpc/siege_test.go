package rpc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The environment of the process of the strangers: whom they besiege, and for how long.
const (
	siegeOf     = "SIEGE_OF"
	siegeLength = "SIEGE_LENGTH"
)

// besiege does all at once what strangers can do, from two addresses, and prints how often.
func besiege(address string, connections int, length time.Duration) {
	ctx, end := context.WithCancel(context.Background())
	var strangers sync.WaitGroup
	var dialed, guesses, refused atomic.Int64
	strangers.Go(func() {
		defer end()
		<-time.After(length)
		for guesses.Load() == 0 || refused.Load() == 0 { // On a slow machine it takes longer.
			<-time.After(time.Millisecond)
		}
	})
	// A connection is opened again when the server has closed it.
	open := func(from string, begin func(*raw)) {
		strangers.Go(func() {
			for ctx.Err() == nil {
				r, err := dialRaw(address, from)
				if err != nil {
					continue
				}
				dialed.Add(1)
				leave := context.AfterFunc(ctx, func() { _ = r.Close() })
				strangers.Go(func() { begin(r) })
				r.drain(&refused)
				leave()
				_ = r.Close()
			}
		})
	}
	for i := range connections {
		open("127.0.0.2", func(r *raw) {
			if i%2 == 0 {
				_ = r.headers(1, getMethod, "guess", false) // and no more
				return
			}
			_ = r.headers(1, getMethod, "guess", true)
			_ = r.stall(1, 1<<20-5, 32<<10)
		})
	}
	// Ten connections with two hundred invented tokens a second each.
	for range 10 {
		open("127.0.0.3", func(r *raw) {
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for stream := uint32(1); r.headers(stream, getMethod, fmt.Sprint(time.Now().UnixNano()), true) == nil; stream += 2 {
				guesses.Add(1)
				<-tick.C
			}
		})
	}
	strangers.Wait()
	fmt.Fprintf(os.Stdout, "%d connections, %d tokens, %d refusals", dialed.Load(), guesses.Load(), refused.Load())
}

// TestSiege: while strangers do all at once what each of the other tests does alone, a caller is served, and memory stays bounded. It
// takes a second, or as long as the environment variable SIEGE says ("60s"), and then says how long the caller's calls took.
func TestSiege(t *testing.T) {
	length, connections := time.Second, "30"
	if text := os.Getenv("SIEGE"); text != "" {
		long, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		length, connections = long, "3000"
	}
	w := newWorld(t, nil)
	honest := w.dial(tokenEditor)
	if err := w.get(honest); err != nil {
		t.Fatal(err)
	}
	before, most := heap(), 0.0
	strangers := exec.CommandContext(t.Context(), os.Args[0])
	strangers.Env = append(os.Environ(), siegeOf+"="+w.address+" "+connections, siegeLength+"="+length.String())
	var told strings.Builder
	strangers.Stdout, strangers.Stderr = &told, &told
	if err := strangers.Start(); err != nil {
		t.Fatal(err)
	}
	left := make(chan error, 1)
	go func() { left <- strangers.Wait() }()
	var took []time.Duration
	for look, besieged := time.Now(), true; besieged; {
		begun := time.Now()
		if err := w.get(honest); err != nil {
			t.Errorf("the caller: %v", err)
		}
		took = append(took, time.Since(begun))
		if time.Since(look) > 200*time.Millisecond {
			look, most = time.Now(), max(most, heap()-before)
		}
		select {
		case err := <-left:
			besieged = false
			if err != nil {
				t.Errorf("the strangers: %v", err)
			}
		case <-time.After(5 * time.Millisecond):
		}
	}
	if err := w.get(w.dial(tokenViewer)); err != nil {
		t.Errorf("a caller who comes afterwards: %v", err)
	}
	if most > 100 {
		t.Errorf("the heap grew by %.0f MiB", most)
	}
	if told := told.String(); strings.HasPrefix(told, "0 ") || strings.Contains(told, " 0 ") {
		t.Errorf("the test shows nothing: %s", told)
	}
	slices.Sort(took)
	t.Logf("%d calls of the caller: p50 %s, p99 %s; heap +%.0f MiB; %s", len(took), took[len(took)/2], took[len(took)*99/100], most, told.String())
}
