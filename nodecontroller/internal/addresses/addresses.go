package addresses

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
)

// Of gives the addresses of a node: those of its instance, public ones first, then the host names it has already. A provided address
// (kubelet's --node-ip, a comma-separated list for dual stack) takes the place of all others of its type. Addresses that the node has
// keep their order, whatever the cloud's is: since Kubernetes 1.37 kube-proxy ends when the first one of a family changes.
func Of(instance *ecsv1.Instance, current []corev1.NodeAddress, provided string, ipv6 bool) ([]corev1.NodeAddress, error) {
	list := inOrderOf(current, ofInstance(instance, ipv6 || strings.Contains(provided, ":")))
	if provided != "" {
		var err error
		if list, err = pick(list, provided); err != nil {
			return nil, err
		}
	}
	for _, address := range current {
		if address.Type == corev1.NodeHostName {
			list = add(list, address.Type, address.Address)
		}
	}
	return list, nil
}

func ofInstance(instance *ecsv1.Instance, ipv6 bool) []corev1.NodeAddress {
	var list []corev1.NodeAddress
	list = add(list, corev1.NodeExternalIP, instance.GetPublicIps()...)
	list = add(list, corev1.NodeExternalIP, instance.GetEip())
	list = add(list, corev1.NodeInternalIP, instance.GetInnerIps()...)
	list = add(list, corev1.NodeInternalIP, instance.GetPrivateIps()...)
	if ipv6 {
		list = add(list, corev1.NodeInternalIP, instance.GetIpv6Addresses()...)
	}
	return list
}

// inOrderOf gives a list in which the addresses of each type come as they do in the current one, those that it lacks last.
func inOrderOf(current, list []corev1.NodeAddress) []corev1.NodeAddress {
	place := func(a corev1.NodeAddress) int {
		if i := slices.Index(current, a); i >= 0 {
			return i
		}
		return len(current)
	}
	slices.SortStableFunc(list, func(a, b corev1.NodeAddress) int {
		if a.Type != b.Type {
			return cmp.Compare(a.Type, b.Type) // Public ones first.
		}
		return cmp.Compare(place(a), place(b))
	})
	return list
}

// Loses reports whether a node would be without an internal address of a family that it has one of.
func Loses(before, after []corev1.NodeAddress) bool {
	return slices.ContainsFunc([]bool{false, true}, func(ipv6 bool) bool { return has(before, ipv6) && !has(after, ipv6) })
}

// has reports whether there is an internal address of a family.
func has(list []corev1.NodeAddress, ipv6 bool) bool {
	return slices.ContainsFunc(list, func(a corev1.NodeAddress) bool {
		ip, err := netip.ParseAddr(a.Address)
		return a.Type == corev1.NodeInternalIP && err == nil && ip.Is6() == ipv6
	})
}

// add appends addresses that are neither empty nor there.
func add(list []corev1.NodeAddress, kind corev1.NodeAddressType, addresses ...string) []corev1.NodeAddress {
	for _, text := range addresses {
		address := corev1.NodeAddress{Type: kind, Address: text}
		if text != "" && !slices.Contains(list, address) {
			list = append(list, address)
		}
	}
	return list
}

// pick keeps the provided addresses, in their order and behind those of other types, and drops others of their types.
// One that the instance does not have is an error: the kubelet was started with a wrong --node-ip, or the node is
// mistaken for another instance.
func pick(list []corev1.NodeAddress, provided string) ([]corev1.NodeAddress, error) {
	var picked []corev1.NodeAddress
	for text := range strings.SplitSeq(provided, ",") {
		text = strings.TrimSpace(text)
		i := slices.IndexFunc(list, func(a corev1.NodeAddress) bool { return same(a.Address, text) })
		if i < 0 {
			return nil, fmt.Errorf("the kubelet's --node-ip %q is no address of the instance, which has %s", text, names(list))
		}
		picked = add(picked, list[i].Type, list[i].Address)
	}
	provides := func(kind corev1.NodeAddressType) bool {
		return slices.ContainsFunc(picked, func(a corev1.NodeAddress) bool { return a.Type == kind })
	}
	return append(slices.DeleteFunc(slices.Clone(list), func(a corev1.NodeAddress) bool { return provides(a.Type) }), picked...), nil
}

// same compares addresses by value, since IPv6 has many spellings.
func same(a, b string) bool {
	left, leftErr := netip.ParseAddr(a)
	right, rightErr := netip.ParseAddr(b)
	if leftErr != nil || rightErr != nil {
		return a == b
	}
	return left == right
}

func names(list []corev1.NodeAddress) string {
	if len(list) == 0 {
		return "none"
	}
	texts := make([]string, len(list))
	for i, address := range list {
		texts[i] = address.Address
	}
	return strings.Join(texts, ", ")
}
