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
	c.hpack = hpack.NewEncoder(&c.block)
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

// Drain reads until the server ends the connection, and counts the calls that it has ended.
func (c *Client) Drain(ended *atomic.Int64) {
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return
		}
		h := frame.Header()
		if h.Type == http2.FrameRSTStream || h.Type == http2.FrameHeaders && h.Flags.Has(http2.FlagHeadersEndStream) {
			ended.Add(1)
		}
	}
}
