package slb

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (c *cloud) backends(groupID string) []string {
	c.testing.Helper()
	var out []string
	for _, s := range c.state.ServerGroups[groupID].Servers {
		out = append(out, fmt.Sprintf("%s/%s/%s:%d=%d", s.Type, s.ServerID, s.ServerIP, s.Port, s.Weight))
	}
	return out
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
			params{"BackendServers": `[{"serverId":"i-3","serverIp":"","weight":100,"port":30080,"type":"ecs",` +
				`"description":"k8s","IsUserManaged":false,"NodeName":null,"TargetRef":{"kind":"Pod"}}]`},
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
			"add an interface without address", "AddVServerGroupBackendServers",
			params{"BackendServers": `[{"ServerId":"eni-1","Port":80,"Type":"eni"}]`},
			[]string{"ecs/i-1/:30080=100", "ecs/i-2/:30080=50", "eni/eni-1/10.0.0.20:80=100"},
		},
		{
			"add an interface's second address", "AddVServerGroupBackendServers",
			params{"BackendServers": `[{"ServerId":"eni-1","ServerIp":"10.0.0.21","Port":80,"Type":"eni","Weight":0}]`},
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
			{"a new one that is there", key.with("OldBackendServers", first, "NewBackendServers",
				`[{"ServerId":"i-2","Port":30080}]`), "InvalidParameter"},
			{"too many old ones", key.with("OldBackendServers", servers(41), "NewBackendServers", first), "TooManyBackendServers"},
			{"a new one twice", key.with("OldBackendServers",
				`[{"ServerId":"i-1","Port":30080},{"ServerId":"i-2","Port":30080}]`, "NewBackendServers",
				`[{"ServerId":"i-3","Port":1},{"ServerId":"i-3","Port":1}]`), "InvalidParameter"},
			{"unknown group", params{"VServerGroupId": "rsp-x"}, "InvalidParameter"},
		},
		"RemoveVServerGroupBackendServers": {
			{"unknown group", params{"VServerGroupId": "rsp-x", "BackendServers": first}, "InvalidParameter"},
		},
		"SetVServerGroupAttribute": {
			{"nothing", key, "MissingParameter"},
			{"no servers", key.with("BackendServers", "[]"), "MissingParameter"},
			{"long name", key.with("VServerGroupName", strings.Repeat("x", 81)), "InvalidParameter"},
			{"a server that is not there", key.with("BackendServers", third), "InvalidParameter"},
			{"unknown group", params{"VServerGroupId": "rsp-x", "VServerGroupName": "n"}, "InvalidParameter"},
		},
		"DescribeVServerGroupAttribute": {{"unknown group", params{"VServerGroupId": "rsp-x"}, "InvalidParameter"}},
		"DescribeVServerGroups":         {{"unknown load balancer", params{"LoadBalancerId": "lb-x"}, "InvalidLoadBalancerId.NotFound"}},
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
	if got := c.call("DescribeVServerGroups",
		params{"LoadBalancerId": "lb-1"}).at("VServerGroups.VServerGroup.0.AssociatedObjects"); got != nil {
		t.Errorf("got %v without asking for it", got)
	}
}
