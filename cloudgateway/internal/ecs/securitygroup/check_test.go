package securitygroup

import (
	"testing"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

func TestChecks(t *testing.T) {
	rule := func(protocol, cidr string, ports ...int32) *ecsv1.SecurityGroupRule {
		r := &ecsv1.SecurityGroupRule{Direction: 1, Policy: 1, Priority: 1, IpProtocol: protocol, Cidr: cidr}
		if len(ports) > 0 {
			r.StartPort, r.EndPort = ports[0], ports[1]
		}
		return r
	}
	create := func(rules ...*ecsv1.SecurityGroupRule) *ecsv1.CreateSecurityGroupRequest {
		return &ecsv1.CreateSecurityGroupRequest{RequestId: "r", Name: "web", VpcId: "vpc-1", Rules: rules}
	}
	checktest.Run(t, Checks(), []checktest.Case{
		{Name: "every protocol", Request: create(
			rule("TCP", "0.0.0.0/0", 80, 80), rule("UDP", "::/0", 1, 65535), rule("ICMP", "10.0.0.0/8"), rule("ICMPv6", "::/0"),
			rule("GRE", "10.0.0.0/8"),
			rule("ALL", "::/0"),
		)},
		{Name: "ports", Request: create(
			rule("TCP", "10.0.0.0/8"), rule("ALL", "10.0.0.0/8", 80, 80), rule("UDP", "10.0.0.0/8", 80, 79), rule("TCP", "10.0.0.0/8", 0, 80),
		), Want: []string{
			"rules[3].start_port: is required with end_port", "rules[0].start_port: is required for TCP",
			"rules[1].start_port: only TCP and UDP have ports",
			"rules[2].end_port: must not be less than start_port", "rules[3].start_port: is required for TCP",
		}},
		{Name: "families", Request: create(rule("ICMP", "::/0"), rule("ICMPv6", "10.0.0.0/8")), Want: []string{
			"rules[0].cidr: is not of the family of ICMP", "rules[1].cidr: is not of the family of ICMPv6",
		}},
		{Name: "the other side", Request: create(rule("ALL", "")), Want: []string{
			"rules[0].cidr: at least one of cidr, peer_security_group_id, prefix_list_id is required",
		}},
		{Name: "of nothing", Request: &ecsv1.UpdateSecurityGroupRequest{SecurityGroupId: "sg-1"}, Want: []string{
			"name: at least one of name, description, add_rules, remove_rules, set_tags, remove_tag_keys is required",
		}},
		{Name: "of rules", Request: &ecsv1.UpdateSecurityGroupRequest{
			SecurityGroupId: "sg-1", AddRules: create(rule("TCP", "10.0.0.0/8")).GetRules(),
			RemoveRules: create(rule("UDP", "10.0.0.0/8")).GetRules(),
		}, Want: []string{"add_rules[0].start_port: is required for TCP", "remove_rules[0].start_port: is required for UDP"}},
	})
}
