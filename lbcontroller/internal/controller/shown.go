package controller

import (
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// firstRestore and lastRestore bound the time between two writes of the same addresses to a Service: it doubles with each.
	firstRestore, lastRestore = time.Second, 5 * time.Minute
	// contested is the delay from which on another client is taken to overwrite the status.
	contested = 8 * time.Second
	// forgiven is how long the status must not have been overwritten for the delay to begin anew.
	forgiven = 10 * time.Minute
)

// shown remembers what was written on Services. Another controller that writes other addresses into the status would otherwise be answered at
// once, for ever; and what the cache doesn't show yet would be written once more.
type shown struct {
	mu        sync.Mutex
	last      map[string]writing
	published map[string]publishing
}

// publishing is the last time that something was written.
type publishing struct {
	gist string
	at   time.Time
}

// gistOfPublication is all that is written, apart from conditions.
func gistOfPublication(p Publication) string {
	parts := []any{p.KeepIngress, p.Notes.Labels, p.Notes.Annotations}
	return fmt.Sprint(append(parts, gistOfIngress(p.Ingress))...)
}

func gistOfIngress(list []corev1.LoadBalancerIngress) string {
	var gist strings.Builder
	for _, i := range list {
		gist.WriteString(" " + i.IP + i.Hostname)
		if i.IPMode != nil {
			gist.WriteString(string(*i.IPMode))
		}
	}
	return gist.String()
}

// justPublished reports whether the same was written just now.
func (s *shown) justPublished(key string, p Publication) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.published[key]
	return ok && time.Since(last.at) < firstRestore && last.gist == gistOfPublication(p)
}

// publish remembers that something was written.
func (s *shown) publish(key string, p Publication) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.published == nil {
		s.published = map[string]publishing{}
	}
	s.published[key] = publishing{gist: gistOfPublication(p), at: time.Now()}
}

// writing is the last time that something was written.
type writing struct {
	gist  string
	at    time.Time
	delay time.Duration
}

// What other clients may fight for, as the key of what was written last.
const (
	inStatus = " status"
	inLabels = " labels"
)

// wait returns how long something must wait to be written, 0 if it may be now.
func (s *shown) wait(key, what, gist string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.last[key+what]
	if !ok || w.gist != gist {
		return 0
	}
	return max(0, w.delay-time.Since(w.at))
}

// wrote remembers that something was written. It reports whether another client overwrites it again and again.
func (s *shown) wrote(key, what, gist string) (isContested bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := writing{gist: gist, at: time.Now(), delay: firstRestore}
	if w, ok := s.last[key+what]; ok && w.gist == gist && time.Since(w.at) < forgiven {
		next.delay = min(2*w.delay, lastRestore)
	}
	if s.last == nil {
		s.last = map[string]writing{}
	}
	s.last[key+what] = next
	return next.delay >= contested
}

// calm reports whether nothing has been overwritten for long enough.
func (s *shown) calm(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, what := range []string{inStatus, inLabels} {
		if w := s.last[key+what]; w.delay >= contested && time.Since(w.at) < forgiven {
			return false
		}
	}
	return true
}

func (s *shown) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, key+inStatus)
	delete(s.last, key+inLabels)
	delete(s.published, key)
}
