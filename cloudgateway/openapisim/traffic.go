package openapisim

import (
	"fmt"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/dataplane"
)

// makePlane makes the data plane, which runs while the simulator is started.
func (s *Simulator) makePlane(ranges dataplane.Ranges) error {
	ranges, err := ranges.Complete()
	if err != nil {
		return fmt.Errorf("data plane: %w", err)
	}
	if s.plane, err = dataplane.New(dataplane.Config{Cloud: s, Logger: s.log}); err != nil {
		return err
	}
	s.traffic = &api.Traffic{Internet: ranges.Internet, Intranet: ranges.Intranet, Health: s.plane.Health}
	return nil
}

// Generation is another number after every change of the state, but for transitions that end by themselves.
func (s *Simulator) Generation() uint64 { return s.changes.Load() }
