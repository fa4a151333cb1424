package rpc

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/services/internal/tlstest"
)

// TestSiege: while strangers do all at once what each of the other tests does alone, a caller is served, and memory stays bounded. It
// takes half a second, or as long as the environment variable SIEGE says ("60s"), and then tells how long the caller's calls took.
func TestSiege(t *testing.T) {
	length, connections := 500*time.Millisecond, 30
	if text := os.Getenv("SIEGE"); text != "" {
		long, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		length, connections = long, 3000
	}
	w := newWorld(t, nil)
	honest := w.dial(tokenEditor)
	if err := w.get(honest); err != nil {
		t.Fatal(err)
	}
	before := heap()
	ctx, end := context.WithTimeout(t.Context(), length)
	defer end()
	var strangers sync.WaitGroup
	var dialed, guesses, refused atomic.Int64

	// Connections that stall in the middle of a message or of their headers, each opened again when the server has closed it.
	for i := range connections {
		strangers.Go(func() {
			for ctx.Err() == nil {
				r, err := w.dialRaw("127.0.0.2")
				if err != nil {
					continue
				}
				dialed.Add(1)
				leave := context.AfterFunc(ctx, func() { _ = r.Close() })
				if i%2 == 0 {
					_ = r.headers(1, getMethod, "guess", false)
				} else {
					_ = r.headers(1, getMethod, "guess", true)
					_ = r.stall(1, 1<<20-5, 32<<10)
				}
				r.drain(&refused)
				leave()
				_ = r.Close()
			}
		})
	}
	// Two thousand invented tokens a second.
	tls, err := credentials.NewClientTLSFromFile(w.path("server.crt"), tlstest.ServerName)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(w.address, grpc.WithTransportCredentials(tls))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	strangers.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		var calls sync.WaitGroup
		defer calls.Wait()
		for round := 0; ctx.Err() == nil; round++ {
			<-tick.C
			for i := range 20 {
				calls.Go(func() {
					with := metadata.AppendToOutgoingContext(ctx, "authorization", fmt.Sprintf("Bearer %d-%d", round, i))
					_, err := slbv1.NewLoadBalancerServiceClient(conn).GetLoadBalancer(with, &slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-1"})
					guesses.Add(1)
					if err == nil {
						t.Error("an invented token is accepted")
					}
				})
			}
		}
	})
	var took []time.Duration
	most := 0.0
	for look := time.Now(); ctx.Err() == nil; {
		begun := time.Now()
		if err := w.get(honest); err != nil {
			t.Errorf("the caller: %v", err)
			break
		}
		took = append(took, time.Since(begun))
		if time.Since(look) > time.Second {
			look, most = time.Now(), max(most, heap()-before)
		}
		<-time.After(5 * time.Millisecond)
	}
	end()
	strangers.Wait()
	most = max(most, heap()-before)
	if err := w.get(w.dial(tokenViewer)); err != nil {
		t.Errorf("a caller who comes afterwards: %v", err)
	}
	if most > 200 {
		t.Errorf("the heap grew by %.0f MiB", most)
	}
	slices.Sort(took)
	if len(took) == 0 || dialed.Load() == 0 || guesses.Load() == 0 {
		t.Fatalf("%d calls, %d connections, %d guesses: the test shows nothing", len(took), dialed.Load(), guesses.Load())
	}
	t.Logf("%d calls of the caller: p50 %s, p99 %s; %d connections, %d guesses, heap with that of the strangers +%.0f MiB",
		len(took), took[len(took)/2], took[len(took)*99/100], dialed.Load(), guesses.Load(), most)
}
