package sts_test

import (
	"context"
	"net"
	"syscall"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"

	"alicloud-controllers.dev/cloudgateway/internal/pipes"
)

// memory is a network inside the process, by address, so that a test's clock can jump while servers wait for calls.
type memory map[string]*pipes.Listener

// serve puts endpoints of a simulated cloud on the network, by address, until the end of the test.
func serve(t *testing.T, sim *openapisim.Simulator, endpoints map[string]string) memory {
	t.Helper()
	network := memory{}
	for name, address := range endpoints {
		network[address] = pipes.Serve(t, sim.Handler(name))
	}
	return network
}

// Dial connects to an address.
func (m memory) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if l := m[address]; l != nil {
		return l.Dial(ctx, network, address)
	}
	return nil, syscall.ECONNREFUSED
}
