package api

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net/netip"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Traffic is what handlers need to know of the data plane that carries the traffic of load balancers.
type Traffic struct {
	Internet, Intranet netip.Prefix // where the addresses of load balancers come from
	// Health says what health checks found, in the words of DescribeHealthStatus.
	Health func(loadBalancerID string, l *state.Listener, s *state.Server) string
}

// Carrier makes the data plane of a cloud; [dataplane.Ranges] does.
//
// [dataplane.Ranges]: https://pkg.go.dev/alicloud-controllers.dev/cloudgateway/openapisim/dataplane#Ranges
type Carrier interface {
	Plane(cloud TrafficCloud, log *slog.Logger) (Plane, error)
}

// TrafficCloud is what a data plane sees of a cloud.
type TrafficCloud interface {
	// Generation is another number after every change of the state.
	Generation() uint64
	// Now is the time that ends transitions of the state.
	Now() time.Time
	// View calls f with the state, in which all transitions that have ended are complete.
	View(f func(*state.Cloud))
}

// Plane is a data plane.
type Plane interface {
	// Run carries traffic until the context ends.
	Run(ctx context.Context)
	// Traffic is what handlers need to know of it.
	Traffic() *Traffic
	// Sockets are those of the load balancers and where they forward, as they are shown in JSON.
	Sockets() any
}

// TrafficAddress returns an address of an IPv4 range that is not in use, and was not lately. It returns false when the range
// is used up.
func (c *Context) TrafficAddress(within netip.Prefix) (string, bool) {
	taken := make(map[string]bool, len(c.State.LoadBalancers)+len(c.State.Eips))
	for _, lb := range c.State.LoadBalancers {
		taken[lb.Address] = true
	}
	for _, eip := range c.State.Eips {
		taken[eip.Address] = true
	}
	first := within.Masked().Addr().As4()
	size := uint32(1) << (32 - within.Bits())
	for range size {
		c.State.Sequence++
		n := binary.BigEndian.Uint32(first[:]) + uint32(c.State.Sequence)%size
		if last := byte(n); last == 0 || last == 255 {
			continue // legal, but surprising
		}
		var raw [4]byte
		binary.BigEndian.PutUint32(raw[:], n)
		if address := netip.AddrFrom4(raw).String(); !taken[address] {
			return address, true
		}
	}
	return "", false
}
