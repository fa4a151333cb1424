package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// maxOwnVersions bounds the versions of a Service that are known to be the controller's: a pass writes less often.
const maxOwnVersions = 16

// stripped are Services that a client has replaced by a manifest which knows nothing of what the controller noted on them: finalizer, labels and
// annotations are gone, as with kubectl replace or helm upgrade --force. The event has the last state. The zero value is ready.
type stripped struct {
	mu sync.Mutex
	// own are versions that the controller has written last, and lost the last states, by key.
	own  map[string][]string
	lost map[string]replaced
}

// replaced is a Service before it was replaced, and the version by which it was.
type replaced struct {
	before *corev1.Service
	by     string
}

// wrote remembers a version that the controller has written.
func (s *stripped) wrote(key, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own == nil {
		s.own = map[string][]string{}
	}
	list := append(s.own[key], version)
	s.own[key] = list[max(0, len(list)-maxOwnVersions):]
}

// add remembers the state before an update that has taken something off. Whether the controller has done that is known when its pass ends.
func (s *stripped) add(key string, old, svc *corev1.Service) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost == nil {
		s.lost = map[string]replaced{}
	}
	if before, ok := s.lost[key]; !ok || before.before.UID != svc.UID || slices.Contains(s.own[key], before.by) {
		s.lost[key] = replaced{before: old, by: svc.ResourceVersion}
	}
}

// of returns the last state of a Service, nil if none of it was taken off by another client.
func (s *stripped) of(key string) *corev1.Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.lost[key]
	if ok && slices.Contains(s.own[key], l.by) {
		delete(s.lost, key)
		return nil
	}
	return l.before
}

func (s *stripped) restored(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lost, key)
}

func (s *stripped) forget(key string) {
	s.restored(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.own, key)
}

// missing is a patch of the metadata of a Service with what it had before of the marks of the kinds and lacks now.
func missing(kinds []Registration, before, svc *corev1.Service) map[string]any {
	meta := map[string]any{}
	lost := func(had, has map[string]string, keys []string) map[string]string {
		values := map[string]string{}
		for _, key := range keys {
			if _, ok := has[key]; !ok && had[key] != "" {
				values[key] = had[key]
			}
		}
		return values
	}
	var finalizers, labels, annotations []string
	for _, r := range kinds {
		if slices.Contains(before.Finalizers, r.Finalizer) && !slices.Contains(svc.Finalizers, r.Finalizer) {
			finalizers = append(finalizers, r.Finalizer)
		}
		labels, annotations = append(labels, r.Labels...), append(annotations, r.Annotations...)
	}
	if len(finalizers) > 0 {
		meta["finalizers"] = append(slices.Clone(svc.Finalizers), finalizers...)
	}
	if values := lost(before.Labels, svc.Labels, labels); len(values) > 0 {
		meta["labels"] = values
	}
	if values := lost(before.Annotations, svc.Annotations, append(annotations, AnnotationGeneration)); len(values) > 0 {
		meta["annotations"] = values
	}
	return meta
}

// restore puts back on a Service what another client has taken off, and returns the Service as it is then.
func (c *Controller) restore(ctx context.Context, key string, svc *corev1.Service) (*corev1.Service, error) {
	before := c.stripped.of(key)
	if before == nil {
		return svc, nil
	}
	meta := missing(c.Kinds, before, svc)
	if before.UID == svc.UID && svc.DeletionTimestamp == nil && len(meta) > 0 {
		meta["resourceVersion"] = svc.ResourceVersion
		w := Writer{Client: c.Client, stripped: &c.stripped}
		restored, err := w.patch(ctx, svc, map[string]any{"metadata": meta})
		if ignoreGone(err) != nil {
			return nil, fmt.Errorf("put back on Service %s what another client has taken off: %w", key, orStale(err))
		}
		if err == nil {
			c.Logger.Info("another client has taken off what was noted on a Service; it is put back", "service", key)
			svc = restored
		}
	}
	c.stripped.restored(key)
	return svc, nil
}
