package lb

import (
	"slices"
	"sync/atomic"
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/backend/eni"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// state is all that the engine remembers of one Service. It is made when the Service is first seen, and dropped with
// it. Only what is known of the cloud is used by others than the pass over the Service, of which there is one at a
// time.
type state struct {
	knowledge.Memory
	// pods are the network interfaces of its pods, and polls the questions about their health.
	pods  eni.Known
	polls readiness.Polls
	// certificates are the ids that the Service names.
	certificates []string
	// held are the server groups whose deletion the cloud refused because they are in use, and when.
	held map[string]time.Time
	// withheld are changes that its policy holds back, lastServers says that its last servers stay, and noBackends that a
	// port has none, as they were counted.
	withheld                withheld
	lastServers, noBackends bool
	// needs is what the Service asks for that the cloud has a quota of; nil if it has no load balancer.
	needs atomic.Pointer[needs]
}

// heldFor is the time between two attempts to delete a server group that is in use. A forwarding rule of the user may refer to it, and the
// list of a group's users doesn't name rules.
const heldFor = 24 * time.Hour

// hold records which server groups the cloud refused to delete.
func (s *state) hold(groups []model.Group) {
	for _, g := range groups {
		if _, noted := s.held[g.ID]; g.Held && !noted {
			if s.held == nil {
				s.held = map[string]time.Time{}
			}
			s.held[g.ID] = time.Now()
		}
	}
}

// withHeld marks, in what was read, the server groups whose deletion was refused less than heldFor ago.
func (s *state) withHeld(o model.Observed) model.Observed {
	o.Groups = slices.Clone(o.Groups)
	for i := range o.Groups {
		since, held := s.held[o.Groups[i].ID]
		if o.Groups[i].Held = held && time.Since(since) < heldFor; held && !o.Groups[i].Held {
			delete(s.held, o.Groups[i].ID)
		}
	}
	return o
}
