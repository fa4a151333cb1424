package controller

import (
	"fmt"
	"strings"
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

// publishing is the last time that something was written. What the cache doesn't show yet would be written once more.
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
func (s *service) justPublished(p Publication) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.published.at) < firstRestore && s.published.gist == gistOfPublication(p)
}

// publish remembers that something was written.
func (s *service) publish(p Publication) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.published = publishing{gist: gistOfPublication(p), at: time.Now()}
}

// writing is the last time that something was written which other clients may fight for. They would otherwise be
// answered at once, for ever.
type writing struct {
	gist  string
	at    time.Time
	delay time.Duration
}

// What other clients may fight for.
const (
	inStatus = iota
	inLabels
	contestables
)

// wait returns how long something must wait to be written, 0 if it may be now.
func (s *service) wait(what int, gist string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.fought[what]
	if w.gist != gist {
		return 0
	}
	return max(0, w.delay-time.Since(w.at))
}

// fight remembers that something was written. It reports whether another client overwrites it again and again.
func (s *service) fight(what int, gist string) (isContested bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := writing{gist: gist, at: time.Now(), delay: firstRestore}
	if w := s.fought[what]; w.gist == gist && time.Since(w.at) < forgiven {
		next.delay = min(2*w.delay, lastRestore)
	}
	s.fought[what] = next
	return next.delay >= contested
}

// calm reports whether nothing has been overwritten for long enough.
func (s *service) calm() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.fought {
		if w.delay >= contested && time.Since(w.at) < forgiven {
			return false
		}
	}
	return true
}
