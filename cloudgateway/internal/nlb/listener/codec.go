package listener

import (
	"strings"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// configParams encode what is present of the attributes.
func configParams(p cloud.Params, c *nlbv1.ListenerConfig) cloud.Params {
	p.With("ListenerDescription", c.GetDescription()).
		With("ServerGroupId", c.GetServerGroupId()).
		With("SecurityPolicyId", c.GetSecurityPolicyId()).
		List("CertificateIds", c.GetCertificateIds()).
		List("CaCertificateIds", c.GetCaCertificateIds()).
		With("AlpnPolicy", c.GetAlpnPolicy())
	if c == nil {
		return p
	}
	p.Number("IdleTimeout", c.IdleTimeout).Number("Cps", c.Cps).Number("Mss", c.Mss).
		Bool("CaEnabled", c.CaEnabled).Bool("AlpnEnabled", c.AlpnEnabled).Bool("ProxyProtocolEnabled", c.ProxyProtocolEnabled).
		Bool("SecSensorEnabled", c.SecSensorEnabled)
	if v := c.GetProxyProtocolV2(); v != nil {
		p.Bool("ProxyProtocolV2Config.Ppv2PrivateLinkEpIdEnabled", v.PrivateLinkEpIdEnabled).
			Bool("ProxyProtocolV2Config.Ppv2PrivateLinkEpsIdEnabled", v.PrivateLinkEpsIdEnabled).
			Bool("ProxyProtocolV2Config.Ppv2VpcIdEnabled", v.VpcIdEnabled)
	}
	return p
}

// protocolWord is the cloud's word for a protocol, e.g. "TCPSSL".
func protocolWord(p nlbv1.ListenerProtocol) string { return strings.ToUpper(cloud.Word(p)) }

// decode reads a listener in the answer to ListListeners.
func decode(item []byte) (*nlbv1.Listener, error) {
	var (
		description, group, policy, alpnPolicy                                                         string
		idleTimeout, cps, mss                                                                          int32
		caEnabled, alpnEnabled, proxyProtocolEnabled, secSensorEnabled, endpoint, endpointService, vpc bool
	)
	v := &nlbv1.ProxyProtocolV2{PrivateLinkEpIdEnabled: &endpoint, PrivateLinkEpsIdEnabled: &endpointService, VpcIdEnabled: &vpc}
	c := &nlbv1.ListenerConfig{
		Description: &description, ServerGroupId: &group, IdleTimeout: &idleTimeout, SecurityPolicyId: &policy, CaEnabled: &caEnabled,
		AlpnEnabled: &alpnEnabled, AlpnPolicy: &alpnPolicy, ProxyProtocolEnabled: &proxyProtocolEnabled, ProxyProtocolV2: v, Cps: &cps, Mss: &mss,
		SecSensorEnabled: &secSensorEnabled,
	}
	l := &nlbv1.Listener{Config: c}
	return l, cloud.Decode(item, cloud.Fields{
		"ListenerId":           cloud.Required(&l.ListenerId),
		"LoadBalancerId":       cloud.Required(&l.LoadBalancerId),
		"ListenerProtocol":     cloud.Via(&l.Protocol, cloud.Named),
		"ListenerPort":         &l.Port,
		"StartPort":            &l.StartPort,
		"EndPort":              &l.EndPort,
		"ListenerStatus":       cloud.Via(&l.Status, cloud.Named),
		"ListenerDescription":  &description,
		"ServerGroupId":        &group,
		"IdleTimeout":          &idleTimeout,
		"SecurityPolicyId":     &policy,
		"CertificateIds":       &c.CertificateIds,
		"CaEnabled":            &caEnabled,
		"CaCertificateIds":     &c.CaCertificateIds,
		"AlpnEnabled":          &alpnEnabled,
		"AlpnPolicy":           &alpnPolicy,
		"ProxyProtocolEnabled": &proxyProtocolEnabled,
		"ProxyProtocolV2Config": cloud.Fields{
			"Ppv2PrivateLinkEpIdEnabled": &endpoint, "Ppv2PrivateLinkEpsIdEnabled": &endpointService,
			"Ppv2VpcIdEnabled": &vpc,
		},
		"Cps":              &cps,
		"Mss":              &mss,
		"SecSensorEnabled": &secSensorEnabled,
		"Tags":             cloud.TagsInto(&l.Tags),
	})
}

func decodeCertificate(item []byte) (*nlbv1.ListenerCertificate, error) {
	c := &nlbv1.ListenerCertificate{}
	return c, cloud.Decode(item, cloud.Fields{
		"CertificateId":   cloud.Required(&c.CertificateId),
		"CertificateType": cloud.Via(&c.Ca, func(word string) bool { return strings.EqualFold(word, "Ca") }),
		"IsDefault":       &c.Default,
		"Status":          &c.Status,
	})
}

// groupHealth is what health checks found of the servers of a group.
type groupHealth struct {
	checked bool
	servers []*nlbv1.ServerHealth
}

func decodeHealth(item []byte) (h groupHealth, err error) {
	group := ""
	err = cloud.Decode(item, cloud.Fields{
		"ServerGroupId":      &group,
		"HeathCheckEnabled":  &h.checked, // Spelt so by the cloud.
		"HealthCheckEnabled": &h.checked,
		"NonNormalServers": cloud.Each(&h.servers, func(item []byte) (*nlbv1.ServerHealth, error) {
			s := &nlbv1.ServerHealth{}
			return s, cloud.Decode(item, cloud.Fields{
				"ServerId": &s.ServerId, "ServerIp": &s.ServerIp, "Port": &s.Port, "Status": &s.Status, "Reason": cloud.Fields{"ReasonCode": &s.Reason},
			})
		}),
	})
	for _, s := range h.servers {
		s.ServerGroupId = group
	}
	return h, err
}
