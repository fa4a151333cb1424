package lb

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/backend/eni"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
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
	// held are the server groups and access lists whose deletion the cloud refused because they are in use, and when.
	held map[string]time.Time
	// starting are its listeners that don't run yet.
	starting starting
	// blocked are its health checks that security groups keep out.
	blocked blockedChecks
	// withheld are changes that its policy holds back, lastServers says that its last servers stay, and noBackends that a
	// port has none, as they were counted.
	withheld                withheld
	lastServers, noBackends bool
	// changes are those of its configuration, which are stopped when they are taken back again and again.
	changes controller.Fight
	// making is the load balancer that the cloud is making for it; empty for none.
	making underway
	// needs is what the Service asks for that the cloud has a quota of; nil if it has no load balancer.
	needs atomic.Pointer[needs]
}

// underway is a load balancer that the cloud is still making, and since when it is known: it is looked at by its id.
type underway struct {
	id    string
	since time.Time
}

// stillMaking notes whether an error says that the load balancer is being made. The time to the next look grows by as much as has passed:
// a cloud in which creations hang must not be asked for all of them every few seconds. No pass waits longer than five minutes.
func (s *state) stillMaking(err error) {
	e, is := errors.AsType[*observe.MakingError](err)
	if !is {
		s.making = underway{}
		return
	}
	if s.making.id != e.ID {
		s.making = underway{e.ID, time.Now()}
	}
	e.Err = e.Err.WithRetry(max(e.Err.RetryAfter, time.Since(s.making.since)))
}

// heldFor is the time between two attempts to delete what is in use. A forwarding rule of the user may refer to it,
// and the list of a group's users doesn't name rules.
const heldFor = 24 * time.Hour

// hold records what the cloud refused to delete.
func (s *state) hold(o model.Observed) {
	hold := func(id string, isHeld bool) {
		if _, noted := s.held[id]; isHeld && !noted {
			if s.held == nil {
				s.held = map[string]time.Time{}
			}
			s.held[id] = time.Now()
		}
	}
	for _, g := range o.Groups {
		hold(g.ID, g.Held)
	}
	for _, l := range o.Lists {
		hold(l.ID, l.Held)
	}
}

// withHeld marks, in what was read, what less than heldFor ago the cloud refused to delete.
func (s *state) withHeld(o model.Observed) model.Observed {
	isHeld := func(id string) bool {
		since, noted := s.held[id]
		if noted && time.Since(since) >= heldFor {
			delete(s.held, id)
			return false
		}
		return noted
	}
	o.Groups, o.Lists = slices.Clone(o.Groups), slices.Clone(o.Lists)
	for i := range o.Groups {
		o.Groups[i].Held = isHeld(o.Groups[i].ID)
	}
	for i := range o.Lists {
		o.Lists[i].Held = isHeld(o.Lists[i].ID)
	}
	return o
}
