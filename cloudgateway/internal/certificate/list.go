package certificate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// Certificate is a certificate of either kind.
type Certificate struct {
	id, name, group string
	tags            []*commonv1.Tag
	details         *slbv1.CertificateDetails
	names           []string                   // of servers, that it is valid for
	alicloud        *slbv1.AlicloudCertificate // of servers, where it came from; nil: from a caller
}

// Server gives a server certificate.
func (c *Certificate) Server() *slbv1.ServerCertificate {
	return &slbv1.ServerCertificate{
		ServerCertificateId: c.id, Name: c.name, ResourceGroupId: c.group, Tags: c.tags, Details: c.details,
		SubjectAlternativeNames: c.names, AlicloudCertificate: c.alicloud,
	}
}

// CA gives a CA certificate.
func (c *Certificate) CA() *slbv1.CaCertificate {
	return &slbv1.CaCertificate{CaCertificateId: c.id, Name: c.name, ResourceGroupId: c.group, Tags: c.tags, Details: c.details}
}

// Filter selects certificates; what is empty selects all.
type Filter struct {
	IDs             []string
	Name            string
	Tags            []*commonv1.Tag
	ResourceGroupID string
}

// List reads every certificate that matches, ordered by id.
func (s *Store) List(ctx context.Context, filter Filter, maxAge time.Duration) ([]*Certificate, error) {
	params := cloud.Tags(cloud.Params{}.With("ResourceGroupId", filter.ResourceGroupID), filter.Tags)
	found, err := s.listings.Get(ctx, fmt.Sprintf("%q", params), maxAge, func(ctx context.Context) ([]*Certificate, error) {
		return s.describe(ctx, params)
	})
	if err != nil {
		return nil, err
	}
	wanted := make(map[string]bool, len(filter.IDs))
	for _, id := range filter.IDs {
		wanted[id] = true
	}
	return slices.DeleteFunc(slices.Clone(found), func(c *Certificate) bool {
		return filter.Name != "" && c.name != filter.Name || len(wanted) > 0 && !wanted[c.id]
	}), nil
}

// describe reads the certificates of the region now. The cloud answers with all of them at once.
func (s *Store) describe(ctx context.Context, params cloud.Params) ([]*Certificate, error) {
	var out struct {
		ServerCertificates struct{ ServerCertificate []answer }
		CACertificates     struct{ CACertificate []answer }
	}
	if _, err := s.caller.Do(ctx, cloud.Read(openapi.SLB, "Describe"+s.kind+"Certificates", params), &out); err != nil {
		return nil, err
	}
	var found []*Certificate
	for _, a := range slices.Concat(out.ServerCertificates.ServerCertificate, out.CACertificates.CACertificate) {
		found = append(found, a.decode())
	}
	slices.SortFunc(found, func(a, b *Certificate) int { return strings.Compare(a.id, b.id) })
	return found, nil
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

func (a answer) decode() *Certificate {
	c := &Certificate{
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
