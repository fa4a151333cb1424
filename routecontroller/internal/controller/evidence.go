package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/routecontroller/internal/plan"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

const (
	// oneCall is how many instances one question may be about, and one call of the cloud returns. Questions are filled up to it with the
	// instances of nodes as witnesses, minWitnesses at least.
	oneCall, minWitnesses = 100, 3
	// askTimeout bounds a question about instances, for nodes wait for the rest of the pass.
	askTimeout = 30 * time.Second
)

// askObstacles asks about the instances that unmarked entries in the way lead to: they may be of the cluster, or there no more.
func (c *Controller) askObstacles(ctx context.Context, m *memory, claims table.Claims) {
	p := c.diff(m, claims)
	var unknown []string
	for _, refusal := range slices.Concat(p.Refused, p.Foreign) {
		if id := refusal.Entry.InstanceID; id != "" && !m.asked(id) && refusal.Entry.Description == "" {
			unknown = append(unknown, id)
		}
	}
	c.ask(ctx, m, unknown, claims)
}

// askOrphans asks about the instances of orphans whose answer counts, and reports whether it has learned anything.
func (c *Controller) askOrphans(ctx context.Context, m *memory, v view, now time.Time) bool {
	var unknown []string
	for _, o := range v.waiting {
		if !m.asked(o.Entry.InstanceID) && o.Asking(now, c.cfg.Orphans) {
			unknown = append(unknown, o.Entry.InstanceID)
		}
	}
	if len(v.claims.Wanted) == 0 {
		return false
	}
	return c.ask(gateway.WithPriority(ctx, gateway.Deletion), m, unknown, v.claims)
}

// ask asks the cloud about instances, with those of nodes as witnesses, and reports whether there was anything to ask. Not knowing is no
// failure: entries of which nothing was known before are left alone.
func (c *Controller) ask(ctx context.Context, m *memory, unknown []string, claims table.Claims) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	slices.Sort(unknown)
	unknown = slices.Compact(unknown)
	for ids := range slices.Chunk(unknown, oneCall) {
		request := &ecsv1.ConfirmAbsentRequest{InstanceIds: ids, RegionId: c.region}
		for _, route := range claims.Wanted[:min(len(claims.Wanted), max(minWitnesses, oneCall-len(ids)))] {
			request.WitnessIds = append(request.WitnessIds, route.InstanceID)
		}
		answer, err := c.cfg.Gateway.Instances.ConfirmAbsent(ctx, request)
		if err == nil && len(answer.GetResults()) != len(ids) {
			err = errors.New("the gateway answered with another number of results than instances")
		}
		for i, id := range ids {
			if err != nil {
				m.setUnclear(err, id)
				continue
			}
			c.learn(m, id, answer.GetResults()[i])
		}
		if err != nil {
			c.log.Warn("can't find out whether instances exist that routes lead to", "instances", len(ids), "error", err)
		}
	}
	return len(unknown) > 0
}

// learn remembers what is certain of an instance, or why nothing is.
func (c *Controller) learn(m *memory, id string, result *ecsv1.ConfirmAbsentResult) {
	switch result.GetPresence() {
	case ecsv1.Presence_PRESENCE_PRESENT:
		m.instances[id] = plan.Stranger
		for _, tag := range result.GetInstance().GetTags() {
			if tag.GetKey() == c.cfg.ClusterTag && tag.GetValue() == c.cfg.ClusterID {
				m.instances[id] = plan.Member
			}
		}
	case ecsv1.Presence_PRESENCE_ABSENT:
		m.instances[id] = plan.Gone
	case ecsv1.Presence_PRESENCE_UNCLEAR, ecsv1.Presence_PRESENCE_UNSPECIFIED:
		m.setUnclear(rpcerr.FromItem(result.GetError()), id)
	}
}

func (c *Controller) diff(m *memory, claims table.Claims) plan.Plan {
	return plan.Diff(plan.Input{Claims: claims, Entries: m.list(), Seen: m.seen, Instances: m.instances},
		plan.Policy{ClusterID: c.cfg.ClusterID, ClusterCIDRs: c.cfg.ClusterCIDRs, Reserved: m.reserved})
}
