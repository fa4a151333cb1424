package certificate

import (
	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of requests beyond those in the protocol.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *casv1.UploadCertificateRequest) { check.CertificateAndKey(c, "", r) }),
	}
}
