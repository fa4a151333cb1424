package slb

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// servers returns JSON with n servers i-1:1, i-1:2, …
func servers(n int) string {
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(`{"ServerId":"i-1","Port":"%d"}`, i+1))
	}
	return "[" + strings.Join(items, ",") + "]"
}

// serverTest is a list of servers and the code by which the actions that take such lists refuse it.
type serverTest struct {
	name     string
	balancer string // "1", "vpc" or "old": that of the list
	servers  string
	want     string
}

// malformed are lists that every action refuses.
func malformed() []serverTest {
	return []serverTest{
		{"forty-one", "1", servers(41), "TooManyBackendServers"},
		{"no JSON", "1", "[", "BackendServersMalformed"},
		{"no list", "1", "{}", "BackendServersMalformed"},
		{"no id", "1", `[{"Port":1}]`, "MissingParameter"},
		{"type", "1", `[{"ServerId":"i-1","Port":1,"Type":"vm"}]`, "BackendServer.InvalidType"},
		{"weight 101", "1", `[{"ServerId":"i-1","Port":1,"Weight":101}]`, "InvalidWeight.Malformed"},
		{"weight x", "1", `[{"ServerId":"i-1","Port":1,"Weight":"x"}]`, "InvalidWeight.Malformed"},
		{"description", "1", `[{"ServerId":"i-1","Port":1,"Description":"` + strings.Repeat("x", 81) + `"}]`, "InvalidParameter"},
	}
}

// portless are lists that the actions of vServer groups refuse; servers of the default group have no ports.
func portless() []serverTest {
	return []serverTest{
		{"no port", "1", `[{"ServerId":"i-1"}]`, "InvalidParameter"},
		{"port 0", "1", `[{"ServerId":"i-1","Port":0}]`, "InvalidParameter"},
		{"port 65536", "1", `[{"ServerId":"i-1","Port":65536}]`, "InvalidParameter"},
	}
}

// unusable are lists of servers that cannot be added.
func unusable() []serverTest {
	eni := func(id, ip string) string {
		return fmt.Sprintf(`[{"ServerId":%q,"ServerIp":%q,"Port":1,"Type":"eni"}]`, id, ip)
	}
	return []serverTest{
		{"unknown instance", "1", `[{"ServerId":"i-x","Port":1}]`, "InvalidServerId.NotExist"},
		{"unknown interface", "1", eni("eni-x", ""), "InvalidServerId.NotExist"},
		{"stopped instance", "1", `[{"ServerId":"i-stopped","Port":1}]`, "ObtainIpFail"},
		{"foreign address", "1", eni("eni-1", "10.0.0.9"), "ResourceNotFound.vServers"},
		{"instance out of the VPC", "vpc", `[{"ServerId":"i-far","Port":1}]`, "NetworkConflict"},
		{"interface out of the VPC", "vpc", eni("eni-far", ""), "NetworkConflict"},
		{"interface on an old load balancer", "old", eni("eni-1", ""), "BackendServer.InvalidType"},
		{"container on an old load balancer", "old", `[{"ServerId":"eci-1","Port":1,"Type":"eci"}]`, "BackendServer.InvalidType"},
	}
}

// doubled are lists that have a server twice, which vServer groups refuse.
func doubled() []serverTest {
	return []serverTest{
		{"twice", "1", `[{"ServerId":"i-1","Port":1},{"ServerId":"i-1","Port":"1"}]`, "InvalidParameter"},
		{"interface twice, once without address", "1",
			`[{"ServerId":"eni-1","Port":1,"Type":"eni"},{"ServerId":"eni-1","ServerIp":"10.0.0.20","Port":1,"Type":"eni"}]`,
			"InvalidBackendServers.ServerIpConflict"},
	}
}

// listing returns the parameters by which an action gets a list. A replacement replaces i-3 at the ports 8 and 9.
func serverListing(action, balancer, servers string) params {
	group := map[string]string{"1": "rsp-empty", "vpc": "rsp-vpc", "old": "rsp-old"}[balancer]
	switch {
	case action == "ModifyVServerGroupBackendServers":
		old := `[{"ServerId":"i-3","Port":8}]`
		if strings.Count(servers, "ServerId") == 2 {
			old = `[{"ServerId":"i-3","Port":8},{"ServerId":"i-3","Port":9}]`
		}
		return params{"VServerGroupId": group, "OldBackendServers": old, "NewBackendServers": servers}
	case strings.Contains(action, "VServerGroup") && action != "CreateVServerGroup":
		return params{"VServerGroupId": group, "BackendServers": servers}
	}
	return params{"LoadBalancerId": "lb-" + balancer, "BackendServers": servers}
}

func TestServersThatAreRefused(t *testing.T) {
	t.Parallel()
	adding := slices.Concat(malformed(), portless(), unusable(), doubled())
	for action, tests := range map[string][]serverTest{
		"CreateVServerGroup":               adding,
		"AddVServerGroupBackendServers":    adding,
		"ModifyVServerGroupBackendServers": adding,
		"RemoveVServerGroupBackendServers": slices.Concat(malformed(), portless()),
		"SetVServerGroupAttribute":         slices.Concat(malformed(), portless()),
		"AddBackendServers":                slices.Concat(malformed(), unusable()),
		"SetBackendServers":                malformed(),
		"RemoveBackendServers":             malformed(),
	} {
		for _, tt := range tests {
			t.Run(action+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				c := newCloud(t)
				for _, id := range []string{"rsp-empty", "rsp-vpc", "rsp-old"} { // what a replacement replaces
					c.state.ServerGroups[id].Servers = []*state.Server{
						{Type: typeECS, ServerID: "i-3", Port: 8}, {Type: typeECS, ServerID: "i-3", Port: 9},
					}
				}
				if got := c.code(action, serverListing(action, tt.balancer, tt.servers)); got != tt.want {
					t.Errorf("got code %q, want %s", got, tt.want)
				}
			})
		}
	}
	testCodes(t, "AddVServerGroupBackendServers", []codeTest{
		{"twenty", params{"VServerGroupId": "rsp-empty", "BackendServers": servers(20)}, ""},
		{"unknown group", params{"VServerGroupId": "rsp-x", "BackendServers": servers(1)}, "InvalidParameter"},
	})
	testCodes(t, "CreateVServerGroup", []codeTest{
		{"twenty", params{"LoadBalancerId": "lb-1", "BackendServers": servers(20)}, ""},
		{"long name", params{"LoadBalancerId": "lb-1", "VServerGroupName": strings.Repeat("x", 81)}, "InvalidParameter"},
		{"unknown load balancer", params{"LoadBalancerId": "lb-x"}, "InvalidLoadBalancerId.NotFound"},
	})
	t.Run("forty", func(t *testing.T) {
		t.Parallel()
		newCloud(t).call("AddVServerGroupBackendServers", params{"VServerGroupId": "rsp-empty", "BackendServers": servers(40)})
	})
	t.Run("the text that clients look for", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		c.settings.ServersPerCall = 20
		_, err := c.try("AddVServerGroupBackendServers", params{"VServerGroupId": "rsp-empty", "BackendServers": servers(41)})
		if err == nil || !strings.Contains(err.Message, "exceeds max supported number: 20") {
			t.Errorf("got %v", err)
		}
	})
}

// Every way to add a server counts: lb-1 has the servers i-1 and i-2, each of them twice.
func TestServerQuotasOfAllActions(t *testing.T) {
	t.Parallel()
	modify := func(servers string) params {
		return params{"VServerGroupId": "rsp-1", "OldBackendServers": `[{"ServerId":"i-2","Port":30080}]`, "NewBackendServers": servers}
	}
	for action, with := range map[string]func(servers string) params{
		"CreateVServerGroup":               func(s string) params { return serverListing("CreateVServerGroup", "1", s) },
		"AddVServerGroupBackendServers":    func(s string) params { return serverListing("AddVServerGroupBackendServers", "1", s) },
		"AddBackendServers":                func(s string) params { return serverListing("AddBackendServers", "1", s) },
		"ModifyVServerGroupBackendServers": modify,
	} {
		c := newCloud(t)
		c.settings.Quotas.Servers = 2
		if got := c.code(action, with(`[{"ServerId":"i-3","Port":1}]`)); got != "InstanceBackendServerNumberOverLimit" {
			t.Errorf("%s of a third server: got code %q, want InstanceBackendServerNumberOverLimit", action, got)
		}
		c.settings.Quotas.ServerAttachments = 2
		if got := c.code(action, with(`[{"ServerId":"i-1","Port":1}]`)); got != "OverQuota" {
			t.Errorf("%s of a server for the third time: got code %q, want OverQuota", action, got)
		}
		c.settings.Quotas.Servers, c.settings.Quotas.ServerAttachments = 3, 3
		c.call(action, with(`[{"ServerId":"i-1","Port":1}]`))
	}
}

// TestServersThatLeaveMakeRoom: whichever way a server leaves a load balancer, another one may come in its place.
func TestServersThatLeaveMakeRoom(t *testing.T) {
	t.Parallel()
	group := func(servers string) params { return params{"VServerGroupId": "rsp-empty", "BackendServers": servers} }
	lb := func(servers string) params { return params{"LoadBalancerId": "lb-1", "BackendServers": servers} }
	const one = `[{"ServerId":"i-3","Port":1}]`
	for name, tt := range map[string]struct {
		join, leave string
		with        func(servers string) params
	}{
		"removed":                {"AddVServerGroupBackendServers", "RemoveVServerGroupBackendServers", group},
		"with its group":         {"AddVServerGroupBackendServers", "DeleteVServerGroup", group},
		"from the default group": {"AddBackendServers", "RemoveBackendServers", lb},
	} {
		c := newCloud(t)
		c.settings.Quotas.Servers = 3 // Two are there.
		c.call(tt.join, tt.with(one))
		if got := c.code("AddBackendServers", lb(`[{"ServerId":"i-sick"}]`)); got != "InstanceBackendServerNumberOverLimit" {
			t.Errorf("%s: there is room for a fourth server: %q", name, got)
		}
		leaving := tt.with(one)
		if tt.leave == "DeleteVServerGroup" {
			delete(leaving, "BackendServers")
		}
		c.call(tt.leave, leaving)
		c.call("AddBackendServers", lb(`[{"ServerId":"i-sick"}]`))
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
		"VServerGroupId": "rsp-empty", "OldBackendServers": `[{"ServerId":"i-3","Port":1}]`,
		"NewBackendServers": `[{"ServerId":"i-sick","Port":1}]`,
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

func TestDefaultGroup(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	lb := params{"LoadBalancerId": "lb-1"}
	got := c.call("AddBackendServers",
		lb.with("BackendServers", `[{"ServerId":"i-1","Weight":"10"},{"ServerId":"i-1","Weight":"20"},{"ServerId":"i-2"}]`))
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
	eni := lb.with("BackendServers", `[{"ServerId":"eni-1","Type":"eni"}]`)
	c.call("AddBackendServers", eni)
	if got := c.code("AddBackendServers", eni); got != "InvalidBackendServers.ServerIpConflict" {
		t.Errorf("add an address that is there: got code %q, want InvalidBackendServers.ServerIpConflict", got)
	}
	c.call("RemoveBackendServers", eni)
	c.call("AddBackendServers", lb) // terraform's empty last batch
	c.call("RemoveBackendServers", lb.with("BackendServers", `[{"ServerId":"i-3"}]`))
	c.call("RemoveBackendServers", lb.with("BackendServers", `["i-1","i-3"]`)) // as older clients send it
	described := c.call("DescribeLoadBalancerAttribute", lb)
	if w := described.at("BackendServers.BackendServer.0.Weight"); w != 5.0 || len(described.list("BackendServers.BackendServer")) != 1 {
		t.Errorf("left: %v, want i-2 with weight 5", described["BackendServers"])
	}
	for _, action := range []string{"AddBackendServers", "SetBackendServers", "RemoveBackendServers"} {
		if got := c.code(action, params{"LoadBalancerId": "lb-x", "BackendServers": "[]"}); got != "InvalidLoadBalancerId.NotFound" {
			t.Errorf("%s of an unknown load balancer: got code %q", action, got)
		}
	}
}

// What the documents leave open is decided for the client, or against it where a setting says so.
func TestWhatTheDocumentsLeaveOpen(t *testing.T) {
	t.Parallel()
	present := `[{"ServerId":"i-1","Port":"30080"}]`
	tests := []struct {
		action string
		params params
		refuse func(*cloud)
		code   string
	}{
		{
			"StartLoadBalancerListener", params{"LoadBalancerId": "lb-1", "ListenerPort": "80"},
			func(c *cloud) { c.settings.StartOfRunningRefused = true }, "OperationFailed.ListenerStatusNotSupport",
		},
		{
			action("Create", protoUDP), newListener(protoUDP).with("ListenerPort", "80"),
			func(c *cloud) { c.settings.SharedPortsRefused = true }, "InvalidParameter.ListenerPortConflict",
		},
		{
			action("Create", protoTCP), newListener(protoTCP).with("ListenerPort", "53"),
			func(c *cloud) { c.settings.SharedPortsRefused = true }, "InvalidParameter.ListenerPortConflict",
		},
		{
			"AddVServerGroupBackendServers", params{"VServerGroupId": "rsp-1", "BackendServers": present},
			func(c *cloud) { c.settings.PresentServersRefused = true }, "InvalidParameter",
		},
	}
	for _, tt := range tests {
		c := newCloud(t)
		tt.refuse(c)
		if got := c.code(tt.action, tt.params); got != tt.code {
			t.Errorf("%s where it is refused: got code %q, want %s", tt.action, got, tt.code)
		}
		if got := newCloud(t).code(tt.action, tt.params); got != "" {
			t.Errorf("%s: got code %q, want success", tt.action, got)
		}
	}
}
