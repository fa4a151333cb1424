package nlb

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

const (
	// udpIdleTimeout is the longest idle timeout of a UDP listener, and its default.
	udpIdleTimeout = 20
)

// portRange is a range of listener ports.
type portRange struct{ start, end int32 }

func (r portRange) String() string { return fmt.Sprintf("%d_%d", r.start, r.end) }

// listeners returns the wanted listeners: none where the user makes them.
func (b builder) listeners() []model.Listener {
	if b.Reuse.ID != "" && !b.Reuse.Listeners {
		b.withoutOverride()
		return nil
	}
	b.OfSecret() // What can't be is reported, whether or not a listener needs it.
	var listeners []model.Listener
	for i, port := range b.View.Service.Spec.Ports {
		protocol := b.protocols[i]
		if protocol == 0 {
			b.Problem("spec.ports[%d].protocol: %s is not supported, use TCP or UDP", i, port.Protocol)
			continue
		}
		key, name := model.ListenerKey{Port: port.Port, Protocol: protocol}, strconv.Itoa(int(port.Port))
		if r, ok := b.ranges[port.Port]; ok {
			key.Port, key.End, name = r.start, r.end, r.String()
		}
		if at := slices.IndexFunc(listeners, func(l model.Listener) bool { return l.Key.Meets(key) }); at >= 0 {
			b.Problem(
				"spec.ports[%d]: the listener would have a port that another has already, %d; choose another port or range", i, listeners[at].Key.Port)
			continue
		}
		own := b.at(port.Port)
		config := own.listenerConfig(protocol)
		config.Description = new(b.Owner.Dotted(name, protocol.String()))
		l := model.Listener{Key: key, Group: b.GroupName(i), Config: config}
		b.CheckTransport(i, protocol)
		if protocol == model.TCPSSL {
			if b.RefuseWithdrawn(i, own.Values) {
				continue
			}
			l.Further = own.certificates()
			if id, lacks, ok := own.OfSecret(); ok {
				config.CertificateIds, l.Waits = oneOrNone(id), lacks
			}
		}
		listeners = append(listeners, l)
	}
	b.checkListeners()
	slices.SortFunc(listeners, func(a, b model.Listener) int { return a.Key.Compare(b.Key) })
	return listeners
}

// protocolsOf are the protocols of the listeners of the ports; see builder.
func protocolsOf(b *desired.Builder) []model.Protocol {
	ports := b.View.Service.Spec.Ports
	asked, withNumber := map[int32][]model.Protocol{}, map[int32]int{}
	for _, p := range b.Values.Pairs(annotation.ProtocolPort) {
		if number, err := desired.ParsePort(p.Value); err == nil && parseProtocol(p.Key) != 0 {
			asked[number] = append(asked[number], parseProtocol(p.Key))
		}
	}
	for _, port := range ports {
		withNumber[port.Port]++
	}
	protocols := make([]model.Protocol, len(ports))
	for i, port := range ports {
		own := parseProtocol(cmp.Or(string(port.Protocol), string(corev1.ProtocolTCP)))
		fits := func(p model.Protocol) bool { return p.OverTCP() == own.OverTCP() || withNumber[port.Port] == 1 }
		protocols[i] = own
		if at := slices.IndexFunc(asked[port.Port], fits); at >= 0 {
			protocols[i] = asked[port.Port][at]
		}
	}
	return protocols
}

// byIndex are the protocols that NLBs have, by the index of the port.
func (b builder) byIndex() map[int]model.Protocol {
	known := map[int]model.Protocol{}
	for i, protocol := range b.protocols {
		if protocol != 0 {
			known[i] = protocol
		}
	}
	return known
}

func parseProtocol(name string) model.Protocol {
	for _, protocol := range []model.Protocol{model.TCP, model.UDP, model.TCPSSL} {
		if strings.EqualFold(protocol.String(), name) {
			return protocol
		}
	}
	return 0
}

// rangesOf are the ranges of listener ports; see builder.
func rangesOf(b *desired.Builder) map[int32]portRange {
	ranges := map[int32]portRange{}
	for _, p := range b.Values.Pairs(annotation.ListenerPortRange) {
		from, to, _ := strings.Cut(p.Key, "-")
		start, startErr := desired.ParsePort(strings.TrimSpace(from))
		end, endErr := desired.ParsePort(strings.TrimSpace(to))
		port, err := desired.ParsePort(p.Value)
		if err == nil && startErr == nil && endErr == nil && start < end {
			ranges[port] = portRange{start, end}
		}
	}
	return ranges
}

// listenerConfig returns the annotated attributes of a listener of the protocol. What is left absent keeps the value it has in the cloud.
func (b builder) listenerConfig(protocol model.Protocol) *nlbv1.ListenerConfig {
	c := &nlbv1.ListenerConfig{
		IdleTimeout: b.Number(annotation.IdleTimeout), Cps: b.Number(annotation.ConnectionsPerSec),
		ProxyProtocolEnabled: b.OnOff(annotation.ProxyProtocol),
	}
	if protocol == model.UDP && c.IdleTimeout != nil {
		c.IdleTimeout = new(min(c.GetIdleTimeout(), udpIdleTimeout))
	}
	if c.GetProxyProtocolEnabled() {
		c.ProxyProtocolV2 = &nlbv1.ProxyProtocolV2{
			PrivateLinkEpIdEnabled: b.OnOff(annotation.PPv2EndpointID), PrivateLinkEpsIdEnabled: b.OnOff(annotation.PPv2EndpointService),
			VpcIdEnabled: b.OnOff(annotation.PPv2VPCID),
		}
	}
	if protocol != model.TCPSSL {
		return c
	}
	c.CertificateIds, c.SecurityPolicyId = b.Values.List(annotation.CertID), b.Text(annotation.TLSCipherPolicy)
	if c.CaEnabled = b.OnOff(annotation.CACert); c.GetCaEnabled() {
		c.CaCertificateIds = b.Values.List(annotation.CACertID)
	}
	if c.AlpnEnabled = b.OnOff(annotation.ALPN); c.GetAlpnEnabled() {
		c.AlpnPolicy = b.Text(annotation.ALPNPolicy)
	}
	return c
}

// certificates are the additional ones, which the cloud changes at once. Nil says that none are asked for.
func (b builder) certificates() []model.FurtherCertificates {
	if !b.Values.Has(annotation.AdditionalCertIDs) {
		return nil
	}
	ids := idList(b.Values.List(annotation.AdditionalCertIDs))
	for i, id := range ids {
		if secret, ok := annotation.SecretName(id); ok {
			ids[i], _ = b.FromSecret(annotation.AdditionalCertIDs, secret)
		}
	}
	return together(ids)
}

// together are the additional certificates of a listener, in order. If one of them isn't known yet, those that are there stay.
func together(ids []string) []model.FurtherCertificates {
	switch {
	case slices.Contains(ids, ""):
		return []model.FurtherCertificates{{}}
	case len(ids) == 0:
		return []model.FurtherCertificates{}
	}
	slices.Sort(ids)
	return []model.FurtherCertificates{{Certificates: slices.Compact(ids)}}
}

// checkListeners reports listener annotations that don't fit each other or the protocols in use.
func (b builder) checkListeners() {
	b.checkPorts()
	protocols, isSecure := b.byIndex(), slices.Contains(b.protocols, model.TCPSSL)
	for i, port := range b.View.Service.Spec.Ports {
		if protocol, isKnown := protocols[i]; isKnown {
			b.at(port.Port).checkListener(protocol)
		}
	}
	b.HasProtocols(protocols)
	b.WithoutNeeds(protocols, annotation.Listener)
	for _, spec := range b.Parser.Table() {
		if len(spec.Protocols) > 0 && b.wrote(spec.Key) && !isSecure && len(protocols) > 0 {
			b.NoEffect("annotation %s has no effect: it is for tcpssl, and no port has that protocol (annotation %s)", b.Values.Name(spec.Key),
				annotation.Prefix+annotation.ProtocolPort)
		}
	}
}

// checkListener does so for a port.
func (b builder) checkListener(protocol model.Protocol) {
	v := b.Values
	for _, key := range []string{annotation.CertID, annotation.CACertID} {
		if len(v.List(key)) > 1 {
			b.Misfit(key, "one certificate: the others of a listener are in annotation "+annotation.Prefix+annotation.AdditionalCertIDs)
		}
	}
	if protocol == model.TCPSSL {
		b.checkSecure()
	} else if v.Text(annotation.Scheduler) == "qch" && protocol == model.TCP {
		b.Misfit(annotation.Scheduler, "rr, wrr, wlc, sch or tch: qch is for udp only")
	}
	if n, _ := v.Number(annotation.IdleTimeout); n > udpIdleTimeout && protocol == model.UDP && b.wrote(annotation.IdleTimeout) {
		b.NoEffect("annotation %s is %d for udp ports, the most that the cloud allows there", v.Name(annotation.IdleTimeout), udpIdleTimeout)
	}
}

// checkSecure does so for a tcpssl port.
func (b builder) checkSecure() {
	v := b.Values
	b.needs(annotation.CACert, annotation.CACertID)
	b.needs(annotation.ALPN, annotation.ALPNPolicy)
	if !v.Has(annotation.CertID) && !v.Has(annotation.TLSSecret) {
		b.Problem("annotation %s%s is missing%s: the tcpssl listeners need a certificate", annotation.Prefix, annotation.CertID,
			b.About(annotation.CertID, annotation.TLSSecret))
	}
	if v.On(annotation.PreserveClientIP) && !b.View.Reverts(annotation.PreserveClientIP) {
		b.Misfit(annotation.PreserveClientIP, "off"+b.About(annotation.PreserveClientIP)+
			", as the cloud can't show backends the addresses of clients of tcpssl listeners")
	}
	if v.Text(annotation.Scheduler) == "qch" {
		b.Misfit(annotation.Scheduler, "rr, wrr, wlc, sch or tch: qch is for udp only")
	}
}

// checkPorts reports what the annotations by port say that can't be.
func (b builder) checkPorts() {
	asked := map[string]string{}
	for _, p := range b.Values.Pairs(annotation.ProtocolPort) {
		protocol := parseProtocol(p.Key)
		_, err := desired.ParsePort(p.Value)
		transport := p.Value + strconv.FormatBool(protocol.OverTCP())
		if other, twice := asked[transport]; protocol == 0 || err != nil || twice && !strings.EqualFold(other, p.Key) {
			b.Misfit(annotation.ProtocolPort, "protocol:port,… with protocol tcp, udp or tcpssl, port 1 to 65535, and one protocol for a port")
			return
		}
		asked[transport] = p.Key
		b.KnowsPort(annotation.ProtocolPort, p.Value)
	}
	pairs := b.Values.Pairs(annotation.ListenerPortRange)
	if len(pairs) == 0 {
		return
	}
	if len(b.ranges) != len(pairs) {
		b.Misfit(annotation.ListenerPortRange,
			"first-last:port,… with ports 1 to 65535, the first less than the last, and one range for a port")
		return
	}
	if b.View.Mode != backend.Pods {
		b.Problem("annotation %s needs pods as backends: set annotation %s to eni, or remove it",
			b.Values.Name(annotation.ListenerPortRange), annotation.BackendType)
	}
	for _, p := range pairs {
		b.KnowsPort(annotation.ListenerPortRange, p.Value)
	}
}

// needs reports a switch that is on without what it needs.
func (b builder) needs(key, needed string) {
	if b.Values.On(key) && !b.Values.Has(needed) {
		b.Problem("annotation %s%s is missing%s: annotation %s needs it", annotation.Prefix, needed, b.About(needed, key), b.Values.Name(key))
	}
}

// wrote reports that the user has set an annotation.
func (b builder) wrote(key string) bool { return b.Values.Has(key) && !b.View.Reverts(key) }

// withoutOverride reports annotations about listeners while these are the user's.
func (b builder) withoutOverride() {
	var names []string
	for _, spec := range annotation.TableFor(annotation.NLB) {
		if spec.Scope == annotation.Listener && b.View.Wrote(spec.Key) {
			names = append(names, spec.Key)
		}
	}
	if len(names) > 0 {
		b.NoEffect(
			"the annotations %s have no effect: the listeners of NLB %s are yours, and are made and bound to the server "+
				"groups by hand; set annotation %s%s to have them managed",
			strings.Join(names, ", "), b.Reuse.ID, annotation.Prefix, annotation.ForceOverride)
	}
}
