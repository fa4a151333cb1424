package desired

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// WithoutNeeds reports annotations of these scopes that lack a setting without which they have no effect. protocols are those of the ports
// of the Service by index. A value for all ports has an effect if it has one for any of them.
func (b *Builder) WithoutNeeds(protocols map[int]model.Protocol, scopes ...annotation.Scope) {
	for _, spec := range b.Parser.Table() {
		if len(spec.Needs) == 0 || !slices.Contains(scopes, spec.Scope) || !b.Values.Written(spec.Key) {
			continue
		}
		var lacking *Builder
		var lacks annotation.Need
		counts := false
		for at, protocol := range b.placesOf(spec, protocols) {
			need, isLacking := spec.Lacks(at.Values, protocol)
			switch isOwn := at.Values.IsOwn(spec.Key); {
			case isLacking && isOwn:
				at.lack(spec.Key, need)
			case isLacking:
				lacking, lacks = at, need
			case !isOwn:
				counts = true
			}
		}
		if lacking != nil && !counts {
			lacking.lack(spec.Key, lacks)
		}
	}
}

// placesOf are the ports for which an annotation is written, and the protocols of their listeners, as far as these have such an attribute.
func (b *Builder) placesOf(spec annotation.Spec, protocols map[int]model.Protocol) iter.Seq2[*Builder, string] {
	return func(yield func(*Builder, string) bool) {
		for i, port := range b.View.Service.Spec.Ports {
			protocol, isKnown := protocols[i]
			at, has := b.At(port.Port), len(spec.Protocols) == 0 || slices.Contains(spec.Protocols, protocol.String())
			if isKnown && has && at.Values.Origin(spec.Key) == annotation.Written && !yield(at, protocol.String()) {
				return
			}
		}
	}
}

// withoutNeeds reports the same of annotations that are no listener's.
func (b *Builder) withoutNeeds() {
	for _, spec := range b.Parser.Table() {
		if spec.Scope != annotation.Instance && spec.Scope != annotation.Backends || b.Values.Origin(spec.Key) != annotation.Written {
			continue
		}
		if need, isLacking := spec.Lacks(b.Values, ""); isLacking {
			b.lack(spec.Key, need)
		}
	}
}

// lack reports that an annotation has no effect for want of another.
func (b *Builder) lack(key string, need annotation.Need) {
	about := ""
	if b.Values.IsOwn(key) || b.Values.IsOwn(need.Key) {
		about = b.About(key, need.Key)
	}
	if text := b.Values.Text(need.Key); text != "" && !b.View.Reverts(need.Key) {
		b.NoEffect("%s has no effect%s beside %s: %s", b.Values.Noun(key), about, b.Values.Noun(need.Key), text)
		return
	}
	what := annotation.Prefix + need.Key
	if len(need.Values) > 0 {
		what += ": " + strings.Join(need.Values, " or ")
	}
	b.NoEffect("%s has no effect%s without annotation %s", b.Values.Noun(key), about, what)
}

// checkBackends reports what is said about backends and has no effect on those that the Service has.
func (b *Builder) checkBackends() {
	if kind := b.View.Service.Annotations[annotation.BackendType]; kind != "" && kind != podBackends && kind != nodeBackends {
		b.NoEffect("annotation %s: value %q has no effect: nodes are the backends; use %s for pods, or %s", annotation.BackendType, kind,
			podBackends, nodeBackends)
	}
	var useless []string
	why := "pods are the backends"
	switch b.View.Mode {
	case backend.Pods:
		useless = []string{annotation.BackendLabel, annotation.RemoveUnscheduled, annotation.MaxNodes}
	case backend.Local:
		useless, why = []string{annotation.MaxNodes, annotation.DefaultWeight}, "spec.externalTrafficPolicy is Local"
	case backend.Cluster:
	}
	for _, key := range useless {
		if b.Values.Origin(key) == annotation.Written {
			b.NoEffect("annotation %s has no effect: %s", b.Values.Name(key), why)
		}
	}
}

// CheckTransport reports a listener of a protocol that never reaches the nodes, which take a port of the Service over TCP or over UDP only.
// Pods may take both.
func (b *Builder) CheckTransport(index int, protocol model.Protocol) {
	port := b.View.Service.Spec.Ports[index]
	overUDP := port.Protocol == corev1.ProtocolUDP
	if b.View.Mode == backend.Pods || overUDP != protocol.OverTCP() {
		return
	}
	own, other := corev1.ProtocolTCP, corev1.ProtocolUDP
	if overUDP {
		own, other = other, own
	}
	b.NoEffect("annotation %s asks for %s of port %d, which nodes take over %s only: nothing gets through; set spec.ports[%d].protocol to "+
		"%s, or take the port out of the annotation", b.Values.Name(annotation.ProtocolPort), protocol, port.Port, own, index, other)
}

// MaxTags is how many tags a load balancer has at most.
const MaxTags = 20

// CheckTags refuses more tags than there is room for beside those of the controller.
func (b *Builder) CheckTags(own int) {
	if n := len(b.Values.Pairs(annotation.AdditionalTags)); n+own > MaxTags {
		b.Misfit(annotation.AdditionalTags, fmt.Sprintf("at most %d tags: it has %d, and %d of the %d that a load balancer can have are the "+
			"controller's", MaxTags-own, n, own, MaxTags))
	}
}
