package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"time"
)

// listenRetry is how often a taken address is tried.
const listenRetry = 100 * time.Millisecond

// Listen opens a TCP address. While another process has it, Listen waits until ctx ends: on the node's network that is another replica on
// the same node, of which this one takes the place. taken, if not nil, is called once when it begins to wait.
func Listen(ctx context.Context, address string, log *slog.Logger, taken func(context.Context)) (net.Listener, error) {
	ticker := time.NewTicker(listenRetry)
	defer ticker.Stop()
	for waiting := false; ; {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) {
			return listener, err
		}
		if !waiting {
			waiting = true
			log.Info("the address is in use; waiting for the other replica on this node to end", "address", address)
			if taken != nil {
				taken(ctx)
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-ticker.C:
		}
	}
}
