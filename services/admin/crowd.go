package admin

import (
	"container/list"
	"net"
	"net/http"
	"sync"

	"alicloud-controllers.dev/services/origin"
)

const (
	// mostConnections bounds the connections that wait for their clients. Every client that reaches the address may open one.
	mostConnections = 256
	// mostAnswered bounds the requests that are answered, be it that their clients don't read. A page of metrics takes
	// milliseconds.
	mostAnswered = 32
)

// crowd knows the connections of a server. Where there are too many, the one that has waited for its client for the longest time is closed,
// and where too many requests are answered, the one that takes longest: of the address that has the most of them, so that no client's are
// closed for those of another one that asks again and again, least of all the kubelet's.
type crowd struct {
	mu                sync.Mutex
	all               map[net.Conn]place
	waiting, answered *list.List // those that wait for their clients, and the others, the longest first
}

// place is where a connection stands.
type place struct {
	in *list.List
	at *list.Element
}

func newCrowd() *crowd {
	return &crowd{all: map[net.Conn]place{}, waiting: list.New(), answered: list.New()}
}

// note takes a state of a connection, as http.Server.ConnState.
func (c *crowd) note(conn net.Conn, state http.ConnState) {
	if leaves := c.change(conn, state); leaves != nil {
		_ = leaves.Close() // The error matters to no caller.
	}
}

// change gives the connection that has to leave, nil if there is none.
func (c *crowd) change(conn net.Conn, state http.ConnState) (leaves net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(conn)
	switch state {
	case http.StateNew, http.StateIdle:
		c.all[conn] = place{c.waiting, c.waiting.PushBack(conn)}
	case http.StateActive:
		c.all[conn] = place{c.answered, c.answered.PushBack(conn)}
	case http.StateClosed, http.StateHijacked:
	}
	switch {
	case c.answered.Len() > mostAnswered:
		leaves = longest(c.answered)
	case len(c.all) > mostConnections:
		leaves = longest(c.waiting)
	}
	if leaves == nil || leaves == conn {
		return nil
	}
	c.remove(leaves)
	return leaves
}

// longest is the first connection of the address that has the most, nil if there is none. Of such addresses it is the one whose first
// is there for longest.
func longest(in *list.List) (leaves net.Conn) {
	has := map[string]int{}
	most := 0
	for e := in.Front(); e != nil; e = e.Next() {
		of := origin.Of(e.Value.(net.Conn).RemoteAddr()) //nolint:forcetypeassert // The lists hold nothing else.
		has[of]++
		most = max(most, has[of])
	}
	for e := in.Front(); e != nil; e = e.Next() {
		conn := e.Value.(net.Conn) //nolint:forcetypeassert // Likewise.
		if has[origin.Of(conn.RemoteAddr())] == most {
			return conn
		}
	}
	return nil
}

// remove takes a connection out of the books.
func (c *crowd) remove(conn net.Conn) {
	if p, known := c.all[conn]; known {
		p.in.Remove(p.at)
		delete(c.all, conn)
	}
}
