package slb

import (
	"net/netip"
	"strings"
)

// Address returns an address in the spelling of Go and Kubernetes: the cloud may spell an IPv6 address otherwise, and
// servers are compared by it. What is no address stays as it is.
func Address(text string) string {
	if !strings.Contains(text, ":") {
		return text
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return text
	}
	return address.String()
}
