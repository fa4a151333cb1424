package readiness

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// firstPoll and lastPoll bound the time between two questions about the health of a Service's servers: it doubles with each that brings
// nothing new.
const firstPoll, lastPoll = 2 * time.Second, 30 * time.Second

// Polls spaces the questions about the health of the servers of one Service. The zero value is ready.
type Polls struct {
	// seen is when each waiting pod was first seen among the servers.
	seen  map[types.UID]time.Time
	next  time.Time
	delay time.Duration
}

// Wait notes which pods are registered and wait for their health now. It reports whether it is time to ask, and how long to wait if not.
func (p *Polls) Wait(pods []types.UID) (ask bool, after time.Duration) {
	if len(pods) == 0 {
		*p = Polls{}
		return false, 0
	}
	now, seen := time.Now(), make(map[types.UID]time.Time, len(pods))
	changed := len(pods) != len(p.seen)
	for _, uid := range pods {
		first, ok := p.seen[uid]
		if !ok {
			first, changed = now, true
		}
		seen[uid] = first
	}
	p.seen = seen
	if changed { // A pod came, or went because the last answer was good: others may follow soon.
		p.delay = firstPoll
		if soon := now.Add(firstPoll); p.next.IsZero() || p.next.After(soon) {
			p.next = soon
		}
	}
	return !now.Before(p.next), max(0, p.next.Sub(now))
}

// Asked notes that a question was asked, and returns when the next may be.
func (p *Polls) Asked() time.Duration {
	wait := p.delay
	p.next, p.delay = time.Now().Add(wait), min(2*wait, lastPoll)
	return wait
}

// Since returns for how long a pod has been waiting for its health.
func (p *Polls) Since(pod types.UID) time.Duration {
	if first := p.seen[pod]; !first.IsZero() {
		return time.Since(first)
	}
	return 0
}
