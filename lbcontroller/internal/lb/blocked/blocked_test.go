package blocked_test

import (
	"net/netip"
	"testing"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/blocked"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

func group(id string, rules ...*ecsv1.SecurityGroupRule) *ecsv1.SecurityGroup {
	return &ecsv1.SecurityGroup{SecurityGroupId: id, Rules: rules, RulesLoaded: true}
}

func accepts(port int32, cidr string) *ecsv1.SecurityGroupRule {
	return &ecsv1.SecurityGroupRule{Direction: ecsv1.Direction_DIRECTION_INGRESS, Policy: ecsv1.RulePolicy_RULE_POLICY_ACCEPT,
		Priority: 1, IpProtocol: "TCP", StartPort: port, EndPort: port, Cidr: cidr}
}

func instance(id string, port int32) blocked.Check {
	return blocked.Check{Server: model.ServerKey{Type: model.ECS, ID: id, Port: port}, Port: port}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	cloud := []netip.Prefix{netip.MustParsePrefix("100.64.0.0/10")}
	zones := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/24"), netip.MustParsePrefix("10.2.0.0/24")}
	many := []blocked.Check{}
	for port := range int32(6) {
		many = append(many, instance("i-1", 30001+port))
	}
	podOf := func(ip string) blocked.Check {
		return blocked.Check{Server: model.ServerKey{Type: model.ENI, ID: "eni-1", IP: ip, Port: 8080}, Port: 8080}
	}
	for name, tt := range map[string]struct {
		checks  []blocked.Check
		groups  blocked.Groups
		sources []netip.Prefix
		want    string
	}{
		"let in": {[]blocked.Check{instance("i-1", 30001)},
			blocked.Groups{"i-1": {group("sg-1", accepts(30001, "100.64.0.0/10"))}}, cloud, ""},
		"no rule": {[]blocked.Check{instance("i-1", 30001)}, blocked.Groups{"i-1": {group("sg-1")}}, cloud,
			"security group sg-1 of i-1 drops TCP to port 30001 from 100.64.0.0/10"},
		"another port is checked": {[]blocked.Check{{Server: instance("i-1", 30001).Server, Port: 10256}},
			blocked.Groups{"i-1": {group("sg-1", accepts(30001, "0.0.0.0/0"))}}, cloud,
			"security group sg-1 of i-1 drops TCP to port 10256 from 100.64.0.0/10"},
		"two groups together": {[]blocked.Check{instance("i-1", 30001), instance("i-1", 30002)},
			blocked.Groups{"i-1": {group("sg-1", accepts(30001, "0.0.0.0/0")), group("sg-2", accepts(30002, "0.0.0.0/0"))}}, cloud, ""},
		"both drop": {[]blocked.Check{instance("i-1", 30003)}, blocked.Groups{"i-1": {group("sg-1"), group("sg-2")}}, cloud,
			"security group sg-1, sg-2 of i-1 drops TCP to port 30003 from 100.64.0.0/10"},
		"one of two zones": {[]blocked.Check{instance("i-1", 30001)},
			blocked.Groups{"i-1": {group("sg-1", accepts(30001, "10.1.0.0/16"))}}, zones,
			"security group sg-1 of i-1 drops TCP to port 30001 from 10.2.0.0/24"},
		"several servers": {[]blocked.Check{instance("i-2", 30001), instance("i-1", 30001), instance("i-3", 30001)},
			blocked.Groups{"i-1": {group("sg-1")}, "i-2": {group("sg-1")}, "i-3": {group("sg-3")}}, cloud,
			"security group sg-1 of 2 servers, such as i-1, drops TCP to port 30001 from 100.64.0.0/10; " +
				"security group sg-3 of i-3 drops TCP to port 30001 from 100.64.0.0/10"},
		"many ports": {many, blocked.Groups{"i-1": {group("sg-1")}}, cloud,
			"security group sg-1 of i-1 drops TCP to port 30001 from 100.64.0.0/10; " +
				"security group sg-1 of i-1 drops TCP to port 30002 from 100.64.0.0/10; " +
				"security group sg-1 of i-1 drops TCP to port 30003 from 100.64.0.0/10; " +
				"security group sg-1 of i-1 drops TCP to port 30004 from 100.64.0.0/10; 2 more"},
		"a pod": {[]blocked.Check{podOf("10.9.0.1")}, blocked.Groups{"eni-1": {group("sg-1")}}, zones[:1],
			"security group sg-1 of eni-1 drops TCP to port 8080 from 10.1.0.0/24"},
		"IPv6":                 {[]blocked.Check{podOf("2001:db8::1")}, blocked.Groups{"eni-1": {group("sg-1")}}, zones, ""},
		"groups aren't known":  {[]blocked.Check{instance("i-1", 30001)}, nil, cloud, ""},
		"sources aren't known": {[]blocked.Check{instance("i-1", 30001)}, blocked.Groups{"i-1": {group("sg-1")}}, nil, ""},
		"a range of ports":     {[]blocked.Check{instance("i-1", 0)}, blocked.Groups{"i-1": {group("sg-1")}}, cloud, ""},
	} {
		if got := blocked.Text(blocked.Missing(tt.checks, tt.groups, tt.sources)); got != tt.want {
			t.Errorf("%s:\n%q, want\n%q", name, got, tt.want)
		}
	}
}
