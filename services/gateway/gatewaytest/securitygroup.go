package gatewaytest

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// securityGroups serves security groups.
type securityGroups struct {
	ecsv1.UnimplementedSecurityGroupServiceServer

	f *Fake
}

// securityGroup finds a group; f is locked.
func (f *Fake) securityGroup(id string) (*ecsv1.SecurityGroup, error) {
	if err := required("security_group_id", id); err != nil {
		return nil, err
	}
	g, ok := f.SecurityGroups[id]
	if !ok {
		return nil, notFound(rpcerr.SecurityGroupNotFound, "security group", id)
	}
	return g, nil
}

func (s *securityGroups) GetSecurityGroup(_ context.Context, req *ecsv1.GetSecurityGroupRequest) (*ecsv1.GetSecurityGroupResponse, error) {
	s.f.enter()
	defer s.f.leave()
	g, err := s.f.securityGroup(req.GetSecurityGroupId())
	if err != nil {
		return nil, err
	}
	g = proto.CloneOf(g)
	g.RulesLoaded = true
	return &ecsv1.GetSecurityGroupResponse{SecurityGroup: g}, nil
}

func (s *securityGroups) ListSecurityGroups(_ context.Context,
	req *ecsv1.ListSecurityGroupsRequest) (*ecsv1.ListSecurityGroupsResponse, error) {
	s.f.enter()
	defer s.f.leave()
	found := sorted(s.f.SecurityGroups, func(g *ecsv1.SecurityGroup) bool {
		return among(req.GetSecurityGroupIds(), g.GetSecurityGroupId()) && match(req.GetName(), g.GetName()) &&
			match(req.GetVpcId(), g.GetVpcId()) &&
			match(req.GetType(), g.GetType()) && match(req.GetResourceGroupId(), g.GetResourceGroupId()) && hasTags(g.GetTags(), req.GetTags())
	})
	for _, g := range found {
		g.Rules = nil
	}
	return &ecsv1.ListSecurityGroupsResponse{SecurityGroups: found}, nil
}

func (s *securityGroups) CreateSecurityGroup(_ context.Context,
	req *ecsv1.CreateSecurityGroupRequest) (*ecsv1.CreateSecurityGroupResponse, error) {
	s.f.enter()
	defer s.f.leave()
	earlier, err := s.f.replay(req.GetRequestId(), req)
	if err != nil {
		return nil, err
	}
	if response, ok := earlier.(*ecsv1.CreateSecurityGroupResponse); ok {
		return proto.CloneOf(response), nil
	}
	err = firstError(required("name", req.GetName()), required("vpc_id", req.GetVpcId()), tooManyTags(req.GetTags()),
		validRules("rules", req.GetRules()))
	if err != nil {
		return nil, err
	}
	g := &ecsv1.SecurityGroup{
		SecurityGroupId: s.f.nextID("sg"), Name: req.GetName(), Description: req.GetDescription(), VpcId: req.GetVpcId(),
		ResourceGroupId: req.GetResourceGroupId(),
		Type:            max(req.GetType(), ecsv1.SecurityGroupType_SECURITY_GROUP_TYPE_NORMAL), CreationTime: timestamppb.Now(),
		Tags: cloneAll(req.GetTags()),
	}
	s.f.addRules(g, req.GetRules())
	s.f.SecurityGroups[g.GetSecurityGroupId()] = g
	response := &ecsv1.CreateSecurityGroupResponse{SecurityGroupId: g.GetSecurityGroupId()}
	s.f.remember(req.GetRequestId(), req, response)
	return response, nil
}

// validRules checks what makes the cloud, or the gateway, refuse rules.
func validRules(field string, rules []*ecsv1.SecurityGroupRule) error {
	for _, r := range rules {
		ported := r.GetIpProtocol() == "TCP" || r.GetIpProtocol() == "UDP"
		switch {
		case r.GetDirection() == ecsv1.Direction_DIRECTION_UNSPECIFIED:
			return invalid(field+".direction", "is required")
		case r.GetPolicy() == ecsv1.RulePolicy_RULE_POLICY_UNSPECIFIED:
			return invalid(field+".policy", "is required")
		case r.GetPriority() < 1 || r.GetPriority() > 100:
			return invalid(field+".priority", "%d is not in 1 to 100", r.GetPriority())
		case r.GetIpProtocol() == "":
			return invalid(field+".ip_protocol", "is required")
		case ported != (r.GetStartPort() > 0) || r.GetEndPort() < r.GetStartPort():
			return invalid(field+".start_port", "%d to %d is no range for %s", r.GetStartPort(), r.GetEndPort(), r.GetIpProtocol())
		case r.GetCidr() == "" && r.GetPeerSecurityGroupId() == "" && r.GetPrefixListId() == "":
			return invalid(field+".cidr", "is required")
		}
	}
	return nil
}

// sameRule reports whether two rules are the same, ids and descriptions aside.
func sameRule(a, b *ecsv1.SecurityGroupRule) bool {
	b = proto.CloneOf(b)
	b.RuleId, b.Description = a.GetRuleId(), a.GetDescription()
	return proto.Equal(a, b)
}

// addRules adds the rules that a group does not have.
func (f *Fake) addRules(g *ecsv1.SecurityGroup, rules []*ecsv1.SecurityGroupRule) {
	for _, r := range rules {
		if !slices.ContainsFunc(g.GetRules(), func(there *ecsv1.SecurityGroupRule) bool { return sameRule(there, r) }) {
			r = proto.CloneOf(r)
			r.RuleId = f.nextID("sgr")
			g.Rules = append(g.Rules, r)
		}
	}
}

func (s *securityGroups) UpdateSecurityGroup(_ context.Context,
	req *ecsv1.UpdateSecurityGroupRequest) (*ecsv1.UpdateSecurityGroupResponse, error) {
	s.f.enter()
	defer s.f.leave()
	g, err := s.f.securityGroup(req.GetSecurityGroupId())
	if err := firstError(err, validRules("add_rules", req.GetAddRules()), validRules("remove_rules", req.GetRemoveRules())); err != nil {
		return nil, err
	}
	set(&g.Name, req.Name)
	set(&g.Description, req.Description)
	s.f.addRules(g, req.GetAddRules())
	g.Rules = slices.DeleteFunc(g.GetRules(), func(there *ecsv1.SecurityGroupRule) bool {
		return slices.ContainsFunc(req.GetRemoveRules(), func(r *ecsv1.SecurityGroupRule) bool { return sameRule(there, r) })
	})
	g.Tags = retagged(g.GetTags(), req)
	return &ecsv1.UpdateSecurityGroupResponse{}, nil
}

func (s *securityGroups) DeleteSecurityGroup(_ context.Context,
	req *ecsv1.DeleteSecurityGroupRequest) (*ecsv1.DeleteSecurityGroupResponse, error) {
	if err := required("security_group_id", req.GetSecurityGroupId()); err != nil {
		return nil, err
	}
	s.f.enter()
	defer s.f.leave()
	for id, lb := range s.f.NLB.LoadBalancers {
		if slices.Contains(lb.GetSecurityGroupIds(), req.GetSecurityGroupId()) {
			return nil, refused(rpcerr.ResourceInUse.Code(), rpcerr.ResourceInUse, "%s has the security group %s", id, req.GetSecurityGroupId())
		}
	}
	delete(s.f.SecurityGroups, req.GetSecurityGroupId())
	return &ecsv1.DeleteSecurityGroupResponse{}, nil
}
