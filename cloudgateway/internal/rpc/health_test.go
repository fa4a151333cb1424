package rpc

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/tlstest"

	"alicloud-controllers.dev/cloudgateway/internal/rpc/hostile"
)

// Probes of others, which need no token, may ask after the server or after a single service.
func TestHealth(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	tls, err := credentials.NewClientTLSFromFile(w.path("server.crt"), tlstest.ServerName)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(w.address, grpc.WithTransportCredentials(tls))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, tc := range []struct {
		serving bool
		want    healthv1.HealthCheckResponse_ServingStatus
	}{
		{true, healthv1.HealthCheckResponse_SERVING},
		{false, healthv1.HealthCheckResponse_NOT_SERVING},
	} {
		w.server.SetServing(tc.serving)
		for _, service := range []string{"", slbv1.LoadBalancerService_ServiceDesc.ServiceName} {
			answer, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: service})
			if err != nil || answer.GetStatus() != tc.want {
				t.Errorf("service %q: %v, %v, want %s", service, answer, err, tc.want)
			}
		}
	}
	_, err = healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: "other"})
	if status.Code(err) != codes.NotFound {
		t.Errorf("an unknown service: %v", err)
	}
}

// TestHealthChecksOfACaller: of the requests without a token that come on the connections of a caller, few are read at a
// time, for gRPC takes as long a message for a health check.
func TestHealthChecksOfACaller(t *testing.T) {
	t.Parallel()
	const places, conns, size = healthPlaces, 4, 900 << 10
	for name, method := range map[string]string{
		"check": healthv1.Health_Check_FullMethodName, "watch": healthv1.Health_Watch_FullMethodName,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *Config) { c.Limits = Limits{Receive: time.Hour} })
			call, long := []byte{}, make([]byte, size)
			var all sync.WaitGroup
			var answered, read atomic.Int64
			var clients []*hostile.Client
			for range conns {
				c, err := w.dialRaw("127.0.0.1")
				if err == nil {
					err = errors.Join(c.Headers(1, getMethod, tokenEditor, true), c.Send(1, call))
				}
				if err != nil {
					t.Fatal(err)
				}
				clients = append(clients, c)
				all.Go(func() { c.Drain(&answered) })
			}
			until(t, "the connections are the caller's", func() bool {
				callers, _ := w.server.connections.count()
				return callers == conns
			})
			for _, c := range clients {
				for stream := uint32(3); stream <= 5; stream += 2 {
					if err := c.Headers(stream, method, "", true); err != nil {
						t.Fatal(err)
					}
					all.Go(func() {
						if c.Begin(stream, long) == nil {
							read.Add(1)
						}
					})
				}
			}
			until(t, "as many as may are read", func() bool { return read.Load() >= places })
			other := w.dial(tokenViewer)
			for range 100 {
				if err := w.get(other); err != nil {
					t.Fatalf("another caller: %v", err)
				}
			}
			if got := read.Load(); got != places {
				t.Errorf("%d requests are read at a time, want %d", got, places)
			}
			for _, c := range clients {
				_ = c.Close()
			}
			all.Wait()
		})
	}
}
