package dataplane

import (
	"net/netip"
	"sync"
	"time"
)

// flows are the connections (of HTTP: the requests) of one frontend, by the server that has them.
type flows struct {
	mu     sync.Mutex
	closed bool
	all    map[*flow]struct{}
	active map[targetID]int
	ended  sync.WaitGroup
}

type flow struct {
	client netip.Addr
	target targetID
	cut    func()      // ends the connection; nil: it may end by itself whatever becomes of its server
	timer  *time.Timer // while it is drained
}

func newFlows() *flows {
	return &flows{all: map[*flow]struct{}{}, active: map[targetID]int{}}
}

// open counts a connection. It returns nil when no more are taken.
func (f *flows) open(client netip.Addr, id targetID, cut func()) *flow {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	opened := &flow{client: client, target: id, cut: cut}
	f.all[opened] = struct{}{}
	f.active[id]++
	f.ended.Add(1)
	return opened
}

// done forgets a connection that has ended.
func (f *flows) done(ended *flow) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ended.timer != nil {
		ended.timer.Stop()
	}
	delete(f.all, ended)
	if f.active[ended.target]--; f.active[ended.target] == 0 {
		delete(f.active, ended.target)
	}
	f.ended.Done()
}

func (f *flows) count(id targetID) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.active[id]
}

// release ends the connections whose server is lost, at once or after a time in which the server may come back.
func (f *flows) release(lost func(targetID) bool, after time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for fl := range f.all {
		switch gone := fl.cut != nil && lost(fl.target); {
		case gone && fl.timer == nil:
			fl.timer = time.AfterFunc(after, fl.cut)
		case !gone && fl.timer != nil:
			fl.timer.Stop()
			fl.timer = nil
		}
	}
}

// expel ends the connections of clients that are not let in any more.
func (f *flows) expel(admits func(netip.Addr) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for fl := range f.all {
		if fl.cut != nil && !admits(fl.client) {
			fl.cut()
		}
	}
}

// end cuts all connections, takes no more, and waits for those that were.
func (f *flows) end() {
	f.mu.Lock()
	f.closed = true
	for fl := range f.all {
		if fl.cut != nil {
			fl.cut()
		}
	}
	f.mu.Unlock()
	f.ended.Wait()
}
