package nlb

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// udp is the word of annotation health-check-type for checks by UDP.
const udp = "udp"

// Shapes implements desired.Configurer.
func (p Product) Shapes(b *desired.Builder) []desired.Shape {
	building := p.builder(b)
	shapes := make([]desired.Shape, len(b.View.Service.Spec.Ports))
	for i, port := range b.View.Service.Spec.Ports {
		shapes[i] = building.at(port.Port).shape(port, building.protocols[i])
	}
	return shapes
}

// BuiltIn implements desired.Configurer: an NLB has only the server groups that are made for it.
func (Product) BuiltIn(*desired.Builder, []model.Group) *model.Group { return nil }

// shape is what the server group of a port is.
func (b builder) shape(port corev1.ServicePort, protocol model.Protocol) desired.Shape {
	shape := desired.Shape{Protocol: protocol.String(), Addresses: b.addresses()}
	config := b.groupConfig(protocol)
	if r, ok := b.ranges[port.Port]; ok {
		shape.Ports, config.AnyPortEnabled = r.String(), true
		if config.GetHealthCheck() == nil {
			config.HealthCheck = &nlbv1.HealthCheck{}
		}
		config.HealthCheck.Enabled = new(true) // The cloud wants to know whether servers without a port are there.
		if config.HealthCheck.ConnectPort == nil {
			config.HealthCheck.ConnectPort = new(backend.TargetPort(port).IntVal)
		}
	}
	shape.Fixed, shape.Config = fixedOf(config), config
	return shape
}

// addresses reports that servers are registered as addresses.
func (b builder) addresses() bool { return b.Values.Text(annotation.ServerGroupType) == "Ip" }

// groupConfig returns what is asked for of a server group. What is left absent keeps the value it has in the cloud.
func (b builder) groupConfig(protocol model.Protocol) *nlbv1.CreateServerGroupRequest {
	c := &nlbv1.CreateServerGroupRequest{
		Type: nlbv1.ServerGroupType_SERVER_GROUP_TYPE_INSTANCE, Protocol: groupProtocol(protocol), IpVersion: nlbv1.IpVersion_IP_VERSION_IPV4,
		ResourceGroupId:        b.Values.Text(annotation.ResourceGroupID),
		ConnectionDrainEnabled: b.OnOff(annotation.ConnectionDrain), PreserveClientIpEnabled: b.OnOff(annotation.PreserveClientIP),
	}
	if b.addresses() {
		c.Type = nlbv1.ServerGroupType_SERVER_GROUP_TYPE_IP
	}
	if b.View.TakesIPv6() {
		c.IpVersion = nlbv1.IpVersion_IP_VERSION_DUAL_STACK
		c.IpVersionAffinity = nlbv1.IpVersionAffinity_IP_VERSION_AFFINITY_NON_AFFINITY // Else clients by IPv4 would have no server.
	}
	if b.View.TakesBoth() {
		c.IpVersionAffinity = nlbv1.IpVersionAffinity_IP_VERSION_AFFINITY_AFFINITY
	}
	if b.Values.Has(annotation.Scheduler) {
		c.Scheduler = new(schedulerWord(b.Values.Text(annotation.Scheduler)))
	}
	if c.GetConnectionDrainEnabled() {
		c.ConnectionDrainTimeout = b.Number(annotation.ConnectionDrainTimeout)
	}
	if protocol == model.TCPSSL && b.View.Reverts(annotation.PreserveClientIP) {
		c.PreserveClientIpEnabled = nil
	}
	c.HealthCheck = b.healthCheck(protocol)
	return c
}

const (
	// checkSeconds is the cloud's default of a check's interval and of its timeout.
	checkSeconds = 5
	// longestInterval is the longest one of checks that aren't by UDP, in seconds.
	longestInterval = 50
)

// created is what a new group is made with: what is asked for, and a default of ours where the cloud's serves badly. A group that is there
// keeps what it has.
func created(asked *nlbv1.CreateServerGroupRequest) *nlbv1.CreateServerGroupRequest {
	c := &nlbv1.CreateServerGroupRequest{}
	if asked != nil {
		c = proto.CloneOf(asked)
	}
	if c.GetProtocol() == nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_TCPSSL && c.PreserveClientIpEnabled == nil {
		c.PreserveClientIpEnabled = new(false) // The cloud's default is on, with which no tcpssl listener can use it.
	}
	if c.GetProtocol() == nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_UDP {
		check := c.GetHealthCheck()
		if check == nil {
			check = &nlbv1.HealthCheck{}
		}
		checkByUDP(check)
		c.HealthCheck = check
	}
	return c
}

// checkByUDP makes a check one by UDP, unless another type is asked for: by TCP, the cloud's default, servers that speak only UDP would
// get no traffic. The cloud refuses an interval that is shorter than the timeout, so one that isn't asked for gives way to the other.
func checkByUDP(h *nlbv1.HealthCheck) {
	if h.Type == nil && !tooShort(h) {
		h.Type = nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_UDP.Enum()
	}
	if h.GetType() != nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_UDP {
		return
	}
	switch {
	case h.Interval != nil && h.ConnectTimeout == nil && h.GetInterval() < checkSeconds:
		h.ConnectTimeout = h.Interval
	case h.Interval == nil && h.GetConnectTimeout() > checkSeconds:
		h.Interval = h.ConnectTimeout
	}
}

// tooShort reports that an interval is asked for that a check by UDP can't have beside the timeout that is asked for.
func tooShort(h *nlbv1.HealthCheck) bool {
	return h.Interval != nil && h.ConnectTimeout != nil && h.GetInterval() < h.GetConnectTimeout()
}

func groupProtocol(p model.Protocol) nlbv1.ServerGroupProtocol {
	switch p {
	case model.UDP:
		return nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_UDP
	case model.TCPSSL:
		return nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_TCPSSL
	case model.TCP, model.HTTP, model.HTTPS: // An NLB has the first only.
	}
	return nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_TCP
}

// schedulerWord is the cloud's spelling.
func schedulerWord(text string) string {
	switch text = strings.ToLower(text); text {
	case "wrr":
		return "Wrr"
	case "wlc":
		return "Wlc"
	}
	return text
}

// healthCheck is what is asked for, nil for nothing. As with the existing CCM, the options count only if the switch is on.
func (b builder) healthCheck(protocol model.Protocol) *nlbv1.HealthCheck {
	enabled := b.OnOff(annotation.HealthCheckFlag)
	if enabled == nil || !*enabled {
		if enabled == nil {
			return nil
		}
		return &nlbv1.HealthCheck{Enabled: enabled}
	}
	c := &nlbv1.HealthCheck{
		Enabled: enabled, ConnectPort: b.Number(annotation.HealthCheckConnectPort), Interval: b.Number(annotation.HealthCheckInterval),
		HealthyThreshold: b.Number(annotation.HealthyThreshold), UnhealthyThreshold: b.Number(annotation.UnhealthyThreshold),
		ConnectTimeout: b.Number(annotation.HealthCheckConnectTimeout), Domain: b.Text(annotation.HealthCheckDomain),
		Url:        b.Text(annotation.HealthCheckURI),
		HttpMethod: b.Text(annotation.HealthCheckMethod), HttpCodes: b.Values.List(annotation.HealthCheckHTTPCode),
	}
	if b.Values.Has(annotation.HealthCheckType) && (protocol == model.UDP || !b.asksUDP()) {
		c.Type = healthType(b.Values.Text(annotation.HealthCheckType)).Enum()
	}
	return c
}

func healthType(text string) nlbv1.HealthCheckType {
	switch text {
	case "http":
		return nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_HTTP
	case udp:
		return nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_UDP
	}
	return nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_TCP
}

// asksUDP reports that checks by UDP are asked for.
func (b builder) asksUDP() bool { return b.Values.Text(annotation.HealthCheckType) == udp }

// checkGroups reports annotations about server groups that have no effect, and ranges whose health can't be checked.
func (b builder) checkGroups() {
	b.WithoutNeeds(b.byIndex(), annotation.Health, annotation.Group)
	for i, port := range b.View.Service.Spec.Ports {
		own := b.at(port.Port)
		v := own.Values
		if v.On(annotation.HealthCheckFlag) {
			own.checkProbe(b.protocols[i])
		}
		_, ranged := b.ranges[port.Port]
		if ranged && backend.TargetPort(port).Type == intstr.String && (!v.On(annotation.HealthCheckFlag) ||
			!v.Has(annotation.HealthCheckConnectPort)) {
			b.Problem("spec.ports[%d].targetPort: a port with a range needs a number, or the annotations %s%s: on and %s", i, annotation.Prefix,
				annotation.HealthCheckFlag, annotation.HealthCheckConnectPort)
		}
	}
}

// checkProbe reports how the servers of a port can't be checked.
func (b builder) checkProbe(protocol model.Protocol) {
	v := b.Values
	interval, _ := v.Number(annotation.HealthCheckInterval)
	timeout, _ := v.Number(annotation.HealthCheckConnectTimeout)
	overUDP := protocol == model.UDP
	if interval > longestInterval && (!overUDP || !b.asksUDP()) {
		b.Misfit(annotation.HealthCheckInterval, fmt.Sprintf("at most %d%s: only health-check-type udp of udp ports allows more",
			longestInterval, b.About(annotation.HealthCheckInterval, annotation.HealthCheckType)))
	}
	switch {
	case b.asksUDP() && !overUDP && (v.IsOwn(annotation.HealthCheckType) || !b.hasUDP()):
		b.Misfit(annotation.HealthCheckType, "tcp or http: udp is for udp ports only")
	case b.asksUDP() && !overUDP && b.wrote(annotation.HealthCheckType):
		b.NoEffect("annotation %s has no effect on tcp ports: udp is for udp ports only", v.Name(annotation.HealthCheckType))
	case !overUDP || !tooShort(b.healthCheck(protocol)):
	case b.asksUDP():
		b.Misfit(annotation.HealthCheckInterval, fmt.Sprintf("at least %d%s, as annotation %s has for the timeout: checks by udp allow no less",
			timeout, b.About(annotation.HealthCheckInterval, annotation.HealthCheckType, annotation.HealthCheckConnectTimeout),
			v.Name(annotation.HealthCheckConnectTimeout)))
	case !v.Has(annotation.HealthCheckType):
		b.NoEffect("annotation %s is shorter than %s, so that new server groups of udp ports are checked by tcp",
			v.Name(annotation.HealthCheckInterval), v.Name(annotation.HealthCheckConnectTimeout))
	}
}

// hasUDP reports that there is a udp port.
func (b builder) hasUDP() bool {
	return slices.Contains(b.protocols, model.UDP)
}

// fixedOf is what can't be changed of a server group.
func fixedOf(c *nlbv1.CreateServerGroupRequest) string {
	return fmt.Sprintf("%d %d %d %t", c.GetType(), c.GetProtocol(), c.GetIpVersion(), c.GetAnyPortEnabled())
}
