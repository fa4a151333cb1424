package vpc

import (
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// creating is the status of a gateway that is being made.
const creating = "Creating"

// begin gives something a status that lasts as long as a new network takes; then it is available, or gone if it is being deleted.
func begin(c *api.Context, s *state.Stage, status string) {
	s.Status, s.BusyUntil = status, c.Now.Add(c.Settings.NetworkPending)
}

// settleStages completes what has ended of things of one kind. Settled is their status then.
func settleStages[T any](all map[string]*T, over func(*time.Time) bool, settled string, stage func(*T) *state.Stage) {
	for id, thing := range all {
		s := stage(thing)
		switch {
		case !over(&s.BusyUntil):
		case s.Status == deleting || s.Status == releasing:
			delete(all, id)
		default:
			s.Status = settled
		}
	}
}

// ready reports whether something is not on its way between two states.
func ready(s *state.Stage) bool { return s.BusyUntil.IsZero() }

// settleGateways completes what has ended of all kinds of gateways and of other things that have a stage, and of what belongs to them.
func settleGateways(c *state.Cloud, over func(*time.Time) bool) {
	settleStages(c.NatGateways, over, available, func(n *state.NatGateway) *state.Stage { return &n.Stage })
	settleStages(c.SnatEntries, over, available, func(e *state.SnatEntry) *state.Stage { return &e.Stage })
	settleStages(c.ForwardEntries, over, available, func(e *state.ForwardEntry) *state.Stage { return &e.Stage })
	settleStages(c.Ipv4Gateways, over, created, func(g *state.InternetGateway) *state.Stage { return &g.Stage })
	settleStages(c.Ipv6Gateways, over, available, func(g *state.InternetGateway) *state.Stage { return &g.Stage })
	settleStages(c.HaVips, over, available, func(h *state.HaVip) *state.Stage { return &h.Stage })
	settleStages(c.PrefixLists, over, created, func(l *state.PrefixList) *state.Stage { return &l.Stage })
	settleStages(c.DhcpOptionsSets, over, available, func(s *state.DhcpOptionsSet) *state.Stage { return &s.Stage })
	settleDhcp(c, over)
	settleStages(c.CidrReservations, over, assigned, func(r *state.CidrReservation) *state.Stage { return &r.Stage })
	settlePools(c, over)
	settleStages(c.EipSegments, over, allocated, func(s *state.EipSegment) *state.Stage { return &s.Stage })
	settleStages(c.EgressRules, over, available, func(r *state.EgressRule) *state.Stage { return &r.Stage })
}
