package reuse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// RetryMissing is how long it takes at most until a load balancer that a Service names and that doesn't exist is looked
// for again.
const RetryMissing = 5 * time.Minute

// Refusal is what isn't done until the Service changes.
type Refusal struct {
	// Text says what is wrong and what to do.
	Text string
	// Again is how long it takes at most until the controller looks again; 0 for as long as for anything that only a user can mend.
	Again time.Duration
	// Gone says that the load balancer whose address the Service publishes isn't there.
	Gone bool
}

// Error implements error.
func (r *Refusal) Error() string { return r.Text }

// Service is what of a Service decides about the load balancer that it may have.
type Service struct {
	Namespace, Name string
	// RecordedID is the load balancer that is noted on the Service.
	RecordedID string
	// Published are the addresses in its status, with "" for a host name.
	Published []string
	// Claims are noted on the Service.
	Claims ownership.Claims
	// ShowsBound reports that the Service publishes addresses that are bound to the load balancer instead of its own.
	ShowsBound bool
}

// Missing refuses a load balancer that doesn't exist among those of a kind. Others are what ids of other kinds begin
// with, each with what to say of it.
func Missing(id string, others map[string]string) *Refusal {
	for prefix, what := range others {
		if strings.HasPrefix(id, prefix) {
			return &Refusal{Text: "load balancer " + id + " " + what, Again: RetryMissing}
		}
	}
	return &Refusal{Text: fmt.Sprintf("there is no load balancer %s; correct annotation %s%s, or make the load balancer", id,
		annotation.Prefix, annotation.ID), Again: RetryMissing}
}

// Made refuses a load balancer that wasn't made by hand but for a Service or a cluster; nil for one that may be reused.
func Made(named model.Observed) *Refusal {
	key := madeTag(named)
	if key == "" {
		return nil
	}
	return &Refusal{Text: fmt.Sprintf("load balancer %s belongs to a cluster or a Service, as its tag %s says, and can't be reused; "+
		"name one that was made by hand in annotation %s%s", named.InstanceID, key, annotation.Prefix, annotation.ID)}
}

// Elsewhere refuses a load balancer of another resource group than the Service asks for, unless the Service has it
// already.
func Elsewhere(svc Service, want *model.Desired, named model.Observed) *Refusal {
	asked, group := want.Instance.ResourceGroup, ""
	if named.Instance != nil {
		group = named.Instance.GetResourceGroupId()
	}
	if asked == "" || asked == group || svc.RecordedID == named.InstanceID {
		return nil
	}
	return &Refusal{
		Text: fmt.Sprintf(
			"load balancer %s is in resource group %q, but annotation %s%s asks for %q, so it can't be reused; correct or remove the annotation",
			named.InstanceID, group, annotation.Prefix, annotation.ResourceGroupID, asked)}
}

// madeTag returns the tag of a load balancer that wasn't made by hand but for a Service or a cluster, or "".
func madeTag(observed model.Observed) string {
	for _, key := range []string{ownership.TagService, ownership.TagCluster} {
		if _, ok := observed.Tags()[key]; ok {
			return key
		}
	}
	return ""
}

// Taken refuses a load balancer to a Service that publishes another address: a Service must not change its address
// behind the back of its clients. own is the load balancer that was made for the Service, if there is one.
func Taken(svc Service, named, own model.Observed) *Refusal {
	if own.InstanceID != "" && len(svc.Published) > 0 {
		return &Refusal{Text: fmt.Sprintf("the Service has load balancer %s of its own; to move to load balancer %s, clear status.loadBalancer, "+
			"and load balancer %s is released: %s", own.InstanceID, named.InstanceID, own.InstanceID, svc.clearStatus())}
	}
	if svc.ShowsBound || len(svc.Published) == 0 || slices.Contains(svc.Published, "") || slices.Contains(svc.Published, named.Address()) {
		return nil
	}
	return &Refusal{Text: fmt.Sprintf("the Service publishes %s, which is not the address of load balancer %s; to move there, "+
		"clear status.loadBalancer: %s", strings.Join(svc.Published, ", "), named.InstanceID, svc.clearStatus())}
}

// Gone refuses another load balancer to a Service that publishes an address and has no load balancer: its own is gone, or what is noted on
// the Service was not made for it. It is nil for a Service that publishes none.
func Gone(svc Service, isGone bool) *Refusal {
	if len(svc.Published) == 0 {
		return nil
	}
	if on := svc.Claims; len(on) > 0 && (svc.RecordedID == "" || on.Has(svc.RecordedID)) {
		id := svc.RecordedID
		if id == "" {
			id = on[0].LoadBalancer
		}
		return &Refusal{Text: fmt.Sprintf("the Service publishes %s, and is on load balancer %s, which is yours and which "+
			"it names no more; name it again by annotation %s%s, or, to get a load balancer of its own, "+
			"clear status.loadBalancer: %s",
			strings.Join(svc.Published, ", "), id, annotation.Prefix, annotation.ID, svc.clearStatus())}
	}
	if svc.RecordedID == "" {
		return &Refusal{
			Text: fmt.Sprintf("no load balancer is known to be made for this Service, which publishes %s; to get one, clear status.loadBalancer: %s",
				strings.Join(svc.Published, ", "), svc.clearStatus())}
	}
	if !isGone {
		return &Refusal{Text: fmt.Sprintf("load balancer %s, which is noted on the Service, was not made for it, as far as its tags say; if it "+
			"is yours, name it by annotation %s%s; to get a new one, clear status.loadBalancer: %s", svc.RecordedID, annotation.Prefix,
			annotation.ID, svc.clearStatus())}
	}
	return &Refusal{Text: fmt.Sprintf("the load balancer %s of this Service is gone, and its address with it; "+
		"to get a new one, clear status.loadBalancer: %s", svc.RecordedID, svc.clearStatus()), Gone: true}
}

// InVain reports that a Service has nothing on a load balancer that it names or names no more: it was never given
// anything there, or the load balancer is its own, whatever is noted on the Service.
func InVain(uid string, claims ownership.Claims, observed model.Observed) bool {
	return madeTag(observed) != "" && !claims.Has(observed.InstanceID) || observed.Tags()[ownership.TagService] == ownership.DefaultName(uid)
}

func (s Service) clearStatus() string {
	return fmt.Sprintf(
		`kubectl -n %s patch service %s --subresource=status --type=merge -p '{"status":{"loadBalancer":null}}'`, s.Namespace, s.Name)
}

// Claim is what there will be of the Service on the load balancer that it names.
func Claim(want *model.Desired) ownership.Claims {
	if want.Reuse.ID == "" {
		return nil
	}
	claim := ownership.Claim{LoadBalancer: want.Reuse.ID, Listeners: want.Reuse.Listeners}
	for _, g := range want.Groups {
		if g.ID != "" {
			claim.Groups = append(claim.Groups, g.ID)
		}
	}
	return ownership.Claims{}.With(claim)
}

// Kept is the claim as the load balancer is now: groups that were filled before may still have servers of the Service,
// if its ports are frozen.
func Kept(want *model.Desired, observed model.Observed) ownership.Claims {
	claims := Claim(want)
	for _, g := range observed.Groups {
		mine := slices.ContainsFunc(g.Servers, func(s model.Server) bool { return want.Owner.Owns(s.Description) })
		if len(claims) > 0 && mine && !want.Owner.Owns(g.Name) {
			claims = claims.With(ownership.Claim{LoadBalancer: observed.InstanceID, Groups: []string{g.ID}})
		}
	}
	return claims
}

// Remains names what bears the owner's mark.
func Remains(owner ownership.Owner, observed model.Observed) string {
	var names []string
	for _, g := range observed.Groups {
		if owner.Owns(g.Name) {
			names = append(names, "server group "+g.Name)
		}
	}
	for _, l := range observed.Listeners {
		if owner.Owns(l.Description()) {
			names = append(names, "listener "+l.Description())
		}
	}
	return strings.Join(names, ", ")
}

// Anywhere are the wanted server groups of a Service that is refused to move between its own load balancer and one that
// it names: it has either those that it wants there or own, which it would have on one of its own. It returns nil if
// nothing says where the Service is.
func Anywhere(want *model.Desired, own []model.Group, claims ownership.Claims) *model.Desired {
	stay := *want
	if want.Reuse.ID == "" {
		if len(claims) == 0 {
			return nil
		}
		return &stay
	}
	stay.Groups = slices.Clone(want.Groups)
	for _, g := range own {
		if !slices.ContainsFunc(stay.Groups, func(have model.Group) bool { return have.Name == g.Name }) {
			stay.Groups = append(stay.Groups, g)
		}
	}
	return &stay
}

// WithFilled adds the user's server groups that were filled where the Service is and that it names no more. The
// descriptions of their servers show for which port. If there are none, the claims show that a group is filled, and the
// port is the only one, or the one that annotation vgroup-port still maps to the group. The weight they share with
// others may have gone with the annotations, so it is that of a server there.
func WithFilled(want *model.Desired, claims ownership.Claims, observed model.Observed) *model.Desired {
	d := *want
	d.Groups = slices.Clone(want.Groups)
	ports := slices.DeleteFunc(slices.Clone(want.Groups), func(g model.Group) bool { return !d.Owner.Owns(g.Name) })
	claimed := claims.Of(observed.InstanceID).Groups
	for _, g := range observed.Groups {
		if d.Owner.Owns(g.Name) || slices.ContainsFunc(d.Groups, func(want model.Group) bool { return want.ID == g.ID }) {
			continue
		}
		i := slices.IndexFunc(g.Servers, func(s model.Server) bool { return d.Owner.Owns(s.Description) })
		for _, like := range ports {
			isFor := len(ports) == 1 || d.Mapped[g.ID] == like.Name
			switch filled := isFor && !g.BuiltIn && slices.Contains(claimed, g.ID); {
			case i >= 0 && like.Name != g.Servers[i].Description, i < 0 && !filled:
				continue
			case i < 0:
				i = slices.IndexFunc(g.Servers, func(s model.Server) bool { _, made := ownership.MadeFor(s.Description); return made })
			}
			like.ID, like.Name, like.KeepWeights, like.Servers = g.ID, g.ID, true, slices.Clone(like.Servers)
			for n := range like.Servers {
				if i >= 0 {
					like.Servers[n].Weight = g.Servers[i].Weight
				}
			}
			d.Groups = append(d.Groups, like)
		}
	}
	return &d
}
