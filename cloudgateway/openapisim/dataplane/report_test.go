package dataplane

import (
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func TestListeners(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	port := tcpServer(t, "a")
	elsewhere := &state.Server{Type: "ecs", ServerID: "i-2", Port: 80, Weight: 50}
	b.change(func(c *state.Cloud) {
		c.Instances["i-2"] = &state.Instance{ID: "i-2", Status: "Running", PrivateIPs: []string{"192.168.0.2"}}
	})
	b.group("g", server(port, 100), elsewhere)
	address := b.listen(protoTCP)
	if got := greeting(t, "127.0.0.1", address); got == "error" {
		t.Fatal("no greeting")
	}
	connections := func() (n int) {
		for _, l := range b.plane.Listeners() {
			for _, s := range l.Servers {
				n += s.Connections
			}
		}
		return n
	}
	eventually(t, "the greeting's connection ends", func() bool { return connections() == 0 })
	conn := connect(t, "127.0.0.1", address)
	eventually(t, "the connection is counted", func() bool { return connections() == 1 })

	squatter, err := net.Listen("tcp", b.address.String()+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer squatter.Close()
	taken := netip.MustParseAddrPort(squatter.Addr().String())
	b.change(func(c *state.Cloud) {
		lb := c.LoadBalancers[lbID]
		lb.Listeners = append(lb.Listeners, &state.Listener{
			Port: int(taken.Port()), Protocol: protoHTTP, Status: "running", Attributes: map[string]string{"VServerGroupId": "g"},
		})
	})
	servers := func(health, down string, connections int) []Server {
		return []Server{
			{ServerID: "i-1", Address: fmt.Sprintf("127.0.0.1:%d", port), Weight: 100, Health: unavailable, Connections: connections},
			{ServerID: "i-2", Address: "192.168.0.2:80", Weight: 50, Health: health, Problem: down},
		}
	}
	const away = "the address is neither on loopback nor permitted; seed the instance with privateIps in 127.0.0.0/8 or permit its range"
	want := map[string]Listener{
		protoTCP:  {Address: netip.MustParseAddrPort(address), Protocol: protoTCP, LoadBalancerID: lbID, Servers: servers(unavailable, away, 1)},
		protoHTTP: {Address: taken, Protocol: protoHTTP, LoadBalancerID: lbID, Problem: "in use", Servers: servers(abnormal, away, 0)},
	}
	got := map[string]Listener{}
	for _, l := range b.plane.Listeners() {
		if l.Problem != "" {
			l.Problem = "in use"
		}
		for i := range l.Servers {
			if l.Protocol == protoHTTP && l.Servers[i].ServerID == "i-1" {
				l.Servers[i].Health = unavailable // its checks may have succeeded already
			}
		}
		got[l.Protocol] = l
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("listeners (-want +got):\n%s", diff)
	}
	conn.Close()
	eventually(t, "the connection ends", func() bool { return connections() == 0 })
}
