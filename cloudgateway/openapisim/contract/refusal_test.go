package contract

import (
	"net/url"
)

func unknownThings(c *cloud) {
	for _, tt := range []struct{ want, product, action, name, value string }{
		{"InvalidLoadBalancerId.NotFound", "slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", "lb-unknown"},
		{"InvalidLoadBalancerId.NotFound", "slb", "DescribeVServerGroups", "LoadBalancerId", "lb-unknown"},
		{"InvalidParameter", "slb", "DescribeVServerGroupAttribute", "VServerGroupId", "rsp-unknown"},
		{"AclNotExist", "slb", "DeleteAccessControlList", "AclId", "acl-unknown"},
		{"InvalidRuleId.NotFound", "slb", "DescribeRuleAttribute", "RuleId", "rule-unknown"},
		{"InvalidAllocationId.NotFound", "vpc", "ReleaseEipAddress", "AllocationId", "eip-unknown"},
		{"InvalidRegionId.NotFound", "ecs", "DescribeInstances", "RegionId", "cn-nowhere"},
	} {
		c.refused(tt.want, tt.product, tt.action, tt.name, tt.value)
	}
}

func malformed(c *cloud) {
	c.refused("InvalidAction.NotFound", "slb", "DescribeElephants")
	c.refused("MissingParameter", "slb", "DescribeLoadBalancerAttribute")
	balancer := c.newBalancer()
	c.refused("InvalidParameter", "slb", "CreateLoadBalancerTCPListener", "LoadBalancerId", balancer, "ListenerPort", "80",
		"Bandwidth", "-1", "BackendServerPort", "80", "healthCheckInterval", "1000")
	c.refused("ResourceNotFound.Listener", "slb", "StartLoadBalancerListener", "LoadBalancerId", balancer, "ListenerPort", "80")
}

func signature(c *cloud) {
	wrong := c.config
	wrong.secret += "x"
	balancer := c.newBalancer()
	c.want(c.must("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", balancer), "DeleteProtection", "off")
	impostor := newCloud(c.t, wrong)
	impostor.refused("SignatureDoesNotMatch", "slb", "SetLoadBalancerDeleteProtection", "LoadBalancerId", balancer, "DeleteProtection", "on")
	c.want(c.must("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", balancer), "DeleteProtection", "off")

	wrong.keyID = "LTAI5tUnknown00000000000"
	newCloud(c.t, wrong).refused("InvalidAccessKeyId.NotFound", "slb", "DescribeRegions")
}

// replay sends the same signed request twice.
func replay(c *cloud) {
	r := c.request("slb", "DescribeRegions")
	r.TransToAcsRequest()
	if err := c.client.BuildRequestWithSigner(r, nil); err != nil {
		c.t.Fatal(err)
	}
	signed, err := url.Parse(r.BuildUrl())
	if err != nil {
		c.t.Fatal(err)
	}
	c.want(c.post("slb", signed.Query()), "Code", "")
	c.want(c.post("slb", signed.Query()), "Code", "SignatureNonceUsed")
}
