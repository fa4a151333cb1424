package domainextension

import (
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

// answer is one domain extension in the answer to DescribeDomainExtensions.
type answer struct {
	DomainExtensionID   string `json:"DomainExtensionId"`
	Domain              string
	ServerCertificateID string `json:"ServerCertificateId"`
	ServerCertificates  struct {
		ServerCertificate []struct {
			ServerCertificateID string `json:"ServerCertificateId"`
		}
	}
}

// decode takes the certificate from the list of certificates where the answer has it nowhere else.
func (a answer) decode() *slbv1.DomainExtension {
	e := &slbv1.DomainExtension{
		DomainExtensionId: a.DomainExtensionID, Domain: a.Domain, ServerCertificateId: a.ServerCertificateID,
	}
	if list := a.ServerCertificates.ServerCertificate; e.GetServerCertificateId() == "" && len(list) > 0 {
		e.ServerCertificateId = list[0].ServerCertificateID
	}
	return e
}
