package desired

import (
	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

const (
	// defaultScheduler is the existing CCM's, not the cloud's.
	defaultScheduler = "rr"
	// unlimited is the bandwidth of a listener that may use all of the instance's.
	unlimited = -1
)

// listenerDefaults returns what a new listener of the protocol has unless an annotation says otherwise, as with the existing CCM.
func listenerDefaults(protocol slbv1.Protocol) *slbv1.ListenerConfig {
	c := &slbv1.ListenerConfig{Scheduler: new(defaultScheduler)}
	if protocol != slbv1.Protocol_PROTOCOL_HTTP {
		c.BandwidthMbps = proto.Int32(unlimited)
	}
	if protocol == slbv1.Protocol_PROTOCOL_HTTP || protocol == slbv1.Protocol_PROTOCOL_HTTPS {
		c.StickySession, c.HealthCheck = new(false), &slbv1.HealthCheck{Enabled: new(false)}
	}
	return c
}

// listenerConfig returns the annotated attributes of a listener of the protocol. What is left absent keeps the value it has in
// the cloud.
func (b *builder) listenerConfig(protocol slbv1.Protocol) *slbv1.ListenerConfig {
	c := &slbv1.ListenerConfig{Scheduler: b.text(annotation.Scheduler), AclEnabled: b.onOff(annotation.ACLStatus)}
	if c.GetAclEnabled() {
		c.AclType, c.AclIds = b.text(annotation.ACLType), b.values.List(annotation.ACLID)
	}
	c.HealthCheck = &slbv1.HealthCheck{
		ConnectPort:        b.number(annotation.HealthCheckConnectPort),
		Interval:           b.number(annotation.HealthCheckInterval),
		HealthyThreshold:   b.number(annotation.HealthyThreshold),
		UnhealthyThreshold: b.number(annotation.UnhealthyThreshold),
	}
	switch protocol {
	case slbv1.Protocol_PROTOCOL_TCP:
		b.transport(c)
		b.tcp(c)
	case slbv1.Protocol_PROTOCOL_UDP:
		b.transport(c)
	case slbv1.Protocol_PROTOCOL_HTTP:
		b.web(c)
	case slbv1.Protocol_PROTOCOL_HTTPS:
		b.web(c)
		c.ServerCertificateId = b.text(annotation.CertID)
		c.TlsCipherPolicy = b.text(annotation.TLSCipherPolicy)
		c.Http2 = b.onOff(annotation.HTTP2)
	case slbv1.Protocol_PROTOCOL_UNSPECIFIED:
	}
	if proto.Size(c.GetHealthCheck()) == 0 {
		c.HealthCheck = nil
	}
	return c
}

// transport sets what TCP and UDP listeners share.
func (b *builder) transport(c *slbv1.ListenerConfig) {
	c.ConnectionDrain = b.onOff(annotation.ConnectionDrain)
	if c.GetConnectionDrain() {
		c.ConnectionDrainTimeout = b.number(annotation.ConnectionDrainTimeout)
	}
	c.ProxyProtocolV2 = b.onOff(annotation.ProxyProtocol)
	c.HealthCheck.Enabled = b.onOff(annotation.HealthCheckSwitch)
	c.HealthCheck.Timeout = b.number(annotation.HealthCheckConnectTimeout)
}

func (b *builder) tcp(c *slbv1.ListenerConfig) {
	c.PersistenceTimeout = b.number(annotation.PersistenceTimeout)
	c.EstablishedTimeout = b.number(annotation.EstablishedTimeout)
	c.HealthCheck.Type = b.text(annotation.HealthCheckType)
	c.HealthCheck.Uri = b.text(annotation.HealthCheckURI)
	c.HealthCheck.Domain = b.text(annotation.HealthCheckDomain)
	c.HealthCheck.HttpCode = b.text(annotation.HealthCheckHTTPCode)
}

// web sets what HTTP and HTTPS listeners share.
func (b *builder) web(c *slbv1.ListenerConfig) {
	c.IdleTimeout = b.number(annotation.IdleTimeout)
	c.RequestTimeout = b.number(annotation.RequestTimeout)
	c.StickySession = b.onOff(annotation.StickySession)
	c.StickySessionType = b.text(annotation.StickySessionType)
	c.Cookie = b.text(annotation.Cookie)
	c.CookieTimeout = b.number(annotation.CookieTimeout)
	c.XForwardedForProto = b.onOff(annotation.XForwardedForProto)
	c.XForwardedForSlbPort = b.onOff(annotation.XForwardedForSLBPort)
	c.XForwardedForClientSrcPort = b.onOff(annotation.XForwardedForSrcPort)
	c.HealthCheck.Enabled = b.onOff(annotation.HealthCheckFlag)
	c.HealthCheck.Uri = b.text(annotation.HealthCheckURI)
	c.HealthCheck.Domain = b.text(annotation.HealthCheckDomain)
	c.HealthCheck.HttpCode = b.text(annotation.HealthCheckHTTPCode)
	c.HealthCheck.Method = b.text(annotation.HealthCheckMethod)
	c.HealthCheck.Timeout = b.number(annotation.HealthCheckTimeout)
}

func (b *builder) text(key string) *string {
	if !b.values.Has(key) {
		return nil
	}
	return new(b.values.Text(key))
}

func (b *builder) number(key string) *int32 {
	if n, ok := b.values.Number(key); ok {
		return &n
	}
	return nil
}

func (b *builder) onOff(key string) *bool {
	if !b.values.Has(key) {
		return nil
	}
	return new(b.values.On(key))
}
