package console

import (
	"flag"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// golden compares a text with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; if that is meant, run go test with -update (-want +got):\n%s", file, diff)
	}
}

// noon is when the fixtures live.
func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC) }

// fake is a cloud that stands still unless a test changes it.
type fake struct {
	mu     sync.Mutex // guards cloud
	cloud  *state.Cloud
	health Health
	calls  []journal.Call // the oldest first
	limits limit.Table
	off    bool // the limits
	frozen bool
	faults int
}

func (f *fake) View(look func(*state.Cloud, Health)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	look(f.cloud, f.health)
}

func (f *fake) Backward() iter.Seq[*journal.Call] {
	return func(yield func(*journal.Call) bool) {
		for i := range slices.Backward(f.calls) {
			if !yield(&f.calls[i]) {
				return
			}
		}
	}
}

func (f *fake) Limits() (enabled bool, table limit.Table) { return !f.off, f.limits }

func (f *fake) Clock() (now time.Time, frozen bool) { return noon(), f.frozen }

func (f *fake) Faults() int { return f.faults }

func (f *fake) Places() []string { return []string{"1000000000000001/cn-hangzhou"} }

// words are what health checks of both kinds say in tests.
func words() Health {
	return Health{CLB: byWeight, NLB: func(_ *state.NLBListener, _ *state.NLBServerGroup, s *state.NLBServer) string { return s.Description }}
}

// byWeight is a health that tests can choose server by server.
func byWeight(_ *state.LoadBalancer, _ *state.Listener, s *state.Server) string {
	switch s.Weight {
	case 1:
		return "abnormal"
	case 2:
		return "unavailable"
	}
	return "normal"
}

// small is a cloud with one of everything that is shown.
func small() *fake {
	no := false
	c := state.New("cn-hangzhou", "1000000000000001")
	c.Vpcs["vpc-1"] = &state.Vpc{ID: "vpc-1"}
	c.Eips["eip-1"] = &state.Eip{ID: "eip-1", Address: "121.40.0.7"}
	c.Instances["i-1"] = &state.Instance{
		ID: "i-1", Name: "node-1", Status: "Running", InstanceType: "ecs.g7.xlarge", ZoneID: "cn-hangzhou-h",
		PrivateIPs: []string{"192.168.0.11"}, EipID: "eip-1",
	}
	c.Instances["i-2"] = &state.Instance{
		ID: "i-2", Name: "i-2", Status: "Stopped", PrivateIPs: []string{"192.168.0.12"}, PublicIPs: []string{"47.1.1.1"}, Healthy: &no,
	}
	c.Interfaces["eni-1"] = &state.NetworkInterface{
		ID: "eni-1", Type: "Primary", Status: "InUse", InstanceID: "i-1", PrimaryIP: "192.168.0.11", PrivateIPs: []string{"192.168.0.11"},
		SourceDestCheck: true,
	}
	c.Interfaces["eni-2"] = &state.NetworkInterface{
		ID: "eni-2", Type: "Secondary", Status: "InUse", InstanceID: "i-1", PrimaryIP: "192.168.0.21",
		PrivateIPs: []string{"192.168.0.21", "192.168.0.22", "192.168.0.23"},
	}
	c.Interfaces["eni-free"] = &state.NetworkInterface{ID: "eni-free", Type: "Secondary", Status: "Available", PrimaryIP: "192.168.0.31"}
	c.RouteTables["vtb-1"] = &state.RouteTable{ID: "vtb-1", VpcID: "vpc-1", Type: "System", Entries: []*state.RouteEntry{
		{Cidr: "100.64.0.0/10", NextHopType: "local", Type: "System", Status: "Available"},
		{Cidr: "10.0.1.0/24", NextHopID: "i-1", NextHopType: "Instance", Type: "Custom", Status: "Available", Name: "pods",
			Description: "of node-1"},
		{Cidr: "10.0.2.0/24", NextHopID: "i-2", NextHopType: "Instance", Type: "Custom", Status: "Deleting"},
	}}
	addBalancers(c)
	return &fake{cloud: c, health: words(), calls: someCalls(), limits: limit.Table{
		"slb/CreateVServerGroup": {Calls: 3, Window: api.Duration(time.Minute)},
		"slb/DescribeRegions":    {Calls: 10, Window: api.Duration(time.Second)},
	}}
}

func addBalancers(c *state.Cloud) {
	c.LoadBalancers["lb-1"] = &state.LoadBalancer{
		ID: "lb-1", Name: "web", Address: "47.96.0.5", AddressType: "internet", Spec: "slb.s2.small", Status: "active",
		DeleteProtection: "on", Created: noon(), VpcID: "vpc-1", VSwitchID: "vsw-1",
		Tags:           []state.Tag{{Key: "ack.aliyun.com", Value: "c-1"}, {Key: "lonely"}},
		DefaultServers: []*state.Server{{Type: "ecs", ServerID: "i-2", Weight: 2}},
		Listeners: []*state.Listener{
			{Port: 9000, Protocol: "tcp", Status: "starting", Attributes: map[string]string{"VServerGroupId": "rsp-gone",
				"PersistenceTimeout": "60"}},
			{Port: 443, Protocol: "https", Status: "running", Attributes: map[string]string{
				"Scheduler": "wrr", "VServerGroupId": "rsp-1", "StickySession": "on", "AclStatus": "on", "AclType": "white",
			}, Rules: []*state.Rule{{Domain: "api.example.com", URL: "/v1", ServerGroupID: "rsp-2"}}},
			{Port: 80, Protocol: "http", Status: "stopped", Attributes: map[string]string{"ListenerForward": "on", "ForwardPort": "443"}},
			{Port: 53, Protocol: "udp", Status: "configuring", Attributes: map[string]string{"ProxyProtocolV2Enabled": "true",
				"BackendServerPort": "5353"}},
		},
	}
	c.LoadBalancers["lb-2"] = &state.LoadBalancer{
		ID: "lb-2", Address: "192.168.0.99", AddressType: "intranet", Status: "locked", Created: noon().Add(-time.Hour),
	}
	c.ServerGroups["rsp-1"] = &state.ServerGroup{ID: "rsp-1", LoadBalancerID: "lb-1", Name: "k8s/443", Servers: []*state.Server{
		{Type: "ecs", ServerID: "i-1", Port: 30443, Weight: 100, Description: "k8s"}, {Type: "ecs", ServerID: "i-2", Port: 30443, Weight: 1},
	}}
	c.ServerGroups["rsp-2"] = &state.ServerGroup{ID: "rsp-2", LoadBalancerID: "lb-1", Name: "api", Servers: []*state.Server{
		{Type: "eni", ServerID: "eni-2", ServerIP: "192.168.0.22", Port: 8080, Weight: 100}, {Type: "eni", ServerID: "eni-2",
			Port: 8080, Weight: 100},
	}}
	c.ServerGroups["rsp-3"] = &state.ServerGroup{ID: "rsp-3", LoadBalancerID: "lb-1", Name: "idle"}
}

func someCalls() []journal.Call {
	at := func(seq int64, before time.Duration, product, action string) journal.Call {
		return journal.Call{
			Seq: seq, Time: noon().Add(-before), Product: product, Action: action, Caller: "cloudgateway/1.0", Status: 200, Latency: 0.25,
			Params: map[string]string{"Action": action, "Version": "2014-05-15", "SignatureNonce": "n", "LoadBalancerId": "lb-1"},
		}
	}
	calls := []journal.Call{at(1, time.Hour, "ecs", "DescribeInstances")}
	for n := range int64(5) {
		c := at(2+n, 2*time.Minute, "slb", "CreateVServerGroup")
		c.Mutating, c.Effect = true, true
		if n >= 3 {
			c.Status, c.Code, c.Effect = 400, "Throttling.User", false
		}
		calls = append(calls, c)
	}
	lost := at(7, time.Second, "vpc", "CreateRouteEntry")
	lost.Mutating, lost.Effect, lost.Status, lost.Code, lost.Fault, lost.Caller = true, true, 0, "ConnectionDropped", "fault-1", "terraform"
	missing := at(8, 0, "slb", "DescribeLoadBalancerAttribute")
	missing.Status, missing.Code = 404, "InvalidLoadBalancerId.NotFound"
	return append(calls, lost, missing, at(9, 0, "slb", "DescribeRegions"))
}
