package dataplane

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// connectTimeout is how long a server may take to accept a connection.
const connectTimeout = 5 * time.Second

// frontend is what frontends of all protocols share: the settings in force, the choice of a server, and the connections.
type frontend struct {
	socket    socket
	standings standings
	log       *slog.Logger
	spec      atomic.Pointer[listener]
	flows     *flows

	mu        sync.Mutex           // guards what follows
	schedules map[string]*schedule // by pool
}

func newFrontend(s socket, spec *listener, st standings, log *slog.Logger) *frontend {
	f := &frontend{socket: s, standings: st, log: log.With("address", s.addr, "protocol", s.protocol), flows: newFlows(), schedules: map[string]*schedule{}}
	f.spec.Store(spec)
	return f
}

// apply puts settings in force, or looks again at those that are after the health of a server changed.
func (f *frontend) apply(spec *listener) {
	f.spec.Store(spec)
	f.flows.release(func(pool string, id targetID) bool { return f.lost(spec, pool, id) }, spec.drain)
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.schedules {
		if spec.find(id) == nil {
			delete(f.schedules, id)
		}
	}
}

// connections tells how many connections a server has.
func (f *frontend) connections(id targetID) int { return f.flows.count(id) }

// lost reports whether a server can't keep its connections: it is gone or fails. A weight of zero only keeps new ones away.
func (f *frontend) lost(spec *listener, pool string, id targetID) bool {
	p := spec.find(pool)
	if p == nil {
		return true
	}
	for _, t := range p.targets {
		if t.id == id {
			return f.standings.of(t) == bad
		}
	}
	return true
}

// find returns the pool with an id, or nil.
func (l *listener) find(id string) *pool {
	if id == "" {
		return &l.pool
	}
	for i := range l.rules {
		if l.rules[i].pool.id == id {
			return &l.rules[i].pool
		}
	}
	return nil
}

// choose returns the server for a new connection.
func (f *frontend) choose(p *pool) (target, bool) {
	usable := f.standings.usable(p.targets)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.schedules[p.id] == nil {
		f.schedules[p.id] = &schedule{}
	}
	return f.schedules[p.id].pick(p.scheduler, usable)
}

// open counts a connection to a server. The settings may have changed since the server was chosen, so they are looked at again.
func (f *frontend) open(spec *listener, pool string, id targetID, cut func()) *flow {
	fl := f.flows.open(pool, id, cut)
	if now := f.spec.Load(); fl != nil && now != spec {
		f.flows.release(func(pool string, id targetID) bool { return f.lost(now, pool, id) }, now.drain)
	}
	return fl
}

// dial connects to a server from the address of the client, as the cloud does: servers see who the client is. That works since
// all of loopback is ours.
func dial(ctx context.Context, network string, client netip.Addr, server netip.AddrPort) (net.Conn, error) {
	dialer := net.Dialer{Timeout: connectTimeout}
	if ip := net.IP(client.AsSlice()); ip.IsLoopback() && server.Addr().Is4() == client.Is4() {
		if dialer.LocalAddr = (&net.TCPAddr{IP: ip}); network == protoUDP {
			dialer.LocalAddr = &net.UDPAddr{IP: ip}
		}
	}
	conn, err := dialer.DialContext(ctx, network, server.String())
	if err != nil {
		return nil, fmt.Errorf("connect to server: %w", err)
	}
	return conn, nil
}

// remote returns the address of the other end of a connection.
func remote(conn net.Conn) netip.AddrPort { return parseAddr(conn.RemoteAddr().String()) }

func parseAddr(text string) netip.AddrPort {
	addr, err := netip.ParseAddrPort(text)
	if err != nil {
		return netip.AddrPort{} // of no client: access lists refuse it, and nothing is sent there
	}
	return netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
}
