package certificate

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// store does the operations on certificates of one kind. The cloud has the same actions for both, with names that differ in a word.
type store struct {
	product  *slb.Product
	kind     string // that word: "Server" or "CA"
	listings *batch.Reader[string, []*cert]
	ledger   *write.Ledger
}

func newStore(p *slb.Product, kind, cache string) *store {
	return &store{
		product: p, kind: kind, listings: cloud.NewCache[[]*cert](p.Shared, cache), ledger: write.NewLedger(),
	}
}

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
	found, err := s.listings.Do(ctx, fmt.Sprintf("%q", params), r.GetMaxAge().AsDuration(), func(ctx context.Context) ([]*cert, error) {
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
	var found []*cert
	err := s.product.Read(ctx, "Describe"+s.kind+"Certificates", params, &cloud.Fields{
		s.kind + "Certificates": cloud.Fields{s.kind + "Certificate": cloud.Each(&found, decode)},
	})
	return cloud.SortedBy(found, func(c *cert) string { return c.id }), err
}

// update changes the name, if there is one, and the rest that a request has.
func (s *store) update(ctx context.Context, id string, name *string, r slb.Metadata) error {
	defer s.listings.Clear() // Whatever happens, the cloud may hold something new.
	if name != nil {
		params := cloud.Params{s.kind + "CertificateId": id, s.kind + "CertificateName": *name}
		if err := s.product.Set(ctx, "Set"+s.kind+"CertificateName", params, nil); err != nil {
			return err
		}
	}
	return s.product.ChangeMetadata(ctx, "certificate", id, rpcerr.CertificateNotFound, r)
}

func (s *store) remove(ctx context.Context, id string) error {
	defer s.listings.Clear()
	err := s.product.Set(ctx, "Delete"+s.kind+"Certificate", cloud.Params{s.kind + "CertificateId": id}, nil)
	return cloud.Unless(err, rpcerr.CertificateNotFound)
}
