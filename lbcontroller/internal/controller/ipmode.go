package controller

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// retryModes is how long an API server that has dropped the ipMode of an address isn't given another: it may be upgraded.
const retryModes = time.Hour

// modes knows whether the API server keeps the ipMode of addresses. Before Kubernetes 1.30 it drops the field without an error, and what is
// compared with it would be written for ever.
type modes struct {
	mu      sync.Mutex
	dropped time.Time
}

// strip takes the ipMode off addresses that are for an API server which drops it, and reports whether it did.
func (m *modes) strip(list []corev1.LoadBalancerIngress) ([]corev1.LoadBalancerIngress, bool) {
	if !slices.ContainsFunc(list, hasMode) {
		return list, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dropped.IsZero() || time.Since(m.dropped) >= retryModes {
		return list, false
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].IPMode = nil
	}
	return list, true
}

// answered learns from what the API server made of the addresses that were written.
func (m *modes) answered(wrote, have []corev1.LoadBalancerIngress) {
	if m == nil || !slices.ContainsFunc(wrote, hasMode) || len(have) == 0 || slices.ContainsFunc(have, hasMode) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropped = time.Now()
}

func hasMode(i corev1.LoadBalancerIngress) bool { return i.IPMode != nil }
