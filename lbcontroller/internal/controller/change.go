package controller

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
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

// notePrefix is that of the annotations by which the controller notes on a Service what it must know later.
const notePrefix = "service.k8s.alibaba/"

// ChangedByUser reports whether the spec or any annotation differs that isn't a note of the controller's. To touch an
// annotation is how people ask for a look at the cloud.
func ChangedByUser(old, svc *corev1.Service) bool {
	differs := func(a, b map[string]string) bool {
		for key, value := range a {
			if other, ok := b[key]; (!ok || other != value) && !strings.HasPrefix(key, notePrefix) {
				return true
			}
		}
		return false
	}
	return differs(old.Annotations, svc.Annotations) || differs(svc.Annotations, old.Annotations) ||
		!equality.Semantic.DeepEqual(old.Spec, svc.Spec)
}

// Touched is ChangedByUser, but for ports that the controller itself has changed on a Service that it makes: what was
// done in the cloud by hand is no concern of that, and nobody asks for a look.
func Touched(old, svc *corev1.Service) bool {
	edit := svc.Annotations[backend.AnnotationEdit]
	if before := old.Annotations[backend.AnnotationEdit]; before == "" || before == edit {
		return ChangedByUser(old, svc)
	}
	edited := old.DeepCopy()
	edited.Annotations[backend.AnnotationEdit], edited.Spec.Ports = edit, svc.Spec.Ports
	return ChangedByUser(edited, svc)
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
