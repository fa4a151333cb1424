package rpc

import (
	"context"
	"sync"
)

// places are those in which requests are read, of all callers together. No caller may have more than is left for others,
// so that several that have all that they may leave one for the next one. Who finds none waits.
type places struct {
	mu    sync.Mutex
	left  int
	freed chan struct{} // closed when a place is given back; nil: nobody waits
}

// held is how many places somebody has. Its places guard it.
type held int

// take waits for a place. Done gives it back, once.
func (p *places) take(ctx context.Context, by *held) (done func(), err error) {
	for {
		freed := p.tryTake(by)
		if freed == nil {
			return sync.OnceFunc(func() { p.giveBack(by) }), nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryTake takes a place, or returns what is closed when it is worth another try.
func (p *places) tryTake(by *held) (freed chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if int(*by) < p.left {
		*by++
		p.left--
		return nil
	}
	if p.freed == nil {
		p.freed = make(chan struct{})
	}
	return p.freed
}

func (p *places) giveBack(by *held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*by--
	p.left++
	if p.freed != nil {
		close(p.freed)
		p.freed = nil
	}
}
