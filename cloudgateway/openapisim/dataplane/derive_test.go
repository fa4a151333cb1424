package dataplane

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func off() *bool { return new(bool) }

// demo is a cloud with a load balancer of its own, an EIP on it, and servers of every kind.
func demo() *state.Cloud {
	c := state.New("cn-hangzhou", "1")
	c.LoadBalancers["lb-1"] = &state.LoadBalancer{
		ID: "lb-1", Address: "127.47.0.1", Status: "active",
		Listeners:      []*state.Listener{{Port: 80, Protocol: "tcp", Status: "running", Attributes: map[string]string{"VServerGroupId": "g"}}},
		DefaultServers: []*state.Server{{ServerID: "i-1", Weight: 100}},
	}
	c.Eips["eip-1"] = &state.Eip{ID: "eip-1", Address: "127.49.0.1", InstanceID: "lb-1", Status: "InUse"}
	c.Instances = map[string]*state.Instance{
		"i-1": {ID: "i-1", Status: "Running", PrivateIPs: []string{"127.0.1.1"}},
		"i-2": {ID: "i-2", Status: "Stopped", PrivateIPs: []string{"127.0.1.2"}},
		"i-3": {ID: "i-3", Status: "Running", PrivateIPs: []string{"127.0.1.3"}, Healthy: off()},
		"i-4": {ID: "i-4", Status: "Running", PrivateIPs: []string{"192.168.0.4"}},
		"i-5": {ID: "i-5", Status: "Running", PrivateIPs: []string{"10.9.0.5"}},
	}
	c.Interfaces["eni-1"] = &state.NetworkInterface{ID: "eni-1", InstanceID: "i-1", PrimaryIP: "127.0.2.1"}
	c.Interfaces["eni-2"] = &state.NetworkInterface{ID: "eni-2", PrimaryIP: "127.0.2.2"} // attached to nothing
	c.ServerGroups["g"] = &state.ServerGroup{ID: "g", LoadBalancerID: "lb-1",
		Servers: []*state.Server{{Type: "ecs", ServerID: "i-1", Port: 8080, Weight: 100}}}
	return c
}

func TestDeriveSockets(t *testing.T) {
	t.Parallel()
	due := time.Unix(1e9, 0)
	both := []string{"127.47.0.1:80/tcp", "127.49.0.1:80/tcp"}
	tests := []struct {
		name   string
		change func(*state.Cloud, *state.LoadBalancer, *state.Listener)
		want   []string
		due    time.Time
	}{
		{"running", func(*state.Cloud, *state.LoadBalancer, *state.Listener) {}, both, time.Time{}},
		{"configuring", func(_ *state.Cloud, _ *state.LoadBalancer, l *state.Listener) { l.Status = "configuring" }, both, time.Time{}},
		{"stopped", func(_ *state.Cloud, _ *state.LoadBalancer, l *state.Listener) { l.Status = "stopped" }, nil, time.Time{}},
		{"starting", func(_ *state.Cloud, _ *state.LoadBalancer, l *state.Listener) { l.Status, l.SettleAt = "starting", due }, nil, due},
		{"not active yet", func(_ *state.Cloud, lb *state.LoadBalancer, _ *state.Listener) {
			lb.Status, lb.ActiveAt = "inactive", due
		}, nil, due},
		{"redirecting", func(_ *state.Cloud, _ *state.LoadBalancer,
			l *state.Listener) {
			l.Attributes["ListenerForward"] = "on"
		}, both, time.Time{}},
		{"locked", func(_ *state.Cloud, lb *state.LoadBalancer, _ *state.Listener) { lb.Status = "locked" }, nil, time.Time{}},
		{"not on loopback", func(_ *state.Cloud, lb *state.LoadBalancer, _ *state.Listener) { lb.Address = "47.96.0.1" }, both[1:], time.Time{}},
		{"every address", func(_ *state.Cloud, lb *state.LoadBalancer, _ *state.Listener) { lb.Address = "0.0.0.0" }, both[1:], time.Time{}},
		{"nonsense", func(_ *state.Cloud, lb *state.LoadBalancer, _ *state.Listener) { lb.Address = "" }, both[1:], time.Time{}},
		{"EIP on its way", func(c *state.Cloud, _ *state.LoadBalancer, _ *state.Listener) {
			c.Eips["eip-1"].Status, c.Eips["eip-1"].BusyUntil = "Associating", due
		}, both[:1], due},
		{"server on its way out", func(c *state.Cloud, _ *state.LoadBalancer, _ *state.Listener) {
			c.Vanishing = []state.Vanishing{{ServerIDs: []string{"i-1"}, At: due}}
		}, both, due},
		{"EIP of others", func(c *state.Cloud, _ *state.LoadBalancer,
			_ *state.Listener) {
			c.Eips["eip-1"].InstanceID = "i-1"
		}, both[:1], time.Time{}},
	}
	for _, tt := range tests {
		c := demo()
		lb := c.LoadBalancers["lb-1"]
		tt.change(c, lb, lb.Listeners[0])
		w := derive(c, Ranges{})
		got := map[string]bool{}
		for s := range w.listeners {
			got[s.addr.String()+"/"+s.protocol] = true
		}
		want := map[string]bool{}
		for _, s := range tt.want {
			want[s] = true
		}
		if diff := cmp.Diff(want, got); diff != "" || !w.due.Equal(tt.due) {
			t.Errorf("%s: due %s, sockets (-want +got):\n%s", tt.name, w.due, diff)
		}
	}
}

func TestDeriveServers(t *testing.T) {
	t.Parallel()
	reach := Ranges{Servers: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}} // such as that of a network namespace
	tests := []struct {
		name   string
		server state.Server
		addr   string
		down   bool
	}{
		{"instance", state.Server{Type: "ecs", ServerID: "i-1", Port: 1}, "127.0.1.1:1", false},
		{"one address of an instance", state.Server{Type: "ecs", ServerID: "i-1", ServerIP: "127.0.1.9", Port: 1}, "127.0.1.9:1", false},
		{"interface", state.Server{Type: "eni", ServerID: "eni-1", Port: 1}, "127.0.2.1:1", false},
		{"one address of an interface", state.Server{Type: "eni", ServerID: "eni-1", ServerIP: "127.0.2.9", Port: 1}, "127.0.2.9:1", false},
		{"stopped", state.Server{Type: "ecs", ServerID: "i-2", Port: 1}, "invalid AddrPort", true},
		{"marked as failed", state.Server{Type: "ecs", ServerID: "i-3", Port: 1}, "invalid AddrPort", true},
		{"not on loopback", state.Server{Type: "ecs", ServerID: "i-4", Port: 1}, "192.168.0.4:1", true},
		{"permitted", state.Server{Type: "ecs", ServerID: "i-5", Port: 1}, "10.9.0.5:1", false},
		{"gone", state.Server{Type: "ecs", ServerID: "i-9", Port: 1}, "invalid AddrPort", true},
		{"detached interface", state.Server{Type: "eni", ServerID: "eni-2", Port: 1}, "invalid AddrPort", true},
	}
	for _, tt := range tests {
		c := demo()
		c.ServerGroups["g"].Servers = []*state.Server{&tt.server}
		w := derive(c, reach)
		got := w.listeners[socket{addr: netip.MustParseAddrPort("127.47.0.1:80"), protocol: "tcp"}].pool.targets[0]
		if got.id.addr.String() != tt.addr || (got.down != "") != tt.down || (len(w.probes) == 0) != tt.down {
			t.Errorf("%s: %s, down %q, %d checks; want %s, down %t", tt.name, got.id.addr, got.down, len(w.probes), tt.addr, tt.down)
		}
	}
}

func TestDeriveHealthChecks(t *testing.T) {
	t.Parallel()
	base := checkup{kind: "tcp", interval: 2 * time.Second, timeout: 5 * time.Second, rise: 3, fall: 3}
	with := func(change func(*checkup)) checkup {
		c := base
		change(&c)
		return c
	}
	web := func(c *checkup) {
		c.kind, c.method, c.uri, c.codes = "http", "HEAD", "/", "http_2xx"
	}
	tests := []struct {
		name, protocol string
		attributes     map[string]string
		want           checkup
	}{
		{"tcp", "tcp", nil, base},
		{"tcp off", "tcp", map[string]string{"HealthCheckSwitch": "off"}, checkup{}},
		{"tcp by http", "tcp", map[string]string{"HealthCheckType": "http"}, with(web)},
		{"all set", "tcp", map[string]string{
			"HealthCheckConnectPort": "90", "HealthCheckInterval": "7", "HealthCheckConnectTimeout": "9",
			"HealthyThreshold": "2", "UnhealthyThreshold": "4",
		}, checkup{kind: "tcp", port: 90, interval: 7 * time.Second, timeout: 9 * time.Second, rise: 2, fall: 4}},
		{"port of the server", "tcp", map[string]string{"HealthCheckConnectPort": "-520"}, base},
		{"udp", "udp", map[string]string{"HealthCheckReq": "ping", "HealthCheckExp": "pong"},
			with(func(c *checkup) { c.kind, c.send, c.expect = "udp", "ping", "pong" })},
		{"http", "http", map[string]string{"HealthCheckURI": "/ok", "HealthCheckDomain": "a.example",
			"HealthCheckMethod": "get", "HealthCheckHttpCode": "http_3xx", "HealthCheckTimeout": "1"}, with(func(c *checkup) {
			web(c)
			c.uri, c.host, c.method, c.codes, c.timeout = "/ok", "a.example", "get", "http_3xx", time.Second
		})},
		{"http of the server's address", "https", map[string]string{"HealthCheckDomain": "$_ip"}, with(web)},
		{"http off", "http", map[string]string{"HealthCheck": "off"}, checkup{}},
	}
	for _, tt := range tests {
		got := attributes(tt.attributes).checkup(tt.protocol)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(checkup{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestDeriveDefaultServers(t *testing.T) {
	t.Parallel()
	for port, want := range map[string]string{"": "127.0.1.1:80", "-520": "127.0.1.1:80", "90": "127.0.1.1:90"} {
		c := demo()
		c.LoadBalancers["lb-1"].Listeners[0].Attributes = map[string]string{"BackendServerPort": port}
		for _, l := range derive(c, Ranges{}).listeners {
			if got := l.pool.targets[0].id.addr.String(); got != want {
				t.Errorf("port %q: %s, want %s", port, got, want)
			}
		}
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	at := netip.MustParsePrefix
	tests := []struct {
		name string
		in   Ranges
		want Ranges
	}{
		{"defaults", Ranges{}, Ranges{Internet: at("127.47.0.0/16"), Intranet: at("127.48.0.0/16")}},
		{"one set", Ranges{Internet: at("127.90.1.1/24")}, Ranges{Internet: at("127.90.1.0/24"), Intranet: at("127.48.0.0/16")}},
		{"overlap", Ranges{Internet: at("127.48.1.0/24")}, Ranges{}},
		{"off loopback", Ranges{Internet: at("198.18.0.0/16")}, Ranges{Internet: at("198.18.0.0/16"), Intranet: at("127.48.0.0/16")}},
		{"multicast", Ranges{Internet: at("224.1.0.0/16")}, Ranges{}},
		{"of a link", Ranges{Internet: at("169.254.0.0/16")}, Ranges{}},
		{"more than loopback", Ranges{Internet: at("127.0.0.0/7")}, Ranges{}},
		{"too small", Ranges{Intranet: at("127.48.0.0/25")}, Ranges{}},
		{"IPv6", Ranges{Intranet: at("::1/128")}, Ranges{}},
		{"blocks of IPv6", Ranges{IPv6: []netip.Prefix{at("2001:db8::/56")}},
			Ranges{Internet: at("127.47.0.0/16"), Intranet: at("127.48.0.0/16")}},
		{"a block of IPv4 for IPv6", Ranges{IPv6: []netip.Prefix{at("10.0.0.0/16")}}, Ranges{}},
		{"half of IPv6", Ranges{IPv6: []netip.Prefix{at("2000::/3")}}, Ranges{}},
		{"a link's block of IPv6", Ranges{IPv6: []netip.Prefix{at("fe80::/64")}}, Ranges{}},
	}
	for _, tt := range tests {
		got, err := tt.in.Complete()
		if got.Internet != tt.want.Internet || got.Intranet != tt.want.Intranet || (err == nil) != tt.want.Internet.IsValid() {
			t.Errorf("%s: %v and %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

func TestListensInItsRanges(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"198.18.0.9": true, "198.19.0.9": true, "198.20.0.9": false, "127.47.0.9": true, "0.0.0.0": false,
	} {
		c := demo()
		c.LoadBalancers["lb-1"].Address = address
		w := derive(c, Ranges{Internet: netip.MustParsePrefix("198.18.0.0/16"), Intranet: netip.MustParsePrefix("198.19.0.0/16")})
		s := socket{addr: netip.AddrPortFrom(netip.MustParseAddr(address), 80), protocol: protoTCP}
		if got := w.listeners[s] != nil; got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}

// A range whose addresses are elsewhere is refused at the start: its listeners could never be opened.
func TestRangeOfOthers(t *testing.T) {
	t.Parallel()
	r, err := Ranges{Internet: netip.MustParsePrefix("203.0.113.0/24")}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(Config{Ranges: r})
	if err == nil || !strings.Contains(err.Error(), "ip route add local 203.0.113.0/24 dev lo") {
		t.Errorf("%v, want what to do", err)
	}
	if r.Internet = netip.MustParsePrefix("127.47.0.0/16"); r.present(t.Context()) != nil {
		t.Error("loopback is refused")
	}
	r.IPv6 = []netip.Prefix{netip.MustParsePrefix("2001:db8:ffff::/64")}
	if err := r.present(t.Context()); err == nil || !strings.Contains(err.Error(), "ip -6 route add local 2001:db8:ffff::/64 dev lo") {
		t.Errorf("%v, want what to do", err)
	}
}
