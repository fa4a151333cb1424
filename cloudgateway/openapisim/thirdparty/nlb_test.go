package thirdparty

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	openapi "github.com/alibabacloud-go/darabonba-openapi/v2/client"
	"github.com/alibabacloud-go/tea/dara"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/nlb"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// otherZone adds a vSwitch in a second zone, which a Network Load Balancer needs.
func otherZone(t *testing.T, sim *openapisim.Simulator) {
	t.Helper()
	check(t, sim.Seed(&state.Cloud{VSwitches: map[string]*state.VSwitch{
		"vsw-2": {VpcID: "vpc-1", ZoneID: "cn-hangzhou-i", CidrBlock: "192.168.1.0/24"},
	}}))
}

// strict decodes an answer into a struct of the SDK again, with types that have to be exactly right; the SDK itself is lenient.
func strict(t *testing.T, response interface{ GetHttpContentBytes() []byte }) {
	t.Helper()
	decoded := reflect.New(reflect.TypeOf(response).Elem()).Interface()
	if err := json.Unmarshal(response.GetHttpContentBytes(), decoded); err != nil {
		t.Errorf("%T: %v in %s", response, err, response.GetHttpContentBytes())
	}
}

// place is where a client calls, and what it signs with.
type place struct{ address, scheme, keyID, secret string }

// everywhere runs a test at the cloud, and through the front of a gateway.
func everywhere(t *testing.T, test func(t *testing.T, sim *openapisim.Simulator, at place)) {
	t.Helper()
	t.Run("direct", func(t *testing.T) {
		sim := newCloud(t)
		test(t, sim, place{sim.Endpoint("nlb"), "HTTP", openapisim.DefaultAccessKeyID, openapisim.DefaultAccessKeySecret})
	})
	t.Run("front", func(t *testing.T) {
		f := newFront(t)
		test(t, f.sim, place{f.address, "HTTPS", frontKey, frontSecret})
	})
}

// TestSDKNetworkLoadBalancer makes, reads and deletes a load balancer with the typed client: version 1 of the signature,
// parameters of writes in the form.
func TestSDKNetworkLoadBalancer(t *testing.T) { everywhere(t, sdkNetworkLoadBalancer) }

func sdkNetworkLoadBalancer(t *testing.T, sim *openapisim.Simulator, at place) {
	t.Helper()
	otherZone(t, sim)
	client, err := nlb.NewClientWithOptions(region, sdk.NewConfig().WithScheme(at.scheme),
		credentials.NewAccessKeyCredential(at.keyID, at.secret))
	check(t, err)
	client.Domain = at.address

	create := nlb.CreateCreateLoadBalancerRequest()
	create.VpcId, create.AddressType, create.LoadBalancerName = "vpc-1", "Internet", "a1"
	create.ZoneMappings = &[]nlb.CreateLoadBalancerZoneMappings{{ZoneId: "cn-hangzhou-h", VSwitchId: "vsw-1"},
		{ZoneId: "cn-hangzhou-i", VSwitchId: "vsw-2"}}
	create.DeletionProtectionConfig = nlb.CreateLoadBalancerDeletionProtectionConfig{Enabled: "true"}
	create.Tag = &[]nlb.CreateLoadBalancerTag{{Key: "ack.aliyun.com", Value: "c-1"}}
	made, err := client.CreateLoadBalancer(create)
	check(t, err)
	strict(t, made)

	group := nlb.CreateCreateServerGroupRequest()
	group.VpcId, group.ServerGroupName = "vpc-1", "k8s.80.TCP.web.default.c-1"
	group.HealthCheckConfig = nlb.CreateServerGroupHealthCheckConfig{HealthCheckEnabled: "true", HealthCheckType: "HTTP",
		HealthCheckHttpCode: &[]string{"http_2xx"}}
	grouped, err := client.CreateServerGroup(group)
	check(t, err)
	add := nlb.CreateAddServersToServerGroupRequest()
	add.ServerGroupId = grouped.ServerGroupId
	var all []nlb.AddServersToServerGroupServers
	for n := 1; n <= nodes; n++ {
		all = append(all, nlb.AddServersToServerGroupServers{ServerId: fmt.Sprintf("i-%d", n), ServerType: "Ecs", Port: "30080", Weight: "100"})
	}
	add.Servers = &all
	added, err := client.AddServersToServerGroup(add)
	check(t, err)
	strict(t, added)

	listen := nlb.CreateCreateListenerRequest()
	listen.LoadBalancerId, listen.ListenerProtocol, listen.ListenerPort = made.LoadbalancerId, "TCP", requests.NewInteger(80)
	listen.ServerGroupId, listen.ListenerDescription = grouped.ServerGroupId, "k8s.80.TCP.web.default.c-1"
	listened, err := client.CreateListener(listen)
	check(t, err)

	balancers, err := client.ListLoadBalancers(nlb.CreateListLoadBalancersRequest())
	check(t, err)
	strict(t, balancers)
	get := nlb.CreateGetLoadBalancerAttributeRequest()
	get.LoadBalancerId = made.LoadbalancerId
	shown, err := client.GetLoadBalancerAttribute(get)
	check(t, err)
	strict(t, shown)
	if shown.LoadBalancerStatus != "Active" || len(shown.ZoneMappings) != 2 || !shown.DeletionProtectionConfig.Enabled {
		t.Errorf("the load balancer is %+v", shown)
	}
	groups, err := client.ListServerGroups(nlb.CreateListServerGroupsRequest())
	check(t, err)
	strict(t, groups)
	page := nlb.CreateListServerGroupServersRequest()
	page.ServerGroupId, page.MaxResults = grouped.ServerGroupId, requests.NewInteger(100)
	servers, err := client.ListServerGroupServers(page)
	check(t, err)
	strict(t, servers)
	if len(servers.Servers) != nodes || servers.Servers[0].Port != 30080 {
		t.Errorf("%d servers", len(servers.Servers))
	}
	listeners, err := client.ListListeners(nlb.CreateListListenersRequest())
	check(t, err)
	strict(t, listeners)
	health := nlb.CreateGetListenerHealthStatusRequest()
	health.ListenerId = listened.ListenerId
	checked, err := client.GetListenerHealthStatus(health)
	check(t, err)
	strict(t, checked)
	job := nlb.CreateGetJobStatusRequest()
	job.JobId = listened.JobId
	status, err := client.GetJobStatus(job)
	check(t, err)
	if strict(t, status); status.Status != "Succeeded" {
		t.Errorf("the job is %s", status.Status)
	}

	remove := nlb.CreateDeleteLoadBalancerRequest()
	remove.LoadBalancerId = made.LoadbalancerId
	if _, err := client.DeleteLoadBalancer(remove); code(err) != "OperationDenied.DeletionProtectionEnabled" {
		t.Errorf("a protected load balancer: %v", err)
	}
	protect := nlb.CreateUpdateLoadBalancerProtectionRequest()
	protect.LoadBalancerId, protect.DeletionProtectionEnabled = made.LoadbalancerId, requests.NewBoolean(false)
	_, err = client.UpdateLoadBalancerProtection(protect)
	check(t, err)
	_, err = client.DeleteLoadBalancer(remove)
	check(t, err)
	if _, err := client.GetLoadBalancerAttribute(get); code(err) != "ResourceNotFound.loadBalancer" {
		t.Errorf("a deleted load balancer: %v", err)
	}
	checkCalls(t, sim, "OperationDenied.DeletionProtectionEnabled", "ResourceNotFound.loadBalancer")
}

// callV3 calls NLB as its generated client for the V2 SDKs does: version 3 of the signature, reads with parameters in the query,
// writes with nested ones in the form.
func callV3(t *testing.T, at place, action string, params map[string]any) (map[string]any, error) {
	t.Helper()
	client, err := openapi.NewClient(&openapi.Config{
		AccessKeyId: new(at.keyID), AccessKeySecret: new(at.secret), Endpoint: new(at.address), Protocol: new(at.scheme), RegionId: new(region),
	})
	check(t, err)
	request := &openapi.OpenApiRequest{}
	if strings.HasPrefix(action, "Get") || action == "ListAsynJobs" || action == "ListListeners" {
		request.Query = map[string]*string{}
		for name, value := range params {
			request.Query[name] = new(fmt.Sprint(value))
		}
	} else {
		request.Body = params
	}
	answer, err := client.CallApi(&openapi.Params{
		Action: new(action), Version: new("2022-04-30"), Protocol: new(at.scheme), Pathname: new("/"), Method: new("POST"), AuthType: new("AK"),
		Style: new("RPC"), ReqBodyType: new("formData"), BodyType: new("json"),
	}, request, &dara.RuntimeOptions{})
	body, _ := answer["body"].(map[string]any)
	return body, err
}

// TestTeaNetworkLoadBalancer runs the life of a load balancer through the runtime of the generated clients, polling its jobs.
func TestTeaNetworkLoadBalancer(t *testing.T) {
	t.Parallel()
	everywhere(t, teaNetworkLoadBalancer)
}

func teaNetworkLoadBalancer(t *testing.T, sim *openapisim.Simulator, at place) {
	t.Helper()
	otherZone(t, sim)
	must := func(action string, params map[string]any) map[string]any {
		t.Helper()
		answer, err := callV3(t, at, action, params)
		if err != nil {
			t.Fatalf("%s: %v", action, err)
		}
		return answer
	}
	job := func(action string, params map[string]any) map[string]any {
		t.Helper()
		answer := must(action, params)
		listed := must("ListAsynJobs", map[string]any{"JobIds.1": text(t, answer, "JobId")})
		if got := text(t, listed, "Jobs", "Status"); got != "Succeeded" {
			t.Errorf("the job of %s is %s", action, got)
		}
		return answer
	}
	create := map[string]any{
		"VpcId": "vpc-1", "AddressType": "Intranet", "LoadBalancerName": "tea.ü", "ClientToken": "t",
		"ZoneMappings": []any{
			map[string]any{"ZoneId": "cn-hangzhou-h", "VSwitchId": "vsw-1"}, map[string]any{"ZoneId": "cn-hangzhou-i", "VSwitchId": "vsw-2"},
		},
		"Tag": []any{map[string]any{"Key": "k", "Value": "* ~+ü"}},
	}
	id := text(t, job("CreateLoadBalancer", create), "LoadbalancerId")
	if again := text(t, must("CreateLoadBalancer", create), "LoadbalancerId"); again != id {
		t.Errorf("the same token made %s after %s", again, id)
	}
	group := text(t, job("CreateServerGroup", map[string]any{
		"VpcId": "vpc-1", "ServerGroupName": "group", "HealthCheckConfig": map[string]any{"HealthCheckInterval": 10},
	}), "ServerGroupId")
	var servers []any
	for n := 1; n <= nodes; n++ {
		servers = append(servers, map[string]any{"ServerId": fmt.Sprintf("i-%d", n), "ServerType": "Ecs", "Port": 80, "Weight": 7})
	}
	job("AddServersToServerGroup", map[string]any{"ServerGroupId": group, "Servers": servers})
	listener := text(t, job("CreateListener", map[string]any{
		"LoadBalancerId": id, "ListenerProtocol": "TCP", "ListenerPort": 80, "ServerGroupId": group,
		"ProxyProtocolV2Config": `{"Ppv2VpcIdEnabled":true}`,
	}), "ListenerId")
	if got := text(t, must("GetListenerAttribute", map[string]any{"ListenerId": listener}), "ListenerStatus"); got != "Running" {
		t.Errorf("the listener is %s", got)
	}
	shown := must("ListServerGroups", map[string]any{"ServerGroupIds": []any{group}})
	if got := text(t, shown, "ServerGroups", "HealthCheck", "HealthCheckInterval"); got != "10" {
		t.Errorf("the interval is %s", got)
	}
	if got := text(t, must("ListServerGroupServers", map[string]any{"ServerGroupId": group, "MaxResults": 1}),
		"TotalCount"); got != fmt.Sprint(nodes) {
		t.Errorf("%s servers", got)
	}
	job("DeleteListener", map[string]any{"ListenerId": listener})
	job("DeleteServerGroup", map[string]any{"ServerGroupId": group})
	job("DeleteLoadBalancer", map[string]any{"LoadBalancerId": id})
	if _, err := callV3(t, at, "GetLoadBalancerAttribute",
		map[string]any{"LoadBalancerId": id}); teaCode(err) != "ResourceNotFound.loadBalancer" {
		t.Errorf("a deleted load balancer: %v", err)
	}
	checkCalls(t, sim, "ResourceNotFound.loadBalancer")
}
