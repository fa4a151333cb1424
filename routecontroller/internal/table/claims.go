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

// Scope is what the routes of a cluster are about.
type Scope struct {
	// Region is that of the VPC.
	Region string
	// IPv6 lets nodes have a route for their IPv6 range, too. Without it, IPv6 is ignored.
	IPv6 bool
}

// Claims is what the nodes of a cluster ask of every route table. A node claims one route for each family of its pod CIDRs.
type Claims struct {
	// Wanted routes have to exist. No two have one destination, and no two nodes one instance. Ordered by destination.
	Wanted []Route
	// Held routes stay if they exist and are not created: their nodes are leaving, silent (a stopped instance), or unroutable.
	Held []Route
	// Excluded routes are those of excluded nodes. They are left alone like held ones; and since a user or another tool may have
	// made them, that they were there is no reason to delete them when the node goes.
	Excluded []Route
	// Unroutable nodes can't have a route until they are changed. Ordered by name.
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

// Claims reads the claims off all nodes of a cluster. The result does not depend on the order of the nodes, which are not changed.
func (s Scope) Claims(all []*corev1.Node) Claims {
	// Of two nodes with one pod CIDR or one instance the older keeps the route, so that a newcomer can't steal traffic.
	ordered := slices.SortedFunc(slices.Values(all), func(a, b *corev1.Node) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	var claims Claims
	holder := holders{of: map[netip.Prefix]string{}, instances: map[string]string{}}
	for _, node := range ordered {
		s.claim(&claims, &holder, node)
	}
	byKey := func(a, b Route) int { return CompareKeys(a.Key, b.Key) }
	slices.SortStableFunc(claims.Wanted, byKey)
	slices.SortStableFunc(claims.Held, byKey)
	slices.SortStableFunc(claims.Excluded, byKey)
	slices.SortStableFunc(claims.Unroutable, func(a, b Unroutable) int { return strings.Compare(a.Node, b.Node) })
	slices.Sort(claims.Unclear)
	return claims
}

// holders are the nodes that have ranges and instances already.
type holders struct {
	// of are the nodes by their ranges, those included that have no route now.
	of map[netip.Prefix]string
	// instances are the nodes that have routes to instances. A machine has the pods of one node only.
	instances map[string]string
	// longest are the bits of the smallest range.
	longest int
}

// overlapping finds a range that overlaps one, and its node.
func (h *holders) overlapping(cidr netip.Prefix) (netip.Prefix, string) {
	for bits := cidr.Bits(); bits > 0; bits-- {
		if around := netip.PrefixFrom(cidr.Addr(), bits).Masked(); h.of[around] != "" {
			return around, h.of[around]
		}
	}
	if h.longest > cidr.Bits() { // Nodes with ranges of different sizes are rare.
		for other, node := range h.of {
			if other.Overlaps(cidr) {
				return other, node
			}
		}
	}
	return netip.Prefix{}, ""
}

// keep notes that a node has ranges, unless an older one has the same.
func (h *holders) keep(node string, cidrs []netip.Prefix) {
	for _, cidr := range cidrs {
		if h.of[cidr] == "" {
			h.of[cidr], h.longest = node, max(h.longest, cidr.Bits())
		}
	}
}

// refusal says why the node of a wanted route can't have it: an older node has its range, or has a route to its
// instance.
func (h *holders) refusal(route Route) string {
	if other := h.instances[route.InstanceID]; other != "" && other != route.Node {
		return fmt.Sprintf("nodes %s and %s have the same instance %s in spec.providerID, and the older one, %s, has its routes; "+
			"if the kubelet was renamed, delete the Node that is not its own any more, else correct --provider-id of %s and delete that Node",
			other, route.Node, route.InstanceID, other, route.Node)
	}
	switch overlap, older := h.overlapping(route.CIDR); {
	case older == "":
		return ""
	case overlap != route.CIDR:
		return fmt.Sprintf("pod CIDR %s overlaps %s of node %s, and the older one, %s, has the first claim to it; "+
			"delete one of the two Nodes, so that it gets another range when its kubelet registers again", route.CIDR, overlap, older, older)
	default:
		return fmt.Sprintf("nodes %s and %s have the same pod CIDR %s, and the older one, %s, has the first claim to its route; "+
			"delete one of the two Nodes, so that it gets another range when its kubelet registers again", older, route.Node, route.CIDR, older)
	}
}

// claim adds the claims of one node; holder says which node has a range already.
func (s Scope) claim(claims *Claims, holder *holders, node *corev1.Node) {
	id, known := nodes.ParseProviderID(node.Spec.ProviderID)
	cidrs, reason := s.podCIDRs(node)
	if !nodes.Foreign(node) { // It keeps its range though it may have no route now: a kubelet can register with any range.
		defer holder.keep(node.Name, cidrs)
	}
	switch {
	case !known:
		// Either the node controller has still to find the instance, or the node is none of the cloud's.
		claims.Unclear = append(claims.Unclear, node.Name)
		return
	case reason != "":
		claims.Unclear = append(claims.Unclear, node.Name)
		if wants(node) {
			claims.Unroutable = append(claims.Unroutable, Unroutable{Node: node.Name, Reason: reason})
		}
		return
	}
	for _, cidr := range cidrs {
		route := Route{Key: Key{CIDR: cidr, InstanceID: id.InstanceID}, Node: node.Name}
		refuse := func(format string, args ...any) {
			claims.Held = append(claims.Held, route) // The Node is there: what it has is not for us to take away.
			claims.Unroutable = append(claims.Unroutable, Unroutable{Key: route.Key, Node: node.Name, Reason: fmt.Sprintf(format, args...)})
		}
		switch {
		case nodes.Excluded(node):
			claims.Excluded = append(claims.Excluded, route)
		case !wants(node):
			claims.Held = append(claims.Held, route)
		case id.Region != s.Region:
			refuse("spec.providerID %q is of another region than the route tables (%s); if the instance is there, start the kubelet with "+
				"--provider-id=%s and delete the Node, else label it %s", node.Spec.ProviderID, s.Region,
				nodes.ID{Region: s.Region, InstanceID: id.InstanceID}, nodes.LabelExclude)
		case nodes.InstanceAbsent(node):
			refuse("the cloud does not know instance %s of spec.providerID, so that a route to it leads nowhere; the machine "+
				"is another one: delete the "+
				"Node and restart the kubelet, so that it registers anew", id.InstanceID)
		case nodes.Foreign(node): // What was made before nodecontroller saw that is not kept.
			claims.Unroutable = append(claims.Unroutable, Unroutable{Key: route.Key, Node: node.Name, Reason: fmt.Sprintf(
				"instance %s of spec.providerID is of another VPC or cluster, the events of the Node say which (SyncNodeFailed); it gets no route",
				id.InstanceID)})
		default:
			if taken := holder.refusal(route); taken != "" {
				refuse("%s", taken)
				continue
			}
			holder.instances[route.InstanceID] = node.Name
			claims.Wanted = append(claims.Wanted, route)
		}
	}
}

// KeysOf are the routes of a node; a zero one if the node does not say yet. They do not report whether the routes are wanted.
func (s Scope) KeysOf(node *corev1.Node) []Key {
	id, known := nodes.ParseProviderID(node.Spec.ProviderID)
	cidrs, reason := s.podCIDRs(node)
	if !known || reason != "" {
		return []Key{{}}
	}
	keys := make([]Key, len(cidrs))
	for i, cidr := range cidrs {
		keys[i] = Key{CIDR: cidr, InstanceID: id.InstanceID}
	}
	return keys
}

// SameClaim reports whether two states of a node make the same claim, so that a change from one to the other is no news.
func SameClaim(a, b *corev1.Node) bool {
	return a.UID == b.UID && a.Spec.ProviderID == b.Spec.ProviderID && a.Spec.PodCIDR == b.Spec.PodCIDR &&
		slices.Equal(a.Spec.PodCIDRs, b.Spec.PodCIDRs) && wants(a) == wants(b) && nodes.InstanceAbsent(a) == nodes.InstanceAbsent(b) &&
		nodes.Foreign(a) == nodes.Foreign(b)
}

// wants reports whether a route is to be created for a node, as far as the node's life goes. A node that has not begun to report
// is not silent: it needs its route to become ready. A virtual node has no pods that a route would lead to, and nobody looks whether the
// instance that it names is the cluster's.
func wants(node *corev1.Node) bool {
	return !nodes.Excluded(node) && !nodes.IsVirtual(node) && node.DeletionTimestamp == nil && !nodes.Silent(node)
}

// podCIDRs are the ranges of a node that need routes, the first of each family, or the reason why there is none.
func (s Scope) podCIDRs(node *corev1.Node) ([]netip.Prefix, string) {
	texts := node.Spec.PodCIDRs
	if len(texts) == 0 && node.Spec.PodCIDR != "" {
		texts = []string{node.Spec.PodCIDR}
	}
	if len(texts) == 0 {
		return nil, "spec.podCIDR is not set; kube-controller-manager sets it with --allocate-node-cidrs"
	}
	var cidrs []netip.Prefix
	for _, text := range texts {
		cidr, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Sprintf("spec.podCIDRs: %q is no CIDR", text)
		}
		sameFamily := func(other netip.Prefix) bool { return other.Addr().Is4() == cidr.Addr().Is4() }
		if s.covers(cidr) && !slices.ContainsFunc(cidrs, sameFamily) {
			cidrs = append(cidrs, cidr.Masked())
		}
	}
	if len(cidrs) == 0 {
		return nil, fmt.Sprintf("spec.podCIDRs: no IPv4 range in %s; with ipv6 on, IPv6 ranges get routes, too", strings.Join(texts, ","))
	}
	return cidrs, ""
}

// covers reports whether routes to a range are of interest.
func (s Scope) covers(cidr netip.Prefix) bool { return s.IPv6 || cidr.Addr().Is4() }
