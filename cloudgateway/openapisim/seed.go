package openapisim

import (
	"fmt"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/strictjson"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// ReadSeed reads what [Simulator.Seed] takes. It refuses names that it doesn't know, and reports all of them at
// once.
func ReadSeed(document []byte) (*state.Cloud, error) {
	seed := &state.Cloud{}
	if err := strictjson.Unmarshal(document, seed); err != nil {
		return nil, err
	}
	return seed, nil
}

// Seed adds resources to the cloud; those with a known id are replaced. The resources are a part of a snapshot. What the
// cloud itself would add is added: the system route table of a VPC with its entries, the primary interface of an
// instance, and the states a resource has when it is ready.
func (s *Simulator) Seed(resources *state.Cloud) error {
	if err := resources.Check(); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	s.look(func(c *api.Context) {
		s.cloud.Add(resources)
		for _, p := range s.products {
			if p.Complete != nil {
				p.Complete(s.cloud, resources)
			}
		}
		s.touched()
		s.settleAll(c)
		s.show(true)
	})
	return nil
}
