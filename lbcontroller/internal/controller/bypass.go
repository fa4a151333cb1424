package controller

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// bypassAge is how old a Service can be that was deleted past its finalizer. A finalizer comes within seconds after a
// Service, and the API server gives a deletion one minute (--request-timeout). The age only is a second safeguard, for
// a cluster that loses Services which it still needs.
const bypassAge = 5 * time.Minute

// isBypassed reports whether a Service, by its last state, was deleted although it had finalizers. The API server looks
// at them, lets the deletion pass admission, and then deletes: a finalizer that arrives in between stops nothing. A
// Service that went in order was marked as being deleted before, or its finalizers were taken away.
func isBypassed(svc *corev1.Service, now time.Time) bool {
	return svc.DeletionTimestamp == nil && len(svc.Finalizers) > 0 && now.Sub(svc.CreationTimestamp.Time) < bypassAge
}

// bypassed are Services that are gone while what was made for them may be left, by key. One name can have several, one
// after the other. They outlive what else is remembered of the Service, which is dropped with it.
type bypassed struct {
	mu       sync.Mutex
	services map[string][]*vanished
}

// vanished is a Service in its last state, and how often was looked for what it had.
type vanished struct {
	*corev1.Service
	looks int
}

func (b *bypassed) add(svc *corev1.Service) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.services == nil {
		b.services = map[string][]*vanished{}
	}
	key := keyOf(svc)
	b.services[key] = append(b.services[key], &vanished{Service: svc})
}

func (b *bypassed) of(key string) []*vanished {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.services[key])
}

func (b *bypassed) remove(svc *corev1.Service) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := keyOf(svc)
	rest := slices.DeleteFunc(b.services[key], func(v *vanished) bool { return v.UID == svc.UID })
	if b.services[key] = rest; len(rest) == 0 {
		delete(b.services, key)
	}
}
