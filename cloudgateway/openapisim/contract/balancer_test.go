package contract

import (
	"slices"
	"strings"
)

// newBalancer makes an internet load balancer that is deleted when the scenario ends.
func (c *cloud) newBalancer() string {
	c.t.Helper()
	id := c.must("slb", "CreateLoadBalancer", "LoadBalancerName", c.name(), "AddressType", "internet",
		"InternetChargeType", "paybytraffic", "InstanceChargeType", "PayByCLCU").get("LoadBalancerId")
	c.cleanUp("slb", "DeleteLoadBalancer", "LoadBalancerId", id)
	return id
}

func regions(c *cloud) {
	for _, product := range []string{"slb", "vpc", "ecs"} {
		got := c.must(product, "DescribeRegions")
		if all := got.texts("Regions.Region", "RegionId"); !slices.Contains(all, c.region) {
			c.t.Errorf("%s is in the regions %v, not in %s", product, all, c.region)
		}
		if c.must(product, "DescribeZones").get("Zones.Zone.0.ZoneId") == "" {
			c.t.Errorf("%s has no zones", product)
		}
	}
	if c.must("slb", "DescribeAvailableResource").get("AvailableResources.AvailableResource.0.MasterZoneId") == "" {
		c.t.Error("no available resource")
	}
}

func loadBalancer(c *cloud) {
	name := c.name()
	create := []string{
		"LoadBalancerName", name, "AddressType", "intranet", "VSwitchId", c.vswitchID, "VpcId", c.vpcID, "ClientToken", name,
		"InstanceChargeType", "PayByCLCU", "Tag.1.Key", "contract", "Tag.1.Value", name,
	}
	made := c.must("slb", "CreateLoadBalancer", create...)
	id := made.get("LoadBalancerId")
	c.cleanUp("slb", "DeleteLoadBalancer", "LoadBalancerId", id)
	c.want(c.must("slb", "CreateLoadBalancer", create...), "LoadBalancerId", id, "Address", made.get("Address"))
	c.wait("the load balancer is active", func() bool {
		return c.must("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", id).get("LoadBalancerStatus") == "active"
	})
	c.want(c.must("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", id),
		"LoadBalancerName", name, "AddressType", "intranet", "VSwitchId", c.vswitchID, "VpcId", c.vpcID, "Address", made.get("Address"),
		"NetworkType", "vpc", "InstanceChargeType", "PayByCLCU", "DeleteProtection", "off", "RegionId", c.region)

	c.must("slb", "SetLoadBalancerName", "LoadBalancerId", id, "LoadBalancerName", name+"-2")
	c.must("slb", "SetLoadBalancerStatus", "LoadBalancerId", id, "LoadBalancerStatus", "inactive")
	c.want(c.must("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", id), "LoadBalancerName", name+"-2",
		"LoadBalancerStatus", "inactive")
	c.must("slb", "SetLoadBalancerStatus", "LoadBalancerId", id, "LoadBalancerStatus", "active")

	c.must("slb", "DeleteLoadBalancer", "LoadBalancerId", id)
	c.refused("InvalidLoadBalancerId.NotFound", "slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", id)
}

func loadBalancers(c *cloud) {
	one, two := c.newBalancer(), c.newBalancer()
	tag := c.name()
	for _, id := range []string{one, two} {
		c.must("slb", "TagResources", "ResourceType", "instance", "ResourceId.1", id, "Tag.1.Key", "contract", "Tag.1.Value", tag)
	}
	const list = "LoadBalancers.LoadBalancer"
	c.wait("filters by tag see the load balancers", func() bool {
		return c.must("slb", "DescribeLoadBalancers", "Tag.1.Key", "contract", "Tag.1.Value", tag).len(list) == 2
	})
	byJSON := c.must("slb", "DescribeLoadBalancers", "Tags", `[{"TagKey":"contract","TagValue":"`+tag+`"}]`, "PageSize",
		"1", "PageNumber", "2")
	c.want(byJSON, "TotalCount", "2", "PageSize", "1", "PageNumber", "2")
	if n := byJSON.len(list); n != 1 {
		c.t.Errorf("%d load balancers on a page of one", n)
	}
	got := c.must("slb", "DescribeLoadBalancers", "LoadBalancerId", one+","+two).texts(list, "LoadBalancerId")
	if want := []string{min(one, two), max(one, two)}; !slices.Equal(got, want) {
		c.t.Errorf("load balancers %v, want %v", got, want)
	}
	if n := c.must("slb", "DescribeLoadBalancers", "LoadBalancerId", "lb-unknown").len(list); n != 0 {
		c.t.Errorf("%d load balancers with an unknown id", n)
	}
}

func protections(c *cloud) {
	id := c.newBalancer()
	c.must("slb", "SetLoadBalancerDeleteProtection", "LoadBalancerId", id, "DeleteProtection", "on")
	c.must("slb", "SetLoadBalancerModificationProtection", "LoadBalancerId", id,
		"ModificationProtectionStatus", "ConsoleProtection", "ModificationProtectionReason", "managed.by.ack")
	c.want(c.must("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", id), "DeleteProtection", "on",
		"ModificationProtectionStatus", "ConsoleProtection", "ModificationProtectionReason", "managed.by.ack")
	c.refused("OperationDenied.DeleteProtectionIsOn", "slb", "DeleteLoadBalancer", "LoadBalancerId", id)
	c.must("slb", "SetLoadBalancerDeleteProtection", "LoadBalancerId", id, "DeleteProtection", "off")
	c.must("slb", "SetLoadBalancerModificationProtection", "LoadBalancerId", id, "ModificationProtectionStatus", "NonProtection")
	c.want(c.must("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", id), "DeleteProtection", "off",
		"ModificationProtectionStatus", "NonProtection")
}

// specification shows that no new load balancer is charged by its specification, and that one that is charged by use can't be.
func specification(c *cloud) {
	id := c.newBalancer()
	c.refused("IllegalParam.InstanceChargeType", "slb", "CreateLoadBalancer", "LoadBalancerName", c.name(), "AddressType", "internet",
		"InstanceChargeType", "PayBySpec", "LoadBalancerSpec", "slb.s1.small")
	c.refused("OperationDenied.PayByCLCU", "slb", "ModifyLoadBalancerInstanceSpec", "LoadBalancerId", id, "LoadBalancerSpec", "slb.s2.small")
	c.refused("OperationDenied.PayByCLCU", "slb", "ModifyLoadBalancerInternetSpec", "LoadBalancerId", id,
		"InternetChargeType", "paybybandwidth",
		"Bandwidth", "5")
	c.must("slb", "ModifyLoadBalancerInternetSpec", "LoadBalancerId", id, "Bandwidth", "100")
	c.refused("Forbidden.LcuToSpec", "slb", "ModifyLoadBalancerInstanceChargeType", "LoadBalancerId", id, "InstanceChargeType", "PayBySpec")
}

// oldSpecification changes a load balancer from before 2025-06, which no account is sure to have.
func oldSpecification(c *cloud) {
	const id = "lb-old"
	shown := func() answer { return c.must("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", id) }
	c.must("slb", "ModifyLoadBalancerInstanceSpec", "LoadBalancerId", id, "LoadBalancerSpec", "slb.s2.small")
	c.want(shown(), "LoadBalancerSpec", "slb.s2.small", "InstanceChargeType", "PayBySpec", "InternetChargeType", "paybytraffic")
	c.must("slb", "ModifyLoadBalancerInternetSpec", "LoadBalancerId", id, "InternetChargeType", "paybybandwidth", "Bandwidth", "5")
	c.must("slb", "ModifyLoadBalancerInternetSpec", "LoadBalancerId", id, "InternetChargeType", "paybytraffic")
	c.must("slb", "ModifyLoadBalancerInstanceChargeType", "LoadBalancerId", id, "InstanceChargeType", "PayByCLCU")
	c.want(shown(), "InstanceChargeType", "PayByCLCU")
}

// subscription needs a cloud that sells subscriptions, as it did.
func subscription(c *cloud) {
	of := []string{"LoadBalancerId", "lb-by-use", "PayType", "PrePay", "PricingCycle", "month"}
	c.refused("InvalidParameter", "slb", "ModifyLoadBalancerPayType", append(of, "Duration", "10", "AutoPay", "true")...)
	c.must("slb", "ModifyLoadBalancerPayType", append(of, "Duration", "9", "AutoPay", "true")...)
	c.want(c.must("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", "lb-by-use"), "PayType", "PrePay")
	c.refused("InvalidChargeType", "slb", "DeleteLoadBalancer", "LoadBalancerId", "lb-by-use")
}

func resourceGroup(c *cloud) {
	id := c.newBalancer()
	c.must("slb", "MoveResourceGroup", "ResourceId", id, "ResourceType", "loadbalancer", "NewResourceGroupId", "rg-contract")
	c.want(c.must("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", id), "ResourceGroupId", "rg-contract")
}

func slbTags(c *cloud) {
	id := c.newBalancer()
	c.must("slb", "TagResources", "ResourceType", "instance", "ResourceId.1", id,
		"Tag.1.Key", "a", "Tag.1.Value", "1", "Tag.2.Key", "b", "Tag.2.Value", "2")
	c.must("slb", "TagResources", "ResourceType", "instance", "ResourceId.1", id, "Tag.1.Key", "a", "Tag.1.Value", "3")
	list := func() string {
		got := c.must("slb", "ListTagResources", "ResourceType", "instance", "ResourceId.1", id)
		const tags = "TagResources.TagResource"
		return strings.Join(got.texts(tags, "TagKey"), " ") + "=" + strings.Join(got.texts(tags, "TagValue"), " ")
	}
	if got := list(); got != "a b=2 3" {
		c.t.Errorf("tags %s, want a b=2 3", got)
	}
	c.must("slb", "UntagResources", "ResourceType", "instance", "ResourceId.1", id, "TagKey.1", "b")
	if got := list(); got != "a=3" {
		c.t.Errorf("tags %s, want a=3", got)
	}
}

func legacyTags(c *cloud) {
	id := c.newBalancer()
	key := c.name()
	tags := `[{"TagKey":"` + key + `","TagValue":"v"}]`
	c.must("slb", "AddTags", "LoadBalancerId", id, "Tags", tags)
	got := c.must("slb", "DescribeTags", "LoadBalancerId", id)
	c.want(got, "TagSets.TagSet.0.TagKey", key, "TagSets.TagSet.0.TagValue", "v", "TotalCount", "1")
	c.must("slb", "RemoveTags", "LoadBalancerId", id, "Tags", tags)
	if n := c.must("slb", "DescribeTags", "LoadBalancerId", id).len("TagSets.TagSet"); n != 0 {
		c.t.Errorf("%d tags left", n)
	}
}
