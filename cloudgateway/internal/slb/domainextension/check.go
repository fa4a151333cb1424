package domainextension

import (
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// Checks are the rules of the service's requests.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *slbv1.ListDomainExtensionsRequest) { checkListener(c, r.GetKey()) }),
		check.Of(func(c *check.Request, r *slbv1.CreateDomainExtensionRequest) {
			c.RequestID(r.GetRequestId())
			checkListener(c, r.GetKey())
			c.Domain("domain", r.GetDomain())
			c.ID("server_certificate_id", r.GetServerCertificateId())
		}),
		check.Of(func(c *check.Request, r *slbv1.UpdateDomainExtensionRequest) {
			c.ID("load_balancer_id", r.GetLoadBalancerId())
			c.ID("domain_extension_id", r.GetDomainExtensionId())
			c.ID("server_certificate_id", r.GetServerCertificateId())
		}),
		check.Of(func(c *check.Request, r *slbv1.DeleteDomainExtensionRequest) {
			c.ID("load_balancer_id", r.GetLoadBalancerId())
			c.ID("domain_extension_id", r.GetDomainExtensionId())
		}),
	}
}

func checkListener(c *check.Request, key *slbv1.ListenerKey) {
	slb.CheckListenerKey(c, key)
	switch key.GetProtocol() {
	case slbv1.Protocol_PROTOCOL_TCP, slbv1.Protocol_PROTOCOL_UDP, slbv1.Protocol_PROTOCOL_HTTP:
		c.Addf("key.protocol", "only HTTPS listeners have domain extensions")
	case slbv1.Protocol_PROTOCOL_HTTPS, slbv1.Protocol_PROTOCOL_UNSPECIFIED:
	}
}
