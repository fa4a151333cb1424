package controller

import (
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"alicloud-controllers.dev/services/reconcile"
)

// endpointGap is the least time between two passes over a Service because of its endpoints. The first change is served at once, and what
// changes after that within the gap together.
const endpointGap = 2500 * time.Millisecond

// fallGap is how long pods that are there and no longer ready wait for the news of their nodes: when nodes can't be reached, they and
// their pods turn not ready in the same instant, and either may be seen first. Health checks take such pods out meanwhile.
const fallGap = time.Second

// nextPass notes a change of endpoints, and returns how long its pass has to wait, if not that long by itself. Endpoints may change all the
// time, as in a rollout.
func (s *service) nextPass(wait time.Duration) time.Duration {
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
		s.due = now.Add(wait)
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

// queueGathered queues a Service whose endpoints have changed, for a pass that waits at least so long.
func (c *Controller) queueGathered(key string, wait time.Duration) {
	if c.leading.Load() {
		c.runner.AddAfter(key, reconcile.Endpoint, c.services.Of(key).nextPass(wait))
	}
}

// falls reports whether pods that were ready are not any more, though nothing says that they end.
func falls(old, slice *discoveryv1.EndpointSlice) bool {
	was := map[string]bool{}
	for _, e := range old.Endpoints {
		for _, address := range e.Addresses {
			was[address] = isReady(e)
		}
	}
	return slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool {
		terminates := e.Conditions.Terminating != nil && *e.Conditions.Terminating
		return !isReady(e) && !terminates && slices.ContainsFunc(e.Addresses, func(address string) bool { return was[address] })
	})
}

// isReady reports whether a pod takes traffic. One of which nothing is said does.
func isReady(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }
