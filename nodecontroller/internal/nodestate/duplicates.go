package nodestate

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/nodes"
)

// Duplicates gives the nodes whose instance is that of another Node, too, with the name of that one: a kubelet was
// renamed, or started with the id of another machine. Of two the one whose kubelet doesn't report is the duplicate, or
// else the younger.
func Duplicates(all []*corev1.Node) map[string]string {
	of := map[nodes.ID][]*corev1.Node{}
	for _, node := range all {
		if id, ok := nodes.ParseProviderID(node.Spec.ProviderID); ok && !nodes.Excluded(node) && !nodes.IsVirtual(node) {
			of[id] = append(of[id], node)
		}
	}
	duplicates := map[string]string{}
	for _, same := range of {
		slices.SortFunc(same, func(a, b *corev1.Node) int {
			return cmp.Or(cmp.Compare(rank(a), rank(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
		})
		for _, node := range same[1:] {
			duplicates[node.Name] = same[0].Name
		}
	}
	return duplicates
}

// rank is 0 for a node whose kubelet reports.
func rank(node *corev1.Node) int {
	if nodes.Silent(node) {
		return 1
	}
	return 0
}
