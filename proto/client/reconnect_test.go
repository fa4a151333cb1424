package client

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
)

// TestReconnectsSoon: a replica that comes back after a long time is soon connected to again; when the active one dies,
// it has to be. One that is about to listen is tried at once, and again and again.
func TestReconnectsSoon(t *testing.T) {
	t.Parallel()
	const while = 20 * time.Minute // less than gRPC takes to see that nobody calls
	dir := setUp(t)
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var attempts []time.Time
		conn, err := Dial(Config{
			Address: "passthrough:///gateway", CAFile: filepath.Join(dir, "ca.crt"), TokenFile: filepath.Join(dir, "token"),
			Options: []grpc.DialOption{grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
				mu.Lock()
				defer mu.Unlock()
				attempts = append(attempts, time.Now())
				return nil, errors.New("nobody listens")
			})},
		})
		if err != nil {
			t.Fatal(err)
		}
		conn.cc.Connect()
		<-time.After(while)
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range attempts[1:] {
			if wait := attempts[i+1].Sub(attempts[i]); wait > 4*time.Second {
				t.Fatalf("%s between attempts %d and %d", wait, i+1, i+2)
			}
		}
		if early := attempts[min(3, len(attempts)-1)].Sub(attempts[0]); early > time.Second {
			t.Errorf("the fourth attempt came %s after the first", early)
		}
		if least := int(while / (4 * time.Second)); len(attempts) < least {
			t.Errorf("%d attempts in %s, at least %d are right", len(attempts), while, least)
		}
	})
}
