package domainextension

import (
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of requests beyond those in the protocol.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *slbv1.ListDomainExtensionsRequest) { checkListener(c, r.GetKey()) }),
		check.Of(func(c *check.Request, r *slbv1.CreateDomainExtensionRequest) { checkListener(c, r.GetKey()) }),
	}
}

func checkListener(c *check.Request, key *slbv1.ListenerKey) {
	switch key.GetProtocol() {
	case slbv1.Protocol_PROTOCOL_TCP, slbv1.Protocol_PROTOCOL_UDP, slbv1.Protocol_PROTOCOL_HTTP:
		c.Addf("key.protocol", "only HTTPS listeners have domain extensions")
	case slbv1.Protocol_PROTOCOL_HTTPS, slbv1.Protocol_PROTOCOL_UNSPECIFIED:
	}
}
