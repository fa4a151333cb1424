package process

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"syscall"
	"testing"
)

// TestListenWaitsForTheAddress: two replicas on one node have one address, and the second takes it when the first ends.
func TestListenWaitsForTheAddress(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	first, err := Listen(t.Context(), "127.0.0.1:0", log, func(context.Context) { t.Error("a free port is taken") })
	if err != nil {
		t.Fatal(err)
	}
	address := first.Addr().String()

	ended, end := context.WithCancel(t.Context())
	if _, err := Listen(ended, address, log, func(context.Context) { end() }); !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "address already in use") {
		t.Errorf("with the end of its context: %v", err)
	}

	waits := 0
	second, err := Listen(t.Context(), address, log, func(context.Context) {
		waits++
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if second.Addr().String() != address || waits != 1 {
		t.Errorf("listening on %s after %d waits, want %s after 1", second.Addr(), waits, address)
	}

	if _, err := Listen(t.Context(), "203.0.113.1:1", log, nil); !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("another's address: %v", err)
	}
}
