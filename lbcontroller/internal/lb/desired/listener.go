package desired

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// listeners returns the wanted listeners: none where the user makes them.
func (b *builder) listeners() []model.Listener {
	if b.reuse.ID != "" && !b.reuse.Listeners {
		return nil
	}
	b.checkAccess()
	protocols := b.protocols()
	forwards, extensions := b.forwards(protocols), b.extensions()
	var listeners []model.Listener
	seen := map[model.ListenerKey]bool{}
	for i, port := range b.view.Service.Spec.Ports {
		protocol, ok := protocols[i]
		if !ok {
			continue // Already reported.
		}
		key := model.ListenerKey{Port: port.Port, Protocol: protocol}
		if seen[key] {
			b.problem("spec.ports[%d]: port %d is used twice with protocol %s", i, port.Port, model.ProtocolName(protocol))
			continue
		}
		seen[key] = true
		l := model.Listener{Key: key, Group: b.groupName(port), Config: b.listenerConfig(protocol), Defaults: listenerDefaults(protocol)}
		l.Config.Description = new(b.owner.Listener(port.Port))
		if protocol == slbv1.Protocol_PROTOCOL_HTTPS {
			l.Extensions = extensions
		}
		if target, ok := forwards[port.Port]; ok && protocol == slbv1.Protocol_PROTOCOL_HTTP {
			l.Group, l.Config.ForwardPort = "", new(target)
		}
		listeners = append(listeners, l)
	}
	slices.SortFunc(listeners, func(a, b model.Listener) int { return a.Key.Compare(b.Key) })
	return listeners
}

// protocols returns the listener protocol of each port of the Service by its index.
func (b *builder) protocols() map[int]slbv1.Protocol {
	// One number may have a protocol over TCP and one over UDP, as DNS does.
	type transport struct {
		port int32
		tcp  bool
	}
	asked := map[transport]slbv1.Protocol{}
	for _, p := range b.values.Pairs(annotation.ProtocolPort) {
		protocol, known := parseProtocol(p.Key)
		port, err := parsePort(p.Value)
		if !known || err != nil {
			b.misfit(annotation.ProtocolPort, "protocol:port,… with protocol tcp, udp, http or https and port 1 to 65535")
			break
		}
		key := transport{port: port, tcp: overTCP(protocol)}
		if other, twice := asked[key]; twice && other != protocol {
			b.misfit(annotation.ProtocolPort, fmt.Sprintf("one protocol for port %d", port))
			break
		}
		asked[key] = protocol
	}
	result := map[int]slbv1.Protocol{}
	for i, port := range b.view.Service.Spec.Ports {
		own, known := parseProtocol(string(port.Protocol))
		if port.Protocol == "" {
			own, known = slbv1.Protocol_PROTOCOL_TCP, true
		}
		if !known {
			b.problem("spec.ports[%d].protocol: %s is not supported, use TCP or UDP", i, port.Protocol)
			continue
		}
		result[i] = own
		if protocol, ok := asked[transport{port: port.Port, tcp: overTCP(own)}]; ok {
			result[i] = protocol
		} else if protocol, ok := asked[transport{port: port.Port, tcp: !overTCP(own)}]; ok && b.onlyPort(port) {
			result[i] = protocol
		}
	}
	b.checkProtocols(result)
	return result
}

// onlyPort reports whether no other port of the Service has this number, as with TCP and UDP on one number.
func (b *builder) onlyPort(port corev1.ServicePort) bool {
	count := 0
	for _, p := range b.view.Service.Spec.Ports {
		if p.Port == port.Port {
			count++
		}
	}
	return count == 1
}

// checkAccess reports access lists that would not be in force: who writes them believes to be protected.
func (b *builder) checkAccess() {
	v, set := b.values, func(key string) bool { return annotation.IsSet(b.view.Service.Annotations, key) }
	for _, key := range []string{annotation.ACLID, annotation.ACLType} {
		switch {
		case !set(annotation.ACLStatus) && set(key):
			b.problem("annotation %s has no effect without annotation %s: set that to on to restrict the access, or to off", v.Name(key), annotation.Prefix+annotation.ACLStatus)
			return
		case v.On(annotation.ACLStatus) && !set(key):
			b.problem("annotation %s is missing: annotation %s needs it to restrict the access", annotation.Prefix+key, v.Name(annotation.ACLStatus))
		}
	}
}

// checkProtocols reports listener annotations that don't fit the protocols in use.
func (b *builder) checkProtocols(protocols map[int]slbv1.Protocol) {
	v := b.values
	used := map[slbv1.Protocol]bool{}
	for _, p := range protocols {
		used[p] = true
	}
	if used[slbv1.Protocol_PROTOCOL_HTTPS] && !v.Has(annotation.CertID) {
		b.problem("annotation %s is missing: an https listener needs a server certificate", annotation.Prefix+annotation.CertID)
	}
	l7 := used[slbv1.Protocol_PROTOCOL_HTTP] || used[slbv1.Protocol_PROTOCOL_HTTPS]
	switch s := v.Text(annotation.Scheduler); {
	case s == "sch" && l7:
		b.misfit(annotation.Scheduler, "rr, wrr or wlc: sch is for tcp and udp only")
	case (s == "tch" || s == "qch") && (l7 || used[slbv1.Protocol_PROTOCOL_TCP]):
		b.misfit(annotation.Scheduler, "rr, wrr or wlc: tch and qch are for udp only")
	}
	if !l7 || !v.On(annotation.StickySession) {
		return
	}
	switch v.Text(annotation.StickySessionType) {
	case "":
		b.misfit(annotation.StickySession, "it together with annotation "+annotation.Prefix+annotation.StickySessionType+" (insert or server)")
	case "insert":
		if !v.Has(annotation.CookieTimeout) {
			b.misfit(annotation.StickySessionType, "it together with annotation "+annotation.Prefix+annotation.CookieTimeout)
		}
	case "server":
		if !v.Has(annotation.Cookie) {
			b.misfit(annotation.StickySessionType, "it together with annotation "+annotation.Prefix+annotation.Cookie)
		}
	}
}

// forwards returns the target by redirected port.
func (b *builder) forwards(protocols map[int]slbv1.Protocol) map[int32]int32 {
	byPort := map[int32]map[slbv1.Protocol]bool{}
	for i, port := range b.view.Service.Spec.Ports {
		if byPort[port.Port] == nil {
			byPort[port.Port] = map[slbv1.Protocol]bool{}
		}
		byPort[port.Port][protocols[i]] = true
	}
	result := map[int32]int32{}
	for _, p := range b.values.Pairs(annotation.ForwardPort) {
		from, err1 := parsePort(p.Key)
		to, err2 := parsePort(p.Value)
		switch {
		case err1 != nil || err2 != nil:
			b.misfit(annotation.ForwardPort, "port:port,… with ports 1 to 65535")
		case byPort[from] == nil:
			// As with the other annotations by port, ports that the Service doesn't have are passed over.
		case !byPort[from][slbv1.Protocol_PROTOCOL_HTTP]:
			b.misfit(annotation.ForwardPort, fmt.Sprintf("an http port of the Service before the colon: %d is none (see annotation %s)", from, annotation.Prefix+annotation.ProtocolPort))
		case byPort[to] == nil && b.reuse.ID != "":
			result[from] = to // The https listener is the user's.
		case !byPort[to][slbv1.Protocol_PROTOCOL_HTTPS]:
			b.misfit(annotation.ForwardPort, fmt.Sprintf("an https port of the Service after the colon: %d is none (see annotation %s)", to, annotation.Prefix+annotation.ProtocolPort))
		default:
			result[from] = to
		}
	}
	return result
}

// extensions returns the further certificates that are asked for, ordered by domain; nil without the annotation.
func (b *builder) extensions() []model.Extension {
	var list []model.Extension
	certificates := map[string]string{}
	for _, p := range b.values.Pairs(annotation.DomainExtensions) {
		domain := strings.ToLower(p.Key)
		other, twice := certificates[domain]
		switch {
		case p.Value == "" || !isDomain(domain):
			b.misfit(annotation.DomainExtensions, "domain:certificate,… with domains such as www.example.com or *.example.com")
			return nil
		case twice && other != p.Value:
			b.misfit(annotation.DomainExtensions, "one certificate for domain "+domain)
			return nil
		case !twice:
			certificates[domain] = p.Value
			list = append(list, model.Extension{Domain: domain, Certificate: p.Value})
		}
	}
	slices.SortFunc(list, func(a, b model.Extension) int { return strings.Compare(a.Domain, b.Domain) })
	return list
}

// maxDomain is the length of a domain.
const maxDomain = 253

// isDomain reports whether a text is a host name, maybe with a wildcard, in lower case.
func isDomain(text string) bool {
	return text != "" && len(text) <= maxDomain && !strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-.*", r)
	})
}

func parseProtocol(name string) (slbv1.Protocol, bool) {
	for p := range slbv1.Protocol_name {
		if protocol := slbv1.Protocol(p); protocol != slbv1.Protocol_PROTOCOL_UNSPECIFIED && strings.EqualFold(model.ProtocolName(protocol), name) {
			return protocol, true
		}
	}
	return slbv1.Protocol_PROTOCOL_UNSPECIFIED, false
}

func overTCP(p slbv1.Protocol) bool { return p != slbv1.Protocol_PROTOCOL_UDP }

func parsePort(text string) (int32, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("port %q is not a number from 1 to 65535", text)
	}
	return int32(n), nil
}
