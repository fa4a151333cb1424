package dataplane

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// A look at 2 000 load balancers with two listeners and 20 servers each.
func BenchmarkDerive(b *testing.B) {
	c := demo()
	for i := range 2000 {
		lb := &state.LoadBalancer{ID: fmt.Sprintf("lb-%d", i), Address: fmt.Sprintf("127.47.%d.%d", i/250, 1+i%250), Status: "active"}
		group := &state.ServerGroup{ID: lb.ID + "-g"}
		for n := range 20 {
			group.Servers = append(group.Servers, &state.Server{Type: "ecs", ServerID: "i-1", Port: 30000 + n, Weight: 100})
		}
		c.ServerGroups[group.ID] = group
		for _, port := range []int{80, 443} {
			lb.Listeners = append(lb.Listeners, &state.Listener{Port: port, Protocol: "tcp", Status: "running",
				Attributes: map[string]string{"VServerGroupId": group.ID}})
		}
		c.LoadBalancers[lb.ID] = lb
	}
	for b.Loop() {
		if w := derive(c, Ranges{}); len(w.listeners) != 4002 {
			b.Fatal(len(w.listeners))
		}
	}
}

func BenchmarkPick(b *testing.B) {
	for _, scheduler := range []string{"rr", "wrr"} {
		b.Run(scheduler+"/200", func(b *testing.B) {
			weights := make([]int, 200)
			for i := range weights {
				weights[i] = 1 + i%100
			}
			s, p, among := &schedule{}, &pool{scheduler: scheduler}, targets(weights...)
			for b.Loop() {
				s.pick(p, among, demand{})
			}
		})
	}
}

// One request over a kept connection, through the listener and back.
func BenchmarkHTTP(b *testing.B) {
	d := newBed(b)
	d.group("g", server(httpServer(b, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }), 100))
	url := "http://" + d.listen(protoHTTP)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
			if err != nil {
				b.Error(err)
				return
			}
			answer, err := client.Do(r)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
	})
}

// One connection: open, read a line, close.
func BenchmarkTCPConnect(b *testing.B) {
	d := newBed(b)
	d.group("g", server(tcpServer(b, "a"), 100))
	address := d.listen(protoTCP)
	for b.Loop() {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
			b.Fatal(err)
		}
		abort(conn) // leaves no port waiting
	}
}

// Bytes through one connection and back.
func BenchmarkTCPEcho(b *testing.B) {
	d := newBed(b)
	d.group("g", server(tcpServer(b, "a"), 100))
	conn := connect(b, "127.0.0.1", d.listen(protoTCP))
	reader := bufio.NewReader(conn)
	if _, err := reader.ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	block, back := make([]byte, 64<<10), make([]byte, 64<<10)
	b.SetBytes(int64(len(block)))
	for b.Loop() {
		if _, err := conn.Write(block); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(reader, back); err != nil {
			b.Fatal(err)
		}
	}
}
