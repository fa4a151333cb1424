package certificate

import (
	"context"
	"crypto/sha1" //nolint:gosec // The fingerprints that SLB shows are SHA-1.
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/logging"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// upload describes a new certificate.
type upload struct {
	RequestID, Name, ResourceGroupID string
	Tags                             []*commonv1.Tag
	// PEM is the certificate, empty if it comes from the certificate service.
	PEM string
	// PrivateKey is that of a server certificate.
	PrivateKey logging.Secret
	// Alicloud is a certificate of the certificate service.
	Alicloud *slbv1.AlicloudCertificate
}

// identity identifies a request to upload. The cloud has no token for it.
type identity struct{ requestID, name, content string }

func (u upload) key() identity {
	return identity{requestID: u.RequestID, name: u.Name, content: u.content()}
}

// content tells one certificate from another: its fingerprint, or its id at the certificate service.
func (u upload) content() string {
	if u.PEM == "" {
		return u.Alicloud.GetCertificateId()
	}
	block, _ := pem.Decode([]byte(u.PEM))
	if block == nil {
		return ""
	}
	sum := sha1.Sum(block.Bytes) //nolint:gosec // It identifies, it does not protect.
	return hex.EncodeToString(sum[:])
}

// upload brings a certificate into the region. A repetition of a request whose outcome was not clear looks for it first.
func (s *store) upload(ctx context.Context, u upload) (*cert, error) {
	key := u.key()
	// Of two uploads of the same certificate at the same time, neither could tell which is whose.
	unlock, err := cloud.Lock(ctx, s.product.Locks, fmt.Sprintf("certificate %q with fingerprint or id %s", u.Name, key.content))
	if err != nil {
		return nil, err
	}
	defer unlock()
	defer s.listings.Clear()
	if _, doubtful := s.doubtful.Get(key); doubtful {
		if found, err := s.twin(ctx, u); found != nil || err != nil {
			return found, err
		}
	}
	made, err := cloud.Create(ctx, func(ctx context.Context) (*cert, error) {
		call := cloud.Write(openapi.SLB, "Upload"+s.kind+"Certificate", s.params(u))
		call.Form = s.form(u)
		var out answer
		if _, err := s.product.Caller.Do(ctx, call, &out); err != nil {
			return nil, err
		}
		return out.decode(), nil
	}, func(ctx context.Context) (*cert, error) {
		s.doubtful.Put(key, struct{}{}, slb.LedgerLife)
		return s.twin(ctx, u)
	})
	if err == nil {
		s.doubtful.Put(key, struct{}{}, 0)
	}
	return made, err
}

func (s *store) params(u upload) cloud.Params {
	return cloud.Tags(cloud.Params{s.kind + "CertificateName": u.Name}.
		With("ResourceGroupId", u.ResourceGroupID).
		With("AliCloudCertificateId", u.Alicloud.GetCertificateId()).
		With("AliCloudCertificateName", u.Alicloud.GetName()).
		With("AliCloudCertificateRegionId", u.Alicloud.GetRegionId()), u.Tags)
}

func (s *store) form(u upload) cloud.Params {
	return cloud.Params{}.With(s.kind+"Certificate", u.PEM).With("PrivateKey", string(u.PrivateKey))
}

// twin looks for the certificate that a request whose answer was lost may have made: the only one of its name, group, tags and
// content. Nil means that the request was not carried out; an error, that nobody can tell.
func (s *store) twin(ctx context.Context, u upload) (*cert, error) {
	unknown := func(format string, args ...any) error {
		return &rpcerr.Error{
			Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, API: "slb/Upload" + s.kind + "Certificate",
			Message: fmt.Sprintf("the answer to the upload of certificate %q was lost: ", u.Name) + fmt.Sprintf(format, args...),
		}
	}
	// No cache and no filter that may lag behind: what was made a moment ago has to be seen.
	all, err := s.describe(ctx, nil)
	if err != nil {
		return nil, unknown("reading the certificates back failed: %v", err)
	}
	var twins []*cert
	for _, c := range all {
		if c.is(u) {
			twins = append(twins, c)
		}
	}
	switch len(twins) {
	case 0:
		return nil, nil //nolint:nilnil // Absence is an answer.
	case 1:
		return twins[0], nil
	}
	return nil, unknown("it is there %d times under that name", len(twins))
}

// is tells whether a certificate is what an upload makes.
func (c *cert) is(u upload) bool {
	content := strings.ToLower(strings.ReplaceAll(c.details.GetFingerprint(), ":", ""))
	if u.PEM == "" {
		content = c.alicloud.GetCertificateId()
	}
	return c.name == u.Name && content == u.content() && (u.ResourceGroupID == "" || c.group == u.ResourceGroupID) &&
		cloud.HasTags(c.tags, u.Tags)
}
