package ecs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// A rule is changed by its id in what the call names; without the id only its description is.
func TestModifySecurityGroupRule(t *testing.T) {
	t.Parallel()
	const modify, modifyEgress = "ModifySecurityGroupRule", "ModifySecurityGroupEgressRule"
	rule := func(more ...string) []string {
		return append([]string{"SecurityGroupId", "sg-1", "IpProtocol", "tcp", "PortRange", "80/80", "SourceCidrIp", "10.0.0.0/8"}, more...)
	}
	c := newGroupCaller(t)
	c.Must("AuthorizeSecurityGroup", rule()...)
	id := c.Cloud.SecurityGroups["sg-1"].Rules[0].ID
	byID := func(more ...string) []string {
		return append([]string{"SecurityGroupId", "sg-1", "SecurityGroupRuleId", id}, more...)
	}
	c.Must(modify, byID("PortRange", "443/443", "SourceGroupId", "sg-2", "Policy", "drop", "Priority", "7", "ClientToken", "t")...)
	c.Must(modify, byID("PortRange", "443/443", "SourceGroupId", "sg-2", "Policy", "drop", "Priority", "7", "ClientToken", "t")...)
	got := c.Cloud.SecurityGroups["sg-1"].Rules[0]
	want := state.SecurityRule{
		ID: id, Direction: "ingress", IPProtocol: "TCP", PortRange: "443/443", Policy: "Drop", Priority: "7",
		NicType: "intranet", GroupID: "sg-2",
		Created: got.Created,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rule (-want +got):\n%s", diff)
	}
	c.Must("AuthorizeSecurityGroup", rule()...)
	c.Must(modify, rule("Description", "web")...)
	if got := c.Cloud.SecurityGroups["sg-1"].Rules[1].Description; got != "web" {
		t.Errorf("description %q", got)
	}
	egress := []string{"SecurityGroupId", "sg-1", "IpProtocol", "udp", "PortRange", "53/53", "DestCidrIp", "10.0.0.0/8"}
	c.Must("AuthorizeSecurityGroupEgress", egress...)
	c.Must(modifyEgress, append(egress, "Description", "dns")...)

	authorized := func(c *apitest.Caller) {
		c.Must("AuthorizeSecurityGroup", rule()...)
		c.Must("AuthorizeSecurityGroup", rule("PortRange", "81/81")...)
		c.Cloud.SecurityGroups["sg-1"].Rules[0].ID = "sgr-1"
		c.Must("AuthorizeSecurityGroupEgress", egress...)
		c.Must("AuthorizeSecurityGroupEgress", append(egress, "PortRange", "54/54")...)
		c.Cloud.SecurityGroups["sg-1"].Rules[2].ID = "sgr-2"
	}
	tests := []refusal{
		{"exists", authorized, modify, []string{"SecurityGroupId", "sg-1", "SecurityGroupRuleId", "sgr-1", "PortRange",
			"81/81"}, "InvalidSecurityGroupRule.RuleExist"},
		{"exists", authorized, modifyEgress, []string{"SecurityGroupId", "sg-1", "SecurityGroupRuleId", "sgr-2", "PortRange",
			"54/54"}, "InvalidSecurityGroupRule.RuleExist"},
		{"other way", authorized, modifyEgress, []string{"SecurityGroupId", "sg-1", "SecurityGroupRuleId", "sgr-1"},
			"InvalidSecurityGroupRuleId.NotFound"},
		{"unknown", authorized, modify, []string{"SecurityGroupId", "sg-1", "SecurityGroupRuleId", "sgr-none"},
			"InvalidSecurityGroupRuleId.NotFound"},
		{"ports of the rule", authorized, modify, []string{"SecurityGroupId", "sg-1", "SecurityGroupRuleId", "sgr-1",
			"PortRange", "0"}, "InvalidPortRange.Malformed"},
	}
	for _, a := range []ruleAction{{modify, "AuthorizeSecurityGroup", "Source"}, {modifyEgress, "AuthorizeSecurityGroupEgress", "Dest"}} {
		tests = append(append(tests, a.refusals()...), refusal{"none", nil, a.name, a.params(), "InvalidSecurityGroupRule.RuleNotExist"})
	}
	testRefusals(t, tests)
}
