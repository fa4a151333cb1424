package vpc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// withNat makes a NAT gateway ngw-1 with the address eip-1, and the free address eip-2.
func withNat(c *apitest.Caller) {
	c.Cloud.NatGateways["ngw-1"] = &state.NatGateway{
		ID: "ngw-1", VpcID: "vpc-1", VSwitchID: "vsw-a", SnatTableID: "stb-1", ForwardTableID: "ftb-1", Stage: state.Stage{Status: "Available"},
	}
	c.Cloud.Eips["eip-1"] = &state.Eip{ID: "eip-1", Address: "1.1.1.1", Status: "InUse", InstanceID: "ngw-1", InstanceType: "Nat"}
	c.Cloud.Eips["eip-2"] = &state.Eip{ID: "eip-2", Address: "2.2.2.2", Status: "Available"}
}

// The order of calls of the Terraform provider's alicloud_nat_gateway, alicloud_eip_association, alicloud_snat_entry and
// alicloud_forward_entry: it waits for Available after each write, and for the end of what it deletes.
func TestLifeOfNatGateway(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Settings = api.DefaultSettings()
	status := func(want string) {
		t.Helper()
		got := strings.Join(apitest.List(c.Must("DescribeNatGateways"), "Status", "NatGateways", "NatGateway"), " ")
		if got != want {
			t.Errorf("the gateway is %q, want %q", got, want)
		}
	}
	create := []string{"VpcId", "vpc-1", "VSwitchId", "vsw-a", "Name", "out", "NatType", "Enhanced", "InternetChargeType", "PayByLcu",
		"ClientToken", "t", "Tag.1.Key", "k", "Tag.1.Value", "v"}
	made := c.Must("CreateNatGateway", create...)
	if diff := cmp.Diff(made, c.Must("CreateNatGateway", create...)); diff != "" {
		t.Errorf("the repetition answers otherwise (-first +second):\n%s", diff)
	}
	id := made["NatGatewayId"].(string)
	snatTable := made["SnatTableIds"].(map[string]any)["SnatTableId"].([]any)[0].(string)
	forwardTable := made["ForwardTableIds"].(map[string]any)["ForwardTableId"].([]any)[0].(string)
	status("Creating")
	c.Pass(time.Minute)
	status("Available")
	if got := c.Must("DescribeVSwitchAttributes", "VSwitchId", "vsw-a")["AvailableIpAddressCount"]; got != 249.0 {
		t.Errorf("%v addresses are free in the vSwitch, want those of a /24 but four, two of an interface and one of the gateway", got)
	}

	var eips []string
	for range 2 {
		eip := c.Must("AllocateEipAddress")["AllocationId"].(string)
		c.Must("AssociateEipAddress", "AllocationId", eip, "InstanceId", id, "InstanceType", "Nat")
		eips = append(eips, eip)
	}
	c.Pass(time.Minute)
	first, second := c.Cloud.Eips[eips[0]].Address, c.Cloud.Eips[eips[1]].Address
	snat := c.Must("CreateSnatEntry", "SnatTableId", snatTable, "SnatIp", first+","+second, "SourceVSwitchId", "vsw-a", "ClientToken",
		"s")["SnatEntryId"].(string)
	forward := c.Must("CreateForwardEntry", "ForwardTableId", forwardTable, "ExternalIp", second, "ExternalPort", "80", "InternalIp",
		"192.168.0.9", "InternalPort", "8080", "IpProtocol", "tcp")["ForwardEntryId"].(string)
	c.Pass(time.Minute)
	entry := only(t, c.Must("DescribeSnatTableEntries", "SnatTableId", snatTable, "SnatEntryId", snat), "SnatTableEntries", "SnatTableEntry")
	if diff := cmp.Diff(map[string]any{
		"Status": "Available", "SourceCIDR": "192.168.0.0/24", "SourceVSwitchId": "vsw-a", "SnatIp": first + "," + second, "NatGatewayId": id,
	}, members(entry, "Status", "SourceCIDR", "SourceVSwitchId", "SnatIp", "NatGatewayId")); diff != "" {
		t.Errorf("the SNAT entry (-want +got):\n%s", diff)
	}
	rule := only(t, c.Must("DescribeForwardTableEntries", "ForwardTableId", forwardTable), "ForwardTableEntries", "ForwardTableEntry")
	if diff := cmp.Diff(map[string]any{
		"Status": "Available", "ExternalPort": "80", "InternalIp": "192.168.0.9", "IpProtocol": "tcp",
	}, members(rule, "Status", "ExternalPort", "InternalIp", "IpProtocol")); diff != "" {
		t.Errorf("the DNAT entry (-want +got):\n%s", diff)
	}

	for _, eip := range eips {
		const want = "InvalidIpStatus.HasBeenUsedBySnatTable"
		if _, code := c.Call("UnassociateEipAddress", "AllocationId", eip, "InstanceId", id, "InstanceType", "Nat"); code != want {
			t.Errorf("an address in use is taken: %q, want %q", code, want)
		}
	}
	c.Must("ModifySnatEntry", "SnatTableId", snatTable, "SnatEntryId", snat, "SnatIp", first, "SnatEntryName", "all", "EipAffinity", "1")
	c.Must("ModifyForwardEntry", "ForwardTableId", forwardTable, "ForwardEntryId", forward, "InternalPort", "8081", "ForwardEntryName", "web")
	c.Pass(time.Minute)
	if _, code := c.Call("UnassociateEipAddress", "AllocationId", eips[1]); code != "InvalidIpStatus.HasBeenUsedByForwardEntry" {
		t.Errorf("the address of the DNAT entry is taken: %q", code)
	}
	c.Must("ModifyNatGatewayAttribute", "NatGatewayId", id, "Name", "way out", "IcmpReplyEnabled", "false", "EipBindMode", "NAT")
	c.Must("ModifyNatGatewaySpec", "NatGatewayId", id, "Spec", "Middle")
	status("Modifying")
	c.Pass(time.Minute)
	c.Must("UpdateNatGatewayNatType", "NatGatewayId", id, "NatType", "Enhanced", "VSwitchId", "vsw-b", "ClientToken", "u")
	status("Modifying")
	c.Pass(time.Minute)
	if nat := only(t, c.Must("DescribeNatGateways", "NatGatewayId", id), "NatGateways", "NatGateway"); !strings.Contains(
		fmt.Sprint(nat), "vsw-b") {
		t.Errorf("moved to vsw-b, the gateway shows %v", nat)
	}
	c.Must("UpdateNatGatewayNatType", "NatGatewayId", id, "NatType", "Enhanced", "VSwitchId", "vsw-a")
	c.Pass(time.Minute)
	shown := only(t, c.Must("DescribeNatGateways", "NatGatewayId", id), "NatGateways", "NatGateway")
	if diff := cmp.Diff(map[string]any{
		"Name": "way out", "Spec": "Middle", "NatType": "Enhanced", "InternetChargeType": "PayByLcu", "IcmpReplyEnabled": false,
		"EipBindMode": "NAT", "DeletionProtection": false, "NetworkType": "internet",
	}, members(shown, "Name", "Spec", "NatType", "InternetChargeType", "IcmpReplyEnabled", "EipBindMode", "DeletionProtection",
		"NetworkType")); diff != "" {
		t.Errorf("the gateway (-want +got):\n%s", diff)
	}
	got := c.Must("GetNatGatewayAttribute", "NatGatewayId", id)
	if got["SnatTable"].(map[string]any)["SnatEntryCount"] != 1.0 || len(got["IpList"].([]any)) != 2 {
		t.Errorf("its attributes are %v", got)
	}
	for _, in := range [][]string{{"DeleteVSwitch", "VSwitchId", "vsw-a"}} {
		c.Cloud.Interfaces, c.Cloud.Instances = map[string]*state.NetworkInterface{}, map[string]*state.Instance{}
		if _, code := c.Call(in[0], in[1:]...); code != "DependencyViolation" {
			t.Errorf("%s of a gateway's: %q", in[0], code)
		}
	}
	c.Must("CreateRouteEntry", "RouteTableId", "vtb-1", "DestinationCidrBlock", "0.0.0.0/0", "NextHopId", id, "NextHopType", "NatGateway")

	c.Must("DeleteSnatEntry", "SnatTableId", snatTable, "SnatEntryId", snat)
	c.Must("DeleteForwardEntry", "ForwardTableId", forwardTable, "ForwardEntryId", forward)
	c.Pass(time.Minute)
	for _, eip := range eips {
		c.Must("UnassociateEipAddress", "AllocationId", eip, "InstanceId", id, "InstanceType", "Nat")
	}
	c.Must("DeletionProtection", "Type", "NATGW", "InstanceId", id, "ProtectionEnable", "true")
	if _, code := c.Call("DeleteNatGateway", "NatGatewayId", id); code != "OperationDenied.DeletionProtection" {
		t.Errorf("deleted while it is protected: %q", code)
	}
	c.Must("DeletionProtection", "Type", "NATGW", "InstanceId", id, "ProtectionEnable", "false")
	c.Pass(time.Minute)
	c.Must("DeleteNatGateway", "NatGatewayId", id)
	status("Deleting")
	c.Pass(time.Minute)
	status("")
	if zones := c.Must("ListEnhanhcedNatGatewayAvailableZones")["Zones"].([]any); len(zones) < 2 {
		t.Errorf("zones %v", zones)
	}
}

// A gateway that is deleted by force takes its entries along and frees its addresses.
func TestForcedEndOfNatGateway(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	withNat(c)
	c.Must("CreateSnatEntry", "SnatTableId", "stb-1", "SnatIp", "1.1.1.1", "SourceCIDR", "192.168.1.0/24")
	c.Must("CreateForwardEntry", "ForwardTableId", "ftb-1", "ExternalIp", "1.1.1.1", "ExternalPort", "any", "InternalIp", "192.168.0.9",
		"InternalPort", "any", "IpProtocol", "any")
	c.Must("DeleteNatGateway", "NatGatewayId", "ngw-1", "Force", "true")
	c.Must("DescribeNatGateways")
	if n := len(c.Cloud.NatGateways) + len(c.Cloud.SnatEntries) + len(c.Cloud.ForwardEntries); n != 0 ||
		c.Cloud.Eips["eip-1"].InstanceID != "" {
		t.Errorf("%d things are left, and the address belongs to %q", n, c.Cloud.Eips["eip-1"].InstanceID)
	}
}

func TestNatRefusals(t *testing.T) {
	t.Parallel()
	busy := func(c *apitest.Caller) {
		withNat(c)
		c.Cloud.NatGateways["ngw-1"].Stage = state.Stage{Status: "Modifying", BusyUntil: c.Now.Add(time.Hour)}
	}
	entries := func(c *apitest.Caller) {
		withNat(c)
		c.Cloud.SnatEntries["snat-1"] = &state.SnatEntry{ID: "snat-1", NatGatewayID: "ngw-1", SourceCidr: "192.168.1.0/24",
			IPs: []string{"1.1.1.1"}}
		c.Cloud.ForwardEntries["fwd-1"] = &state.ForwardEntry{ID: "fwd-1", NatGatewayID: "ngw-1", ExternalIP: "1.1.1.1", ExternalPort: "80",
			InternalIP: "192.168.0.9", InternalPort: "80", Protocol: "TCP"}
		c.Cloud.ForwardEntries["fwd-2"] = &state.ForwardEntry{ID: "fwd-2", NatGatewayID: "ngw-1", ExternalIP: "1.1.1.1", ExternalPort: "81",
			InternalIP: "192.168.0.9", InternalPort: "80", Protocol: "TCP"}
	}
	busyEntries := func(c *apitest.Caller) {
		entries(c)
		until := c.Now.Add(time.Hour)
		c.Cloud.SnatEntries["snat-1"].Stage = state.Stage{Status: "Pending", BusyUntil: until}
		c.Cloud.ForwardEntries["fwd-1"].Stage = state.Stage{Status: "Pending", BusyUntil: until}
	}
	twice := func(action string, params ...string) func(*apitest.Caller) {
		return func(c *apitest.Caller) {
			entries(c)
			c.Must(action, append(params, "ClientToken", "t")...)
		}
	}
	create := func(more ...string) []string {
		return append([]string{"VpcId", "vpc-1", "VSwitchId", "vsw-a"}, more...)
	}
	nat := func(more ...string) []string { return append([]string{"NatGatewayId", "ngw-1"}, more...) }
	snat := func(more ...string) []string {
		return append([]string{"SnatTableId", "stb-1", "SnatIp", "1.1.1.1"}, more...)
	}
	old := func(more ...string) []string {
		return append([]string{"SnatTableId", "stb-1", "SnatEntryId", "snat-1"}, more...)
	}
	forward := func(more ...string) []string {
		return append([]string{"ForwardTableId", "ftb-1", "ExternalIp", "1.1.1.1", "ExternalPort", "90", "InternalIp", "192.168.0.9",
			"InternalPort", "90", "IpProtocol", "TCP"}, more...)
	}
	rule := func(more ...string) []string {
		return append([]string{"ForwardTableId", "ftb-1", "ForwardEntryId", "fwd-1"}, more...)
	}
	tests := []refusal{
		{"unknown VPC", nil, "CreateNatGateway", []string{"VpcId", "vpc-none", "VSwitchId", "vsw-a"}, "InvalidVpcId.NotFound"},
		{"pending VPC", func(c *apitest.Caller) { c.Cloud.Vpcs["vpc-1"].PendingUntil = c.Now.Add(time.Second) }, "CreateNatGateway", create(),
			"IncorrectVpcStatus"},
		{"no vSwitch", nil, "CreateNatGateway", []string{"VpcId", "vpc-1"}, "MissingParameter"},
		{"vSwitch of another VPC", nil, "CreateNatGateway", create("VSwitchId", "vsw-c"), "InvalidVSwitchId.NotFound"},
		{"pending vSwitch", func(c *apitest.Caller) { c.Cloud.VSwitches["vsw-a"].PendingUntil = c.Now.Add(time.Second) }, "CreateNatGateway",
			create(), "IncorrectVSwitchStatus"},
		{"name", nil, "CreateNatGateway", create("Name", "http://x"), "InvalidName.Malformed"},
		{"text", nil, "CreateNatGateway", create("Description", "http://x"), "InvalidDescription.Malformed"},
		{"token", twice("CreateNatGateway", create()...), "CreateNatGateway", create("Name", "n", "ClientToken", "t"),
			"IdempotentParameterMismatch"},
		{"key", nil, "DescribeNatGateways", []string{"Tag.1.Key", "acs:x"}, "InvalidTagKey"},
		{"value", nil, "DescribeNatGateways", []string{"Tag.1.Key", "k", "Tag.1.Value", "http://x"}, "InvalidTagValue"},
		{"name", withNat, "ModifyNatGatewayAttribute", nat("Name", "http://x"), "InvalidName.Malformed"},
		{"text", withNat, "ModifyNatGatewayAttribute", nat("Description", "http://x"), "InvalidDescription.Malformed"},
		{"token", func(c *apitest.Caller) {
			withNat(c)
			c.Must("ModifyNatGatewaySpec", nat("Spec", "Small", "ClientToken", "t")...)
		}, "ModifyNatGatewaySpec", nat("Spec", "Large", "ClientToken", "t"), "IdempotentParameterMismatch"},
		{"vSwitch of another VPC", withNat, "UpdateNatGatewayNatType", nat("NatType", "Enhanced", "VSwitchId", "vsw-c"),
			"InvalidVSwitchId.NotFound"},
		{"pending vSwitch", func(c *apitest.Caller) {
			withNat(c)
			c.Cloud.VSwitches["vsw-a"].PendingUntil = c.Now.Add(time.Second)
		}, "UpdateNatGatewayNatType", nat("NatType", "Enhanced", "VSwitchId", "vsw-a"), "IncorrectVSwitchStatus"},
		{"dry run", withNat, "UpdateNatGatewayNatType", nat("NatType", "Enhanced", "VSwitchId", "vsw-a", "DryRun", "true"), "DryRunOperation"},
		{"token", func(c *apitest.Caller) {
			withNat(c)
			c.Must("UpdateNatGatewayNatType", nat("NatType", "Enhanced", "VSwitchId", "vsw-b", "ClientToken", "t")...)
		}, "UpdateNatGatewayNatType", nat("NatType", "Enhanced", "VSwitchId", "vsw-a", "ClientToken", "t"), "IdempotentParameterMismatch"},
		{"with an address", withNat, "DeleteNatGateway", nat(), "DependencyViolation.EIPS"},
		{"with entries", entries, "DeleteNatGateway", nat(), "DependencyViolation.NatEntry"},
		{"protected", func(c *apitest.Caller) {
			withNat(c)
			c.Cloud.NatGateways["ngw-1"].DeletionProtection = true
		}, "DeleteNatGateway", nat("Force", "true"), "OperationDenied.DeletionProtection"},
		{"not ready", busy, "AssociateEipAddress", []string{"AllocationId", "eip-2", "InstanceId", "ngw-1", "InstanceType", "Nat"},
			"IncorrectStatus.NatGateway"},
		{"unknown", withNat, "AssociateEipAddress", []string{"AllocationId", "eip-2", "InstanceId", "ngw-none", "InstanceType", "Nat"},
			"InvalidInstanId.NotFound"},

		{"no source", withNat, "CreateSnatEntry", snat(), "MissingParameter"},
		{"no block", withNat, "CreateSnatEntry", snat("SourceCIDR", "x"), "InvalidParameter"},
		{"unknown vSwitch", withNat, "CreateSnatEntry", snat("SourceVSwitchId", "vsw-c"), "InvalidVSwitchId.NotFound"},
		{"other address", withNat, "CreateSnatEntry", snat("SourceVSwitchId", "vsw-a", "SnatIp", "2.2.2.2"), "EIP_NOT_IN_GATEWAY"},
		{"name", withNat, "CreateSnatEntry", snat("SourceVSwitchId", "vsw-a", "SnatEntryName", "http://x"), "InvalidSnatEntryName.Malformed"},
		{"again", entries, "CreateSnatEntry", snat("SourceVSwitchId", "vsw-b"), "Forbidden.SourceCIDR.Duplicated"},
		{"token", twice("CreateSnatEntry", snat("SourceVSwitchId", "vsw-a")...), "CreateSnatEntry",
			snat("SourceCIDR", "10.0.0.0/8", "ClientToken", "t"), "IdempotentParameterMismatch"},
		{"other address", entries, "ModifySnatEntry", old("SnatIp", "2.2.2.2"), "EIP_NOT_IN_GATEWAY"},
		{"name", entries, "ModifySnatEntry", old("SnatEntryName", "http://x"), "InvalidSnatEntryName.Malformed"},
		{"token", twice("ModifySnatEntry", old("SnatEntryName", "n")...), "ModifySnatEntry", old("SnatEntryName", "m", "ClientToken", "t"),
			"IdempotentParameterMismatch"},
		{"token", twice("DeleteSnatEntry", old()...), "DeleteSnatEntry", old("SnatEntryId", "snat-2", "ClientToken", "t"),
			"IdempotentParameterMismatch"},

		{"other address", withNat, "CreateForwardEntry", forward("ExternalIp", "2.2.2.2"), "InvalidIp.NotInNatgw"},
		{"no address", withNat, "CreateForwardEntry", forward("InternalIp", "x"), "InvalidParameter"},
		{"port", withNat, "CreateForwardEntry", forward("ExternalPort", "20/10"), "InvalidParameter"},
		{"port", withNat, "CreateForwardEntry", forward("InternalPort", "1/2/3"), "InvalidParameter"},
		{"name", withNat, "CreateForwardEntry", forward("ForwardEntryName", "http://x"), "InvalidForwardEntryName.Malformed"},
		{"again", entries, "CreateForwardEntry", forward("ExternalPort", "80", "IpProtocol", "any"), "Forbidden.ExternalIp.Duplicated"},
		{"token", twice("CreateForwardEntry", forward()...), "CreateForwardEntry", forward("ForwardEntryName", "n", "ClientToken", "t"),
			"IdempotentParameterMismatch"},
		{"other address", entries, "ModifyForwardEntry", rule("ExternalIp", "2.2.2.2"), "InvalidIp.NotInNatgw"},
		{"port", entries, "ModifyForwardEntry", rule("ExternalPort", "0"), "InvalidParameter"},
		{"name", entries, "ModifyForwardEntry", rule("ForwardEntryName", "http://x"), "InvalidForwardEntryName.Malformed"},
		{"again", entries, "ModifyForwardEntry", rule("ExternalPort", "81"), "Forbidden.ExternalIp.Duplicated"},
		{"token", twice("ModifyForwardEntry", rule("ForwardEntryName", "n")...), "ModifyForwardEntry",
			rule("ForwardEntryName", "m", "ClientToken", "t"), "IdempotentParameterMismatch"},
		{"token", twice("DeleteForwardEntry", rule()...), "DeleteForwardEntry", rule("ForwardEntryId", "fwd-2", "ClientToken", "t"),
			"IdempotentParameterMismatch"},
	}
	for action, params := range map[string][]string{
		"ModifyNatGatewayAttribute": nil, "ModifyNatGatewaySpec": {"Spec", "Small"}, "DeleteNatGateway": nil,
		"UpdateNatGatewayNatType": {"NatType", "Enhanced", "VSwitchId", "vsw-a"},
	} {
		tests = append(tests, refusal{"not ready", busy, action, nat(params...), "IncorrectStatus.NatGateway"},
			refusal{"unknown", nil, action, nat(params...), "InvalidNatGatewayId.NotFound"})
	}
	tests = append(tests, refusal{"unknown", nil, "GetNatGatewayAttribute", nat(), "InvalidNatGatewayId.NotFound"})
	for action, of := range map[string][3]string{
		"CreateSnatEntry": {"InvalidSnatTableId.NotFound"}, "CreateForwardEntry": {"InvalidForwardTableId.NotFound"},
		"ModifySnatEntry":    {"InvalidSnatTableId.NotFound", "InvalidSnatEntryId.NotFound", "IncorretSnatEntryStatus"},
		"DeleteSnatEntry":    {"InvalidSnatTableId.NotFound", "InvalidSnatEntryId.NotFound", "IncorretSnatEntryStatus"},
		"ModifyForwardEntry": {"InvalidForwardTableId.NotFound", "InvalidForwardEntryId.NotFound", "IncorretForwardEntryStatus"},
		"DeleteForwardEntry": {"InvalidForwardTableId.NotFound", "InvalidForwardEntryId.NotFound", "IncorretForwardEntryStatus"},
	} {
		params := snat("SourceVSwitchId", "vsw-a", "SnatEntryId", "snat-1")
		if strings.Contains(action, "Forward") {
			params = forward("ForwardEntryId", "fwd-1")
		}
		tests = append(tests, refusal{"no table", nil, action, params, of[0]},
			refusal{"not ready", busy, action, params, "IncorrectStatus.NatGateway"})
		if of[1] != "" {
			tests = append(tests, refusal{"no entry", withNat, action, params, of[1]}, refusal{"entry", busyEntries, action, params, of[2]})
		}
	}
	testRefusals(t, tests)
}
