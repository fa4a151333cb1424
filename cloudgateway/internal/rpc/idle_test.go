package rpc

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestIdleConnectionsLeaveRoom: however many callers keep connections that they do not use, the next one gets in, and
// calls; who has most loses what was idle for longest. Connections in use are never closed for it.
func TestIdleConnectionsLeaveRoom(t *testing.T) {
	t.Parallel()
	limits := Limits{Connections: 20, ConnectionsPerCaller: 10, Strangers: 4, StrangersPerPeer: 4}.withDefaults()
	var reasons []string
	c := newConnections(limits, always, func(reason, _ string) { reasons = append(reasons, reason) })
	var all []*connection
	calls := func(caller string, rests bool) *connection {
		t.Helper()
		near, far := net.Pipe()
		t.Cleanup(func() { _, _ = near.Close(), far.Close() })
		n := c.admit(addressed{near, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1 + len(all)}})
		if n == nil {
			t.Fatalf("%s is not let in; closed: %q", caller, reasons)
		}
		all = append(all, n)
		if err := n.prove(caller); err != nil {
			t.Fatalf("%s: %v", caller, err)
		}
		if n.rests(rests); !rests {
			n.called()
		}
		return n
	}
	busy := []*connection{calls("busy", false), calls("busy", false), calls("busy", false)}
	for range 6 {
		calls("most", true)
	}
	for i := range 60 { // with 2 connections each
		calls(fmt.Sprint("caller ", i/2), true)
	}
	if callers, strangers := c.count(); callers != limits.Connections-limits.Strangers || strangers != 0 {
		t.Errorf("%d callers and %d strangers", callers, strangers)
	}
	if want := len(all) - (limits.Connections - limits.Strangers); len(reasons) != want ||
		slices.ContainsFunc(reasons, func(reason string) bool { return reason != IdleLongest }) {
		t.Errorf("%d were closed, want %d: %q", len(reasons), want, reasons)
	}
	for i, n := range all[3:9] { // all of them before a second one of a caller with two
		if gone := n.forgotten.Load(); !gone {
			t.Errorf("connection %d of the caller with the most is kept", i)
		}
	}
	for _, n := range busy {
		if n.forgotten.Load() {
			t.Error("a connection in use is closed")
		}
	}
	for _, n := range all {
		_ = n.Close()
	}
}

// TestConnectionsInUseStay: a caller with the most connections that uses each again and again loses none of them as long as another one
// has some that it does not use. If all are used so, the one that rests for longest goes.
func TestConnectionsInUseStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := Limits{Connections: 20, ConnectionsPerCaller: 8, Strangers: 10, StrangersPerPeer: 10}.withDefaults()
		c := newConnections(limits, always, func(string, string) {})
		calls := func(caller string) *connection {
			t.Helper()
			near, far := net.Pipe()
			t.Cleanup(func() { _, _ = near.Close(), far.Close() })
			n := c.admit(addressed{near, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1}})
			if n == nil {
				t.Fatalf("%s is not let in", caller)
			}
			if err := n.prove(caller); err != nil {
				t.Fatal(err)
			}
			if !n.called() {
				t.Errorf("the connection of %s is gone", caller)
			}
			n.rests(true)
			t.Cleanup(func() { _ = n.Close() })
			return n
		}
		kept := [2]*connection{calls("other"), calls("other")}
		var used []*connection
		for range 6 {
			used = append(used, calls("busy"))
		}
		for n := range 4 { // two find room, and two take that of others
			<-time.After(settled)
			for _, n := range used {
				n.rests(false)
				n.rests(true)
				<-time.After(time.Millisecond)
			}
			calls(fmt.Sprint("new ", n))
		}
		for i, n := range used {
			if n.forgotten.Load() {
				t.Errorf("connection %d is closed, which is used every second", i)
			}
		}
		if kept[0].called() || kept[1].called() {
			t.Error("connections that nobody uses are kept")
		}
		used[0].rests(false)
		used[0].rests(true)
		for i := range 6 {
			calls(fmt.Sprint("newest ", i)) // all at once
		}
		if !used[0].called() || used[1].called() {
			t.Error("another one is closed than the one that rests for longest")
		}
	})
}
