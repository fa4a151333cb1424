package scope

import (
	"context"
	"slices"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

// Passed is what a call changes that is passed on to the cloud as it is.
type Passed struct {
	// Of are the owners of what is changed.
	Of []Resource
	// Makes is the kind of what is created; empty: nothing is. It has the tags, and is in the vSwitch or VPC, if it is in one.
	Makes            Kind
	Tags             []*commonv1.Tag
	VpcID, VSwitchID string
}

// Keeps reports whether a scope keeps the caller to a part of the account.
func (g *Guard) Keeps(caller string) bool {
	for _, r := range g.rules {
		if r.names(caller) {
			return true
		}
	}
	return false
}

// Permit refuses a call that changes something outside of the scopes of its caller.
func (g *Guard) Permit(ctx context.Context, caller, verb string, p Passed) error {
	c := change{of: p.Of, passed: true}
	if p.Makes != "" {
		c.makes = &made{kind: p.Makes, tags: p.Tags, vpcID: p.VpcID, vswitchID: p.VSwitchID}
	}
	for _, r := range g.rules {
		if !r.names(caller) {
			continue
		}
		if err := g.permit(ctx, r, c, caller, verb); err != nil {
			return err
		}
	}
	return nil
}

// Forget drops what was seen of the resources of some products, since something was changed there that no handler
// knows. A network interface never moves, which is all that is kept of it.
func (g *Guard) Forget(products ...string) {
	if g.lastSeen == nil {
		return
	}
	of := func(r Resource) bool {
		return r.Kind == LoadBalancer && slices.Contains(products, "slb") ||
			(r.Kind == NLB || r.Kind == NLBServerGroup) && slices.Contains(products, "nlb")
	}
	g.lastSeen.ClearFunc(of)
	g.seen.ClearFunc(of)
}
