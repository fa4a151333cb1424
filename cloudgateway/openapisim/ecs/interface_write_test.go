package ecs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// creating are the parameters of an interface in vsw-new, which has IPv6, with others after them.
func creating(more ...string) []string {
	return append([]string{"VSwitchId", "vsw-new", "SecurityGroupId", "sg-1"}, more...)
}

// prepareInterfaces makes the vSwitch vsw-new, the free interface eni-free in it, and the instance i-new in its zone, of a type with
// three interfaces of six addresses.
func prepareInterfaces(c *apitest.Caller) {
	c.Cloud.VSwitches["vsw-new"] = &state.VSwitch{
		ID: "vsw-new", VpcID: "vpc-1", ZoneID: "z-a", CidrBlock: "192.168.8.0/24", Ipv6Cidr: "2408:4000:1:2::/64",
	}
	c.Cloud.Interfaces["eni-free"] = &state.NetworkInterface{
		ID: "eni-free", Type: "Secondary", Status: "Available", VpcID: "vpc-1", VSwitchID: "vsw-new", ZoneID: "z-a",
		PrimaryIP: "192.168.8.9", PrivateIPs: []string{"192.168.8.9"}, SecurityGroupIDs: []string{"sg-1"},
	}
	c.Cloud.Instances["i-new"] = &state.Instance{
		ID: "i-new", Status: "Running", InstanceType: "ecs.c7.large", VpcID: "vpc-1", VSwitchID: "vsw-new", ZoneID: "z-a",
		SecurityGroupIDs: []string{"sg-1"},
	}
}

// describeInterface returns an interface as DescribeNetworkInterfaces shows it.
func describeInterface(t *testing.T, c *apitest.Caller, id string) map[string]any {
	t.Helper()
	answer := c.Must("DescribeNetworkInterfaces", "NetworkInterfaceId.1", id)
	list := answer["NetworkInterfaceSets"].(map[string]any)["NetworkInterfaceSet"].([]any)
	if len(list) == 0 {
		return map[string]any{}
	}
	return list[0].(map[string]any)
}

// An interface goes through the states that clients wait for (ECS documents: Creating, Available, Attaching, InUse, Detaching), as Terway
// and Terraform's alicloud_ecs_network_interface call for it.
func TestInterfaceLife(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareInterfaces(c)
	c.Settings.InterfaceChange = time.Second
	params := creating("PrimaryIpAddress", "192.168.8.20", "SecondaryPrivateIpAddressCount", "2", "Ipv6AddressCount", "1",
		"NetworkInterfaceName", "pods", "Description", "of the cluster", "Tag.1.Key", "k", "Tag.1.Value", "v", "ClientToken", "t",
		"QueueNumber", "1", "ResourceGroupId", "rg-1")
	created := c.Must("CreateNetworkInterface", params...)
	id := created["NetworkInterfaceId"].(string)
	if again := c.Must("CreateNetworkInterface", params...)["NetworkInterfaceId"]; again != id {
		t.Errorf("the repetition made %v", again)
	}
	expect := func(status, instance string) {
		t.Helper()
		got := describeInterface(t, c, id)
		if got["Status"] != status || got["InstanceId"] != instance {
			t.Errorf("it is %v at %q, want %s at %q", got["Status"], got["InstanceId"], status, instance)
		}
	}
	attachment := []string{"NetworkInterfaceId", id, "InstanceId", "i-new"}
	expect("Creating", "")
	if _, code := c.Call("AttachNetworkInterface", attachment...); code != "InvalidOperation.InvalidEniState" {
		t.Errorf("attached while it is made: %q", code)
	}
	c.Pass(time.Second)
	expect("Available", "")
	c.Must("AttachNetworkInterface", attachment...)
	expect("Attaching", "i-new")
	c.Pass(time.Second)
	expect("InUse", "i-new")
	got := c.Must("DescribeNetworkInterfaceAttribute", "NetworkInterfaceId", id)
	for name, want := range map[string]any{
		"PrivateIpAddress": "192.168.8.20", "NetworkInterfaceName": "pods", "Description": "of the cluster", "QueueNumber": 1.0,
		"ResourceGroupId": "rg-1", "Type": "Secondary", "VpcId": "vpc-1", "ZoneId": "z-a", "NetworkInterfaceTrafficMode": "Standard",
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	ips := apitest.List(got, "PrivateIpAddress", "PrivateIpSets", "PrivateIpSet")
	if diff := cmp.Diff([]string{"192.168.8.20", "192.168.8.1", "192.168.8.2"}, ips); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	if ips := apitest.List(got, "Ipv6Address", "Ipv6Sets", "Ipv6Set"); !cmp.Equal(ips, []string{"2408:4000:1:2::1"}) {
		t.Errorf("IPv6 addresses %v", ips)
	}
	for action, want := range map[string]string{
		"AttachNetworkInterface": "InvalidOperation.InvalidEniState", "DeleteNetworkInterface": "InvalidOperation.InvalidEniState",
	} {
		if _, code := c.Call(action, attachment...); code != want {
			t.Errorf("%s of an attached one: %q, want %s", action, code, want)
		}
	}
	c.Must("DetachNetworkInterface", attachment...)
	expect("Detaching", "i-new")
	c.Pass(time.Second)
	expect("Available", "")
	c.Cloud.Eips["eip-2"] = &state.Eip{ID: "eip-2", Address: "121.40.0.2", Status: "InUse", InstanceID: id, InstanceType: "NetworkInterface"}
	if public := describeInterface(t, c, id)["AssociatedPublicIp"].(map[string]any); public["AllocationId"] != "eip-2" {
		t.Errorf("public address %v", public)
	}
	c.Must("DeleteNetworkInterface", "NetworkInterfaceId", id)
	if got := describeInterface(t, c, id); len(got) > 0 {
		t.Errorf("it is still there: %v", got)
	}
	if eip := c.Cloud.Eips["eip-2"]; eip.Status != "Available" || eip.InstanceID != "" {
		t.Errorf("its elastic address is %+v", eip)
	}
	if again := c.Must("CreateNetworkInterface", params...)["NetworkInterfaceId"]; again != id {
		t.Errorf("the repetition after the deletion made %v", again)
	}
}

// What is a backend server leaves the groups of load balancers when it is deleted.
func TestDeletedInterfaceLeavesItsGroups(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareInterfaces(c)
	c.Cloud.ServerGroups["rsp-1"] = &state.ServerGroup{ID: "rsp-1", Servers: []*state.Server{{Type: "eni", ServerID: "eni-free"}}}
	c.Must("DeleteNetworkInterface", "NetworkInterfaceId", "eni-free")
	if servers := c.Cloud.ServerGroups["rsp-1"].Servers; len(servers) != 0 {
		t.Errorf("servers %v", servers)
	}
}

// An instance takes the interfaces and addresses that its type has room for; DescribeInstanceTypes says how many.
func TestInterfaceLimits(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareInterfaces(c)
	attach := func(more ...string) string {
		id := c.Must("CreateNetworkInterface", creating(more...)...)["NetworkInterfaceId"].(string)
		_, code := c.Call("AttachNetworkInterface", "NetworkInterfaceId", id, "InstanceId", "i-new")
		return code
	}
	if code := attach("SecondaryPrivateIpAddressCount", "6"); code != "InvalidOperation.Ipv4CountExceeded" {
		t.Errorf("seven addresses: %q", code)
	}
	if code := attach("Ipv6AddressCount", "7"); code != "InvalidOperation.Ipv6CountExceeded" {
		t.Errorf("seven IPv6 addresses: %q", code)
	}
	for n, want := range []string{"", "", "", "EniPerInstanceLimitExceeded"} { // the test's instance has no primary one
		if code := attach(); code != want {
			t.Errorf("interface %d: %q, want %q", n+1, code, want)
		}
	}
	id := c.Must("DescribeNetworkInterfaces", "InstanceId", "i-new")
	first := apitest.List(id, "NetworkInterfaceId", "NetworkInterfaceSets", "NetworkInterfaceSet")[0]
	c.Must("AssignPrivateIpAddresses", "NetworkInterfaceId", first, "SecondaryPrivateIpAddressCount", "5")
	if _, code := c.Call("AssignPrivateIpAddresses", "NetworkInterfaceId", first, "SecondaryPrivateIpAddressCount",
		"1"); code != "InvalidOperation.Ipv4CountExceeded" {
		t.Errorf("a seventh address: %q", code)
	}
	if _, code := c.Call("AssignIpv6Addresses", "NetworkInterfaceId", first, "Ipv6AddressCount",
		"7"); code != "InvalidOperation.Ipv6CountExceeded" {
		t.Errorf("seven IPv6 addresses: %q", code)
	}
	// Those that are attached to nothing can have 50.
	c.Must("AssignPrivateIpAddresses", "NetworkInterfaceId", "eni-free", "SecondaryPrivateIpAddressCount", "49")
}

// Addresses and prefixes are assigned once, shown in the answer, which a repeated token gets again, and unassigned.
func TestInterfaceAddresses(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareInterfaces(c)
	of := func(more ...string) []string { return append([]string{"NetworkInterfaceId", "eni-free"}, more...) }
	texts := func(list any) []string {
		var out []string
		for _, item := range list.([]any) {
			out = append(out, item.(string))
		}
		return out
	}
	two := of("SecondaryPrivateIpAddressCount", "2", "ClientToken", "t")
	answer := c.Must("AssignPrivateIpAddresses", two...)
	if diff := cmp.Diff(answer, c.Must("AssignPrivateIpAddresses", two...)); diff != "" {
		t.Errorf("the repetition (-first +second):\n%s", diff)
	}
	set := answer["AssignedPrivateIpAddressesSet"].(map[string]any)
	given := texts(set["PrivateIpSet"].(map[string]any)["PrivateIpAddress"])
	if diff := cmp.Diff([]string{"192.168.8.1", "192.168.8.2"}, given); diff != "" || set["NetworkInterfaceId"] != "eni-free" {
		t.Errorf("assigned to %v (-want +got):\n%s", set["NetworkInterfaceId"], diff)
	}
	answer = c.Must("AssignPrivateIpAddresses", of("Ipv4PrefixCount", "1")...)
	set = answer["AssignedPrivateIpAddressesSet"].(map[string]any)["Ipv4PrefixSet"].(map[string]any)
	if got := texts(set["Ipv4Prefixes"]); !cmp.Equal(got, []string{"192.168.8.16/28"}) { // the first one has addresses in use
		t.Errorf("prefixes %v", got)
	}
	if _, code := c.Call("AssignPrivateIpAddresses", of("PrivateIpAddress.1", "192.168.8.17")...); code != "InvalidIp.IpAssigned" {
		t.Errorf("an address of the prefix: %q", code)
	}
	c.Must("AssignPrivateIpAddresses", of("Ipv4Prefix.1", "192.168.8.32/28", "PrivateIpAddress.1", "192.168.8.60")...)
	answer = c.Must("AssignIpv6Addresses", of("Ipv6AddressCount", "1", "Ipv6PrefixCount", "1")...)
	six := texts(answer["Ipv6Sets"].(map[string]any)["Ipv6Address"])
	prefixes := texts(answer["Ipv6PrefixSets"].(map[string]any)["Ipv6Prefix"])
	if !cmp.Equal(six, []string{"2408:4000:1:2::1"}) || !cmp.Equal(prefixes, []string{"2408:4000:1:2:1::/80"}) {
		t.Errorf("IPv6 addresses %v, prefixes %v", six, prefixes)
	}
	c.Must("AssignIpv6Addresses", of("Ipv6Address.1", "2408:4000:1:2::f", "Ipv6Prefix.1", "2408:4000:1:2:f::/80")...)
	if _, code := c.Call("AssignIpv6Addresses", of("Ipv6Prefix.1", "2408:4000:1:2:f::/80")...); code != "InvalidIp.IpAssigned" {
		t.Errorf("the prefix again: %q", code)
	}
	c.Must("UnassignPrivateIpAddresses", of("PrivateIpAddress.1", "192.168.8.1", "Ipv4Prefix.1", "192.168.8.16/28")...)
	c.Must("UnassignIpv6Addresses", of("Ipv6Address.1", six[0], "Ipv6Prefix.1", prefixes[0])...)
	eni := c.Cloud.Interfaces["eni-free"]
	got := []any{eni.PrivateIPs, eni.Ipv4Prefixes, eni.Ipv6Addresses, eni.Ipv6Prefixes}
	want := []any{
		[]string{"192.168.8.9", "192.168.8.2", "192.168.8.60"}, []string{"192.168.8.32/28"}, []string{"2408:4000:1:2::f"},
		[]string{"2408:4000:1:2:f::/80"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// The codes are those of the documents' tables of these actions.
func TestInterfaceRefusals(t *testing.T) {
	t.Parallel()
	var tests []refusal
	add := func(action, want string, prepare func(*apitest.Caller), params ...string) {
		name := strings.Join(append([]string{want}, params...), " ")
		tests = append(tests, refusal{name[:min(len(name), 80)], func(c *apitest.Caller) {
			prepareInterfaces(c)
			if prepare != nil {
				prepare(c)
			}
		}, action, params, want})
	}
	of := func(id string, more ...string) []string { return append([]string{"NetworkInterfaceId", id}, more...) }
	with := func(change func(eni *state.NetworkInterface, i *state.Instance)) func(*apitest.Caller) {
		return func(c *apitest.Caller) { change(c.Cloud.Interfaces["eni-free"], c.Cloud.Instances["i-new"]) }
	}

	const create = "CreateNetworkInterface"
	var tagged, groups []string
	for n := range 21 {
		tagged = append(tagged, fmt.Sprintf("Tag.%d.Key", n+1), fmt.Sprint(n))
	}
	for n := range 6 {
		groups = append(groups, fmt.Sprintf("SecurityGroupIds.%d", n+1), "sg-1")
	}
	for _, tt := range [][]string{
		{"InvalidVSwitchId.NotFound", "VSwitchId", "vsw-none"},
		{"MissingParameter", "SecurityGroupId", ""},
		{"InvalidSecurityGroupId.NotFound", "SecurityGroupId", "sg-none"},
		{"InvalidOperation.VpcMismatch", "SecurityGroupId", "sg-other"},
		{"InvalidParameter.Conflict", "SecurityGroupIds.1", "sg-1"},
		{"InvalidParameter.Conflict", "PrivateIpAddress.1", "192.168.8.3", "SecondaryPrivateIpAddressCount", "1"},
		{"InvalidVSwitchId.IpInvalid", "PrimaryIpAddress", "10.0.0.1"},
		{"InvalidIp.IpAssigned", "PrimaryIpAddress", "192.168.8.9"},
		{"InvalidIp.IpRepeated", "PrivateIpAddress.1", "192.168.8.3", "PrivateIpAddress.2", "192.168.8.3"},
		{"InvalidIp.Address", "Ipv6Address.1", "2408::9"},
		{"InvalidNetworkInterfaceName.Malformed", "NetworkInterfaceName", "1"},
		{"InvalidDescription.Malformed", "Description", "http://x"},
		{"InvalidTagKey.Malformed", "Tag.1.Key", "acs:x"},
		{"InvalidTagValue.Malformed", "Tag.1.Key", "k", "Tag.1.Value", "http://x"},
		{"Duplicate.TagKey", "Tag.1.Key", "k", "Tag.2.Key", "k"},
		{"InvalidParameter", "QueueNumber", "0"},
		append([]string{"QuotaExceed.Tags"}, tagged...),
		append([]string{"JoinedGroupLimitExceed", "SecurityGroupId", ""}, groups...),
	} {
		add(create, tt[0], nil, creating(tt[1:]...)...)
	}
	add(create, "InvalidOperation.MultiGroupType", func(c *apitest.Caller) { c.Cloud.SecurityGroups["sg-2"].Type = "enterprise" },
		creating("SecurityGroupId", "", "SecurityGroupIds.1", "sg-1", "SecurityGroupIds.2", "sg-2")...)
	add(create, "IncorrectVSwitchStatus", func(c *apitest.Caller) {
		c.Cloud.VSwitches["vsw-new"].PendingUntil = c.Now.Add(time.Hour)
	}, creating()...)
	add(create, "InvalidVSwitchId.IpNotEnough", func(c *apitest.Caller) { c.Cloud.VSwitches["vsw-new"].CidrBlock = "192.168.9.0/29" },
		creating("SecondaryPrivateIpAddressCount", "4")...)
	add(create, "InvalidVSwitch.Ipv6NotTurnOn", func(c *apitest.Caller) { c.Cloud.VSwitches["vsw-new"].Ipv6Cidr = "" },
		creating("Ipv6AddressCount", "1")...)
	add(create, "IdempotentParameterMismatch", func(c *apitest.Caller) { c.Must(create, creating("ClientToken", "t")...) },
		creating("ClientToken", "t", "Description", "other")...)

	for _, action := range []string{"AttachNetworkInterface", "DetachNetworkInterface"} {
		add(action, "InvalidEniId.NotFound", nil, of("eni-none", "InstanceId", "i-new")...)
		add(action, "InvalidEcsId.NotFound", nil, of("eni-free", "InstanceId", "i-none")...)
	}
	attach := of("eni-free", "InstanceId", "i-new")
	add("AttachNetworkInterface", "InvalidOperation.InvalidEniType", nil, of("eni-i-1", "InstanceId", "i-new")...)
	add("AttachNetworkInterface", "InvalidOperation.InvalidEcsState", with(func(_ *state.NetworkInterface, i *state.Instance) {
		i.Status = "Starting"
	}), attach...)
	add("AttachNetworkInterface", "InvalidOperation.AvailabilityZoneMismatch", with(func(_ *state.NetworkInterface, i *state.Instance) {
		i.ZoneID = "z-b"
	}), attach...)
	add("AttachNetworkInterface", "InvalidOperation.VpcMismatch", with(func(_ *state.NetworkInterface, i *state.Instance) {
		i.VpcID = "vpc-2"
	}), attach...)
	add("DetachNetworkInterface", "InvalidOperation.InvalidEniState", nil, attach...)
	add("DetachNetworkInterface", "InvalidOperation.DetachPrimaryEniNotAllowed", nil, of("eni-i-1", "InstanceId", "i-1")...)
	add("DetachNetworkInterface", "InvalidOperation.InvalidEcsState", func(c *apitest.Caller) {
		c.Cloud.Instances["i-1"].Status = "Stopping"
	}, of("eni-pod", "InstanceId", "i-1")...)
	add("DeleteNetworkInterface", "InvalidEniId.NotFound", nil, of("eni-none")...)
	add("DeleteNetworkInterface", "InvalidOperation.InvalidEniType", nil, of("eni-i-1")...)
	add("DescribeNetworkInterfaceAttribute", "InvalidEniId.NotFound", nil, of("eni-none")...)
	add("ModifyNetworkInterfaceAttribute", "InvalidNetworkInterfaceName.Malformed", nil, of("eni-free", "NetworkInterfaceName", "1")...)
	add("ModifyNetworkInterfaceAttribute", "InvalidDescription.Malformed", nil, of("eni-free", "Description", "https://x")...)

	detached := with(func(eni *state.NetworkInterface, _ *state.Instance) { eni.Status = "Detaching" })
	stoppingInstance := func(c *apitest.Caller) { c.Cloud.Instances["i-1"].Status = "Stopping" }
	for action, one := range map[string][]string{
		"AssignPrivateIpAddresses": {"SecondaryPrivateIpAddressCount", "1"}, "AssignIpv6Addresses": {"Ipv6AddressCount", "1"},
		"UnassignPrivateIpAddresses": {"PrivateIpAddress.1", "192.168.8.77"}, "UnassignIpv6Addresses": {"Ipv6Address.1", "2408::77"},
	} {
		add(action, "InvalidEniId.NotFound", nil, of("eni-none", one...)...)
		add(action, "InvalidOperation.InvalidEniState", detached, of("eni-free", one...)...)
		add(action, "InvalidOperation.InvalidEcsState", stoppingInstance, of("eni-i-1", one...)...)
		add(action, "MissingParameter", nil, of("eni-free")...)
		if strings.HasPrefix(action, "Unassign") {
			add(action, "InvalidIp.IpUnassigned", nil, of("eni-free", one...)...)
			continue
		}
		first := of("eni-free", append([]string{"ClientToken", "t"}, one...)...)
		add(action, "IdempotentParameterMismatch", func(c *apitest.Caller) { c.Must(action, first...) }, append(first, one[0], "2")...)
	}
	add("UnassignPrivateIpAddresses", "InvalidIp.PrimaryIp", nil, of("eni-free", "PrivateIpAddress.1", "192.168.8.9")...)
	const four, six = "AssignPrivateIpAddresses", "AssignIpv6Addresses"
	add(four, "InvalidParameter.Conflict", nil, of("eni-free", "PrivateIpAddress.1", "192.168.8.3", "SecondaryPrivateIpAddressCount", "1")...)
	add(four, "InvalidIp.IpRepeated", nil, of("eni-free", "PrivateIpAddress.1", "192.168.8.3", "PrivateIpAddress.2", "192.168.8.3")...)
	add(four, "InvalidVSwitchId.IpInvalid", nil, of("eni-free", "Ipv4Prefix.1", "192.168.8.0/24")...)
	add(four, "InvalidIp.IpAssigned", nil, of("eni-free", "Ipv4Prefix.1", "192.168.8.0/28")...)
	add(four, "InvalidVSwitchId.IpNotEnough", func(c *apitest.Caller) { c.Cloud.VSwitches["vsw-new"].CidrBlock = "192.168.8.0/28" },
		of("eni-free", "Ipv4PrefixCount", "1")...)
	add(six, "InvalidParameter.Conflict", nil, of("eni-free", "Ipv6Address.1", "2408:4000:1:2::3", "Ipv6AddressCount", "1")...)
	add(six, "InvalidIp.IpRepeated", nil,
		of("eni-free", "Ipv6Address.1", "2408:4000:1:2::3", "Ipv6Address.2", "2408:4000:1:2::3")...)
	add(six, "InvalidIp.Address", nil, of("eni-free", "Ipv6Prefix.1", "2408:4000:1:2::/96")...)
	add(six, "InvalidVSwitch.Ipv6NotTurnOn", func(c *apitest.Caller) { c.Cloud.VSwitches["vsw-new"].Ipv6Cidr = "" },
		of("eni-free", "Ipv6PrefixCount", "1")...)
	testRefusals(t, tests)
}
