package certificate

import (
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of requests beyond those in the protocol.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *slbv1.UploadServerCertificateRequest) {
			if r.GetKeyPair() != nil {
				check.CertificateAndKey(c, "key_pair", r.GetKeyPair())
			}
		}),
		check.Of(func(c *check.Request, r *slbv1.UploadCaCertificateRequest) {
			check.Certificate(c, "certificate_pem", r.GetCertificatePem())
		}),
	}
}
