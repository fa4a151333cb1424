package nodes

import "strings"

const (
	kubernetesPrefix = "alicloud://"
	hybridPrefix     = "ack-hybrid://"
)

// ID names an ECS instance.
type ID struct {
	Region     string // e.g. "cn-hangzhou"
	InstanceID string // e.g. "i-bp1…"
}

// String gives the canonical provider id, "<region>.<instance>", which is also the form that is written to nodes.
func (id ID) String() string { return id.Region + "." + id.InstanceID }

// ParseProviderID reads a node's spec.providerID: "<region>.<instance>", also with "alicloud://" before it, or
// "alicloud://<segments>/", as in Kubernetes' general form of a provider id. Parts after a second dot are ignored, as the existing
// CCM does. False if the id names no ECS instance.
func ParseProviderID(s string) (ID, bool) {
	if path, ok := strings.CutPrefix(s, kubernetesPrefix); ok {
		segments := strings.Split(path, "/")
		last := len(segments) - 1
		for _, segment := range segments[:last] {
			if segment != "" && !plain(segment) {
				return ID{}, false
			}
		}
		s = segments[last]
	}
	parts := strings.Split(s, ".")
	if len(parts) < 2 || !plain(parts[0]) || !plain(parts[1]) {
		return ID{}, false
	}
	return ID{Region: parts[0], InstanceID: parts[1]}, true
}

// plain reports whether s can be a region or an instance id: letters, digits and hyphens. It keeps ids of other providers, which
// have a scheme or a path, from being taken for ours, and those that the gateway would refuse together with all other nodes'.
func plain(s string) bool {
	const longest = 128
	if len(s) > longest {
		return false
	}
	for _, c := range s {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return s != ""
}
