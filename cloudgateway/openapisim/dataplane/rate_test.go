package dataplane

import (
	"net/netip"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The connections of each second are counted, and none is taken over into the next one. What one limit keeps out does
// not count for another.
func TestMeters(t *testing.T) {
	t.Parallel()
	m := &meters{}
	at := time.Unix(1_800_000_000, 0)
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
		if got := m.admit(tt.limits, at.Add(tt.after)); got != tt.want {
			t.Errorf("connection %d, after %s: %v", n+1, tt.after, got)
		}
	}
}

// A listener of an NLB with one new connection a second resets the second one, and takes one again a second later.
func TestConnectionsPerSecond(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	address := nlbAt(t, b, tcpServer(t, "a"), func(l *state.NLBListener, _ *state.NLBServerGroup) { l.Cps = 1 })
	until := func(want string) {
		t.Helper()
		for range 10_000 { // two within a second, or one in the next: sooner or later
			if greeting(t, "127.0.0.1", address) == want {
				return
			}
		}
		t.Errorf("no client gets %q", want)
	}
	until("a 127.0.0.1")
	until("error")
	until("a 127.0.0.1")
	b.change(func(c *state.Cloud) { c.NLBListeners["l"].Cps = 0 })
	for range 5 {
		if got := greeting(t, "127.0.0.1", address); got != "a 127.0.0.1" {
			t.Fatalf("without a limit: %q", got)
		}
	}
}

// The connections of all listeners and ports of a load balancer count for its own limit, zone by zone.
func TestConnectionsPerSecondOfNLB(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	port := tcpServer(t, "a")
	address := nlbAt(t, b, port, func(*state.NLBListener, *state.NLBServerGroup) {})
	other, elsewhere := b.freePort(protoTCP), b.address.Next()
	b.change(func(c *state.Cloud) {
		second := *c.NLBListeners["l"]
		second.ID, second.Port = "l2", other
		c.NLBListeners["l2"] = &second
		c.NLBs["nlb-1"].Zones = append(c.NLBs["nlb-1"].Zones, &state.NLBZone{Status: "Active", PrivateIP: elsewhere.String()})
		c.NLBs["nlb-1"].Cps = 1
	})
	of := func(a netip.Addr) string { return netip.AddrPortFrom(a, uint16(other)).String() }
	eventually(t, "both listen", func() bool { return open(address) && open(of(b.address)) && open(of(elsewhere)) })
	for range 10_000 { // until all three fall into one second
		first, second, third := greeting(t, "127.0.0.1", address), greeting(t, "127.0.0.1", of(b.address)),
			greeting(t, "127.0.0.1", of(elsewhere))
		if first == "a 127.0.0.1" && second == "error" && third == "a 127.0.0.1" {
			return
		}
	}
	t.Error("the second listener takes what the first one has used up, or the other zone does not")
}
