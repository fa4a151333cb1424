package thirdparty

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/nlb"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// nlbAnswers are the structs into which the SDK decodes the answers of NLB, by action. It has none for ListAsynJobs.
func nlbAnswers() map[string]any {
	return map[string]any{
		"AddServersToServerGroup":                      nlb.AddServersToServerGroupResponse{},
		"AttachCommonBandwidthPackageToLoadBalancer":   nlb.AttachCommonBandwidthPackageToLoadBalancerResponse{},
		"CreateListener":                               nlb.CreateListenerResponse{},
		"CreateLoadBalancer":                           nlb.CreateLoadBalancerResponse{},
		"CreateSecurityPolicy":                         nlb.CreateSecurityPolicyResponse{},
		"CreateServerGroup":                            nlb.CreateServerGroupResponse{},
		"DeleteListener":                               nlb.DeleteListenerResponse{},
		"DeleteLoadBalancer":                           nlb.DeleteLoadBalancerResponse{},
		"DeleteSecurityPolicy":                         nlb.DeleteSecurityPolicyResponse{},
		"DeleteServerGroup":                            nlb.DeleteServerGroupResponse{},
		"DescribeRegions":                              nlb.DescribeRegionsResponse{},
		"DescribeZones":                                nlb.DescribeZonesResponse{},
		"DetachCommonBandwidthPackageFromLoadBalancer": nlb.DetachCommonBandwidthPackageFromLoadBalancerResponse{},
		"GetJobStatus":                                 nlb.GetJobStatusResponse{},
		"GetListenerAttribute":                         nlb.GetListenerAttributeResponse{},
		"GetListenerHealthStatus":                      nlb.GetListenerHealthStatusResponse{},
		"GetLoadBalancerAttribute":                     nlb.GetLoadBalancerAttributeResponse{},
		"ListListenerCertificates":                     nlb.ListListenerCertificatesResponse{},
		"ListListeners":                                nlb.ListListenersResponse{},
		"ListLoadBalancers":                            nlb.ListLoadBalancersResponse{},
		"ListSecurityPolicy":                           nlb.ListSecurityPolicyResponse{},
		"ListServerGroupServers":                       nlb.ListServerGroupServersResponse{},
		"ListServerGroups":                             nlb.ListServerGroupsResponse{},
		"ListSystemSecurityPolicy":                     nlb.ListSystemSecurityPolicyResponse{},
		"ListTagResources":                             nlb.ListTagResourcesResponse{},
		"LoadBalancerJoinSecurityGroup":                nlb.LoadBalancerJoinSecurityGroupResponse{},
		"LoadBalancerLeaveSecurityGroup":               nlb.LoadBalancerLeaveSecurityGroupResponse{},
		"MoveResourceGroup":                            nlb.MoveResourceGroupResponse{},
		"RemoveServersFromServerGroup":                 nlb.RemoveServersFromServerGroupResponse{},
		"StartListener":                                nlb.StartListenerResponse{},
		"StopListener":                                 nlb.StopListenerResponse{},
		"TagResources":                                 nlb.TagResourcesResponse{},
		"UntagResources":                               nlb.UntagResourcesResponse{},
		"UpdateListenerAttribute":                      nlb.UpdateListenerAttributeResponse{},
		"UpdateLoadBalancerAttribute":                  nlb.UpdateLoadBalancerAttributeResponse{},
		"UpdateLoadBalancerProtection":                 nlb.UpdateLoadBalancerProtectionResponse{},
		"UpdateLoadBalancerZones":                      nlb.UpdateLoadBalancerZonesResponse{},
		"UpdateServerGroupAttribute":                   nlb.UpdateServerGroupAttributeResponse{},
		"UpdateServerGroupServersAttribute":            nlb.UpdateServerGroupServersAttributeResponse{},
		"UpdateLoadBalancerAddressTypeConfig":          nlb.UpdateLoadBalancerAddressTypeConfigResponse{},
		"UpdateSecurityPolicyAttribute":                nlb.UpdateSecurityPolicyAttributeResponse{},
	}
}

// comparison compares answers with structs, field by field. A field that only some items of a list have is given.
type comparison struct {
	given, lacking map[string]bool
	unknown        map[string]bool // in an answer, but not in the struct
	kinds          []string        // values of another kind than that of the field
}

func (c *comparison) compare(path string, answer any, of reflect.Type) {
	switch of.Kind() {
	case reflect.Struct:
		object, _ := answer.(map[string]any)
		for field := range of.Fields() {
			name := field.Tag.Get("json")
			value, ok := object[name]
			switch {
			case name == "": // the response of HTTP
				continue
			case !ok:
				c.lacking[path+"."+name] = true
			default:
				c.given[path+"."+name] = true
				c.compare(path+"."+name, value, field.Type)
			}
			delete(object, name)
		}
		for name := range object {
			c.unknown[path+"."+name] = true
		}
	case reflect.Slice:
		items, ok := answer.([]any)
		if !ok {
			c.kinds = append(c.kinds, fmt.Sprintf("%s is a %T, want a list", path, answer))
		}
		if len(items) == 0 {
			c.lacking[path+"[]"] = true // nothing is compared
		} else {
			c.given[path+"[]"] = true
		}
		for _, item := range items {
			c.compare(path, item, of.Elem())
		}
	default:
		kinds := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "bool", reflect.Int: "float64", reflect.Int64: "float64"}
		if got := fmt.Sprintf("%T", answer); got != kinds[of.Kind()] {
			c.kinds = append(c.kinds, fmt.Sprintf("%s is a %s, want a %s", path, got, of.Kind()))
		}
	}
}

// intended are the differences that there are to be, by path, with the reason.
func intended() map[string]string {
	reasons := map[string]string{}
	const system, check = "ListSystemSecurityPolicy.SecurityPolicies.", "ListServerGroups.ServerGroups.HealthCheck."
	const address = ".ZoneMappings.LoadBalancerAddresses."
	for reason, paths := range map[string][]string{
		"of version 2 of the SDK": {
			"GetListenerAttribute.ProxyProtocolV2Config", "ListListeners.Listeners.ProxyProtocolV2Config", "ListLoadBalancers.LoadBalancers.Cps",
			"ListServerGroups.ServerGroups.IpVersionAffinityMode", check + "HealthCheckHttpVersion", check + "HealthCheckReq",
			check + "HealthCheckExp",
			"GetLoadBalancerAttribute" + address + "Ipv4LocalAddresses", "GetLoadBalancerAttribute" + address + "Ipv6LocalAddresses",
			"ListLoadBalancers.LoadBalancers" + address + "Ipv4LocalAddresses", "ListLoadBalancers.LoadBalancers" + address + "Ipv6LocalAddresses",
		},
		"no document says what it counts": {
			"GetLoadBalancerAttribute.CapacityUnitCount", "ListLoadBalancers.LoadBalancers.CapacityUnitCount",
		},
		"there is no group that the system makes": {
			"GetLoadBalancerAttribute.SysSecurityGroupId", "ListLoadBalancers.LoadBalancers.SysSecurityGroupId",
		},
		"load balancers that are paid by use have neither": {
			"GetLoadBalancerAttribute.LoadBalancerBillingConfig.InternetBandwidth",
			"GetLoadBalancerAttribute.LoadBalancerBillingConfig.InternetChargeType",
			"ListLoadBalancers.LoadBalancers.LoadBalancerBillingConfig.InternetBandwidth",
			"ListLoadBalancers.LoadBalancers.LoadBalancerBillingConfig.InternetChargeType",
		},
		"no load balancer is locked":           {"GetLoadBalancerAttribute.OperationLocks[]", "ListLoadBalancers.LoadBalancers.OperationLocks[]"},
		"no document says what the values are": {"ListTagResources.TagResources.Category", "ListTagResources.TagResources.Scope"},
		"complete when the call answers, without a job": {
			"TagResources.JobId", "UntagResources.JobId", "MoveResourceGroup.Data",
		},
		"one page is enough for the answer": {
			"GetListenerHealthStatus.NextToken", "ListLoadBalancers.NextToken", "ListSecurityPolicy.NextToken", "ListServerGroupServers.NextToken",
		},
		"what the system makes belongs to no account": {
			system + "RegionId", system + "RelatedListeners", system + "ResourceGroupId", system + "SecurityPolicyName", system +
				"SecurityPolicyStatus",
			system + "Tags",
		},
	} {
		for _, path := range paths {
			reasons[path] = reason
		}
	}
	return reasons
}

// seedShapes adds what makes answers complete.
func seedShapes(t *testing.T, sim *openapisim.Simulator) {
	t.Helper()
	check(t, sim.Seed(&state.Cloud{
		Vpcs: map[string]*state.Vpc{"vpc-1": {CidrBlock: "192.168.0.0/16", Ipv6Cidrs: []string{"2408:4005:1::/56"}}},
		VSwitches: map[string]*state.VSwitch{
			"vsw-1": {VpcID: "vpc-1", ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.0.0/24", Ipv6Cidr: "2408:4005:1:1::/64"},
			"vsw-2": {VpcID: "vpc-1", ZoneID: "cn-hangzhou-i", CidrBlock: "192.168.1.0/24", Ipv6Cidr: "2408:4005:1:2::/64"},
		},
		Eips:              map[string]*state.Eip{"eip-1": {Address: "121.40.0.1"}},
		SecurityGroups:    map[string]*state.SecurityGroup{"sg-1": {VpcID: "vpc-1", Type: "normal"}},
		BandwidthPackages: map[string]*state.BandwidthPackage{"cbwp-1": {Bandwidth: 100}},
		UserCertificates:  map[string]*state.UserCertificate{"cert-1": {}, "cert-2": {}, "ca-1": {CA: true}},
	}))
}

// TestNLBAnswersHaveTheFieldsOfTheSDK compares the answers of NLB with the structs of the SDK, field by field. A client that reads a
// field which the simulated cloud leaves empty takes it for the truth: an existing controller read TagKey and TagValue of
// GetLoadBalancerAttribute, found two empty keys that weren't its own, and asked to remove them.
func TestNLBAnswersHaveTheFieldsOfTheSDK(t *testing.T) {
	sim := newCloud(t)
	otherZone(t, sim)
	seedShapes(t, sim)
	client, err := nlb.NewClientWithOptions(options(t))
	check(t, err)
	client.Domain = sim.Endpoint("nlb")
	c := &comparison{given: map[string]bool{}, lacking: map[string]bool{}, unknown: map[string]bool{}}
	called := map[string]bool{}
	call := func(action string, params ...string) map[string]any {
		t.Helper()
		request := requests.NewCommonRequest()
		request.Method, request.Scheme, request.Domain, request.Version, request.ApiName = "POST", "HTTP", client.Domain, "2022-04-30", action
		for i := 0; i < len(params); i += 2 {
			request.QueryParams[params[i]] = params[i+1]
		}
		response, err := client.ProcessCommonRequest(request)
		check(t, err)
		var answer map[string]any
		check(t, json.Unmarshal(response.GetHttpContentBytes(), &answer))
		called[action] = true
		of, ok := nlbAnswers()[action]
		if !ok {
			t.Fatalf("%s: there is no struct", action)
		}
		c.compare(action, maps.Clone(answer), reflect.TypeOf(of))
		return answer
	}
	const zone = "ZoneMappings."
	zones := []string{
		zone + "1.ZoneId", "cn-hangzhou-h", zone + "1.VSwitchId", "vsw-1", zone + "1.AllocationId", "eip-1",
		zone + "2.ZoneId", "cn-hangzhou-i", zone + "2.VSwitchId", "vsw-2",
	}
	id := text(t, call("CreateLoadBalancer", append(zones, "VpcId", "vpc-1", "AddressType", "Internet", "AddressIpVersion",
		"DualStack", "LoadBalancerName", "shape",
		"BandwidthPackageId", "cbwp-1", "DeletionProtectionConfig.Enabled", "true", "DeletionProtectionConfig.Reason", "kept",
		"ModificationProtectionConfig.Status", "ConsoleProtection", "ModificationProtectionConfig.Reason", "kept", "SecurityGroupIds.1", "sg-1",
		"Tag.1.Key", "k", "Tag.1.Value", "v")...), "LoadbalancerId")
	group := text(t, call("CreateServerGroup", "VpcId", "vpc-1", "ServerGroupName", "shape", "Tag.1.Key", "k",
		"HealthCheckConfig.HealthCheckType", "HTTP",
		"PreserveClientIpEnabled", "false"), "ServerGroupId")
	server := []string{"ServerGroupId", group, "Servers.1.ServerId", "i-1", "Servers.1.ServerType", "Ecs", "Servers.1.Port", "80"}
	call("AddServersToServerGroup", server...)
	policy := text(t, call("CreateSecurityPolicy", "SecurityPolicyName", "shape", "TlsVersions.1", "TLSv1.2", "Ciphers.1",
		"AES128-SHA", "Tag.1.Key", "k"),
		"SecurityPolicyId")
	created := call("CreateListener", "LoadBalancerId", id, "ListenerProtocol", "TCPSSL", "ListenerPort", "443",
		"ServerGroupId", group, "CertificateIds.1", "cert-1",
		"CaEnabled", "true", "CaCertificateIds.1", "ca-1", "SecurityPolicyId", policy, "Tag.1.Key", "k")
	listener := text(t, created, "ListenerId")
	wide := text(t, call("CreateServerGroup", "VpcId", "vpc-1", "ServerGroupName", "wide", "AnyPortEnabled", "true", "Tag.1.Key", "k",
		"HealthCheckConfig.HealthCheckConnectPort", "80"), "ServerGroupId")
	ranged := text(t, call("CreateListener", "LoadBalancerId", id, "ListenerProtocol", "TCP", "ListenerPort", "0",
		"StartPort", "7", "EndPort", "9",
		"ServerGroupId", wide, "Tag.1.Key", "k"), "ListenerId")
	call("UpdateListenerAttribute", "ListenerId", listener, "Cps", "7")
	call("UpdateServerGroupAttribute", "ServerGroupId", group, "Scheduler", "rr")
	call("UpdateServerGroupServersAttribute", append(server, "Servers.1.Weight", "7")...)
	call("UpdateLoadBalancerAttribute", "LoadBalancerId", id, "Cps", "7")
	sim.Update(func(c *state.Cloud) { c.Instances["i-1"].Healthy = new(bool) })

	for _, page := range [][]string{ // in pages of one, so that there is a token
		{"ListLoadBalancers"}, {"ListServerGroups"}, {"ListSecurityPolicy"}, {"ListTagResources", "ResourceType", "listener"}, {"ListListeners"},
		{"ListListenerCertificates", "ListenerId", listener}, {"ListServerGroupServers", "ServerGroupId", group},
	} {
		call(page[0], append(page[1:], "MaxResults", "1")...)
		call(page[0], page[1:]...)
	}
	call("GetLoadBalancerAttribute", "LoadBalancerId", id)
	call("GetListenerAttribute", "ListenerId", listener)
	call("GetListenerAttribute", "ListenerId", ranged)
	call("GetListenerHealthStatus", "ListenerId", listener)
	call("GetJobStatus", "JobId", text(t, created, "JobId"))
	for _, action := range []string{"ListSystemSecurityPolicy", "DescribeRegions", "DescribeZones"} {
		call(action)
	}
	of := []string{"LoadBalancerId", id}
	call("StopListener", "ListenerId", ranged)
	call("StartListener", "ListenerId", ranged)
	call("DeleteListener", "ListenerId", ranged)
	call("RemoveServersFromServerGroup", server...)
	call("DeleteServerGroup", "ServerGroupId", wide)
	call("UpdateSecurityPolicyAttribute", "SecurityPolicyId", policy, "SecurityPolicyName", "other")
	call("TagResources", "ResourceType", "loadbalancer", "ResourceId.1", id, "Tag.1.Key", "k2")
	call("UntagResources", "ResourceType", "loadbalancer", "ResourceId.1", id, "TagKey.1", "k2")
	call("MoveResourceGroup", "ResourceType", "loadbalancer", "ResourceId", id, "NewResourceGroupId", "rg-2")
	call("LoadBalancerLeaveSecurityGroup", append(of, "SecurityGroupIds.1", "sg-1")...)
	call("LoadBalancerJoinSecurityGroup", append(of, "SecurityGroupIds.1", "sg-1")...)
	call("DetachCommonBandwidthPackageFromLoadBalancer", append(of, "BandwidthPackageId", "cbwp-1")...)
	call("AttachCommonBandwidthPackageToLoadBalancer", append(of, "BandwidthPackageId", "cbwp-1")...)
	call("UpdateLoadBalancerProtection", append(of, "DeletionProtectionEnabled", "false")...)
	call("UpdateLoadBalancerZones", append(of, zones...)...)
	call("UpdateLoadBalancerAddressTypeConfig", append(of, "AddressType", "Intranet")...)
	call("DeleteLoadBalancer", of...)
	call("DeleteSecurityPolicy", "SecurityPolicyId", policy)
	for action := range nlbAnswers() {
		if !called[action] {
			t.Errorf("%s was not called", action)
		}
	}
	c.report(t)
}

func (c *comparison) report(t *testing.T) {
	t.Helper()
	for _, problem := range c.kinds {
		t.Error(problem)
	}
	different := maps.Clone(c.unknown)
	for path := range c.lacking {
		if !c.given[path] {
			different[path] = true
		}
	}
	reasons := intended()
	for _, path := range slices.Sorted(maps.Keys(different)) {
		if reasons[path] == "" {
			t.Errorf("%s: unknown to the SDK %t, lacking %t", path, c.unknown[path], c.lacking[path])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(reasons)) {
		if !different[path] {
			t.Errorf("%s is no difference any more", path)
		}
	}
}
