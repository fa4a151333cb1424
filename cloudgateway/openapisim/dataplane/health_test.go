package dataplane

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"testing"
	"unique"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The health that is reported and the traffic follow what really answers.
func TestHealthIsTheTruth(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var failing atomic.Bool
	check := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/ok" || r.Host != "check.example" || failing.Load() {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	closed := closedTCP(t)
	one, two := server(tcpServer(t, "a"), 50), server(closed, 50)
	b.group("g", one, two)
	address := b.listen(protoTCP, "HealthCheckSwitch", "on", "HealthCheckInterval", "1", "HealthyThreshold", "1", "UnhealthyThreshold", "1")
	health := func(s *state.Server) string { return b.plane.Health(lbID, b.listener(0), s) }
	eventually(t, "both are checked", func() bool { return health(one) == normal && health(two) == abnormal })
	for range 4 {
		if got := greeting(t, "127.0.0.1", address); got != "a 127.0.0.1" {
			t.Errorf("greeting %q, want that of the healthy server", got)
		}
	}
	if got := health(server(1, 1)); got != unavailable {
		t.Errorf("an unknown server is %s", got)
	}

	b.change(func(*state.Cloud) {
		a := b.listener(0).Attributes
		a["HealthCheckType"], a["HealthCheckURI"], a["HealthCheckDomain"], a["HealthCheckMethod"] = "http", "/ok", "check.example", "get"
		a["HealthCheckConnectPort"] = strconv.Itoa(check)
	})
	eventually(t, "the check by HTTP passes", func() bool { return health(one) == normal && health(two) == normal })
	failing.Store(true)
	eventually(t, "the check by HTTP fails", func() bool { return health(one) == abnormal })
	eventually(t, "clients are refused", func() bool { return greeting(t, "127.0.0.1", address) == "error" })
	failing.Store(false)
	eventually(t, "the server is back", func() bool { return greeting(t, "127.0.0.1", address) == "a 127.0.0.1" })

	b.change(func(c *state.Cloud) { c.Instances["i-1"].Status = "Stopped" })
	if got := health(one); got != abnormal {
		t.Errorf("the server of a stopped instance is %s", got)
	}
	b.change(func(*state.Cloud) { b.listener(0).Attributes["HealthCheckSwitch"] = "off" })
	if got := health(one); got != unavailable {
		t.Errorf("without health checks the server is %s", got)
	}
}

// The slave of a master-slave group serves only while its master fails.
func TestMasterSlaveGroup(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	master, slave := server(tcpServer(t, "master"), 100), server(tcpServer(t, "slave"), 100)
	slave.Standby, slave.ServerID = true, "i-2"
	b.change(func(c *state.Cloud) {
		c.Instances["i-2"] = &state.Instance{ID: "i-2", Status: "Running", PrivateIPs: []string{"127.0.0.1"}}
		servers := []*state.Server{slave, master}
		c.ServerGroups["pair"] = &state.ServerGroup{ID: "pair", LoadBalancerID: lbID, MasterSlave: true, Servers: servers}
	})
	address := b.listen(protoTCP, "VServerGroupId", "", "MasterSlaveServerGroupId", "pair")
	for range 4 {
		if got := greeting(t, "127.0.0.1", address); got != "master 127.0.0.1" {
			t.Errorf("greeting %q, want that of the master", got)
		}
	}
	b.change(func(c *state.Cloud) { c.Instances["i-1"].Status = "Stopped" })
	if got := greeting(t, "127.0.0.1", address); got != "slave 127.0.0.1" {
		t.Errorf("greeting %q, want that of the slave while the master is stopped", got)
	}
	b.change(func(c *state.Cloud) { c.Instances["i-1"].Status = "Running" })
	if got := greeting(t, "127.0.0.1", address); got != "master 127.0.0.1" {
		t.Errorf("greeting %q, want that of the master again", got)
	}
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	var agent atomic.Value
	web := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		agent.Store(r.Method + " " + r.UserAgent())
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})
	closed := closedTCP(t)
	tests := []struct {
		name string
		how  checkup
		port int
		want bool
	}{
		{"tcp open", checkup{kind: protoTCP}, tcpServer(t, "a"), true},
		{"tcp closed", checkup{kind: protoTCP}, closed, false},
		{"http with its code", checkup{kind: protoHTTP, method: "head", uri: "/", codes: "http_2xx,http_3xx"}, web, true},
		{"http with another code", checkup{kind: protoHTTP, method: "head", uri: "/", codes: "http_2xx"}, web, false},
		{"http closed", checkup{kind: protoHTTP, method: "head", uri: "/", codes: "http_2xx"}, closed, false},
		{"http to something else", checkup{kind: protoHTTP, method: "head", uri: "/", codes: "http_2xx"}, tcpServer(t, "a"), false},
		{"http nonsense", checkup{kind: protoHTTP, method: "he ad", uri: "/", codes: "http_2xx"}, web, false},
		{"udp silent", checkup{kind: protoUDP, interval: silence}, silentUDP(t), true},
		{"udp answers", checkup{kind: protoUDP, send: "x"}, udpServer(t, "a"), true},
		{"udp expected", checkup{kind: protoUDP, send: "x", expect: "a 127.0.0.1 x"}, udpServer(t, "a"), true},
		{"udp unexpected", checkup{kind: protoUDP, send: "x", expect: "y"}, udpServer(t, "a"), false},
		{"udp expected but silent", checkup{kind: protoUDP, send: "x", expect: "y", timeout: silence}, silentUDP(t), false},
		{"udp refused", checkup{kind: protoUDP, send: "x"}, closedUDP(t), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.how.timeout, tt.how.interval = cmp.Or(tt.how.timeout, patience), cmp.Or(tt.how.interval, patience)
			p := probe{addr: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(tt.port)), how: unique.Make(tt.how)}
			if got := attempt(t.Context(), p); got != tt.want {
				t.Errorf("passed: %t", got)
			}
		})
	}
	if got := agent.Load(); got != "HEAD KeepAliveClient" {
		t.Errorf("the check was %v", got)
	}
}

// closedTCP returns a port on which nobody listens while the test runs: that of a client.
func closedTCP(t *testing.T) int {
	t.Helper()
	return connect(t, "127.0.0.1", fmt.Sprintf("127.0.0.1:%d", tcpServer(t, "holder"))).LocalAddr().(*net.TCPAddr).Port
}

func silentUDP(t *testing.T) int {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.LocalAddr().(*net.UDPAddr).Port
}

// closedUDP returns a port whose socket is connected elsewhere: for everybody else it is closed.
func closedUDP(t *testing.T) int {
	t.Helper()
	conn, err := net.Dial("udp", fmt.Sprintf("127.0.0.1:%d", silentUDP(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.LocalAddr().(*net.UDPAddr).Port
}
