package contract

import "strconv"

// What nobody has seen the cloud do yet. These scenarios pass with either answer: the record tells which it was.

// schedulers asks for weighted least connections, which some documents have and others don't, and changes one scheduler to another.
func schedulers(c *cloud) {
	id := c.newBalancer()
	for i, scheduler := range []string{"wlc", "wrr", "sch"} {
		if _, code := c.call("slb", "CreateLoadBalancerTCPListener", "LoadBalancerId", id, "ListenerPort", strconv.Itoa(80+i), "Bandwidth", "-1",
			"BackendServerPort", "80", "Scheduler", scheduler); code != "" {
			c.t.Logf("the scheduler %s is refused: %s", scheduler, code)
		}
	}
	for _, next := range []string{"rr", "sch", "wlc"} {
		if _, code := c.call("slb", "SetLoadBalancerTCPListenerAttribute", "LoadBalancerId", id, "ListenerPort", "81",
			"Scheduler", next); code != "" {
			c.t.Logf("the change to the scheduler %s is refused: %s", next, code)
		}
		c.must("slb", "DescribeLoadBalancerTCPListenerAttribute", "LoadBalancerId", id, "ListenerPort", "81")
	}
}

// enumerations sends values in another case than the documents have, as the CCM does to NLB. The record tells how
// they read back.
func enumerations(c *cloud) {
	id := c.newNLBGroup("Protocol", "tcp", "Scheduler", "wrr", "ServerGroupType", "instance")
	c.must("nlb", "ListServerGroups", "ServerGroupIds.1", id)
	if _, code := c.call("slb", "SetLoadBalancerDeleteProtection", "LoadBalancerId", c.newBalancer(), "DeleteProtection", "OFF"); code != "" {
		c.t.Logf("OFF is refused: %s", code)
	}
	if _, code := c.call("vpc", "DescribeVpcs", "DhcpOptionsSetId", "", "IsDefault", "FALSE"); code != "" {
		c.t.Logf("FALSE is refused: %s", code)
	}
}

// nlbAddresses makes a load balancer with addresses of the internet that it doesn't bring, and looks whose they are.
func nlbAddresses(c *cloud) {
	id := c.newNLB("AddressType", "Internet")
	address := c.must("nlb", "GetLoadBalancerAttribute", "LoadBalancerId", id).get("ZoneMappings.0.LoadBalancerAddresses.0.PublicIPv4Address")
	c.must("vpc", "DescribeEipAddresses", "EipAddress", address)
}
