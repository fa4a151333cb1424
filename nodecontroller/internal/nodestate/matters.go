package nodestate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/nodes"
)

// MayBeAnother reports whether a node has fallen silent, or has another machine behind it than before: its instance may be gone.
func MayBeAnother(before, after *corev1.Node) bool {
	machine := func(node *corev1.Node) string { return node.Status.NodeInfo.SystemUUID }
	return !nodes.Silent(before) && nodes.Silent(after) || machine(before) != "" && machine(before) != machine(after)
}

// Matters reports whether a node has changed in something that makes it worth a look: if it waits for its initialisation, in what
// that depends on, and else in what says that its instance may be stopped or running again.
func Matters(before, after *corev1.Node, opts Options) bool {
	if !nodes.IsUninitialized(after) {
		if nodes.Excluded(after) {
			return !Release(after, opts).Empty()
		}
		return nodes.Ready(before) != nodes.Ready(after) && MayBeShutDown(after, opts)
	}
	provided := nodes.AnnotationProvidedIP
	if before.UID != after.UID || nodes.IsUninitialized(before) != nodes.IsUninitialized(after) ||
		before.Spec.ProviderID != after.Spec.ProviderID || before.Annotations[provided] != after.Annotations[provided] ||
		nodes.Excluded(before) != nodes.Excluded(after) || nodes.IsVirtual(before) != nodes.IsVirtual(after) ||
		nodes.IsLingjun(before) != nodes.IsLingjun(after) {
		return true
	}
	// The instance is found by its address if there is no id, and not looked for while the kubelet of a machine without one
	// is silent. With an id, new addresses are but what the initialisation itself has just written.
	return after.Spec.ProviderID == "" &&
		(nodes.Silent(before) && !nodes.Silent(after) || !slices.Equal(before.Status.Addresses, after.Status.Addresses))
}
