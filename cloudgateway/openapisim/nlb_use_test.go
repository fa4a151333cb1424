package openapisim_test

import (
	"slices"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// What a Network Load Balancer uses can't be deleted in other products while it does.
func TestNLBKeepsWhatItUses(t *testing.T) {
	t.Parallel()
	cloud := twoZones(1)
	cloud.SecurityGroups = map[string]*state.SecurityGroup{"sg-1": {VpcID: "vpc-1"}}
	cloud.UserCertificates = map[string]*state.UserCertificate{"default": {}, "additional": {}, "authority": {CA: true}}
	c := newClient(t, newCloud(t, openapisim.Config{Seed: cloud}))
	lb := c.must("nlb", "CreateLoadBalancer", append(newNLBParams(), "SecurityGroupIds.1", "sg-1")...)["LoadbalancerId"].(string)
	group := c.must("nlb", "CreateServerGroup", "VpcId", "vpc-1", "ServerGroupName", "group", "Protocol", "TCPSSL",
		"PreserveClientIpEnabled", "false")["ServerGroupId"].(string)
	listener := c.must("nlb", "CreateListener", "LoadBalancerId", lb, "ListenerProtocol", "TCPSSL", "ListenerPort", "443",
		"ServerGroupId", group, "CertificateIds.1", "default", "CaEnabled", "true", "CaCertificateIds.1", "authority")["ListenerId"].(string)
	c.must("nlb", "AssociateAdditionalCertificatesWithListener", "ListenerId", listener, "AdditionalCertificateIds.1", "additional")

	used := []struct {
		product, action, name, id, code string
	}{
		{"ecs", "DeleteSecurityGroup", "SecurityGroupId", "sg-1", "DependencyViolation"},
		{"vpc", "DeleteVSwitch", "VSwitchId", "vsw-2", "DependencyViolation"},
	}
	for _, u := range used {
		if _, code := c.call(u.product, u.action, u.name, u.id); code != u.code {
			t.Errorf("%s %s: got code %q, want %s", u.action, u.id, code, u.code)
		}
	}
	c.must("nlb", "DeleteLoadBalancer", "LoadBalancerId", lb)
	for _, u := range used {
		if _, code := c.call(u.product, u.action, u.name, u.id); code != "" {
			t.Errorf("%s %s without the load balancer: got code %q", u.action, u.id, code)
		}
	}
}

// Resources that name no resource group are in that of the account, which Resource Manager lists: a client that goes by its answer
// finds the resources of every product.
func TestResourceGroupOfTheAccount(t *testing.T) {
	t.Parallel()
	c := newClient(t, newCloud(t, openapisim.Config{Seed: twoZones(1)}))
	lb := c.must("slb", "CreateLoadBalancer", "InstanceChargeType", "PayByCLCU")["LoadBalancerId"].(string)
	nlb := c.must("nlb", "CreateLoadBalancer", newNLBParams()...)["LoadbalancerId"].(string)
	c.must("nlb", "CreateServerGroup", "VpcId", "vpc-1", "ServerGroupName", "group")
	groups := []any{
		at(t, c.must("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", lb), "ResourceGroupId"),
		at(t, c.must("nlb", "GetLoadBalancerAttribute", "LoadBalancerId", nlb), "ResourceGroupId"),
		at(t, c.must("nlb", "ListServerGroups"), "ServerGroups", 0, "ResourceGroupId"),
	}
	listed := at(t, c.must("resourcemanager", "ListResourceGroups", "Name", "default"), "ResourceGroups", "ResourceGroup", 0, "Id")
	if slices.ContainsFunc(groups, func(g any) bool { return g != listed }) {
		t.Errorf("resources are in %v, Resource Manager lists %v", groups, listed)
	}
}
