package nlb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// typeOfOurs is the type of the security groups that are made for Services.
const typeOfOurs = ecsv1.SecurityGroupType_SECURITY_GROUP_TYPE_ENTERPRISE

// guardGroups are the security groups that an NLB is to have, of which that of the Service may have to be made; isAsked
// is false if it keeps those that it has.
func (p Product) guardGroups(d *model.Desired, o model.Observed) (groups []string, isAsked bool) {
	asked, _ := d.Instance.Asked.(Asked)
	groups = specOf(d).GetSecurityGroupIds()
	if d.Access == nil {
		return groups, asked.SecurityGroups
	}
	if !asked.SecurityGroups {
		groups = present(o).GetSecurityGroupIds()
	}
	ours := func(id string) bool { return isOurs(o, id) }
	if d.Access.IsOver() && (d.Reuse.ID != "" || !slices.ContainsFunc(groups, ours)) {
		return groups, asked.SecurityGroups
	}
	groups = slices.DeleteFunc(slices.Clone(groups), ours)
	if !d.Access.IsOver() {
		list, _ := o.List(p)
		groups = append(groups, list.ID)
	}
	slices.Sort(groups)
	return groups, true
}

// readGroups reads the security groups of an NLB that is to get others: the cloud lets it have those of one kind and of
// its VPC only. Who may not read them can name them all the same.
func (p Product) readGroups(ctx context.Context, found *model.Observed, want *model.Desired) error {
	lb := present(*found)
	groups, isAsked := p.guardGroups(want, *found)
	if lb == nil || !isAsked || len(groups) == 0 || sameIDs(groups, lb.GetSecurityGroupIds()) {
		return nil
	}
	ids := slices.Concat(groups, lb.GetSecurityGroupIds())
	list, err := p.securityGroups(ctx, slices.DeleteFunc(ids, func(id string) bool {
		return id == model.ComingList || isOurs(*found, id)
	}))
	if err != nil || len(list) == 0 {
		return err
	}
	found.Instance = Balancer{LoadBalancer: lb, SecurityGroups: list}
	return nil
}

// securityGroups reads security groups without their rules; none if that isn't allowed.
func (p Product) securityGroups(ctx context.Context, ids []string) ([]*ecsv1.SecurityGroup, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	answer, err := p.Gateway.SecurityGroups.ListSecurityGroups(ctx,
		&ecsv1.ListSecurityGroupsRequest{SecurityGroupIds: slices.Compact(ids)})
	if reason := rpcerr.ReasonOf(err); reason == rpcerr.CallerForbidden || reason == rpcerr.CloudForbidden {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at the security groups: %w", err)
	}
	return answer.GetSecurityGroups(), nil
}

// checkGroups refuses to make an NLB with security groups that it can't have. That of the Service is one that it can.
func (p Product) checkGroups(ctx context.Context, now model.Observed, a CreateInstance) error {
	ids := slices.DeleteFunc(slices.Clone(a.Spec.GetSecurityGroupIds()), func(id string) bool { return isOurs(now, id) })
	list, err := p.securityGroups(ctx, ids)
	if err != nil || len(list) == 0 {
		return err
	}
	why := wrongGroups(ids, nil, list, &nlbv1.LoadBalancer{VpcId: a.Spec.GetVpcId()})
	switch {
	case why == "":
		return nil
	case len(list) < len(ids):
		return rpcerr.Errorf(rpcerr.SecurityGroupNotFound, "%s", why)
	default:
		return rpcerr.Invalidf("security_group_ids", "%s", why)
	}
}

// unfit says, as text for users, why an NLB can't get the security groups that it is to have; empty if it can, as far
// as is known. Those that it is to lose count, as they go when the others are there: it is never without one.
func (p Product) unfit(d *model.Desired, o model.Observed) string {
	balancer, _ := o.Instance.(Balancer)
	groups, isAsked := p.guardGroups(d, o)
	if !isAsked || len(balancer.SecurityGroups) == 0 || sameIDs(groups, balancer.GetSecurityGroupIds()) {
		return ""
	}
	known := slices.Clone(balancer.SecurityGroups)
	for _, id := range slices.Concat(groups, balancer.GetSecurityGroupIds()) {
		if id == model.ComingList || isOurs(o, id) {
			known = append(known, &ecsv1.SecurityGroup{SecurityGroupId: id, VpcId: balancer.GetVpcId(), Type: typeOfOurs})
		}
	}
	var there, coming []*ecsv1.SecurityGroup
	for _, g := range known {
		if slices.Contains(balancer.GetSecurityGroupIds(), g.GetSecurityGroupId()) {
			there = append(there, g)
		} else {
			coming = append(coming, g)
		}
	}
	byField := d.Access != nil && !d.Access.IsOver()
	why := wrongGroups(groups, there, coming, balancer.LoadBalancer)
	switch {
	case why == "":
		return ""
	case byField:
		return fmt.Sprintf("%s can't restrict the access: %s by annotation %s in place of the field, or take those of the "+
			"NLB off in the console", annotation.SourceRanges, why, annotation.Prefix+annotation.SecurityGroupIDs)
	default:
		return fmt.Sprintf("%s is %q: %s", d.Instance.Noun(annotation.SecurityGroupIDs), strings.Join(groups, ","), why)
	}
}

// wrongGroups says what is wrong with security groups, and what would do: there are those that the NLB has, and coming
// those that it is to get, as far as they exist.
func wrongGroups(ids []string, there, coming []*ecsv1.SecurityGroup, lb *nlbv1.LoadBalancer) string {
	for _, id := range ids {
		isKnown := func(g *ecsv1.SecurityGroup) bool { return g.GetSecurityGroupId() == id }
		if !slices.ContainsFunc(slices.Concat(there, coming), isKnown) {
			return fmt.Sprintf("there is no security group %s; name groups of VPC %s", id, lb.GetVpcId())
		}
	}
	for _, g := range coming {
		if g.GetVpcId() != lb.GetVpcId() {
			return fmt.Sprintf("security group %s is in VPC %s and the NLB in %s; name groups of that VPC",
				g.GetSecurityGroupId(), g.GetVpcId(), lb.GetVpcId())
		}
	}
	for _, g := range coming {
		for _, other := range slices.Concat(there, coming) {
			if g.GetType() == other.GetType() {
				continue
			}
			what := "the one for it"
			if g.GetSecurityGroupId() != model.ComingList {
				what = "security group " + g.GetSecurityGroupId()
			}
			remedy := "name groups of one type"
			if len(there) > 0 {
				remedy = "name groups of type " + typeOf(there[0])
			}
			return fmt.Sprintf("the cloud lets an NLB have security groups of one type only, and %s is of type %s and %s of "+
				"type %s; %s", what, typeOf(g), other.GetSecurityGroupId(), typeOf(other), remedy)
		}
	}
	return ""
}

// typeOf is the type of a security group as the console and the cloud's API name it.
func typeOf(g *ecsv1.SecurityGroup) string {
	if g.GetType() == ecsv1.SecurityGroupType_SECURITY_GROUP_TYPE_ENTERPRISE {
		return "advanced (enterprise)"
	}
	return "basic (normal)"
}
