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
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// What a client sees, what the cloud did, and what the journal says, for each way in which a write can go wrong.
func TestFaultsOfWrites(t *testing.T) {
	t.Parallel()
	unavailable := &fault.Error{Status: 503, Code: "ServiceUnavailable", Message: "later"}
	tests := []struct {
		name    string
		rule    fault.Rule
		code    string // what the client gets
		effect  bool
		journal string
		status  int
	}{
		{"error before", fault.Rule{Error: unavailable}, "ServiceUnavailable", false, "ServiceUnavailable", 503},
		{"error after", fault.Rule{Error: unavailable, When: fault.After}, "ServiceUnavailable", true, "ServiceUnavailable", 503},
		{"dropped before", fault.Rule{Drop: true}, "broken", false, "ConnectionDropped", 0},
		{"dropped after", fault.Rule{Drop: true, When: fault.After}, "broken", true, "ConnectionDropped", 0},
		{"slow", fault.Rule{Latency: api.Duration(30 * time.Millisecond)}, "", true, "", 200},
		{"slow answer", fault.Rule{Latency: api.Duration(30 * time.Millisecond), When: fault.After}, "", true, "", 200},
		{"empty does not concern writes", fault.Rule{Empty: true}, "", true, "", 200},
		{"not this action", fault.Rule{Drop: true, Action: "Delete*"}, "", true, "", 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sim := newCloud(t, openapisim.Config{})
			tt.rule.ID = "it"
			if err := sim.SetFaults(tt.rule); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_, code := newClient(t, sim).call("vpc", "CreateRouteEntry",
				"RouteTableId", tableID, "DestinationCidrBlock", "10.0.0.0/24", "NextHopId", "i-1")
			if code != tt.code {
				t.Errorf("client got %q, want %q", code, tt.code)
			}
			if took := time.Since(start); took < time.Duration(tt.rule.Latency) {
				t.Errorf("answered after %v", took)
			}
			custom := 0
			sim.View(func(c *state.Cloud) {
				for _, e := range c.RouteTables[tableID].Entries {
					if e.Type == "Custom" {
						custom++
					}
				}
			})
			if (custom == 1) != tt.effect {
				t.Errorf("%d entries, effect %v wanted", custom, tt.effect)
			}
			call := sim.Calls(0)[0]
			if call.Code != tt.journal || call.Status != tt.status || call.Effect != tt.effect || call.Latency < float64(time.Duration(tt.rule.Latency).Milliseconds()) {
				t.Errorf("journal %+v", call)
			}
			if struck := sim.Faults()[0].Struck; (struck == 1) != (call.Fault == "it") {
				t.Errorf("struck %d times, journal says %q", struck, call.Fault)
			}
		})
	}
}

// A caller without permission on resources gets empty lists, not errors.
func TestEmptyAnswers(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	if err := sim.SetFaults(fault.Rule{Product: "ecs", Empty: true, Times: 1}); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, sim)
	for _, want := range []float64{0, 2} {
		if total := c.must("ecs", "DescribeInstances")["TotalCount"]; total != want {
			t.Errorf("%v instances, want %v", total, want)
		}
	}
}

// A client that repeats a create whose answer was lost, with the same ClientToken, gets the first result.
func TestLostAnswerAndClientToken(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	if err := sim.SetFaults(fault.Rule{Action: "CreateRouteEntry", When: fault.After, Drop: true, Times: 1}); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, sim)
	create := []string{"RouteTableId", tableID, "DestinationCidrBlock", "10.0.0.0/24", "NextHopId", "i-1", "ClientToken", "token-1"}
	if _, code := c.call("vpc", "CreateRouteEntry", create...); code != "broken" {
		t.Fatalf("code %q", code)
	}
	first := c.must("vpc", "CreateRouteEntry", create...)["RouteEntryId"]
	listed := c.must("vpc", "DescribeRouteEntryList", "RouteTableId", tableID, "RouteEntryType", "Custom")
	if id := at(t, listed, "RouteEntrys", "RouteEntry", 0, "RouteEntryId"); id != first || first == "" {
		t.Errorf("created %v, listed %v", first, id)
	}
	create[3] = "10.0.1.0/24"
	if _, code := c.call("vpc", "CreateRouteEntry", create...); code != "IdempotentParameterMismatch" {
		t.Errorf("other parameters: %q", code)
	}
}

// A snapshot is restored exactly: the cloud behaves and describes itself as it did, ids go on, transitions end in time.
func TestSnapshotAndRestore(t *testing.T) {
	t.Parallel()
	settings := api.DefaultSettings()
	sim := newCloud(t, openapisim.Config{Settings: &settings})
	sim.SetTime(time.Date(2026, 1, 1, 12, 0, 0, 123456789, time.UTC))
	c := newClient(t, sim)
	lb := c.must("slb", "CreateLoadBalancer", "AddressType", "internet", "LoadBalancerSpec", "slb.s1.small", "ClientToken", "t1", "Tag.1.Key", "k", "Tag.1.Value", "v")["LoadBalancerId"].(string)
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

// A snapshot can also be what another cloud begins with. Its ids are taken there.
func TestSnapshotAsSeed(t *testing.T) {
	t.Parallel()
	create := func(sim *openapisim.Simulator) string {
		return newClient(t, sim).must("slb", "CreateLoadBalancer", "AddressType", "internet", "LoadBalancerSpec", "slb.s1.small")["LoadBalancerId"].(string)
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
		"null within": `{"loadBalancers":{"lb-1":{"listeners":[{"port":1,"rules":[null]}]}}}`, "another region": `{"region":"cn-beijing","account":"1000000000000001"}`, "two documents": "{}{}",
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
	if err == nil || !strings.Contains(err.Error(), `eips["eip-1"]: id is "eip-2"`) || !strings.Contains(err.Error(), `acls["acl-1"]: is null`) {
		t.Errorf("wrong seed: %v", err)
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
