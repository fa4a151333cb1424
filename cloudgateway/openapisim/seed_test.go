package openapisim_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// A snapshot is restored exactly: the cloud behaves and describes itself as it did, ids go on, transitions end in time.
func TestSnapshotAndRestore(t *testing.T) {
	t.Parallel()
	settings := api.DefaultSettings()
	sim := newCloud(t, openapisim.Config{Settings: &settings})
	sim.SetTime(time.Date(2026, 1, 1, 12, 0, 0, 123456789, time.UTC))
	c := newClient(t, sim)
	lb := c.must("slb", "CreateLoadBalancer", "AddressType", "internet", "InstanceChargeType", "PayByCLCU", "ClientToken",
		"t1", "Tag.1.Key", "k", "Tag.1.Value", "v")["LoadBalancerId"].(string)
	sim.Advance(5 * time.Second)
	c.must("slb", "CreateVServerGroup", "LoadBalancerId", lb, "BackendServers", `[{"ServerId":"i-1","Port":"80","Weight":"100","Type":"ecs"}]`)
	c.must("vpc", "CreateRouteEntry", "RouteTableId", tableID, "DestinationCidrBlock", "10.0.0.0/24", "NextHopId", "i-1")
	_, snapshot := admin(t, sim, http.MethodGet, "/admin/state", "")
	describe := func() []any {
		sim.SetTime(time.Date(2026, 1, 1, 12, 0, 6, 0, time.UTC))
		answers := []any{
			c.must("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", lb), c.must("slb", "DescribeVServerGroups", "LoadBalancerId", lb),
			c.must("vpc", "DescribeRouteEntryList", "RouteTableId", tableID), c.must("ecs", "DescribeInstances"),
		}
		sim.Advance(10 * time.Second)
		answers = append(answers, c.must("vpc", "DescribeRouteEntryList", "RouteTableId", tableID))
		created := c.must("vpc", "CreateRouteEntry", "RouteTableId", tableID, "DestinationCidrBlock", "10.9.0.0/24", "NextHopId", "i-2")
		answers = append(answers, created)
		for _, a := range answers {
			delete(a.(map[string]any), "RequestId")
		}
		return answers
	}
	want := describe()
	c.must("slb", "DeleteLoadBalancer", "LoadBalancerId", lb)

	sim.SetTime(time.Date(2026, 1, 1, 12, 0, 5, 123456789, time.UTC))
	if status, body := admin(t, sim, http.MethodPut, "/admin/state", snapshot); status != http.StatusNoContent {
		t.Fatal(body)
	}
	if _, again := admin(t, sim, http.MethodGet, "/admin/state", ""); again != snapshot {
		t.Errorf("snapshot (-want +got):\n%s", cmp.Diff(snapshot, again))
	}
	if diff := cmp.Diff(want, describe()); diff != "" {
		t.Errorf("after the restore (-want +got):\n%s", diff)
	}
}

// Servers that are about to vanish do so after a restore, too.
func TestRestoreLetsServersVanish(t *testing.T) {
	t.Parallel()
	settings := api.DefaultSettings()
	sim := newCloud(t, openapisim.Config{Settings: &settings})
	sim.SetTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	c := newClient(t, sim)
	lb := c.must("slb", "CreateLoadBalancer", "AddressType", "internet", "InstanceChargeType", "PayByCLCU")["LoadBalancerId"].(string)
	group := c.must("slb", "CreateVServerGroup", "LoadBalancerId", lb, "BackendServers",
		`[{"ServerId":"i-2","Port":"80"}]`)["VServerGroupId"].(string)
	c.must("ecs", "DeleteInstance", "InstanceId", "i-2", "Force", "true")
	snapshot, err := sim.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.Restore(snapshot); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		servers, _ := at(t, c.must("slb", "DescribeVServerGroupAttribute", "VServerGroupId", group), "BackendServers", "BackendServer").([]any)
		if len(servers) != want {
			t.Errorf("%d servers, want %d", len(servers), want)
		}
		sim.Advance(settings.ServersVanish)
	}
}

// A snapshot can also be what another cloud begins with. Its ids are taken there.
func TestSnapshotAsSeed(t *testing.T) {
	t.Parallel()
	create := func(sim *openapisim.Simulator) string {
		return newClient(t, sim).must("slb", "CreateLoadBalancer", "AddressType", "internet", "InstanceChargeType",
			"PayByCLCU")["LoadBalancerId"].(string)
	}
	sim := newCloud(t, openapisim.Config{})
	seen := map[string]bool{create(sim): true, create(sim): true}
	snapshot, err := sim.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := openapisim.ReadSeed(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	other := newCloud(t, openapisim.Config{Seed: seed})
	for range 3 {
		seen[create(other)] = true
	}
	if len(seen) != 5 {
		t.Errorf("the ids are %v, want five", seen)
	}
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	before, err := sim.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for name, snapshot := range map[string]string{
		"no JSON": "{", "unknown member": `{"elephants":{}}`, "null": `{"instances":{"i-1":null}}`,
		"null within":    `{"loadBalancers":{"lb-1":{"listeners":[{"port":1,"rules":[null]}]}}}`,
		"another region": `{"region":"cn-beijing","account":"1000000000000001"}`, "two documents": "{}{}",
	} {
		if err := sim.Restore([]byte(snapshot)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	after, err := sim.Snapshot()
	if err != nil || string(after) != string(before) {
		t.Errorf("the state changed, %v", err)
	}
	if err := sim.Restore([]byte(`{"vpcs":null}`)); err != nil {
		t.Fatal(err)
	}
	if err := sim.Seed(seed()); err != nil { // into maps that were null
		t.Fatal(err)
	}
}

func TestSeedCompletesWhatTheCloudAdds(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	if err := sim.Seed(seed()); err != nil { // twice changes nothing
		t.Fatal(err)
	}
	sim.View(func(c *state.Cloud) {
		table := c.RouteTables[tableID]
		if table == nil || table.Type != "System" || len(table.Entries) != 2 || c.VSwitches["vsw-1"].RouteTableID != tableID {
			t.Errorf("route table %+v", table)
		}
		eni := c.Interfaces["eni-1"]
		if eni == nil || eni.InstanceID != "i-1" || eni.PrimaryIP != "192.168.0.11" || !eni.SourceDestCheck || len(c.Interfaces) != 2 {
			t.Errorf("interface %+v", eni)
		}
		i := c.Instances["i-1"]
		if i.Status != "Running" || i.VpcID != "vpc-1" || i.ZoneID != "cn-hangzhou-h" || i.HostName != "i-1" {
			t.Errorf("instance %+v", i)
		}
	})
	var wrong state.Cloud
	if err := json.Unmarshal([]byte(`{"eips":{"eip-1":{"id":"eip-2"}},"acls":{"acl-1":null}}`), &wrong); err != nil {
		t.Fatal(err)
	}
	err := sim.Seed(&wrong)
	if err == nil || !strings.Contains(err.Error(), `eips["eip-1"]: id is "eip-2"`) ||
		!strings.Contains(err.Error(), `acls["acl-1"]: is null`) {
		t.Errorf("wrong seed: %v", err)
	}
}

// What a seed says in the fewest words can be used like what was created.
func TestShortSeeds(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	status, body := admin(t, sim, http.MethodPut, "/admin/seed", `{
		"routeTables": {"vtb-1": {"vpcId": "vpc-1", "entries": [{"cidr": "10.1.0.0/24", "nextHopId": "i-1"},
		{"cidr": "10.2.0.0/24", "nextHopId": "i-2"}]}},
		"instances": {"i-9": {"vswitchId": "vsw-1", "privateIps": ["192.168.0.90"]}},
		"networkInterfaces": {"eni-free": {"vswitchId": "vsw-1", "privateIps": ["192.168.0.50"]},
		"eni-9": {"vswitchId": "vsw-1", "primaryIp": "192.168.0.91"},
		"eni-pods": {"instanceId": "i-1", "primaryIp": "192.168.0.60"}},
		"acls": {"acl-1": {"entries": [{"entry": "10.0.0.0/8"}]}},
		"loadBalancers": {"lb-1": {"listeners": [{"port": 80, "protocol": "tcp", "attributes": {"VServerGroupId": "rsp-1"}}]}},
		"serverGroups": {"rsp-1": {"loadBalancerId": "lb-1", "servers": [{"serverId": "i-1", "port": 80, "weight": 100}]}}}`)
	if status != http.StatusNoContent {
		t.Fatal(body)
	}
	c := newClient(t, sim)
	c.must("vpc", "CreateRouteEntry", "RouteTableId", "vtb-1", "DestinationCidrBlock", "10.3.0.0/24", "NextHopId", "i-1")
	c.must("vpc", "DeleteRouteEntry", "RouteTableId", "vtb-1", "DestinationCidrBlock", "10.1.0.0/24", "NextHopId", "i-1")
	for id, want := range map[string][]any{
		"eni-free": {"Available", "192.168.0.50", "vpc-1", 1}, "eni-pods": {"InUse", "192.168.0.60", "", 1},
		"eni-9": {"Available", "192.168.0.91", "vpc-1", 1}, // not the primary one of i-9
	} {
		eni := at(t, c.must("ecs", "DescribeNetworkInterfaces", "NetworkInterfaceId.1", id), "NetworkInterfaceSets", "NetworkInterfaceSet", 0)
		ips, _ := at(t, eni, "PrivateIpSets", "PrivateIpSet").([]any)
		got := []any{at(t, eni, "Status"), at(t, eni, "PrivateIpAddress"), at(t, eni, "VpcId"), len(ips)}
		if diff := cmp.Diff(want, got); diff != "" || at(t, eni, "Type") != "Secondary" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	c.must("slb", "SetLoadBalancerTCPListenerAttribute", "LoadBalancerId", "lb-1", "ListenerPort", "80", "AclStatus", "on",
		"AclType", "white", "AclId", "acl-1")
	removed := c.must("slb", "RemoveVServerGroupBackendServers", "VServerGroupId", "rsp-1", "BackendServers",
		`[{"ServerId":"i-1","Port":"80","Type":"ecs"}]`)
	if left, _ := at(t, removed, "BackendServers", "BackendServer").([]any); len(left) != 0 {
		t.Errorf("left of the group: %v", left)
	}
}

// Handlers and the data plane rely on that nothing is null, however deep.
func TestSeedsWithNullsAreRefused(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	for document, want := range map[string]string{
		`{"eips":{"eip-1":null}}`:                                            `eips["eip-1"]: is null`,
		`{"loadBalancers":{"lb-1":{"listeners":[{"port":1},null]}}}`:         `loadBalancers["lb-1"].listeners[1]: is null`,
		`{"loadBalancers":{"lb-1":{"listeners":[{"rules":[null]}]}}}`:        `loadBalancers["lb-1"].listeners[0].rules[0]: is null`,
		`{"loadBalancers":{"lb-1":{"defaultServers":[null]}}}`:               `loadBalancers["lb-1"].defaultServers[0]: is null`,
		`{"serverGroups":{"rsp-1":{"servers":[null]}}}`:                      `serverGroups["rsp-1"].servers[0]: is null`,
		`{"routeTables":{"vtb-1":{"entries":[null]}}}`:                       `routeTables["vtb-1"].entries[0]: is null`,
		`{"tokens":{"t":null}}`:                                              `tokens["t"]: is null`,
		`{"instances":{"i-1":{"healthy":null}},"loadBalancers":{"lb-1":{}}}`: "",
	} {
		status, body := admin(t, sim, http.MethodPut, "/admin/seed", document)
		if refused := status == http.StatusBadRequest; refused != (want != "") || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %q", document, status, body, want)
		}
	}
}
