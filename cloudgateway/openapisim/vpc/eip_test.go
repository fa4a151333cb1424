package vpc_test

import (
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/cloudgateway/openapisim/vpc"
)

func newEipCaller(t *testing.T) *apitest.Caller {
	t.Helper()
	cloud := newCloud()
	cloud.LoadBalancers["lb-inner"] = &state.LoadBalancer{ID: "lb-inner", AddressType: "intranet"}
	cloud.LoadBalancers["lb-outer"] = &state.LoadBalancer{ID: "lb-outer", AddressType: "internet"}
	for _, id := range []string{"eip-1", "eip-2"} {
		cloud.Eips[id] = &state.Eip{ID: id, Address: "121.40.0." + id[4:], Bandwidth: "5", Status: "Available", Name: "name-" + id}
	}
	return apitest.New(t, vpc.Product(), cloud)
}

func TestDescribeEipAddresses(t *testing.T) {
	t.Parallel()
	c := newEipCaller(t)
	c.Must("AssociateEipAddress", "AllocationId", "eip-2", "InstanceId", "lb-inner", "InstanceType", "SlbInstance")
	c.Cloud.Eips["eip-2"].ISP, c.Cloud.Eips["eip-2"].InstanceChargeType, c.Cloud.Eips["eip-2"].ResourceGroupID = "BGP_PRO", "PrePaid", "rg-1"
	tests := []struct {
		name   string
		params []string
		want   string
	}{
		{"all", nil, "eip-1 eip-2"},
		{"ids", []string{"AllocationId", "eip-2,eip-none"}, "eip-2"},
		{"address", []string{"EipAddress", "121.40.0.1"}, "eip-1"},
		{"name", []string{"EipName", "name-eip-1"}, "eip-1"},
		{"of load balancers", []string{"AssociatedInstanceType", "SlbInstance"}, "eip-2"},
		{"of a load balancer", []string{"AssociatedInstanceType", "SlbInstance", "AssociatedInstanceId", "lb-inner"}, "eip-2"},
		{"of another one", []string{"AssociatedInstanceType", "SlbInstance", "AssociatedInstanceId", "lb-outer"}, ""},
		{"unknown type", []string{"AssociatedInstanceType", "Elephant"}, "InvalidIAssociatedInstanceType.ValueNotSupported"},
		{"status", []string{"Status", "InUse"}, "eip-2"},
		{"line", []string{"ISP", "BGP"}, "eip-1"},
		{"paid before", []string{"ChargeType", "PrePaid"}, "eip-2"},
		{"resource group", []string{"ResourceGroupId", "rg-1"}, "eip-2"},
		{"unknown status", []string{"Status", "Lost"}, "InvalidParameter"},
		{"page", []string{"PageNumber", "2", "PageSize", "1"}, "eip-2"},
		{"too many ids", []string{"AllocationId", strings.Repeat("eip-1,", 51)}, "InvalidParameter"},
		{"too many addresses", []string{"EipAddress", strings.Repeat("1.1.1.1,", 51)}, "InvalidParameter"},
	}
	for _, tt := range tests {
		answer, got := c.Call("DescribeEipAddresses", tt.params...)
		if got == "" {
			got = strings.Join(apitest.List(answer, "AllocationId", "EipAddresses", "EipAddress"), " ")
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAllocateAndRelease(t *testing.T) {
	t.Parallel()
	c := newEipCaller(t)
	c.Settings = api.FastSettings()
	first := c.Must("AllocateEipAddress", "Bandwidth", "10", "Name", "n", "ClientToken", "t", "Tag.1.Key", "k", "Tag.1.Value", "v")
	again := c.Must("AllocateEipAddress", "Bandwidth", "10", "Name", "n", "ClientToken", "t", "Tag.1.Key", "k", "Tag.1.Value", "v")
	if first["AllocationId"] != again["AllocationId"] || first["EipAddress"] != again["EipAddress"] {
		t.Errorf("the same token gives %v and %v", first, again)
	}
	if _, code := c.Call("AllocateEipAddress", "ClientToken", "t"); code != "IdempotentParameterMismatch" {
		t.Errorf("other parameters: %q", code)
	}
	id := first["AllocationId"].(string)
	if e := c.Cloud.Eips[id]; e.Bandwidth != "10" || e.Address != first["EipAddress"] || len(e.Tags) != 1 || e.Status != "Available" {
		t.Errorf("eip %+v", e)
	}
	c.Settings.Quotas.Eips = 3
	if _, code := c.Call("AllocateEipAddress"); code != "QuotaExceeded.Eip" {
		t.Errorf("beyond the quota: %q", code)
	}
	if _, code := c.Call("AllocateEipAddress", "Bandwidth", "x"); code != "InvalidParameter" {
		t.Errorf("bandwidth: %q", code)
	}
	c.Must("ReleaseEipAddress", "AllocationId", id)
	if _, code := c.Call("ReleaseEipAddress", "AllocationId", id); code != "InvalidAllocationId.NotFound" {
		t.Errorf("released twice: %q", code)
	}
}

func TestAssociateErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, eip, instance, kind, want string }{
		{"load balancer", "eip-1", "lb-inner", "SlbInstance", ""},
		{"instance", "eip-1", "i-1", "", ""},
		{"interface", "eip-1", "eni-1", "NetworkInterface", ""},
		{"no such address", "eip-none", "i-1", "", "InvalidAllocationId.NotFound"},
		{"no such instance", "eip-1", "i-none", "", "InvalidInstanId.NotFound"},
		{"no such load balancer", "eip-1", "lb-none", "SlbInstance", "InvalidInstanId.NotFound"},
		{"no such interface", "eip-1", "eni-none", "NetworkInterface", "InvalidInstanId.NotFound"},
		{"no such gateway", "eip-1", "ngw-1", "Nat", "InvalidInstanId.NotFound"},
		{"public load balancer", "eip-1", "lb-outer", "SlbInstance", "OperationDenied"},
		{"unknown type", "eip-1", "x-1", "Elephant", "InvalidInstanceType.ValueNotSupported"},
		{"instance missing", "eip-1", "", "", "MissingParameter"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newEipCaller(t)
			params := []string{"AllocationId", tt.eip, "InstanceId", tt.instance, "InstanceType", tt.kind}
			if _, code := c.Call("AssociateEipAddress", params...); code != tt.want {
				t.Fatalf("%q, want %q", code, tt.want)
			}
			if tt.want != "" {
				return
			}
			if _, code := c.Call("AssociateEipAddress", params...); code != "IncorrectEipStatus" {
				t.Errorf("again: %q", code)
			}
			params[1] = "eip-2"
			if _, code := c.Call("AssociateEipAddress", params...); code != "BIND_INSTANCE_HAVE_PORTMAP_OR_BIND_EIP" {
				t.Errorf("a second address: %q", code)
			}
		})
	}
}

func TestEipTransitions(t *testing.T) {
	t.Parallel()
	c := newEipCaller(t)
	c.Settings = api.DefaultSettings()
	status := func() string {
		answer := c.Must("DescribeEipAddresses", "AllocationId", "eip-1")
		return apitest.List(answer, "Status", "EipAddresses", "EipAddress")[0] + " " +
			apitest.List(answer, "InstanceId", "EipAddresses", "EipAddress")[0]
	}
	steps := []struct {
		action, want, status string
		params               []string
	}{
		{"AssociateEipAddress", "", "Associating i-1", []string{"InstanceId", "i-1", "ClientToken", "t"}},
		{"AssociateEipAddress", "", "Associating i-1", []string{"InstanceId", "i-1", "ClientToken", "t"}}, // a repetition
		{"UnassociateEipAddress", "IncorrectEipStatus", "Associating i-1", nil},
		{"ReleaseEipAddress", "IncorrectEipStatus", "Associating i-1", nil},
		{"", "", "InUse i-1", nil},
		{"UnassociateEipAddress", "InvalidBindInstance.NotFound", "InUse i-1", []string{"InstanceId", "i-2"}},
		{"UnassociateEipAddress", "InvalidAllocationId.NotFound", "InUse i-1", []string{"AllocationId", "eip-none"}},
		{"UnassociateEipAddress", "", "Unassociating i-1", []string{"InstanceId", "i-1"}},
		{"AssociateEipAddress", "IncorrectEipStatus", "Unassociating i-1", []string{"InstanceId", "i-1"}},
		{"", "", "Available ", nil},
		{"ReleaseEipAddress", "", "", nil},
	}
	for i, s := range steps {
		if s.action == "" {
			c.Pass(c.Settings.EipAssociating)
		} else if _, code := c.Call(s.action, append([]string{"AllocationId", "eip-1"}, s.params...)...); code != s.want {
			t.Errorf("step %d %s: %q, want %q", i, s.action, code, s.want)
		}
		if s.status != "" && status() != s.status {
			t.Errorf("step %d %s: status %q, want %q", i, s.action, status(), s.status)
		}
	}
	if id := c.Cloud.Instances["i-1"].EipID; id != "" {
		t.Errorf("the instance still has %s", id)
	}
}
