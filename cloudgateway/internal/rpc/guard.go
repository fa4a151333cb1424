package rpc

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
)

// Guard does for servers of other protocols than gRPC what a Server does for its own: it bounds what clients cost before their identity is
// proved, and what those of whom it is have under way.
type Guard struct {
	net.Listener // of TLS connections

	connections *connections
	account     *Account
}

// NewGuard guards a listener. The protocols are those that ALPN offers, and least is the least version of TLS. The
// account has what callers have under way here, and elsewhere. Closed is called for each connection that is closed for
// a reason of ours.
func NewGuard(l net.Listener, files TLSConfig, protocols []string, least uint16, limits Limits, account *Account,
	closed func(reason, peer string), log *slog.Logger) (*Guard, error) {
	limits = limits.withDefaults()
	files.ClientCAFile = "" // Identity is the other protocol's business.
	config, err := files.reloading(log)
	if err != nil {
		return nil, err
	}
	config.MinVersion = least
	reload := config.GetConfigForClient
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		loaded, err := reload(hello)
		if err != nil {
			return nil, err
		}
		loaded = loaded.Clone()
		loaded.NextProtos, loaded.MinVersion = protocols, least
		return loaded, nil
	}
	active := func() bool { return true } // A standby does not listen.
	all := newConnections(limits, active, closed)
	return &Guard{Listener: tls.NewListener(guarded{l, all}, config), connections: all, account: account}, nil
}

// of finds what is known of a connection that the listener accepted, nil if it is another.
func (*Guard) of(c net.Conn) *connection {
	if over, ok := c.(*tls.Conn); ok {
		c = over.NetConn()
	}
	n, _ := c.(*connection)
	return n
}

// Called notes that the headers of a request have come. It reports whether the connection is still there: if not, it was
// closed as an idle one just then, and nothing must be done whose answer nobody would get.
func (g *Guard) Called(c net.Conn) bool { return g.of(c).called() }

// Refused notes that a request was refused. A connection without a permitted one is closed after too many.
func (g *Guard) Refused(c net.Conn) { g.of(c).refuse() }

// Proved notes that a caller made a permitted request. Its error says that the caller has too many connections.
func (g *Guard) Proved(c net.Conn, caller string) error { return g.of(c).prove(caller) }

// Rests notes that no request is under way on a connection, or that one has begun. Of a caller with too many
// connections, the one that has been idle for longest is closed.
func (g *Guard) Rests(c net.Conn, idle bool) { g.of(c).rests(idle) }

// Count gives the number of connections.
func (g *Guard) Count() (callers, strangers int) { return g.connections.count() }

// Work is a request of a caller that is under way.
type Work struct{ of *entry }

// Begin begins one, unless the caller has too many, or all have. End it.
func (g *Guard) Begin(caller string) (Work, error) {
	of, err := g.account.enter(caller, answerRoom)
	return Work{of}, err
}

// Hold adds to the bytes that it holds. Its error says that they are too many.
func (w Work) Hold(bytes int) error { return w.of.hold(bytes) }

// End gives back what it held.
func (w Work) End() { w.of.end() }

// WithTrail collects under the context what NoteCloudRequest and the like say. The attributes are for the audit line.
func WithTrail(ctx context.Context) (noted context.Context, attrs func() []any) {
	t := &trail{}
	return context.WithValue(ctx, trailKey{}, []*trail{t}), t.attrs
}
