package lb

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// withNobodys finds out, of the names on a user's load balancer that say for which Services of the cluster they were
// made, which of these are gone. A Service that isn't there owns nothing; one that a name may be shortened of is
// believed.
func (r reader) withNobodys(ctx context.Context, exists controller.Exists, owner ownership.Owner, o model.Observed,
) (model.Observed, error) {
	if exists == nil {
		return o, nil
	}
	var texts []string
	for _, l := range o.Listeners {
		texts = append(texts, l.Description())
	}
	for _, g := range o.Groups {
		texts = append(texts, g.Name)
	}
	for _, name := range o.OtherGroups {
		texts = append(texts, name)
	}
	known := map[ownership.Owner]bool{}
	for _, text := range texts {
		made, ok := ownership.MadeFor(text)
		if !ok || made.ClusterID != r.clusterID || owner.Owns(text) {
			continue
		}
		isThere, asked := known[made]
		if !asked {
			owns := func(svc *corev1.Service) bool {
				return ownership.Owner{Service: svc.Name, Namespace: svc.Namespace, ClusterID: r.clusterID}.Owns(text)
			}
			var err error
			if isThere, err = exists(ctx, made.Namespace, made.Service, owns); err != nil {
				return o, err
			}
			known[made] = isThere
		}
		if !isThere {
			if o.Nobodys == nil {
				o.Nobodys = map[string]bool{}
			}
			o.Nobodys[text] = true
		}
	}
	return o, nil
}

// clearNobodys deletes on a user's load balancer what Services of the cluster that are gone had to leave there only
// because a redirect led to it that is gone now, too. What serves somebody stays: a load balancer that was preserved
// is the user's, with all that its Service has left on it.
func (c changer) clearNobodys(ctx context.Context, exists controller.Exists, leaving ownership.Owner,
	before, after model.Observed) error {
	targets := targetsOf(before, after)
	if len(targets) == 0 {
		return nil
	}
	o, err := c.withNobodys(ctx, exists, leaving, after)
	if err != nil {
		return err
	}
	for _, owner := range ownersOf(o, targets) {
		var groups []string
		for _, l := range o.Listeners {
			if owner.Owns(l.Description()) {
				groups = append(groups, l.GroupID())
			}
		}
		groups = slices.DeleteFunc(groups, func(id string) bool { return id == "" })
		there, err := c.reused(ctx, o.InstanceID, observe.Parts{Owner: owner, IDs: groups})
		if err != nil {
			return err
		}
		if servesSomebody(owner, there) {
			continue
		}
		p := plan.Leave(owner, model.Reuse{ID: o.InstanceID, Listeners: true}, there)
		if p.Empty() {
			continue
		}
		c.logger.Info("taking off a load balancer what Services that are gone have left there", "loadBalancer", o.InstanceID,
			"service", owner.Namespace+"/"+owner.Service, "plan", p.String())
		if _, err := c.apply(ctx, apply.Work{Plan: p, Observed: there}); err != nil && !isGone(err) {
			return err
		}
	}
	return nil
}

// targetsOf are the ports that redirects led to which are gone.
func targetsOf(before, after model.Observed) map[int32]bool {
	left := map[model.ListenerKey]bool{}
	for _, l := range after.Listeners {
		left[l.Key] = true
	}
	ports := map[int32]bool{}
	for _, l := range before.Listeners {
		if port := l.LeadsTo; port != 0 && !left[l.Key] {
			ports[port] = true
		}
	}
	return ports
}

// ownersOf are the Services that are gone and have left listeners on some of the ports, in order.
func ownersOf(o model.Observed, ports map[int32]bool) []ownership.Owner {
	var owners []ownership.Owner
	for _, l := range o.Listeners {
		owner, made := ownership.MadeFor(l.Description())
		isTarget := ports[l.Key.Port] && l.Key.Protocol.OverTCP()
		if made && isTarget && o.Nobodys[l.Description()] && !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	slices.SortFunc(owners, func(a, b ownership.Owner) int {
		return strings.Compare(a.Namespace+"/"+a.Service, b.Namespace+"/"+b.Service)
	})
	return owners
}

// servesSomebody reports whether anything serves of what a Service that is gone has left: a server group has a server,
// or a listener redirects, or forwards to a group that isn't the Service's.
func servesSomebody(owner ownership.Owner, o model.Observed) bool {
	own := map[string]bool{}
	for _, g := range o.Groups {
		if owner.Owns(g.Name) {
			own[g.ID] = true
			if len(g.Servers) > 0 {
				return true
			}
		}
	}
	return slices.ContainsFunc(o.Listeners, func(l model.Listener) bool {
		return owner.Owns(l.Description()) && (l.LeadsTo != 0 || !own[l.GroupID()])
	})
}
