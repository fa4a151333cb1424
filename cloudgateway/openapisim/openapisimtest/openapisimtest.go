// Package openapisimtest starts a simulated cloud for a test.
package openapisimtest

import (
	"context"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// New returns a simulated cloud that listens on free ports of loopback until the test ends. The zero Config is a complete
// one; most tests want fast settings. The cloud is strict: it refuses calls with documented parameters that it doesn't simulate, so that
// no test is green because something was ignored.
func New(t testing.TB, cfg openapisim.Config) *openapisim.Simulator {
	t.Helper()
	settings := api.DefaultSettings()
	if cfg.Settings != nil {
		settings = *cfg.Settings
	}
	settings.Strict, cfg.Settings = true, &settings
	return NewLenient(t, cfg)
}

// NewLenient is New with a cloud that ignores what it doesn't simulate, unless its settings say otherwise. The journal tells what it
// ignored ([journal.Call]).
func NewLenient(t testing.TB, cfg openapisim.Config) *openapisim.Simulator {
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
