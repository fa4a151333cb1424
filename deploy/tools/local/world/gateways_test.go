package world

import (
	"context"
	"net"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGatewaysHaveOneName: what the DNS client of a real process gets.
func TestGatewaysHaveOneName(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	w := &World{cfg: Config{Gateways: 3}, addresses: map[string]string{
		"cloudgateway": "127.0.0.1:7443", "cloudgateway-admin": "127.0.0.1:7080",
	}}
	w.placeStandbys()
	if err := w.nameGateways(ctx); err != nil {
		t.Fatal(err)
	}
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", w.names)
	}}
	got, err := resolver.LookupHost(t.Context(), "cloudgateway.world.")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}, got); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	if want := "dns://" + w.names + "/cloudgateway.world.:7443"; w.GatewayAddress() != want {
		t.Errorf("GatewayAddress is %s, want %s", w.GatewayAddress(), want)
	}
	if got := w.addresses["cloudgateway-3"] + " " + w.AdminURL("cloudgateway-3"); got != "127.0.0.3:7443 http://127.0.0.3:7080" {
		t.Errorf("the third gateway listens at %s", got)
	}
	stop()
	w.background.Wait()
}

// TestOneGatewayNeedsNoName: it is called by its address.
func TestOneGatewayNeedsNoName(t *testing.T) {
	t.Parallel()
	w := &World{addresses: map[string]string{"cloudgateway": "127.0.0.1:7443"}}
	if err := w.nameGateways(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.GatewayAddress(); got != "127.0.0.1:7443" {
		t.Errorf("GatewayAddress is %s", got)
	}
}
