package clb

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// listeners returns the wanted listeners: none where the user makes them.
func (b builder) listeners() []model.Listener {
	if b.Reuse.ID != "" && !b.Reuse.Listeners {
		b.withoutOverride()
		return nil
	}
	b.checkAccess()
	protocols := b.protocols()
	b.checkAffinity(protocols)
	forwards := b.forwards(protocols)
	b.extensions()
	b.OfSecret() // What can't be is reported, whether or not a listener needs it.
	var listeners []model.Listener
	seen := map[model.ListenerKey]bool{}
	for i, port := range b.View.Service.Spec.Ports {
		protocol, ok := protocols[i]
		if !ok {
			continue // Already reported.
		}
		key := model.ListenerKey{Port: port.Port, Protocol: protocol}
		if seen[key] {
			b.Problem("spec.ports[%d]: port %d is used twice with protocol %s", i, port.Port, protocol)
			continue
		}
		seen[key] = true
		if protocol == model.UDP && slices.Contains([]int32{250, 4789, 4790}, port.Port) {
			b.RefusePort(i, "the cloud reserves port %d for itself over udp; choose another port", port.Port)
			continue
		}
		own := b.at(port.Port)
		config := own.listenerConfig(protocol)
		config.Description = new(b.Owner.Listener(port.Port))
		l := model.Listener{Key: key, Group: b.GroupName(i), Config: config, Defaults: listenerDefaults(protocol)}
		b.CheckTransport(i, protocol)
		if protocol == model.HTTPS {
			if b.RefuseWithdrawn(i, own.Values) {
				continue
			}
			l.Further = own.extensions()
			if id, lacks, ok := own.OfSecret(); ok {
				config.ServerCertificateId, l.Waits = nil, lacks
				if id != "" {
					config.ServerCertificateId = &id
				}
			}
		}
		if target, ok := forwards[port.Port]; ok && protocol == model.HTTP {
			l.Group, l.LeadsTo, config.ForwardPort = "", target, new(target)
		}
		listeners = append(listeners, l)
	}
	slices.SortFunc(listeners, func(a, b model.Listener) int { return a.Key.Compare(b.Key) })
	return listeners
}

// protocols returns the listener protocol of each port of the Service by its index.
func (b builder) protocols() map[int]model.Protocol {
	// One number may have a protocol over TCP and one over UDP, as DNS does.
	type transport struct {
		port int32
		tcp  bool
	}
	asked := map[transport]model.Protocol{}
	for _, p := range b.Values.Pairs(annotation.ProtocolPort) {
		protocol, known := parseProtocol(p.Key)
		port, err := desired.ParsePort(p.Value)
		if !known || err != nil {
			b.Misfit(annotation.ProtocolPort, "protocol:port,… with protocol tcp, udp, http or https (tcpssl is for NLBs) and port 1 to 65535")
			break
		}
		key := transport{port: port, tcp: protocol.OverTCP()}
		if other, twice := asked[key]; twice && other != protocol {
			b.Misfit(annotation.ProtocolPort, fmt.Sprintf("one protocol for port %d", port))
			break
		}
		asked[key] = protocol
	}
	result := map[int]model.Protocol{}
	for i, port := range b.View.Service.Spec.Ports {
		own, known := parseProtocol(string(port.Protocol))
		if port.Protocol == "" {
			own, known = model.TCP, true
		}
		if !known {
			b.Problem("spec.ports[%d].protocol: %s is not supported, use TCP or UDP", i, port.Protocol)
			continue
		}
		result[i] = own
		if protocol, ok := asked[transport{port: port.Port, tcp: own.OverTCP()}]; ok {
			result[i] = protocol
		} else if protocol, ok := asked[transport{port: port.Port, tcp: !own.OverTCP()}]; ok && b.onlyPort(port) {
			result[i] = protocol
		}
	}
	for i, port := range b.View.Service.Spec.Ports {
		if protocol, isKnown := result[i]; isKnown {
			b.at(port.Port).checkListener(protocol)
		}
	}
	b.withoutProtocol(result)
	b.HasProtocols(result)
	b.WithoutNeeds(result, annotation.Listener, annotation.Health)
	for _, p := range b.Values.Pairs(annotation.ProtocolPort) {
		b.KnowsPort(annotation.ProtocolPort, p.Value)
	}
	for _, p := range b.Values.Pairs(annotation.ForwardPort) {
		b.KnowsPort(annotation.ForwardPort, p.Key)
	}
	return result
}

// withoutOverride reports annotations about listeners while these are the user's.
func (b builder) withoutOverride() {
	var names []string
	for _, spec := range annotation.Table() {
		if (spec.Scope == annotation.Listener || spec.Scope == annotation.Health) && b.View.Wrote(spec.Key) {
			names = append(names, b.named(spec.Key))
		}
	}
	if len(names) > 0 {
		b.NoEffect(
			"the annotations %s have no effect: the listeners of CLB %s are yours, and are made and bound to the vServer "+
				"groups by hand; set annotation %s%s to have them managed",
			strings.Join(names, ", "), b.Reuse.ID, annotation.Prefix, annotation.ForceOverride)
	}
}

// withoutProtocol reports annotations for protocols that no listener has.
func (b builder) withoutProtocol(used map[int]model.Protocol) {
	for _, spec := range annotation.Table() {
		if len(spec.Protocols) == 0 || b.Values.Origin(spec.Key) != annotation.Written {
			continue
		}
		applies := false
		for _, protocol := range used {
			applies = applies || slices.Contains(spec.Protocols, protocol.String())
		}
		if !applies && len(used) > 0 {
			b.NoEffect("annotation %s has no effect: it is for %s, and no port has that protocol (annotation %s)",
				b.Values.Name(spec.Key), strings.Join(spec.Protocols, " and "), annotation.Prefix+annotation.ProtocolPort)
		}
	}
}

// named is the key itself, or the field that asks for the same.
func (b builder) named(key string) string {
	if b.Values.Origin(key) == annotation.InSpec {
		return b.Values.Name(key)
	}
	return key
}

// onlyPort reports whether no other port of the Service has this number, as with TCP and UDP on one number.
func (b builder) onlyPort(port corev1.ServicePort) bool {
	count := 0
	for _, p := range b.View.Service.Spec.Ports {
		if p.Port == port.Port {
			count++
		}
	}
	return count == 1
}

// checkAccess reports access lists that would not be in force: who writes them believes to be protected.
func (b *builder) checkAccess() {
	v, set := b.Values, func(key string) bool { return annotation.IsSet(b.View.Service.Annotations, key) }
	for _, key := range []string{annotation.ACLID, annotation.ACLType} {
		switch {
		case !set(annotation.ACLStatus) && set(key):
			b.Problem("annotation %s has no effect without annotation %s: set that to on to restrict the access, or to off",
				v.Name(key), annotation.Prefix+annotation.ACLStatus)
			return
		case v.On(annotation.ACLStatus) && !set(key):
			b.Problem("annotation %s is missing: annotation %s needs it to restrict the access", annotation.Prefix+key, v.Name(annotation.ACLStatus))
		}
	}
}

// checkListener reports listener annotations that don't fit each other or the protocol of a port.
func (b builder) checkListener(protocol model.Protocol) {
	v := b.Values
	if protocol == model.HTTPS && !v.Has(annotation.CertID) && !v.Has(annotation.TLSSecret) {
		b.Problem("annotation %s is missing%s: an https listener needs a server certificate", annotation.Prefix+annotation.CertID,
			b.About(annotation.CertID, annotation.TLSSecret))
	}
	isWeb := protocol == model.HTTP || protocol == model.HTTPS
	switch s := v.Text(annotation.Scheduler); {
	case (s == "sch" || s == "tch") && isWeb:
		b.Misfit(annotation.Scheduler, "rr, wrr or wlc: sch and tch are for tcp and udp only")
	case s == "qch" && protocol != model.UDP:
		b.Misfit(annotation.Scheduler, "rr, wrr or wlc: qch is for udp only")
	}
	for _, timeout := range []string{annotation.HealthCheckConnectTimeout, annotation.HealthCheckTimeout} {
		interval, hasInterval := v.Number(annotation.HealthCheckInterval)
		if seconds, has := v.Number(timeout); has && hasInterval && seconds < interval {
			b.NoEffect("annotation %s has no effect%s: the cloud takes health-check-interval, %d seconds, for a timeout that is less; "+
				"set it to %d or more", v.Name(timeout), b.About(timeout, annotation.HealthCheckInterval), interval, interval)
		}
	}
	if isWeb && v.On(annotation.StickySession) {
		b.checkSticky()
	}
}

// checkSticky reports that stickiness lacks what it needs.
func (b builder) checkSticky() {
	v := b.Values
	together := func(key, needed, more string) {
		b.Misfit(key, "it together with annotation "+annotation.Prefix+needed+b.About(needed, key)+more)
	}
	switch v.Text(annotation.StickySessionType) {
	case "":
		together(annotation.StickySession, annotation.StickySessionType, " (insert or server)")
	case "insert":
		if !v.Has(annotation.CookieTimeout) {
			together(annotation.StickySessionType, annotation.CookieTimeout, "")
		}
	case "server":
		if !v.Has(annotation.Cookie) {
			together(annotation.StickySessionType, annotation.Cookie, "")
		}
	}
}

// forwards returns the target by redirected port.
func (b builder) forwards(protocols map[int]model.Protocol) map[int32]int32 {
	byPort := map[int32]map[model.Protocol]bool{}
	for i, port := range b.View.Service.Spec.Ports {
		if byPort[port.Port] == nil {
			byPort[port.Port] = map[model.Protocol]bool{}
		}
		byPort[port.Port][protocols[i]] = true
	}
	result := map[int32]int32{}
	for _, p := range b.Values.Pairs(annotation.ForwardPort) {
		from, err1 := desired.ParsePort(p.Key)
		to, err2 := desired.ParsePort(p.Value)
		switch {
		case err1 != nil || err2 != nil:
			b.Misfit(annotation.ForwardPort, "port:port,… with ports 1 to 65535")
		case byPort[from] == nil:
			// As with the other annotations by port, ports that the Service doesn't have are passed over.
		case !byPort[from][model.HTTP]:
			b.Misfit(annotation.ForwardPort,
				fmt.Sprintf("an http port of the Service before the colon: %d is none (see annotation %s)", from,
					annotation.Prefix+annotation.ProtocolPort))
		case byPort[to] == nil && b.Reuse.ID != "":
			result[from] = to // The https listener is the user's.
		case !byPort[to][model.HTTPS]:
			b.Misfit(annotation.ForwardPort,
				fmt.Sprintf("an https port of the Service after the colon: %d is none (see annotation %s)", to,
					annotation.Prefix+annotation.ProtocolPort))
		default:
			result[from] = to
		}
	}
	return result
}

// extensions returns the further certificates that are asked for, ordered by domain; nil without the annotation.
func (b builder) extensions() []model.FurtherCertificates {
	var list []model.FurtherCertificates
	certificates := map[string]string{}
	for _, p := range b.Values.Pairs(annotation.DomainExtensions) {
		domain := strings.ToLower(p.Key)
		other, twice := certificates[domain]
		switch {
		case p.Value == "" || !isDomain(domain):
			b.Misfit(annotation.DomainExtensions, "domain:certificate,… with domains such as www.example.com or *.example.com")
			return nil
		case twice && other != p.Value:
			b.Misfit(annotation.DomainExtensions, "one certificate for domain "+domain)
			return nil
		case !twice:
			certificates[domain] = p.Value
			id := p.Value
			if secret, ok := annotation.SecretName(id); ok {
				id, _ = b.FromSecret(annotation.DomainExtensions, secret)
			}
			list = append(list, model.FurtherCertificates{Domain: domain, Certificates: oneOrNone(id)})
		}
	}
	slices.SortFunc(list, func(a, b model.FurtherCertificates) int { return strings.Compare(a.Domain, b.Domain) })
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

func parseProtocol(name string) (model.Protocol, bool) {
	for _, protocol := range []model.Protocol{model.TCP, model.UDP, model.HTTP, model.HTTPS} {
		if strings.EqualFold(protocol.String(), name) {
			return protocol, true
		}
	}
	return 0, false
}
