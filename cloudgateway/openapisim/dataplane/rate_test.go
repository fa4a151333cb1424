package dataplane

import (
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The connections of each second are counted, and none is taken over into the next one. What one limit keeps out does
// not count for another.
func TestMeters(t *testing.T) {
	t.Parallel()
	clock := &held{}
	m := &meters{now: clock.now}
	two := func(id string) limit { return limit{of: metered{id: id}, most: 2} }
	narrow := limit{of: metered{id: "narrow"}, most: 1}
	for n, tt := range []struct {
		after  time.Duration
		limits []limit
		want   bool
	}{
		{0, []limit{two("a")}, true},
		{100 * time.Millisecond, []limit{two("a")}, true},
		{900 * time.Millisecond, []limit{two("a")}, false},
		{900 * time.Millisecond, []limit{{of: metered{id: "a", zone: 1}, most: 2}}, true},
		{950 * time.Millisecond, nil, true},
		{time.Second, []limit{two("a")}, true},
		{time.Second, []limit{two("a")}, true},
		{1999 * time.Millisecond, []limit{two("a")}, false},
		{time.Hour, []limit{narrow, two("b")}, true},
		{time.Hour, []limit{narrow, two("b")}, false},
		{time.Hour, []limit{two("b")}, true},
		{time.Hour, []limit{two("b")}, false},
	} {
		clock.set(tt.after)
		if got := m.admit(tt.limits); got != tt.want {
			t.Errorf("connection %d, after %s: %v", n+1, tt.after, got)
		}
	}
}

// A listener of an NLB with one new connection a second resets the second one, and takes one again a second later.
func TestConnectionsPerSecond(t *testing.T) {
	t.Parallel()
	b, clock := newBed(t), &held{}
	b.plane.meters.now = clock.now
	address := nlbAt(t, b, tcpServer(t, "a"), func(*state.NLBListener, *state.NLBServerGroup) {})
	knock := func(want string) {
		t.Helper()
		if got := greeting(t, "127.0.0.1", address); got != want {
			t.Fatalf("a client gets %q, want %q", got, want)
		}
	}
	eventually(t, "it serves", func() bool { return greeting(t, "127.0.0.1", address) == "a 127.0.0.1" })
	b.change(func(c *state.Cloud) { c.NLBListeners["l"].Cps = 1 })
	knock("a 127.0.0.1")
	knock("error")
	clock.set(time.Second)
	knock("a 127.0.0.1")
	knock("error")
	b.change(func(c *state.Cloud) { c.NLBListeners["l"].Cps = 0 })
	for range 5 {
		knock("a 127.0.0.1")
	}
}

// The connections of all listeners and ports of a load balancer count for its own limit, zone by zone.
func TestConnectionsPerSecondOfNLB(t *testing.T) {
	t.Parallel()
	b, clock := newBed(t), &held{}
	b.plane.meters.now = clock.now
	address := nlbAt(t, b, tcpServer(t, "a"), func(*state.NLBListener, *state.NLBServerGroup) {})
	port, zone := b.freePort(protoTCP), b.address.Next()
	other := netip.AddrPortFrom(b.address, uint16(port)).String()
	elsewhere := netip.AddrPortFrom(zone, uint16(port)).String()
	b.change(func(c *state.Cloud) {
		second := *c.NLBListeners["l"]
		second.ID, second.Port = "l2", port
		c.NLBListeners["l2"] = &second
		c.NLBs["nlb-1"].Zones = append(c.NLBs["nlb-1"].Zones, &state.NLBZone{Status: "Active", PrivateIP: zone.String()})
	})
	for _, a := range []string{address, other, elsewhere} {
		eventually(t, a+" serves", func() bool { return greeting(t, "127.0.0.1", a) == "a 127.0.0.1" })
	}
	b.change(func(c *state.Cloud) { c.NLBs["nlb-1"].Cps = 1 })
	for second := range 3 {
		clock.set(time.Duration(second) * time.Second)
		for _, tt := range []struct{ at, want string }{
			{address, "a 127.0.0.1"}, {other, "error"}, {elsewhere, "a 127.0.0.1"}, {elsewhere, "error"}, {address, "error"},
		} {
			if got := greeting(t, "127.0.0.1", tt.at); got != tt.want {
				t.Errorf("second %d: a client of %s gets %q, want %q", second, tt.at, got, tt.want)
			}
		}
	}
}

// held is a clock that stands still until it is set.
type held struct{ since atomic.Int64 }

func (h *held) now() time.Time { return time.Unix(1_800_000_000, h.since.Load()) }

func (h *held) set(since time.Duration) { h.since.Store(int64(since)) }
