package lb

import (
	"context"
	"slices"
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
)

// retryAddresses is when bound addresses that could not be read are read again.
const retryAddresses = time.Minute

// addressesFor is how long the addresses that are bound to a load balancer are believed: one that is taken off may be
// another's soon, who then gets the traffic. addressesAge is how old a list of them may be that serves all Services.
// Together they are less than a minute.
const addressesFor, addressesAge = 40 * time.Second, 15 * time.Second

// addressesPause is how long after such a list has shown a change the load balancer is compared, once the change is published.
const addressesPause = time.Second

// addresses are those that are bound to a load balancer, as far as they are published.
type addresses struct {
	list []string
	// trouble is what users should know about them; nil for nothing.
	trouble *controller.Event
	// unknown reports that they could not be read.
	unknown bool
}

// addresses finds out which bound addresses are published, and remembers them.
func (e *engine) addresses(ctx context.Context, s pass, entry *knowledge.Entry, id string) addresses {
	if !s.want.ShowsBound {
		entry.Addresses = nil
		return addresses{}
	}
	if entry.Addresses != nil && time.Now().Before(entry.AddressesUntil) {
		return addresses{list: entry.Addresses}
	}
	maxAge := time.Duration(0)
	if entry.Addresses != nil {
		maxAge = addressesAge
	}
	list, none, err := e.Product.Addresses(ctx, id, maxAge)
	if err != nil {
		trouble := controller.Failure(controller.ReasonAddress, err)
		return addresses{list: entry.Addresses, trouble: &trouble, unknown: true}
	}
	asked := s.want.Desired.Binding.IsAsked()
	if asked && entry.Addresses != nil && !slices.Equal(entry.Addresses, list) {
		entry.VerifyAt = time.Now().Add(addressesPause) // Somebody has bound another, or none.
	}
	entry.Addresses, entry.AddressesUntil = list, time.Now().Add(addressesFor)
	return addresses{list: list, trouble: warning(len(list) == 0 && !asked, controller.ReasonAddress, "%s", none)}
}
