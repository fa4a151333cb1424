package dataplane

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// A dual-stack NLB listens at its IPv6 address, too, if that is one of the machine: servers of either family serve its clients, and the
// PROXY protocol has addresses of IPv6.
func TestIPv6(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("the machine has no ::1")
	}
	seen := make(chan string, 1)
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			raw := make([]byte, 52)
			_, _ = io.ReadFull(conn, raw)
			from, _ := netip.AddrFromSlice(raw[16:32])
			seen <- fmt.Sprintf("%s says %x %s", remote(conn).Addr(), raw[12:16], netip.AddrPortFrom(from, binary.BigEndian.Uint16(raw[48:])))
			_ = conn.Close()
		}
	}()
	b := newBed(t)
	v4 := nlbAt(t, b, tcpServer(t, "a"), func(l *state.NLBListener, _ *state.NLBServerGroup) {})
	port := netip.MustParseAddrPort(v4).Port()
	address := netip.AddrPortFrom(netip.IPv6Loopback(), port).String()
	b.change(func(c *state.Cloud) { c.NLBs["nlb-1"].Zones[0].Ipv6Address = "::1" })
	for _, at := range []string{address, v4} {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line[:2] != "a " {
			t.Errorf("%s: %q, %v", at, line, err)
		}
		_ = conn.Close()
	}
	b.change(func(c *state.Cloud) {
		c.NLBListeners["l"].ProxyProtocol = true
		s := c.NLBServerGroups["sgp-1"].Servers[0]
		s.ServerID, s.ServerIP, s.Port = "::1", "::1", ln.Addr().(*net.TCPAddr).Port
	})
	client, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if got, want := <-seen, fmt.Sprintf("::1 says 21210024 %s", client.LocalAddr()); got != want {
		t.Errorf("the server of IPv6: %s, want %s", got, want)
	}
}
