package dataplane

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func TestTCPForwardsByWeight(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g", server(tcpServer(t, "a"), 30), server(tcpServer(t, "b"), 10), server(tcpServer(t, "c"), 0))
	address := b.listen(protoTCP, "Scheduler", "wrr")
	got := map[string]int{}
	for range 20 {
		got[greeting(t, "127.0.0.9", address)]++
	}
	// The servers see the address of the client.
	if got["a 127.0.0.9"] != 15 || got["b 127.0.0.9"] != 5 {
		t.Errorf("greetings %v, want 15 of a and 5 of b", got)
	}
}

// A listener with persistence keeps a client at its server, and gives other clients theirs.
func TestTCPPersistence(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g", server(tcpServer(t, "a"), 100), server(tcpServer(t, "b"), 100))
	address := b.listen(protoTCP, "Scheduler", "rr", "PersistenceTimeout", "3600")
	first, second := greeting(t, "127.0.0.9", address), greeting(t, "127.0.0.8", address)
	for range 5 {
		if got := greeting(t, "127.0.0.9", address); got != first {
			t.Errorf("the first client got %q, then %q", first, got)
		}
		if got := greeting(t, "127.0.0.8", address); got != second || second[:1] == first[:1] {
			t.Errorf("the second client got %q, then %q; the first one %q", second, got, first)
		}
	}
	b.change(func(*state.Cloud) { b.listener(0).Attributes["PersistenceTimeout"] = "0" })
	if one, two := greeting(t, "127.0.0.9", address), greeting(t, "127.0.0.9", address); one == two {
		t.Errorf("without persistence both connections went to %q", one)
	}
}

func TestTCPPassesHalfClose(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g", server(tcpServer(t, "a"), 100))
	conn := connect(t, "127.0.0.1", b.listen(protoTCP))
	text := strings.Repeat("0123456789", 100_000)
	go func() {
		_, _ = io.WriteString(conn, text)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	if want := "a 127.0.0.1\n" + text; err != nil || string(got) != want {
		t.Errorf("%d bytes and %v, want %d", len(got), err, len(want))
	}
}

func TestTCPWithoutServersResets(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	address := b.listen(protoTCP) // the group doesn't exist
	if got := greeting(t, "127.0.0.1", address); got != "error" {
		t.Errorf("an answer %q of nobody", got)
	}
}

func TestTCPResetsAreExplained(t *testing.T) {
	t.Parallel()
	closed := closedTCP(t)
	for _, tt := range []struct {
		name    string
		servers []*state.Server
		want    string
	}{
		{"no servers", nil, "no server can take it"},
		{"a server that does not listen", []*state.Server{server(closed, 100)}, `server=i-1 error="connect to server: dial tcp`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			log := &lockedBuffer{}
			b := newLoggedBed(t, log)
			b.group("g", tt.servers...)
			if got := greeting(t, "127.0.0.9", b.listen(protoTCP)); got != "error" {
				t.Errorf("an answer %q of nobody", got)
			}
			eventually(t, "the log says why", func() bool {
				return strings.Contains(log.String(), "client=127.0.0.9:") && strings.Contains(log.String(), tt.want)
			})
		})
	}
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestTCPConnectionsAreDrained(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, drain string
		least       time.Duration
	}{
		{"without drain", "off", 0},
		{"with drain", "on", time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			port := tcpServer(t, "a")
			b.group("g", server(port, 100))
			address := b.listen(protoTCP, "ConnectionDrain", tt.drain, "ConnectionDrainTimeout", "300")
			conn := connect(t, "127.0.0.1", address)
			reader := bufio.NewReader(conn)
			if _, err := reader.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			echo := func(when string) {
				t.Helper()
				if _, err := io.WriteString(conn, "echo\n"); err != nil {
					t.Fatal(err)
				}
				if got, err := reader.ReadString('\n'); err != nil || got != "echo\n" {
					t.Fatalf("%q, %v: connection lost %s", got, err, when)
				}
			}
			b.group("g", server(port, 0)) // no new connections, the old one stays
			if got := greeting(t, "127.0.0.1", address); got != "error" {
				t.Errorf("a server of weight 0 took a connection: %q", got)
			}
			echo("with the weight")
			if tt.least > 0 {
				b.group("g")
				echo("with the server, and not drained")
				b.group("g", server(port, 0)) // it is back in time, and goes again
				b.change(func(*state.Cloud) { b.listener(0).Attributes["ConnectionDrainTimeout"] = "1" })
			}
			removed := time.Now()
			b.group("g")
			if _, err := reader.ReadString('\n'); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the connection goes on: %v", err)
			}
			if lasted := time.Since(removed); lasted < tt.least {
				t.Errorf("the connection lasted %s, want %s", lasted, tt.least)
			}
		})
	}
}

func TestListenersComeAndGo(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g", server(tcpServer(t, "a"), 100))
	address := b.listen(protoTCP)
	conn := connect(t, "127.0.0.1", address)
	reader := bufio.NewReader(conn)
	if _, err := reader.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	b.change(func(*state.Cloud) { b.listener(0).Status = "stopped" })
	if _, err := reader.ReadString('\n'); err == nil {
		t.Error("the connection of a stopped listener goes on")
	}
	eventually(t, "the listener closes", func() bool { return !open(address) })
	// A starting listener is open when its time has come, without a call.
	b.change(func(*state.Cloud) {
		l := b.listener(0)
		l.Status, l.SettleTo, l.SettleAt = "starting", "running", b.now.Add(time.Minute)
	})
	if open(address) {
		t.Error("a starting listener is open")
	}
	b.mu.Lock()
	b.now = b.now.Add(time.Minute)
	b.mu.Unlock()
	eventually(t, "the listener opens", func() bool { return open(address) })
	b.change(func(c *state.Cloud) { c.LoadBalancers[lbID].Status = "inactive" })
	eventually(t, "the load balancer closes", func() bool { return !open(address) })
}

// A port that is taken is tried again.
func TestListenerWaitsForItsPort(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g", server(tcpServer(t, "a"), 100))
	squatter, err := net.Listen("tcp", b.address.String()+":0")
	if err != nil {
		t.Fatal(err)
	}
	port := squatter.Addr().(*net.TCPAddr).Port
	b.change(func(c *state.Cloud) {
		c.LoadBalancers[lbID].Listeners = []*state.Listener{{Port: port, Protocol: protoTCP, Status: "running",
			Attributes: map[string]string{"VServerGroupId": "g"}}}
	})
	squatter.Close()
	eventually(t, "the listener opens", func() bool { return open(squatter.Addr().String()) })
}

// The server of a client from elsewhere sees an address of the machine.
func TestDialForClientsFromElsewhere(t *testing.T) {
	t.Parallel()
	server := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(tcpServer(t, "a")))
	for client, want := range map[string]string{"127.0.9.1": "127.0.9.1", "203.0.113.7": "127.0.0.1", "2001:db8::7": "127.0.0.1"} {
		f := &frontend{}
		conn, err := f.dial(t.Context(), protoTCP, netip.MustParseAddr(client), server)
		if err != nil {
			t.Errorf("%s: %v", client, err)
			continue
		}
		line, err := bufio.NewReader(conn).ReadString('\n')
		if line != "a "+want+"\n" || err != nil {
			t.Errorf("%s: the server sees %q, %v, want %s", client, line, err, want)
		}
		conn.Close()
	}
}
