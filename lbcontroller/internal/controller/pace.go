package controller

import (
	"time"

	"alicloud-controllers.dev/services/reconcile"
)

// endpointGap is the least time between two passes over a Service because of its endpoints. The first change is served at once, and what
// changes after that within the gap together.
const endpointGap = 2500 * time.Millisecond

// nextPass notes a change of endpoints, and returns how long its pass has to wait. Endpoints may change all the time, as in a rollout.
func (s *service) nextPass() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.since.IsZero() {
		s.since = now
	}
	switch {
	case now.Before(s.due):
	case now.Before(s.due.Add(endpointGap)):
		s.due = s.due.Add(endpointGap)
	default:
		s.due = now
	}
	return s.due.Sub(now)
}

// beginPass returns since when changes of endpoints wait for the pass that begins now; the zero time if none do.
func (s *service) beginPass() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.since
	s.since = time.Time{}
	return since
}

// passAgain puts back changes that a pass could not deal with.
func (s *service) passAgain(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() || since.Before(s.since) {
		s.since = since
	}
}

// queueGathered queues a Service whose endpoints have changed.
func (c *Controller) queueGathered(key string) {
	if c.leading.Load() {
		c.runner.AddAfter(key, reconcile.Endpoint, c.services.Of(key).nextPass())
	}
}
