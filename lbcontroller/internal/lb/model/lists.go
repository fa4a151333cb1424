package model

import "sync"

// Pool has lists of servers for passes, which work with a list of those that there are and one of those that are
// wanted. Without it each of the thousands of passes that a node event leads to takes fresh memory for two lists of a
// thousand servers, which costs more than what it does with them. The zero value is ready.
type Pool struct {
	lists sync.Pool // of *[]Server
}

// Lend returns what a pass has its lists from.
func (p *Pool) Lend() *Lists { return &Lists{pool: p} }

// Lists are those of a pass. A nil one makes lists that nothing takes back.
type Lists struct {
	pool *Pool
	lent []*[]Server
}

// shortest is the room of a list at least, so that it serves another Service, too.
const shortest = 64

// Make returns a list of n empty servers, with no room for more.
func (l *Lists) Make(n int) []Server {
	if l == nil || n == 0 {
		return make([]Server, n)
	}
	list, ok := l.pool.lists.Get().(*[]Server)
	if !ok || cap(*list) < n {
		fresh := make([]Server, max(n+n/shortest, shortest)) // One more node fits in.
		list = &fresh
	}
	l.lent = append(l.lent, list)
	return (*list)[:n:n]
}

// Return gives the lists back. Nothing may refer to them any more: they are emptied.
func (l *Lists) Return() {
	for _, list := range l.lent {
		*list = (*list)[:cap(*list)]
		clear(*list)
		l.pool.lists.Put(list)
	}
	l.lent = nil
}
