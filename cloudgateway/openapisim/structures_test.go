package openapisim_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// `aliyun nlb CreateLoadBalancer --ZoneMappings '[{"ZoneId":…}]'`: the official CLI takes structures as JSON alone (its metadata calls
// them so, and it refuses --ZoneMappings.1.ZoneId) and sends them as it gets them. Others send members; nobody gets something else.
func TestStructuresAsTheCLISendsThem(t *testing.T) {
	t.Parallel()
	settings := api.FastSettings()
	sim := newCloud(t, openapisim.Config{Settings: &settings, Seed: twoZones(2), LimitsOff: true})
	c := newClient(t, sim)
	lb := c.must("nlb", "CreateLoadBalancer", "AddressType", "Internet", "VpcId", "vpc-1",
		"ZoneMappings", `[{"ZoneId":"cn-hangzhou-h","VSwitchId":"vsw-1"},{"ZoneId":"cn-hangzhou-i","VSwitchId":"vsw-2"}]`,
		"DeletionProtectionConfig", `{"Enabled":true,"Reason":"mine"}`, "Tag", `[{"Key":"k","Value":"v"}]`)["LoadbalancerId"].(string)
	shown := c.must("nlb", "GetLoadBalancerAttribute", "LoadBalancerId", lb)
	if at(t, shown, "ZoneMappings", 1, "VSwitchId") != "vsw-2" || at(t, shown, "DeletionProtectionConfig", "Reason") != "mine" ||
		at(t, shown, "Tags", 0, "Value") != "v" {
		t.Errorf("the load balancer is %v", shown)
	}
	group := c.must("nlb", "CreateServerGroup", "ServerGroupName", "g0", "VpcId", "vpc-1",
		"HealthCheckConfig", `{"HealthCheckEnabled":false,"HealthCheckConnectPort":8080}`)["ServerGroupId"].(string)
	check := at(t, c.must("nlb", "ListServerGroups", "ServerGroupIds", `["`+group+`"]`), "ServerGroups", 0, "HealthCheck")
	if at(t, check, "HealthCheckEnabled") != false || at(t, check, "HealthCheckConnectPort") != 8080.0 {
		t.Errorf("the check is %v", check)
	}
	c.must("nlb", "AddServersToServerGroup", "ServerGroupId", group,
		"Servers", `[{"ServerId":"i-1","ServerType":"Ecs","Port":80,"Weight":7}]`)
	if got := at(t, c.must("nlb", "ListServerGroupServers", "ServerGroupId", group), "Servers", 0, "Weight"); got != 7.0 {
		t.Errorf("the weight is %v", got)
	}
	if _, code := c.call("nlb", "AddServersToServerGroup", "ServerGroupId", group, "Servers", `[{"ServerId":"i-2"`); code != "IllegalParam" {
		t.Errorf("servers that are no JSON: %q", code)
	}

	sg := c.must("ecs", "CreateSecurityGroup", "VpcId", "vpc-1")["SecurityGroupId"].(string)
	c.must("ecs", "AuthorizeSecurityGroup", "SecurityGroupId", sg,
		"Permissions", `[{"IpProtocol":"TCP","PortRange":"80/80","SourceCidrIp":"10.0.0.0/8"}]`)
	rules := c.must("ecs", "DescribeSecurityGroupAttribute", "SecurityGroupId", sg)
	if got := at(t, rules, "Permissions", "Permission", 0, "SourceCidrIp"); got != "10.0.0.0/8" {
		t.Errorf("the rule is of %v", got)
	}
	// What SLB and ECS document as JSON, by its members.
	id := c.must("slb", "CreateLoadBalancer", "AddressType", "internet")["LoadBalancerId"].(string)
	vgroup := c.must("slb", "CreateVServerGroup", "LoadBalancerId", id, "BackendServers.1.ServerId", "i-1",
		"BackendServers.1.Port", "80", "BackendServers.1.Weight", "9")
	if got := at(t, vgroup, "BackendServers", "BackendServer", 0, "Weight"); got != 9.0 {
		t.Errorf("the group is %v", vgroup)
	}
	found := c.must("ecs", "DescribeInstances", "InstanceIds.1", "i-2")
	if got := at(t, found, "Instances", "Instance", 0, "InstanceId"); got != "i-2" {
		t.Errorf("found %v", found)
	}
}

// A client that sends its parameters as a JSON document in the body gets what it asked for.
func TestJSONBody(t *testing.T) {
	t.Parallel()
	settings := api.FastSettings()
	sim := newCloud(t, openapisim.Config{Settings: &settings, Seed: twoZones(2), LimitsOff: true, AnyCredentials: true})
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"ServerGroupName":"g0","VpcId":"vpc-1",
		"HealthCheckConfig":{"HealthCheckEnabled":false},"ConnectionDrainEnabled":true,"Tag":[{"Key":"k","Value":"v"}]}`))
	for name, value := range map[string]string{
		"Content-Type": "application/json; charset=utf-8", "x-acs-action": "CreateServerGroup", "x-acs-version": "2022-04-30",
		"Authorization": "ACS3-HMAC-SHA256 Credential=any,SignedHeaders=host,Signature=00",
	} {
		r.Header.Set(name, value)
	}
	answer := httptest.NewRecorder()
	sim.Handler("nlb").ServeHTTP(answer, r)
	g := at(t, newClient(t, sim).must("nlb", "ListServerGroups"), "ServerGroups", 0)
	if answer.Code != http.StatusOK || at(t, g, "HealthCheck", "HealthCheckEnabled") != false || at(t, g,
		"ConnectionDrainEnabled") != true ||
		at(t, g, "Tags", 0, "Key") != "k" {
		t.Errorf("%d %s: %v", answer.Code, answer.Body, g)
	}
}

// A call that ignores a documented parameter says so in the journal, and is refused by a cloud that is strict. Whether
// a write had an effect is what the state says.
func TestIgnoredParameters(t *testing.T) {
	t.Parallel()
	settings := api.FastSettings()
	sim := newCloud(t, openapisim.Config{Settings: &settings, Seed: twoZones(2), LimitsOff: true})
	c := newClient(t, sim)
	if _, code := c.call("ecs", "ModifyInstanceAttribute", "InstanceId", "i-1", "Recyclable",
		"true"); code != "NotSimulated.Parameter" {
		t.Errorf("a strict cloud answers %q", code)
	}
	// A filter that comes to nothing would find everything.
	if _, code := c.call("ecs", "DescribeTags", "Category", "user"); code != "NotSimulated.Parameter" {
		t.Errorf("a strict cloud answers a read with %q", code)
	}
	lenient := sim.Settings()
	lenient.Strict = false
	sim.SetSettings(lenient)
	c.must("ecs", "DescribeTags", "Category", "user")
	if calls := sim.Calls(0); strings.Join(calls[len(calls)-1].Ignored, " ") != "Category" {
		t.Errorf("the journal says of a read that it ignored %q", calls[len(calls)-1].Ignored)
	}
	for _, tt := range []struct {
		params  []string
		ignored string
		effect  bool
	}{
		{[]string{"Recyclable", "true"}, "Recyclable", false},
		{[]string{"Recyclable", "true", "InstanceName", "new"}, "Recyclable", true},
		{[]string{"InstanceName", "newer"}, "", true},
		{[]string{"Recyclable", ""}, "", true},
		{[]string{"NoSuchParameter", "x"}, "", true}, // the cloud ignores it, too
	} {
		c.must("ecs", "ModifyInstanceAttribute", append([]string{"InstanceId", "i-1"}, tt.params...)...)
		calls := sim.Calls(0)
		last := calls[len(calls)-1]
		if strings.Join(last.Ignored, " ") != tt.ignored || last.Effect != tt.effect {
			t.Errorf("%v: ignored %q, effect %t", tt.params, last.Ignored, last.Effect)
		}
	}
}
