package controller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// lastRestore is the longest time between two writes of the same addresses or labels to a Service.
const lastRestore = 5 * time.Minute

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
	return s.fought[what].Wait(gist)
}

// fight remembers that something was written. It reports whether another client overwrites it again and again.
func (s *service) fight(what int, gist string) (isContested bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fought[what].Wrote(gist, lastRestore)
	return s.fought[what].IsOn()
}

// calm reports whether nothing has been overwritten for long enough.
func (s *service) calm() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(s.fought[:], Fight.IsOn)
}
