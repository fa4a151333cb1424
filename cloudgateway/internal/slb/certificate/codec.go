package certificate

import (
	"cmp"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// cert is a certificate of either kind.
type cert struct {
	id, name, group string
	tags            []*commonv1.Tag
	details         *slbv1.CertificateDetails
	names           []string                   // of servers, that it is valid for
	alicloud        *slbv1.AlicloudCertificate // of servers, where it came from; nil: from a caller
}

// GetTags is what scopes look at.
func (c *cert) GetTags() []*commonv1.Tag { return c.tags }

// GetName is what lists filter by.
func (c *cert) GetName() string { return c.name }

// server gives a server certificate.
func (c *cert) server() *slbv1.ServerCertificate {
	return &slbv1.ServerCertificate{
		ServerCertificateId: c.id, Name: c.name, ResourceGroupId: c.group, Tags: c.tags, Details: c.details,
		SubjectAlternativeNames: c.names, AlicloudCertificate: c.alicloud,
	}
}

// ca gives a CA certificate.
func (c *cert) ca() *slbv1.CaCertificate {
	return &slbv1.CaCertificate{CaCertificateId: c.id, Name: c.name, ResourceGroupId: c.group, Tags: c.tags, Details: c.details}
}

// decode reads what the cloud returns about a certificate of either kind.
func decode(item []byte) (*cert, error) {
	c, from, taken := &cert{details: &slbv1.CertificateDetails{}}, &slbv1.AlicloudCertificate{}, 0
	unlessEmpty := func(into *string) *cloud.Decoder { // The member of the other kind may be there and empty.
		return cloud.Via(into, func(text string) string { return cmp.Or(text, *into) })
	}
	err := cloud.Decode(item, cloud.Fields{
		"ServerCertificateId":     unlessEmpty(&c.id),
		"CACertificateId":         unlessEmpty(&c.id),
		"ServerCertificateName":   unlessEmpty(&c.name),
		"CACertificateName":       unlessEmpty(&c.name),
		"ResourceGroupId":         &c.group,
		"CommonName":              &c.details.CommonName,
		"Fingerprint":             &c.details.Fingerprint,
		"EncryptionAlgorithm":     &c.details.KeyAlgorithm,
		"EncryptionKeyLength":     &c.details.KeyBits,
		"CreateTimeStamp":         cloud.Via(&c.details.CreationTime, slb.Moment),
		"ExpireTimeStamp":         cloud.Via(&c.details.ExpirationTime, slb.Moment),
		"Tags":                    cloud.TagsInto(&c.tags),
		"SubjectAlternativeNames": cloud.Fields{"SubjectAlternativeName": &c.names},
		"IsAliCloudCertificate":   &taken,
		"AliCloudCertificateId":   &from.CertificateId,
		"AliCloudCertificateName": &from.Name,
	})
	if taken != 0 {
		c.alicloud = from
	}
	return c, err
}
