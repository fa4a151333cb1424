package initialize

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/nodes"
)

// Matters tells whether a node that waits for its initialisation has changed in something that its initialisation depends on.
func Matters(before, after *corev1.Node) bool {
	provided := nodes.AnnotationProvidedIP
	if before.UID != after.UID || nodes.IsUninitialized(before) != nodes.IsUninitialized(after) ||
		before.Spec.ProviderID != after.Spec.ProviderID || before.Annotations[provided] != after.Annotations[provided] ||
		nodes.Excluded(before) != nodes.Excluded(after) {
		return true
	}
	// The instance is found by its address if there is no id. With an id, new addresses are but what the initialisation itself
	// has just written.
	return after.Spec.ProviderID == "" && !slices.Equal(before.Status.Addresses, after.Status.Addresses)
}
