package dataplane

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// withNLB adds a Network Load Balancer with a listener to the demo.
func withNLB() (*state.Cloud, *state.NLB, *state.NLBListener, *state.NLBServerGroup) {
	c := demo()
	lb := &state.NLB{ID: "nlb-1", Status: "Active", Zones: []*state.NLBZone{
		{Status: "Active", PrivateIP: "192.168.0.1", PublicIP: "127.47.0.8"}, {Status: "Active", PrivateIP: "127.48.0.9"},
	}}
	l := &state.NLBListener{ID: "lsn-1@81", NLBID: "nlb-1", Protocol: "TCP", Port: 81, Status: "Running",
		ServerGroupID: "sgp-1", IdleTimeout: 60}
	g := &state.NLBServerGroup{ID: "sgp-1", Scheduler: "Wrr", Drain: true, DrainTimeout: 10, HealthCheck: state.NLBHealthCheck{
		Type: "HTTP", HealthyThreshold: 2, UnhealthyThreshold: 3, ConnectTimeout: 4, Interval: 5, Domain: "$SERVER_IP", URL: "/ok", Method: "GET",
		HTTPCodes: []string{"http_2xx", "http_3xx"},
	}, Servers: []*state.NLBServer{
		{Type: "Ecs", ServerID: "i-1", ServerIP: "127.0.1.1", Port: 8080, Weight: 7, Status: "Available"},
		{Type: "Eni", ServerID: "eni-1", ServerIP: "127.0.2.1", Port: 8080, Weight: 100, Status: "Adding"},
		{Type: "Ip", ServerID: "127.0.9.9", ServerIP: "127.0.9.9", Port: 8080, Weight: 100, Status: "Available"},
		{Type: "Ip", ServerID: "192.168.9.9", ServerIP: "192.168.9.9", Port: 8080, Weight: 100, Status: "Available"},
		{Type: "Ecs", ServerID: "i-1", ServerIP: "127.0.1.1", Port: 8081, Weight: 100, Status: "Removing"},
	}}
	c.NLBs[lb.ID], c.NLBListeners[l.ID], c.NLBServerGroups[g.ID] = lb, l, g
	return c, lb, l, g
}

// A listener of NLB listens at every address of its load balancer that is on loopback, and forwards to the servers of its group.
func TestDeriveNLB(t *testing.T) {
	t.Parallel()
	c, _, _, _ := withNLB()
	w := derive(c, Ranges{})
	spec := w.byKey[listenerKey{"nlb-1", 81, protoTCP}]
	if spec == nil {
		t.Fatal("there is no listener")
	}
	if spec.established != time.Minute || spec.drain != 10*time.Second {
		t.Errorf("the listener is %+v", spec)
	}
	var targets []string
	for _, target := range spec.pool.targets {
		text := target.id.addr.String()
		if target.down != "" {
			text = "down"
		}
		targets = append(targets, text)
	}
	if diff := cmp.Diff([]string{"127.0.1.1:8080", "127.0.2.1:8080", "127.0.9.9:8080", "down"}, targets); diff != "" {
		t.Error(diff)
	}
	want := checkup{
		kind: "http", interval: 5 * time.Second, timeout: 4 * time.Second, rise: 2, fall: 3, method: "get", uri: "/ok",
		codes: "http_2xx,http_3xx",
	}
	if got := spec.pool.targets[0].probe.how.Value(); got != want {
		t.Errorf("the check is %+v, want %+v", got, want)
	}
}

// The servers of a UDP port are checked as its group says: by UDP, or by TCP, which is the cloud's default.
func TestDeriveChecksOfUDPByNLB(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]checkup{
		"UDP": {kind: protoUDP, interval: 5 * time.Second, timeout: 4 * time.Second, rise: 2, fall: 3, send: "ping", expect: "pong"},
		"TCP": {kind: protoTCP, interval: 5 * time.Second, timeout: 4 * time.Second, rise: 2, fall: 3},
	} {
		c, _, l, g := withNLB()
		l.Protocol, g.Protocol = "UDP", "UDP"
		g.HealthCheck = state.NLBHealthCheck{
			Type: kind, HealthyThreshold: 2, UnhealthyThreshold: 3, ConnectTimeout: 4, Interval: 5, Request: "ping", Response: "pong",
		}
		spec := derive(c, Ranges{}).byKey[listenerKey{"nlb-1", 81, protoUDP}]
		if got := spec.pool.targets[0].probe.how.Value(); got != want {
			t.Errorf("%s: the check is %+v, want %+v", kind, got, want)
		}
	}
}

// A server that speaks only UDP gets datagrams when it is checked by UDP, and none when it is checked by TCP.
func TestUDPServersOfNLB(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	address := nlbAt(t, b, udpServer(t, "a"), func(l *state.NLBListener, g *state.NLBServerGroup) {
		l.Protocol, g.Protocol = "UDP", "UDP"
		g.HealthCheck = state.NLBHealthCheck{Type: "UDP", HealthyThreshold: 1, UnhealthyThreshold: 1, ConnectTimeout: 1, Interval: 1}
	})
	send := udpClient(t, "127.0.0.9", address, silence)
	eventually(t, "a datagram is answered", func() bool { return strings.HasPrefix(send("x"), "a ") })
	b.change(func(c *state.Cloud) { c.NLBServerGroups["sgp-1"].HealthCheck.Type = "TCP" })
	eventually(t, "the server is out", func() bool { return !strings.HasPrefix(send("x"), "a ") })
}

func TestDeriveNLBSockets(t *testing.T) {
	t.Parallel()
	both := []string{"127.47.0.8:81/tcp", "127.48.0.9:81/tcp"}
	for name, tt := range map[string]struct {
		change func(*state.Cloud, *state.NLB, *state.NLBListener)
		want   []string
	}{
		"running": {func(*state.Cloud, *state.NLB, *state.NLBListener) {}, both},
		"configuring": {func(_ *state.Cloud, lb *state.NLB, l *state.NLBListener) {
			l.Status, lb.Status = "Configuring", "Configuring"
		}, both},
		"stopped": {func(_ *state.Cloud, _ *state.NLB, l *state.NLBListener) { l.Status = "Stopped" }, nil},
		"UDP": {
			func(_ *state.Cloud, _ *state.NLB, l *state.NLBListener) { l.Protocol = "UDP" },
			[]string{"127.47.0.8:81/udp", "127.48.0.9:81/udp"},
		},
		"TLS": {
			func(_ *state.Cloud, _ *state.NLB, l *state.NLBListener) { l.Protocol = "TCPSSL" },
			[]string{"127.47.0.8:81/tcpssl", "127.48.0.9:81/tcpssl"},
		},
		"shifted":      {func(_ *state.Cloud, lb *state.NLB, _ *state.NLBListener) { lb.Zones[0].Status = "Shifted" }, both[1:]},
		"provisioning": {func(_ *state.Cloud, lb *state.NLB, _ *state.NLBListener) { lb.Status = "Provisioning" }, nil},
		"no group":     {func(c *state.Cloud, _ *state.NLB, _ *state.NLBListener) { clear(c.NLBServerGroups) }, nil},
	} {
		c, lb, l, _ := withNLB()
		tt.change(c, lb, l)
		due := time.Unix(1e9, 0)
		c.NLBJobs["j"], c.NLBRunningJobs = &state.NLBJob{EndsAt: due}, []string{"j"}
		w := derive(c, Ranges{})
		var got []string
		for s := range w.listeners {
			if s.addr.Port() == 81 {
				got = append(got, s.addr.String()+"/"+s.protocol)
			}
		}
		if slices.Sort(got); !slices.Equal(got, tt.want) || !w.due.Equal(due) {
			t.Errorf("%s: %v until %v, want %v", name, got, w.due, tt.want)
		}
	}
}

// A listener with a range of ports listens at each of them, and forwards to the server's port of the same number.
// Security groups say port by port who is let in.
func TestPortRange(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	at := b.address.Next()
	first := consecutivePorts(t, at)
	b.change(func(c *state.Cloud) {
		c.SecurityGroups["sg"] = &state.SecurityGroup{ID: "sg", VpcID: "v"}
		c.NLBServerGroups["sgp"] = &state.NLBServerGroup{ID: "sgp", AnyPort: true, HealthCheck: state.NLBHealthCheck{
			Type: "TCP", ConnectPort: first, HealthyThreshold: 1, UnhealthyThreshold: 1, ConnectTimeout: 1, Interval: 1,
		}, Servers: []*state.NLBServer{{Type: "Ip", ServerID: at.String(), ServerIP: at.String(), Weight: 1}}}
		c.NLBListeners["l"] = &state.NLBListener{
			ID: "l", NLBID: "nlb-1", Protocol: "TCP", StartPort: first, EndPort: first + 1, Status: "Running",
			ServerGroupID: "sgp", IdleTimeout: 900,
		}
		c.NLBs["nlb-1"] = &state.NLB{ID: "nlb-1", Status: "Active", SecurityGroupIDs: []string{"sg"},
			Zones: []*state.NLBZone{{Status: "Active", PrivateIP: b.address.String()}}}
	})
	for n := range 2 {
		address := netip.AddrPortFrom(b.address, uint16(first+n)).String()
		want := fmt.Sprintf("port %d for 127.0.0.9", first+n)
		eventually(t, want, func() bool { return greeting(t, "127.0.0.9", address) == want })
	}
	for _, l := range b.plane.Listeners() {
		if want := netip.AddrPortFrom(at, l.Address.Port()).String(); len(l.Servers) != 1 || l.Servers[0].Address != want {
			t.Errorf("%s forwards to %+v, want %s", l.Address, l.Servers, want)
		}
	}
	b.change(func(c *state.Cloud) {
		c.SecurityGroups["sg"].Rules = []state.SecurityRule{{Direction: "ingress", Policy: "Drop", Priority: "1", SourceCidr: "0.0.0.0/0",
			IPProtocol: "TCP", PortRange: fmt.Sprintf("%d/%d", first, first)}}
	})
	for n, want := range []string{"error", fmt.Sprintf("port %d for 127.0.0.9", first+1)} {
		if got := greeting(t, "127.0.0.9", netip.AddrPortFrom(b.address, uint16(first+n)).String()); got != want {
			t.Errorf("port %d behind the security group: %q, want %q", n, got, want)
		}
	}
	b.change(func(c *state.Cloud) { c.NLBListeners["l"].StartPort, c.NLBListeners["l"].EndPort = 1, maxPort })
	shown := b.plane.Listeners()
	if len(shown) != 1 || !strings.Contains(shown[0].Problem, "range of 65535 ports") {
		t.Errorf("a range of all ports: %+v", shown)
	}
}

const maxPort = 65535

// consecutivePorts serves two ports in a row of an address, each with a line that says which it is. It returns the first one.
func consecutivePorts(t *testing.T, at netip.Addr) int {
	t.Helper()
	serve := func(ln net.Listener) {
		t.Cleanup(func() { ln.Close() })
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			fmt.Fprintf(conn, "port %d for %s\n", local(conn).Port(), remote(conn).Addr())
			conn.Close()
		}
	}
	for range 1000 {
		first, err := net.Listen("tcp", netip.AddrPortFrom(at, 0).String())
		if err != nil {
			t.Fatal(err)
		}
		port := parseAddr(first.Addr().String()).Port()
		second, err := net.Listen("tcp", netip.AddrPortFrom(at, port+1).String())
		if err != nil {
			first.Close()
			continue
		}
		go serve(first)
		go serve(second)
		return int(port)
	}
	t.Fatal("no two ports in a row are free")
	return 0
}

// nlbAt adds a Network Load Balancer with a listener in front of one server to a bed. It returns the listener's address.
func nlbAt(t *testing.T, b *bed, port int, change func(*state.NLBListener, *state.NLBServerGroup)) string {
	t.Helper()
	listens := b.freePort(protoTCP)
	g := &state.NLBServerGroup{ID: "sgp-1", Scheduler: "Rr", HealthCheck: state.NLBHealthCheck{Off: true}, Servers: []*state.NLBServer{
		{Type: "Ip", ServerID: "127.0.0.1", ServerIP: "127.0.0.1", Port: port, Weight: 1},
	}}
	l := &state.NLBListener{
		ID: "l", NLBID: "nlb-1", Protocol: "TCP", Port: listens, Status: "Running", ServerGroupID: g.ID, IdleTimeout: 900,
	}
	change(l, g)
	b.change(func(c *state.Cloud) {
		zones := []*state.NLBZone{{Status: "Active", PrivateIP: b.address.String()}}
		c.NLBs["nlb-1"] = &state.NLB{ID: "nlb-1", VpcID: "vpc-1", Status: "Active", Zones: zones}
		c.NLBServerGroups[g.ID], c.NLBListeners[l.ID] = g, l
	})
	return netip.AddrPortFrom(b.address, uint16(listens)).String()
}

// A listener that ends TLS serves the certificate of the name that is asked for and the protocols of its policy. Servers see the load
// balancer's address.
func TestTCPSSL(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.change(func(c *state.Cloud) {
		for _, name := range []string{"web.example", "shop.example"} {
			certificate, key := selfSigned(t, name)
			c.UserCertificates[name] = &state.UserCertificate{ID: name, PEM: certificate + key}
		}
	})
	address := nlbAt(t, b, tcpServer(t, "a"), func(l *state.NLBListener, _ *state.NLBServerGroup) {
		l.Protocol, l.CertificateIDs, l.Additional = "TCPSSL", []string{"web.example"}, []state.NLBCertificate{{ID: "shop.example"}}
		l.Alpn, l.AlpnPolicy, l.SecurityPolicyID = true, "HTTP2Preferred", "tls_cipher_policy_1_2"
	})
	for name, want := range map[string]string{"web.example": "web.example", "shop.example": "shop.example", "": "web.example"} {
		conn := tls.Client(connect(t, "127.0.0.9", address), &tls.Config{
			ServerName: name, InsecureSkipVerify: true, NextProtos: []string{"http/1.1", "h2"},
		})
		line, err := bufio.NewReader(conn).ReadString('\n')
		if want := "a " + b.address.String() + "\n"; line != want || err != nil {
			t.Fatalf("the server says %q, %v, want %q", line, err, want)
		}
		s := conn.ConnectionState()
		if got := s.PeerCertificates[0].Subject.CommonName; got != want || s.NegotiatedProtocol != "h2" {
			t.Errorf("who asks for %q gets %q and %q", name, got, s.NegotiatedProtocol)
		}
		conn.Close()
	}
	if _, _, err := handshake(t, address, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is served by a policy of 1.2")
	}
	plain := connect(t, "127.0.0.1", address)
	if _, err := io.WriteString(plain, "GET / HTTP/1.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, _ := io.ReadAll(plain); strings.HasPrefix(string(answer), "a ") {
		t.Errorf("who speaks no TLS gets %q", answer)
	}
}

// With the PROXY protocol servers are told the client's address, and the VPC if that is asked for; with preservation
// off they see the load balancer's.
func TestClientAddressesOfNLB(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const vpc = "vpc-1"
	header := func(conn net.Conn) string {
		raw := make([]byte, 28+4+len(vpc))
		if _, err := io.ReadFull(conn, raw); err != nil {
			return err.Error()
		}
		from, _ := netip.AddrFromSlice(raw[16:20])
		to, _ := netip.AddrFromSlice(raw[20:24])
		return fmt.Sprintf("%q %x %s %s %q", raw[:12], raw[12:16], netip.AddrPortFrom(from, binary.BigEndian.Uint16(raw[24:])),
			netip.AddrPortFrom(to, binary.BigEndian.Uint16(raw[26:])), raw[28:])
	}
	seen := make(chan string, 1)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		seen <- remote(conn).Addr().String() + " " + header(conn)
	}()
	address := nlbAt(t, b, ln.Addr().(*net.TCPAddr).Port, func(l *state.NLBListener, g *state.NLBServerGroup) {
		l.ProxyProtocol, g.ClientIPOff, l.ProxyV2.VpcID = true, true, true
	})
	client := connect(t, "127.0.0.9", address)
	want := fmt.Sprintf("%s %q 21110015 %s %s %q", b.address, "\r\n\r\n\x00\r\nQUIT\n", client.LocalAddr(), address, "\xe1\x00\x06\x01"+vpc)
	if got := <-seen; got != want {
		t.Errorf("the server sees\n%s, want\n%s", got, want)
	}
}
