package slb

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func TestCreateLoadBalancer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		params params
		want   map[string]any // members of DescribeLoadBalancerAttribute
	}{
		{
			name: "as the existing CCM creates it",
			params: params{
				"AddressType": internet, "InstanceChargeType": payByCLCU, "LoadBalancerName": "a5e4", "DeleteProtection": on,
				"ModificationProtectionStatus": consoleProtect, "ModificationProtectionReason": "managed.by.ack",
				"Tag.1.Key": "kubernetes.do.not.delete", "Tag.1.Value": "a5e4", "ClientToken": "token",
			},
			want: map[string]any{
				"AddressType": internet, "NetworkType": "classic", "VpcId": "", "LoadBalancerName": "a5e4", "DeleteProtection": on,
				"ModificationProtectionStatus": consoleProtect, "ModificationProtectionReason": "managed.by.ack",
				"LoadBalancerStatus": active, "InstanceChargeType": payByCLCU, "LoadBalancerSpec": "slb.lcu.elastic",
				"InternetChargeType": payByTraffic,
				"MasterZoneId":       "cn-hangzhou-a", "SlaveZoneId": "cn-hangzhou-b", "AddressIPVersion": "ipv4",
			},
		},
		{
			name:   "a vSwitch means intranet, and its zone",
			params: params{"VSwitchId": "vsw-1", "LoadBalancerSpec": "slb.s2.small"},
			want: map[string]any{
				"AddressType": intranet, "NetworkType": "vpc", "VpcId": "vpc-1", "VSwitchId": "vsw-1", "Address": "10.0.0.2",
				"MasterZoneId": "cn-hangzhou-h", "SlaveZoneId": "cn-hangzhou-a", "InstanceChargeType": payBySpec, "LoadBalancerSpec": "slb.s2.small",
			},
		},
		{
			name:   "a wanted address",
			params: params{"VSwitchId": "vsw-1", "VpcId": "vpc-1", "AddressType": intranet, "InstanceChargeType": payByCLCU, "Address": "10.0.0.7"},
			want:   map[string]any{"Address": "10.0.0.7"},
		},
		{
			name:   "an explicit internet load balancer ignores the vSwitch",
			params: params{"VSwitchId": "vsw-1", "AddressType": internet, "InstanceChargeType": payByCLCU},
			want:   map[string]any{"AddressType": internet, "VSwitchId": ""},
		},
		{
			name:   "paid by bandwidth",
			params: params{"InternetChargeType": payByBandwidth, "Bandwidth": "10", "LoadBalancerSpec": "slb.s1.small"},
			want:   map[string]any{"InternetChargeType": payByBandwidth, "Bandwidth": 10.0},
		},
		{
			name:   "IPv6",
			params: params{"AddressIPVersion": "ipv6", "InstanceChargeType": payByCLCU},
			want:   map[string]any{"AddressIPVersion": "ipv6"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			created := c.call("CreateLoadBalancer", tt.params)
			got := c.call("DescribeLoadBalancerAttribute", params{"LoadBalancerId": created.text("LoadBalancerId")})
			for name, want := range tt.want {
				if diff := cmp.Diff(want, got[name]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if created.text("Address") != got.text("Address") || got.text("Address") == "" {
				t.Errorf("created with address %q, described with %q", created.text("Address"), got.text("Address"))
			}
		})
	}
}

func TestCreateLoadBalancerRefuses(t *testing.T) {
	t.Parallel()
	clcu := params{"InstanceChargeType": payByCLCU}
	vpc := clcu.with("AddressType", intranet, "VSwitchId", "vsw-1")
	prepaid := params{"LoadBalancerSpec": "slb.s1.small", "PayType": prePay, "PricingCycle": "month", "Duration": "1"}
	testCodes(t, "CreateLoadBalancer", []codeTest{
		{"no specification", params{}, "MissingParam.LoadBalancerSpec"},
		{"unknown specification", params{"LoadBalancerSpec": "slb.x"}, "IllegalParam.SpecType"},
		{"unknown charge type", params{"InstanceChargeType": "Free"}, "IllegalParam.InstanceChargeType"},
		{"CLCU by bandwidth", clcu.with("InternetChargeType", payByBandwidth), "InvalidParameter"},
		{"bandwidth", clcu.with("Bandwidth", "5121"), "InvalidParameter.Bandwidth"},
		{"intranet without vSwitch", clcu.with("AddressType", intranet), "MissingParam.VSwitchId"},
		{"unknown vSwitch", vpc.with("VSwitchId", "vsw-x"), "InvalidVSwitchId.NotFound"},
		{"unknown VPC", vpc.with("VpcId", "vpc-x"), "InvalidVpcId.NotExist"},
		{"vSwitch of another VPC", vpc.with("VpcId", "vpc-far"), "InvalidParameter.Mismatch"},
		{"intranet IPv6", vpc.with("AddressIPVersion", "ipv6"), "InvalidParameter"},
		{"address outside", vpc.with("Address", "10.9.0.1"), "InvalidParameter"},
		{"address of an instance", vpc.with("Address", "10.0.0.1"), "InvalidParameter"},
		{"address of an interface", vpc.with("Address", "10.0.0.21"), "InvalidParameter"},
		{"address that the cloud keeps", vpc.with("Address", "10.0.0.254"), "InvalidParameter"},
		{"address of a load balancer", vpc.with("Address", "10.0.0.100"), "InvalidParameter"},
		{"zone of another region", clcu.with("MasterZoneId", "cn-beijing-a"), "InvalidParameter"},
		{"protection", clcu.with("ModificationProtectionStatus", "x"), "InvalidParam.ModificationProtectionStatus"},
		{"a reason of 80 letters", clcu.with("ModificationProtectionStatus", consoleProtect, "ModificationProtectionReason",
			strings.Repeat("ü", 80)), ""},
		{"protection reason", clcu.with("ModificationProtectionStatus", consoleProtect, "ModificationProtectionReason",
			strings.Repeat("x", 81)), "InvalidParam.ModificationProtectionReason"},
		{"prepaid", prepaid, ""},
		{"prepaid with delete protection", prepaid.with("DeleteProtection", on), "InvalidParameter"},
		{"prepaid for unknown months", prepaid.with("Duration", ""), "MissingParameter"},
		{"prepaid by unknown cycle", prepaid.with("PricingCycle", ""), "MissingParameter"},
		{"long name", clcu.with("LoadBalancerName", strings.Repeat("x", 81)), "InvalidParameter"},
	})
}

func TestCreateLoadBalancerQuota(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.settings.Quotas.LoadBalancers = len(c.state.LoadBalancers) + 1
	p := params{"InstanceChargeType": payByCLCU}
	if got := c.code("CreateLoadBalancer", p); got != "" {
		t.Fatalf("the last one of the quota is refused with %s", got)
	}
	if got := c.code("CreateLoadBalancer", p); got != "OverQuota" {
		t.Fatalf("got code %q, want OverQuota", got)
	}
}

// A /29 has 8 addresses of which the cloud keeps 4.
func TestVSwitchWithoutFreeAddress(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	p := params{"InstanceChargeType": payByCLCU, "VSwitchId": "vsw-small", "ClientToken": "token"}
	var last string
	for i := range 4 {
		last = c.call("CreateLoadBalancer", p.with("ClientToken", fmt.Sprint(i))).text("LoadBalancerId")
	}
	if got := c.code("CreateLoadBalancer", p); got != "VSwitchAvailableIpNotExist" {
		t.Fatalf("got code %q, want VSwitchAvailableIpNotExist", got)
	}
	// The existing CCM repeats the call with the same token and another vSwitch.
	if got := c.code("CreateLoadBalancer", p.with("VSwitchId", "vsw-1")); got != "" {
		t.Fatalf("the token of a failed call is refused with %s", got)
	}
	c.call("DeleteLoadBalancer", params{"LoadBalancerId": last})
	if got := c.code("CreateLoadBalancer", p.with("ClientToken", "")); got != "" {
		t.Fatalf("the address of a deleted load balancer is not free: %s", got)
	}
}

func TestClientToken(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	p := params{"InstanceChargeType": payByCLCU, "LoadBalancerName": "n", "ClientToken": "token"}
	first := c.call("CreateLoadBalancer", p)
	if diff := cmp.Diff(first, c.call("CreateLoadBalancer", p)); diff != "" {
		t.Errorf("a repeated call answers otherwise (-first +second):\n%s", diff)
	}
	if got := c.code("CreateLoadBalancer", p.with("LoadBalancerName", "m")); got != "IdempotentParameterMismatch" {
		t.Errorf("got code %q, want IdempotentParameterMismatch", got)
	}
	if other := c.call("CreateLoadBalancer", p.with("ClientToken", "other")); other.text("LoadBalancerId") == first.text("LoadBalancerId") {
		t.Error("another token gives the same load balancer")
	}
	c.call("DeleteLoadBalancer", params{"LoadBalancerId": first.text("LoadBalancerId")})
	if again := c.call("CreateLoadBalancer", p); again.text("LoadBalancerId") != first.text("LoadBalancerId") {
		t.Error("the token is forgotten with the load balancer")
	}
	c.now = c.now.Add(24*time.Hour + time.Second)
	if later := c.call("CreateLoadBalancer", p); later.text("LoadBalancerId") == first.text("LoadBalancerId") {
		t.Error("the token is remembered for ever")
	}
}

func TestDeleteLoadBalancer(t *testing.T) {
	t.Parallel()
	testCodes(t, "DeleteLoadBalancer", []codeTest{
		{"with listeners and groups", params{"LoadBalancerId": "lb-1"}, ""},
		{"unknown", params{"LoadBalancerId": "lb-x"}, "InvalidLoadBalancerId.NotFound"},
		{"prepaid", params{"LoadBalancerId": "lb-prepaid"}, "InvalidChargeType"},
	})
	t.Run("takes all with it", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		c.state.Eips["eip-1"] = &state.Eip{ID: "eip-1", Status: "InUse", InstanceID: "lb-1", InstanceType: "SlbInstance"}
		c.call("SetLoadBalancerDeleteProtection", params{"LoadBalancerId": "lb-1", "DeleteProtection": on})
		if got := c.code("DeleteLoadBalancer", params{"LoadBalancerId": "lb-1"}); got != "OperationDenied.DeleteProtectionIsOn" {
			t.Fatalf("got code %q, want OperationDenied.DeleteProtectionIsOn", got)
		}
		c.call("SetLoadBalancerDeleteProtection", params{"LoadBalancerId": "lb-1", "DeleteProtection": off})
		c.call("DeleteLoadBalancer", params{"LoadBalancerId": "lb-1"})
		for _, id := range []string{"rsp-1", "rsp-2", "rsp-empty"} {
			if c.state.ServerGroups[id] != nil {
				t.Errorf("the group %s is left", id)
			}
		}
		if diff := cmp.Diff(&state.Eip{ID: "eip-1", Status: "Available"}, c.state.Eips["eip-1"]); diff != "" {
			t.Errorf("its elastic IP address (-want +got):\n%s", diff)
		}
		c.call("DeleteAccessControlList", params{"AclId": "acl-1"})
		c.call("DeleteServerCertificate", params{"ServerCertificateId": "cert-1"})
	})
}

func TestInstanceChanges(t *testing.T) {
	t.Parallel()
	one := params{"LoadBalancerId": "lb-1"}
	spec := params{"LoadBalancerId": "lb-vpc"}
	for action, tests := range map[string][]codeTest{
		"SetLoadBalancerName": {
			{"ok", one.with("LoadBalancerName", "n"), ""},
			{"long", one.with("LoadBalancerName", strings.Repeat("x", 81)), "InvalidParameter"},
			{"unknown", params{"LoadBalancerId": "lb-x", "LoadBalancerName": "n"}, "InvalidLoadBalancerId.NotFound"},
		},
		"SetLoadBalancerStatus": {
			{"ok", one.with("LoadBalancerStatus", inactive), ""},
			{"locked", params{"LoadBalancerId": "lb-locked", "LoadBalancerStatus": active}, "OperationUnsupported.SetLoadBalancerStatus"},
			{"unknown", params{"LoadBalancerId": "lb-x", "LoadBalancerStatus": active}, "InvalidLoadBalancerId.NotFound"},
		},
		"SetLoadBalancerDeleteProtection": {
			{"ok", one.with("DeleteProtection", on), ""},
			{"prepaid", params{"LoadBalancerId": "lb-prepaid", "DeleteProtection": on}, "OperationUnsupported.DeleteProtectionForPrePayInstance"},
			{"unknown", params{"LoadBalancerId": "lb-x", "DeleteProtection": on}, "InvalidLoadBalancerId.NotFound"},
		},
		"SetLoadBalancerModificationProtection": {
			{"ok", one.with("ModificationProtectionStatus", consoleProtect, "ModificationProtectionReason", "r"), ""},
			{"status", one.with("ModificationProtectionStatus", "x"), "InvalidParam.ModificationProtectionStatus"},
			{"reason", one.with("ModificationProtectionStatus", consoleProtect, "ModificationProtectionReason",
				strings.Repeat("x", 81)), "InvalidParam.ModificationProtectionReason"},
			{"unknown", params{"LoadBalancerId": "lb-x", "ModificationProtectionStatus": nonProtection}, "InvalidLoadBalancerId.NotFound"},
		},
		"MoveResourceGroup": {
			{"load balancer", params{"ResourceId": "lb-1", "ResourceType": "loadbalancer", "NewResourceGroupId": "rg-2"}, ""},
			{"certificate", params{"ResourceId": "cert-1", "ResourceType": "certificate", "NewResourceGroupId": "rg-2"}, ""},
			{"acl", params{"ResourceId": "acl-1", "ResourceType": "acl", "NewResourceGroupId": "rg-2"}, ""},
			{"unknown load balancer", params{"ResourceId": "lb-x", "ResourceType": "loadbalancer", "NewResourceGroupId": "rg-2"},
				"InvalidLoadBalancerId.NotFound"},
			{"unknown certificate", params{"ResourceId": "x", "ResourceType": "certificate", "NewResourceGroupId": "rg-2"},
				"ResourceNotFound.Certificate"},
			{"unknown acl", params{"ResourceId": "x", "ResourceType": "acl", "NewResourceGroupId": "rg-2"}, "AclNotExist"},
		},
		"ModifyLoadBalancerInstanceSpec": {
			{"ok", spec.with("LoadBalancerSpec", "slb.s3.large"), ""},
			{"CLCU", one.with("LoadBalancerSpec", "slb.s3.large"), "OperationDenied.PayByCLCU"},
			{"unknown specification", spec.with("LoadBalancerSpec", "x"), "IllegalParam.SpecType"},
			{"unknown", params{"LoadBalancerId": "lb-x", "LoadBalancerSpec": "slb.s3.large"}, "InvalidLoadBalancerId.NotFound"},
		},
		"ModifyLoadBalancerInternetSpec": {
			{"ok", params{"LoadBalancerId": "lb-old", "InternetChargeType": payByBandwidth, "Bandwidth": "5"}, ""},
			{"nothing", one, "MissingParameter"},
			{"intranet", spec.with("Bandwidth", "5"), "InvalidParameter"},
			{"CLCU by bandwidth", one.with("InternetChargeType", payByBandwidth), "OperationDenied.PayByCLCU"},
			{"bandwidth", one.with("Bandwidth", "0"), "InvalidParameter.Bandwidth"},
			{"unknown", params{"LoadBalancerId": "lb-x"}, "InvalidLoadBalancerId.NotFound"},
		},
		"ModifyLoadBalancerInstanceChargeType": {
			{"ok", spec.with("InstanceChargeType", payByCLCU), ""},
			{"back", one.with("InstanceChargeType", payBySpec), "Forbidden.LcuToSpec"},
			{"CLCU already", one.with("InstanceChargeType", payByCLCU), "OperationDenied.PayByCLCU"},
			{"specification already", spec.with("InstanceChargeType", payBySpec), "OperationDenied.PayBySpec"},
			{"unknown charge type", spec.with("InstanceChargeType", "x"), "IllegalParam.InstanceChargeType"},
			{"by bandwidth", spec.with("InstanceChargeType", payByCLCU, "InternetChargeType", payByBandwidth), "IllegalParam.InternetChargeType"},
			{"unknown", params{"LoadBalancerId": "lb-x", "InstanceChargeType": payByCLCU}, "InvalidLoadBalancerId.NotFound"},
		},
	} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			testCodes(t, action, tests)
		})
	}
}

// Load balancers, certificates and access control lists are in one resource group each, at first that of the account.
func TestResourceGroups(t *testing.T) {
	t.Parallel()
	cert, _ := newPair(t)
	for _, tt := range []struct {
		kind, seeded string
		create       string
		params       params
		list, path   string
		idName       string
	}{
		{"loadbalancer", "lb-1", "CreateLoadBalancer", params{"InstanceChargeType": payByCLCU}, "DescribeLoadBalancers",
			"LoadBalancers.LoadBalancer", "LoadBalancerId"},
		{"certificate", "ca-1", "UploadCACertificate", params{"CACertificate": cert}, "DescribeCACertificates",
			"CACertificates.CACertificate", "CACertificateId"},
		{"acl", "acl-1", "CreateAccessControlList", params{"AclName": "n"}, "DescribeAccessControlLists", "Acls.Acl", "AclId"},
	} {
		c := newCloud(t)
		in := func(group string) []string {
			return c.call(tt.list, params{"ResourceGroupId": group}).texts(tt.path, tt.idName)
		}
		if got := in(defaultResourceGroup); !slices.Contains(got, tt.seeded) {
			t.Errorf("%s is in no group: %v", tt.seeded, got)
		}
		created := c.call(tt.create, tt.params.with("ResourceGroupId", "rg-2")).text(tt.idName)
		c.call("MoveResourceGroup", params{"ResourceType": tt.kind, "ResourceId": tt.seeded, "NewResourceGroupId": "rg-3"})
		for group, want := range map[string]string{"rg-2": created, "rg-3": tt.seeded} {
			if diff := cmp.Diff([]string{want}, in(group)); diff != "" {
				t.Errorf("%s in %s (-want +got):\n%s", tt.kind, group, diff)
			}
			shown := c.call(tt.list, params{"ResourceGroupId": group}).texts(tt.path, "ResourceGroupId")
			if diff := cmp.Diff([]string{group}, shown); diff != "" {
				t.Errorf("%s shown in %s (-want +got):\n%s", tt.kind, group, diff)
			}
		}
	}
}

func TestInstanceChangesAreShown(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	spec := params{"LoadBalancerId": "lb-vpc"}
	c.call("SetLoadBalancerName", spec.with("LoadBalancerName", "n"))
	c.call("SetLoadBalancerStatus", spec.with("LoadBalancerStatus", inactive))
	c.call("SetLoadBalancerModificationProtection", spec.with("ModificationProtectionStatus", consoleProtect,
		"ModificationProtectionReason", "r"))
	c.call("ModifyLoadBalancerInstanceChargeType", spec.with("InstanceChargeType", payByCLCU))
	c.call("MoveResourceGroup", params{"ResourceId": "lb-vpc", "ResourceType": "loadbalancer", "NewResourceGroupId": "rg-2"})
	got := c.call("DescribeLoadBalancerAttribute", spec)
	for name, want := range map[string]any{
		"LoadBalancerName": "n", "LoadBalancerStatus": inactive, "ModificationProtectionStatus": consoleProtect,
		"ModificationProtectionReason": "r", "InstanceChargeType": payByCLCU, "LoadBalancerSpec": "slb.lcu.elastic", "ResourceGroupId": "rg-2",
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	c.call("SetLoadBalancerModificationProtection", spec.with("ModificationProtectionStatus", nonProtection))
	if reason := c.state.LoadBalancers["lb-vpc"].ModificationReason; reason != "" {
		t.Errorf("the reason %q outlives the protection", reason)
	}
}

// What is paid by use has a specification, too, which means nothing else.
func TestSpecificationOfPayByCLCU(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.call("CreateLoadBalancer", params{"InstanceChargeType": payByCLCU}).text("LoadBalancerId")
	key := params{"LoadBalancerId": id}
	if got := c.call("DescribeLoadBalancerAttribute", key)["LoadBalancerSpec"]; got != "slb.lcu.elastic" {
		t.Errorf("the specification is %v, want slb.lcu.elastic", got)
	}
	c.state.LoadBalancers["lb-seeded"] = &state.LoadBalancer{ID: "lb-seeded", Spec: "slb.lcu.elastic"}
	Product().Settle(c.context(nil)) // completes it
	seeded := c.call("DescribeLoadBalancerAttribute", params{"LoadBalancerId": "lb-seeded"})
	if seeded["InstanceChargeType"] != payByCLCU || seeded["LoadBalancerSpec"] != "slb.lcu.elastic" {
		t.Errorf("seeded: %v, %v", seeded["InstanceChargeType"], seeded["LoadBalancerSpec"])
	}
}

func TestIntranetIsNotPaidByBandwidth(t *testing.T) {
	t.Parallel()
	_, err := newCloud(t).try("CreateLoadBalancer", params{
		"VSwitchId": "vsw-1", "LoadBalancerSpec": "slb.s1.small", "InternetChargeType": payByBandwidth, "Bandwidth": "5",
	})
	if err == nil || err.Code != "ActionNotAllowed" ||
		err.Message != "The Intranet LB's InternetChargeType is not allowed change to paybybandwidth" {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNotSoldAnyMore(t *testing.T) {
	t.Parallel()
	bySpec := params{"LoadBalancerSpec": "slb.s1.small"}
	inAdvance := bySpec.with("PayType", prePay, "PricingCycle", "month", "Duration", "1")
	c := newCloud(t)
	c.call("CreateLoadBalancer", bySpec)
	c.call("CreateLoadBalancer", inAdvance)
	c.settings.SubscriptionsNotSold = true
	if got := c.code("CreateLoadBalancer", inAdvance); got != "InvalidParameter" {
		t.Errorf("in advance: got code %q, want InvalidParameter", got)
	}
	c.settings.SpecificationsNotSold = true
	c.call("CreateLoadBalancer", bySpec) // which is ignored
	if got := c.code("CreateLoadBalancer", bySpec.with("InstanceChargeType", payBySpec)); got != "IllegalParam.InstanceChargeType" {
		t.Errorf("by specification: got code %q, want IllegalParam.InstanceChargeType", got)
	}
	c.call("CreateLoadBalancer", params{"InstanceChargeType": payByCLCU})
}

// Since 2025-06-01 no new load balancer is charged by its specification ("Modify the configurations of a pay-as-you-go instance", February
// 2026), and since 2024-12 none in advance. One that says nothing is charged by use. Settings sell both, as the cloud did.
func TestSoldToday(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		params      params
		today, once string // code, or how it is charged
	}{
		{params{}, payByCLCU, "MissingParam.LoadBalancerSpec"},
		{params{"LoadBalancerSpec": "slb.s1.small"}, payByCLCU, payBySpec},
		{params{"InstanceChargeType": payBySpec, "LoadBalancerSpec": "slb.s1.small"}, "IllegalParam.InstanceChargeType", payBySpec},
		{params{"InstanceChargeType": payByCLCU, "PayType": prePay, "PricingCycle": "month", "Duration": "1"}, "InvalidParameter", payByCLCU},
		{params{"InstanceChargeType": payByCLCU}, payByCLCU, payByCLCU},
	} {
		for _, today := range []bool{true, false} {
			c := newCloud(t)
			c.settings.SpecificationsNotSold, c.settings.SubscriptionsNotSold = today, today
			code := c.code("CreateLoadBalancer", tt.params.with("LoadBalancerName", "new"))
			for _, lb := range c.state.LoadBalancers {
				if lb.Name == "new" {
					code = lb.InstanceChargeType
				}
			}
			if want := map[bool]string{true: tt.today, false: tt.once}[today]; code != want {
				t.Errorf("%v, today %t: %q, want %q", tt.params, today, code, want)
			}
		}
	}
}

// SetLoadBalancerTCPListenerAttribute: "You cannot switch the algorithm … from wrr or rr to consistent hashing or from consistent hashing
// to wrr or rr." And wlc is not among the values of today's texts for TCP and UDP.
func TestSchedulersOfTodaysDocuments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to string
		code     string // "": accepted
		set      func(c *cloud)
	}{
		{"wrr", "rr", "", nil}, {"sch", "tch", "", nil}, {"wrr", "sch", "InvalidParameter", nil},
		{"tch", "rr", "InvalidParameter", nil}, {"rr", "wlc", "", nil},
		{"wrr", "sch", "", func(c *cloud) { c.settings.SchedulersSwitch = true }},
		{"rr", "wlc", "InvalidParameter", func(c *cloud) { c.settings.LeastConnectionsRefused = true }},
	} {
		c := newCloud(t)
		if tt.set != nil {
			tt.set(c)
		}
		c.call("CreateLoadBalancerTCPListener", newListener(protoTCP).with("ListenerPort", "1000", "Scheduler", tt.from))
		if code := c.code("SetLoadBalancerTCPListenerAttribute", params{"LoadBalancerId": "lb-1", "ListenerPort": "1000",
			"Scheduler": tt.to}); code != tt.code {
			t.Errorf("from %s to %s: %q, want %q", tt.from, tt.to, code, tt.code)
		}
	}
}
