package ownership

import (
	"cmp"
	"slices"
	"strings"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// listenersClaimed stands in the note of claims where the ids of server groups do.
const listenersClaimed = "listeners"

// Claim is where on a user's load balancer there may be something of a Service, beside server groups that bear its
// name.
type Claim struct {
	// LoadBalancer is the id of the load balancer.
	LoadBalancer string
	// Listeners says that its listeners were managed, so that those of the Service go with it.
	Listeners bool
	// Groups are the ids of the user's server groups that were filled, ordered.
	Groups []string
}

// Claims are those of one Service, ordered by load balancer.
type Claims []Claim

// ParseClaims reads what String writes, and skips what it doesn't understand: a user may have edited it.
func ParseClaims(note string) Claims {
	var claims Claims
	for item := range strings.SplitSeq(note, ",") {
		id, part, parted := strings.Cut(strings.TrimSpace(item), "/")
		if !annotation.IsID(id) || parted && !annotation.IsID(part) {
			continue
		}
		claim := Claim{LoadBalancer: id, Listeners: part == listenersClaimed}
		if part != "" && !claim.Listeners {
			claim.Groups = []string{part}
		}
		claims = claims.With(claim)
	}
	return claims
}

// String is short enough for an annotation.
func (c Claims) String() string {
	var items []string
	for _, claim := range c {
		items = append(items, claim.LoadBalancer)
		if claim.Listeners {
			items = append(items, claim.LoadBalancer+"/"+listenersClaimed)
		}
		for _, group := range claim.Groups {
			items = append(items, claim.LoadBalancer+"/"+group)
		}
	}
	return strings.Join(items, ",")
}

// Of returns the claim on a load balancer, which is empty if there is none.
func (c Claims) Of(id string) Claim {
	for _, claim := range c {
		if claim.LoadBalancer == id {
			return claim
		}
	}
	return Claim{LoadBalancer: id}
}

// Has reports whether there is a claim on a load balancer.
func (c Claims) Has(id string) bool {
	return slices.ContainsFunc(c, func(claim Claim) bool { return claim.LoadBalancer == id })
}

// Without returns the claims on other load balancers.
func (c Claims) Without(id string) Claims {
	return slices.DeleteFunc(slices.Clone(c), func(claim Claim) bool { return claim.LoadBalancer == id })
}

// With returns the claims and one more, which adds to one on the same load balancer.
func (c Claims) With(claim Claim) Claims {
	old := c.Of(claim.LoadBalancer)
	groups := slices.Sorted(slices.Values(slices.Concat(old.Groups, claim.Groups)))
	all := append(c.Without(claim.LoadBalancer), Claim{
		LoadBalancer: claim.LoadBalancer, Listeners: old.Listeners || claim.Listeners, Groups: slices.Compact(groups),
	})
	slices.SortFunc(all, func(a, b Claim) int { return cmp.Compare(a.LoadBalancer, b.LoadBalancer) })
	return all
}
