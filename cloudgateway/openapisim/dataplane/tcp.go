package dataplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// acceptPause is how long a listener that can't accept waits before it tries again.
const acceptPause = 100 * time.Millisecond

// handshakeTimeout is how long a client may take to agree upon TLS.
const handshakeTimeout = 15 * time.Second

// tcpFrontend forwards the connections of a TCP listener, and of one that ends TLS.
type tcpFrontend struct {
	*frontend
	tls      handshakes
	listener net.Listener
	stop     context.CancelFunc
	running  sync.WaitGroup
}

func openTCP(ctx context.Context, f *frontend) (*tcpFrontend, error) {
	ln, err := listenConfig().Listen(ctx, protoTCP, f.socket.addr.String())
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	t := &tcpFrontend{frontend: f, tls: handshakes{log: f.log}, listener: &guarded{Listener: ln, frontend: f}, stop: stop}
	t.running.Go(func() { t.accept(ctx) })
	return t, nil
}

func (t *tcpFrontend) close() {
	t.stop()
	_ = t.listener.Close() // what was opened is closed, whatever is said about it
	t.flows.end()
	t.running.Wait()
}

func (t *tcpFrontend) accept(ctx context.Context) {
	for {
		conn, err := t.listener.Accept()
		if err != nil {
			return
		}
		t.running.Go(func() { t.forward(ctx, conn) })
	}
}

func (t *tcpFrontend) forward(ctx context.Context, client net.Conn) {
	defer abort(client) // without effect after an orderly end
	from, spec := remote(client), t.spec.Load()
	to := local(client)
	if t.socket.protocol == protoTLS {
		secured, err := t.handshake(ctx, client, spec)
		if err != nil {
			t.log.DebugContext(ctx, "connection reset: no TLS was agreed upon", "client", from, "error", err)
			return
		}
		client = secured
	}
	chosen, ok := t.choose(&spec.pool, from)
	if !ok {
		t.log.DebugContext(ctx, "connection reset: no server can take it", "client", from)
		return
	}
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	fl := t.open(spec, from.Addr(), chosen.id, cut)
	if fl == nil {
		return
	}
	defer t.flows.done(fl)
	server, err := t.dial(ctx, protoTCP, spec.source(from, to), t.socket.reach(chosen.id))
	if err != nil {
		t.log.DebugContext(ctx, "connection reset: its server did not accept it", "client", from, "server", chosen.id.server, "error", err)
		return
	}
	defer abort(server)
	if spec.proxyProtocol {
		if _, err := server.Write(spec.proxyHeader(from, to)); err != nil {
			return
		}
	}
	if err := relay(ctx, client, server, spec.established); err != nil {
		t.log.DebugContext(ctx, "connection reset", "client", from, "server", chosen.id.server, "error", err)
	}
}

// handshake agrees upon TLS with a client.
func (t *tcpFrontend) handshake(ctx context.Context, client net.Conn, spec *listener) (net.Conn, error) {
	config, err := t.tls.configFor(spec.tls)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	secured := tls.Server(client, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return secured, nil
}

// relay copies both ways until both have ended, ctx ends, or nothing moved for the idle time. It returns why it reset both.
func relay(ctx context.Context, a, b net.Conn, idle time.Duration) error {
	unblock := context.AfterFunc(ctx, func() {
		abort(a)
		abort(b)
	})
	defer unblock()
	r := &relaying{idle: idle}
	r.last.Store(time.Now().UnixNano())
	ended := make(chan error)
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		go func() {
			err := r.copy(way[1], way[0])
			if err != nil {
				abort(a)
				abort(b)
			}
			ended <- err
		}()
	}
	err := <-ended
	if second := <-ended; err == nil {
		err = second
	}
	_ = a.Close() // an orderly end: both sides have said that they are done
	_ = b.Close()
	return err
}

// relaying is a connection being copied, idle only if both ways are.
type relaying struct {
	idle time.Duration
	last atomic.Int64
}

// copy copies one way to its end and passes the end on, so that the other way may go on.
func (r *relaying) copy(to, from net.Conn) error {
	buffer := make([]byte, 32<<10)
	for {
		if err := from.SetReadDeadline(time.Now().Add(r.idle)); err != nil {
			return fmt.Errorf("set the idle time: %w", err)
		}
		n, err := from.Read(buffer)
		if n > 0 {
			r.last.Store(time.Now().UnixNano())
			if _, err := to.Write(buffer[:n]); err != nil {
				return fmt.Errorf("forward: %w", err)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return closeWrite(to)
		case errors.Is(err, os.ErrDeadlineExceeded) && time.Since(time.Unix(0, r.last.Load())) < r.idle:
			continue // the other way moved
		case err != nil:
			return fmt.Errorf("read: %w", err)
		}
	}
}

func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return conn.Close()
}

// guarded is a listener that lets in whom the settings let in, and goes on after errors that pass. The cloud does not answer those
// that it keeps out; here they are reset, since a program can't undo that the kernel has accepted them.
type guarded struct {
	net.Listener
	frontend *frontend
}

func (g *guarded) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil, err
		case err == nil && g.frontend.admits(remote(conn)):
			return conn, nil
		case err == nil:
			g.frontend.log.Debug("connection reset: access control does not let the client in", "client", remote(conn))
			abort(conn)
		default:
			// Out of file descriptors, or the client is gone already. Both pass.
			g.frontend.log.Warn("connection not accepted", "error", err)
			<-time.After(acceptPause)
		}
	}
}
