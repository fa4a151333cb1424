package orphan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/budget"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// Orphan is a load balancer that was made for a Service of the cluster which no longer exists.
type Orphan struct {
	LoadBalancer, Name, Address string
	// Mark is the value of the tag that names the Service.
	Mark string
	// Thing is what it is if it is no load balancer, but stands beside one that is gone; LoadBalancer is its id then.
	Thing model.ThingKind
	// Kept is why it is never deleted by the controller, if that is known.
	Kept string
}

// Find returns the orphans among load balancers, ordered by id, and how many of the others belong to a Service that
// has or asks for a load balancer. Both tags of the cluster must be there: a load balancer of another cluster, or one
// that a user has made his own, is never an orphan. The things are those that bear both tags and a name of the
// controller's; one goes with a load balancer of the same mark, and one that something uses serves somebody. The
// Services must have been read after both.
func Find(clusterID, finalizer string, list []model.Observed, things []model.Thing, services []*corev1.Service) (
	orphans []Orphan, living int) {
	marks := make(map[string]bool, len(services))
	for _, svc := range services {
		if Has(svc, finalizer) {
			marks[ownership.DefaultName(string(svc.UID))] = true
		}
	}
	for _, lb := range list {
		tags := lb.Tags()
		mark, made := tags[ownership.TagService]
		_, reused := tags[ownership.TagReused]
		switch {
		case !made || reused || clusterID == "" || tags[ownership.TagCluster] != clusterID:
		case marks[mark]:
			living++
		default:
			orphans = append(orphans, Orphan{
				LoadBalancer: lb.InstanceID, Name: lb.Name(), Address: lb.Address(), Mark: mark, Kept: named(lb, services),
			})
		}
	}
	for _, lb := range list {
		marks[lb.Tags()[ownership.TagService]] = true
	}
	named := map[model.Thing]int{} // How many are alike but for their ids.
	for _, t := range things {
		named[model.Thing{Kind: t.Kind, Name: t.Name, Mark: t.Mark}]++
	}
	for _, t := range things {
		if marks[t.Mark] || t.UsedBy != "" {
			continue
		}
		o := Orphan{LoadBalancer: t.ID, Name: t.Name, Mark: t.Mark, Thing: t.Kind}
		switch {
		case t.Kind == model.ThingList && named[model.Thing{Kind: t.Kind, Name: t.Name, Mark: t.Mark}] > 1:
			o.Kept = "another one has the same name and tags, so that it may be a copy that somebody made"
		case t.Kind == model.ThingBound: // A user may have named it by its id: it is his then.
			o.Kept = "its address can't be had back; release it by hand if nobody needs it"
		case t.Kind == model.ThingGroup:
			o.Kept = nameOf(t.Name, clusterID, services)
		}
		orphans = append(orphans, o)
	}
	slices.SortFunc(orphans, func(a, b Orphan) int { return strings.Compare(a.LoadBalancer, b.LoadBalancer) })
	return orphans, living
}

// OnUsers returns what Services of the cluster that are gone have left on load balancers of users, one for each of these, ordered by id.
// Nothing of it is ever deleted: an earlier version, or the existing CCM, has left the like for a Service that asked for it, and didn't say
// so in the cloud. The Services must have been read after the load balancers.
func OnUsers(clusterID string, list []model.Observed, services []*corev1.Service) (orphans []Orphan) {
	for _, lb := range list {
		var left []string
		add := func(what, text string) {
			owner, made := ownership.MadeFor(text)
			if made && clusterID != "" && owner.ClusterID == clusterID && !ownership.IsKept(lb.Tags(), clusterID, text) &&
				nameOf(text, clusterID, services) == "" {
				left = append(left, what+" "+text)
			}
		}
		for _, l := range lb.Listeners {
			add("listener", l.Description())
		}
		for _, name := range slices.Sorted(maps.Values(lb.OtherGroups)) {
			add("server group", name)
		}
		if len(left) > 0 {
			orphans = append(orphans, Orphan{LoadBalancer: lb.InstanceID, Name: strings.Join(slices.Compact(left), ", "), Thing: model.ThingLeft,
				Kept: "it may have been kept there for a Service with preserve-lb-on-delete; delete it by hand if nobody needs it"})
		}
	}
	slices.SortFunc(orphans, func(a, b Orphan) int { return strings.Compare(a.LoadBalancer, b.LoadBalancer) })
	return orphans
}

// Has reports whether a Service asks for a load balancer, or may still have one: if it has ceased to ask for it, it
// holds the finalizer until it has given it up.
func Has(svc *corev1.Service, finalizer string) bool {
	return svc.Spec.Type == corev1.ServiceTypeLoadBalancer || slices.Contains(svc.Finalizers, finalizer)
}

// nameOf says that a name is that of a Service which is there; empty if it isn't.
func nameOf(name, clusterID string, services []*corev1.Service) string {
	for _, svc := range services {
		if (ownership.Owner{Service: svc.Name, Namespace: svc.Namespace, ClusterID: clusterID}).Owns(name) {
			return fmt.Sprintf("its name is that of Service %s/%s", svc.Namespace, svc.Name)
		}
	}
	return ""
}

// named says which Service refers to a load balancer that wasn't made for it; empty if none does.
func named(lb model.Observed, services []*corev1.Service) string {
	for _, svc := range services {
		id := lb.InstanceID
		shows := slices.ContainsFunc(svc.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool {
			return lb.Address() != "" && (i.IP == lb.Address() || i.Hostname == lb.Address())
		})
		if shows || annotation.Reused(svc.Annotations) == id || svc.Labels[ownership.LabelLoadBalancerID] == id ||
			ownership.ParseClaims(svc.Annotations[annotation.Claims]).Has(id) {
			return fmt.Sprintf("Service %s/%s names it or shows its address", svc.Namespace, svc.Name)
		}
	}
	return ""
}

// Doubt says why the lists prove nothing about the orphans; empty if they are plausible.
func Doubt(living int) string {
	if living == 0 {
		return "no load balancer of the cluster belongs to a Service that exists: the cluster id may be that of another cluster, or " +
			"the Services are not all there"
	}
	return ""
}

// InUse says why a load balancer that was read completely must stay, whatever the API server says; empty if nothing
// speaks for it. Nodes are the ids of the instances of the cluster.
func InUse(o model.Observed, clusterID string, nodes map[string]bool) string {
	if tags := o.Tags(); tags[ownership.TagCluster] != clusterID || tags[ownership.TagService] == "" || tags[ownership.TagReused] != "" {
		return "its tags have changed"
	}
	if !o.ConfigKnown || len(o.OtherGroups) > 0 {
		return "it could not be read completely"
	}
	ours := func(text string) bool {
		owner, made := ownership.MadeFor(text)
		return made && owner.ClusterID == clusterID
	}
	for _, l := range o.Listeners {
		if !ours(l.Description()) {
			return fmt.Sprintf("its listener on port %d was not made by this cluster", l.Key.Port)
		}
	}
	servers := 0
	for _, g := range o.Groups {
		servers += len(g.Servers)
		if !ours(g.Name) {
			return fmt.Sprintf("its server group %s was not made by this cluster", g.ID)
		}
		if id := stranger(g, nodes); id != "" {
			return fmt.Sprintf("its server group %s has server %s, which is no node of this cluster", g.ID, id)
		}
	}
	if servers == 0 {
		return "it has no server which proves that it isn't another cluster's with the same id"
	}
	return ""
}

// stranger is a server of a group that is no node of the cluster; empty for none.
func stranger(g model.Group, nodes map[string]bool) string {
	for _, s := range g.Servers {
		if s.Type != model.ECS || !nodes[s.ID] {
			return s.ID
		}
	}
	return ""
}

// GroupInUse says why a server group that bears the marks of the cluster must stay, though its Service is gone;
// empty if nothing speaks for it. One without a server serves nobody.
func GroupInUse(g model.Group, nodes map[string]bool) string {
	owner, made := ownership.MadeFor(g.Name)
	if id := stranger(g, nodes); id != "" {
		return fmt.Sprintf("it has server %s, which is no node of this cluster", id)
	}
	for _, s := range g.Servers {
		if by, ok := ownership.MadeFor(s.Description); !made || !ok || by != owner {
			return fmt.Sprintf("it has server %s, which was put there by hand", s.ID)
		}
	}
	return ""
}

// Policy says when orphans are deleted.
type Policy struct {
	// Grace is how long a load balancer must have been an orphan.
	Grace time.Duration
	// PerDay is how many are deleted in a day at most, and never more than half of the load balancers of the cluster.
	PerDay int
}

// State is what outlives a leader.
type State struct {
	// Since is when each orphan was first seen as one.
	Since map[string]time.Time `json:"since,omitempty"`
	// Deleted are the times of the deletions of late.
	Deleted []time.Time `json:"deleted,omitempty"`
}

// Decide returns the orphans whose deletion is due and inside the budget, of so many load balancers of the cluster in
// all, and the state after this look. What was no orphan this time begins anew.
func Decide(now time.Time, orphans []Orphan, living int, state State, p Policy) (due []Orphan, next State) {
	spend := p.budget()
	next = State{Since: map[string]time.Time{}, Deleted: spend.Within(now, state.Deleted)}
	left := spend.Left(now, living+len(orphans), next.Deleted)
	for _, o := range orphans {
		since, seen := state.Since[o.LoadBalancer]
		if !seen || since.After(now) {
			since = now
		}
		next.Since[o.LoadBalancer] = since
		if seen && o.Kept == "" && now.Sub(since) >= p.Grace && len(due) < left {
			due = append(due, o)
		}
	}
	return due, next
}

func (p Policy) budget() budget.Policy {
	return budget.Policy{Window: 24 * time.Hour, Minimum: p.PerDay}
} //nolint:mnd // A day.
