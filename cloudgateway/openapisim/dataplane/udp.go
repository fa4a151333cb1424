package dataplane

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxSessions bounds the clients of a UDP listener at one time.
	maxSessions = 10_000
	// sessionIdle is how long a client of a UDP listener keeps its server without a datagram.
	sessionIdle = 90 * time.Second
	// maxDatagram is the size of the greatest datagram.
	maxDatagram = 1 << 16
)

// udpFrontend forwards the datagrams of a UDP listener. The datagrams of one client address and port are a session, which
// stays at one server.
type udpFrontend struct {
	*frontend
	conn    *net.UDPConn
	stop    context.CancelFunc
	running sync.WaitGroup

	sessions map[netip.AddrPort]*session // used by receive only, but for ended
	ended    chan *session
}

type session struct {
	client netip.AddrPort
	server net.Conn
	last   atomic.Int64 // when the last datagram passed
}

func openUDP(ctx context.Context, f *frontend) (*udpFrontend, error) {
	packets, err := listenConfig().ListenPacket(ctx, protoUDP, f.socket.addr.String())
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	u := &udpFrontend{
		frontend: f, conn: packets.(*net.UDPConn), stop: stop,
		sessions: map[netip.AddrPort]*session{}, ended: make(chan *session, maxSessions),
	}
	u.running.Go(func() { u.receive(ctx) })
	return u, nil
}

func (u *udpFrontend) close() {
	u.stop()
	_ = u.conn.Close() // what was opened is closed, whatever is said about it
	u.flows.end()
	u.running.Wait()
}

// receive takes the datagrams of all clients.
func (u *udpFrontend) receive(ctx context.Context) {
	buffer := make([]byte, maxDatagram)
	for {
		n, from, err := u.conn.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			u.log.WarnContext(ctx, "datagram not received", "error", err)
			<-time.After(acceptPause)
			continue
		}
		u.forgetEnded()
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		s := u.sessions[from]
		if s == nil {
			if s = u.open(ctx, from); s == nil {
				continue
			}
			u.sessions[from] = s
		}
		s.last.Store(time.Now().UnixNano())
		packet := buffer[:n]
		if spec := u.spec.Load(); spec.proxyProtocol {
			packet = append(spec.proxyHeader(from, u.socket.addr), packet...)
		}
		_, _ = s.server.Write(packet) // lost datagrams are a part of UDP, and so are those that the header makes too large
	}
}

func (u *udpFrontend) forgetEnded() {
	for {
		select {
		case s := <-u.ended:
			delete(u.sessions, s.client)
		default:
			return
		}
	}
}

// open begins the session of a client. It returns nil if the client isn't let in, there is no server, or there are too many sessions.
func (u *udpFrontend) open(ctx context.Context, from netip.AddrPort) *session {
	spec := u.spec.Load()
	if len(u.sessions) >= maxSessions || !u.admits(from) {
		return nil
	}
	chosen, ok := u.choose(&spec.pool, from)
	if !ok {
		return nil
	}
	server, err := u.dial(ctx, protoUDP, spec.source(from, u.socket.addr), u.socket.reach(chosen.id))
	if err != nil {
		u.log.DebugContext(ctx, "no connection to server", "server", chosen.id.server, "error", err)
		return nil
	}
	fl := u.frontend.open(spec, from.Addr(), chosen.id, func() { _ = server.Close() }) // ends answer below
	if fl == nil {
		_ = server.Close() // the listener is being closed
		return nil
	}
	s := &session{client: from, server: server}
	s.last.Store(time.Now().UnixNano())
	u.running.Go(func() {
		u.answer(s)
		_ = server.Close() // a second time, if it was cut
		u.flows.done(fl)
		u.ended <- s
	})
	return s
}

// answer takes the server's datagrams to the client until the session is cut, idle for too long, or refused by the server: a
// client that tries again is given a new choice.
func (u *udpFrontend) answer(s *session) {
	buffer := make([]byte, maxDatagram)
	for {
		if s.server.SetReadDeadline(time.Now().Add(sessionIdle)) != nil {
			return
		}
		n, err := s.server.Read(buffer)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && time.Since(time.Unix(0, s.last.Load())) < sessionIdle:
			continue
		case err != nil:
			return
		}
		s.last.Store(time.Now().UnixNano())
		_, _ = u.conn.WriteToUDPAddrPort(buffer[:n], s.client) // lost datagrams are a part of UDP
	}
}
