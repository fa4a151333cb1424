package admin

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// mostConnections bounds the connections that wait for their clients. Every client that reaches the address may open one.
const mostConnections = 256

// crowd knows the connections of a server. Where there are too many, the one that has waited for its client for the longest time is closed.
type crowd struct {
	mu      sync.Mutex
	all     map[net.Conn]*list.Element // nil: a request is being answered
	waiting *list.List                 // of the others, the longest first
}

func newCrowd() *crowd { return &crowd{all: map[net.Conn]*list.Element{}, waiting: list.New()} }

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
	if at := c.all[conn]; at != nil {
		c.waiting.Remove(at)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.all[conn] = c.waiting.PushBack(conn)
	case http.StateActive:
		c.all[conn] = nil
	case http.StateClosed, http.StateHijacked:
		delete(c.all, conn)
	}
	longest := c.waiting.Front()
	if len(c.all) <= mostConnections || longest == nil || longest.Value == conn {
		return nil
	}
	leaves = longest.Value.(net.Conn) //nolint:forcetypeassert // The list holds nothing else.
	c.waiting.Remove(longest)
	delete(c.all, leaves)
	return leaves
}
