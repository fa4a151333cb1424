package contract

import (
	"slices"
	"strings"
)

// job makes a write of NLB and waits until its job has succeeded.
func (c *cloud) job(action string, params ...string) answer {
	c.t.Helper()
	got := c.must("nlb", action, params...)
	id := got.get("JobId")
	c.wait("the job of "+action+" has ended", func() bool {
		return c.must("nlb", "GetJobStatus", "JobId", id).get("Status") != "Processing"
	})
	if listed := c.must("nlb", "ListAsynJobs", "JobIds.1", id); listed.get("Jobs.0.Status") != "Succeeded" {
		c.t.Fatalf("%s: %s %s", action, listed.get("Jobs.0.ErrorCode"), listed.get("Jobs.0.ErrorMessage"))
	}
	return got
}

// zoneMappings are the parameters for the two vSwitches of the account.
func (c *cloud) zoneMappings() []string {
	c.t.Helper()
	if c.otherVSwitchID == "" {
		c.t.Skip("set CONTRACT_OTHER_VSWITCH to a vSwitch in another zone to run the scenarios of NLB")
	}
	var out []string
	for i, id := range []string{c.vswitchID, c.otherVSwitchID} {
		zone := c.must("vpc", "DescribeVSwitches", "VSwitchId", id).get("VSwitches.VSwitch.0.ZoneId")
		prefix := "ZoneMappings." + string(rune('1'+i)) + "."
		out = append(out, prefix+"ZoneId", zone, prefix+"VSwitchId", id)
	}
	return out
}

// newNLB makes an intranet load balancer in two zones and waits until it is active.
func (c *cloud) newNLB(params ...string) string {
	c.t.Helper()
	params = append(append([]string{"VpcId", c.vpcID, "LoadBalancerName", c.name(), "AddressType", "Intranet"},
		c.zoneMappings()...), params...)
	id := c.job("CreateLoadBalancer", params...).get("LoadbalancerId")
	c.cleanUp("nlb", "DeleteLoadBalancer", "LoadBalancerId", id)
	c.wait("the load balancer is active", func() bool {
		return c.must("nlb", "GetLoadBalancerAttribute", "LoadBalancerId", id).get("LoadBalancerStatus") == "Active"
	})
	return id
}

func (c *cloud) newNLBGroup(params ...string) string {
	c.t.Helper()
	id := c.job("CreateServerGroup", append([]string{"VpcId", c.vpcID, "ServerGroupName", c.name()}, params...)...).get("ServerGroupId")
	c.cleanUp("nlb", "DeleteServerGroup", "ServerGroupId", id)
	return id
}

// networkLoadBalancer makes a load balancer with a listener and a group, changes all of it, and removes it.
func networkLoadBalancer(c *cloud) {
	c.want(c.must("nlb", "DescribeRegions"), "Regions.0.RegionId", c.region)
	if c.must("nlb", "DescribeZones").len("Zones") < 2 {
		c.t.Error("there are fewer than two zones")
	}
	id := c.newNLB()
	of := []string{"LoadBalancerId", id}
	c.want(c.must("nlb", "ListLoadBalancers", "LoadBalancerIds.1", id), "TotalCount", "1", "LoadBalancers.0.LoadBalancerId", id,
		"LoadBalancers.0.LoadBalancerStatus", "Active", "LoadBalancers.0.ZoneMappings.1.VSwitchId", c.otherVSwitchID)
	c.job("UpdateLoadBalancerAttribute", append(slices.Clone(of), "CrossZoneEnabled", "false")...)
	c.want(c.must("nlb", "GetLoadBalancerAttribute", of...), "CrossZoneEnabled", "false", "VpcId", c.vpcID, "AddressIpVersion", "ipv4")
	c.must("nlb", "UpdateLoadBalancerProtection", append(slices.Clone(of), "DeletionProtectionEnabled", "true")...)
	c.refused("OperationDenied.DeletionProtectionEnabled", "nlb", "DeleteLoadBalancer", of...)
	c.must("nlb", "UpdateLoadBalancerProtection", append(slices.Clone(of), "DeletionProtectionEnabled", "false")...)
	c.refused("DryRunOperation", "nlb", "DeleteLoadBalancer", append(slices.Clone(of), "DryRun", "true")...)

	tagged := []string{"ResourceType", "loadbalancer", "ResourceId.1", id}
	c.must("nlb", "TagResources", append(slices.Clone(tagged), "Tag.1.Key", "contract", "Tag.1.Value", "v")...)
	c.want(c.must("nlb", "ListTagResources", tagged...), "TagResources.0.TagKey", "contract", "TagResources.0.TagValue", "v")
	c.must("nlb", "UntagResources", append(slices.Clone(tagged), "TagKey.1", "contract")...)

	group, listener := c.newNLBGroup(), ""
	c.nlbServers(group)
	listener = c.job("CreateListener", append(slices.Clone(of), "ListenerProtocol", "TCP", "ListenerPort", "80",
		"ServerGroupId", group)...).get("ListenerId")
	c.nlbListener(id, listener)
	c.refused("ResourceInUse.ServerGroup", "nlb", "DeleteServerGroup", "ServerGroupId", group)
	c.job("DeleteListener", "ListenerId", listener)
	c.job("DeleteServerGroup", "ServerGroupId", group)
	c.job("DeleteLoadBalancer", of...)
	c.refused("ResourceNotFound.loadBalancer", "nlb", "GetLoadBalancerAttribute", of...)
}

// nlbServers fills a group, changes it and takes one server out.
func (c *cloud) nlbServers(group string) {
	c.t.Helper()
	server := func(n int, more ...string) []string {
		return append([]string{"ServerGroupId", group, "Servers.1.ServerType", "Ecs", "Servers.1.ServerId", c.instances[n],
			"Servers.1.Port", "80"}, more...)
	}
	c.job("AddServersToServerGroup", server(0)...)
	c.job("AddServersToServerGroup", server(1)...)
	c.job("UpdateServerGroupServersAttribute", server(0, "Servers.1.Weight", "7")...)
	got := c.must("nlb", "ListServerGroupServers", "ServerGroupId", group, "ServerIds.1", c.instances[0])
	c.want(got, "TotalCount", "1", "Servers.0.Weight", "7", "Servers.0.Status", "Available", "Servers.0.ServerType", "Ecs")
	c.job("RemoveServersFromServerGroup", server(1)...)
	c.refused("ResourceNotFound.BackendServer", "nlb", "RemoveServersFromServerGroup", server(1)...)
	c.job("UpdateServerGroupAttribute", "ServerGroupId", group, "HealthCheckConfig.HealthCheckInterval", "10", "Scheduler", "rr")
	c.want(c.must("nlb", "ListServerGroups", "ServerGroupIds.1", group), "ServerGroups.0.HealthCheck.HealthCheckInterval", "10",
		"ServerGroups.0.Scheduler", "rr", "ServerGroups.0.ServerCount", "1", "ServerGroups.0.ServerGroupStatus", "Available")
}

// nlbListener reads, changes, stops and starts a listener.
func (c *cloud) nlbListener(balancer, listener string) {
	c.t.Helper()
	status := func() string {
		return c.must("nlb", "GetListenerAttribute", "ListenerId", listener).get("ListenerStatus")
	}
	if !strings.HasSuffix(listener, "@80") || status() != "Running" {
		c.t.Errorf("the new listener %s is %s", listener, status())
	}
	c.job("UpdateListenerAttribute", "ListenerId", listener, "IdleTimeout", "60", "ListenerDescription", "contract")
	c.want(c.must("nlb", "ListListeners", "LoadBalancerIds.1", balancer), "TotalCount", "1", "Listeners.0.IdleTimeout", "60",
		"Listeners.0.ListenerDescription", "contract", "Listeners.0.ListenerPort", "80")
	c.want(c.must("nlb", "GetListenerHealthStatus", "ListenerId", listener), "ListenerHealthStatus.0.ListenerId", listener)
	c.job("StopListener", "ListenerId", listener)
	if got := status(); got != "Stopped" {
		c.t.Errorf("the stopped listener is %s", got)
	}
	c.job("StartListener", "ListenerId", listener)
}

// nlbSecurity lets a load balancer join a security group and leave it, and makes a TLS policy.
func nlbSecurity(c *cloud) {
	id := c.newNLB()
	sg := c.must("ecs", "CreateSecurityGroup", "VpcId", c.vpcID, "SecurityGroupName", c.name()).get("SecurityGroupId")
	c.cleanUp("ecs", "DeleteSecurityGroup", "SecurityGroupId", sg)
	c.job("LoadBalancerJoinSecurityGroup", "LoadBalancerId", id, "SecurityGroupIds.1", sg)
	c.want(c.must("nlb", "GetLoadBalancerAttribute", "LoadBalancerId", id), "SecurityGroupIds.0", sg)
	c.job("LoadBalancerLeaveSecurityGroup", "LoadBalancerId", id, "SecurityGroupIds.1", sg)

	if c.must("nlb", "ListSystemSecurityPolicy").len("SecurityPolicies") == 0 {
		c.t.Error("there are no TLS policies of the system")
	}
	policy := c.job("CreateSecurityPolicy", "SecurityPolicyName", c.name(), "TlsVersions.1", "TLSv1.2",
		"Ciphers.1", "ECDHE-RSA-AES128-GCM-SHA256").get("SecurityPolicyId")
	c.cleanUp("nlb", "DeleteSecurityPolicy", "SecurityPolicyId", policy)
	c.job("UpdateSecurityPolicyAttribute", "SecurityPolicyId", policy, "SecurityPolicyName", "contract-other")
	c.want(c.must("nlb", "ListSecurityPolicy", "SecurityPolicyIds.1", policy), "SecurityPolicies.0.SecurityPolicyName", "contract-other",
		"SecurityPolicies.0.TlsVersion", "TLSv1.2")
	c.job("DeleteSecurityPolicy", "SecurityPolicyId", policy)
}

// nlbPlaces moves a load balancer between zones, address types and resource groups. It needs IPv6 and a bandwidth package.
func nlbPlaces(c *cloud) {
	id := c.newNLB("AddressIpVersion", "DualStack")
	of := []string{"LoadBalancerId", id}
	c.job("EnableLoadBalancerIpv6Internet", of...)
	c.want(c.must("nlb", "GetLoadBalancerAttribute", of...), "Ipv6AddressType", "Internet")
	c.job("DisableLoadBalancerIpv6Internet", of...)
	c.job("UpdateLoadBalancerAddressTypeConfig", append(append(slices.Clone(of), "AddressType", "Internet"), c.zoneMappings()...)...)
	c.job("AttachCommonBandwidthPackageToLoadBalancer", append(slices.Clone(of), "BandwidthPackageId", "cbwp-1")...)
	got := c.must("nlb", "GetLoadBalancerAttribute", of...)
	c.want(got, "AddressType", "Internet", "BandwidthPackageId", "cbwp-1")
	if got.get("ZoneMappings.0.LoadBalancerAddresses.0.PublicIPv4Address") == "" {
		c.t.Error("an internet load balancer without a public address")
	}
	c.job("DetachCommonBandwidthPackageFromLoadBalancer", append(slices.Clone(of), "BandwidthPackageId", "cbwp-1")...)
	first := append(slices.Clone(of), c.zoneMappings()[:4]...)
	c.job("StartShiftLoadBalancerZones", first...)
	c.want(c.must("nlb", "GetLoadBalancerAttribute", of...), "ZoneMappings.0.Status", "Shifted")
	c.job("CancelShiftLoadBalancerZones", first...)
	c.job("UpdateLoadBalancerZones", append(slices.Clone(of), c.zoneMappings()...)...)
	c.must("nlb", "MoveResourceGroup", "ResourceId", id, "ResourceType", "loadbalancer", "NewResourceGroupId", "rg-other")
	c.want(c.must("nlb", "ListLoadBalancers", "ResourceGroupId", "rg-other"), "LoadBalancers.0.LoadBalancerId", id)
}

// nlbCertificates gives a listener more certificates. The cloud keeps those of NLB in another product.
func nlbCertificates(c *cloud) {
	id, group := c.newNLB(), c.newNLBGroup("Protocol", "TCPSSL")
	listener := c.job("CreateListener", "LoadBalancerId", id, "ListenerProtocol", "TCPSSL", "ListenerPort", "443", "ServerGroupId", group,
		"CertificateIds.1", "cert-1").get("ListenerId")
	more := []string{"ListenerId", listener, "AdditionalCertificateIds.1", "cert-2"}
	c.job("AssociateAdditionalCertificatesWithListener", more...)
	got := c.must("nlb", "ListListenerCertificates", "ListenerId", listener)
	c.want(got, "TotalCount", "2", "Certificates.0.IsDefault", "true", "Certificates.1.CertificateId", "cert-2",
		"Certificates.1.Status", "Associated")
	c.job("DisassociateAdditionalCertificatesWithListener", more...)
	c.job("DeleteListener", "ListenerId", listener)
}

// nlbMonitoring says where a region keeps what it measures, and takes it back.
func nlbMonitoring(c *cloud) {
	c.must("nlb", "SetHdMonitorRegionConfig", "LogProject", "project", "MetricStore", "store")
	c.want(c.must("nlb", "DescribeHdMonitorRegionConfig"), "LogProject", "project", "MetricStore", "store")
	c.must("nlb", "DeleteHdMonitorRegionConfig")
}

// userCertificates uploads a certificate to where NLB finds it.
func userCertificates(c *cloud) {
	cert, key := c.newPair()
	name := c.name()
	id := c.must("cas", "UploadUserCertificate", "Name", name, "Cert", cert, "Key", key).get("CertId")
	c.cleanUp("cas", "DeleteUserCertificate", "CertId", id)
	c.want(c.must("cas", "GetUserCertificateDetail", "CertId", id), "Name", name, "Common", "www.example.com")
	c.want(c.must("cas", "ListUserCertificateOrder", "OrderType", "UPLOAD", "Keyword", name), "CertificateOrderList.0.CertificateId", id)
	c.must("cas", "ListCert", "KeyWord", name)
	c.must("cas", "DeleteUserCertificate", "CertId", id)
	c.refused("NotFound", "cas", "GetUserCertificateDetail", "CertId", id)
}
