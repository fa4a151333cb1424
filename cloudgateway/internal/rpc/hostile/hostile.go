// Package hostile speaks gRPC as no honest client does, for tests of servers that have to survive it.
package hostile

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Client is a connection on which HTTP/2 is spoken as the test likes. Its methods may be used by several goroutines.
type Client struct {
	net.Conn

	framer *http2.Framer
	block  bytes.Buffer
	hpack  *hpack.Encoder
	writes sync.Mutex

	windows windows
}

// Dial connects from an address of the loopback network. It takes any certificate.
func Dial(ctx context.Context, address, from string) (*Client, error) {
	dialer := &tls.Dialer{
		NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}},
		Config:    &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}, //nolint:gosec // It is the attacker.
	}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect from %s: %w", from, err)
	}
	c := &Client{Conn: conn, framer: http2.NewFramer(conn, conn)}
	c.hpack, c.windows.more = hpack.NewEncoder(&c.block), map[uint32]int{}
	c.windows.change = sync.NewCond(&c.windows.mu)
	if _, err = io.WriteString(conn, http2.ClientPreface); err == nil {
		err = c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	}
	if err != nil {
		return nil, fmt.Errorf("begin HTTP/2: %w", err)
	}
	return c, nil
}

// Headers begins a call, whose deadline is as far away as can be. Without complete, the headers do not come to their end.
func (c *Client) Headers(stream uint32, method, token string, complete bool) error {
	c.writes.Lock()
	defer c.writes.Unlock()
	fields := [][2]string{
		{":method", "POST"}, {":scheme", "https"}, {":path", method}, {":authority", "gateway.test"},
		{"content-type", "application/grpc"}, {"te", "trailers"}, {"grpc-timeout", "99999999H"},
	}
	if token != "" {
		fields = append(fields, [2]string{"authorization", "Bearer " + token})
	}
	if err := c.encode(fields...); err != nil {
		return err
	}
	return c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.block.Bytes(), EndHeaders: complete})
}

// MoreHeaders goes on with headers that have not come to their end, and does not end them.
func (c *Client) MoreHeaders(stream uint32) error {
	c.writes.Lock()
	defer c.writes.Unlock()
	if err := c.encode([2]string{"x-more", "1"}); err != nil {
		return err
	}
	return c.framer.WriteContinuation(stream, false, c.block.Bytes())
}

func (c *Client) encode(fields ...[2]string) error {
	c.block.Reset()
	for _, f := range fields {
		if err := c.hpack.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			return fmt.Errorf("encode %s: %w", f[0], err)
		}
	}
	return nil
}

// Stall announces a message and sends a part of it, whatever the server is ready to take.
func (c *Client) Stall(stream uint32, announced, sent int) error {
	c.writes.Lock()
	defer c.writes.Unlock()
	const frame = 16 << 10
	prefix := make([]byte, 5)
	binary.BigEndian.PutUint32(prefix[1:], uint32(announced))
	if err := c.framer.WriteData(stream, false, prefix); err != nil {
		return err
	}
	for ; sent > 0; sent -= frame {
		if err := c.framer.WriteData(stream, false, make([]byte, min(frame, sent))); err != nil {
			return err
		}
	}
	return nil
}

// Send sends a whole message as the server is ready to take it, of which Drain learns, and says that there is no other.
func (c *Client) Send(stream uint32, message []byte) error { return c.send(stream, message, 0) }

// Begin sends a message in the same way, but for its last byte.
func (c *Client) Begin(stream uint32, message []byte) error { return c.send(stream, message, 1) }

func (c *Client) send(stream uint32, message []byte, kept int) error {
	const prefix, frame = 5, 16 << 10
	left := append(binary.BigEndian.AppendUint32(make([]byte, 1, prefix+len(message)), uint32(len(message))), message...)
	left = left[:len(left)-kept]
	for len(left) > 0 {
		size, err := c.room(stream, min(frame, len(left)))
		if err != nil {
			return err
		}
		c.writes.Lock()
		err = c.framer.WriteData(stream, size == len(left) && kept == 0, left[:size])
		c.writes.Unlock()
		if err != nil {
			return err
		}
		left = left[size:]
	}
	return nil
}

// windows are what the server is ready to take.
type windows struct {
	mu     sync.Mutex
	change *sync.Cond
	more   map[uint32]int // beyond what there is at first, by stream; 0: in all
	over   bool
}

// room waits until the server takes some of so many bytes, and says how many.
func (c *Client) room(stream uint32, most int) (int, error) {
	const first = 64<<10 - 1
	w := &c.windows
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if w.over {
			return 0, io.ErrClosedPipe
		}
		if size := min(most, first+w.more[stream], first+w.more[0]); size > 0 {
			w.more[stream] -= size
			w.more[0] -= size
			return size, nil
		}
		w.change.Wait()
	}
}

// learn notes that the server takes more, or that the connection is over.
func (c *Client) learn(stream uint32, more int, over bool) {
	c.windows.mu.Lock()
	defer c.windows.mu.Unlock()
	c.windows.more[stream] += more
	c.windows.over = over
	c.windows.change.Broadcast()
}

// Window lets so many bytes come of each answer, also of those that are being written.
func (c *Client) Window(bytes uint32) error {
	c.writes.Lock()
	defer c.writes.Unlock()
	return c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: bytes})
}

// Deaf makes the connection take as little as can be of what is not read from it.
func (c *Client) Deaf() error {
	tcp := c.Conn.(*tls.Conn).NetConn().(*net.TCPConn) //nolint:forcetypeassert // By Dial.
	return tcp.SetReadBuffer(1)
}

// Grant lets more come of all answers together.
func (c *Client) Grant(bytes uint32) error {
	c.writes.Lock()
	defer c.writes.Unlock()
	return c.framer.WriteWindowUpdate(0, bytes)
}

// Reset gives a call up.
func (c *Client) Reset(stream uint32) error {
	c.writes.Lock()
	defer c.writes.Unlock()
	return c.framer.WriteRSTStream(stream, http2.ErrCodeCancel)
}

// Drain reads until the server ends the connection, and counts the calls that it has ended.
func (c *Client) Drain(ended *atomic.Int64) {
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			c.learn(0, 0, true)
			return
		}
		h := frame.Header()
		if more, ok := frame.(*http2.WindowUpdateFrame); ok {
			c.learn(h.StreamID, int(more.Increment), false)
		}
		if h.Type == http2.FrameRSTStream || h.Type == http2.FrameHeaders && h.Flags.Has(http2.FlagHeadersEndStream) {
			ended.Add(1)
		}
	}
}
