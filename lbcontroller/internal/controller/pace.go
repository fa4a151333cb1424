package controller

import (
	"sync"
	"time"

	"alicloud-controllers.dev/services/reconcile"
)

// endpointGap is the least time between two passes over a Service because of its endpoints. The first change is served at once, and what
// changes after that within the gap together.
const endpointGap = 2500 * time.Millisecond

// pace spaces the passes over Services whose endpoints change all the time, as in a rollout. The zero value is ready.
type pace struct {
	mu sync.Mutex
	// due is when the last pass began, or the next one will.
	due map[string]time.Time
	// since is when the first change came that no pass has dealt with.
	since map[string]time.Time
}

// next notes a change, and returns how long its pass has to wait.
func (p *pace) next(key string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.due == nil {
		p.due, p.since = map[string]time.Time{}, map[string]time.Time{}
	}
	if _, ok := p.since[key]; !ok {
		p.since[key] = now
	}
	due, ok := p.due[key]
	switch {
	case ok && now.Before(due):
	case ok && now.Before(due.Add(endpointGap)):
		due = due.Add(endpointGap)
	default:
		due = now
	}
	p.due[key] = due
	return due.Sub(now)
}

// begin returns since when changes wait for the pass that begins now; the zero time if none do.
func (p *pace) begin(key string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := p.since[key]
	delete(p.since, key)
	return since
}

// again puts back changes that a pass could not deal with.
func (p *pace) again(key string, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if later, ok := p.since[key]; !ok || since.Before(later) {
		p.since[key] = since
	}
}

func (p *pace) forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.due, key)
	delete(p.since, key)
}

// queueGathered queues a Service whose endpoints have changed.
func (c *Controller) queueGathered(key string) {
	if c.leading.Load() {
		c.runner.AddAfter(key, reconcile.Endpoint, c.pace.next(key))
	}
}
