// Package securitygroup serves SecurityGroupService: security groups and their rules.
package securitygroup

import (
	"context"
	"fmt"
	"slices"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/ecs"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// The cloud's limits (ECS API reference).
const (
	rulesPerCall = 100  // AuthorizeSecurityGroup, RevokeSecurityGroup
	rulesPerPage = 1000 // DescribeSecurityGroupAttribute
)

// kind describes security groups.
func (s *Service) kind() cloud.Kind[ecsv1.SecurityGroup] {
	return cloud.Kind[ecsv1.SecurityGroup]{
		Name: "security group", Cache: "securitygroups", NotFound: rpcerr.SecurityGroupNotFound, IDs: "security_group_ids",
		Listing: cloud.Listing[*ecsv1.SecurityGroup]{
			Action: "DescribeSecurityGroups", Items: "SecurityGroups.SecurityGroup", Decode: decode,
			ID: (*ecsv1.SecurityGroup).GetSecurityGroupId, MaxResults: ecs.ItemsPerCall,
		},
		Filters: map[string]cloud.Filter{
			"security_group_ids": cloud.JSONList("SecurityGroupIds", ecs.ItemsPerCall),
			"name":               cloud.Param("SecurityGroupName"),
			"type":               cloud.Param("SecurityGroupType").Lower(),
		},
		Read: s.describe,
	}
}

// Service implements ecsv1.SecurityGroupServiceServer.
type Service struct {
	ecsv1.UnimplementedSecurityGroupServiceServer

	api    cloud.API
	writes *write.Serial
	groups *cloud.Collection[ecsv1.SecurityGroup]
}

// New makes a Service.
func New(cfg ecs.Config) *Service {
	s := &Service{api: cfg.API(), writes: write.NewSerial(cfg.Locks)}
	s.groups = cloud.NewCollection(s.api, cfg.Shared, s.kind())
	s.writes.OnWrite(s.groups.Forget)
	return s
}

// Owner is how the scopes of callers see security groups.
func (s *Service) Owner() cloud.Owner { return s.groups }

// GetSecurityGroup reads one group with its rules.
func (s *Service) GetSecurityGroup(ctx context.Context, r *ecsv1.GetSecurityGroupRequest) (*ecsv1.GetSecurityGroupResponse, error) {
	found, err := s.groups.Get(ctx, r.GetSecurityGroupId(), r.GetMaxAge())
	return cloud.Answer(&ecsv1.GetSecurityGroupResponse{SecurityGroup: found}, err)
}

// ListSecurityGroups reads every group that matches, ordered by id, without its rules.
func (s *Service) ListSecurityGroups(ctx context.Context, r *ecsv1.ListSecurityGroupsRequest) (*ecsv1.ListSecurityGroupsResponse, error) {
	found, err := s.groups.List(ctx, r)
	return cloud.Answer(&ecsv1.ListSecurityGroupsResponse{SecurityGroups: found}, err)
}

// describe reads one group with its rules now. The cloud tells its tags and its rules in different answers.
func (s *Service) describe(ctx context.Context, id string) (*ecsv1.SecurityGroup, error) {
	group, err := cloud.First(s.groups.Find(ctx, cloud.Params{}.JSONList("SecurityGroupIds", []string{id})))
	if err != nil || group == nil {
		return nil, err
	}
	group.Rules, err = s.rules(ctx, id)
	group.RulesLoaded = true
	return group, err
}

// rules reads the rules of a group now, in order.
func (s *Service) rules(ctx context.Context, id string) ([]*ecsv1.SecurityGroupRule, error) {
	found, err := cloud.Listing[*ecsv1.SecurityGroupRule]{
		Action: "DescribeSecurityGroupAttribute", Items: "Permissions.Permission", Decode: decodeRule, MaxResults: rulesPerPage,
	}.All(ctx, s.api, cloud.Params{"SecurityGroupId": id})
	slices.SortFunc(found, compare)
	return found, err
}

// CreateSecurityGroup makes a group with its rules. A repetition of a request that failed half-way goes on with its group.
func (s *Service) CreateSecurityGroup(ctx context.Context,
	r *ecsv1.CreateSecurityGroupRequest) (*ecsv1.CreateSecurityGroupResponse, error) {
	defer s.groups.ForgetLists()
	params := cloud.Tags(cloud.Params{"ClientToken": write.Token(ctx, "ecs/CreateSecurityGroup", r.GetRequestId(), "")}, r.GetTags()).
		With("SecurityGroupName", r.GetName()).
		With("Description", r.GetDescription()).
		With("VpcId", r.GetVpcId()).
		With("SecurityGroupType", typeWord(r.GetType())).
		With("ResourceGroupId", r.GetResourceGroupId())
	id := ""
	if err := s.api.Set(ctx, "CreateSecurityGroup", params, &cloud.Fields{"SecurityGroupId": cloud.Required(&id)}); err != nil {
		return nil, err
	}
	if err := s.writes.Do(ctx, id, func(ctx context.Context) error { return s.authorize(ctx, id, r.GetRules()) }); err != nil {
		return nil, fmt.Errorf("add rules to the new security group %s: %w", id, err)
	}
	return &ecsv1.CreateSecurityGroupResponse{SecurityGroupId: id}, nil
}

// UpdateSecurityGroup changes what is present in the request.
func (s *Service) UpdateSecurityGroup(ctx context.Context,
	r *ecsv1.UpdateSecurityGroupRequest) (*ecsv1.UpdateSecurityGroupResponse, error) {
	id := r.GetSecurityGroupId()
	err := s.writes.Do(ctx, id, func(ctx context.Context) error {
		attributes := cloud.Params{}.With("SecurityGroupName", r.GetName()).With("Description", r.GetDescription())
		if err := s.api.SetAll(ctx, ecs.Attributes("ModifySecurityGroupAttribute", "SecurityGroupId", id, attributes)); err != nil {
			return err
		}
		if err := s.authorize(ctx, id, r.GetAddRules()); err != nil {
			return err
		}
		if err := s.revoke(ctx, id, r.GetRemoveRules()); err != nil {
			return err
		}
		return s.api.ChangeTags(ctx, "securitygroup", id, rpcerr.SecurityGroupNotFound, r.GetSetTags(), r.GetRemoveTagKeys())
	})
	return cloud.Answer(&ecsv1.UpdateSecurityGroupResponse{}, err)
}

// authorize adds rules. To the cloud, one that is there is a success.
func (s *Service) authorize(ctx context.Context, id string, rules []*ecsv1.SecurityGroupRule) error {
	for _, direction := range directions() {
		for some := range slices.Chunk(direction.of(rules), rulesPerCall) {
			params := direction.params(some)
			if err := s.api.Set(ctx, "AuthorizeSecurityGroup"+direction.suffix, params.With("SecurityGroupId", id), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// revoke removes rules, by their ids. The cloud refuses a call in which one of them is unknown: what is there then is read again.
func (s *Service) revoke(ctx context.Context, id string, rules []*ecsv1.SecurityGroupRule) error {
	if len(rules) == 0 {
		return nil
	}
	unwanted := map[key]bool{}
	for _, r := range rules {
		unwanted[keyOf(r)] = true
	}
	gone := func(err error) bool { return rpcerr.ReasonOf(err) == rpcerr.NotFoundReason }
	return cloud.Retry(ctx, gone, func(ctx context.Context) error {
		there, err := s.rules(ctx, id)
		if err != nil {
			return err
		}
		there = slices.DeleteFunc(there, func(r *ecsv1.SecurityGroupRule) bool { return !unwanted[keyOf(r)] })
		for _, direction := range directions() {
			for some := range slices.Chunk(direction.of(there), rulesPerCall) {
				params := cloud.Params{"SecurityGroupId": id}.List("SecurityGroupRuleId", ids(some))
				if err := s.api.Set(ctx, "RevokeSecurityGroup"+direction.suffix, params, nil); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// DeleteSecurityGroup deletes a group.
func (s *Service) DeleteSecurityGroup(ctx context.Context,
	r *ecsv1.DeleteSecurityGroupRequest) (*ecsv1.DeleteSecurityGroupResponse, error) {
	id := r.GetSecurityGroupId()
	err := s.writes.Do(ctx, id, func(ctx context.Context) error {
		return s.api.Set(ctx, "DeleteSecurityGroup", cloud.Params{"SecurityGroupId": id}, nil)
	})
	return cloud.Answer(&ecsv1.DeleteSecurityGroupResponse{}, cloud.Unless(err, rpcerr.SecurityGroupNotFound))
}
