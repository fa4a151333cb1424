package openapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const (
	// enoughFailures in a row, without an answer between them, make a product unreachable: one connection may break.
	enoughFailures = 3
	// staleFailure is when the last failure says nothing any more: nobody has tried since.
	staleFailure = 5 * time.Minute
)

// reach is what attempts have shown of the way to each product. Every answer shows that the way is there, also a refusal; a
// product that has not been called counts as reachable.
type reach struct {
	failures *prometheus.GaugeVec

	mu   sync.Mutex
	seen map[Product]*silence
}

// silence is the time since a product last answered.
type silence struct {
	failures int
	first    time.Time
	last     time.Time
	err      error
}

func newReach(reg prometheus.Registerer) *reach {
	return &reach{
		seen: make(map[Product]*silence),
		failures: promauto.With(reg).NewGaugeVec(prometheus.GaugeOpts{
			Name: "cloudgateway_openapi_unanswered",
			Help: "Attempts to call the cloud that had no answer, since the last that had one.",
		}, []string{"product"}),
	}
}

// note takes the outcome of an attempt: nil if the product answered.
func (r *reach) note(p Product, started time.Time, failure error) {
	now := time.Now()
	switch {
	case errors.Is(failure, context.Canceled):
		return // The caller went away.
	case errors.Is(failure, context.DeadlineExceeded) && now.Sub(started) < connectTimeout:
		return // The caller had little time.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.seen[p]
	if s == nil {
		s = &silence{}
		r.seen[p] = s
	}
	if failure == nil {
		*s = silence{}
	} else {
		if s.failures == 0 {
			s.first = started
		}
		s.failures, s.last, s.err = s.failures+1, now, failure
	}
	r.failures.WithLabelValues(string(p)).Set(float64(s.failures))
}

// Reachable is nil unless recent calls show that a product can't be reached; for readiness checks. It calls nothing.
func (c *Client) Reachable() error {
	r := c.reach
	r.mu.Lock()
	defer r.mu.Unlock()
	var silent []string
	for _, p := range []Product{SLB, VPC, ECS, STS} {
		if s := r.seen[p]; s != nil && s.failures >= enoughFailures && time.Since(s.last) < staleFailure {
			silent = append(silent, fmt.Sprintf("no answer from %s to %d attempts since %s: %v",
				c.hosts[p], s.failures, s.first.UTC().Format(time.RFC3339), s.err))
		}
	}
	if len(silent) > 0 {
		return errors.New(strings.Join(silent, "\n"))
	}
	return nil
}
