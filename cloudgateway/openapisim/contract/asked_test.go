package contract

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// asked are the files of which a comment says that no document has a fact, or that it is inferred, with the scenarios that ask the cloud
// for it, so that one run of make contract settles it.
func asked() map[string][]string {
	return map[string][]string{
		"nlb/address.go":          {"asked NLB zones"},
		"slb/listener_set.go":     {"schedulers"},
		"slb/cipher_policy.go":    {"asked policies"},
		"slb/instance.go":         {"asked balancers"},
		"slb/master_slave.go":     {"asked balancers"},
		"quotas/quotas.go":        {"rate limits"},
		"api/settings.go":         {"asked balancers", "enumerations"},
		"cas/cas.go":              {"asked certificates"},
		"cs/cs.go":                {"asked clusters"},
		"vpc/ipv4_gateway.go":     {"asked gateways"},
		"vpc/ipv6_gateway.go":     {"asked gateways"},
		"vpc/nat.go":              {"asked NAT"},
		"vpc/nat_entries.go":      {"asked NAT"},
		"vpc/bandwidth.go":        {"asked packages"},
		"vpc/bandwidth_modify.go": {"asked packages"},
		"vpc/blocks.go":           {"asked blocks"},
		"vpc/network_write.go":    {"asked blocks"},
		"vpc/defaults.go":         {"asked defaults"},
		"vpc/havip.go":            {"asked HaVips"},
		"vpc/prefix_list.go":      {"asked prefix lists"},
		"vpc/entry_create.go":     {"asked prefix lists"},
		"vpc/reservation.go":      {"asked reservations"},
		"vpc/address_pool.go":     {"asked pools"},
		"ecs/launch_template.go":  {"asked templates"},
		"ecs/provisioning.go":     {"asked templates"},
		"ecs/legacy_tag.go":       {"asked instances"},
		"ecs/prefix_list.go":      {"asked groups"},
	}
}

// unsettled are the words by which comments say that a fact is not known.
var unsettled = regexp.MustCompile(
	`(?i)//.*(inferred|unproven|not published|not known to|no document|documents leave open|no published|are taken to be|our choice)`)

// A fact that is only inferred has a scenario that asks for it. Which file has such comments is found out, not listed.
func TestInferredFactsAreAsked(t *testing.T) {
	t.Parallel()
	all := scenarios()
	for file, names := range asked() {
		for _, name := range names {
			if all[name] == nil {
				t.Errorf("%s: there is no scenario %q that is run against the cloud", file, name)
			}
		}
	}
	for _, dir := range []string{"api", "cas", "cs", "ecs", "location", "nlb", "quotas", "ram", "resourcemanager", "slb", "sts", "vpc"} {
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := dir + "/" + filepath.Base(file)
			if unsettled.Match(text) && !strings.HasSuffix(file, "_test.go") && asked()[name] == nil {
				t.Errorf("%s says that a fact is not known (%q), and no scenario asks for it", name, unsettled.Find(text))
			}
		}
	}
}

// ask makes a call whose answer no document tells, and passes with any: the record has it. What it makes is undone by the action and the
// parameter in undo, with the value at its path in the answer.
func (c *cloud) ask(undo []string, product, action string, params ...string) answer {
	c.t.Helper()
	got, code := c.call(product, action, params...)
	switch {
	case code != "":
		c.t.Logf("%s %v: %s", action, params, code)
	case len(undo) > 0:
		c.cleanUp(product, undo[0], undo[1], got.get(undo[2]))
	}
	return got
}

// askedBlocks asks for more blocks than a VPC has room for, and for one of a pool that there is not.
func askedBlocks(c *cloud) {
	vpc := c.newNetwork("172.16.0.0/16")
	for n := range 6 {
		block := []string{"VpcId", vpc, "SecondaryCidrBlock", "10." + strconv.Itoa(90+n) + ".0.0/16"}
		if _, code := c.call("vpc", "AssociateVpcCidrBlock", block...); code != "" {
			c.t.Logf("block %d: %s", n+1, code)
			continue
		}
		c.cleanUp("vpc", "UnassociateVpcCidrBlock", block...)
	}
	c.ask([]string{"DeleteVpc", "VpcId", "VpcId"}, "vpc", "CreateVpc", "Ipv4IpamPoolId", "ipam-pool-none", "Ipv4CidrMask", "24")
}

// askedGateways asks for a second gateway of a VPC, and takes one away that has a route table and a route.
func askedGateways(c *cloud) {
	vpc := c.newNetwork("172.16.0.0/16")
	shown := func(id string) func(string) {
		return func(want string) {
			c.t.Helper()
			c.status(want, "Status", "vpc", "GetIpv4GatewayAttribute", "Ipv4GatewayId", id)
		}
	}
	id := c.must("vpc", "CreateIpv4Gateway", "VpcId", vpc).get("Ipv4GatewayId")
	c.cleanUp("vpc", "DeleteIpv4Gateway", "Ipv4GatewayId", id)
	shown(id)("Created")
	c.ask([]string{"DeleteIpv4Gateway", "Ipv4GatewayId", "Ipv4GatewayId"}, "vpc", "CreateIpv4Gateway", "VpcId", vpc)
	main := c.must("vpc", "DescribeRouteTableList", "VpcId", vpc).get("RouterTableList.RouterTableListType.0.RouteTableId")
	c.ask(nil, "vpc", "AssociateRouteTableWithGateway", "RouteTableId", main, "GatewayId", id, "GatewayType", "Ipv4Gateway")
	c.must("vpc", "EnableVpcIpv4Gateway", "Ipv4GatewayId", id, "RouteTableList.1", main)
	shown(id)("Created")
	c.must("vpc", "DescribeRouteEntryList", "RouteTableId", main) // has the route to the gateway
	c.ask(nil, "vpc", "DeleteIpv4Gateway", "Ipv4GatewayId", id)
	c.wait("the gateway is gone, or stays", func() bool {
		got, _ := c.once("vpc", "GetIpv4GatewayAttribute", "Ipv4GatewayId", id)
		return got.get("Status") != "Deleting"
	})
	c.must("vpc", "DescribeRouteEntryList", "RouteTableId", main)                                                    // does it still?
	c.ask([]string{"DeleteIpv6Gateway", "Ipv6GatewayId", "Ipv6GatewayId"}, "vpc", "CreateIpv6Gateway", "VpcId", vpc) // of a VPC without IPv6
	c.ask(nil, "vpc", "DeleteIpv6InternetBandwidth", "Ipv6InternetBandwidthId", "ipv6bw-none")
	c.ask(nil, "vpc", "DeleteIpv6EgressOnlyRule", "Ipv6EgressOnlyRuleId", "ipv6py-none")
}

// askedNAT gives a NAT gateway entries that it has already, and takes it away with them.
func askedNAT(c *cloud) {
	vpc := c.newNetwork("172.16.0.0/16")
	zone := c.must("vpc", "ListEnhanhcedNatGatewayAvailableZones").get("Zones.0.ZoneId")
	vsw := c.must("vpc", "CreateVSwitch", "VpcId", vpc, "ZoneId", zone, "CidrBlock", "172.16.1.0/24").get("VSwitchId")
	c.cleanUp("vpc", "DeleteVSwitch", "VSwitchId", vsw)
	c.status("Available", "Status", "vpc", "DescribeVSwitchAttributes", "VSwitchId", vsw)
	eip := c.must("vpc", "AllocateEipAddress", "Bandwidth", "1", "InternetChargeType", "PayByTraffic")
	id, address := eip.get("AllocationId"), eip.get("EipAddress")
	c.cleanUp("vpc", "ReleaseEipAddress", "AllocationId", id)
	made := c.must("vpc", "CreateNatGateway", "VpcId", vpc, "VSwitchId", vsw, "NatType", "Enhanced", "InternetChargeType", "PayByLcu")
	nat, snats := made.get("NatGatewayId"), made.get("SnatTableIds.SnatTableId.0")
	forwards := made.get("ForwardTableIds.ForwardTableId.0")
	c.cleanUp("vpc", "DeleteNatGateway", "NatGatewayId", nat, "Force", "true")
	c.status("Available", "NatGateways.NatGateway.0.Status", "vpc", "DescribeNatGateways", "NatGatewayId", nat)
	c.ask(nil, "vpc", "UpdateNatGatewayNatType", "NatGatewayId", nat, "NatType", "Enhanced", "VSwitchId", vsw) // is of it, and there
	c.status("Available", "NatGateways.NatGateway.0.Status", "vpc", "DescribeNatGateways", "NatGatewayId", nat)
	c.must("vpc", "AssociateEipAddress", "AllocationId", id, "InstanceId", nat, "InstanceType", "Nat")
	c.status("InUse", "EipAddresses.EipAddress.0.Status", "vpc", "DescribeEipAddresses", "AllocationId", id)
	for range 2 {
		c.ask(nil, "vpc", "CreateForwardEntry", "ForwardTableId", forwards, "ExternalIp", address, "ExternalPort", "80",
			"InternalIp", "172.16.1.9", "InternalPort", "80", "IpProtocol", "tcp")
		c.status("Available", "ForwardTableEntries.ForwardTableEntry.0.Status", "vpc", "DescribeForwardTableEntries", "ForwardTableId", forwards)
		c.ask(nil, "vpc", "CreateSnatEntry", "SnatTableId", snats, "SourceVSwitchId", vsw, "SnatIp", address)
	}
	c.ask(nil, "vpc", "DeleteNatGateway", "NatGatewayId", nat)
	c.must("vpc", "DeletionProtection", "InstanceId", nat, "Type", "NATGW", "ProtectionEnable", "true")
	c.ask(nil, "vpc", "DeleteNatGateway", "NatGatewayId", nat, "Force", "true")
	c.must("vpc", "DeletionProtection", "InstanceId", nat, "Type", "NATGW", "ProtectionEnable", "false")
	c.must("vpc", "DeleteNatGateway", "NatGatewayId", nat, "Force", "true")
	c.status("", "NatGateways.NatGateway.0.Status", "vpc", "DescribeNatGateways", "NatGatewayId", nat)
}

// askedPackages puts an address into two packages, gives it more than there is, and deletes one that is not empty or protected.
func askedPackages(c *cloud) {
	packages := [2]string{}
	for n := range packages {
		packages[n] = c.must("vpc", "CreateCommonBandwidthPackage", "Bandwidth", "2", "InternetChargeType", "PayByBandwidth").
			get("BandwidthPackageId")
		c.cleanUp("vpc", "DeleteCommonBandwidthPackage", "BandwidthPackageId", packages[n], "Force", "true")
		c.status("Available", "CommonBandwidthPackages.CommonBandwidthPackage.0.Status", "vpc", "DescribeCommonBandwidthPackages",
			"BandwidthPackageId", packages[n])
	}
	eip := c.must("vpc", "AllocateEipAddress", "Bandwidth", "1", "InternetChargeType", "PayByTraffic").get("AllocationId")
	c.cleanUp("vpc", "ReleaseEipAddress", "AllocationId", eip)
	of := []string{"BandwidthPackageId", packages[0], "IpInstanceId", eip}
	c.must("vpc", "AddCommonBandwidthPackageIp", of...)
	c.cleanUp("vpc", "RemoveCommonBandwidthPackageIp", of...)
	c.wait("the address is in the package", func() bool {
		got := c.must("vpc", "DescribeEipAddresses", "AllocationId", eip)
		return got.get("EipAddresses.EipAddress.0.BandwidthPackageId") == packages[0]
	})
	c.ask(nil, "vpc", "AddCommonBandwidthPackageIp", "BandwidthPackageId", packages[1], "IpInstanceId", eip)
	c.ask(nil, "vpc", "ModifyCommonBandwidthPackageIpBandwidth", "BandwidthPackageId", packages[0], "EipId", eip, "Bandwidth", "9")
	c.ask(nil, "vpc", "DeleteCommonBandwidthPackage", "BandwidthPackageId", packages[0])
	c.must("vpc", "DeletionProtection", "InstanceId", packages[1], "Type", "CBWP", "ProtectionEnable", "true")
	c.ask(nil, "vpc", "DeleteCommonBandwidthPackage", "BandwidthPackageId", packages[1])
	c.must("vpc", "DeletionProtection", "InstanceId", packages[1], "Type", "CBWP", "ProtectionEnable", "false")
}

// askedDefaults asks for what a region has once. An account with a default VPC has it in the end, too, and one without has none.
func askedDefaults(c *cloud) {
	zone := c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", c.vswitchID).get("ZoneId")
	if c.must("vpc", "DescribeVpcs", "IsDefault", "true").get("TotalCount") == "0" {
		c.ask([]string{"DeleteVSwitch", "VSwitchId", "VSwitchId"}, "vpc", "CreateDefaultVSwitch", "ZoneId", zone)
		return
	}
	c.ask([]string{"DeleteVpc", "VpcId", "VpcId"}, "vpc", "CreateDefaultVpc")
}

// askedPolicies takes a TLS policy away that a listener uses, and lists policies without saying how many.
func askedPolicies(c *cloud) {
	policy := []string{"Name", c.name(), "TLSVersions.1", "TLSv1.2", "Ciphers.1", "ECDHE-RSA-AES128-GCM-SHA256"}
	id := c.must("slb", "CreateTLSCipherPolicy", policy...).get("TLSCipherPolicyId")
	c.cleanUp("slb", "DeleteTLSCipherPolicy", "TLSCipherPolicyId", id)
	c.status("normal", "TLSCipherPolicies.0.Status", "slb", "ListTLSCipherPolicies", "TLSCipherPolicyId", id)
	c.must("slb", "ListTLSCipherPolicies")
	cert, key := c.newPair()
	certificate := c.must("slb", "UploadServerCertificate", "ServerCertificate", cert, "PrivateKey", key).get("ServerCertificateId")
	c.cleanUp("slb", "DeleteServerCertificate", "ServerCertificateId", certificate)
	balancer := c.newBalancer()
	listener := []string{"LoadBalancerId", balancer, "ListenerPort", "443"}
	_, code := c.call("slb", "CreateLoadBalancerHTTPSListener", append(listener, "Bandwidth", "-1", "BackendServerPort", "80",
		"HealthCheck", "off", "StickySession", "off", "ServerCertificateId", certificate, "TLSCipherPolicy", id)...)
	c.t.Logf("a listener with a policy of one's own: %q", code)
	c.ask(nil, "slb", "DeleteTLSCipherPolicy", "TLSCipherPolicyId", id)
	c.ask(nil, "slb", "DeleteLoadBalancerListener", append(listener, "ListenerProtocol", "https")...)
}

// askedBalancers asks for ways to pay that are not sold, for servers of a pair without a port, and for two writes at once.
func askedBalancers(c *cloud) {
	undo := []string{"DeleteLoadBalancer", "LoadBalancerId", "LoadBalancerId"}
	c.ask(undo, "slb", "CreateLoadBalancer", "AddressType", "intranet", "VSwitchId", c.vswitchID, "LoadBalancerSpec", "slb.s1.small",
		"InstanceChargeType", "PayBySpec")
	c.ask(undo, "slb", "CreateLoadBalancer", "AddressType", "intranet", "VSwitchId", c.vswitchID, "LoadBalancerSpec", "slb.s1.small")
	balancer := c.newBalancer()
	server := func(id, role string) string {
		return `{"ServerId":"` + id + `","Port":0,"Weight":100,"ServerType":"` + role + `"}`
	}
	c.ask([]string{"DeleteMasterSlaveServerGroup", "MasterSlaveServerGroupId", "MasterSlaveServerGroupId"}, "slb",
		"CreateMasterSlaveServerGroup", "LoadBalancerId", balancer, "MasterSlaveBackendServers",
		"["+server(c.instances[0], "Master")+","+server(c.instances[1], "Slave")+"]")
	for n := range 2 {
		_, code := c.once("slb", "CreateVServerGroup", "LoadBalancerId", balancer, "VServerGroupName", strconv.Itoa(n))
		c.t.Logf("group %d, right after another write: %q", n, code)
	}
}

// askedCertificates sends what is no certificate, a name twice, and asks for one that there is not.
func askedCertificates(c *cloud) {
	cert, key := c.newPair()
	name, undo := c.name(), []string{"DeleteUserCertificate", "CertId", "CertId"}
	c.ask(undo, "cas", "UploadUserCertificate", "Name", name, "Cert", cert, "Key", key)
	c.ask(undo, "cas", "UploadUserCertificate", "Name", name, "Cert", cert, "Key", key)
	c.ask(undo, "cas", "UploadUserCertificate", "Name", c.name(), "Cert", "none", "Key", key)
	c.ask(nil, "cas", "GetUserCertificateDetail", "CertId", "1")
	c.ask(nil, "cas", "DeleteUserCertificate", "CertId", "1")
}

// askedTemplates asks for what launch templates and groups of instances refuse.
func askedTemplates(c *cloud) {
	name, undo := c.name(), []string{"DeleteLaunchTemplate", "LaunchTemplateId", "LaunchTemplateId"}
	id := c.ask(undo, "ecs", "CreateLaunchTemplate", "LaunchTemplateName", name, "InstanceType", "none").get("LaunchTemplateId")
	c.ask(undo, "ecs", "CreateLaunchTemplate", "LaunchTemplateName", name)
	c.ask(undo, "ecs", "CreateLaunchTemplate", "LaunchTemplateName", "1")
	c.ask(nil, "ecs", "DescribeLaunchTemplateVersions", "LaunchTemplateId", id)
	c.ask(nil, "ecs", "RunInstances", "LaunchTemplateId", id, "LaunchTemplateVersion", "9", "DryRun", "true")
	c.ask(nil, "ecs", "RunInstances", "LaunchTemplateId", "lt-none", "DryRun", "true")
	c.ask(nil, "ecs", "DeleteLaunchTemplate", "LaunchTemplateId", "lt-none")
	c.ask(nil, "ecs", "CreateAutoProvisioningGroup", "AutoProvisioningGroupType", "instant", "TotalTargetCapacity", "0")
}

// askedInstances asks for roles, tags, tasks and groups of snapshots that there are not.
func askedInstances(c *cloud) {
	c.ask(nil, "ecs", "DetachInstanceRamRole", "InstanceIds", `["`+c.instances[0]+`"]`, "RamRoleName", "contract-none")
	c.ask(nil, "ecs", "AddTags", "ResourceType", "instance", "ResourceId", "i-none", "Tag.1.Key", "contract")
	c.ask(nil, "ecs", "RemoveTags", "ResourceType", "cloud", "ResourceId", "i-none", "Tag.1.Key", "contract")
	c.ask(nil, "ecs", "DescribeTaskAttribute", "TaskId", "t-none")
	c.ask(nil, "ecs", "DeleteSnapshotGroup", "SnapshotGroupId", "ssg-none")
	c.ask(nil, "ecs", "DeleteNetworkInterfacePermission", "NetworkInterfacePermissionId", "eni-perm-none")
	c.ask(nil, "ecs", "DescribePrice", "ResourceType", "instance", "InstanceType", "none")
	c.ask(nil, "ecs", "DescribeSpotPriceHistory", "InstanceType", "ecs.g7.large", "NetworkType", "vpc", "StartTime", "2020-01-01T00:00:00Z")
}

// askedNLBZones gives a zone that stays another private address, while the load balancer is protected from changes and while it is not.
func askedNLBZones(c *cloud) {
	id := c.newNLB()
	zones := c.zoneMappings()
	address := c.must("nlb", "GetLoadBalancerAttribute", "LoadBalancerId", id).get("ZoneMappings.0.LoadBalancerAddresses.0.PrivateIPv4Address")
	other := address[:strings.LastIndex(address, ".")+1] + "77"
	change := append([]string{"LoadBalancerId", id, "ZoneMappings.1.PrivateIPv4Address", other}, zones...)
	for _, status := range []string{"ConsoleProtection", "NonProtection"} {
		c.must("nlb", "UpdateLoadBalancerProtection", "LoadBalancerId", id, "ModificationProtectionStatus", status)
		got, code := c.call("nlb", "UpdateLoadBalancerZones", change...)
		c.t.Logf("another private address under %s: %q", status, code)
		if code == "" {
			c.wait("the job has ended", func() bool {
				return slices.Contains([]string{"Succeeded", "Failed"}, c.must("nlb", "GetJobStatus", "JobId", got.get("JobId")).get("Status"))
			})
		}
		c.must("nlb", "GetLoadBalancerAttribute", "LoadBalancerId", id)
	}
}
