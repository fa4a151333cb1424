package slb

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const twoServers = `[{"ServerId":"i-1","Port":"80","ServerType":"Master","Weight":"100","Description":"d"},` +
	`{"ServerId":"i-2","Port":"81","ServerType":"Slave"}]`

// pair makes a master-slave group of lb-1 and returns its id.
func (c *cloud) pair() string {
	c.testing.Helper()
	p := params{"LoadBalancerId": "lb-1", "MasterSlaveServerGroupName": "two", "MasterSlaveBackendServers": twoServers}
	return c.call("CreateMasterSlaveServerGroup", p).text("MasterSlaveServerGroupId")
}

func TestMasterSlaveCodes(t *testing.T) {
	t.Parallel()
	key := params{"LoadBalancerId": "lb-1"}
	of := func(servers ...string) params {
		return key.with("MasterSlaveBackendServers", "["+strings.Join(servers, ",")+"]")
	}
	ecs := func(id, port, role string) string {
		return `{"ServerId":"` + id + `","Port":"` + port + `","ServerType":"` + role + `"}`
	}
	first := ecs("i-1", "80", "Master")
	second := func(members string) params { return of(first, `{"ServerType":"Slave",`+members+`}`) }
	eni := func(ip, role string) string {
		return `{"ServerId":"eni-1","Type":"eni","Port":"80","ServerIp":"` + ip + `","ServerType":"` + role + `"}`
	}
	const same = "BACKEND_SERVERS_HAVE_SAME_PORT_AND_SERVERID"
	const oneOfEach = "BACKEND_SERVERS_CAN_ONLY_CONTAIN_ONE_MASTER_AND_ONE_SLAVE"
	testCodes(t, "CreateMasterSlaveServerGroup", []codeTest{
		{"ok", key.with("MasterSlaveBackendServers", twoServers, "MasterSlaveServerGroupName", "n", "Tag.1.Key", "k"), ""},
		{"none", key, ""},
		{"empty list", of(), ""},
		{"the first is the master if it doesn't say", of(`{"ServerId":"i-1","Port":80}`, ecs("i-2", "80", "slave")), ""},
		{"one server at two ports", of(first, ecs("i-1", "81", "Slave")), ""},
		{"two addresses of an interface", of(eni("10.0.0.20", "Master"), eni("10.0.0.21", "Slave")), ""},
		{"one server", of(first), "BACKEND_SERVERS_NUM_MUST_BE_TWO"},
		{"three servers", of(first, ecs("i-2", "80", "Slave"), ecs("i-3", "80", "Slave")), "BACKEND_SERVERS_NUM_MUST_BE_TWO"},
		{"no JSON", key.with("MasterSlaveBackendServers", "{"), "BackendServersMalformed"},
		{"no id", second(`"Port":"80"`), "BACKEND_SERVER_ID_CAN_NOT_EMPTY"},
		{"no port", second(`"ServerId":"i-2"`), "BACKEND_SERVER_PORT_CAN_NOT_EMPTY"},
		{"port 0", second(`"ServerId":"i-2","Port":"0"`), "RealServerPortNotSupport"},
		{"port -520", second(`"ServerId":"i-2","Port":"-520"`), "RealServerPortNotSupport"},
		{"port 65536", second(`"ServerId":"i-2","Port":"65536"`), "RealServerPortNotSupport"},
		{"role", of(first, ecs("i-2", "80", "Standby")), "INVALID_SERVER_TYPE"},
		{"two masters", of(first, ecs("i-2", "80", "Master")), oneOfEach},
		{"two slaves", of(ecs("i-1", "80", "Slave"), ecs("i-2", "80", "Slave")), oneOfEach},
		{"twice the same", of(first, ecs("i-1", "80", "Slave")), same},
		{"type", second(`"ServerId":"i-2","Port":"80","Type":"vm"`), "BackendServer.InvalidType"},
		{"weight", second(`"ServerId":"i-2","Port":"80","Weight":"101"`), "InvalidWeight.Malformed"},
		{"description", second(`"ServerId":"i-2","Port":"80","Description":"` + strings.Repeat("x", 81) + `"`), "InvalidParameter"},
		{"unknown server", second(`"ServerId":"i-x","Port":"80"`), "InvalidServerId.NotExist"},
		{"stopped server", second(`"ServerId":"i-stopped","Port":"80"`), "ObtainIpFail"},
		{"address", second(`"ServerId":"eni-1","Type":"eni","Port":"80","ServerIp":"10.9.9.9"`), "ResourceNotFound.vServers"},
		{"other VPC", second(`"ServerId":"i-far","Port":"80"`).with("LoadBalancerId", "lb-vpc"), "NetworkConflict"},
		{"long name", key.with("MasterSlaveServerGroupName", strings.Repeat("x", 81)), "InvalidParameter"},
		{"locked", key.with("LoadBalancerId", "lb-locked"), "LbStatusNotSupport"},
		{"unknown load balancer", key.with("LoadBalancerId", "lb-x"), "InvalidLoadBalancerId.NotFound"},
	})
	unknown := params{"MasterSlaveServerGroupId": "rsp-x"}
	vServer := params{"MasterSlaveServerGroupId": "rsp-empty"} // exists, but is of the other kind
	for _, name := range []string{"DescribeMasterSlaveServerGroupAttribute", "DeleteMasterSlaveServerGroup"} {
		testCodes(t, name, []codeTest{{"unknown", unknown, "InvalidParameter"}, {"vServer group", vServer, "InvalidParameter"}})
	}
	testCodes(t, "DescribeMasterSlaveServerGroups", []codeTest{{"unknown load balancer", params{"LoadBalancerId": "lb-x"},
		"InvalidLoadBalancerId.NotFound"}})
}

func TestMasterSlaveQuotas(t *testing.T) {
	t.Parallel()
	p := params{"LoadBalancerId": "lb-1", "MasterSlaveBackendServers": twoServers}
	c := newCloud(t)
	c.settings.Quotas.ServerAttachments = 2 // i-1 is in two groups already
	if got := c.code("CreateMasterSlaveServerGroup", p); got != "OverQuota" {
		t.Errorf("a server too often: %q", got)
	}
	c = newCloud(t)
	c.settings.Quotas.Servers = 1
	if got := c.code("CreateMasterSlaveServerGroup", p); got != "InstanceBackendServerNumberOverLimit" {
		t.Errorf("too many servers: %q", got)
	}
}

// A group reads back what it was made with, is counted, and is none of the vServer groups.
func TestMasterSlaveGroup(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.pair()
	group := c.call("DescribeMasterSlaveServerGroupAttribute", params{"MasterSlaveServerGroupId": id})
	const list = "MasterSlaveBackendServers.MasterSlaveBackendServer"
	want := []any{
		map[string]any{"ServerId": "i-1", "ServerIp": "", "Type": "ecs", "Port": 80.0, "Weight": 100.0, "Description": "d",
			"ServerType": "Master", "VpcId": ""},
		map[string]any{"ServerId": "i-2", "ServerIp": "", "Type": "ecs", "Port": 81.0, "Weight": 100.0, "Description": "",
			"ServerType": "Slave", "VpcId": ""},
	}
	if diff := cmp.Diff(want, group.list(list)); diff != "" {
		t.Errorf("its servers (-want +got):\n%s", diff)
	}
	if group["MasterSlaveServerGroupName"] != "two" || group["LoadBalancerId"] != "lb-1" {
		t.Errorf("it is shown as %v", group)
	}
	if err := c.state.CheckCounts(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"DescribeVServerGroupAttribute", "DeleteVServerGroup"} {
		if got := c.code(name, params{"VServerGroupId": id}); got != "InvalidParameter" {
			t.Errorf("%s of it: %q", name, got)
		}
	}
	others := c.call("DescribeVServerGroups", params{"LoadBalancerId": "lb-1"})
	if slices.Contains(others.texts("VServerGroups.VServerGroup", "VServerGroupId"), id) {
		t.Error("it is among the vServer groups")
	}
	for filter, n := range map[string]int{"": 1, "tw": 1, "x": 0} {
		all := c.call("DescribeMasterSlaveServerGroups", params{"LoadBalancerId": "lb-1", "Description": filter})
		if got := all.list("MasterSlaveServerGroups.MasterSlaveServerGroup"); len(got) != n {
			t.Errorf("%d with %q in the name, want %d", len(got), filter, n)
		}
	}
	tag := params{"ResourceType": "masterslaveservergroup", "ResourceId.1": id}
	c.call("TagResources", tag.with("Tag.1.Key", "k", "Tag.1.Value", "v"))
	filter := params{"LoadBalancerId": "lb-1", "Tag.1.Key": "k", "Tag.1.Value": "v"}
	if got := c.call("DescribeMasterSlaveServerGroups", filter).list("MasterSlaveServerGroups.MasterSlaveServerGroup"); len(got) != 1 {
		t.Errorf("by its tag: %v", got)
	}
	if got := c.code("TagResources", tag.with("ResourceType", "vservergroup", "Tag.1.Key", "k")); got != "ResourceNotExist" {
		t.Errorf("tags of a vServer group: %q", got)
	}
	c.call("DeleteMasterSlaveServerGroup", params{"MasterSlaveServerGroupId": id})
	if err := c.state.CheckCounts(); err != nil {
		t.Error(err)
	}
	c.pair()
	c.call("DeleteLoadBalancer", params{"LoadBalancerId": "lb-1"})
	for id, g := range c.state.ServerGroups {
		if g.LoadBalancerID == "lb-1" {
			t.Errorf("the group %s outlives its load balancer", id)
		}
	}
}

// TCP and UDP listeners send their traffic to a master-slave group instead of a vServer group, never to both.
func TestListenerUsesMasterSlaveGroup(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{protoTCP, protoUDP} {
		c := newCloud(t)
		id := c.pair()
		create := newListener(protocol).with("VServerGroupId", "", "MasterSlaveServerGroupId", id)
		key := params{"LoadBalancerId": "lb-1", "ListenerPort": create["ListenerPort"]}
		const both = "Abs.VServerGroupIdAndMasterSlaveServerGroupId.MissMatch"
		for name, tt := range map[string]struct{ group, pair, want string }{
			"both": {"rsp-1", id, both}, "unknown": {"", "rsp-x", "InvalidParameter"}, "vServer group": {"", "rsp-1", "InvalidParameter"},
			"the other way round": {id, "", "ResourceNotFound.VServerGroup"},
		} {
			p := create.with("VServerGroupId", tt.group, "MasterSlaveServerGroupId", tt.pair)
			if got := c.code(action("Create", protocol), p); got != tt.want {
				t.Errorf("%s, %s: %q, want %q", protocol, name, got, tt.want)
			}
		}
		c.call(action("Create", protocol), create)
		targets := func(group, pair string) {
			t.Helper()
			shown := c.call(action("Describe", protocol), key)
			if shown.text("VServerGroupId") != group || shown.text("MasterSlaveServerGroupId") != pair {
				t.Errorf("%s: the groups are %q and %q, want %q and %q", protocol, shown["VServerGroupId"], shown["MasterSlaveServerGroupId"],
					group, pair)
			}
		}
		targets("", id)
		if got := c.code("DeleteMasterSlaveServerGroup", params{"MasterSlaveServerGroupId": id}); got != "RspoolVipExist" {
			t.Errorf("deletion of a used group: %q", got)
		}
		list := c.call("DescribeMasterSlaveServerGroups", params{"LoadBalancerId": "lb-1", "IncludeListener": "true"})
		port, _ := strconv.Atoi(create["ListenerPort"])
		listeners := list.at("MasterSlaveServerGroups.MasterSlaveServerGroup.0.AssociatedObjects.Listeners.Listener")
		if diff := cmp.Diff([]any{map[string]any{"Port": float64(port), "Protocol": protocol}}, listeners); diff != "" {
			t.Errorf("its listeners (-want +got):\n%s", diff)
		}
		c.call("StartLoadBalancerListener", key.with("ListenerProtocol", protocol))
		health := c.call("DescribeHealthStatus", key.with("ListenerProtocol", protocol)).texts("BackendServers.BackendServer", "ServerId")
		if diff := cmp.Diff([]string{"i-1", "i-2"}, health); diff != "" {
			t.Errorf("its health is that of (-want +got):\n%s", diff)
		}

		set := func(want string, pairs ...string) {
			t.Helper()
			if got := c.code(action("Set", protocol), key.with(pairs...)); got != want {
				t.Errorf("%s, %v: %q, want %q", protocol, pairs, got, want)
			}
		}
		set(both, "VServerGroupId", "rsp-1", "MasterSlaveServerGroupId", id)
		set(both, "VServerGroup", on, "MasterSlaveServerGroup", on)
		set("MissingParameter", "MasterSlaveServerGroup", on)
		set("InvalidParameter", "MasterSlaveServerGroup", on, "MasterSlaveServerGroupId", "rsp-1")
		set("InvalidParameter", "MasterSlaveServerGroup", off) // there is no port of the default servers
		set("", "VServerGroup", off)
		targets("", id)
		set("", "MasterSlaveServerGroup", off, "VServerGroup", on, "VServerGroupId", "rsp-1")
		targets("rsp-1", "")
		set("", "VServerGroup", off, "MasterSlaveServerGroup", on, "MasterSlaveServerGroupId", id)
		targets("", id)
		set("", "VServerGroupId", "rsp-1")
		targets("rsp-1", "")
		c.call("DeleteMasterSlaveServerGroup", params{"MasterSlaveServerGroupId": id})
	}
}

// A group stays as it is while its load balancer is locked or applies another change.
func TestMasterSlaveGroupIsHeld(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	group := params{"MasterSlaveServerGroupId": c.pair()}
	lb := c.state.LoadBalancers["lb-1"]
	lb.BusyUntil = c.now.Add(1)
	if got := c.code("DeleteMasterSlaveServerGroup", group); got != "VServerGroupProcessing" {
		t.Errorf("of a busy load balancer: %q", got)
	}
	lb.Status = locked
	if got := c.code("DeleteMasterSlaveServerGroup", group); got != "LbStatusNotSupport" {
		t.Errorf("of a locked load balancer: %q", got)
	}
}

// The switch to the default servers works both ways, and a group that was let go can't be deleted for a while.
func TestMasterSlaveGroupIsReleased(t *testing.T) {
	t.Parallel()
	c := slowCloud(t)
	p := params{"LoadBalancerId": "lb-1"}
	id := c.call("CreateMasterSlaveServerGroup", p).text("MasterSlaveServerGroupId")
	if got := c.code("CreateMasterSlaveServerGroup", p); got != "VServerGroupProcessing" {
		t.Errorf("a second one at once: %q", got)
	}
	c.pass(c.settings.BusyAfterWrite)
	create := newListener(protoTCP).with("VServerGroupId", "", "MasterSlaveServerGroupId", id, "BackendServerPort", "8080")
	c.call(action("Create", protoTCP), create)
	c.pass(c.settings.BusyAfterWrite)
	key := params{"LoadBalancerId": "lb-1", "ListenerPort": create["ListenerPort"]}
	c.call(action("Set", protoTCP), key.with("MasterSlaveServerGroup", off))
	c.pass(c.settings.BusyAfterWrite)
	group := params{"MasterSlaveServerGroupId": id}
	if got := c.code("DeleteMasterSlaveServerGroup", group); got != "RspoolVipExist" {
		t.Errorf("just after the listener let go: %q", got)
	}
	c.pass(c.settings.GroupReleased)
	c.call("DeleteMasterSlaveServerGroup", group)
}

// Rules and HTTP listeners have vServer groups alone.
func TestLayerSevenHasNoMasterSlaveGroup(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.pair()
	create := newListener(protoHTTP).with("VServerGroupId", id)
	if got := c.code(action("Create", protoHTTP), create); got != "InvalidParameter.VServerGroupId" {
		t.Errorf("an HTTP listener: %q", got)
	}
	rules := params{"LoadBalancerId": "lb-1", "ListenerPort": "81",
		"RuleList": `[{"RuleName":"n","Domain":"x.example.com","VServerGroupId":"` + id + `"}]`}
	if got := c.code("CreateRules", rules); got != "InvalidParameter" {
		t.Errorf("a rule: %q", got)
	}
}

// Servers that vanish leave master-slave groups as they leave the others.
func TestServersVanishFromMasterSlaveGroups(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.pair()
	c.state.Vanishing = append(c.state.Vanishing, state.Vanishing{ServerIDs: []string{"i-1"}, At: c.now})
	c.state.Vanish(c.now)
	if n := len(c.state.ServerGroups[id].Servers); n != 1 {
		t.Errorf("%d servers are left, want 1", n)
	}
}
