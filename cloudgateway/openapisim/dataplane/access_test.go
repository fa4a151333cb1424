package dataplane

import (
	"bufio"
	"net"
	"net/netip"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func TestAccessLists(t *testing.T) {
	t.Parallel()
	lists := map[string]*state.Acl{
		"one":   {Entries: []state.AclEntry{{Entry: "127.0.0.0/24"}, {Entry: "127.0.5.5"}}},
		"two":   {Entries: []state.AclEntry{{Entry: "127.0.7.0/24"}}},
		"empty": {},
	}
	for _, tt := range []struct {
		name, status, kind string
		ids                []string
		want               map[string]bool
	}{
		{"off", "off", "white", []string{"one"}, map[string]bool{"127.0.0.1": true, "127.0.1.1": true}},
		{"white", "on", "white", []string{"one"}, map[string]bool{"127.0.0.1": true, "127.0.5.5": true, "127.0.5.6": false, "::1": false}},
		{"two white ones", "on", "white", []string{"one", "two"}, map[string]bool{"127.0.0.1": true, "127.0.7.9": true, "127.0.8.1": false}},
		{"black", "on", "black", []string{"one"}, map[string]bool{"127.0.0.1": false, "127.0.5.5": false, "127.0.5.6": true}},
		{"white and empty", "on", "white", []string{"empty"}, map[string]bool{"127.0.0.1": true}},
		{"white and gone", "on", "white", []string{"none"}, map[string]bool{"127.0.0.1": true}},
		{"black and empty", "on", "black", []string{"empty"}, map[string]bool{"127.0.0.1": true}},
	} {
		a := accessOf(&state.Cloud{Acls: lists}, &state.Listener{AclIDs: tt.ids, Attributes: map[string]string{
			"AclStatus": tt.status, "AclType": tt.kind,
		}})
		for client, want := range tt.want {
			if got := a.admits(netip.MustParseAddr(client)); got != want {
				t.Errorf("%s: %s is let in: %t", tt.name, client, got)
			}
		}
	}
}

func TestAccessBySecurityGroups(t *testing.T) {
	t.Parallel()
	rule := func(policy, priority, from, protocol, ports string) state.SecurityRule {
		return state.SecurityRule{Direction: "ingress", Policy: policy, Priority: priority, SourceCidr: from, IPProtocol: protocol,
			PortRange: ports}
	}
	dropAll := rule("Drop", "100", "0.0.0.0/0", "ALL", "-1/-1")
	for _, tt := range []struct {
		name   string
		groups []string
		rules  []state.SecurityRule
		want   map[string]bool
	}{
		{"no group", nil, nil, map[string]bool{"10.0.0.1": true}},
		{"no rules", []string{"g"}, nil, map[string]bool{"10.0.0.1": true}},
		{"accepts without a drop let everybody in", []string{"g"},
			[]state.SecurityRule{rule("Accept", "1", "10.0.0.0/8", "TCP", "80/80")}, map[string]bool{"10.0.0.1": true, "11.0.0.1": true}},
		{"white list", []string{"g"},
			[]state.SecurityRule{dropAll, rule("accept", "1", "10.0.0.0/8", "TCP", "1/100")},
			map[string]bool{"10.0.0.1": true, "11.0.0.1": false, "::1": true}},
		{"another port", []string{"g"},
			[]state.SecurityRule{dropAll, rule("Accept", "1", "10.0.0.0/8", "TCP", "81/90")}, map[string]bool{"10.0.0.1": false}},
		{"another protocol", []string{"g"},
			[]state.SecurityRule{dropAll, rule("Accept", "1", "10.0.0.0/8", "UDP", "80/80")}, map[string]bool{"10.0.0.1": false}},
		{"dropping goes first", []string{"g"},
			[]state.SecurityRule{rule("Accept", "5", "10.0.0.0/8", "ALL", "-1/-1"), rule("Drop", "5", "10.1.0.0/16", "ALL", "-1/-1")},
			map[string]bool{"10.0.0.1": true, "10.1.0.1": false}},
		{"a smaller priority goes first", []string{"g"},
			[]state.SecurityRule{rule("Drop", "5", "10.0.0.0/8", "ALL", "-1/-1"), rule("Accept", "4", "10.1.0.0/16", "ALL", "-1/-1")},
			map[string]bool{"10.0.0.1": false, "10.1.0.1": true}},
		{"IPv6", []string{"g"},
			[]state.SecurityRule{{Policy: "Drop", Priority: "1", Ipv6SourceCidr: "::/0", IPProtocol: "ALL"}},
			map[string]bool{"::1": false, "10.0.0.1": true}},
		{"members of a group", []string{"g"},
			[]state.SecurityRule{dropAll, {Policy: "Accept", Priority: "1", GroupID: "peers", IPProtocol: "TCP", PortRange: "80/80"}},
			map[string]bool{"10.0.0.1": false, "10.9.0.1": true, "10.9.0.2": true}},
		{"a prefix list", []string{"g"},
			[]state.SecurityRule{dropAll, {Policy: "Accept", Priority: "1", PrefixListID: "pl", IPProtocol: "TCP", PortRange: "80/80"}},
			map[string]bool{"10.0.0.1": false, "192.0.2.7": true, "::7": true}},
		{"out of the load balancer", []string{"g"},
			[]state.SecurityRule{{Direction: "egress", Policy: "Drop", Priority: "1", DestCidr: "0.0.0.0/0", IPProtocol: "ALL"}},
			map[string]bool{"10.0.0.1": true}},
	} {
		c := &state.Cloud{
			SecurityGroups:  map[string]*state.SecurityGroup{"g": {Rules: tt.rules}},
			RulePrefixLists: map[string]*state.RulePrefixList{"pl": {Entries: []state.RulePrefix{{Cidr: "192.0.2.0/24"}}}},
			Instances:       map[string]*state.Instance{"i": {SecurityGroupIDs: []string{"peers"}, PrivateIPs: []string{"10.9.0.1"}}},
			Interfaces:      map[string]*state.NetworkInterface{"e": {SecurityGroupIDs: []string{"peers"}, PrivateIPs: []string{"10.9.0.2"}}},
		}
		a := nlbAccess(c, &state.NLB{SecurityGroupIDs: tt.groups}, "TCP", 80)
		for client, want := range tt.want {
			if got := a.admits(netip.MustParseAddr(client)); got != want {
				t.Errorf("%s: %s is let in: %t", tt.name, client, got)
			}
		}
	}
}

// An access list keeps out who isn't in it, as soon as it is on, and connections that exist go on.
func TestAccessListUnderTraffic(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g", server(tcpServer(t, "a"), 100))
	address := b.listen(protoTCP)
	before := connect(t, "127.0.5.1", address)
	reader := bufio.NewReader(before)
	if line, err := reader.ReadString('\n'); err != nil || line != "a 127.0.5.1\n" {
		t.Fatalf("%q, %v", line, err)
	}
	b.change(func(c *state.Cloud) {
		c.Acls["acl"] = &state.Acl{Entries: []state.AclEntry{{Entry: "127.0.0.0/24"}}}
		l := b.listener(0)
		l.AclIDs, l.Attributes["AclStatus"], l.Attributes["AclType"] = []string{"acl"}, "on", "white"
	})
	if got := greeting(t, "127.0.5.1", address); got != "error" {
		t.Errorf("who isn't in the list gets %q", got)
	}
	if got := greeting(t, "127.0.0.7", address); got != "a 127.0.0.7" {
		t.Errorf("who is in the list gets %q", got)
	}
	if _, err := before.Write([]byte("still here\n")); err != nil {
		t.Error(err)
	}
	if line, err := reader.ReadString('\n'); err != nil || line != "still here\n" {
		t.Errorf("the connection of before: %q, %v", line, err)
	}
	b.change(func(c *state.Cloud) { c.Acls["acl"].Entries[0].Entry = "127.0.5.0/24" })
	if got := greeting(t, "127.0.5.1", address); got != "a 127.0.5.1" {
		t.Errorf("who is in the list by now gets %q", got)
	}
}

// A UDP listener answers nobody whom its access list keeps out.
func TestAccessListOfUDP(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g", server(udpServer(t, "a"), 100))
	address := b.listen(protoUDP)
	b.change(func(c *state.Cloud) {
		c.Acls["acl"] = &state.Acl{Entries: []state.AclEntry{{Entry: "127.0.0.7"}}}
		l := b.listener(0)
		l.AclIDs, l.Attributes["AclStatus"], l.Attributes["AclType"] = []string{"acl"}, "on", "black"
	})
	ask := func(from string, wait time.Duration) string {
		conn, err := (&net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(from)}}).Dial(protoUDP, address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		answer := make([]byte, 100)
		if _, err := conn.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(wait))
		n, _ := conn.Read(answer)
		return string(answer[:n])
	}
	if got := ask("127.0.0.8", time.Minute); got != "a 127.0.0.8 x" {
		t.Errorf("who isn't in the list gets %q", got)
	}
	if got := ask("127.0.0.7", silence); got != "" {
		t.Errorf("who is in the list gets %q", got)
	}
}

// Security groups keep out who may not come in, and end connections of before.
func TestSecurityGroupUnderTraffic(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	port := b.freePort(protoTCP)
	b.change(func(c *state.Cloud) {
		c.NLBs["nlb-1"] = &state.NLB{ID: "nlb-1", Status: "Active", Zones: []*state.NLBZone{{Status: "Active", PrivateIP: b.address.String()}}}
		c.NLBServerGroups["sgp-1"] = &state.NLBServerGroup{ID: "sgp-1", Scheduler: "Rr", HealthCheck: state.NLBHealthCheck{Off: true},
			Servers: []*state.NLBServer{{Type: "Ip", ServerID: "127.0.0.1", ServerIP: "127.0.0.1", Port: tcpServer(t, "a"), Weight: 1}}}
		c.NLBListeners["l"] = &state.NLBListener{ID: "l", NLBID: "nlb-1", Protocol: "TCP", Port: port, Status: "Running", ServerGroupID: "sgp-1",
			IdleTimeout: 900}
		c.SecurityGroups["sg-1"] = &state.SecurityGroup{ID: "sg-1", Rules: []state.SecurityRule{
			{Policy: "Accept", Priority: "1", SourceCidr: "127.0.0.0/24", IPProtocol: "TCP", PortRange: "1/65535"},
			{Policy: "Drop", Priority: "100", SourceCidr: "0.0.0.0/0", IPProtocol: "ALL", PortRange: "-1/-1"},
		}}
	})
	address := netip.AddrPortFrom(b.address, uint16(port)).String()
	inside, outside := connect(t, "127.0.0.7", address), connect(t, "127.0.5.1", address)
	for _, conn := range []net.Conn{inside, outside} {
		if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	b.change(func(c *state.Cloud) { c.NLBs["nlb-1"].SecurityGroupIDs = []string{"sg-1"} })
	if got := greeting(t, "127.0.5.1", address); got != "error" {
		t.Errorf("who may not come in gets %q", got)
	}
	if got := greeting(t, "127.0.0.7", address); got != "a 127.0.0.7" {
		t.Errorf("who may come in gets %q", got)
	}
	if _, err := bufio.NewReader(outside).ReadByte(); err == nil {
		t.Error("the connection of before goes on")
	}
	if _, err := inside.Write([]byte("y\n")); err != nil {
		t.Error(err)
	}
	if line, err := bufio.NewReader(inside).ReadString('\n'); err != nil || line != "y\n" {
		t.Errorf("the connection of one who may come in: %q, %v", line, err)
	}
}
