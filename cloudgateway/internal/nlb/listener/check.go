package listener

import (
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of requests beyond those in the protocol.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *nlbv1.CreateListenerRequest) {
			if r.GetConfig().GetServerGroupId() == "" {
				c.Addf("config.server_group_id", "is required")
			}
			if r.GetStartPort() > 0 && r.GetEndPort() > 0 && r.GetEndPort() <= r.GetStartPort() {
				c.Addf("end_port", "must be greater than start_port")
			}
			secure := r.GetProtocol() == nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCPSSL
			if secure && len(r.GetConfig().GetCertificateIds()) == 0 {
				c.Addf("config.certificate_ids", "is required for TCPSSL")
			}
			if !secure && len(r.GetAdditionalCertificateIds()) > 0 {
				c.Addf("additional_certificate_ids", "only TCPSSL listeners have certificates")
			}
		}),
	}
}
