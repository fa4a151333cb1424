package rpc

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/proto/tlstest"
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
