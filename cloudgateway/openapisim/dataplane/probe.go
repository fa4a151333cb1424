package dataplane

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// attempt makes one health check and reports whether the server passed.
func attempt(ctx context.Context, p probe) bool {
	how := p.how.Value()
	ctx, cancel := context.WithTimeout(ctx, how.timeout)
	defer cancel()
	switch how.kind {
	case protoHTTP:
		return attemptHTTP(ctx, p.addr, how)
	case protoUDP:
		return attemptUDP(ctx, p.addr, how)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.addr.String())
	if err != nil {
		return false
	}
	abort(conn) // as the cloud does: a reset leaves nothing behind on the server
	return true
}

func attemptHTTP(ctx context.Context, addr netip.AddrPort, how checkup) bool {
	request, err := http.NewRequestWithContext(ctx, strings.ToUpper(how.method), "http://"+addr.String()+how.uri, nil)
	if err != nil {
		return false
	}
	request.Host = cmp.Or(how.host, addr.Addr().String())
	request.Header.Set("User-Agent", "KeepAliveClient") // how the cloud's checks look in access logs
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request) // redirects are an answer
	if err != nil {
		return false
	}
	_ = response.Body.Close() // the status is all that counts
	return strings.Contains(how.codes, fmt.Sprintf("http_%dxx", response.StatusCode/100))
}

// attemptUDP sends a datagram. Silence is a good sign unless an answer is expected: only a refusal shows that nothing listens there.
func attemptUDP(ctx context.Context, addr netip.AddrPort, how checkup) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", addr.String())
	if err != nil {
		return false
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) }) // wakes the read below
	defer stop()
	if how.expect == "" {
		_ = conn.SetReadDeadline(time.Now().Add(min(how.timeout, how.interval))) // a refusal comes at once on loopback
	}
	if _, err := conn.Write([]byte(how.send)); err != nil {
		return false
	}
	answer := make([]byte, 1<<16)
	n, err := conn.Read(answer)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return false
	case err != nil:
		return how.expect == ""
	}
	return how.expect == "" || bytes.Equal(answer[:n], []byte(how.expect))
}

// abort closes a connection with a reset where that is possible.
func abort(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // if it fails, the connection is closed without a reset
	}
	_ = conn.Close() // after an error there is nothing left to do
}
