package openapisim_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// These tests state what the cloud answers by what the acceptance tests of Terraform's provider, which run on it, send and want to read
// ("TF"), and by the comments of the generated SDKs of version 2, which are the API documents ("SDK").

// fastWorld is a cloud in which every change is complete at once, with a VPC in two zones.
func fastWorld(t *testing.T) *client {
	t.Helper()
	settings := api.FastSettings()
	return newClient(t, newCloud(t, openapisim.Config{Settings: &settings, Seed: twoZones(2), LimitsOff: true}))
}

// TF: the provider takes Ipv6AddressType for a text, whatever the version of the addresses, and waits for an empty BandwidthPackageId
// after the package is detached.
func TestNLBSendsEmptyMembers(t *testing.T) {
	t.Parallel()
	c := fastWorld(t)
	lb := c.must("nlb", "CreateLoadBalancer", newNLBParams()...)["LoadbalancerId"].(string)
	shown := c.must("nlb", "GetLoadBalancerAttribute", "LoadBalancerId", lb)
	for member, want := range map[string]any{"Ipv6AddressType": "Intranet", "BandwidthPackageId": ""} {
		if got, sent := shown[member]; !sent || got != want {
			t.Errorf("%s is %v (sent: %t), want %q", member, got, sent, want)
		}
	}
	protection := at(t, shown, "DeletionProtectionConfig").(map[string]any)
	address := at(t, shown, "ZoneMappings", 0, "LoadBalancerAddresses", 0).(map[string]any)
	for member, of := range map[string]map[string]any{"Reason": protection, "EnabledTime": protection, "Ipv6Address": address} {
		if got, sent := of[member]; !sent || got != "" {
			t.Errorf("%s is %v (sent: %t)", member, got, sent)
		}
	}
}

// SDK of 2025: health checks have a version of HTTP, and those of UDP a request and an answer; zones have local addresses. TF sets and
// reads them.
func TestNewerParametersOfNLB(t *testing.T) {
	t.Parallel()
	c := fastWorld(t)
	const check = "HealthCheckConfig."
	g := c.must("nlb", "CreateServerGroup", "ServerGroupName", "g0", "VpcId", "vpc-1", check+"HealthCheckType", "HTTP",
		check+"HealthCheckHttpVersion", "HTTP1.1")["ServerGroupId"].(string)
	shown := func() any {
		return at(t, c.must("nlb", "ListServerGroups", "ServerGroupIds.1", g), "ServerGroups", 0, "HealthCheck")
	}
	if got := at(t, shown(), "HealthCheckHttpVersion"); got != "HTTP1.1" {
		t.Errorf("the version is %v", got)
	}
	c.must("nlb", "UpdateServerGroupAttribute", "ServerGroupId", g, check+"HealthCheckHttpVersion", "HTTP1.0",
		check+"HealthCheckReq", "hello", check+"HealthCheckExp", "ok")
	if h := shown(); at(t, h, "HealthCheckHttpVersion") != "HTTP1.0" || at(t, h, "HealthCheckReq") != "hello" || at(t, h,
		"HealthCheckExp") != "ok" {
		t.Errorf("the check is %v", h)
	}
	lb := c.must("nlb", "CreateLoadBalancer", append(newNLBParams(), "ZoneMappings.1.Ipv4LocalAddresses.1",
		"192.168.0.77")...)["LoadbalancerId"].(string)
	zones := at(t, c.must("nlb", "GetLoadBalancerAttribute", "LoadBalancerId", lb), "ZoneMappings")
	if got := at(t, zones, 0, "LoadBalancerAddresses", 0, "Ipv4LocalAddresses", 0); got != "192.168.0.77" {
		t.Errorf("the local address is %v", got)
	}
	// TF: alicloud_nlb_hd_monitor_region_config.
	if got := c.must("nlb", "DescribeHdMonitorRegionConfig"); got["LogProject"] != nil {
		t.Errorf("before it is set: %v", got)
	}
	c.must("nlb", "SetHdMonitorRegionConfig", "LogProject", "p", "MetricStore", "m")
	if got := c.must("nlb", "DescribeHdMonitorRegionConfig"); got["LogProject"] != "p" || got["MetricStore"] != "m" {
		t.Errorf("once it is set: %v", got)
	}
	c.must("nlb", "DeleteHdMonitorRegionConfig")
	if got := c.must("nlb", "DescribeHdMonitorRegionConfig"); got["LogProject"] != nil {
		t.Errorf("once it is deleted: %v", got)
	}
}

// TF: a policy with the tags Created=TF and For=Test isn't found by Created=other and For=Test; one is made without a name.
func TestFiltersAndPoliciesOfNLB(t *testing.T) {
	t.Parallel()
	c := fastWorld(t)
	tagged := func(first string) []string {
		return []string{"Tag.1.Key", "Created", "Tag.1.Value", first, "Tag.2.Key", "For", "Tag.2.Value", "Test"}
	}
	c.must("nlb", "CreateSecurityPolicy", append(tagged("TF"), "TlsVersions.1", "TLSv1.2", "Ciphers.1", "AES128-SHA")...)
	c.must("nlb", "CreateServerGroup", append(tagged("TF"), "ServerGroupName", "g0", "VpcId", "vpc-1")...)
	c.must("nlb", "CreateLoadBalancer", append(newNLBParams(), tagged("TF")...)...)
	for action, list := range map[string]string{
		"ListSecurityPolicy": "SecurityPolicies", "ListServerGroups": "ServerGroups", "ListLoadBalancers": "LoadBalancers",
	} {
		for first, want := range map[string]int{"TF": 1, "other": 0} {
			if found := c.must("nlb", action, tagged(first)...)[list].([]any); len(found) != want {
				t.Errorf("%s by Created=%s finds %d", action, first, len(found))
			}
		}
	}
}

// TF: a TCP listener of CLB whose check is tcp shows neither URI nor codes; one of UDP shows its PersistenceTimeout.
func TestListenersOfCLB(t *testing.T) {
	t.Parallel()
	c := fastWorld(t)
	lb := c.must("slb", "CreateLoadBalancer", "AddressType", "internet")["LoadBalancerId"].(string)
	of := []string{"LoadBalancerId", lb, "ListenerPort", "80"}
	create := append([]string{"Bandwidth", "-1", "BackendServerPort", "80"}, of...)
	c.must("slb", "CreateLoadBalancerTCPListener", append([]string{"HealthCheckType", "http", "HealthCheckURI", "/cn",
		"HealthCheckHttpCode", "http_3xx"}, create...)...)
	for kind, want := range map[string][2]string{"http": {"/cn", "http_3xx"}, "tcp": {"", ""}} {
		c.must("slb", "SetLoadBalancerTCPListenerAttribute", append([]string{"HealthCheckType", kind, "HealthCheckURI", "/cn",
			"HealthCheckHttpCode", "http_3xx"}, of...)...)
		got := c.must("slb", "DescribeLoadBalancerTCPListenerAttribute", of...)
		if got["HealthCheckURI"] != want[0] || got["HealthCheckHttpCode"] != want[1] {
			t.Errorf("a check by %s shows %q and %q", kind, got["HealthCheckURI"], got["HealthCheckHttpCode"])
		}
	}
	c.must("slb", "CreateLoadBalancerUDPListener", append([]string{"PersistenceTimeout", "3600"}, create...)...)
	if got := c.must("slb", "DescribeLoadBalancerUDPListenerAttribute", of...)["PersistenceTimeout"]; got != 3600.0 {
		t.Errorf("the persistence of UDP is %v", got)
	}
	// The suite of the existing controllers makes its load balancers with a specification alone, since 2026, too.
	id := c.must("slb", "CreateLoadBalancer", "LoadBalancerSpec", "slb.s1.small")["LoadBalancerId"].(string)
	if got := c.must("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", id)["InstanceChargeType"]; got != "PayByCLCU" {
		t.Errorf("it is charged by %v", got)
	}
}

// TF sets resource groups, propagation, blocks and protections and reads them back; nothing is in no resource group. What is made was
// made now: who cleans up by age would delete all of it.
func TestNetworksShowWhatWasSaid(t *testing.T) {
	t.Parallel()
	c := fastWorld(t)
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	c.sim.SetTime(now)
	created := now.Format(time.RFC3339)
	check := func(what string, got any, want map[string]any) {
		t.Helper()
		for member, value := range want {
			if shown := at(t, got, member); shown != value {
				t.Errorf("%s: %s is %v, want %v", what, member, shown, value)
			}
		}
	}
	vpc := c.must("vpc", "CreateVpc", "CidrBlock", "30.0.0.0/12", "ResourceGroupId", "rg-a", "UserCidr", "10.0.0.0/8,11.0.0.0/8",
		"EnableDnsHostname", "true")["VpcId"].(string)
	shown := c.must("vpc", "DescribeVpcAttribute", "VpcId", vpc)
	check("VPC", shown, map[string]any{"ResourceGroupId": "rg-a", "CreationTime": created, "DnsHostnameStatus": "ENABLED",
		"CidrBlock": "30.0.0.0/12"})
	if got := at(t, shown, "UserCidrs", "UserCidr", 1); got != "11.0.0.0/8" {
		t.Errorf("the second block of the user is %v", got)
	}
	for group, want := range map[string]int{"rg-a": 1, "rg-none": 0} {
		if found := at(t, c.must("vpc", "DescribeVpcs", "ResourceGroupId", group), "Vpcs", "Vpc").([]any); len(found) != want {
			t.Errorf("%d VPCs in %s", len(found), group)
		}
	}
	vsw := c.must("vpc", "CreateVSwitch", "VpcId", vpc, "ZoneId", "cn-hangzhou-h", "CidrBlock", "30.0.0.0/24")["VSwitchId"].(string)
	check("vSwitch", c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", vsw), map[string]any{"ResourceGroupId": "rg-a",
		"CreationTime": created})
	if found := at(t, c.must("vpc", "DescribeVSwitches", "ResourceGroupId", "rg-none"), "VSwitches", "VSwitch").([]any); len(found) != 0 {
		t.Errorf("%d vSwitches in no group", len(found))
	}
	c.must("vpc", "ModifyVpcAttribute", "VpcId", vpc, "CidrBlock", "30.0.0.0/16")
	check("changed", c.must("vpc", "DescribeVpcAttribute", "VpcId", vpc), map[string]any{"CidrBlock": "30.0.0.0/16"})
	if _, code := c.call("vpc", "ModifyVpcAttribute", "VpcId", vpc, "CidrBlock", "31.0.0.0/16"); code != "InvalidParameter" {
		t.Errorf("a block without the vSwitches: %q", code)
	}
	// SDK: any block but those of the cloud's services, of multicast, of loopback and of links.
	for block, want := range map[string]string{"100.64.0.0/16": "InvalidParameter", "224.0.0.0/8": "InvalidParameter", "8.0.0.0/8": ""} {
		if _, code := c.call("vpc", "CreateVpc", "CidrBlock", block); code != want {
			t.Errorf("a VPC of %s: %q, want %q", block, code, want)
		}
	}
	table := c.must("vpc", "CreateRouteTable", "VpcId", vpc, "AssociateType", "Gateway", "RoutePropagationEnable",
		"false")["RouteTableId"].(string)
	listed := func() any {
		return at(t, c.must("vpc", "DescribeRouteTableList", "RouteTableId", table), "RouterTableList", "RouterTableListType", 0)
	}
	check("table", listed(), map[string]any{
		"AssociateType": "Gateway", "RoutePropagationEnable": false, "ResourceGroupId": "rg-a", "CreationTime": created,
	})
	c.must("vpc", "ModifyRouteTableAttributes", "RouteTableId", table, "RoutePropagationEnable", "true")
	check("changed", listed(), map[string]any{"RoutePropagationEnable": true})
	eip := c.must("vpc", "AllocateEipAddress", "SecurityProtectionTypes.1", "AntiDDoS_Enhanced")["AllocationId"].(string)
	address := at(t, c.must("vpc", "DescribeEipAddresses", "AllocationId", eip), "EipAddresses", "EipAddress", 0)
	check("EIP", address, map[string]any{"ResourceGroupId": state.DefaultResourceGroup, "AllocationTime": created})
	if got := at(t, address, "SecurityProtectionTypes", "SecurityProtectionType", 0); got != "AntiDDoS_Enhanced" {
		t.Errorf("the protection is %v", got)
	}
	c.must("vpc", "CreateCommonBandwidthPackage", "Bandwidth", "10", "Ratio", "20")
	check("package", at(t, c.must("vpc", "DescribeCommonBandwidthPackages"), "CommonBandwidthPackages", "CommonBandwidthPackage", 0),
		map[string]any{"Ratio": 20.0, "CreationTime": created, "ResourceGroupId": state.DefaultResourceGroup})
	sg := c.must("ecs", "CreateSecurityGroup", "VpcId", vpc, "ResourceGroupId", "rg-a")["SecurityGroupId"].(string)
	groups := c.must("ecs", "DescribeSecurityGroups", "SecurityGroupId", sg)
	check("group", at(t, groups, "SecurityGroups", "SecurityGroup", 0), map[string]any{"ResourceGroupId": "rg-a", "CreationTime": created})
}

// SDK: a vSwitch is Pending until its table is associated, an address is BINDING until the package has it, and Releasing until it is
// gone.
func TestStatesInBetween(t *testing.T) {
	t.Parallel()
	settings := api.DefaultSettings()
	sim := newCloud(t, openapisim.Config{Settings: &settings, Seed: twoZones(0), LimitsOff: true})
	sim.SetTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	c := newClient(t, sim)
	table := c.must("vpc", "CreateRouteTable", "VpcId", "vpc-1")["RouteTableId"].(string)
	sim.Advance(time.Minute)
	c.must("vpc", "AssociateRouteTable", "RouteTableId", table, "VSwitchId", "vsw-1")
	status := func() any { return c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", "vsw-1")["Status"] }
	if got := status(); got != "Pending" {
		t.Errorf("the vSwitch is %v", got)
	}
	eip := c.must("vpc", "AllocateEipAddress")["AllocationId"].(string)
	pack := c.must("vpc", "CreateCommonBandwidthPackage", "Bandwidth", "10")["BandwidthPackageId"].(string)
	c.must("vpc", "AddCommonBandwidthPackageIp", "BandwidthPackageId", pack, "IpInstanceId", eip)
	bound := func() any {
		return at(t, c.must("vpc", "DescribeCommonBandwidthPackages"), "CommonBandwidthPackages", "CommonBandwidthPackage", 0,
			"PublicIpAddresses", "PublicIpAddresse", 0, "BandwidthPackageIpRelationStatus")
	}
	if got := bound(); got != "BINDING" {
		t.Errorf("the address is %v", got)
	}
	sim.Advance(time.Minute)
	if status() != "Available" || bound() != "BINDED" {
		t.Errorf("a minute later: %v, %v", status(), bound())
	}
	c.must("vpc", "RemoveCommonBandwidthPackageIp", "BandwidthPackageId", pack, "IpInstanceId", eip)
	c.must("vpc", "ReleaseEipAddress", "AllocationId", eip)
	addresses := func() []any {
		return at(t, c.must("vpc", "DescribeEipAddresses", "AllocationId", eip), "EipAddresses", "EipAddress").([]any)
	}
	if got := addresses(); len(got) != 1 || at(t, got, 0, "Status") != "Releasing" {
		t.Errorf("the released address: %v", got)
	}
	sim.Advance(time.Minute)
	if got := addresses(); len(got) != 0 {
		t.Errorf("a minute later: %v", got)
	}
}

// SDK: a page of less than 10 interfaces has 10, and one of more than 500 has 500. Terway's client reads when each was made.
func TestInterfaces(t *testing.T) {
	t.Parallel()
	c := fastWorld(t)
	for _, size := range []string{"5", "501", "100"} {
		found := c.must("ecs", "DescribeNetworkInterfaces", "InstanceId", "i-1", "MaxResults", size)
		got := at(t, found, "NetworkInterfaceSets", "NetworkInterfaceSet").([]any)
		if len(got) != 1 || at(t, got, 0, "CreationTime") == "" {
			t.Errorf("MaxResults=%s finds %v", size, got)
		}
	}
}

// SDK: members of advanced groups don't reach each other; who isn't in a group can't leave it, in the words that are new since
// 2024-07-08. TF: a filter by "<nil>", which the provider sends for rules without a type of network, finds them.
func TestSecurityGroups(t *testing.T) {
	t.Parallel()
	cloud := twoZones(2)
	cloud.SecurityGroups = map[string]*state.SecurityGroup{"sg-1": {VpcID: "vpc-1"}, "sg-2": {VpcID: "vpc-1", Type: "enterprise"}}
	cloud.Instances["i-1"].SecurityGroupIDs = []string{"sg-1"}
	c := newClient(t, newCloud(t, openapisim.Config{Seed: cloud, LimitsOff: true}))
	for group, want := range map[string]string{"sg-1": "Accept", "sg-2": "Drop"} {
		if got := c.must("ecs", "DescribeSecurityGroupAttribute", "SecurityGroupId", group)["InnerAccessPolicy"]; got != want {
			t.Errorf("%s: %v", group, got)
		}
	}
	interfaces := c.must("ecs", "DescribeNetworkInterfaces", "InstanceId", "i-1")
	if got := at(t, interfaces, "NetworkInterfaceSets", "NetworkInterfaceSet", 0, "SecurityGroupIds", "SecurityGroupId", 0); got != "sg-1" {
		t.Errorf("the interface of a seeded instance is in %v", got)
	}
	if _, code := c.call("ecs", "LeaveSecurityGroup", "InstanceId", "i-1", "SecurityGroupId",
		"sg-2"); code != "InvalidSecurityGroupAssociation.NotFound" {
		t.Errorf("to leave a group that it isn't in: %q", code)
	}
	c.must("ecs", "AuthorizeSecurityGroup", "SecurityGroupId", "sg-1", "IpProtocol", "tcp", "PortRange", "80/80",
		"SourceCidrIp", "10.0.0.0/8")
	found := c.must("ecs", "DescribeSecurityGroupAttribute", "SecurityGroupId", "sg-1", "NicType", "<nil>")
	if rules := at(t, found, "Permissions", "Permission").([]any); len(rules) != 1 {
		t.Errorf("%d rules", len(rules))
	}
	_, code := c.call("ecs", "AuthorizeSecurityGroup", "SecurityGroupId", "sg-2", "IpProtocol", "tcp", "PortRange", "80/80",
		"SourceGroupId", "sg-1")
	if code != "InvalidGroupParameter.OperationDenied" {
		t.Errorf("a rule of an advanced group that names a group: %q", code)
	}
}

// TF: tests of instances ask for one core and 2 GiB, and take the most recent image whose name begins with ubuntu for one of x86.
func TestCatalog(t *testing.T) {
	t.Parallel()
	c := fastWorld(t)
	zones := at(t, c.must("ecs", "DescribeAvailableResource", "DestinationResource", "InstanceType", "Cores", "1", "Memory", "2"),
		"AvailableZones", "AvailableZone").([]any)
	if len(zones) == 0 {
		t.Error("nothing small is sold")
	}
	newest, architecture := "", ""
	for _, image := range at(t, c.must("ecs", "DescribeImages"), "Images", "Image").([]any) {
		created := at(t, image, "CreationTime").(string)
		if strings.HasPrefix(at(t, image, "ImageId").(string), "ubuntu") && created > newest {
			newest, architecture = created, at(t, image, "Architecture").(string)
		}
	}
	if architecture != "x86_64" {
		t.Errorf("the most recent image is for %s", architecture)
	}
	if images := at(t, c.must("ecs", "DescribeImages", "ImageOwnerId", "123"), "Images", "Image").([]any); len(images) != 0 {
		t.Errorf("%d images of an account that has none", len(images))
	}
	for _, kind := range at(t, c.must("ecs", "DescribeInstanceTypes"), "InstanceTypes", "InstanceType").([]any) {
		if at(t, kind, "InstanceTypeFamily") == "ecs.c7" && at(t, kind, "InstanceCategory") != "Compute-optimized" {
			t.Errorf("c7 is %v", at(t, kind, "InstanceCategory"))
		}
	}
}

// TF: its example of an NLB with a public address of IPv6 waits for a gateway that it makes beside the VPC. The API's
// metadata has the code.
func TestPublicIPv6NeedsAGateway(t *testing.T) {
	t.Parallel()
	c := fastWorld(t)
	vpc := c.must("vpc", "CreateVpc", "CidrBlock", "10.0.0.0/16", "EnableIpv6", "true")["VpcId"].(string)
	params := []string{"AddressType", "Intranet", "AddressIpVersion", "DualStack", "VpcId", vpc}
	for n, zone := range []string{"cn-hangzhou-h", "cn-hangzhou-i"} {
		number := strconv.Itoa(n + 1)
		vsw := c.must("vpc", "CreateVSwitch", "VpcId", vpc, "ZoneId", zone, "CidrBlock", "10.0."+number+".0/24", "Ipv6CidrBlock", number)
		params = append(params, "ZoneMappings."+number+".ZoneId", zone, "ZoneMappings."+number+".VSwitchId", vsw["VSwitchId"].(string))
	}
	lb := c.must("nlb", "CreateLoadBalancer", params...)["LoadbalancerId"].(string)
	if _, code := c.call("nlb", "EnableLoadBalancerIpv6Internet", "LoadBalancerId", lb); code != "ResourceNotFound.Ipv6Gateway" {
		t.Errorf("without a gateway: %q", code)
	}
	c.must("vpc", "CreateIpv6Gateway", "VpcId", vpc)
	c.must("nlb", "EnableLoadBalancerIpv6Internet", "LoadBalancerId", lb)
}

// SDK: an account has 50 access control lists in a region.
func TestAccessControlListsOfARegion(t *testing.T) {
	t.Parallel()
	c := fastWorld(t)
	for n := range 50 {
		c.must("slb", "CreateAccessControlList", "AclName", "acl-"+strconv.Itoa(n))
	}
	if _, code := c.call("slb", "CreateAccessControlList", "AclName", "acl-50"); code != "AclNumberOverLimit" {
		t.Errorf("the one beyond: %q", code)
	}
}

// The certificates of Network Load Balancers are those of the Certificate Management Service, by their number and region; TF's tests make
// them so. Those of CLB are others.
func TestCertificatesOfNLB(t *testing.T) {
	t.Parallel()
	c := fastWorld(t)
	certificate, key := selfSigned(t)
	id := c.must("cas", "UploadUserCertificate", "Name", "web", "Cert", certificate, "Key", key)["CertId"].(float64)
	number := big.NewInt(int64(id)).String()
	detail := c.must("cas", "GetUserCertificateDetail", "CertId", number)
	if detail["Common"] != "a" || detail["CertIdentifier"] != number+"-cn-hangzhou" || detail["Name"] != "web" ||
		!strings.Contains(detail["Cert"].(string), "CERTIFICATE") {
		t.Errorf("the certificate is %v", detail)
	}
	if got := at(t, c.must("cas", "ListUserCertificateOrder", "OrderType", "UPLOAD", "Keyword", "web"), "CertificateOrderList", 0,
		"CertificateId"); got != id {
		t.Errorf("listed: %v", got)
	}
	if got := at(t, c.must("cas", "ListCert"), "CertList", 0, "Identifier"); got != number+"-cn-hangzhou" {
		t.Errorf("listed: %v", got)
	}
	lb := c.must("nlb", "CreateLoadBalancer", newNLBParams()...)["LoadbalancerId"].(string)
	group := c.must("nlb", "CreateServerGroup", "ServerGroupName", "g0", "VpcId", "vpc-1", "Protocol", "TCPSSL")["ServerGroupId"].(string)
	listener := []string{"LoadBalancerId", lb, "ListenerProtocol", "TCPSSL", "ListenerPort", "443", "ServerGroupId", group}
	classic := c.must("slb", "UploadServerCertificate", "ServerCertificate", certificate, "PrivateKey", key)["ServerCertificateId"].(string)
	if _, code := c.call("nlb", "CreateListener", append(listener, "CertificateIds.1", classic)...); code != "ResourceNotFound.Certificate" {
		t.Errorf("with a certificate of CLB: %q", code)
	}
	c.must("nlb", "CreateListener", append(listener, "CertificateIds.1", number+"-cn-hangzhou")...)
	c.must("cas", "DeleteUserCertificate", "CertId", number)
	if _, code := c.call("cas", "GetUserCertificateDetail", "CertId", number); code != "NotFound" {
		t.Errorf("once it is deleted: %q", code)
	}
}

// Who calls a product that isn't simulated is told so, and which there are.
func TestUnknownProduct(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{AnyCredentials: true})
	answer := get(t, http.DefaultClient, "http://"+sim.Endpoint("all")+"/?Action=DescribeScalingGroups&Version=2014-08-28&AccessKeyId=any")
	for _, want := range []string{"InvalidVersion", "no product of the version 2014-08-28 is simulated", "Slb 2014-05-15",
		"cas 2020-04-07"} {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer has no %q: %s", want, answer)
		}
	}
}

// One port speaks HTTP and HTTPS: Terraform's provider can be told an endpoint by a variable, but no protocol.
func TestOnePortSpeaksBoth(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{AnyCredentials: true})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(sim.CA())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	const question = "/?Action=GetCallerIdentity&Version=2015-04-01&AccessKeyId=any"
	for _, scheme := range []string{"http", "https"} {
		if answer := get(t, &http.Client{Transport: transport},
			scheme+"://"+sim.Endpoint("all")+question); !strings.Contains(answer, "AccountId") {
			t.Errorf("%s: %s", scheme, answer)
		}
	}
}

func get(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Quota Center shows the limits that calls meet: one that the admin API raises is a quota that was raised.
func TestQuotaCenter(t *testing.T) {
	t.Parallel()
	c := fastWorld(t)
	quota := func() any {
		return at(t, c.must("quotas", "ListProductQuotas", "ProductCode", "slb", "QuotaCategory", "FlowControl", "QuotaActionCode",
			"CreateLoadBalancer"), "Quotas", 0, "TotalQuota")
	}
	before := quota()
	if err := c.sim.SetLimits(limit.Table{"slb/CreateLoadBalancer": {Calls: 900, Window: api.Duration(time.Minute)}}); err != nil {
		t.Fatal(err)
	}
	if after := quota(); before != 60.0 || after != 900.0 {
		t.Errorf("the quota was %v and is %v", before, after)
	}
}
