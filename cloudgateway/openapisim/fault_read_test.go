package openapisim_test

import (
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
)

// A listing that comes too late shows neither what was created nor what was deleted since, and then all of it.
func TestStaleReads(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	sim.SetTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	client := newClient(t, sim)
	list := func() string {
		answer, code := client.call("vpc", "DescribeEipAddresses")
		if code != "" {
			t.Fatal(code)
		}
		return strings.Join(apitest.List(answer, "Name", "EipAddresses", "EipAddress"), " ")
	}
	old, _ := client.call("vpc", "AllocateEipAddress", "Name", "old")
	if err := sim.SetFaults(fault.Rule{Action: "Describe*", Stale: true, For: api.Duration(5 * time.Second)}); err != nil {
		t.Fatal(err)
	}
	client.call("vpc", "AllocateEipAddress", "Name", "new")
	client.call("vpc", "ReleaseEipAddress", "AllocationId", old["AllocationId"].(string))
	if got := list(); got != "old" {
		t.Errorf("within the window: %q, want the old address", got)
	}
	sim.Advance(5 * time.Second)
	if got := list(); got != "new" {
		t.Errorf("after the window: %q, want the new address", got)
	}
}

// One item of a batch fails, the others take effect, and the call succeeds.
func TestFaultOfOneItem(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	rule := fault.Rule{
		Action: "*RouteEntries", Item: map[string]string{"DstCidrBlock": "10.0.1.*/*"},
		Error: &fault.Error{Code: "VPC_ROUTE_ENTRY_STATUS_ERROR", Message: "busy"},
	}
	if err := sim.SetFaults(rule); err != nil {
		t.Fatal(err)
	}
	client := newClient(t, sim)
	params := []string{}
	for n, cidr := range []string{"10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"} {
		prefix := "RouteEntries." + string(rune('1'+n)) + "."
		params = append(params, prefix+"RouteTableId", tableID, prefix+"DstCidrBlock", cidr, prefix+"NextHop", "i-1",
			prefix+"NextHopType", "Instance")
	}
	for _, action := range []string{"CreateRouteEntries", "DeleteRouteEntries"} {
		answer, code := client.call("vpc", action, params...)
		if code != "" || answer["SuccessCount"] != 2.0 || answer["FailedCount"] != 1.0 {
			t.Fatalf("%s: %q %v, want two successes and one failure", action, code, answer)
		}
		failed := answer["FailedRouteEntries"].([]any)[0].(map[string]any)
		if failed["DstCidrBlock"] != "10.0.1.0/24" || failed["FailedCode"] != "VPC_ROUTE_ENTRY_STATUS_ERROR" {
			t.Errorf("%s: failed %v", action, failed)
		}
		sim.Advance(time.Minute)
	}
}

// What the cloud says to a RAM user without permission for an action, and to a session that is over, is a rule.
func TestDenialAndExpiry(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	err := sim.SetFaults(
		fault.Rule{Product: "slb", Action: "CreateLoadBalancer", Error: &fault.Error{Status: 403, Code: "Forbidden.RAM",
			Message: "not authorized"}},
		fault.Rule{Product: "ecs", Times: 1, Error: &fault.Error{Code: "InvalidSecurityToken.Expired", Message: "expired"}},
		fault.Rule{Product: "ecs", Action: "DescribeInstances", Empty: true},
	)
	if err != nil {
		t.Fatal(err)
	}
	client := newClient(t, sim)
	if _, code := client.call("slb", "CreateLoadBalancer"); code != "Forbidden.RAM" {
		t.Errorf("denied: %q", code)
	}
	if _, code := client.call("slb", "DescribeLoadBalancers"); code != "" {
		t.Errorf("allowed: %q", code)
	}
	if _, code := client.call("ecs", "DescribeInstances"); code != "InvalidSecurityToken.Expired" {
		t.Errorf("expired: %q", code)
	}
	answer, code := client.call("ecs", "DescribeInstances")
	if got := apitest.List(answer, "InstanceId", "Instances", "Instance"); code != "" || len(got) != 0 {
		t.Errorf("unauthorised: %q, instances %v", code, got)
	}
}
