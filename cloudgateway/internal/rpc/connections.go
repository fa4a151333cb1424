package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"alicloud-controllers.dev/services/origin"
)

// IdleLongest is why a connection of a caller with too many is closed.
const IdleLongest = "idle longest"

// errStrangerBytes ends a connection on which much was sent without a permitted call.
var errStrangerBytes = errors.New("too much was sent before a permitted call")

// notRead is why a connection is closed whose client does not read an answer.
const notRead = "answer not read"

// connections bounds the connections of strangers, of all listeners together. A connection is a stranger's until its first permitted call.
type connections struct {
	limits   Limits
	serving  func() bool               // reports whether this is the active replica
	closed   func(reason, peer string) // for the metrics and the log
	sending  time.Duration             // in which a client has to take something of what is written; 0: for ever
	arrivals Peers
	overflow Peers // one bucket for the arrivals of all who have used up their own

	mu        sync.Mutex
	all       map[*connection]struct{}
	callers   map[string]*crowd        // those who have connections that are not strangers'
	strangers map[string][]*connection // by peer, the oldest first
	unknown   int                      // the strangers
}

// crowd is what the connections of a caller have together. A stranger's connection is one by itself.
type crowd struct {
	connections int
	entrances   chan struct{} // one for each call that is being admitted
	reading     chan struct{} // one for each request without a token that is being read
	reads       held
}

// healthPlaces is how many requests without a token are read at a time for a caller. gRPC takes as large ones as for a call.
const healthPlaces = 2

func newCrowd(entrances int) *crowd {
	return &crowd{entrances: make(chan struct{}, entrances), reading: make(chan struct{}, healthPlaces)}
}

func newConnections(limits Limits, serving func() bool, closed func(reason, peer string)) *connections {
	return &connections{
		limits: limits, serving: serving, closed: closed, arrivals: Peers{Burst: limits.Arrivals, PerSecond: limits.ArrivalsPerSecond},
		overflow: Peers{Burst: limits.ArrivalsBeyond / 5, PerSecond: limits.ArrivalsBeyond},
		all:      make(map[*connection]struct{}), callers: make(map[string]*crowd), strangers: make(map[string][]*connection),
	}
}

// guarded is a listener of which every connection is within the bounds.
type guarded struct {
	net.Listener
	*connections
}

// connection is one of them.
type connection struct {
	net.Conn

	owner     *connections
	peer      string
	first     *time.Timer // ends a connection on which no call is made
	bucket    *Peers      // what it was let in by
	bucketKey string      // as whom

	caller   string // who made the first permitted call; "": it is a stranger's
	of       atomic.Pointer[crowd]
	strange  crowd     // itself, as long as it is a stranger's
	busy     int       // calls whose headers have come, and which are no health checks
	idle     time.Time // since when no request is under way; zero: one is, or nobody says
	stranger atomic.Bool
	read     atomic.Int64 // bytes, counted for strangers
	refused  atomic.Int64 // calls, likewise
	exempt   atomic.Int64 // calls under way that need no token
	gone     sync.Once
	ended    atomic.Bool // by us
	// It is in no book any more. It changes with the lock of its owner.
	forgotten atomic.Bool
	over      chan struct{} // closed with the connection
}

// Accept implements net.Listener.
func (l guarded) Accept() (net.Conn, error) {
	c := l.connections
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer, reason := origin.Of(raw.RemoteAddr()), "too often"
		if bucket, key := c.arrive(peer); bucket != nil {
			if accepted := c.admit(raw); accepted != nil {
				accepted.bucket, accepted.bucketKey = bucket, key
				return accepted, nil
			}
			reason = "full"
		}
		c.closed(reason, peer)
		_ = raw.Close() // The error matters to no caller.
	}
}

// arrive lets a connection in by what its peer has left, or else by what is there for all: callers behind one address,
// such as that of a node, must not be locked out by another one there whose connections come to nothing. It returns nil
// if neither has anything left.
func (c *connections) arrive(peer string) (bucket *Peers, key string) {
	switch {
	case c.arrivals.Take(peer):
		return &c.arrivals, peer
	case c.overflow.Take(""):
		return &c.overflow, ""
	default:
		return nil, ""
	}
}

// admit makes room for a connection, at the cost of strangers only. It returns nil if there is none. To a standby all
// are strangers, since it takes no calls: callers behind one address, who come back at once, would crowd each other out
// for ever. There the last ones are refused. When it becomes the active replica, they get in as soon as the others have
// called.
func (c *connections) admit(raw net.Conn) *connection {
	n := &connection{Conn: raw, owner: c, peer: origin.Of(raw.RemoteAddr()), over: make(chan struct{})}
	n.stranger.Store(true)
	n.strange = *newCrowd(c.limits.AdmittingPerStranger)
	n.of.Store(&n.strange)
	c.mu.Lock()
	var leaves *connection
	if of := c.strangers[n.peer]; len(of) >= c.limits.StrangersPerPeer {
		if !c.serving() {
			c.mu.Unlock()
			return nil
		}
		leaves = of[0]
	} else if c.unknown >= c.limits.Strangers || len(c.all) >= c.limits.Connections {
		leaves = c.oldestOfMost()
		if leaves == nil {
			c.mu.Unlock()
			return nil
		}
	}
	if leaves != nil {
		c.forget(leaves)
	}
	c.all[n] = struct{}{}
	c.strangers[n.peer] = append(c.strangers[n.peer], n)
	c.unknown++
	n.first = time.AfterFunc(c.limits.FirstCall, func() { n.end("no call") })
	c.mu.Unlock()
	if leaves != nil {
		leaves.end("crowded out")
	}
	return n
}

// oldestOfMost is the oldest stranger of the peer with the most of them, nil if there are no strangers.
func (c *connections) oldestOfMost() *connection {
	var most []*connection
	for _, of := range c.strangers {
		if len(of) > len(most) || len(of) == len(most) && len(of) > 0 && of[0].peer < most[0].peer {
			most = of
		}
	}
	if len(most) == 0 {
		return nil
	}
	return most[0]
}

// forget takes a connection out of the books.
func (c *connections) forget(n *connection) {
	if !n.forgotten.Swap(true) {
		delete(c.all, n)
		if !n.stranger.Load() {
			of := n.of.Load()
			if of.connections--; of.connections == 0 {
				delete(c.callers, n.caller)
			}
		}
	}
	c.known(n)
}

// known takes a connection off the strangers.
func (c *connections) known(n *connection) {
	of := c.strangers[n.peer]
	i := slices.Index(of, n)
	if i < 0 {
		return
	}
	c.unknown--
	if of = slices.Delete(of, i, i+1); len(of) == 0 {
		delete(c.strangers, n.peer)
		return
	}
	c.strangers[n.peer] = of
}

// count gives the number of connections of callers and of strangers.
func (c *connections) count() (callers, strangers int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all) - c.unknown, c.unknown
}

// greeting is the handshake of TLS. It notes by which connection a call comes.
type greeting struct {
	credentials.TransportCredentials
}

// arrived is what gRPC knows of the connection of a call.
type arrived struct {
	credentials.TLSInfo

	from *connection
}

// ServerHandshake implements credentials.TransportCredentials.
func (g greeting) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := g.TransportCredentials.ServerHandshake(raw)
	if over, ok := info.(credentials.TLSInfo); ok {
		from, _ := raw.(*connection)
		info = arrived{over, from}
	}
	return conn, info, err
}

// arrivedBy is the connection that a call came by, nil if it came another way. It takes no lock: where one is waited for, each call that
// waits has a stack.
func arrivedBy(ctx context.Context) *connection {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	by, _ := p.AuthInfo.(arrived)
	return by.from
}

// called notes that the headers of a call have come. It reports whether the connection is still there.
func (n *connection) called() bool {
	if n == nil {
		return true
	}
	n.first.Stop()
	return !n.forgotten.Load()
}

// refuse notes that a call was refused.
func (n *connection) refuse() {
	if n != nil && n.stranger.Load() && n.refused.Add(1) == n.owner.limits.StrangerCalls {
		n.end("too many refusals")
	}
}

// prove notes that a caller made a permitted call. Its error says that the caller has too many connections: this one remains a stranger's.
func (n *connection) prove(caller string) error {
	if n == nil || !n.stranger.Load() {
		return nil
	}
	first, leaves, err := n.owner.belongs(n, caller)
	if leaves != nil {
		leaves.end(IdleLongest)
	}
	if first && n.bucket != nil {
		n.bucket.GiveBack(n.bucketKey)
	}
	return err
}

// belongs takes a connection off the strangers. It reports whether it was one of theirs. Of a caller that has as many
// as it may, the one that has been idle for longest leaves: its client opens another when it needs one.
func (c *connections) belongs(n *connection, caller string) (first bool, leaves *connection, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !n.stranger.Load() {
		return false, nil, nil
	}
	if !n.forgotten.Load() {
		of := c.callers[caller]
		if of == nil {
			of = newCrowd(c.limits.AdmittingPerCaller)
		}
		switch has := of.connections; {
		// No caller may have more than are left for others, so that several that have all that they may leave room for the next one.
		case has >= c.limits.ConnectionsPerCaller || has > c.limits.Connections-len(c.all):
			if leaves = c.longestIdle(caller); leaves == nil {
				return false, nil, tooMuch(fmt.Sprintf("%s has %d connections in use, the most that a caller may have", caller, has))
			}
		// Many callers with a few each leave room for strangers, among whom the next caller is.
		case len(c.all)-c.unknown >= c.limits.Connections-c.limits.Strangers:
			leaves = c.longestIdle("")
		}
		if leaves != nil {
			c.forget(leaves)
		}
		c.callers[caller] = of
		of.connections++
		n.of.Store(of)
		n.caller = caller
		c.known(n)
	}
	n.stranger.Store(false)
	return true, leaves, nil
}

// settled is how long a connection is idle that its client does not use again and again. A request that is on its way while its
// connection is closed is lost.
const settled = time.Second

// longestIdle is the connection of a caller that has been idle for longest; nil if all are in use. "": of the caller with
// the most connections of those that have an idle one. One that rests for a moment only goes if there is no other.
func (c *connections) longestIdle(caller string) *connection {
	now := time.Now()
	if longest := c.idleSince(now.Add(-settled), caller); longest != nil {
		return longest
	}
	return c.idleSince(now, caller)
}

// idleSince is that among those that have been idle since a time or for longer.
func (c *connections) idleSince(since time.Time, caller string) *connection {
	var longest *connection
	for n := range c.all {
		if n.stranger.Load() || n.idle.IsZero() || n.idle.After(since) || caller != "" && n.caller != caller {
			continue
		}
		if longest != nil {
			has, most := n.of.Load().connections, longest.of.Load().connections
			if has < most || has == most && !n.idle.Before(longest.idle) {
				continue
			}
		}
		longest = n
	}
	return longest
}

// rests notes that no request is under way on a connection, or that one has begun.
func (n *connection) rests(idle bool) {
	if n == nil {
		return
	}
	n.owner.mu.Lock()
	defer n.owner.mu.Unlock()
	n.idle = time.Time{}
	if idle {
		n.idle = time.Now()
	}
}

// Read implements net.Conn.
func (n *connection) Read(p []byte) (int, error) {
	got, err := n.Conn.Read(p)
	// A request without a token that began before the first permitted call keeps its place, of which no caller's other
	// connections know.
	if (n.stranger.Load() || len(n.strange.reading) > 0) && n.read.Add(int64(got)) > n.owner.limits.StrangerBytes {
		n.end("too many bytes")
		return 0, errStrangerBytes
	}
	return got, err
}

// Write implements net.Conn. A client that takes nothing, not even refusals, ends its connection; the server of another
// protocol than gRPC has deadlines of its own. A connection to which nothing can be written is closed here: gRPC leaves
// that to its reader, which may wait in arrive.
func (n *connection) Write(p []byte) (int, error) {
	if n.owner.sending > 0 {
		if err := n.SetWriteDeadline(time.Now().Add(n.owner.sending)); err != nil {
			return 0, err
		}
	}
	wrote, err := n.Conn.Write(p)
	if err != nil {
		_ = n.Close() // The first error is the one that counts.
	}
	return wrote, err
}

// Close implements net.Conn.
func (n *connection) Close() error {
	n.gone.Do(func() {
		close(n.over)
		n.owner.mu.Lock()
		defer n.owner.mu.Unlock()
		n.first.Stop()
		n.owner.forget(n)
	})
	return n.Conn.Close()
}

// end closes a connection for a reason of ours.
func (n *connection) end(reason string) {
	if n.ended.CompareAndSwap(false, true) { // Several answers may be late at the same time.
		n.owner.closed(reason, n.peer)
	}
	_ = n.Close() // It is of no use any more.
}

// Peer is where the call under the context comes from: an IPv4 address, or the /64 network of an IPv6 address, of which one host
// has as many addresses as it likes. "" if it is not known.
func Peer(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return ""
	}
	return origin.Of(p.Addr)
}
