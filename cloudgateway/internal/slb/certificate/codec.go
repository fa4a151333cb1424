package certificate

import (
	"cmp"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// cert is a certificate of either kind.
type cert struct {
	id, name, group string
	tags            []*commonv1.Tag
	details         *slbv1.CertificateDetails
	names           []string                   // of servers, that it is valid for
	alicloud        *slbv1.AlicloudCertificate // of servers, where it came from; nil: from a caller
}

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

// answer is what the cloud tells about a certificate of either kind.
type answer struct {
	ServerCertificateID     string `json:"ServerCertificateId"`
	CACertificateID         string `json:"CACertificateId"`
	ServerCertificateName   string
	CACertificateName       string
	ResourceGroupID         string `json:"ResourceGroupId"`
	CommonName              string
	Fingerprint             string
	EncryptionAlgorithm     string
	EncryptionKeyLength     int32
	CreateTimeStamp         int64 // in milliseconds
	ExpireTimeStamp         int64
	Tags                    cloud.TagList
	SubjectAlternativeNames struct{ SubjectAlternativeName []string }
	IsAliCloudCertificate   int
	AliCloudCertificateID   string `json:"AliCloudCertificateId"`
	AliCloudCertificateName string
}

func (a answer) decode() *cert {
	c := &cert{
		id: cmp.Or(a.ServerCertificateID, a.CACertificateID), name: cmp.Or(a.ServerCertificateName, a.CACertificateName),
		group: a.ResourceGroupID, tags: a.Tags.Decode(), names: a.SubjectAlternativeNames.SubjectAlternativeName,
		details: &slbv1.CertificateDetails{
			CommonName: a.CommonName, Fingerprint: a.Fingerprint, KeyAlgorithm: a.EncryptionAlgorithm, KeyBits: a.EncryptionKeyLength,
			CreationTime: moment(a.CreateTimeStamp), ExpirationTime: moment(a.ExpireTimeStamp),
		},
	}
	if a.IsAliCloudCertificate != 0 {
		c.alicloud = &slbv1.AlicloudCertificate{CertificateId: a.AliCloudCertificateID, Name: a.AliCloudCertificateName}
	}
	return c
}

// moment reads a time in milliseconds. The cloud leaves out what it does not know.
func moment(milliseconds int64) *timestamppb.Timestamp {
	if milliseconds == 0 {
		return nil
	}
	return timestamppb.New(time.UnixMilli(milliseconds))
}
