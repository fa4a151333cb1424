package openapisim

import (
	"fmt"
	"net/http"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/dataplane"
)

// makePlane makes the data plane, which runs while the simulator is started.
func (s *Simulator) makePlane(ranges dataplane.Ranges) error {
	ranges, err := ranges.Complete()
	if err != nil {
		return fmt.Errorf("data plane: %w", err)
	}
	if s.plane, err = dataplane.New(dataplane.Config{Cloud: s, Ranges: ranges, Logger: s.log}); err != nil {
		return err
	}
	s.traffic = &api.Traffic{Internet: ranges.Internet, Intranet: ranges.Intranet, Health: s.plane.Health}
	return nil
}

// Generation is another number after every change of the state, but for transitions that end by themselves.
func (s *Simulator) Generation() uint64 { return s.changes.Load() }

// TrafficDocument is the answer of GET /admin/dataplane: the sockets of load balancers and where they forward.
type TrafficDocument struct {
	Listeners []dataplane.Listener `json:"listeners"`
}

func (s *Simulator) getTraffic(w http.ResponseWriter, _ *http.Request) {
	if s.plane == nil {
		http.Error(w, "load balancers carry no traffic; start the simulator with --dataplane", http.StatusNotFound)
		return
	}
	writeDocument(w, TrafficDocument{Listeners: s.plane.Listeners()})
}
