package writetest

import (
	"context"
	"fmt"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/gateway"
)

func securityGroupOperations() []Operation {
	return []Operation{
		{
			Name: "CreateSecurityGroup", Actions: []string{"CreateSecurityGroup", "AuthorizeSecurityGroup", "AuthorizeSecurityGroupEgress"},
			Prepare: nothing, Run: withSecurityGroup,
		},
		{
			Name: "UpdateSecurityGroup", Prepare: withSecurityGroup,
			Actions: []string{
				"ModifySecurityGroupAttribute", "AuthorizeSecurityGroup", "RevokeSecurityGroup", "RevokeSecurityGroupEgress",
				"TagResources", "UntagResources",
			},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.SecurityGroups.UpdateSecurityGroup(ctx, &ecsv1.UpdateSecurityGroupRequest{
					SecurityGroupId: s.sg, Name: new(s.Name + "-renamed"), Description: new("more"),
					AddRules: s.rulesIn(4, 5), RemoveRules: append(s.rulesIn(0, 2), s.ruleOut()),
					SetTags: []*commonv1.Tag{{Key: "more", Value: "1"}}, RemoveTagKeys: []string{"site"},
				})
				return err
			},
		},
		{
			Name: "DeleteSecurityGroup", Actions: []string{"DeleteSecurityGroup"}, Prepare: withSecurityGroup,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.SecurityGroups.DeleteSecurityGroup(ctx, &ecsv1.DeleteSecurityGroupRequest{SecurityGroupId: s.sg})
				return err
			},
		},
	}
}

func withSecurityGroup(ctx context.Context, c *gateway.Client, s *Site) error {
	answer, err := c.SecurityGroups.CreateSecurityGroup(ctx, &ecsv1.CreateSecurityGroupRequest{
		RequestId: s.Name, Name: "g" + s.Name, Description: "of " + s.Name, VpcId: s.vpc(), Rules: append(s.rulesIn(0, 3), s.ruleOut()),
		Tags: []*commonv1.Tag{{Key: "site", Value: s.Name}},
	})
	s.sg = answer.GetSecurityGroupId()
	return err
}

// rulesIn are rules of incoming traffic to some ports, of both families.
func (s *Site) rulesIn(first, count int) []*ecsv1.SecurityGroupRule {
	list := make([]*ecsv1.SecurityGroupRule, count)
	for i := range list {
		n := int32(first + i)
		list[i] = &ecsv1.SecurityGroupRule{
			Direction: ecsv1.Direction_DIRECTION_INGRESS, Policy: ecsv1.RulePolicy_RULE_POLICY_ACCEPT, Priority: 1 + n, IpProtocol: "TCP",
			StartPort: 80 + n, EndPort: 80 + n, Cidr: fmt.Sprintf("10.%d.0.0/16", n), Description: "of " + s.Name,
		}
		if n%2 == 1 {
			list[i].Cidr = "2408:4000::/32"
		}
	}
	return list
}

func (s *Site) ruleOut() *ecsv1.SecurityGroupRule {
	return &ecsv1.SecurityGroupRule{
		Direction: ecsv1.Direction_DIRECTION_EGRESS, Policy: ecsv1.RulePolicy_RULE_POLICY_DROP, Priority: 100,
		IpProtocol: "ALL", Cidr: "0.0.0.0/0",
		Description: "of " + s.Name,
	}
}
