package nlb

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// Group implements desired.Configurer.
func (p Product) Group(b *desired.Builder, port corev1.ServicePort) desired.Shape {
	building := builder{Builder: b, Product: p}.at(port.Port)
	protocol := building.protocol(port)
	shape := desired.Shape{Protocol: protocol.String(), Addresses: building.addresses()}
	config := building.groupConfig(protocol)
	if r, ok := building.ranges()[port.Port]; ok {
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
	c.HealthCheck = b.healthCheck()
	return c
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
func (b builder) healthCheck() *nlbv1.HealthCheck {
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
	if b.Values.Has(annotation.HealthCheckType) {
		c.Type = healthType(b.Values.Text(annotation.HealthCheckType)).Enum()
	}
	return c
}

func healthType(text string) nlbv1.HealthCheckType {
	switch text {
	case "http":
		return nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_HTTP
	case "udp":
		return nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_UDP
	}
	return nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_TCP
}

// checkGroups reports annotations about server groups that have no effect, and ranges whose health can't be checked.
func (b builder) checkGroups() {
	for i, port := range b.View.Service.Spec.Ports {
		own := b.at(port.Port)
		v := own.Values
		for _, spec := range b.Parser.Table() {
			if spec.Scope == annotation.Health && spec.Key != annotation.HealthCheckFlag {
				own.withoutSwitch(spec.Key, annotation.HealthCheckFlag)
			}
		}
		own.withoutSwitch(annotation.ConnectionDrainTimeout, annotation.ConnectionDrain)
		if n, ok := v.Number(annotation.HealthCheckInterval); ok && n > 50 && v.On(annotation.HealthCheckFlag) &&
			v.Text(annotation.HealthCheckType) != "udp" {
			own.Misfit(annotation.HealthCheckInterval, "at most 50"+own.About(annotation.HealthCheckInterval, annotation.HealthCheckType)+
				": only health-check-type udp allows more")
		}
		_, ranged := b.ranges()[port.Port]
		if ranged && backend.TargetPort(port).Type == intstr.String && (!v.On(annotation.HealthCheckFlag) ||
			!v.Has(annotation.HealthCheckConnectPort)) {
			b.Problem("spec.ports[%d].targetPort: a port with a range needs a number, or the annotations %s%s: on and %s", i, annotation.Prefix,
				annotation.HealthCheckFlag, annotation.HealthCheckConnectPort)
		}
	}
}

// fixedOf is what can't be changed of a server group.
func fixedOf(c *nlbv1.CreateServerGroupRequest) string {
	return fmt.Sprintf("%d %d %d %t", c.GetType(), c.GetProtocol(), c.GetIpVersion(), c.GetAnyPortEnabled())
}
