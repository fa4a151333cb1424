package dataplane

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// udpServer answers every datagram with its name, the client's address, and the datagram. It returns its port.
func udpServer(t *testing.T, name string) int {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, maxDatagram)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteToUDPAddrPort([]byte(name+" "+from.Addr().Unmap().String()+" "+string(buffer[:n])), from)
		}
	}()
	t.Cleanup(func() {
		conn.Close()
		<-ended
	})
	return conn.LocalAddr().(*net.UDPAddr).Port
}

// patience is how long a client waits that expects an answer, and silence how long one that doesn't.
const (
	patience = time.Minute
	silence  = 200 * time.Millisecond
)

// udpClient is a client of a UDP listener with an address of its own. What it returns sends a datagram and waits for an answer;
// it gives "" if there is none.
func udpClient(t *testing.T, from, address string, wait time.Duration) func(text string) string {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return func(text string) string {
		t.Helper()
		buffer := make([]byte, maxDatagram)
		_ = conn.SetDeadline(time.Now().Add(wait))
		if _, err := conn.Write([]byte(text)); err != nil {
			return ""
		}
		n, err := conn.Read(buffer)
		if err != nil {
			return ""
		}
		return string(buffer[:n])
	}
}

func TestUDPForwards(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g", server(udpServer(t, "a"), 50), server(udpServer(t, "b"), 50), server(udpServer(t, "c"), 0))
	address := b.listen(protoUDP, "Scheduler", "rr")
	one, two := udpClient(t, "127.0.0.9", address, patience), udpClient(t, "127.0.0.10", address, patience)
	for range 3 { // a session stays at its server
		if got := one("hello"); got != "a 127.0.0.9 hello" {
			t.Errorf("answer %q of the first client", got)
		}
		if got := two("hello"); got != "b 127.0.0.10 hello" {
			t.Errorf("answer %q of the second client", got)
		}
	}
	if got := one(strings.Repeat("x", 60_000)); len(got) != 60_012 {
		t.Errorf("%d bytes of a large datagram came back", len(got))
	}
}

// When its server goes, a session gets another one with the client's next datagram.
func TestUDPSessionsMove(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	first, second := server(udpServer(t, "a"), 50), server(udpServer(t, "b"), 50)
	b.group("g", first)
	send := udpClient(t, "127.0.0.9", b.listen(protoUDP), silence)
	eventually(t, "the session begins", func() bool { return send("x") == "a 127.0.0.9 x" })
	b.group("g", second)
	eventually(t, "the session moves", func() bool { return send("x") == "b 127.0.0.9 x" })
}

// With the PROXY protocol each datagram says which client it is from, since those of one client need not arrive in their order.
func TestUDPProxyProtocol(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g", server(udpServer(t, "a"), 50))
	address := b.listen(protoUDP, "ProxyProtocolV2Enabled", "true")
	send := udpClient(t, "127.0.0.9", address, patience)
	for _, text := range []string{"one", "two"} {
		header, payload, found := strings.Cut(strings.TrimPrefix(send(text), "a 127.0.0.9 "), text)
		if !found || payload != "" || len(header) != 28 || header[:16] != "\r\n\r\n\x00\r\nQUIT\n\x21\x12\x00\x0c" {
			t.Fatalf("the server gets %q before %q", header, text)
		}
		from, _ := netip.AddrFromSlice([]byte(header[16:20]))
		at := netip.AddrPortFrom(b.address, binary.BigEndian.Uint16([]byte(header[26:])))
		if from.String() != "127.0.0.9" || at.String() != address {
			t.Errorf("it is from %s to %s", from, at)
		}
	}
}
