package domainextension

import (
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// decode reads one domain extension in the answer to DescribeDomainExtensions. It takes the certificate from the list of certificates where
// the answer has it nowhere else.
func decode(item []byte) (*slbv1.DomainExtension, error) {
	e, certificates := &slbv1.DomainExtension{}, []string{}
	err := cloud.Decode(item, cloud.Fields{
		"DomainExtensionId":   &e.DomainExtensionId,
		"Domain":              &e.Domain,
		"ServerCertificateId": &e.ServerCertificateId,
		"ServerCertificates":  cloud.Fields{"ServerCertificate": cloud.Texts(&certificates, "ServerCertificateId")},
	})
	if e.GetServerCertificateId() == "" && len(certificates) > 0 {
		e.ServerCertificateId = certificates[0]
	}
	return e, err
}
