package groupbinding

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

// Looker reads what a binding has to know of its server group: the engine takes what a Service names for granted.
type Looker struct {
	Gateway *gateway.Client
	// VPCID is that of nodes and pods; empty if it isn't known.
	VPCID string
}

// candidate is a server group or a load balancer, as the cloud describes it.
type candidate struct {
	Group
	vpc      string
	tags     []*commonv1.Tag
	allPorts bool
}

// Look finds the server group that is named, or says why it can't be filled. With an error neither is known.
func (l Looker) Look(ctx context.Context, named ServerGroup) (Group, shadow.Verdict, error) {
	lb, err := l.balancer(ctx, named)
	if rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound {
		return Group{}, shadow.Refuse(ReasonLoadBalancerNotFound, "there is no %s %s; correct "+
			"spec.serverGroup.loadBalancerID, or make the load balancer", named.Kind, named.LoadBalancerID), nil
	}
	if err != nil {
		return Group{}, shadow.Verdict{}, fmt.Errorf("read %s %s: %w", named.Kind, named.LoadBalancerID, err)
	}
	if refused := l.refused(named.Kind+" "+named.LoadBalancerID, lb); refused.Reason != "" {
		return Group{}, refused, nil
	}
	list, err := l.groups(ctx, named)
	if err != nil {
		return Group{}, shadow.Verdict{}, fmt.Errorf("list the server groups: %w", err)
	}
	if len(list) == 0 {
		return Group{}, shadow.Refuse(ReasonServerGroupNotFound, "%s", named.notFound()), nil
	}
	if len(list) > 1 {
		var ids []string
		for _, g := range list {
			ids = append(ids, g.ID)
		}
		slices.Sort(ids)
		return Group{}, shadow.Refuse(ReasonAmbiguous,
			"%d server groups have the name %s: %s; name one by spec.serverGroup.id", len(ids), named.Name, strings.Join(ids, ", ")), nil
	}
	found := list[0]
	if _, made := ownership.MadeFor(found.Name); made {
		found.tags = append(found.tags, &commonv1.Tag{Key: ownership.TagService})
	}
	if refused := l.refused("server group "+found.ID, found); refused.Reason != "" {
		return Group{}, refused, nil
	}
	if found.allPorts {
		return Group{}, shadow.Refuse(ReasonUnsupported, "server group %s is for all ports of a listener; name one whose "+
			"servers have a port", found.ID), nil
	}
	return found.Group, shadow.Verdict{}, nil
}

// notFound says that there is no such server group.
func (named ServerGroup) notFound() string {
	what := "with the id " + named.ID
	if named.ID == "" {
		what = "with the name " + named.Name
	}
	where := "of NLBs"
	if named.Kind == CLB {
		where = "of CLB " + named.LoadBalancerID
	}
	return fmt.Sprintf("there is no server group %s %s; correct spec.serverGroup, or make the server group", where, what)
}

// refused says why a load balancer or a server group isn't for bindings.
func (l Looker) refused(what string, c candidate) shadow.Verdict {
	for _, key := range []string{ownership.TagService, ownership.TagCluster} {
		if slices.ContainsFunc(c.tags, func(t *commonv1.Tag) bool { return t.GetKey() == key }) {
			return shadow.Refuse(ReasonBelongsToService,
				"%s was made for a Service or for a cluster; name one that was made by hand", what)
		}
	}
	if l.VPCID != "" && c.vpc != "" && c.vpc != l.VPCID {
		return shadow.Refuse(ReasonOtherVPC,
			"%s is in VPC %s, and the servers would be in VPC %s; name one of that VPC", what, c.vpc, l.VPCID)
	}
	return shadow.Verdict{}
}

func (l Looker) balancer(ctx context.Context, named ServerGroup) (candidate, error) {
	if named.Kind == CLB {
		answer, err := l.Gateway.LoadBalancers.GetLoadBalancer(ctx, &slbv1.GetLoadBalancerRequest{
			LoadBalancerId: named.LoadBalancerID, View: slbv1.View_VIEW_BASIC,
		})
		return candidate{vpc: answer.GetLoadBalancer().GetVpcId(), tags: answer.GetLoadBalancer().GetTags()}, err
	}
	answer, err := l.Gateway.NetworkLoadBalancers.GetLoadBalancer(ctx,
		&nlbv1.GetLoadBalancerRequest{LoadBalancerId: named.LoadBalancerID})
	return candidate{vpc: answer.GetLoadBalancer().GetVpcId(), tags: answer.GetLoadBalancer().GetTags()}, err
}

// groups are the server groups with the id or the name.
func (l Looker) groups(ctx context.Context, named ServerGroup) (list []candidate, err error) {
	isNamed := func(id, name string) bool { return id == named.ID || named.ID == "" && name == named.Name }
	if named.Kind == CLB {
		answer, err := l.Gateway.ServerGroups.ListServerGroups(ctx,
			&slbv1.ListServerGroupsRequest{LoadBalancerId: named.LoadBalancerID})
		for _, g := range answer.GetServerGroups() {
			if isNamed(g.GetServerGroupId(), g.GetName()) {
				list = append(list, candidate{Group: Group{ID: g.GetServerGroupId(), Name: g.GetName()}, tags: g.GetTags()})
			}
		}
		return list, err
	}
	request := &nlbv1.ListServerGroupsRequest{Names: []string{named.Name}}
	if named.ID != "" {
		request = &nlbv1.ListServerGroupsRequest{ServerGroupIds: []string{named.ID}}
	}
	answer, err := l.Gateway.NetworkServerGroups.ListServerGroups(ctx, request)
	for _, g := range answer.GetServerGroups() {
		if !isNamed(g.GetServerGroupId(), g.GetName()) {
			continue // A filter of the cloud is no proof.
		}
		protocol := cmp.Or(g.GetProtocol(), nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_TCP)
		list = append(list, candidate{
			Group: Group{
				ID: g.GetServerGroupId(), Name: g.GetName(),
				Protocol:  strings.ToLower(strings.TrimPrefix(protocol.String(), "SERVER_GROUP_PROTOCOL_")),
				Addresses: g.GetType() == nlbv1.ServerGroupType_SERVER_GROUP_TYPE_IP,
			},
			vpc: g.GetVpcId(), tags: g.GetTags(), allPorts: g.GetAnyPortEnabled(),
		})
	}
	return list, err
}
