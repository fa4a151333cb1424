package dataplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// connectTimeout is how long a server may take to accept a connection.
const connectTimeout = 5 * time.Second

// frontend is what frontends of all protocols share: the settings in force, the choice of a server, and the connections.
type frontend struct {
	socket    socket
	standings standings
	meters    *meters
	// transparent lets servers see clients of other machines.
	transparent bool
	hidden      atomic.Int64 // connections whose clients servers don't see
	log         *slog.Logger
	spec        atomic.Pointer[listener]
	flows       *flows

	mu       sync.Mutex // guards what follows
	schedule schedule
}

func newFrontend(s socket, spec *listener, st standings, m *meters, log *slog.Logger) *frontend {
	f := &frontend{socket: s, standings: st, meters: m, log: log.With("address", s.addr, "protocol", s.protocol), flows: newFlows()}
	f.spec.Store(spec)
	return f
}

// apply puts settings in force, or looks again at those that are after the health of a server changed.
func (f *frontend) apply(spec *listener) {
	f.spec.Store(spec)
	f.enforce(spec)
}

// enforce ends the connections that the settings don't allow.
func (f *frontend) enforce(spec *listener) {
	f.flows.release(func(id targetID) bool { return f.lost(spec, id) }, spec.drain)
	if spec.access.ends {
		f.flows.expel(spec.access.admits)
	}
}

// admits reports whether a client may connect now.
func (f *frontend) admits(client netip.AddrPort) bool {
	spec := f.spec.Load()
	return spec.access.admits(client.Addr()) && f.meters.admit(spec.limits)
}

// reach is where a server is called: at its own port, or at that of the listener.
func (s socket) reach(server targetID) netip.AddrPort {
	if server.addr.Port() == 0 {
		return netip.AddrPortFrom(server.addr.Addr(), s.addr.Port())
	}
	return server.addr
}

// connections is the number of connections of a server.
func (f *frontend) connections(id targetID) int { return f.flows.count(id) }

// lost reports whether a server can't keep its connections: it is gone or fails. A weight of zero only keeps new ones away.
func (f *frontend) lost(spec *listener, id targetID) bool {
	for _, t := range spec.pool.targets {
		if t.id == id {
			return f.standings.of(t) == bad
		}
	}
	return true
}

// choose returns the server for a new connection.
func (f *frontend) choose(p *pool, client netip.AddrPort) (target, bool) {
	usable := f.standings.usable(p.targets)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.schedule.pick(p, usable, demand{client: client, now: time.Now(), active: f.flows.count})
}

// open counts a connection to a server. The settings may have changed since the server was chosen, so they are looked at again.
func (f *frontend) open(spec *listener, client netip.Addr, id targetID, cut func()) *flow {
	fl := f.flows.open(client, id, cut)
	if now := f.spec.Load(); fl != nil && now != spec {
		f.enforce(now)
	}
	return fl
}

// dial connects to a server from the address of the client, as the cloud does: servers see which client it is. That
// works for clients at addresses of this machine, such as all of loopback, and for all if the plane is transparent. For
// others it is the machine's own.
func (f *frontend) dial(ctx context.Context, network string, client netip.Addr, server netip.AddrPort) (net.Conn, error) {
	dialer := net.Dialer{Timeout: connectTimeout}
	if server.Addr().Is4() == client.Is4() {
		if ip := net.IP(client.AsSlice()); network == protoUDP {
			dialer.LocalAddr = &net.UDPAddr{IP: ip}
		} else {
			dialer.LocalAddr = &net.TCPAddr{IP: ip}
		}
		if f.transparent {
			dialer.Control = transparent
		}
	}
	conn, err := dialer.DialContext(ctx, network, server.String())
	if dialer.LocalAddr != nil && errors.Is(err, syscall.EADDRNOTAVAIL) {
		f.hidden.Add(1)
		dialer.LocalAddr = nil
		conn, err = dialer.DialContext(ctx, network, server.String())
	}
	if err != nil {
		return nil, fmt.Errorf("connect to server: %w", err)
	}
	return conn, nil
}

// clientsHidden is how many connections have servers that see an address of this machine in place of the client's.
func (f *frontend) clientsHidden() int64 { return f.hidden.Load() }

// source is the address from which a server is called.
func (l *listener) source(client, own netip.AddrPort) netip.Addr {
	if l.ownAddress {
		return own.Addr()
	}
	return client.Addr()
}

// local returns the address of the listener that a connection came to.
func local(conn net.Conn) netip.AddrPort { return parseAddr(conn.LocalAddr().String()) }

// remote returns the address of the other end of a connection.
func remote(conn net.Conn) netip.AddrPort { return parseAddr(conn.RemoteAddr().String()) }

func parseAddr(text string) netip.AddrPort {
	addr, err := netip.ParseAddrPort(text)
	if err != nil {
		return netip.AddrPort{} // of no client: nothing is sent there
	}
	return netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
}
