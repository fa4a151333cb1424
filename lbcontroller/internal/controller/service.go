package controller

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// service is all that the controller remembers of one Service. It is made when the Service is first seen, and dropped with it.
type service struct {
	mu sync.Mutex
	// fought are what other clients may overwrite, as it was written last, and published all that was.
	fought    [contestables]Fight
	published publishing
	// conditions are those that were written last.
	conditions written
	// state is how the Service stands, as it is counted.
	state string
	// due is when the last pass for its endpoints began, or the next one will, and since when the first change came that
	// no pass has dealt with.
	due, since time.Time
	// own are versions that the controller has written last, and lost the state before another client took something off.
	own  []string
	lost replaced
	// changed reports that a user has changed the Service since a pass over it began.
	changed bool
}

// replaced is a Service before it was replaced, and the version by which it was.
type replaced struct {
	before *corev1.Service
	by     string
}

// setChanged notes that a user has changed the Service.
func (s *service) setChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = true
}

// takeChanged reports whether a user has changed the Service, and forgets that.
func (s *service) takeChanged() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.changed
	s.changed = false
	return changed
}

// forgetShown forgets what was written on the Service.
func (s *service) forgetShown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fought, s.published, s.conditions = [contestables]Fight{}, publishing{}, written{}
}
