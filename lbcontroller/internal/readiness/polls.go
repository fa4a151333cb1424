package readiness

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// firstPoll and lastPoll bound the time between two questions about the health of a Service's servers: it doubles with each that brings
// nothing new.
const firstPoll, lastPoll = 2 * time.Second, 30 * time.Second

// Polls spaces the questions about the health of servers, for each Service. The zero value is ready.
type Polls struct {
	mu    sync.Mutex
	polls map[string]*poll
}

// poll is about one Service.
type poll struct {
	// seen is when each waiting pod was first seen among the servers.
	seen  map[types.UID]time.Time
	next  time.Time
	delay time.Duration
}

// Wait notes which pods are registered and wait for their health now. It reports whether it is time to ask, and how long to wait if not.
func (p *Polls) Wait(key string, pods []types.UID) (ask bool, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(pods) == 0 {
		delete(p.polls, key)
		return false, 0
	}
	if p.polls == nil {
		p.polls = map[string]*poll{}
	}
	one := p.polls[key]
	if one == nil {
		one = &poll{seen: map[types.UID]time.Time{}}
		p.polls[key] = one
	}
	now, seen := time.Now(), make(map[types.UID]time.Time, len(pods))
	changed := len(pods) != len(one.seen)
	for _, uid := range pods {
		first, ok := one.seen[uid]
		if !ok {
			first, changed = now, true
		}
		seen[uid] = first
	}
	one.seen = seen
	if changed { // A pod came, or went because the last answer was good: others may follow soon.
		one.delay = firstPoll
		if soon := now.Add(firstPoll); one.next.IsZero() || one.next.After(soon) {
			one.next = soon
		}
	}
	return !now.Before(one.next), max(0, one.next.Sub(now))
}

// Asked notes that a question was asked, and returns when the next may be.
func (p *Polls) Asked(key string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.polls[key]
	if one == nil {
		return firstPoll
	}
	wait := one.delay
	one.next, one.delay = time.Now().Add(wait), min(2*wait, lastPoll)
	return wait
}

// Since returns for how long a pod has been waiting for its health.
func (p *Polls) Since(key string, pod types.UID) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.polls[key]; one != nil && !one.seen[pod].IsZero() {
		return time.Since(one.seen[pod])
	}
	return 0
}

// Forget drops what is known of a Service.
func (p *Polls) Forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.polls, key)
}
