package vpc_test

import (
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// withNetwork has one of each of the younger things of VPC, ready, and a second one of those of which two can meet.
func withNetwork(c *apitest.Caller) {
	c.Cloud.Instances["i-1"].VSwitchID, c.Cloud.Instances["i-2"].VSwitchID = "vsw-a", "vsw-a"
	c.Cloud.HaVips["havip-1"] = &state.HaVip{ID: "havip-1", VSwitchID: "vsw-a", Address: "192.168.0.77",
		Stage: state.Stage{Status: "Available"}}
	c.Cloud.PrefixLists["pl-1"] = &state.PrefixList{ID: "pl-1", MaxEntries: 2, Entries: []state.PrefixEntry{{Cidr: "10.0.0.0/8"}},
		Stage: state.Stage{Status: "Created"}}
	for _, id := range []string{"dopt-1", "dopt-2"} {
		c.Cloud.DhcpOptionsSets[id] = &state.DhcpOptionsSet{ID: id, Stage: state.Stage{Status: "Available"}}
	}
	c.Cloud.DhcpOptionsSets["dopt-2"].Attachments = []*state.DhcpAttachment{{VpcID: "vpc-2", Stage: state.Stage{Status: "InUse"}}}
	c.Cloud.CidrReservations["vcr-1"] = &state.CidrReservation{ID: "vcr-1", VSwitchID: "vsw-a", Cidr: "192.168.0.128/28",
		Stage: state.Stage{Status: "Assigned"}}
	c.Cloud.AddressPools["pippool-1"] = &state.AddressPool{ID: "pippool-1", Stage: state.Stage{Status: "Created"},
		Blocks: []*state.PoolBlock{{Cidr: "47.64.0.0/28", Stage: state.Stage{Status: "Created"}}}}
	c.Cloud.EipSegments["eipsg-1"] = &state.EipSegment{ID: "eipsg-1", Cidr: "47.65.0.0/28", Stage: state.Stage{Status: "Allocated"}}
	c.Cloud.Eips["eip-s"] = &state.Eip{ID: "eip-s", SegmentID: "eipsg-1", Address: "47.65.0.1", Status: "Available"}
}

// busyNetwork is withNetwork while all of it is on its way between two states.
func busyNetwork(c *apitest.Caller) {
	withNetwork(c)
	until := c.Now.Add(time.Hour)
	for _, s := range []*state.Stage{
		&c.Cloud.HaVips["havip-1"].Stage, &c.Cloud.PrefixLists["pl-1"].Stage, &c.Cloud.DhcpOptionsSets["dopt-1"].Stage,
		&c.Cloud.CidrReservations["vcr-1"].Stage, &c.Cloud.AddressPools["pippool-1"].Blocks[0].Stage, &c.Cloud.EipSegments["eipsg-1"].Stage,
		&c.Cloud.DhcpOptionsSets["dopt-2"].Attachments[0].Stage,
	} {
		s.Status, s.BusyUntil = "Modifying", until
	}
}

// networkCall is a call of an action with the parameters that it needs, and another call that its token can't be used for.
type networkCall struct {
	action      string
	params      []string
	other       []string
	missing     string // the code for what there isn't
	idOf        string // the parameter that names what the call is about
	wrong       string // the code for what is on its way between two states
	noDryRun    bool
	name, text  string // parameters with their codes for what can't be
	named, told string
}

// networkCalls are the writes of the younger things of VPC. The codes are in the files that have the actions, with their sources.
func networkCalls() []networkCall {
	const token, no, yes = "InvalidParameter", "", true
	havip := func(params ...string) []string { return append([]string{"HaVipId", "havip-1"}, params...) }
	list := func(params ...string) []string { return append([]string{"PrefixListId", "pl-1"}, params...) }
	set := func(params ...string) []string { return append([]string{"DhcpOptionsSetId", "dopt-1"}, params...) }
	block := func(params ...string) []string {
		return append([]string{"VSwitchCidrReservationId", "vcr-1"}, params...)
	}
	pool := func(params ...string) []string {
		return append([]string{"PublicIpAddressPoolId", "pippool-1"}, params...)
	}
	wrongDhcp := "IncorrectStatus.DhcpOptionsSet"
	return []networkCall{
		{"CreateHaVip", []string{"VSwitchId", "vsw-a"}, []string{"VSwitchId", "vsw-b"}, "InvalidVSwitchId.NotFound", "VSwitchId", no, yes,
			"Name", "Description", token, token},
		{"ModifyHaVipAttribute", havip(), havip("Name", "x"), "InvalidHaVipId.NotFound", "HaVipId", no, yes, "Name", "Description", token, token},
		{"DeleteHaVip", havip(), havip("HaVipId", "havip-2"), "InvalidHaVipId.NotFound", "HaVipId", "IncorrectHaVipStatus", yes, no, no, no, no},
		{"AssociateHaVip", havip("InstanceId", "i-1"), havip("InstanceId", "i-2"), "InvalidHaVipId.NotFound", "HaVipId", "IncorrectHaVipStatus",
			yes, no, no, no, no},
		{"CreateVpcPrefixList", nil, []string{"MaxEntries", "7"}, no, no, no, false, "PrefixListName", "PrefixListDescription", token, token},
		{"ModifyVpcPrefixList", list(), list("MaxEntries", "7"), "ResourceNotFound.PrefixList", "PrefixListId", "IncorrectStatus.PrefixList",
			false, "PrefixListName", "PrefixListDescription", token, token},
		{"DeleteVpcPrefixList", list(), list("PrefixListId", "pl-2"), "ResourceNotFound.PrefixList", "PrefixListId",
			"IncorrectStatus.PrefixList", false, no, no, no, no},
		{"CreateDhcpOptionsSet", nil, []string{"LeaseTime", "1d"}, no, no, no, false, "DhcpOptionsSetName", "DhcpOptionsSetDescription",
			"IllegalParam.DhcpOptionsSetName", "IllegalParam.DhcpOptionsSetDescription"},
		{"UpdateDhcpOptionsSetAttribute", set(), set("LeaseTime", "1d"), "InvalidDhcpOptionsSetId.NotFound", "DhcpOptionsSetId", wrongDhcp,
			false, "DhcpOptionsSetName", "DhcpOptionsSetDescription", "IllegalParam.DhcpOptionsSetName",
			"IllegalParam.DhcpOptionsSetDescription"},
		{"DeleteDhcpOptionsSet", set(), set("DhcpOptionsSetId", "dopt-2"), "InvalidDhcpOptionsSetId.NotFound", "DhcpOptionsSetId", wrongDhcp,
			false, no, no, no, no},
		{"AttachDhcpOptionsSetToVpc", set("VpcId", "vpc-1"), set("VpcId", "vpc-2"), "InvalidDhcpOptionsSetId.NotFound", "DhcpOptionsSetId",
			wrongDhcp, false, no, no, no, no},
		{"CreateVSwitchCidrReservation", []string{"VSwitchId", "vsw-a", "VSwitchCidrReservationMask", "28"}, []string{"VSwitchId", "vsw-b"},
			"InvalidVSwitchId.NotFound", "VSwitchId", no, false, "VSwitchCidrReservationName", "VSwitchCidrReservationDescription", token, token},
		{"ModifyVSwitchCidrReservationAttribute", block(), block("VSwitchCidrReservationName", "x"),
			"ResourceNotFound.VSwitchCidrReservation", "VSwitchCidrReservationId", "IncorrectStatus", false, "VSwitchCidrReservationName",
			"VSwitchCidrReservationDescription", token, token},
		{"DeleteVSwitchCidrReservation", block(), block("VSwitchCidrReservationId", "vcr-2"), "ResourceNotFound.VSwitchCidrReservation",
			"VSwitchCidrReservationId", "IncorrectStatus", false, no, no, no, no},
		{"CreatePublicIpAddressPool", nil, []string{"Isp", "BGP_PRO"}, no, no, no, false, "Name", "Description", token, token},
		{"UpdatePublicIpAddressPoolAttribute", pool(), pool("Name", "x"), "ResourceNotFound.PublicIpAddressPool", "PublicIpAddressPoolId",
			"IncorrectStatus.PublicIpAddressPool", false, "Name", "Description", token, token},
		{"DeletePublicIpAddressPool", pool(), pool("PublicIpAddressPoolId", "pippool-2"), "ResourceNotFound.PublicIpAddressPool",
			"PublicIpAddressPoolId", "IncorrectStatus.PublicIpAddressPool", false, no, no, no, no},
		{"AddPublicIpAddressPoolCidrBlock", pool("CidrMask", "28"), pool("CidrMask", "27"), "ResourceNotFound.PublicIpAddressPool",
			"PublicIpAddressPoolId", "IncorrectStatus.PublicIpAddressPool", false, no, no, no, no},
		{"DeletePublicIpAddressPoolCidrBlock", pool("CidrBlock", "47.64.0.0/28"), pool("CidrBlock", "47.65.0.0/28"),
			"ResourceNotFound.PublicIpAddressPool", "PublicIpAddressPoolId", "IncorrectStatus.PublicIpAddressPool", false, no, no, no, no},
		{"AllocateEipSegmentAddress", []string{"EipMask", "28"}, []string{"EipMask", "28", "Bandwidth", "7"}, no, no, no, yes, no, no, no, no},
		{"ReleaseEipSegmentAddress", []string{"SegmentInstanceId", "eipsg-1"}, []string{"SegmentInstanceId", "eipsg-2"},
			"OperationFailed.InstanceNotExist", "SegmentInstanceId", "IncorrectEipStatus", yes, no, no, no, no},
	}
}

// What every action with a parameter of a kind refuses in the same way: what there isn't, what is on its way, a dry run, a token of another
// call, a name and a text that are links.
func TestRefusalsOfNetworkCalls(t *testing.T) {
	t.Parallel()
	var tests []refusal
	for _, call := range networkCalls() {
		with := func(more ...string) []string { return append(append([]string{}, call.params...), more...) }
		add := func(name string, prepare func(*apitest.Caller), params []string, want string) {
			if want != "" {
				tests = append(tests, refusal{name, prepare, call.action, params, want})
			}
		}
		add("unknown", withNetwork, with(call.idOf, "none"), call.missing)
		add("not ready", busyNetwork, call.params, call.wrong)
		if !call.noDryRun {
			add("dry run", withNetwork, with("DryRun", "true"), "DryRunOperation")
		}
		add("name", withNetwork, with(call.name, "http://x"), call.named)
		add("text", withNetwork, with(call.text, "https://x"), call.told)
		add("token", used(withNetwork, call.action, call.params...), append(append([]string{}, call.other...), "ClientToken", "t"),
			"IdempotentParameterMismatch")
	}
	testRefusals(t, tests)
}

func TestNetworkRefusals(t *testing.T) {
	t.Parallel()
	bound := func(c *apitest.Caller) {
		withNetwork(c)
		h := c.Cloud.HaVips["havip-1"]
		h.InstanceType, h.InstanceIDs = "EcsInstance", []string{"i-1"}
	}
	starting := func(c *apitest.Caller) { withNetwork(c); c.Cloud.Instances["i-1"].Status = "Starting" }
	pendingVSwitch := func(c *apitest.Caller) { c.Cloud.VSwitches["vsw-a"].PendingUntil = c.Now.Add(time.Hour) }
	routed := func(c *apitest.Caller) {
		withNetwork(c)
		c.Cloud.RouteTables["vtb-1"].Entries[0].Cidr = "pl-1"
	}
	attached := func(c *apitest.Caller) {
		withNetwork(c)
		c.Cloud.DhcpOptionsSets["dopt-1"].Attachments = []*state.DhcpAttachment{{VpcID: "vpc-1", Stage: state.Stage{Status: "InUse"}}}
	}
	full := func(c *apitest.Caller) { withNetwork(c); c.Cloud.AddressPools["pippool-1"].Blocks = nil }
	eip := func(change func(*apitest.Caller, *state.Eip)) func(*apitest.Caller) {
		return func(c *apitest.Caller) { withNetwork(c); change(c, c.Cloud.Eips["eip-s"]) }
	}
	havip := func(more ...string) []string {
		return append([]string{"HaVipId", "havip-1", "InstanceId", "i-1"}, more...)
	}
	address := func(text string) []string { return []string{"VSwitchId", "vsw-a", "IpAddress", text} }
	list := func(more ...string) []string { return append([]string{"PrefixListId", "pl-1"}, more...) }
	set := func(id string, more ...string) []string { return append([]string{"DhcpOptionsSetId", id}, more...) }
	block := func(more ...string) []string { return append([]string{"VSwitchId", "vsw-a"}, more...) }
	pool := func(more ...string) []string { return append([]string{"PublicIpAddressPoolId", "pippool-1"}, more...) }
	retry := func(more ...string) []string {
		return append(list("ResourceType", "vpcRouteTable", "ResourceId", "vtb-1"), more...)
	}
	tests := []refusal{
		{"pending", pendingVSwitch, "CreateHaVip", address(""), "IncorrectVSwitchStatus"},
		{"address in use", withNetwork, "CreateHaVip", address("192.168.0.77"), "InvalidParameter"},
		{"address elsewhere", withNetwork, "CreateHaVip", address("192.168.1.7"), "InvalidParameter"},
		{"no address", withNetwork, "CreateHaVip", address("x"), "InvalidParameter"},
		{"no such key", withNetwork, "DescribeHaVips", []string{"Filter.1.Key", "Name", "Filter.1.Value.1", "x"},
			"InvalidFilterKey.ValueNotSupported"},
		{"bound", bound, "DeleteHaVip", []string{"HaVipId", "havip-1"}, "IncorrectHaVipStatus"},
		{"no instance", withNetwork, "AssociateHaVip", havip("InstanceId", "i-none"), "InvalidInstanceId.NotFound"},
		{"no interface", withNetwork, "AssociateHaVip", havip("InstanceType", "NetworkInterface"), "InvalidInstanceId.NotFound"},
		{"other vSwitch", withNetwork, "AssociateHaVip", havip("InstanceId", "i-other"), "InvalidParameter"},
		{"twice", bound, "AssociateHaVip", havip(), "InvalidParameter"},
		{"other type", bound, "AssociateHaVip", havip("InstanceType", "NetworkInterface", "InstanceId", "eni-1"), "InvalidParameter"},
		{"starting", starting, "AssociateHaVip", havip(), "IncorrectInstanceStatus"},
		{"not ready", busyNetwork, "UnassociateHaVip", havip(), "IncorrectHaVipStatus"},
		{"unknown", withNetwork, "UnassociateHaVip", havip("HaVipId", "havip-2"), "InvalidHaVipId.NotFound"},
		{"not bound", withNetwork, "UnassociateHaVip", havip(), "InvalidInstanceId.NotFound"},
		{"token", used(bound, "UnassociateHaVip", havip()...), "UnassociateHaVip", havip("InstanceId", "i-2", "ClientToken", "t"),
			"IdempotentParameterMismatch"},
		{"not ready", busyNetwork, "AssociateEipAddress", []string{"AllocationId", "eip-s", "InstanceId", "havip-1", "InstanceType", "HaVip"},
			"IncorrectHaVipStatus"},
		{"HaVip", func(c *apitest.Caller) {
			withNetwork(c)
			c.Cloud.HaVips["havip-1"].VSwitchID = "vsw-c"
		}, "DeleteVSwitch", []string{"VSwitchId", "vsw-c"}, "DependencyViolation.HaVip"},
		{"reservation", func(c *apitest.Caller) {
			withNetwork(c)
			c.Cloud.CidrReservations["vcr-1"].VSwitchID = "vsw-c"
		}, "DeleteVSwitch", []string{"VSwitchId", "vsw-c"}, "DependencyViolation"},

		{"unknown", withNetwork, "GetVpcPrefixListEntries", list("PrefixListId", "pl-2"), "ResourceNotFound.PrefixList"},
		{"unknown", withNetwork, "GetVpcPrefixListAssociations", list("PrefixListId", "pl-2"), "ResourceNotFound.PrefixList"},
		{"too many removed", withNetwork, "ModifyVpcPrefixList", list("RemovePrefixListEntry.1.Cidr", "10.0.0.0/8",
			"RemovePrefixListEntry.2.Cidr", "11.0.0.0/8"), "OperationDenied.RemoveCountExceedExistCount"},
		{"not in it", withNetwork, "ModifyVpcPrefixList", list("RemovePrefixListEntry.1.Cidr", "11.0.0.0/8"), "IllegalParam.CidrBlock"},
		{"routed", routed, "DeleteVpcPrefixList", list(), "DependencyViolation.PrefixListRelation"},
		{"unknown", withNetwork, "RetryVpcPrefixListAssociation", retry("PrefixListId", "pl-2"), "ResourceNotFound.PrefixList"},
		{"not ready", busyNetwork, "RetryVpcPrefixListAssociation", retry(), "IncorrectStatus.PrefixList"},
		{"none", withNetwork, "RetryVpcPrefixListAssociation", retry(), "ResourceNotFound.PrefixListAssociation"},
		{"dry run", routed, "RetryVpcPrefixListAssociation", retry("DryRun", "true"), "DryRunOperation"},
		{"token", used(routed, "RetryVpcPrefixListAssociation", retry()...), "RetryVpcPrefixListAssociation",
			retry("ResourceId", "vtb-2", "ClientToken", "t"), "IdempotentParameterMismatch"},
		{"no list", withNetwork, "CreateRouteEntry", []string{"RouteTableId", "vtb-1", "DestinationCidrBlock", "pl-2", "NextHopId", "i-1"},
			"ResourceNotFound.PrefixList"},
		{"several hops", withNetwork, "CreateRouteEntry", []string{"RouteTableId", "vtb-1", "DestinationCidrBlock", "pl-1",
			"NextHopList.1.NextHopId", "i-1", "NextHopList.2.NextHopId", "i-2"}, "UnsupportedFeature.CreatePrefixListEcmpRouteEntry"},

		{"unknown", withNetwork, "GetDhcpOptionsSet", set("dopt-3"), "InvalidDhcpOptionsSetId.NotFound"},
		{"attached", withNetwork, "DeleteDhcpOptionsSet", set("dopt-2"), "DependencyViolation.VpcAttachment"},
		{"has one", withNetwork, "AttachDhcpOptionsSetToVpc", set("dopt-1", "VpcId", "vpc-2"), "OperationFailed.AttachmentExist"},
		{"has none", withNetwork, "DetachDhcpOptionsSetFromVpc", set("dopt-1", "VpcId", "vpc-1"), "OperationFailed.AttachmentNotExist"},
		{"has another", withNetwork, "DetachDhcpOptionsSetFromVpc", set("dopt-1", "VpcId", "vpc-2"), "AttrMismatching.VpcDhcpOptionsSetId"},
		{"unknown", withNetwork, "DetachDhcpOptionsSetFromVpc", set("dopt-3", "VpcId", "vpc-2"), "InvalidDhcpOptionsSetId.NotFound"},
		{"not ready", busyNetwork, "DetachDhcpOptionsSetFromVpc", set("dopt-1", "VpcId", "vpc-2"), "IncorrectStatus.DhcpOptionsSet"},
		{"dry run", withNetwork, "DetachDhcpOptionsSetFromVpc", set("dopt-2", "VpcId", "vpc-2", "DryRun", "true"), "DryRunOperation"},
		{"token", used(attached, "DetachDhcpOptionsSetFromVpc", set("dopt-1", "VpcId", "vpc-1")...), "DetachDhcpOptionsSetFromVpc",
			set("dopt-2", "VpcId", "vpc-2", "ClientToken", "t"), "IdempotentParameterMismatch"},
		{"VPC gets one", func(c *apitest.Caller) {
			busyNetwork(c)
			delete(c.Cloud.VSwitches, "vsw-c")
			delete(c.Cloud.Instances, "i-other")
		}, "DeleteVpc", []string{"VpcId", "vpc-2"}, "IncorrectStatus.VpcDhcpStatus"},

		{"pending", pendingVSwitch, "CreateVSwitchCidrReservation", block("VSwitchCidrReservationMask", "28"), "IncorrectVSwitchStatus"},
		{"neither", withNetwork, "CreateVSwitchCidrReservation", block(), "InvalidParameter"},
		{"both", withNetwork, "CreateVSwitchCidrReservation", block("VSwitchCidrReservationMask", "28", "VSwitchCidrReservationCidr",
			"192.168.0.64/28"), "InvalidParameter"},
		{"too short", withNetwork, "CreateVSwitchCidrReservation", block("VSwitchCidrReservationMask", "24"), "InvalidParameter"},
		{"too long", withNetwork, "CreateVSwitchCidrReservation", block("VSwitchCidrReservationMask", "29"), "InvalidParameter"},
		{"no room", withNetwork, "CreateVSwitchCidrReservation", block("VSwitchCidrReservationMask", "25"), "InvalidParameter"},
		{"reserved", withNetwork, "CreateVSwitchCidrReservation", block("VSwitchCidrReservationCidr", "192.168.0.128/27"), "InvalidParameter"},
		{"in use", withNetwork, "CreateVSwitchCidrReservation", block("VSwitchCidrReservationCidr", "192.168.0.0/28"), "InvalidParameter"},
		{"elsewhere", withNetwork, "CreateVSwitchCidrReservation", block("VSwitchCidrReservationCidr", "192.168.1.0/28"), "InvalidParameter"},
		{"no IPv6", withNetwork, "CreateVSwitchCidrReservation", block("IpVersion", "IPv6", "VSwitchCidrReservationMask", "80"),
			"InvalidParameter"},
		{"prefixes", func(c *apitest.Caller) {
			withNetwork(c)
			c.Cloud.Interfaces["eni-1"].Ipv4Prefixes = []string{"192.168.0.128/28"}
		}, "DeleteVSwitchCidrReservation", []string{"VSwitchCidrReservationId", "vcr-1"}, "DependencyViolation.NetworkInterface"},

		{"no zone", withNetwork, "CreatePublicIpAddressPool", []string{"BizType", "CloudBox"}, "MissingParameter"},
		{"both", withNetwork, "AddPublicIpAddressPoolCidrBlock", pool("CidrBlock", "47.1.0.0/28", "CidrMask", "28"), "InvalidParameter"},
		{"private", withNetwork, "AddPublicIpAddressPoolCidrBlock", pool("CidrBlock", "10.0.0.0/28"), "InvalidParameter"},
		{"taken", withNetwork, "AddPublicIpAddressPoolCidrBlock", pool("CidrBlock", "47.65.0.0/28"), "InvalidParameter"},
		{"not in it", withNetwork, "DeletePublicIpAddressPoolCidrBlock", pool("CidrBlock", "47.65.0.0/28"), "InvalidParameter"},
		{"unknown", withNetwork, "ListPublicIpAddressPoolCidrBlocks", pool("PublicIpAddressPoolId", "pippool-2"),
			"ResourceNotFound.PublicIpAddressPool"},
		{"dry run", withNetwork, "ListPublicIpAddressPoolCidrBlocks", pool("DryRun", "true"), "DryRunOperation"},
		{"dry run", withNetwork, "ListPublicIpAddressPools", []string{"DryRun", "true"}, "DryRunOperation"},

		{"too many", func(c *apitest.Caller) { c.Settings.Quotas.Eips = 15 }, "AllocateEipSegmentAddress", []string{"EipMask", "28"},
			"QuotaExceeded.Eip"},
		{"no more blocks", func(c *apitest.Caller) {
			withNetwork(c)
			c.Cloud.AddressPools["pippool-1"].Blocks[0].Cidr = "47.64.0.0/10"
		}, "AllocateEipSegmentAddress", []string{"EipMask", "28"}, "InvalidParameter"},
		{"in use", eip(func(_ *apitest.Caller, e *state.Eip) { e.Status = "InUse" }), "ReleaseEipSegmentAddress",
			[]string{"SegmentInstanceId", "eipsg-1"}, "OperationFailed.EipStatusInvalid"},
		{"protected", eip(func(_ *apitest.Caller, e *state.Eip) { e.DeletionProtection = true }), "ReleaseEipSegmentAddress",
			[]string{"SegmentInstanceId", "eipsg-1"}, "InvalidOperation.DeletionProtection"},
		{"in a package", eip(func(c *apitest.Caller, e *state.Eip) {
			c.Cloud.BandwidthPackages["cbwp-1"] = &state.BandwidthPackage{ID: "cbwp-1", AllocationIDs: []string{e.ID}}
		}), "ReleaseEipSegmentAddress", []string{"SegmentInstanceId", "eipsg-1"}, "Forbidden.EipInBwp"},

		{"no table", withGateways, "ListGatewayRouteTableEntries", []string{"GatewayRouteTableId", "vtb-none"},
			"ResourceNotFound.GatewayRouteTable"},
		{"table of vSwitches", withGateways, "ListGatewayRouteTableEntries", []string{"GatewayRouteTableId", "vtb-1"},
			"ResourceNotFound.GatewayRouteTable"},
	}
	for _, action := range []string{"AttachDhcpOptionsSetToVpc", "DetachDhcpOptionsSetFromVpc"} {
		tests = append(tests, refusal{"no VPC", withNetwork, action, set("dopt-1", "VpcId", "vpc-none"), "InvalidVpcId.NotFound"},
			refusal{"VPC not ready", func(c *apitest.Caller) {
				busyNetwork(c)
				c.Cloud.DhcpOptionsSets["dopt-1"].Stage = state.Stage{Status: "Available"}
			}, action, set("dopt-1", "VpcId", "vpc-2"), "IncorrectStatus.VpcDhcpOptionsSet"})
	}
	for _, action := range []string{"AllocateEipAddress", "AllocateEipAddressPro"} {
		tests = append(tests, refusal{"not ready", busyNetwork, action, pool(), "IncorrectStatus.PublicIpAddressPool"},
			refusal{"no address", full, action, pool(), "ResourceNotEnough.PublicIpAddressPool"},
			refusal{"other address", withNetwork, action, pool("IpAddress", "47.65.0.9"), "Mismatch.IpAndPublicIpAddressPool"})
	}
	testRefusals(t, append(tests, prefixAndDhcpRefusals()...))
}

// prefixAndDhcpRefusals are those of blocks and options, which a creation and a change refuse alike.
func prefixAndDhcpRefusals() []refusal {
	var tests []refusal
	for action, name := range map[string]string{"CreateVpcPrefixList": "PrefixListEntries", "ModifyVpcPrefixList": "AddPrefixListEntry"} {
		with := func(more ...string) []string { return append([]string{"PrefixListId", "pl-1"}, more...) }
		one, two, three := name+".1.Cidr", name+".2.Cidr", name+".3.Cidr"
		tests = append(tests,
			refusal{"host bits", withNetwork, action, with(one, "10.1.2.3/8"), "IllegalParam.CidrBlock"},
			refusal{"other version", withNetwork, action, with(one, "2001:db8::/32"), "IllegalParam.CidrBlock"},
			refusal{"twice", withNetwork, action, with(one, "12.0.0.0/8", two, "12.0.0.0/8"), "DuplicatedParam.CidrBlock"},
			refusal{"text", withNetwork, action, with(one, "12.0.0.0/8", name+".1.Description", "http://x"), "IllegalParam.CidrName"},
			refusal{"too many", withNetwork, action, with("MaxEntries", "2", one, "12.0.0.0/8", two, "13.0.0.0/8", three, "14.0.0.0/8"),
				"OperationFailed.CidrCountExceedMaxCount"})
	}
	for _, action := range []string{"CreateDhcpOptionsSet", "UpdateDhcpOptionsSetAttribute"} {
		with := func(name, value string) []string { return []string{"DhcpOptionsSetId", "dopt-1", name, value} }
		for name, values := range map[string][]string{
			"DomainName": {"-x", "a b"}, "DomainNameServers": {"x", "1.1.1.1,1.1.1.2,1.1.1.3,1.1.1.4,1.1.1.5"},
			"LeaseTime": {"1", "23h", "1177h", "50d", "7301d", "99999999d"},
		} {
			for _, value := range values {
				tests = append(tests, refusal{name + " " + value, withNetwork, action, with(name, value), "IllegalParam." + name})
			}
		}
		tests = append(tests, refusal{"IPv6 lease", withNetwork, action, with("Ipv6LeaseTime", "0d"), "IllegalParam.LeaseTime"})
	}
	return tests
}

// Lists that are read on by a token refuse one that is none of theirs, and tags of filters that can't be, as the older ones do.
func TestListsOfNetworkRefuse(t *testing.T) {
	t.Parallel()
	var tests []refusal
	for action, params := range map[string][]string{
		"ListPrefixLists": nil, "GetVpcPrefixListEntries": {"PrefixListId", "pl-1"}, "GetVpcPrefixListAssociations": {"PrefixListId", "pl-1"},
		"ListDhcpOptionsSets": nil, "ListVSwitchCidrReservations": nil, "ListPublicIpAddressPools": nil,
		"ListPublicIpAddressPoolCidrBlocks": {"PublicIpAddressPoolId", "pippool-1"}, "ListGatewayRouteTableEntries": {"GatewayRouteTableId",
			"vtb-gw"},
	} {
		tests = append(tests, refusal{"token", func(c *apitest.Caller) { withNetwork(c); withGateways(c) }, action,
			append(params, "NextToken", "x"), "IllegalParam.NextToken"})
	}
	for _, action := range []string{"DescribeHaVips", "ListPrefixLists", "ListDhcpOptionsSets", "ListVSwitchCidrReservations",
		"ListPublicIpAddressPools"} {
		tests = append(tests, refusal{"key", nil, action, []string{"Tags.1.Key", "acs:x"}, "InvalidTagKey"},
			refusal{"value", nil, action, []string{"Tags.1.Key", "k", "Tags.1.Value", "http://x"}, "InvalidTagValue"})
	}
	testRefusals(t, tests)
}
