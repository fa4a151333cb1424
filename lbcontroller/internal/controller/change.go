package controller

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// change names what a user has changed on a Service, as the reason and the text of an event; the first of several is reported.
// Unlike the existing CCM it passes over annotations that mean nothing to the controller, such as kubectl's.
func change(old, svc *corev1.Service) (reason, message string) {
	if keys := changedAnnotations(old.Annotations, svc.Annotations); len(keys) > 0 {
		return ReasonAnnotation, "changed: " + strings.Join(keys, ", ")
	}
	if old.Spec.Type == svc.Spec.Type && !equality.Semantic.DeepEqual(old.Spec, svc.Spec) { // A new type has an event of its own.
		return ReasonSpec, "the spec of the Service was changed"
	}
	if old.DeletionTimestamp == nil && svc.DeletionTimestamp != nil {
		return ReasonDeletion, "the Service is being deleted"
	}
	return "", ""
}

// ChangedByUser reports whether annotations of the controller or the spec differ, which only users change.
func ChangedByUser(old, svc *corev1.Service) bool {
	return len(changedAnnotations(old.Annotations, svc.Annotations)) > 0 || !equality.Semantic.DeepEqual(old.Spec, svc.Spec)
}

// changedAnnotations returns the keys of the controller's annotations that were set, changed or removed, in order.
func changedAnnotations(old, now map[string]string) []string {
	var keys []string
	for _, key := range annotation.Known(old, now) {
		before, had := old[key]
		after, has := now[key]
		if had != has || before != after {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
