package dataplane

import (
	"context"
	"encoding/binary"
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

	mu        sync.Mutex // guards what follows
	balancers map[string]*balancer
}

// balancer is the memory of a pool.
type balancer struct {
	schedule    schedule
	persistence persistence
}

func newFrontend(s socket, spec *listener, st standings, log *slog.Logger) *frontend {
	f := &frontend{socket: s, standings: st, log: log.With("address", s.addr, "protocol", s.protocol), flows: newFlows(), balancers: map[string]*balancer{}}
	f.spec.Store(spec)
	return f
}

// apply puts settings in force, or looks again at those that are after the health of a server changed.
func (f *frontend) apply(spec *listener) {
	f.spec.Store(spec)
	f.flows.release(func(pool string, id targetID) bool { return f.lost(spec, pool, id) }, spec.drain)
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.balancers {
		if spec.find(id) == nil {
			delete(f.balancers, id)
		}
	}
}

// connections tells how many connections a server has.
func (f *frontend) connections(id targetID) int { return f.flows.count(id) }

// lost tells whether a server can't keep its connections: it is gone or fails. A weight of zero only keeps new ones away.
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

// choose returns the server for a new connection of a client.
func (f *frontend) choose(p *pool, client netip.AddrPort, payload []byte) (target, bool) {
	usable := f.standings.usable(p.targets)
	key := hashKey(p.scheduler, client, f.socket.addr, payload)
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.balancers[p.id]
	if b == nil {
		b = &balancer{}
		f.balancers[p.id] = b
	}
	now := time.Now()
	chosen, ok := target{}, false
	if p.persistence > 0 {
		chosen, ok = b.persistence.find(client.Addr(), usable, now)
	}
	if !ok {
		if chosen, ok = b.schedule.pick(p.scheduler, usable, key, f.flows.count); !ok {
			return target{}, false
		}
	}
	if p.persistence > 0 {
		b.persistence.keep(client.Addr(), chosen.id, now, p.persistence)
	}
	return chosen, true
}

// open counts a connection to a server. The settings may have changed since the server was chosen, so they are looked at again.
func (f *frontend) open(spec *listener, pool string, id targetID, cut func()) *flow {
	fl := f.flows.open(pool, id, cut)
	if now := f.spec.Load(); fl != nil && now != spec {
		f.flows.release(func(pool string, id targetID) bool { return f.lost(now, pool, id) }, now.drain)
	}
	return fl
}

// hashKey is what a hashing scheduler hashes: the client's address, for tch the ports and the listener too, for qch the
// connection of QUIC.
func hashKey(scheduler string, client, listener netip.AddrPort, payload []byte) uint64 {
	switch scheduler {
	case "tch":
		return mix(hashText(client.String() + listener.String()))
	case "qch":
		if id, ok := quicConnection(payload); ok {
			return mix(id)
		}
	}
	return mix(hashText(client.Addr().String()))
}

// quicConnection reads the first eight bytes of the destination connection id of a QUIC packet. Short headers don't tell how
// long their id is; the first eight bytes are those that a server which wants to be balanced by id keeps constant.
func quicConnection(packet []byte) (uint64, bool) {
	const longHeader, lengthAt, longID, shortID = 0x80, 5, 6, 1
	switch {
	case len(packet) >= longID+8 && packet[0]&longHeader != 0 && packet[lengthAt] >= 8:
		return binary.BigEndian.Uint64(packet[longID:]), true
	case len(packet) >= shortID+8 && packet[0]&longHeader == 0:
		return binary.BigEndian.Uint64(packet[shortID:]), true
	}
	return 0, false
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
