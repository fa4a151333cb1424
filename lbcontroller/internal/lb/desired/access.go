package desired

import (
	"net/netip"
	"slices"
	"strings"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// SourceRanges are the networks of spec.loadBalancerSourceRanges, ordered, each once. What is none refuses the Service.
func (b *Builder) SourceRanges() []netip.Prefix {
	var ranges []netip.Prefix
	for _, text := range b.View.Service.Spec.LoadBalancerSourceRanges {
		network, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil || network.Addr().Is4In6() {
			b.Problem("%s: %q is no network; write it as 10.0.0.0/8 or 2001:db8::/32", annotation.SourceRanges, text)
			continue
		}
		ranges = append(ranges, network.Masked())
	}
	slices.SortFunc(ranges, netip.Prefix.Compare)
	return slices.Compact(ranges)
}

// Restricts reports whether the field for source ranges counts, and reports one that doesn't.
func (b *Builder) Restricts() bool {
	switch {
	case len(b.View.Service.Spec.LoadBalancerSourceRanges) > 0 && !b.View.Restricts():
		b.NoEffect("%s has no effect, because serviceFields is off in the configuration", annotation.SourceRanges)
	case b.View.Restricts() && b.NoSourceRanges:
		b.Problem("%s is refused, because sourceRanges.enabled is off in the configuration: switch it on, or remove the field and restrict the "+
			"access in another way", annotation.SourceRanges)
	}
	return b.View.Restricts()
}

// RestrictTo asks for an access list with these entries.
func (b *Builder) RestrictTo(name string, entries []string) {
	slices.Sort(entries)
	b.access = &model.Access{Name: name, Entries: entries}
}

// OnlyOne refuses a Service that restricts the access both by the field and by one of the annotations: neither counts more.
func (b *Builder) OnlyOne(keys ...string) {
	for _, key := range keys {
		if annotation.IsSet(b.View.Service.Annotations, key) {
			b.Problem("%s can't be used together with annotation %s: remove one of the two", annotation.SourceRanges, b.Values.Name(key))
		}
	}
}
