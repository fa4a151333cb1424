package ecs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// refuseInterfaces are the refusals of RunInstances that have to do with NetworkInterface.N and launch templates.
func refuseInterfaces(add func(want string, prepare func(*apitest.Caller), more ...string)) {
	first := func(pairs ...string) []string {
		for i := 0; i < len(pairs); i += 2 {
			pairs[i] = "NetworkInterface.1." + pairs[i]
		}
		return pairs
	}
	primary := func(pairs ...string) []string { return first(append([]string{"InstanceType", "Primary"}, pairs...)...) }
	free := func(c *apitest.Caller) {
		c.Cloud.Interfaces["eni-free"] = &state.NetworkInterface{ID: "eni-free", Type: "Secondary", Status: "Available", VpcID: "vpc-1",
			ZoneID: "cn-hangzhou-b", VSwitchID: "vsw-new", PrimaryIP: "192.168.9.1", PrivateIPs: []string{"192.168.9.1"}}
	}
	six := func(c *apitest.Caller) { c.Cloud.VSwitches["vsw-new"].Ipv6Cidr = "2408:4000:1:2::/64" }
	const conflict, wrong = "InvalidParameter.Conflict", "InvalidParam.NetworkInterface"

	add("InvalidLaunchTemplate.NotFound", nil, "LaunchTemplateId", "lt-1")
	add("InvalidLaunchTemplate.NotFound", nil, "LaunchTemplateName", "template")
	add("MissingParameter", nil, "LaunchTemplateVersion", "1")

	add("InvalidParameter", nil, first("InstanceType", "Tertiary")...)
	add("InvalidParameter", nil, first("Ipv6AddressCount", "11")...)
	add("InvalidParameter", nil, first("DeleteOnRelease", "perhaps")...)
	second := append(first("Description", "d"), "NetworkInterface.2.Description", "d")
	add("InvalidParameter", nil, append(slices.Clone(second), "NetworkInterface.3.Description", "d")...)
	add(wrong, nil, second...)
	add(wrong, nil, first("NetworkCardIndex", "1")...)
	add(wrong, nil, primary("NetworkInterfaceId", "eni-pod")...)
	add(wrong, nil, primary("DeleteOnRelease", "false")...)
	add("InvalidNetworkInterfaceName.Malformed", nil, first("NetworkInterfaceName", "1")...)
	add("InvalidDescription.Malformed", nil, primary("Description", "http://x")...)
	add(conflict, nil, first("SecurityGroupId", "sg-1", "SecurityGroupIds.1", "sg-2")...)
	add(conflict, nil, primary("VSwitchId", "vsw-new")...)
	add(conflict, nil, primary("SecurityGroupIds.1", "sg-2")...)
	add(conflict, nil, append(primary("PrimaryIpAddress", "192.168.9.2"), "PrivateIpAddress", "192.168.9.3")...)
	add(conflict, six, append(primary("Ipv6AddressCount", "1"), "Ipv6AddressCount", "1")...)
	add("InvalidPrivateIpAddress.Malformed", nil, primary("PrimaryIpAddress", "10.0.0.1")...)
	add("InvalidVSwitchId.NotFound", nil, append(primary("VSwitchId", "vsw-none"), "VSwitchId", "")...)

	add("InvalidVSwitchId.NotFound", nil, first("VSwitchId", "vsw-none")...)
	add("InvalidParameter.NotMatch", func(c *apitest.Caller) {
		c.Cloud.VSwitches["vsw-far"] = &state.VSwitch{ID: "vsw-far", VpcID: "vpc-1", ZoneID: "cn-hangzhou-c", CidrBlock: "192.168.10.0/29"}
	}, first("VSwitchId", "vsw-far")...)
	add("InvalidSecurityGroupId.NotFound", nil, first("SecurityGroupId", "sg-none")...)
	add("InvalidParameter.Mismatch", nil, first("SecurityGroupId", "sg-other")...)
	add(conflict, nil, append(first("PrimaryIpAddress", "192.168.9.2"), "Amount", "2")...)
	add("InvalidVSwitchId.IpInvalid", nil, first("PrimaryIpAddress", "10.0.0.1")...)
	add("InvalidIp.IpAssigned", nil, append(first("PrimaryIpAddress", "192.168.9.2"), "PrivateIpAddress", "192.168.9.2")...)
	add("InvalidVSwitchId.IpNotEnough", nil, append(first("Description", "d2"), "Amount", "3")...)
	add("InvalidVSwitch.Ipv6NotTurnOn", nil, first("Ipv6AddressCount", "1")...)
	add(conflict, six, append(first("Ipv6Address.1", "2408:4000:1:2::9"), "Amount", "2")...)

	add("InvalidEniId.NotFound", nil, first("NetworkInterfaceId", "eni-none")...)
	add("InvalidOperation.InvalidEniState", nil, first("NetworkInterfaceId", "eni-pod")...)
	add(conflict, free, first("NetworkInterfaceId", "eni-free", "VSwitchId", "vsw-new")...)
	add(conflict, free, first("NetworkInterfaceId", "eni-free", "SecurityGroupIds.1", "sg-1")...)
	add(conflict, free, append(first("NetworkInterfaceId", "eni-free"), "Amount", "2")...)
	add("InvalidParameter.NotMatch", func(c *apitest.Caller) {
		free(c)
		c.Cloud.Interfaces["eni-free"].ZoneID = "cn-hangzhou-c"
	}, first("NetworkInterfaceId", "eni-free")...)
}

// interfaces are those of the first instance of a launch, by their types.
func interfaces(t *testing.T, c *apitest.Caller, params ...string) map[string]*state.NetworkInterface {
	t.Helper()
	sets := c.Must("RunInstances", params...)["InstanceIdSets"].(map[string]any)["InstanceIdSet"].([]any)
	out := map[string]*state.NetworkInterface{}
	for _, eni := range c.Cloud.Interfaces {
		if eni.InstanceID == sets[0] {
			out[eni.Type] = eni
		}
	}
	return out
}

// What a call says of its interfaces is what they have.
func TestRunInstancesWithInterfaces(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareLaunch(c)
	c.Cloud.VSwitches["vsw-six"] = &state.VSwitch{ID: "vsw-six", VpcID: "vpc-1", ZoneID: "cn-hangzhou-b", CidrBlock: "192.168.11.0/24",
		Ipv6Cidr: "2408:4000:1:3::/64"}
	const one, two = "NetworkInterface.1.", "NetworkInterface.2."
	got := interfaces(t, c, launching("VSwitchId", "", "SecurityGroupId", "",
		one+"InstanceType", "Primary", one+"VSwitchId", "vsw-new", one+"SecurityGroupIds.1", "sg-1", one+"SecurityGroupIds.2", "sg-2",
		one+"PrimaryIpAddress", "192.168.9.3", one+"NetworkInterfaceName", "first", one+"QueueNumber", "2",
		two+"InstanceType", "Secondary", two+"VSwitchId", "vsw-six", two+"SecurityGroupId", "sg-2", two+"PrimaryIpAddress", "192.168.11.9",
		two+"Description", "second", two+"DeleteOnRelease", "false", two+"Ipv6AddressCount", "2",
		two+"NetworkInterfaceTrafficMode", "HighPerformance", two+"SourceDestCheck", "true")...)
	first, second := got["Primary"], got["Secondary"]
	if first == nil || second == nil {
		t.Fatalf("the interfaces are %v", got)
	}
	want := []any{"vsw-new", []string{"sg-1", "sg-2"}, "192.168.9.3", "first", 2, true, false}
	is := []any{first.VSwitchID, first.SecurityGroupIDs, first.PrimaryIP, first.Name, first.QueueNumber, first.SourceDestCheck,
		first.KeepOnRelease}
	if diff := cmp.Diff(want, is); diff != "" {
		t.Errorf("the primary one (-want +got):\n%s", diff)
	}
	want = []any{"vsw-six", []string{"sg-2"}, "192.168.11.9", "second", "HighPerformance", true, true,
		[]string{"2408:4000:1:3::1", "2408:4000:1:3::2"}}
	is = []any{second.VSwitchID, second.SecurityGroupIDs, second.PrimaryIP, second.Description, second.TrafficMode, second.SourceDestCheck,
		second.KeepOnRelease, second.Ipv6Addresses}
	if diff := cmp.Diff(want, is); diff != "" {
		t.Errorf("the secondary one (-want +got):\n%s", diff)
	}
	instance := c.Cloud.Instances[first.InstanceID]
	if instance.VSwitchID != "vsw-new" || !cmp.Equal(instance.SecurityGroupIDs, []string{"sg-1", "sg-2"}) ||
		instance.PrivateIPs[0] != "192.168.9.3" {
		t.Errorf("the instance is %+v", instance)
	}
	c.Must("DeleteInstance", "InstanceId", instance.ID, "Force", "true")
	if left := c.Cloud.Interfaces[second.ID]; left == nil || left.Status != "Available" || c.Cloud.Interfaces[first.ID] != nil {
		t.Errorf("of the interfaces are left: %v", c.Cloud.Interfaces)
	}
}

// A secondary interface is where the instance is if the call doesn't say; each instance has one of its own.
func TestRunInstancesWithSecondaryInterfaces(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareLaunch(c)
	second := interfaces(t, c, launching("Amount", "2", "NetworkInterface.1.NetworkInterfaceName", "more")...)["Secondary"]
	if second == nil || second.VSwitchID != "vsw-new" || !cmp.Equal(second.SecurityGroupIDs, []string{"sg-1"}) {
		t.Fatalf("the interface is %+v", second)
	}
	addresses := map[string]bool{}
	for _, eni := range c.Cloud.Interfaces {
		if strings.HasPrefix(eni.PrimaryIP, "192.168.9.") {
			addresses[eni.PrimaryIP] = true
		}
	}
	if len(addresses) != 4 {
		t.Errorf("four interfaces have the addresses %v", addresses)
	}
}

// An interface that is there can be the secondary one.
func TestRunInstancesTakesAnInterface(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareLaunch(c)
	id := c.Must("CreateNetworkInterface", "VSwitchId", "vsw-new", "SecurityGroupId", "sg-1")["NetworkInterfaceId"].(string)
	second := interfaces(t, c, launching("NetworkInterface.1.NetworkInterfaceId", id)...)["Secondary"]
	if second == nil || second.ID != id || second.Status != "InUse" {
		t.Errorf("the interface is %+v", second)
	}
}

// A rule may name the account's own number for a group of its own, and an owner without a group is nothing.
func TestRuleNamesTheOwner(t *testing.T) {
	t.Parallel()
	for _, a := range ruleActions()[:2] {
		c := newGroupCaller(t)
		c.Must(a.name, "SecurityGroupId", "sg-1", "IpProtocol", "tcp", "PortRange", "80/80", a.peer+"GroupId", "sg-2",
			a.peer+"GroupOwnerId", apitest.Account)
		c.Must(a.name, "SecurityGroupId", "sg-1", "Permissions.1.IpProtocol", "tcp", "Permissions.1.PortRange", "81/81",
			"Permissions.1."+a.peer+"CidrIp", "10.0.0.0/8", "Permissions.1."+a.peer+"GroupOwnerId", "1000000000000002")
		if _, code := c.Call(a.name, "SecurityGroupId", "sg-1", "Permissions.1.IpProtocol", "tcp", "Permissions.1.PortRange", "82/82",
			"Permissions.1."+a.peer+"GroupId", "sg-2", "Permissions.1."+a.peer+"GroupOwnerId",
			"1000000000000002"); code != "Invalid"+a.peer+"GroupId.NotFound" {
			t.Errorf("%s with a group of another account: %q", a.name, code)
		}
		if n := len(c.Cloud.SecurityGroups["sg-1"].Rules); n != 2 {
			t.Errorf("%d rules, want 2", n)
		}
	}
}
