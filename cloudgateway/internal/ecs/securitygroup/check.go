package securitygroup

import (
	"fmt"
	"strings"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of requests beyond those in the protocol.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *ecsv1.CreateSecurityGroupRequest) { checkRules(c, "rules", r.GetRules()) }),
		check.Of(func(c *check.Request, r *ecsv1.UpdateSecurityGroupRequest) {
			checkRules(c, "add_rules", r.GetAddRules())
			checkRules(c, "remove_rules", r.GetRemoveRules())
		}),
	}
}

func checkRules(c *check.Request, field string, rules []*ecsv1.SecurityGroupRule) {
	for i, r := range rules {
		at := fmt.Sprintf("%s[%d]", field, i)
		ported := r.GetIpProtocol() == "TCP" || r.GetIpProtocol() == "UDP"
		switch {
		case ported && r.GetStartPort() == 0:
			c.Addf(at+".start_port", "is required for %s", r.GetIpProtocol())
		case !ported && r.GetStartPort() != 0:
			c.Addf(at+".start_port", "only TCP and UDP have ports")
		case r.GetEndPort() < r.GetStartPort():
			c.Addf(at+".end_port", "must not be less than start_port")
		}
		six := strings.Contains(r.GetCidr(), ":")
		if r.GetCidr() != "" && (r.GetIpProtocol() == "ICMP" && six || r.GetIpProtocol() == "ICMPv6" && !six) {
			c.Addf(at+".cidr", "is not of the family of %s", r.GetIpProtocol())
		}
	}
}
