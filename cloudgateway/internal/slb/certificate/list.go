package certificate

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	return slices.DeleteFunc(slices.Clone(found), func(c *cert) bool {
		return r.GetName() != "" && c.name != r.GetName() || len(wanted) > 0 && !wanted[c.id]
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
	slices.SortFunc(found, func(a, b *cert) int { return strings.Compare(a.id, b.id) })
	return found, nil
}
