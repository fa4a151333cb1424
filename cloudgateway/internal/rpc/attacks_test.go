package rpc

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

// TestHeadersCount: what a caller sends with the headers of its calls is in its account until their end.
func TestHeadersCount(t *testing.T) {
	t.Parallel()
	const calls, size = 3, 20 << 10
	w := newWorld(t, nil)
	release, inside := make(chan struct{}), make(chan struct{}, calls)
	w.handler.get = func(context.Context) error {
		inside <- struct{}{}
		<-release
		return nil
	}
	conn, request := w.dial(tokenEditor), &slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-1"}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-more", strings.Repeat("m", size))
	results := make(chan error, calls)
	for range calls {
		go func() {
			_, err := conn.Client().LoadBalancers.GetLoadBalancer(ctx, request)
			results <- err
		}()
	}
	for range calls {
		<-inside
	}
	if _, bytes := w.underWay(); bytes < calls*(callRoom+size-4<<10) {
		t.Errorf("%d bytes are in the account", bytes)
	}
	close(release)
	for range calls {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	until(t, "nothing under way", func() bool { calls, bytes := w.underWay(); return calls+bytes == 0 })
}
