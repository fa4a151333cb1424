package clb

import (
	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

const (
	// defaultScheduler is the existing CCM's, not the cloud's.
	defaultScheduler = "rr"
	// unlimited is the bandwidth of a listener that may use all of the instance's.
	unlimited = -1
)

// listenerDefaults returns what a new listener of the protocol has unless an annotation says otherwise, as with the existing CCM.
func listenerDefaults(protocol model.Protocol) *slbv1.ListenerConfig {
	c := &slbv1.ListenerConfig{Scheduler: new(defaultScheduler)}
	if protocol != model.HTTP {
		c.BandwidthMbps = proto.Int32(unlimited)
	}
	if protocol == model.HTTP || protocol == model.HTTPS {
		c.StickySession, c.HealthCheck = new(false), &slbv1.HealthCheck{Enabled: new(false)}
	}
	return c
}

// listenerConfig returns the annotated attributes of a listener of the protocol. What is left absent keeps the value it has in
// the cloud.
func (b builder) listenerConfig(protocol model.Protocol) *slbv1.ListenerConfig {
	c := &slbv1.ListenerConfig{Scheduler: b.Text(annotation.Scheduler), AclEnabled: b.OnOff(annotation.ACLStatus)}
	if c.GetAclEnabled() {
		c.AclType, c.AclIds = b.Text(annotation.ACLType), b.Values.List(annotation.ACLID)
	}
	c.HealthCheck = &slbv1.HealthCheck{
		ConnectPort:        b.Number(annotation.HealthCheckConnectPort),
		Interval:           b.Number(annotation.HealthCheckInterval),
		HealthyThreshold:   b.Number(annotation.HealthyThreshold),
		UnhealthyThreshold: b.Number(annotation.UnhealthyThreshold),
	}
	switch protocol {
	case model.TCP:
		b.transport(c)
		b.tcp(c)
	case model.UDP:
		b.transport(c)
		b.udp(c)
	case model.HTTP:
		b.web(c)
	case model.HTTPS:
		b.web(c)
		c.ServerCertificateId = b.Text(annotation.CertID)
		c.TlsCipherPolicy = b.Text(annotation.TLSCipherPolicy)
		c.Http2 = b.OnOff(annotation.HTTP2)
	case model.TCPSSL: // Only an NLB has it.
	}
	if proto.Size(c.GetHealthCheck()) == 0 {
		c.HealthCheck = nil
	}
	return c
}

// transport sets what TCP and UDP listeners share.
func (b builder) transport(c *slbv1.ListenerConfig) {
	c.ConnectionDrain = b.OnOff(annotation.ConnectionDrain)
	if c.GetConnectionDrain() {
		c.ConnectionDrainTimeout = b.Number(annotation.ConnectionDrainTimeout)
	}
	c.ProxyProtocolV2 = b.OnOff(annotation.ProxyProtocol)
	c.HealthCheck.Enabled = b.OnOff(annotation.HealthCheckSwitch)
	c.HealthCheck.Timeout = b.Number(annotation.HealthCheckConnectTimeout)
}

// udp leaves out what only a check by HTTP finds.
func (b builder) udp(c *slbv1.ListenerConfig) {
	if !b.asksNodes() {
		return
	}
	c.HealthCheck.ConnectPort = proto.Int32(serversPort)
	b.NoEffect("%s has no effect on udp ports: a CLB can't check these by HTTP", b.Values.Noun(annotation.HealthCheckConnectPort))
}

func (b builder) tcp(c *slbv1.ListenerConfig) {
	c.PersistenceTimeout = b.Number(annotation.PersistenceTimeout)
	c.EstablishedTimeout = b.Number(annotation.EstablishedTimeout)
	c.HealthCheck.Type = b.Text(annotation.HealthCheckType)
	c.HealthCheck.Domain = b.Text(annotation.HealthCheckDomain)
	if c.GetHealthCheck().GetType() == "http" { // of a check by TCP the cloud shows neither, and they would be set again and again
		c.HealthCheck.Uri = b.Text(annotation.HealthCheckURI)
		c.HealthCheck.HttpCode = b.Text(annotation.HealthCheckHTTPCode)
	}
}

// web sets what HTTP and HTTPS listeners share.
func (b builder) web(c *slbv1.ListenerConfig) {
	c.IdleTimeout = b.Number(annotation.IdleTimeout)
	c.RequestTimeout = b.Number(annotation.RequestTimeout)
	c.StickySession = b.OnOff(annotation.StickySession)
	c.StickySessionType = b.Text(annotation.StickySessionType)
	c.Cookie = b.Text(annotation.Cookie)
	c.CookieTimeout = b.Number(annotation.CookieTimeout)
	c.XForwardedForProto = b.OnOff(annotation.XForwardedForProto)
	c.XForwardedForSlbPort = b.OnOff(annotation.XForwardedForSLBPort)
	c.XForwardedForClientSrcPort = b.OnOff(annotation.XForwardedForSrcPort)
	c.HealthCheck.Enabled = b.OnOff(annotation.HealthCheckFlag)
	c.HealthCheck.Uri = b.Text(annotation.HealthCheckURI)
	c.HealthCheck.Domain = b.Text(annotation.HealthCheckDomain)
	c.HealthCheck.HttpCode = b.Text(annotation.HealthCheckHTTPCode)
	c.HealthCheck.Method = b.Text(annotation.HealthCheckMethod)
	c.HealthCheck.Timeout = b.Number(annotation.HealthCheckTimeout)
}
