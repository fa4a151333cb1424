package slb

import (
	"slices"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// slowCloud is a cloud with all windows.
func slowCloud(t *testing.T) *cloud {
	t.Helper()
	c := newCloud(t)
	c.settings = api.BusySettings()
	return c
}

// pass moves the clock just beyond a window.
func (c *cloud) pass(window time.Duration) { c.now = c.now.Add(window) }

func TestLoadBalancerBecomesActive(t *testing.T) {
	t.Parallel()
	c := slowCloud(t)
	key := params{"LoadBalancerId": c.call("CreateLoadBalancer", params{"InstanceChargeType": payByCLCU}).text("LoadBalancerId")}
	if got := c.call("DescribeLoadBalancerAttribute", key)["LoadBalancerStatus"]; got != inactive {
		t.Errorf("a new load balancer is %v, want inactive", got)
	}
	c.pass(c.settings.LoadBalancerActive)
	if got := c.call("DescribeLoadBalancerAttribute", key)["LoadBalancerStatus"]; got != active {
		t.Errorf("later it is %v, want active", got)
	}
}

func TestListenerStartsAndChangesInTime(t *testing.T) {
	t.Parallel()
	c := slowCloud(t)
	key := params{"LoadBalancerId": "lb-1", "ListenerPort": "1000"}
	status := func() any { return c.call(action("Describe", protoTCP), key)["Status"] }
	expect := func(want string) {
		t.Helper()
		if got := status(); got != want {
			t.Errorf("the listener is %v, want %s", got, want)
		}
	}
	c.call(action("Create", protoTCP), newListener(protoTCP))
	expect(stopped)
	c.pass(c.settings.BusyAfterWrite)
	c.call("StartLoadBalancerListener", key)
	expect(starting)
	c.pass(c.settings.BusyAfterWrite)
	for name, want := range map[string]string{
		"StartLoadBalancerListener":  "OperationFailed.ListenerStatusNotSupport",
		"StopLoadBalancerListener":   "ServiceIsConfiguring",
		"DeleteLoadBalancerListener": "ServiceIsConfiguring",
		action("Set", protoTCP):      "ServiceIsConfiguring",
	} {
		if got := c.code(name, key); got != want {
			t.Errorf("%s of a starting listener: got code %q, want %s", name, got, want)
		}
	}
	c.pass(c.settings.ListenerStart)
	expect(running)
	c.call(action("Set", protoTCP), key.with("Scheduler", "rr"))
	expect(configuring)
	c.pass(c.settings.ListenerSet)
	expect(running)
	c.call("StopLoadBalancerListener", key)
	expect(stopped)
	c.pass(c.settings.BusyAfterWrite)
	c.call(action("Set", protoTCP), key.with("Scheduler", "wrr"))
	expect(configuring)
	c.pass(c.settings.ListenerSet)
	expect(stopped)
}

func TestGroupIsReleasedInTime(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, group string
		letGo       func(c *cloud)
	}{
		{"by the deletion of its listener", "rsp-1", func(c *cloud) {
			c.call("DeleteLoadBalancerListener", params{"LoadBalancerId": "lb-1", "ListenerPort": "53"})
			c.pass(c.settings.BusyAfterWrite)
			c.call("DeleteLoadBalancerListener", params{"LoadBalancerId": "lb-1", "ListenerPort": "80"})
		}},
		{"by a listener that takes another", "rsp-vpc", func(c *cloud) {
			other := c.call("CreateVServerGroup", params{"LoadBalancerId": "lb-vpc"}).text("VServerGroupId")
			c.pass(c.settings.BusyAfterWrite)
			key := params{"LoadBalancerId": "lb-vpc", "ListenerPort": "80"}
			c.call(action("Create", protoTCP), key.with("VServerGroupId", "rsp-vpc", "Bandwidth", "-1"))
			c.pass(c.settings.BusyAfterWrite)
			c.call(action("Set", protoTCP), key.with("VServerGroup", on, "VServerGroupId", other))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := slowCloud(t)
			tt.letGo(c)
			c.pass(c.settings.BusyAfterWrite)
			key := params{"VServerGroupId": tt.group}
			if got := c.code("DeleteVServerGroup", key); got != "RspoolVipExist" {
				t.Errorf("at once: got code %q, want RspoolVipExist", got)
			}
			c.pass(c.settings.GroupReleased)
			if got := c.code("DeleteVServerGroup", key); got != "" {
				t.Errorf("later: got code %q, want success", got)
			}
		})
	}
}

func TestTagIndexLag(t *testing.T) {
	t.Parallel()
	c := slowCloud(t)
	c.settings.TagIndexLag = 5 * time.Second
	c.call("CreateLoadBalancer", params{"InstanceChargeType": payByCLCU, "Tag.1.Key": "k", "Tag.1.Value": "v"})
	find := params{"Tag.1.Key": "k", "Tag.1.Value": "v"}
	if got := c.call("DescribeLoadBalancers", find)["TotalCount"]; got != 0.0 {
		t.Errorf("at once the index knows %v, want 0", got)
	}
	c.pass(c.settings.TagIndexLag)
	if got := c.call("DescribeLoadBalancers", find)["TotalCount"]; got != 1.0 {
		t.Errorf("later the index knows %v, want 1", got)
	}
	count := func(key string) any { return c.call("DescribeLoadBalancers", params{"Tag.1.Key": key})["TotalCount"] }
	for _, step := range []struct {
		action  string
		change  params
		atOnce  float64
		settled float64
	}{
		{"TagResources", params{"ResourceType": "instance", "ResourceId.1": "lb-1", "Tag.1.Key": "late", "Tag.1.Value": "v"}, 0, 1},
		{"UntagResources", params{"ResourceType": "instance", "ResourceId.1": "lb-1", "TagKey.1": "late"}, 1, 0},
		{"AddTags", params{"LoadBalancerId": "lb-1", "Tags": `[{"TagKey":"late","TagValue":"v"}]`}, 0, 1},
		{"RemoveTags", params{"LoadBalancerId": "lb-1", "Tags": `[{"TagKey":"late","TagValue":"v"}]`}, 1, 0},
	} {
		c.call(step.action, step.change)
		if got := count("late"); got != step.atOnce {
			t.Errorf("%s: at once the index knows %v, want %v", step.action, got, step.atOnce)
		}
		c.pass(c.settings.TagIndexLag)
		if got := count("late"); got != step.settled {
			t.Errorf("%s: later the index knows %v, want %v", step.action, got, step.settled)
		}
	}
}

func TestHealthTakesTime(t *testing.T) {
	t.Parallel()
	c := slowCloud(t)
	c.call("AddVServerGroupBackendServers", params{"VServerGroupId": "rsp-1", "BackendServers": `[{"ServerId":"i-sick","Port":"1"}]`})
	health := func() []string {
		return c.call("DescribeHealthStatus", params{"LoadBalancerId": "lb-1",
			"ListenerPort": "80"}).texts("BackendServers.BackendServer", "ServerHealthStatus")
	}
	c.pass(c.settings.BackendHealthy - 1)
	if got := health(); got[len(got)-1] != "unavailable" {
		t.Errorf("at first: %v, want the last one unavailable", got)
	}
	c.pass(1)
	if got := health(); got[len(got)-1] != "abnormal" || got[0] != "normal" {
		t.Errorf("later: %v, want the first one normal and the last one abnormal", got)
	}
}

// Who looks at the state itself sees what is due as settled.
func TestSettle(t *testing.T) {
	t.Parallel()
	c := slowCloud(t)
	c.call(action("Create", protoTCP), newListener(protoTCP))
	c.pass(c.settings.BusyAfterWrite)
	c.call("StartLoadBalancerListener", params{"LoadBalancerId": "lb-1", "ListenerPort": "1000"})
	c.pass(c.settings.ListenerStart)
	Product().Settle(c.context(nil))
	if got := c.listener(protoTCP, 1000).Status; got != running {
		t.Errorf("the listener is %s, want running", got)
	}
}

// The bandwidth changes at once, and the way of charging when the day ends in Beijing, at 16:00 UTC.
func TestChargeTypeAtMidnight(t *testing.T) {
	t.Parallel()
	c := slowCloud(t)
	key := params{"LoadBalancerId": "lb-old"}
	c.now = time.Date(2026, 1, 1, 15, 59, 59, 0, time.UTC)
	c.call("ModifyLoadBalancerInternetSpec", key.with("Bandwidth", "7"))
	c.call("ModifyLoadBalancerInternetSpec", key.with("InternetChargeType", payByBandwidth, "Bandwidth", "5"))
	before := c.call("DescribeLoadBalancerAttribute", key)
	for name, want := range map[string]any{
		"InternetChargeType": payByTraffic, "Bandwidth": 7.0, "HasReservedInfo": "true", "ReservedInfoBandwidth": "5",
		"ReservedInfoInternetChargeType": payByBandwidth, "ReservedInfoActiveTime": "2026-01-01T16:00:00Z",
	} {
		if before[name] != want {
			t.Errorf("before: %s is %v, want %v", name, before[name], want)
		}
	}
	c.pass(time.Second)
	after := c.call("DescribeLoadBalancerAttribute", key)
	if after["InternetChargeType"] != payByBandwidth || after["Bandwidth"] != 5.0 || after["HasReservedInfo"] != "false" {
		t.Errorf("after: %v", after)
	}
}

// A server that is gone stays in its groups for a while.
func TestServersVanish(t *testing.T) {
	t.Parallel()
	c := slowCloud(t)
	c.call("AddVServerGroupBackendServers", params{"VServerGroupId": "rsp-1", "BackendServers": `[{"ServerId":"i-sick","Port":"1"}]`})
	c.state.Vanishing = []state.Vanishing{{ServerIDs: []string{"i-sick"}, At: c.now.Add(3 * time.Second)}}
	has := func() bool {
		group := c.call("DescribeVServerGroupAttribute", params{"VServerGroupId": "rsp-1"})
		return slices.Contains(group.texts("BackendServers.BackendServer", "ServerId"), "i-sick")
	}
	if c.pass(3*time.Second - 1); !has() {
		t.Error("the server is gone too early")
	}
	if c.pass(1); has() {
		t.Error("the server is still there")
	}
}
