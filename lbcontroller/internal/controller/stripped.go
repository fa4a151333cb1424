package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// maxOwnVersions bounds the versions of a Service that are known to be the controller's: a pass writes less often.
const maxOwnVersions = 16

// A client may replace a Service by a manifest which knows nothing of what the controller noted on it: finalizer,
// labels and annotations are gone, as with kubectl replace or helm upgrade --force. The event has the last state.

// wrote remembers a version that the controller has written.
func (s *service) wrote(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := append(s.own, version)
	s.own = list[max(0, len(list)-maxOwnVersions):]
}

// lose remembers the state before an update that has taken something off. Whether the controller has done that is known when its pass ends.
func (s *service) lose(old, svc *corev1.Service) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost.before == nil || s.lost.before.UID != svc.UID || slices.Contains(s.own, s.lost.by) {
		s.lost = replaced{before: old, by: svc.ResourceVersion}
	}
}

// before returns the last state of the Service, nil if none of it was taken off by another client.
func (s *service) before() *corev1.Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.own, s.lost.by) {
		s.lost = replaced{}
	}
	return s.lost.before
}

// restored forgets the last state.
func (s *service) restored() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = replaced{}
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
	s := c.services.Of(key)
	before := s.before()
	if before == nil {
		return svc, nil
	}
	meta := missing(c.Kinds, before, svc)
	if before.UID == svc.UID && svc.DeletionTimestamp == nil && len(meta) > 0 {
		meta["resourceVersion"] = svc.ResourceVersion
		restored, err := c.writer(key, "").patch(ctx, svc, map[string]any{"metadata": meta})
		if ignoreGone(err) != nil {
			return nil, fmt.Errorf("put back on Service %s what another client has taken off: %w", key, orStale(err))
		}
		if err == nil {
			c.Logger.Info("another client has taken off what was noted on a Service; it is put back", "service", key)
			svc = restored
		}
	}
	s.restored()
	return svc, nil
}
