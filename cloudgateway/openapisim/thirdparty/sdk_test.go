package thirdparty

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	sdkerrors "github.com/aliyun/alibaba-cloud-sdk-go/sdk/errors"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/ecs"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/quotas"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/slb"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/vpc"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// options are what the typed clients of the SDK v1 are made with. The SDK fills package variables at first use without a lock
// (services/slb/endpoint.go), so that its tests run one after the other.
func options(t *testing.T) (string, *sdk.Config, *credentials.AccessKeyCredential) {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return region, sdk.NewConfig().WithScheme("HTTP").WithHttpTransport(transport),
		credentials.NewAccessKeyCredential(openapisim.DefaultAccessKeyID, openapisim.DefaultAccessKeySecret)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func code(err error) string {
	if failure, ok := errors.AsType[sdkerrors.Error](err); ok {
		return failure.ErrorCode()
	}
	return ""
}

// TestSDKBalancer makes, finds and deletes a load balancer with the calls of the existing controllers, in their order.
func TestSDKBalancer(t *testing.T) {
	sim := newCloud(t)
	client, err := slb.NewClientWithOptions(options(t))
	check(t, err)
	client.Domain = sim.Endpoint("slb")
	const tags = `[{"TagKey":"kubernetes.do.not.delete","TagValue":"a1"}]`

	find := slb.CreateDescribeLoadBalancersRequest()
	find.RegionId, find.Tags = region, tags
	found, err := client.DescribeLoadBalancers(find)
	check(t, err)
	if n := len(found.LoadBalancers.LoadBalancer); n != 0 {
		t.Fatalf("%d load balancers in an empty cloud", n)
	}

	create := slb.CreateCreateLoadBalancerRequest()
	create.LoadBalancerName, create.AddressType, create.InstanceChargeType = "a1", "internet", "PayByCLCU"
	create.DeleteProtection, create.ModificationProtectionStatus, create.ModificationProtectionReason = "on",
		"ConsoleProtection", "managed.by.ack"
	create.ClientToken = "token-1"
	create.Tag = &[]slb.CreateLoadBalancerTag{{Key: "kubernetes.do.not.delete", Value: "a1"}, {Key: "ack.aliyun.com", Value: "c-1"}}
	made, err := client.CreateLoadBalancer(create)
	check(t, err)
	again, err := client.CreateLoadBalancer(create)
	check(t, err)
	if made.LoadBalancerId == "" || again.LoadBalancerId != made.LoadBalancerId {
		t.Errorf("the same token made %s and %s", made.LoadBalancerId, again.LoadBalancerId)
	}
	found, err = client.DescribeLoadBalancers(find)
	check(t, err)
	if all := found.LoadBalancers.LoadBalancer; len(all) != 1 || all[0].Address != made.Address ||
		all[0].LoadBalancerId != made.LoadBalancerId {
		t.Errorf("found %+v", all)
	}
	list := slb.CreateListTagResourcesRequest()
	list.ResourceType, list.ResourceId = "instance", &[]string{made.LoadBalancerId}
	listed, err := client.ListTagResources(list)
	check(t, err)
	if n := len(listed.TagResources.TagResource); n != 2 {
		t.Errorf("%d tags, want 2", n)
	}

	remove := slb.CreateDeleteLoadBalancerRequest()
	remove.LoadBalancerId = made.LoadBalancerId
	if _, err = client.DeleteLoadBalancer(remove); code(err) != "OperationDenied.DeleteProtectionIsOn" {
		t.Errorf("a protected load balancer: %v", err)
	}
	protect := slb.CreateSetLoadBalancerDeleteProtectionRequest()
	protect.LoadBalancerId, protect.DeleteProtection = made.LoadBalancerId, "off"
	_, err = client.SetLoadBalancerDeleteProtection(protect)
	check(t, err)
	_, err = client.DeleteLoadBalancer(remove)
	check(t, err)
	show := slb.CreateDescribeLoadBalancerAttributeRequest()
	show.LoadBalancerId = made.LoadBalancerId
	if _, err = client.DescribeLoadBalancerAttribute(show); code(err) != "InvalidLoadBalancerId.NotFound" {
		t.Errorf("a deleted load balancer: %v", err)
	}
}

// TestSDKServers fills a group with 40 servers per call, and puts a listener in front of it.
func TestSDKServers(t *testing.T) {
	sim := newCloud(t)
	client, err := slb.NewClientWithOptions(options(t))
	check(t, err)
	client.Domain = sim.Endpoint("slb")
	balancer := slb.CreateCreateLoadBalancerRequest()
	balancer.InstanceChargeType = "PayByCLCU"
	made, err := client.CreateLoadBalancer(balancer)
	check(t, err)

	create := slb.CreateCreateVServerGroupRequest()
	create.LoadBalancerId, create.VServerGroupName = made.LoadBalancerId, "k8s/30080/web/default/c-1"
	group, err := client.CreateVServerGroup(create)
	check(t, err)
	for _, batch := range [][2]int{{1, 40}, {41, nodes}} {
		add := slb.CreateAddVServerGroupBackendServersRequest()
		add.VServerGroupId, add.BackendServers = group.VServerGroupId, servers(batch[0], batch[1], 30080)
		_, err = client.AddVServerGroupBackendServers(add)
		check(t, err)
	}
	show := slb.CreateDescribeVServerGroupAttributeRequest()
	show.VServerGroupId = group.VServerGroupId
	shown, err := client.DescribeVServerGroupAttribute(show)
	check(t, err)
	all := shown.BackendServers.BackendServer
	if len(all) != nodes {
		t.Fatalf("%d servers, want %d", len(all), nodes)
	}
	if s := all[0]; s.Port != 30080 || s.Weight != 100 || s.Type != "ecs" || s.Description != "k8s/80/web/default/c-1" {
		t.Errorf("server %+v", s)
	}
	set := slb.CreateSetVServerGroupAttributeRequest()
	set.VServerGroupId, set.BackendServers = group.VServerGroupId, servers(1, 40, 30080)
	_, err = client.SetVServerGroupAttribute(set)
	check(t, err)
	remove := slb.CreateRemoveVServerGroupBackendServersRequest()
	remove.VServerGroupId, remove.BackendServers = group.VServerGroupId, servers(1, 40, 30080)
	_, err = client.RemoveVServerGroupBackendServers(remove)
	check(t, err)

	listen := slb.CreateCreateLoadBalancerTCPListenerRequest()
	listen.LoadBalancerId, listen.VServerGroupId, listen.Description = made.LoadBalancerId, group.VServerGroupId, "k8s/80/web/default/c-1"
	listen.ListenerPort, listen.Bandwidth, listen.Scheduler = requests.NewInteger(80), requests.NewInteger(-1), "rr"
	listen.HealthCheckInterval = requests.NewInteger(4) // healthCheckInterval on the wire
	_, err = client.CreateLoadBalancerTCPListener(listen)
	check(t, err)
	start := slb.CreateStartLoadBalancerListenerRequest()
	start.LoadBalancerId, start.ListenerPort, start.ListenerProtocol = made.LoadBalancerId, requests.NewInteger(80), "tcp"
	_, err = client.StartLoadBalancerListener(start)
	check(t, err)
	describe := slb.CreateDescribeLoadBalancerListenersRequest()
	describe.LoadBalancerId, describe.MaxResults = &[]string{made.LoadBalancerId}, requests.NewInteger(50)
	listeners, err := client.DescribeLoadBalancerListeners(describe)
	check(t, err)
	if len(listeners.Listeners) != 1 {
		t.Fatalf("listeners %+v", listeners.Listeners)
	}
	if l := listeners.Listeners[0]; l.Status != "running" || l.ListenerPort != 80 || l.Scheduler != "rr" || l.Bandwidth != -1 ||
		l.TCPListenerConfig.HealthCheckInterval != 4 || l.VServerGroupId != group.VServerGroupId {
		t.Errorf("listener %+v", l)
	}
	checkCalls(t, sim)
}

// TestSDKRoutes makes two routes with one call and reads them with pages of 500, which the documents don't promise.
func TestSDKRoutes(t *testing.T) {
	sim := newCloud(t)
	client, err := vpc.NewClientWithOptions(options(t))
	check(t, err)
	client.Domain = sim.Endpoint("vpc")
	table := tableID(sim)

	create := vpc.CreateCreateRouteEntriesRequest()
	create.RouteEntries = &[]vpc.CreateRouteEntriesRouteEntries{
		{RouteTableId: table, DstCidrBlock: "10.0.1.0/24", NextHop: "i-1", NextHopType: "Instance", Name: "one"},
		{RouteTableId: table, DstCidrBlock: "10.0.2.0/24", NextHop: "i-2", NextHopType: "Instance", Name: "two"},
	}
	made, err := client.CreateRouteEntries(create)
	check(t, err)
	if made.SuccessCount != 2 || len(made.RouteEntryIds) != 2 {
		t.Errorf("made %+v", made)
	}
	list := vpc.CreateDescribeRouteEntryListRequest()
	list.RouteTableId, list.RouteEntryType, list.MaxResult = table, "Custom", requests.NewInteger(500)
	listed, err := client.DescribeRouteEntryList(list)
	check(t, err)
	if all := listed.RouteEntrys.RouteEntry; len(all) != 2 || all[0].NextHops.NextHop[0].NextHopId != all[0].InstanceId ||
		all[0].Status != "Available" {
		t.Errorf("routes %+v", all)
	}
	remove := vpc.CreateDeleteRouteEntryRequest()
	remove.RouteTableId, remove.DestinationCidrBlock, remove.NextHopId = table, "10.0.1.0/24", "i-1"
	_, err = client.DeleteRouteEntry(remove)
	check(t, err)
	vswitches := vpc.CreateDescribeVSwitchesRequest()
	vswitches.VpcId = "vpc-1"
	shown, err := client.DescribeVSwitches(vswitches)
	check(t, err)
	if all := shown.VSwitches.VSwitch; len(all) != 1 || all[0].ZoneId != "cn-hangzhou-h" {
		t.Errorf("vSwitches %+v", all)
	}
	checkCalls(t, sim)
}

// TestSDKInstances reads instances and their interfaces, and deletes an instance.
func TestSDKInstances(t *testing.T) {
	sim := newCloud(t)
	client, err := ecs.NewClientWithOptions(options(t))
	check(t, err)
	client.Domain = sim.Endpoint("ecs")

	list := ecs.CreateDescribeInstancesRequest()
	list.InstanceIds, list.PageSize = `["i-1","i-2","i-unknown"]`, requests.NewInteger(50)
	listed, err := client.DescribeInstances(list)
	check(t, err)
	if all := listed.Instances.Instance; len(all) != 2 ||
		all[0].VpcAttributes.PrivateIpAddress.IpAddress[0] != "192.168.0.11" || all[0].Status != "Running" {
		t.Fatalf("instances %+v", all)
	}
	interfaces := ecs.CreateDescribeNetworkInterfacesRequest()
	interfaces.VpcId, interfaces.PrivateIpAddress = "vpc-1", &[]string{"192.168.0.11", "192.168.0.12"}
	found, err := client.DescribeNetworkInterfaces(interfaces)
	check(t, err)
	if n := len(found.NetworkInterfaceSets.NetworkInterfaceSet); n != 2 {
		t.Fatalf("%d interfaces, want 2", n)
	}
	remove := ecs.CreateDeleteInstanceRequest()
	remove.InstanceId, remove.Force = "i-1", requests.NewBoolean(true)
	_, err = client.DeleteInstance(remove)
	check(t, err)
	listed, err = client.DescribeInstances(list)
	check(t, err)
	if listed.TotalCount != 1 {
		t.Errorf("%d instances, want 1", listed.TotalCount)
	}
	checkCalls(t, sim)
}

// TestSDKXML reads answers and errors in XML, lists of structs and of texts among them.
func TestSDKXML(t *testing.T) {
	sim := newCloud(t)
	balancers, err := slb.NewClientWithOptions(options(t))
	check(t, err)
	balancers.Domain = sim.Endpoint("slb")
	create := slb.CreateCreateLoadBalancerRequest()
	create.AcceptFormat = "XML"
	create.InstanceChargeType, create.LoadBalancerName = "PayByCLCU", "ü<&>"
	create.Tag = &[]slb.CreateLoadBalancerTag{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}
	made, err := balancers.CreateLoadBalancer(create)
	check(t, err)
	find := slb.CreateDescribeLoadBalancersRequest()
	find.AcceptFormat = "XML"
	found, err := balancers.DescribeLoadBalancers(find)
	check(t, err)
	if all := found.LoadBalancers.LoadBalancer; found.TotalCount != 1 || len(all) != 1 || all[0].LoadBalancerId != made.LoadBalancerId ||
		all[0].LoadBalancerName != "ü<&>" || len(all[0].Tags.Tag) != 2 {
		t.Errorf("found %+v", all)
	}
	show := slb.CreateDescribeLoadBalancerAttributeRequest()
	show.AcceptFormat, show.LoadBalancerId = "XML", "lb-unknown"
	if _, err = balancers.DescribeLoadBalancerAttribute(show); err == nil ||
		!strings.Contains(err.Error(), "<Code>InvalidLoadBalancerId.NotFound</Code>") {
		t.Errorf("an unknown load balancer: %v", err)
	}

	instances, err := ecs.NewClientWithOptions(options(t))
	check(t, err)
	instances.Domain = sim.Endpoint("ecs")
	list := ecs.CreateDescribeInstancesRequest()
	list.AcceptFormat, list.InstanceIds = "XML", `["i-1","i-2"]`
	listed, err := instances.DescribeInstances(list)
	check(t, err)
	if all := listed.Instances.Instance; len(all) != 2 ||
		all[0].VpcAttributes.PrivateIpAddress.IpAddress[0] != "192.168.0.11" || !all[0].IoOptimized {
		t.Errorf("instances %+v", all)
	}
}

// TestSDKQuotas reads rate limits page by page. The typed client sends everything in the form.
func TestSDKQuotas(t *testing.T) {
	sim := newCloud(t)
	client, err := quotas.NewClientWithOptions(options(t))
	check(t, err)
	client.Domain = sim.Endpoint("quotas")
	list := quotas.CreateListProductQuotasRequest()
	list.ProductCode, list.QuotaCategory, list.MaxResults = "slb", "FlowControl", "100"
	list.Dimensions = &[]quotas.ListProductQuotasDimensions{{Key: "regionId", Value: region}}
	limits, total := map[string]string{}, 0
	for next := true; next; next = list.NextToken != "" {
		page, err := client.ListProductQuotas(list)
		check(t, err)
		for _, q := range page.Quotas {
			limits[q.QuotaActionCode] = fmt.Sprint(q.TotalQuota, "/", q.Period.PeriodValue, " ", q.Period.PeriodUnit, ", ", q.Dimensions["regionId"])
		}
		list.NextToken, total = page.NextToken, page.TotalCount
	}
	if len(limits) != total || limits["CreateLoadBalancer"] != "60/60 second, "+region {
		t.Errorf("%d of %d limits, that of CreateLoadBalancer %q", len(limits), total, limits["CreateLoadBalancer"])
	}
}
