package server

import (
	"context"

	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/cloudgateway/internal/certificate"
	"alicloud-controllers.dev/cloudgateway/internal/filing"
)

type certificates struct {
	slbv1.UnimplementedCertificateServiceServer

	certificates certificate.Client
}

func (s *certificates) ListServerCertificates(
	ctx context.Context, r *slbv1.ListServerCertificatesRequest,
) (*slbv1.ListServerCertificatesResponse, error) {
	found, err := listCertificates(ctx, s.certificates.Servers, "server_certificate_ids", r.GetServerCertificateIds(), r)
	if err != nil {
		return nil, err
	}
	answer := &slbv1.ListServerCertificatesResponse{}
	for _, one := range found {
		answer.ServerCertificates = append(answer.ServerCertificates, one.Server())
	}
	return answer, nil
}

func (s *certificates) ListCaCertificates(
	ctx context.Context, r *slbv1.ListCaCertificatesRequest,
) (*slbv1.ListCaCertificatesResponse, error) {
	found, err := listCertificates(ctx, s.certificates.Authorities, "ca_certificate_ids", r.GetCaCertificateIds(), r)
	if err != nil {
		return nil, err
	}
	answer := &slbv1.ListCaCertificatesResponse{}
	for _, one := range found {
		answer.CaCertificates = append(answer.CaCertificates, one.CA())
	}
	return answer, nil
}

// certificateFilter is what the requests to list either kind have in common.
type certificateFilter interface {
	GetName() string
	GetTags() []*commonv1.Tag
	GetResourceGroupId() string
	GetMaxAge() *durationpb.Duration
}

func listCertificates(
	ctx context.Context, store *certificate.Store, field string, ids []string, r certificateFilter,
) ([]*certificate.Certificate, error) {
	var c check
	c.ids(field, ids)
	c.text("name", r.GetName(), 0, 80)
	c.tags("tags", r.GetTags())
	c.optionalID("resource_group_id", r.GetResourceGroupId())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	filter := certificate.Filter{IDs: ids, Name: r.GetName(), Tags: r.GetTags(), ResourceGroupID: r.GetResourceGroupId()}
	return store.List(ctx, filter, r.GetMaxAge().AsDuration())
}

func (s *certificates) UploadServerCertificate(
	ctx context.Context, r *slbv1.UploadServerCertificateRequest,
) (*slbv1.UploadServerCertificateResponse, error) {
	var c check
	c.upload(r)
	switch source := r.GetSource().(type) {
	case *slbv1.UploadServerCertificateRequest_KeyPair:
		c.keyPair("key_pair", source.KeyPair)
	case *slbv1.UploadServerCertificateRequest_AlicloudCertificate:
		c.id("alicloud_certificate.certificate_id", source.AlicloudCertificate.GetCertificateId())
		c.text("alicloud_certificate.name", source.AlicloudCertificate.GetName(), 0, 128)
		c.optionalID("alicloud_certificate.region_id", source.AlicloudCertificate.GetRegionId())
	default:
		c.addf("key_pair", "one of key_pair and alicloud_certificate is required")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	made, err := s.certificates.Servers.Upload(ctx, certificate.Upload{
		RequestID: r.GetRequestId(), Name: r.GetName(), ResourceGroupID: r.GetResourceGroupId(), Tags: r.GetTags(),
		PEM: r.GetKeyPair().GetCertificatePem(), PrivateKey: logging.Secret(r.GetKeyPair().GetPrivateKeyPem()),
		Alicloud: r.GetAlicloudCertificate(),
	})
	if err != nil {
		return nil, err
	}
	return &slbv1.UploadServerCertificateResponse{ServerCertificate: made.Server()}, nil
}

func (s *certificates) UploadCaCertificate(
	ctx context.Context, r *slbv1.UploadCaCertificateRequest,
) (*slbv1.UploadCaCertificateResponse, error) {
	var c check
	c.upload(r)
	c.certificate("certificate_pem", r.GetCertificatePem())
	if err := c.err(); err != nil {
		return nil, err
	}
	made, err := s.certificates.Authorities.Upload(ctx, certificate.Upload{
		RequestID: r.GetRequestId(), Name: r.GetName(), ResourceGroupID: r.GetResourceGroupId(), Tags: r.GetTags(),
		PEM: r.GetCertificatePem(),
	})
	if err != nil {
		return nil, err
	}
	return &slbv1.UploadCaCertificateResponse{CaCertificate: made.CA()}, nil
}

// upload checks what the requests to upload either kind have in common.
func (c *check) upload(r interface {
	GetRequestId() string
	GetName() string
	GetResourceGroupId() string
	GetTags() []*commonv1.Tag
},
) {
	c.requestID(r.GetRequestId())
	c.text("name", r.GetName(), 1, 80)
	c.optionalID("resource_group_id", r.GetResourceGroupId())
	c.tags("tags", r.GetTags())
}

func (s *certificates) UpdateServerCertificate(
	ctx context.Context, r *slbv1.UpdateServerCertificateRequest,
) (*slbv1.UpdateServerCertificateResponse, error) {
	change := certificate.Change{Name: r.Name, Change: filing.Change{
		SetTags: r.GetSetTags(), RemoveTagKeys: r.GetRemoveTagKeys(), ResourceGroupID: r.ResourceGroupId,
	}}
	err := updateCertificate(ctx, s.certificates.Servers, r.GetRequestId(), "server_certificate_id", r.GetServerCertificateId(), change)
	if err != nil {
		return nil, err
	}
	return &slbv1.UpdateServerCertificateResponse{}, nil
}

func (s *certificates) UpdateCaCertificate(
	ctx context.Context, r *slbv1.UpdateCaCertificateRequest,
) (*slbv1.UpdateCaCertificateResponse, error) {
	change := certificate.Change{Name: r.Name, Change: filing.Change{
		SetTags: r.GetSetTags(), RemoveTagKeys: r.GetRemoveTagKeys(), ResourceGroupID: r.ResourceGroupId,
	}}
	err := updateCertificate(ctx, s.certificates.Authorities, r.GetRequestId(), "ca_certificate_id", r.GetCaCertificateId(), change)
	if err != nil {
		return nil, err
	}
	return &slbv1.UpdateCaCertificateResponse{}, nil
}

func updateCertificate(
	ctx context.Context, store *certificate.Store, requestID, field, id string, change certificate.Change,
) error {
	var c check
	c.optionalRequestID(requestID)
	c.id(field, id)
	if change.Name != nil {
		c.text("name", *change.Name, 1, 80)
	}
	c.tagChanges(change.SetTags, change.RemoveTagKeys)
	if change.ResourceGroupID != nil {
		c.id("resource_group_id", *change.ResourceGroupID)
	}
	if change.Name == nil && change.Empty() {
		c.addf("name", "the request changes nothing; at least one change is required")
	}
	if err := c.err(); err != nil {
		return err
	}
	return store.Update(ctx, id, change)
}

func (s *certificates) DeleteServerCertificate(
	ctx context.Context, r *slbv1.DeleteServerCertificateRequest,
) (*slbv1.DeleteServerCertificateResponse, error) {
	err := deleteCertificate(ctx, s.certificates.Servers, r.GetRequestId(), "server_certificate_id", r.GetServerCertificateId())
	if err != nil {
		return nil, err
	}
	return &slbv1.DeleteServerCertificateResponse{}, nil
}

func (s *certificates) DeleteCaCertificate(
	ctx context.Context, r *slbv1.DeleteCaCertificateRequest,
) (*slbv1.DeleteCaCertificateResponse, error) {
	err := deleteCertificate(ctx, s.certificates.Authorities, r.GetRequestId(), "ca_certificate_id", r.GetCaCertificateId())
	if err != nil {
		return nil, err
	}
	return &slbv1.DeleteCaCertificateResponse{}, nil
}

func deleteCertificate(ctx context.Context, store *certificate.Store, requestID, field, id string) error {
	var c check
	c.optionalRequestID(requestID)
	c.id(field, id)
	if err := c.err(); err != nil {
		return err
	}
	return store.Delete(ctx, id)
}
