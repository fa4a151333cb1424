package thirdparty

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/denverdino/aliyungo/common"
	"github.com/denverdino/aliyungo/ecs"
	"github.com/denverdino/aliyungo/metadata"
	"github.com/denverdino/aliyungo/sts"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/openapisimtest"
)

// aliyungoNetwork returns the client of a product with the types of package ecs, which has those of VPC, too.
func aliyungoNetwork(sim *openapisim.Simulator, product string) *ecs.Client {
	client := ecs.NewClientWithEndpoint("http://"+sim.Endpoint(product), openapisim.DefaultAccessKeyID, openapisim.DefaultAccessKeySecret)
	client.SetVersion(versions()[product])
	client.SetRegionID(region)
	return client
}

// TestAliyungoNetwork makes a VPC with everything in it, waits for each, and takes it down.
func TestAliyungoNetwork(t *testing.T) {
	t.Parallel()
	sim := newCloud(t)
	client := aliyungoNetwork(sim, "vpc")
	vpc, err := client.CreateVpc(&ecs.CreateVpcArgs{RegionId: region, CidrBlock: "172.16.0.0/16", VpcName: "old",
		ClientToken: client.GenerateClientToken()})
	check(t, err)
	check(t, client.WaitForVpcAvailable(region, vpc.VpcId, 0))
	vswitch, err := client.CreateVSwitch(&ecs.CreateVSwitchArgs{VpcId: vpc.VpcId, ZoneId: "cn-hangzhou-h",
		CidrBlock: "172.16.1.0/24", VSwitchName: "a"})
	check(t, err)
	check(t, client.WaitForVSwitchAvailable(vpc.VpcId, vswitch, 0))
	vpcs, pages, err := client.DescribeVpcs(&ecs.DescribeVpcsArgs{RegionId: region, VpcId: vpc.VpcId})
	check(t, err)
	if len(vpcs) != 1 || vpcs[0].VRouterId != vpc.VRouterId || vpcs[0].VSwitchIds.VSwitchId[0] != vswitch || pages.TotalCount != 1 {
		t.Errorf("VPCs %+v", vpcs)
	}
	vswitches, _, err := client.DescribeVSwitches(&ecs.DescribeVSwitchesArgs{VpcId: vpc.VpcId})
	check(t, err)
	if len(vswitches) != 1 || vswitches[0].AvailableIpAddressCount != 252 || time.Time(vswitches[0].CreationTime).IsZero() {
		t.Errorf("vSwitches %+v", vswitches)
	}
	check(t, client.DeleteVSwitch(vswitch))
	check(t, client.DeleteVpc(vpc.VpcId))
	refused(t, client.DeleteVpc(vpc.VpcId), 404, "InvalidVpcId.NotFound")

	table := tableID(sim)
	route := &ecs.CreateRouteEntryArgs{RouteTableId: table, DestinationCidrBlock: "10.0.1.0/24",
		NextHopType: ecs.NextHopIntance, NextHopId: "i-1"}
	check(t, client.CreateRouteEntry(route))
	tables, _, err := client.DescribeRouteTables(&ecs.DescribeRouteTablesArgs{RouteTableId: table})
	check(t, err)
	if len(tables) != 1 || len(tables[0].RouteEntrys.RouteEntry) == 0 {
		t.Fatalf("route tables %+v", tables)
	}
	check(t, client.WaitForAllRouteEntriesAvailable(tables[0].VRouterId, table, 0))
	check(t, client.DeleteRouteEntry(&ecs.DeleteRouteEntryArgs{RouteTableId: table, DestinationCidrBlock: "10.0.1.0/24", NextHopId: "i-1"}))
	route.NextHopId = "i-unknown"
	refused(t, client.CreateRouteEntry(route), 400, "InvalidNextHop.NotFound")
	checkCalls(t, sim, "InvalidVpcId.NotFound", "InvalidNextHop.NotFound")
}

// TestAliyungoAddresses binds an EIP to an instance and reads it from there.
func TestAliyungoAddresses(t *testing.T) {
	t.Parallel()
	sim := newCloud(t)
	client := aliyungoNetwork(sim, "vpc")
	address, eip, err := client.AllocateEipAddress(&ecs.AllocateEipAddressArgs{RegionId: region, Bandwidth: 5,
		InternetChargeType: common.PayByTraffic})
	check(t, err)
	check(t, client.WaitForEip(region, eip, ecs.EipStatusAvailable, 0))
	check(t, client.AssociateEipAddress(eip, "i-1"))
	check(t, client.WaitForEip(region, eip, ecs.EipStatusInUse, 0))
	check(t, client.ModifyEipAddressAttribute(eip, 10))
	addresses, _, err := client.DescribeEipAddresses(&ecs.DescribeEipAddressesArgs{RegionId: region,
		AssociatedInstanceType: ecs.AssociatedInstanceTypeEcsInstance, AssociatedInstanceId: "i-1"})
	check(t, err)
	if len(addresses) != 1 || addresses[0].IpAddress != address || addresses[0].Bandwidth != "10" {
		t.Errorf("addresses %+v", addresses)
	}
	instances, _, err := aliyungoNetwork(sim, "ecs").DescribeInstances(&ecs.DescribeInstancesArgs{RegionId: region, InstanceIds: `["i-1"]`})
	check(t, err)
	if len(instances) != 1 || instances[0].EipAddress.IpAddress != address ||
		instances[0].EipAddress.AllocationId != eip || instances[0].EipAddress.Bandwidth != 10 {
		t.Errorf("instances %+v", instances)
	}
	check(t, client.UnassociateEipAddress(eip, "i-1"))
	check(t, client.WaitForEip(region, eip, ecs.EipStatusAvailable, 0))
	check(t, client.ReleaseEipAddress(eip))
	checkCalls(t, sim)
}

// TestAliyungoInstances reads instances and interfaces page by page, and changes security groups.
func TestAliyungoInstances(t *testing.T) {
	t.Parallel()
	sim := newCloud(t)
	client := aliyungoNetwork(sim, "ecs")
	seen := map[string]bool{}
	for page := (&common.Pagination{PageSize: 20}); page != nil; {
		instances, pages, err := client.DescribeInstances(&ecs.DescribeInstancesArgs{RegionId: region, Pagination: *page})
		check(t, err)
		for _, i := range instances {
			seen[i.InstanceId] = true
		}
		page = pages.NextPage()
	}
	if len(seen) != nodes {
		t.Errorf("%d instances, want %d", len(seen), nodes)
	}
	statuses, _, err := client.DescribeInstanceStatus(&ecs.DescribeInstanceStatusArgs{RegionId: region,
		Pagination: common.Pagination{PageSize: 50}})
	check(t, err)
	if len(statuses) != nodes || statuses[0].Status != ecs.Running {
		t.Errorf("%d statuses, want %d that are Running", len(statuses), nodes)
	}
	interfaces, err := client.DescribeNetworkInterfaces(&ecs.DescribeNetworkInterfacesArgs{RegionId: region, InstanceId: "i-1"})
	check(t, err)
	if all := interfaces.NetworkInterfaceSets.NetworkInterfaceSet; len(all) != 1 ||
		all[0].PrivateIpAddress != "192.168.0.11" || all[0].MacAddress == "" {
		t.Fatalf("interfaces %+v", all)
	}
	check(t, client.WaitForNetworkInterface(region, interfaces.NetworkInterfaceSets.NetworkInterfaceSet[0].NetworkInterfaceId, "InUse", 0))
	regions, err := client.DescribeRegions()
	check(t, err)
	zones, err := client.DescribeZones(region)
	check(t, err)
	if len(regions) != 1 || len(zones) == 0 || zones[0].ZoneId == "" {
		t.Errorf("regions %+v, zones %+v", regions, zones)
	}

	group, err := client.CreateSecurityGroup(&ecs.CreateSecurityGroupArgs{RegionId: region, VpcId: "vpc-1", SecurityGroupName: "web"})
	check(t, err)
	in := ecs.AuthorizeSecurityGroupArgs{
		RegionId: region, SecurityGroupId: group, IpProtocol: ecs.IpProtocolTCP, PortRange: "80/80", SourceCidrIp: "0.0.0.0/0",
		Policy: ecs.PermissionPolicyAccept, Priority: 1, NicType: ecs.NicTypeIntranet,
	}
	check(t, client.AuthorizeSecurityGroup(&in))
	out := ecs.AuthorizeSecurityGroupEgressArgs{RegionId: region, SecurityGroupId: group, IpProtocol: ecs.IpProtocolAll,
		PortRange: "-1/-1", DestCidrIp: "10.0.0.0/8"}
	check(t, client.AuthorizeSecurityGroupEgress(&out))
	check(t, client.JoinSecurityGroup("i-1", group))
	check(t, client.ModifySecurityGroupAttribute(&ecs.ModifySecurityGroupAttributeArgs{RegionId: region,
		SecurityGroupId: group, SecurityGroupName: "new"}))
	// Not DescribeSecurityGroupAttribute: the documents have priorities as texts, this client wants numbers.
	groups, _, err := client.DescribeSecurityGroups(&ecs.DescribeSecurityGroupsArgs{RegionId: region, VpcId: "vpc-1"})
	check(t, err)
	if len(groups) != 1 || groups[0].SecurityGroupName != "new" || time.Time(groups[0].CreationTime).IsZero() {
		t.Errorf("security groups %+v", groups)
	}
	check(t, client.RevokeSecurityGroup(&ecs.RevokeSecurityGroupArgs{AuthorizeSecurityGroupArgs: in}))
	check(t, client.RevokeSecurityGroupEgress(&ecs.RevokeSecurityGroupEgressArgs{AuthorizeSecurityGroupEgressArgs: out}))
	refused(t, client.DeleteSecurityGroup(region, group), 403, "DependencyViolation")
	refused(t, client.LeaveSecurityGroup("i-1", group), 403, "InstanceLastSecurityGroup")
	other, err := client.CreateSecurityGroup(&ecs.CreateSecurityGroupArgs{RegionId: region, VpcId: "vpc-1", SecurityGroupName: "other"})
	check(t, err)
	check(t, client.JoinSecurityGroup("i-1", other))
	check(t, client.LeaveSecurityGroup("i-1", group))
	check(t, client.DeleteSecurityGroup(region, group))
	refused(t, client.DeleteInstance("i-1"), 403, "IncorrectInstanceStatus") // it runs, and this client knows no force
	checkCalls(t, sim, "DependencyViolation", "InstanceLastSecurityGroup", "IncorrectInstanceStatus")
}

// TestAliyungoCredentials takes the keys of the instance's role from the metadata service, finds the products by the Location
// service, and assumes a role. This client takes their addresses from the environment, so that the test can't run in parallel.
func TestAliyungoCredentials(t *testing.T) {
	sim := newCloud(t)
	t.Setenv("METADATA_ENDPOINT", "http://"+sim.Endpoint("metadata"))
	t.Setenv("LOCATION_ENDPOINT", "http://"+sim.Endpoint("location"))
	t.Setenv("STS_ENDPOINT", "http://"+sim.Endpoint("sts"))
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	meta := metadata.NewMetaData(&http.Client{Transport: transport})
	for name, read := range map[string]func() (string, error){
		region: meta.Region, "cn-hangzhou-h": meta.Zone, "vpc-1": meta.VpcID, "vsw-1": meta.VswitchID, "192.168.0.0/16": meta.VpcCIDRBlock,
		"i-1": meta.InstanceID, "192.168.0.11": meta.PrivateIPv4, "1000000000000001": meta.OwnerAccountID,
	} {
		if got, err := read(); err != nil || got != name {
			t.Errorf("metadata %q, %v, want %q", got, err, name)
		}
	}
	role, err := meta.RoleName()
	check(t, err)
	keys, err := meta.RamRoleToken(role)
	check(t, err)
	if keys.Code != "Success" || !keys.Expiration.After(time.Now()) || !keys.LastUpdated.Before(time.Now().Add(time.Second)) {
		t.Errorf("keys of %s from %s to %s, %s", role, keys.LastUpdated, keys.Expiration, keys.Code)
	}

	identity, err := sts.NewClientWithSecurityToken(keys.AccessKeyId, keys.AccessKeySecret, keys.SecurityToken).GetCallerIdentity()
	check(t, err)
	if !strings.HasPrefix(identity.Arn, "acs:ram::1000000000000001:assumed-role/") {
		t.Errorf("identity %+v", identity)
	}
	assumed, err := sts.NewClient(openapisim.DefaultAccessKeyID, openapisim.DefaultAccessKeySecret).AssumeRole(sts.AssumeRoleRequest{
		RoleArn: "acs:ram::1000000000000001:role/reader", RoleSessionName: "session", DurationSeconds: 900,
	})
	check(t, err)
	client := ecs.NewECSClientWithSecurityToken(assumed.Credentials.AccessKeyId, assumed.Credentials.AccessKeySecret,
		assumed.Credentials.SecurityToken, region)
	if _, err := client.DescribeRegions(); err != nil { // finds ECS by the Location service
		t.Error(err)
	}
	client.SetSecurityToken("wrong")
	_, err = client.DescribeRegions()
	refused(t, err, 400, "InvalidSecurityToken.Malformed")
	client.SetSecurityToken(assumed.Credentials.SecurityToken)
	client.SetAccessKeySecret("wrong")
	_, err = client.DescribeRegions()
	refused(t, err, 400, "SignatureDoesNotMatch")
	client.SetAccessKeyId("LTAIunknown")
	_, err = client.DescribeRegions()
	refused(t, err, 404, "InvalidAccessKeyId.NotFound")
}

// TestAliyungoExpiry uses keys of the instance's role after their time, and gets new ones.
func TestAliyungoExpiry(t *testing.T) {
	var later atomic.Int64
	sim := openapisimtest.New(t, openapisim.Config{
		SessionDuration: 5 * time.Minute, Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
	})
	t.Setenv("METADATA_ENDPOINT", "http://"+sim.Endpoint("metadata"))
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	meta := metadata.NewMetaData(&http.Client{Transport: transport})
	ask := func(keys metadata.RoleAuth) error {
		client := sts.NewClientWithEndpointAndSecurityToken("http://"+sim.Endpoint("sts"), keys.AccessKeyId,
			keys.AccessKeySecret, keys.SecurityToken)
		_, err := client.GetCallerIdentity()
		return err
	}
	keys, err := meta.RamRoleToken("KubernetesWorkerRole")
	check(t, err)
	check(t, ask(keys))
	later.Store(int64(6 * time.Minute)) // the clocks of client and cloud may be 15 minutes apart
	refused(t, ask(keys), 400, "InvalidSecurityToken.Expired")
	keys, err = meta.RamRoleToken("KubernetesWorkerRole")
	check(t, err)
	check(t, ask(keys))
}
