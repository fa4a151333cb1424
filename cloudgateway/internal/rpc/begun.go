package rpc

import "time"

// This file counts the calls of each caller from their headers on, before a handler costs memory.

// begin notes that the headers of a call have come, before anything is done for it. If its caller has too many, or strangers together,
// the connection with the most of them is closed; if that is not enough at once, this one too. No caller may have more than are left for
// others.
func (n *connection) begin(method string) {
	if n == nil || n.forgotten.Load() {
		return
	}
	for _, leaves := range n.owner.begin(n, !exempt(method)) {
		leaves.end(tooManyCalls)
	}
}

func (c *connections) begin(n *connection, busy bool) (leave []*connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.forgotten.Load() {
		return nil
	}
	n.begun++
	n.of.begun++
	c.begun++
	if busy {
		n.busy++
		n.idle = time.Time{}
	}
	of := n.of
	over := func() bool { return of.begun > c.limits.BegunPerCaller || of.begun > c.limits.Begun-c.begun }
	if over() {
		leave = append(leave, c.busiest(of))
		c.forget(leave[0])
	}
	if over() && !n.forgotten.Load() {
		leave = append(leave, n)
		c.forget(n)
	}
	return leave
}

// busiest is the connection of a crowd with the most calls.
func (c *connections) busiest(of *crowd) *connection {
	var most *connection
	for n := range c.all {
		if n.of == of && (most == nil || n.begun > most.begun) {
			most = n
		}
	}
	return most
}

// handle notes that the handler of a call begins. It reports whether the connection is still there.
func (n *connection) handle() bool {
	if n == nil {
		return true
	}
	n.owner.mu.Lock()
	defer n.owner.mu.Unlock()
	if !n.forgotten.Load() {
		n.handled++
		return true
	}
	if n.begun > n.handled {
		n.owner.leave(n, 1)
	}
	return false
}

// unhandled is how long the calls of a connection that is over are waited for to begin. gRPC refuses some by itself, and they never do.
const unhandled = 10 * time.Second

// handledOne notes that the handler of a call has ended.
func (n *connection) handledOne(method string) {
	if n == nil {
		return
	}
	n.owner.mu.Lock()
	defer n.owner.mu.Unlock()
	n.handled--
	n.owner.leave(n, 1)
	if exempt(method) {
		return
	}
	if n.busy--; n.busy == 0 {
		n.idle = time.Now()
	}
}
