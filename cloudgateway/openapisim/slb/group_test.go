package slb

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// servers returns JSON with n servers i-1:1, i-1:2, …
func servers(n int) string {
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(`{"ServerId":"i-1","Port":"%d"}`, i+1))
	}
	return "[" + strings.Join(items, ",") + "]"
}

func (c *cloud) backends(groupID string) []string {
	c.testing.Helper()
	var out []string
	for _, s := range c.state.ServerGroups[groupID].Servers {
		out = append(out, fmt.Sprintf("%s/%s/%s:%d=%d", s.Type, s.ServerID, s.ServerIP, s.Port, s.Weight))
	}
	return out
}

func TestServersThatAreRefused(t *testing.T) {
	t.Parallel()
	one := func(server string) params {
		return params{"VServerGroupId": "rsp-empty", "BackendServers": "[" + server + "]"}
	}
	tests := []codeTest{
		{"twenty", params{"VServerGroupId": "rsp-empty", "BackendServers": servers(20)}, ""},
		{"twenty-one", params{"VServerGroupId": "rsp-empty", "BackendServers": servers(21)}, "TooManyBackendServers"},
		{"no JSON", params{"VServerGroupId": "rsp-empty", "BackendServers": "["}, "BackendServersMalformed"},
		{"unknown group", params{"VServerGroupId": "rsp-x", "BackendServers": servers(1)}, "InvalidParameter"},
		{"locked", params{"VServerGroupId": "rsp-locked", "BackendServers": servers(1)}, "LbStatusNotSupport"},
		{"no id", one(`{"Port":1}`), "MissingParameter"},
		{"no port", one(`{"ServerId":"i-1"}`), "InvalidParameter"},
		{"port 0", one(`{"ServerId":"i-1","Port":0}`), "InvalidParameter"},
		{"port 65536", one(`{"ServerId":"i-1","Port":65536}`), "InvalidParameter"},
		{"weight 101", one(`{"ServerId":"i-1","Port":1,"Weight":101}`), "InvalidWeight.Malformed"},
		{"weight x", one(`{"ServerId":"i-1","Port":1,"Weight":"x"}`), "InvalidWeight.Malformed"},
		{"type", one(`{"ServerId":"i-1","Port":1,"Type":"vm"}`), "BackendServer.InvalidType"},
		{"description", one(`{"ServerId":"i-1","Port":1,"Description":"` + strings.Repeat("x", 257) + `"}`), "InvalidParameter"},
		{"unknown instance", one(`{"ServerId":"i-x","Port":1}`), "InvalidServerId.NotExist"},
		{"stopped instance", one(`{"ServerId":"i-stopped","Port":1}`), "ObtainIpFail"},
		{"unknown interface", one(`{"ServerId":"eni-x","Port":1,"Type":"eni"}`), "InvalidServerId.NotExist"},
		{"foreign address", one(`{"ServerId":"eni-1","ServerIp":"10.0.0.9","Port":1,"Type":"eni"}`), "ResourceNotFound.vServers"},
		{"twice", one(`{"ServerId":"i-1","Port":1},{"ServerId":"i-1","Port":"1"}`), "InvalidParameter"},
		{"interface twice, once without address", one(`{"ServerId":"eni-1","Port":1,"Type":"eni"},{"ServerId":"eni-1","ServerIp":"10.0.0.20","Port":1,"Type":"eni"}`), "InvalidParameter"},
		{"instance out of the VPC", params{"VServerGroupId": "rsp-vpc", "BackendServers": `[{"ServerId":"i-far","Port":1}]`}, "NetworkConflict"},
		{"interface out of the VPC", params{"VServerGroupId": "rsp-vpc", "BackendServers": `[{"ServerId":"eni-far","Port":1,"Type":"eni"}]`}, "NetworkConflict"},
		{"interface on an old load balancer", params{"VServerGroupId": "rsp-old", "BackendServers": `[{"ServerId":"eni-1","Port":1,"Type":"eni"}]`}, "BackendServer.InvalidType"},
		{"container on an old load balancer", params{"VServerGroupId": "rsp-old", "BackendServers": `[{"ServerId":"eci-1","Port":1,"Type":"eci"}]`}, "BackendServer.InvalidType"},
	}
	testCodes(t, "AddVServerGroupBackendServers", tests)
	t.Run("by the creation too", func(t *testing.T) {
		t.Parallel()
		var creations []codeTest
		for _, tt := range tests {
			lb := strings.Replace(tt.params["VServerGroupId"], "rsp", "lb", 1)
			if lb == "lb-empty" {
				lb = "lb-1"
			}
			want := tt.want
			if lb == "lb-x" {
				want = "InvalidLoadBalancerId.NotFound"
			}
			creations = append(creations, codeTest{tt.name, params{"LoadBalancerId": lb, "BackendServers": tt.params["BackendServers"]}, want})
		}
		creations = append(creations, codeTest{"long name", params{"LoadBalancerId": "lb-1", "VServerGroupName": strings.Repeat("x", 81)}, "InvalidParameter"},
			codeTest{"tag", params{"LoadBalancerId": "lb-1", "Tag.1.Value": "x"}, "MissingParam.TagKey"})
		testCodes(t, "CreateVServerGroup", creations)
	})
	t.Run("with forty allowed", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		c.settings.ServersPerCall = 40
		c.call("AddVServerGroupBackendServers", params{"VServerGroupId": "rsp-empty", "BackendServers": servers(40)})
	})
	t.Run("the text that clients look for", func(t *testing.T) {
		t.Parallel()
		_, err := newCloud(t).try("AddVServerGroupBackendServers", params{"VServerGroupId": "rsp-empty", "BackendServers": servers(21)})
		if err == nil || !strings.Contains(err.Message, "exceeds max supported number: 20") {
			t.Errorf("got %v", err)
		}
	})
}

func TestChangesOfServers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		action string
		params params
		want   []string // rsp-1 holds i-1 with weight 100 and i-2 with weight 50, port 30080
	}{
		{
			"add as the existing CCM sends it", "AddVServerGroupBackendServers",
			params{"BackendServers": `[{"serverId":"i-3","serverIp":"","weight":100,"port":30080,"type":"ecs","description":"k8s","IsUserManaged":false,"NodeName":null,"TargetRef":{"kind":"Pod"}}]`},
			[]string{"ecs/i-1/:30080=100", "ecs/i-2/:30080=50", "ecs/i-3/:30080=100"},
		},
		{
			"add in single quotes, as terraform", "AddVServerGroupBackendServers",
			params{"BackendServers": `[{'ServerId':'i-3','Port':'80','Weight':'7', 'Type': 'ecs'}]`},
			[]string{"ecs/i-1/:30080=100", "ecs/i-2/:30080=50", "ecs/i-3/:80=7"},
		},
		{
			"add one that is there", "AddVServerGroupBackendServers", params{"BackendServers": `[{"ServerId":"i-2","Port":30080,"Weight":9}]`},
			[]string{"ecs/i-1/:30080=100", "ecs/i-2/:30080=50"},
		},
		{
			"add an interface without address", "AddVServerGroupBackendServers", params{"BackendServers": `[{"ServerId":"eni-1","Port":80,"Type":"eni"}]`},
			[]string{"ecs/i-1/:30080=100", "ecs/i-2/:30080=50", "eni/eni-1/10.0.0.20:80=100"},
		},
		{
			"add an interface's second address", "AddVServerGroupBackendServers", params{"BackendServers": `[{"ServerId":"eni-1","ServerIp":"10.0.0.21","Port":80,"Type":"eni","Weight":0}]`},
			[]string{"ecs/i-1/:30080=100", "ecs/i-2/:30080=50", "eni/eni-1/10.0.0.21:80=0"},
		},
		{
			"remove one, and one that is not there", "RemoveVServerGroupBackendServers",
			params{"BackendServers": `[{"ServerId":"i-1","Port":30080},{"ServerId":"i-3","Port":30080},{"ServerId":"i-2","Port":80}]`},
			[]string{"ecs/i-2/:30080=50"},
		},
		{
			"replace", "ModifyVServerGroupBackendServers",
			params{"OldBackendServers": `[{"ServerId":"i-1","Port":30080}]`, "NewBackendServers": `[{"ServerId":"i-3","Port":30081,"Weight":3}]`},
			[]string{"ecs/i-2/:30080=50", "ecs/i-3/:30081=3"},
		},
		{
			"replace by the same with another weight", "ModifyVServerGroupBackendServers",
			params{"OldBackendServers": `[{"ServerId":"i-1","Port":30080}]`, "NewBackendServers": `[{"ServerId":"i-1","Port":30080,"Weight":3}]`},
			[]string{"ecs/i-2/:30080=50", "ecs/i-1/:30080=3"},
		},
		{
			"set a weight", "SetVServerGroupAttribute", params{"BackendServers": `[{"ServerId":"i-1","Port":30080,"Weight":0}]`},
			[]string{"ecs/i-1/:30080=0", "ecs/i-2/:30080=50"},
		},
		{
			"set a description only", "SetVServerGroupAttribute", params{"BackendServers": `[{"ServerId":"i-2","Port":30080,"Description":"d"}]`},
			[]string{"ecs/i-1/:30080=100", "ecs/i-2/:30080=50"},
		},
		{
			"set the name", "SetVServerGroupAttribute", params{"VServerGroupName": "n"},
			[]string{"ecs/i-1/:30080=100", "ecs/i-2/:30080=50"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			got := c.call(tt.action, tt.params.with("VServerGroupId", "rsp-1"))
			if diff := cmp.Diff(tt.want, c.backends("rsp-1")); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
			described := c.call("DescribeVServerGroupAttribute", params{"VServerGroupId": "rsp-1"})
			if diff := cmp.Diff(described["BackendServers"], got["BackendServers"]); diff != "" {
				t.Errorf("the answer is not the complete list (-described +answered):\n%s", diff)
			}
		})
	}
}

func TestChangesOfServersRefused(t *testing.T) {
	t.Parallel()
	key := params{"VServerGroupId": "rsp-1"}
	first, third := `[{"ServerId":"i-1","Port":30080}]`, `[{"ServerId":"i-3","Port":30080}]`
	for action, tests := range map[string][]codeTest{
		"ModifyVServerGroupBackendServers": {
			{"no old ones", key.with("NewBackendServers", third), "MissingParameter"},
			{"no new ones", key.with("OldBackendServers", first), "MissingParameter"},
			{"unequal numbers", key.with("OldBackendServers", first, "NewBackendServers", servers(2)), "InvalidParameter"},
			{"an old one that is not there", key.with("OldBackendServers", third, "NewBackendServers", first), "InvalidParameter"},
			{"a new one that is there", key.with("OldBackendServers", first, "NewBackendServers", `[{"ServerId":"i-2","Port":30080}]`), "InvalidParameter"},
			{"too many", key.with("OldBackendServers", servers(21), "NewBackendServers", servers(21)), "TooManyBackendServers"},
			{"a new one twice", key.with("OldBackendServers", `[{"ServerId":"i-1","Port":30080},{"ServerId":"i-2","Port":30080}]`, "NewBackendServers", `[{"ServerId":"i-3","Port":1},{"ServerId":"i-3","Port":1}]`), "InvalidParameter"},
			{"a new one that does not exist", key.with("OldBackendServers", first, "NewBackendServers", `[{"ServerId":"i-x","Port":1}]`), "InvalidServerId.NotExist"},
			{"unknown group", params{"VServerGroupId": "rsp-x"}, "InvalidParameter"},
		},
		"RemoveVServerGroupBackendServers": {
			{"too many", key.with("BackendServers", servers(21)), "TooManyBackendServers"},
			{"no JSON", key.with("BackendServers", "{"), "BackendServersMalformed"},
			{"unknown group", params{"VServerGroupId": "rsp-x", "BackendServers": first}, "InvalidParameter"},
		},
		"SetVServerGroupAttribute": {
			{"nothing", key, "MissingParameter"},
			{"long name", key.with("VServerGroupName", strings.Repeat("x", 81)), "InvalidParameter"},
			{"a server that is not there", key.with("BackendServers", third), "InvalidParameter"},
			{"unknown group", params{"VServerGroupId": "rsp-x", "VServerGroupName": "n"}, "InvalidParameter"},
		},
		"DescribeVServerGroupAttribute": {{"unknown group", params{"VServerGroupId": "rsp-x"}, "InvalidParameter"}},
		"DescribeVServerGroups": {
			{"unknown load balancer", params{"LoadBalancerId": "lb-x"}, "InvalidLoadBalancerId.NotFound"},
			{"tag without key", params{"LoadBalancerId": "lb-1", "Tag.1.Value": "v"}, "MissingParam.TagKey"},
		},
		"DeleteVServerGroup": {
			{"ok", params{"VServerGroupId": "rsp-empty"}, ""},
			{"used by a listener", params{"VServerGroupId": "rsp-1"}, "RspoolVipExist"},
			{"used by a rule", params{"VServerGroupId": "rsp-rule"}, "RspoolRuleExist"},
			{"locked", params{"VServerGroupId": "rsp-locked"}, "LbStatusNotSupport"},
			{"unknown group", params{"VServerGroupId": "rsp-x"}, "InvalidParameter"},
		},
	} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			testCodes(t, action, tests)
		})
	}
}

func TestServerQuotas(t *testing.T) {
	t.Parallel()
	add := func(group, id string, port int) params {
		return params{"VServerGroupId": group, "BackendServers": fmt.Sprintf(`[{"ServerId":%q,"Port":%d}]`, id, port)}
	}
	c := newCloud(t)
	c.settings.Quotas.Servers = 3
	c.call("AddVServerGroupBackendServers", add("rsp-empty", "i-1", 1)) // counts once, with whatever port
	c.call("AddVServerGroupBackendServers", add("rsp-empty", "i-3", 1))
	if got := c.code("AddVServerGroupBackendServers", add("rsp-empty", "i-sick", 1)); got != "InstanceBackendServerNumberOverLimit" {
		t.Errorf("a fourth server: got code %q, want InstanceBackendServerNumberOverLimit", got)
	}
	c.call("ModifyVServerGroupBackendServers", params{
		"VServerGroupId": "rsp-empty", "OldBackendServers": `[{"ServerId":"i-3","Port":1}]`, "NewBackendServers": `[{"ServerId":"i-sick","Port":1}]`,
	})
	c.call("AddVServerGroupBackendServers", add("rsp-old", "i-far", 1)) // another load balancer
	c.settings.Quotas.ServerAttachments = 3
	if got := c.code("AddVServerGroupBackendServers", add("rsp-empty", "i-1", 2)); got != "OverQuota" {
		t.Errorf("a fourth attachment: got code %q, want OverQuota", got)
	}
	c.settings.Quotas.ServersPerGroup = 2
	if got := c.code("AddVServerGroupBackendServers", add("rsp-empty", "i-2", 2)); got != "OverQuota" {
		t.Errorf("a third server in the group: got code %q, want OverQuota", got)
	}
	c.settings.Quotas.VServerGroups = 4
	if got := c.code("CreateVServerGroup", params{"LoadBalancerId": "lb-1"}); got != "OverQuota" {
		t.Errorf("a fifth group: got code %q, want OverQuota", got)
	}
}

func TestDescribeGroups(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.call("TagResources", params{"ResourceType": "vservergroup", "ResourceId.1": "rsp-2", "Tag.1.Key": "k", "Tag.1.Value": "v"})
	for name, tt := range map[string]struct {
		params params
		want   []string
	}{
		"all":     {params{}, []string{"rsp-1", "rsp-2", "rsp-empty", "rsp-rule"}},
		"by name": {params{"Description": "empty"}, []string{"rsp-empty"}},
		"by tag":  {params{"Tag.1.Key": "k"}, []string{"rsp-2"}},
	} {
		got := c.call("DescribeVServerGroups", tt.params.with("LoadBalancerId", "lb-1"))
		if diff := cmp.Diff(tt.want, got.texts("VServerGroups.VServerGroup", "VServerGroupId")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	got := c.call("DescribeVServerGroups", params{"LoadBalancerId": "lb-1", "IncludeListener": "true", "IncludeRule": "true"})
	if n := got.at("VServerGroups.VServerGroup.0.ServerCount"); n != 2.0 {
		t.Errorf("rsp-1 has %v servers, want 2", n)
	}
	for path, want := range map[string]int{
		"VServerGroups.VServerGroup.0.AssociatedObjects.Listeners.Listener":                2,
		"VServerGroups.VServerGroup.0.AssociatedObjects.Listeners.Listener.1.AclIds.AclId": 1, // wrapped, unlike in DescribeLoadBalancerListeners
		"VServerGroups.VServerGroup.1.AssociatedObjects.Listeners.Listener":                2,
		"VServerGroups.VServerGroup.3.AssociatedObjects.Rules.Rule":                        1,
		"VServerGroups.VServerGroup.2.AssociatedObjects.Listeners.Listener":                0,
	} {
		if n := len(got.list(path)); n != want {
			t.Errorf("%s has %d items, want %d", path, n, want)
		}
	}
	if got := c.call("DescribeVServerGroups", params{"LoadBalancerId": "lb-1"}).at("VServerGroups.VServerGroup.0.AssociatedObjects"); got != nil {
		t.Errorf("got %v without asking for it", got)
	}
}

func TestDefaultGroup(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	lb := params{"LoadBalancerId": "lb-1"}
	got := c.call("AddBackendServers", lb.with("BackendServers", `[{"ServerId":"i-1","Weight":"10"},{"ServerId":"i-1","Weight":"20"},{"ServerId":"i-2"}]`))
	if diff := cmp.Diff([]string{"10", "100"}, got.texts("BackendServers.BackendServer", "Weight")); diff != "" {
		t.Errorf("weights after adding (-want +got):\n%s", diff)
	}
	got = c.call("SetBackendServers", lb.with("BackendServers", `[{"ServerId":"i-2","Weight":"5"}]`))
	if diff := cmp.Diff([]string{"10", "5"}, got.texts("BackendServers.BackendServer", "Weight")); diff != "" {
		t.Errorf("weights after setting (-want +got):\n%s", diff)
	}
	for action, want := range map[string]string{"AddBackendServers": "InvalidParameter", "SetBackendServers": ""} {
		if got := c.code(action, lb.with("BackendServers", `[{"ServerId":"i-1"}]`)); got != want {
			t.Errorf("%s of one that is there: got code %q, want %q", action, got, want)
		}
	}
	if got := c.code("SetBackendServers", lb.with("BackendServers", `[{"ServerId":"i-3"}]`)); got != "InvalidParameter" {
		t.Errorf("set one that is not there: got code %q, want InvalidParameter", got)
	}
	c.call("AddBackendServers", lb) // terraform's empty last batch
	c.call("RemoveBackendServers", lb.with("BackendServers", `[{"ServerId":"i-3"}]`))
	c.call("RemoveBackendServers", lb.with("BackendServers", `["i-1","i-3"]`)) // as older clients send it
	described := c.call("DescribeLoadBalancerAttribute", lb)
	if w := described.at("BackendServers.BackendServer.0.Weight"); w != 5.0 || len(described.list("BackendServers.BackendServer")) != 1 {
		t.Errorf("left: %v, want i-2 with weight 5", described["BackendServers"])
	}
	testCodes(t, "AddBackendServers", []codeTest{
		{"unknown load balancer", params{"LoadBalancerId": "lb-x"}, "InvalidLoadBalancerId.NotFound"},
		{"locked", params{"LoadBalancerId": "lb-locked"}, "LbStatusNotSupport"},
		{"unknown server", lb.with("BackendServers", `[{"ServerId":"i-x"}]`), "InvalidServerId.NotExist"},
		{"too many", lb.with("BackendServers", servers(21)), "TooManyBackendServers"},
	})
}

func TestHealth(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	add := `[{"ServerId":"i-sick","Port":"1"},{"ServerId":"eni-1","Port":"1","Type":"eni"}]`
	c.call("AddVServerGroupBackendServers", params{"VServerGroupId": "rsp-1", "BackendServers": add})
	c.state.Instances["i-2"].Status = "Stopped"
	health := func(p params) []string {
		return c.call("DescribeHealthStatus", p.with("LoadBalancerId", "lb-1")).texts("BackendServers.BackendServer", "ServerHealthStatus")
	}
	tcp := []string{"normal", "abnormal", "abnormal", "normal"} // i-1, i-2 stopped, i-sick, eni-1
	if diff := cmp.Diff(tcp, health(params{"ListenerPort": "80"})); diff != "" {
		t.Errorf("TCP (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"unavailable", "unavailable"}, health(params{"ListenerPort": "443"})); diff != "" {
		t.Errorf("without health check (-want +got):\n%s", diff)
	}
	if got := len(health(params{})); got != 4+4+2+2 { // the redirect has no servers
		t.Errorf("all listeners have %d servers, want 12", got)
	}
	c.call("StopLoadBalancerListener", params{"LoadBalancerId": "lb-1", "ListenerPort": "80"})
	if got := health(params{"ListenerPort": "80"}); len(got) != 0 {
		t.Errorf("a stopped listener shows %v", got)
	}
	testCodes(t, "DescribeHealthStatus", []codeTest{
		{"unknown load balancer", params{"LoadBalancerId": "lb-x"}, "InvalidLoadBalancerId.NotFound"},
		{"unknown listener", params{"LoadBalancerId": "lb-1", "ListenerPort": "1"}, "ResourceNotFound.Listener"},
	})
}

func TestHealthOfDefaultGroup(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.call("AddBackendServers", params{"LoadBalancerId": "lb-1", "BackendServers": `[{"ServerId":"i-1"}]`})
	c.call(action("Create", protoTCP), newListener(protoTCP).with("VServerGroupId", "", "BackendServerPort", "8080"))
	c.call("StartLoadBalancerListener", params{"LoadBalancerId": "lb-1", "ListenerPort": "1000"})
	got := c.call("DescribeHealthStatus", params{"LoadBalancerId": "lb-1", "ListenerPort": "1000"})
	if port := got.at("BackendServers.BackendServer.0.Port"); port != 8080.0 {
		t.Errorf("the port is %v, want 8080", port)
	}
}
