package openapisim

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
)

// handshakeRecord is the first byte of a connection with TLS. No HTTP request begins with it.
const handshakeRecord = 0x16

// eitherListener takes connections with TLS and without at one port: clients differ in which of them they can be told to use.
type eitherListener struct {
	net.Listener
	config *tls.Config
}

func (l eitherListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &eitherConn{Conn: conn, config: l.config}, nil
}

// eitherConn looks at its first byte when it is read first.
type eitherConn struct {
	net.Conn
	config *tls.Config
	once   sync.Once
	err    error
	spoken atomic.Pointer[net.Conn] // nil until it is known
}

func (c *eitherConn) decide() (net.Conn, error) {
	c.once.Do(func() {
		first := make([]byte, 1)
		if _, c.err = c.Conn.Read(first); c.err != nil {
			return
		}
		var spoken net.Conn = &prefixed{Conn: c.Conn, prefix: first}
		if first[0] == handshakeRecord {
			spoken = tls.Server(spoken, c.config)
		}
		c.spoken.Store(&spoken)
	})
	if c.err != nil {
		return nil, c.err
	}
	return *c.spoken.Load(), nil
}

func (c *eitherConn) Read(b []byte) (int, error) {
	spoken, err := c.decide()
	if err != nil {
		return 0, err
	}
	return spoken.Read(b)
}

func (c *eitherConn) Write(b []byte) (int, error) {
	spoken, err := c.decide()
	if err != nil {
		return 0, err
	}
	return spoken.Write(b)
}

func (c *eitherConn) Close() error {
	if spoken := c.spoken.Load(); spoken != nil {
		return (*spoken).Close()
	}
	return c.Conn.Close()
}

// prefixed is a connection of which something was read already.
type prefixed struct {
	net.Conn
	prefix []byte
}

func (c *prefixed) Read(b []byte) (int, error) {
	if len(c.prefix) > 0 {
		n := copy(b, c.prefix)
		c.prefix = c.prefix[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}
