package certificate

import (
	"context"

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
	listings *batch.Cache[[]*cert]
	ledger   *write.Ledger
}

func newStore(p *slb.Product, kind, cache string) *store {
	return &store{
		product: p, kind: kind, listings: cloud.NewCache[[]*cert](p.Shared, cache), ledger: write.NewLedger(),
	}
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
