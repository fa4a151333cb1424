package certificate

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// filter is what the requests to list either kind have in common; what is empty selects all.
type filter interface {
	GetName() string
	GetTags() []*commonv1.Tag
	GetResourceGroupId() string
	GetMaxAge() *durationpb.Duration
}

// list reads every certificate that matches, ordered by id.
func (s *store) list(ctx context.Context, ids []string, r filter) ([]*cert, error) {
	params := cloud.Tags(cloud.Params{}.With("ResourceGroupId", r.GetResourceGroupId()), r.GetTags())
	found, err := s.listings.Get(ctx, fmt.Sprintf("%q", params), r.GetMaxAge().AsDuration(), func(ctx context.Context) ([]*cert, error) {
		return s.describe(ctx, params)
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(found), func(c *cert) bool {
		return r.GetName() != "" && c.name != r.GetName() || len(ids) > 0 && !slices.Contains(ids, c.id)
	}), nil
}

// describe reads the certificates of the region now. The cloud answers with all of them at once.
func (s *store) describe(ctx context.Context, params cloud.Params) ([]*cert, error) {
	var out struct {
		ServerCertificates struct{ ServerCertificate []answer }
		CACertificates     struct{ CACertificate []answer }
	}
	if err := s.product.Read(ctx, "Describe"+s.kind+"Certificates", params, &out); err != nil {
		return nil, err
	}
	var found []*cert
	for _, a := range slices.Concat(out.ServerCertificates.ServerCertificate, out.CACertificates.CACertificate) {
		found = append(found, a.decode())
	}
	return cloud.SortedBy(found, func(c *cert) string { return c.id }), nil
}
