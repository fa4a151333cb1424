package openapisim

import "net/http"

// Generation is another number after every change of the state, but for transitions that end by themselves.
func (s *Simulator) Generation() uint64 { return s.changes.Load() }

// TrafficDocument is the answer of GET /admin/dataplane: the sockets of load balancers and where they forward.
type TrafficDocument struct {
	Listeners any `json:"listeners"`
}

func (s *Simulator) getTraffic(w http.ResponseWriter, _ *http.Request) {
	if s.plane == nil {
		http.Error(w, "load balancers carry no traffic; start the simulator with --dataplane", http.StatusNotFound)
		return
	}
	writeDocument(w, TrafficDocument{Listeners: s.plane.Sockets()})
}
