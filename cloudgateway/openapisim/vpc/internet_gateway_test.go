package vpc_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The order of calls of the Terraform provider's alicloud_vpc_ipv4_gateway and alicloud_vpc_gateway_route_table_attachment: the gateway is
// Created, is enabled, gets a route table of gateways and goes when it has lost that.
func TestLifeOfIpv4Gateway(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Settings = api.DefaultSettings()
	id := c.Must("CreateIpv4Gateway", "VpcId", "vpc-1", "Ipv4GatewayName", "way", "Tag.1.Key", "k", "ClientToken",
		"t")["Ipv4GatewayId"].(string)
	of := func(more ...string) []string { return append([]string{"Ipv4GatewayId", id}, more...) }
	want := func(status string, enabled bool, table string) {
		t.Helper()
		got := members(c.Must("GetIpv4GatewayAttribute", of()...), "Status", "Enabled", "Ipv4GatewayRouteTableId", "Ipv4GatewayName")
		wanted := map[string]any{"Status": status, "Enabled": enabled, "Ipv4GatewayRouteTableId": table, "Ipv4GatewayName": "way"}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("the gateway (-want +got):\n%s", diff)
		}
	}
	want("Creating", false, "")
	c.Pass(time.Minute)
	want("Created", false, "")
	c.Must("UpdateIpv4GatewayAttribute", of("Ipv4GatewayDescription", "text")...)
	c.Must("EnableVpcIpv4Gateway", of("RouteTableList.1", "vtb-1")...)
	want("Activating", true, "")
	c.Pass(time.Minute)
	want("Created", true, "")
	list := c.Must("ListIpv4Gateways", "VpcId", "vpc-1")
	if models := list["Ipv4GatewayModels"].([]any); list["TotalCount"] != "1" ||
		models[0].(map[string]any)["Ipv4GatewayDescription"] != "text" {
		t.Errorf("the list is %v", list)
	}
	table := c.Must("CreateRouteTable", "VpcId", "vpc-1", "AssociateType", "Gateway")["RouteTableId"].(string)
	c.Pass(time.Minute)
	binding := []string{"RouteTableId", table, "GatewayId", id, "GatewayType", "Ipv4Gateway"}
	c.Must("AssociateRouteTableWithGateway", binding...)
	c.Pass(time.Minute)
	want("Created", true, table)
	shown := only(t, c.Must("DescribeRouteTableList", "RouteTableId", table), "RouterTableList", "RouterTableListType")
	if diff := cmp.Diff(map[string]any{"GatewayIds": []any{id}}, shown["GatewayIds"]); diff != "" || shown["AssociateType"] != "Gateway" {
		t.Errorf("the table %v (-want +got):\n%s", shown, diff)
	}
	if _, code := c.Call("DeleteRouteTable", "RouteTableId", table); code != "IncorrectRouteTableStatus" {
		t.Errorf("the table of a gateway is deleted: %q", code)
	}
	if _, code := c.Call("DeleteIpv4Gateway", of()...); code != "DependencyViolation.RouteTable" {
		t.Errorf("a gateway with a table is deleted: %q", code)
	}
	c.Must("DissociateRouteTableFromGateway", binding...)
	c.Pass(time.Minute)
	c.Must("DeleteRouteTable", "RouteTableId", table)
	c.Must("DeleteIpv4Gateway", of()...)
	want("Deleting", true, "")
	c.Pass(time.Minute)
	if _, code := c.Call("GetIpv4GatewayAttribute", of()...); code != "ResourceNotFound.Ipv4Gateway" {
		t.Errorf("a deleted gateway: %q", code)
	}
}

// withGateways makes an IPv4 and an IPv6 gateway in vpc-1 with a table for the first, and gives eni-1 an IPv6 address.
func withGateways(c *apitest.Caller) {
	c.Cloud.Ipv4Gateways["ipv4gw-1"] = &state.InternetGateway{ID: "ipv4gw-1", VpcID: "vpc-1", Stage: state.Stage{Status: "Created"}}
	c.Cloud.Ipv6Gateways["ipv6gw-1"] = &state.InternetGateway{ID: "ipv6gw-1", VpcID: "vpc-1", Stage: state.Stage{Status: "Available"}}
	c.Cloud.RouteTables["vtb-gw"] = &state.RouteTable{ID: "vtb-gw", VpcID: "vpc-1", Type: "Custom", OfGateway: true}
	c.Cloud.RouteTables["vtb-gw2"] = &state.RouteTable{ID: "vtb-gw2", VpcID: "vpc-2", Type: "Custom", OfGateway: true}
	c.Cloud.Interfaces["eni-1"].Ipv6Addresses = []string{"2408::7", "2408::8"}
}

// The order of calls of alicloud_vpc_ipv6_gateway, alicloud_vpc_ipv6_egress_rule and alicloud_vpc_ipv6_internet_bandwidth.
func TestLifeOfIpv6Gateway(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Settings = api.DefaultSettings()
	withGateways(c)
	c.Cloud.Ipv6Gateways = map[string]*state.InternetGateway{}
	id := c.Must("CreateIpv6Gateway", "VpcId", "vpc-1", "Name", "six", "ClientToken", "t")["Ipv6GatewayId"].(string)
	of := func(more ...string) []string { return append([]string{"Ipv6GatewayId", id}, more...) }
	status := func(want string) {
		t.Helper()
		if got := c.Must("DescribeIpv6GatewayAttribute", of()...)["Status"]; got != want {
			t.Errorf("the gateway is %q, want %q", got, want)
		}
	}
	status("Pending")
	c.Pass(time.Minute)
	status("Available")
	c.Must("ModifyIpv6GatewayAttribute", of("Name", "seven", "Description", "text")...)
	gateway := only(t, c.Must("DescribeIpv6Gateways", "VpcId", "vpc-1"), "Ipv6Gateways", "Ipv6Gateway")
	if gateway["Name"] != "seven" || gateway["Description"] != "text" || gateway["InstanceChargeType"] != "PostPaid" {
		t.Errorf("the gateway is %v", gateway)
	}
	address := only(t, c.Must("DescribeIpv6Addresses", "Ipv6Address", "2408::7"), "Ipv6Addresses", "Ipv6Address")
	addressID := address["Ipv6AddressId"].(string)
	if address["AssociatedInstanceId"] != "eni-1" || address["NetworkType"] != "Private" || address["Ipv6GatewayId"] != id {
		t.Errorf("the address is %v", address)
	}
	for _, all := range [][]string{
		{"ResourceGroupId", state.DefaultResourceGroup}, {"AddressType", "IPv6Address"}, {"ServiceManaged", "false"},
	} {
		only(t, c.Must("DescribeIpv6Addresses", append(all, "Ipv6Address", "2408::7")...), "Ipv6Addresses", "Ipv6Address")
	}
	for _, none := range [][]string{
		{"ResourceGroupId", "rg-none"}, {"AddressType", "IPv6Prefix"}, {"ServiceManaged", "true"}, {"Tag.1.Key", "k"},
	} {
		if answer := c.Must("DescribeIpv6Addresses", none...); answer["TotalCount"] != 0.0 {
			t.Errorf("%v finds %v", none, answer)
		}
	}
	bandwidth := c.Must("AllocateIpv6InternetBandwidth", of("Ipv6AddressId", addressID, "Bandwidth", "10")...)["InternetBandwidthId"].(string)
	c.Must("ModifyIpv6InternetBandwidth", "Ipv6InternetBandwidthId", bandwidth, "Ipv6AddressId", addressID, "Bandwidth", "20")
	address = only(t, c.Must("DescribeIpv6Addresses", "Ipv6InternetBandwidthId", bandwidth), "Ipv6Addresses", "Ipv6Address")
	wanted := map[string]any{"Bandwidth": 20.0, "InternetChargeType": "PayByBandwidth", "BusinessStatus": "Normal"}
	got := members(address["Ipv6InternetBandwidth"].(map[string]any), "Bandwidth", "InternetChargeType", "BusinessStatus")
	if diff := cmp.Diff(wanted, got); diff != "" || address["NetworkType"] != "Public" {
		t.Errorf("the address is %v (-want +got):\n%s", address["NetworkType"], diff)
	}
	rule := c.Must("CreateIpv6EgressOnlyRule", of("InstanceId", addressID, "InstanceType", "Ipv6Address", "Name",
		"out")...)["Ipv6EgressRuleId"].(string)
	c.Pass(time.Minute)
	shown := only(t, c.Must("DescribeIpv6EgressOnlyRules", of("Ipv6EgressOnlyRuleId", rule)...), "Ipv6EgressOnlyRules", "Ipv6EgressOnlyRule")
	if shown["Status"] != "Available" || shown["InstanceId"] != addressID || shown["Name"] != "out" {
		t.Errorf("the rule is %v", shown)
	}
	if _, code := c.Call("DeleteIpv6Gateway", of()...); code != "DependencyViolation.Ipv6InternetBandwidth" {
		t.Errorf("a gateway with bandwidth is deleted: %q", code)
	}
	c.Must("DeleteIpv6EgressOnlyRule", "Ipv6EgressOnlyRuleId", rule)
	c.Must("DeleteIpv6InternetBandwidth", "Ipv6InternetBandwidthId", bandwidth)
	c.Pass(time.Minute)
	if n := c.Must("DescribeIpv6EgressOnlyRules", of()...)["TotalCount"]; n != 0.0 {
		t.Errorf("%v rules are left", n)
	}
	c.Must("CreateIpv6EgressOnlyRule", of("InstanceId", addressID)...)
	c.Must("DeleteIpv6Gateway", of()...)
	status("Deleting")
	c.Pass(time.Minute)
	status("")
	if len(c.Cloud.EgressRules) != 0 {
		t.Error("the rule of the gateway is left")
	}
}

func TestGatewayRefusals(t *testing.T) {
	t.Parallel()
	busy := func(c *apitest.Caller) {
		withGateways(c)
		stage := state.Stage{Status: "Creating", BusyUntil: c.Now.Add(time.Hour)}
		c.Cloud.Ipv4Gateways["ipv4gw-1"].Stage, c.Cloud.Ipv6Gateways["ipv6gw-1"].Stage = stage, stage
	}
	pendingTable := func(c *apitest.Caller) {
		withGateways(c)
		c.Cloud.RouteTables["vtb-gw"].PendingUntil = c.Now.Add(time.Hour)
	}
	bound := func(c *apitest.Caller) {
		withGateways(c)
		c.Cloud.Ipv4Gateways["ipv4gw-1"].RouteTableID = "vtb-gw"
	}
	sold := func(c *apitest.Caller) {
		withGateways(c)
		c.Cloud.Ipv6Bandwidths["ipv6bw-1"] = &state.Ipv6Bandwidth{ID: "ipv6bw-1", AddressID: "ipv6-2408xx7", GatewayID: "ipv6gw-1", Bandwidth: 1}
		c.Cloud.Ipv6Bandwidths["ipv6bw-2"] = &state.Ipv6Bandwidth{ID: "ipv6bw-2", AddressID: "ipv6-2408xx8", GatewayID: "ipv6gw-1", Bandwidth: 1}
		c.Cloud.EgressRules["ipv6py-1"] = &state.EgressRule{ID: "ipv6py-1", AddressID: "ipv6-2408xx7", GatewayID: "ipv6gw-1"}
		c.Cloud.EgressRules["ipv6py-2"] = &state.EgressRule{ID: "ipv6py-2", AddressID: "ipv6-2408xx8", GatewayID: "ipv6gw-1"}
	}
	nothing := func(*apitest.Caller) {}
	in := func(more ...string) []string { return append([]string{"VpcId", "vpc-1"}, more...) }
	four := func(more ...string) []string { return append([]string{"Ipv4GatewayId", "ipv4gw-1"}, more...) }
	six := func(more ...string) []string { return append([]string{"Ipv6GatewayId", "ipv6gw-1"}, more...) }
	binding := func(more ...string) []string {
		return append([]string{"RouteTableId", "vtb-gw", "GatewayId", "ipv4gw-1", "GatewayType", "Ipv4Gateway"}, more...)
	}
	address := func(more ...string) []string {
		return six(append([]string{"Ipv6AddressId", "ipv6-2408xx7", "InstanceId", "ipv6-2408xx7", "Bandwidth", "1"}, more...)...)
	}
	bandwidth := func(more ...string) []string { return append([]string{"Ipv6InternetBandwidthId", "ipv6bw-1"}, more...) }
	tests := []refusal{
		{"second", withGateways, "CreateIpv4Gateway", in(), "ResourceAlreadyExist.Ipv4Gateway"},
		{"dry run", nil, "CreateIpv4Gateway", in("DryRun", "true"), "DryRunOperation"},
		{"name", nil, "CreateIpv4Gateway", in("Ipv4GatewayName", "http://x"), "InvalidName.Malformed"},
		{"text", nil, "CreateIpv4Gateway", in("Ipv4GatewayDescription", "http://x"), "InvalidDescription.Malformed"},
		{"token", used(nothing, "CreateIpv4Gateway", in()...), "CreateIpv4Gateway", in("Ipv4GatewayName", "n", "ClientToken", "t"),
			"IdempotentParameterMismatch"},
		{"no token", nil, "ListIpv4Gateways", []string{"NextToken", "x"}, "IllegalParam.NextToken"},
		{"name", withGateways, "UpdateIpv4GatewayAttribute", four("Ipv4GatewayName", "http://x"), "InvalidName.Malformed"},
		{"text", withGateways, "UpdateIpv4GatewayAttribute", four("Ipv4GatewayDescription", "http://x"), "InvalidDescription.Malformed"},
		{"token", used(withGateways, "UpdateIpv4GatewayAttribute", four("Ipv4GatewayName", "n")...), "UpdateIpv4GatewayAttribute",
			four("Ipv4GatewayName", "m", "ClientToken", "t"), "IdempotentParameterMismatch"},
		{"table of another VPC", withGateways, "EnableVpcIpv4Gateway", four("RouteTableList.1", "vtb-2"), "InvalidRouteTableId.NotFound"},
		{"token", used(withGateways, "EnableVpcIpv4Gateway", four()...), "EnableVpcIpv4Gateway", four("RouteTableList.1", "vtb-1", "ClientToken",
			"t"), "IdempotentParameterMismatch"},
		{"table", bound, "DeleteIpv4Gateway", four(), "DependencyViolation.RouteTable"},
		{"token", used(withGateways, "DeleteIpv4Gateway", four()...), "DeleteIpv4Gateway", four("Ipv4GatewayId", "ipv4gw-2", "ClientToken", "t"),
			"IdempotentParameterMismatch"},
		{"VPC with one", func(c *apitest.Caller) {
			c.Cloud.Vpcs["vpc-empty"] = &state.Vpc{ID: "vpc-empty"}
			c.Cloud.Ipv4Gateways["g"] = &state.InternetGateway{ID: "g", VpcID: "vpc-empty"}
		}, "DeleteVpc", []string{"VpcId", "vpc-empty"}, "DependencyViolation.Ipv4Gateway"},
		{"VPC with one of IPv6", func(c *apitest.Caller) {
			c.Cloud.Vpcs["vpc-empty"] = &state.Vpc{ID: "vpc-empty"}
			c.Cloud.Ipv6Gateways["g"] = &state.InternetGateway{ID: "g", VpcID: "vpc-empty"}
		}, "DeleteVpc", []string{"VpcId", "vpc-empty"}, "DependencyViolation.Ipv6Gateway"},
		{"table of vSwitches", withGateways, "AssociateRouteTableWithGateway", binding("RouteTableId", "vtb-1"),
			"OperationDenied.NotGatewayRouteTable"},
		{"other VPC", withGateways, "AssociateRouteTableWithGateway", binding("RouteTableId", "vtb-gw2"), "Forbidden.NotInSameVpc"},
		{"bound", bound, "AssociateRouteTableWithGateway", binding(), "OperationDenied.GatewayAssociated"},
		{"not bound", withGateways, "DissociateRouteTableFromGateway", binding(), "OperationDenied.GatewayNotAssociated"},
		{"dry run", bound, "DissociateRouteTableFromGateway", binding("DryRun", "true"), "DryRunOperation"},
		{"dry run", withGateways, "AssociateRouteTableWithGateway", binding("DryRun", "true"), "DryRunOperation"},
		{"token", used(withGateways, "AssociateRouteTableWithGateway", binding()...), "AssociateRouteTableWithGateway",
			binding("RouteTableId", "vtb-gw2", "ClientToken", "t"), "IdempotentParameterMismatch"},
		{"token", used(bound, "DissociateRouteTableFromGateway", binding()...), "DissociateRouteTableFromGateway",
			binding("RouteTableId", "vtb-gw2", "ClientToken", "t"), "IdempotentParameterMismatch"},

		{"second", withGateways, "CreateIpv6Gateway", in(), "ResourceAlreadyExist.Ipv6Gateway"},
		{"no IPv6", nil, "CreateIpv6Gateway", in("VpcId", "vpc-2"), "OperationFailed.VpcIpv6Disabled"},
		{"name", nil, "CreateIpv6Gateway", in("Name", "http://x"), "InvalidName.Malformed"},
		{"text", nil, "CreateIpv6Gateway", in("Description", "http://x"), "InvalidDescription.Malformed"},
		{"token", used(nothing, "CreateIpv6Gateway", in()...), "CreateIpv6Gateway", in("Name", "n", "ClientToken", "t"),
			"IdempotentParameterMismatch"},
		{"name", withGateways, "ModifyIpv6GatewayAttribute", six("Name", "http://x"), "InvalidName.Malformed"},
		{"text", withGateways, "ModifyIpv6GatewayAttribute", six("Description", "http://x"), "InvalidDescription.Malformed"},
		{"token", used(withGateways, "ModifyIpv6GatewayAttribute", six("Name", "n")...), "ModifyIpv6GatewayAttribute",
			six("Name", "m", "ClientToken", "t"), "IdempotentParameterMismatch"},
		{"bandwidth", sold, "DeleteIpv6Gateway", six(), "DependencyViolation.Ipv6InternetBandwidth"},
		{"token", used(withGateways, "DeleteIpv6Gateway", six()...), "DeleteIpv6Gateway", six("Ipv6GatewayId", "ipv6gw-2", "ClientToken", "t"),
			"IdempotentParameterMismatch"},
		{"unknown address", withGateways, "AllocateIpv6InternetBandwidth", address("Ipv6AddressId", "ipv6-none"), "ResourceNotFound.Ipv6Address"},
		{"dry run", withGateways, "AllocateIpv6InternetBandwidth", address("DryRun", "true"), "DryRunOperation"},
		{"dry run", sold, "ModifyIpv6InternetBandwidth", bandwidth("Bandwidth", "5", "DryRun", "true"), "DryRunOperation"},
		{"dry run", sold, "DeleteIpv6InternetBandwidth", bandwidth("DryRun", "true"), "DryRunOperation"},
		{"second", sold, "AllocateIpv6InternetBandwidth", address(), "ResourceAlreadyExist.Ipv6InternetBandwidth"},
		{"token", used(withGateways, "AllocateIpv6InternetBandwidth", address()...), "AllocateIpv6InternetBandwidth",
			address("Bandwidth", "2", "ClientToken", "t"), "IdempotentParameterMismatch"},
		{"unknown", withGateways, "ModifyIpv6InternetBandwidth", bandwidth("Bandwidth", "1"), "ResourceNotFound.Ipv6InternetBandwidth"},
		{"unknown", withGateways, "DeleteIpv6InternetBandwidth", bandwidth(), "ResourceNotFound.Ipv6InternetBandwidth"},
		{"token", used(sold, "ModifyIpv6InternetBandwidth", bandwidth("Bandwidth", "1")...), "ModifyIpv6InternetBandwidth",
			bandwidth("Bandwidth", "2", "ClientToken", "t"), "IdempotentParameterMismatch"},
		{"token", used(sold, "DeleteIpv6InternetBandwidth", bandwidth()...), "DeleteIpv6InternetBandwidth",
			bandwidth("Ipv6InternetBandwidthId", "ipv6bw-2", "ClientToken", "t"), "IdempotentParameterMismatch"},
		{"unknown address", withGateways, "CreateIpv6EgressOnlyRule", six("InstanceId", "ipv6-none"), "ResourceNotFound.Ipv6Address"},
		{"second", sold, "CreateIpv6EgressOnlyRule", six("InstanceId", "ipv6-2408xx7"), "ResourceAlreadyExist.Ipv6EgressOnlyRule"},
		{"name", withGateways, "CreateIpv6EgressOnlyRule", address("Name", "http://x"), "InvalidName.Malformed"},
		{"text", withGateways, "CreateIpv6EgressOnlyRule", address("Description", "http://x"), "InvalidDescription.Malformed"},
		{"token", used(withGateways, "CreateIpv6EgressOnlyRule", six("InstanceId", "ipv6-2408xx7")...), "CreateIpv6EgressOnlyRule",
			six("InstanceId", "ipv6-2408xx8", "ClientToken", "t"), "IdempotentParameterMismatch"},
		{"unknown", withGateways, "DeleteIpv6EgressOnlyRule", []string{"Ipv6EgressOnlyRuleId", "ipv6py-1"},
			"ResourceNotFound.Ipv6EgressOnlyRule"},
		{"token", used(sold, "DeleteIpv6EgressOnlyRule", "Ipv6EgressOnlyRuleId", "ipv6py-1"), "DeleteIpv6EgressOnlyRule",
			[]string{"Ipv6EgressOnlyRuleId", "ipv6py-2", "ClientToken", "t"}, "IdempotentParameterMismatch"},
	}
	for _, action := range []string{"UpdateIpv4GatewayAttribute", "EnableVpcIpv4Gateway", "DeleteIpv4Gateway"} {
		tests = append(tests, refusal{"not ready", busy, action, four(), "IncorrectStatus.Ipv4Gateway"},
			refusal{"unknown", nil, action, four(), "ResourceNotFound.Ipv4Gateway"},
			refusal{"dry run", withGateways, action, four("DryRun", "true"), "DryRunOperation"})
	}
	tests = append(tests, refusal{"unknown", nil, "GetIpv4GatewayAttribute", four(), "ResourceNotFound.Ipv4Gateway"})
	for _, action := range []string{"AssociateRouteTableWithGateway", "DissociateRouteTableFromGateway"} {
		tests = append(tests, refusal{"not ready", busy, action, binding(), "IncorrectStatus.Ipv4Gateway"},
			refusal{"pending", pendingTable, action, binding(), "IncorrectStatus.RouteTable"},
			refusal{"no gateway", withGateways, action, binding("GatewayId", "ipv4gw-none"), "ResourceNotFound.Ipv4Gateway"},
			refusal{"no table", withGateways, action, binding("RouteTableId", "vtb-none"), "InvalidRouteTableId.NotFound"})
	}
	for _, action := range []string{"ModifyIpv6GatewayAttribute", "DeleteIpv6Gateway", "AllocateIpv6InternetBandwidth",
		"CreateIpv6EgressOnlyRule"} {
		tests = append(tests, refusal{"not ready", busy, action, address(), "IncorrectStatus.Ipv6Gateway"},
			refusal{"unknown", nil, action, address(), "ResourceNotFound.Ipv6Gateway"})
	}
	for _, action := range []string{"ModifyIpv6GatewayAttribute", "DeleteIpv6Gateway"} {
		tests = append(tests, refusal{"dry run", withGateways, action, six("DryRun", "true"), "DryRunOperation"})
	}
	pendingVpc := func(c *apitest.Caller) { c.Cloud.Vpcs["vpc-1"].PendingUntil = c.Now.Add(time.Second) }
	for _, action := range []string{"CreateIpv4Gateway", "CreateIpv6Gateway"} {
		tests = append(tests, refusal{"pending", pendingVpc, action, in(), "IncorrectVpcStatus"},
			refusal{"unknown", nil, action, in("VpcId", "vpc-none"), "InvalidVpcId.NotFound"})
	}
	testRefusals(t, tests)
}
