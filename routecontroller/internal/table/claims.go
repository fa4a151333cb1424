package table

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/nodes"
)

// Claims is what the nodes of a cluster ask of every route table.
type Claims struct {
	// Wanted routes have to exist. No two have one destination. Ordered by destination.
	Wanted []Route
	// Held routes stay if they exist and are not created: their nodes are leaving, or silent (a stopped instance).
	Held []Route
	// Excluded routes are those of excluded nodes. They are left alone like held ones; and since somebody else may have made them,
	// that they were there is no reason to delete them when the node goes.
	Excluded []Route
	// Unroutable nodes can't have a route until somebody changes them. Ordered by name.
	Unroutable []Unroutable
	// Unclear are the names of nodes that exist and whose route is not known yet. Nothing made for them is an orphan.
	Unclear []string
}

// Unroutable says why a node can't have a route.
type Unroutable struct {
	// Key is zero if the node does not say which route it is about.
	Key
	Node, Reason string
}

// ClaimsOf reads the claims off all nodes of a cluster whose VPC is in a region. The result does not depend on the order of
// the nodes, which are not changed.
func ClaimsOf(all []*corev1.Node, region string) Claims {
	var claims Claims
	// Of two nodes with one pod CIDR the older keeps the route, so that a newcomer can't steal traffic.
	ordered := slices.SortedFunc(slices.Values(all), func(a, b *corev1.Node) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	holder := map[netip.Prefix]string{}
	for _, node := range ordered {
		id, known := nodes.ParseProviderID(node.Spec.ProviderID)
		cidr, reason := podCIDR(node)
		wanted := wants(node)
		key := Key{CIDR: cidr, InstanceID: id.InstanceID}
		refuse := func(key Key, format string, args ...any) {
			claims.Unroutable = append(claims.Unroutable, Unroutable{Key: key, Node: node.Name, Reason: fmt.Sprintf(format, args...)})
		}
		switch {
		case !known:
			// Either the node controller has still to find the instance, or the node is none of the cloud's.
			claims.Unclear = append(claims.Unclear, node.Name)
		case reason != "":
			claims.Unclear = append(claims.Unclear, node.Name)
			if wanted {
				refuse(Key{}, "%s", reason)
			}
		case nodes.Excluded(node):
			claims.Excluded = append(claims.Excluded, Route{Key: key, Node: node.Name})
		case !wanted:
			claims.Held = append(claims.Held, Route{Key: key, Node: node.Name})
		case id.Region != region:
			refuse(key, "spec.providerID %q is of another region than the route tables (%s)", node.Spec.ProviderID, region)
		case holder[cidr] != "":
			refuse(key, "pod CIDR %s belongs to node %s already", cidr, holder[cidr])
		default:
			holder[cidr] = node.Name
			claims.Wanted = append(claims.Wanted, Route{Key: key, Node: node.Name})
		}
	}
	byKey := func(a, b Route) int { return compareKeys(a.Key, b.Key) }
	slices.SortStableFunc(claims.Wanted, byKey)
	slices.SortStableFunc(claims.Held, byKey)
	slices.SortStableFunc(claims.Excluded, byKey)
	slices.SortFunc(claims.Unroutable, func(a, b Unroutable) int { return strings.Compare(a.Node, b.Node) })
	slices.Sort(claims.Unclear)
	return claims
}

// KeyOf is the route of a node, zero if the node does not say yet. It does not tell whether the route is wanted.
func KeyOf(node *corev1.Node) Key {
	id, known := nodes.ParseProviderID(node.Spec.ProviderID)
	cidr, reason := podCIDR(node)
	if !known || reason != "" {
		return Key{}
	}
	return Key{CIDR: cidr, InstanceID: id.InstanceID}
}

// SameClaim tells whether two states of a node make the same claim, so that a change from one to the other is no news.
func SameClaim(a, b *corev1.Node) bool {
	return a.UID == b.UID && a.Spec.ProviderID == b.Spec.ProviderID && a.Spec.PodCIDR == b.Spec.PodCIDR &&
		slices.Equal(a.Spec.PodCIDRs, b.Spec.PodCIDRs) && wants(a) == wants(b)
}

// wants tells whether a route is to be created for a node, as far as the node's life goes. A node that has not begun to report
// is not silent: it needs its route to become ready.
func wants(node *corev1.Node) bool {
	return !nodes.Excluded(node) && node.DeletionTimestamp == nil && !nodes.Silent(node)
}

// podCIDR is the first IPv4 range of a node, or the reason why there is none.
func podCIDR(node *corev1.Node) (netip.Prefix, string) {
	ranges := node.Spec.PodCIDRs
	if len(ranges) == 0 && node.Spec.PodCIDR != "" {
		ranges = []string{node.Spec.PodCIDR}
	}
	if len(ranges) == 0 {
		return netip.Prefix{}, "spec.podCIDR is not set; kube-controller-manager sets it with --allocate-node-cidrs"
	}
	for _, text := range ranges {
		cidr, err := netip.ParsePrefix(text)
		if err != nil {
			return netip.Prefix{}, fmt.Sprintf("spec.podCIDRs: %q is no CIDR", text)
		}
		if cidr.Addr().Is4() {
			return cidr.Masked(), ""
		}
	}
	return netip.Prefix{}, fmt.Sprintf("spec.podCIDRs: no IPv4 range in %s", strings.Join(ranges, ","))
}
