package controller

import (
	"fmt"
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
	for _, i := range p.Ingress {
		parts = append(parts, " "+i.IP+i.Hostname)
		if i.IPMode != nil {
			parts = append(parts, *i.IPMode)
		}
	}
	return fmt.Sprint(parts...)
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

// writing is the last time that addresses were written.
type writing struct {
	ingress []corev1.LoadBalancerIngress
	at      time.Time
	delay   time.Duration
}

// wait returns how long addresses must wait to be written, 0 if they may be now.
func (s *shown) wait(key string, ingress []corev1.LoadBalancerIngress) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.last[key]
	if !ok || !sameIngress(w.ingress, ingress) {
		return 0
	}
	return max(0, w.delay-time.Since(w.at))
}

// wrote remembers that addresses were written. It reports whether another client overwrites them again and again.
func (s *shown) wrote(key string, ingress []corev1.LoadBalancerIngress) (isContested bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := writing{ingress: ingress, at: time.Now(), delay: firstRestore}
	if w, ok := s.last[key]; ok && sameIngress(w.ingress, ingress) && time.Since(w.at) < forgiven {
		next.delay = min(2*w.delay, lastRestore)
	}
	if s.last == nil {
		s.last = map[string]writing{}
	}
	s.last[key] = next
	return next.delay >= contested
}

// calm reports whether the addresses have not been overwritten for long enough.
func (s *shown) calm(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.last[key]
	return w.delay < contested || time.Since(w.at) >= forgiven
}

func (s *shown) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, key)
	delete(s.published, key)
}
