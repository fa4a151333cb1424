package slb

import (
	"context"
	"fmt"
	"time"

	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/memo"
)

const (
	// mostOwned and ownedLife bound of how many parts of one kind, and for how long, the load balancer is remembered.
	mostOwned = 20_000
	ownedLife = 24 * time.Hour
)

// Owners knows of which load balancers the parts are that have ids of their own, e.g. vServer groups. Requests name both, and the load
// balancer decides in which order writes go and what is forgotten after them. A part never moves to another load balancer, so one answer of
// the cloud that names both is enough.
type Owners struct {
	product *Product
	kind    string // for errors
	find    func(ctx context.Context, id, claimed string) (loadBalancerID string, err error)
	of      *memo.Memo[string, string]
}

// NewOwners makes Owners. Find reads the load balancer of a part that is not known; it gives "" if there is no such part. It is told which
// load balancer the request names.
func NewOwners(
	p *Product, kind string, find func(ctx context.Context, id, claimed string) (loadBalancerID string, err error),
) *Owners {
	return &Owners{product: p, kind: kind, find: find, of: memo.New[string, string](mostOwned)}
}

// Exclusively is Product.Exclusively for a change of a part of the load balancer.
func (o *Owners) Exclusively(
	ctx context.Context, id, loadBalancerID string, change func(ctx context.Context, w *Writer) error,
) error {
	if err := o.confirm(ctx, id, loadBalancerID); err != nil {
		return err
	}
	return o.product.Exclusively(ctx, loadBalancerID, change)
}

// Learn notes of which load balancer a part is, as an answer of the cloud says.
func (o *Owners) Learn(id, loadBalancerID string) {
	if id != "" && loadBalancerID != "" && o.Of(id) != loadBalancerID {
		o.of.Put(id, loadBalancerID, ownedLife)
	}
}

// Of gives the load balancer of a part; "" if it is not known.
func (o *Owners) Of(id string) string {
	of, _ := o.of.Get(id)
	return of
}

// confirm refuses a request that names another load balancer than that of the part. A part that does not exist passes: to say so is up to the
// cloud. What is not known of a part is not read for callers that are believed.
func (o *Owners) confirm(ctx context.Context, id, loadBalancerID string) error {
	of := o.Of(id)
	if of == "" && cloud.Believed(ctx) {
		return nil
	}
	if of == "" {
		var err error
		if of, err = o.find(ctx, id, loadBalancerID); err != nil {
			return fmt.Errorf("find the load balancer of %s %s: %w", o.kind, id, err)
		}
		o.Learn(id, of)
	}
	if of != "" && of != loadBalancerID {
		return rpcerr.Invalid(rpcerr.FieldViolation{
			Field: "load_balancer_id", Description: fmt.Sprintf("%s %s is of %s; name that load balancer", o.kind, id, of),
		})
	}
	return nil
}
