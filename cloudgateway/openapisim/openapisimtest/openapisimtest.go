// Package openapisimtest starts a simulated cloud for a test.
package openapisimtest

import (
	"context"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// New returns a simulated cloud that listens on free ports of loopback until the test ends. The zero Config is a complete
// one; most tests want fast settings.
func New(t testing.TB, cfg openapisim.Config) *openapisim.Simulator {
	t.Helper()
	sim, err := openapisim.New(cfg)
	if err != nil {
		t.Fatalf("make a simulated cloud: %v", err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	if err := sim.Start(ctx, nil); err != nil {
		stop()
		t.Fatalf("start the simulated cloud: %v", err)
	}
	t.Cleanup(func() {
		stop()
		sim.Wait()
	})
	return sim
}
