package ecs_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// launching are the parameters of an instance in vsw-new of vpc-1, with others after them.
func launching(more ...string) []string {
	return append([]string{
		"ImageId", "aliyun_3_x64_20G_alibase_20260101.vhd", "InstanceType", "ecs.c7.large", "VSwitchId", "vsw-new", "SecurityGroupId", "sg-1",
	}, more...)
}

func prepareLaunch(c *apitest.Caller) {
	c.Cloud.VSwitches["vsw-new"] = &state.VSwitch{ID: "vsw-new", VpcID: "vpc-1", ZoneID: "cn-hangzhou-b", CidrBlock: "192.168.9.0/29"}
}

// Instances come up by the clock, each with its primary interface, an address and what was asked for; a repeated call makes none.
func TestRunInstances(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareLaunch(c)
	c.Settings.InstanceCreate, c.Settings.InstanceStart = 2*time.Second, 5*time.Second
	c.Cloud.KeyPairs["key"] = &state.KeyPair{ID: "key"}
	params := launching("Amount", "2", "InstanceName", "node", "HostName", "host", "UniqueSuffix", "true", "Tag.1.Key",
		"cluster", "Tag.1.Value", "c-1",
		"ClientToken", "t", "KeyPairName", "key", "InternetMaxBandwidthOut", "5", "DeletionProtection", "true",
		"SystemDisk.Category", "cloud_essd")
	sets := c.Must("RunInstances", params...)["InstanceIdSets"].(map[string]any)
	if diff := cmp.Diff(sets, c.Must("RunInstances", params...)["InstanceIdSets"]); diff != "" {
		t.Errorf("the repetition (-first +second):\n%s", diff)
	}
	describe := func(names ...string) string {
		answer := c.Must("DescribeInstances", "Tag.1.Key", "cluster")
		var out []string
		for _, name := range names {
			out = append(out, strings.Join(apitest.List(answer, name, "Instances", "Instance"), " "))
		}
		return strings.Join(out, " ")
	}
	for _, step := range []struct {
		pass time.Duration
		want string
	}{
		{0, "Pending Pending"}, {time.Second, "Pending Pending"}, {time.Second, "Starting Starting"}, {4 * time.Second, "Starting Starting"},
		{time.Second, "Running Running"},
	} {
		c.Pass(step.pass)
		if got := describe("Status"); got != step.want {
			t.Errorf("%s later: %s, want %s", step.pass, got, step.want)
		}
	}
	first := sets["InstanceIdSet"].([]any)[0].(string)
	i := c.Cloud.Instances[first]
	got := []any{i.Name, i.HostName, i.ZoneID, i.VpcID, i.KeyPairName, i.PrivateIPs[0], len(i.PublicIPs), i.DeletionProtection}
	if diff := cmp.Diff([]any{"node001", "host001", "cn-hangzhou-b", "vpc-1", "key", "192.168.9.1", 1, true}, got); diff != "" {
		t.Errorf("the first instance (-want +got):\n%s", diff)
	}
	if got := describe("InstanceTypeFamily", "ImageId"); got != "ecs.c7 ecs.c7 "+launching()[1]+" "+launching()[1] {
		t.Errorf("families and images: %s", got)
	}
	interfaces := c.Must("DescribeNetworkInterfaces", "InstanceId", first)
	if got := apitest.List(interfaces, "Type", "NetworkInterfaceSets", "NetworkInterfaceSet"); !cmp.Equal(got, []string{"Primary"}) {
		t.Errorf("interfaces %v", got)
	}
	instance := c.Must("DescribeInstances", "InstanceIds",
		fmt.Sprintf("[%q]", first))["Instances"].(map[string]any)["Instance"].([]any)[0].(map[string]any)
	if instance["Cpu"] != 2.0 || instance["Memory"] != 4096.0 || instance["InternetMaxBandwidthOut"] != 5.0 {
		t.Errorf("instance %v", instance)
	}
}

// Both transitions can end between two calls.
func TestRunInstancesIsRunningAMinuteLater(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareLaunch(c)
	c.Settings.InstanceCreate, c.Settings.InstanceStart = 2*time.Second, 5*time.Second
	sets := c.Must("RunInstances", launching("ImageId", "", "ImageFamily", "acs:ubuntu_24_04_x64")...)["InstanceIdSets"]
	id := sets.(map[string]any)["InstanceIdSet"].([]any)[0].(string)
	c.Pass(time.Minute)
	answer := c.Must("DescribeInstanceStatus", "InstanceId.1", id)
	if got := apitest.List(answer, "Status", "InstanceStatuses", "InstanceStatus"); !cmp.Equal(got, []string{"Running"}) {
		t.Errorf("statuses %v", got)
	}
	if i := c.Cloud.Instances[id]; i.Name != id || !strings.HasPrefix(i.HostName, "iZ") ||
		i.ImageID != "ubuntu_24_04_x64_20G_alibase_20260101.vhd" {
		t.Errorf("instance %+v", i)
	}
}

// A vSwitch of eight addresses has four for instances.
func TestRunInstancesTakesWhatThereIs(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareLaunch(c)
	if _, code := c.Call("RunInstances", launching("Amount", "5")...); code != "InvalidVSwitchId.IpNotEnough" {
		t.Errorf("five instances: %q", code)
	}
	sets := c.Must("RunInstances", launching("Amount", "5", "MinAmount", "2")...)["InstanceIdSets"].(map[string]any)
	if got := len(sets["InstanceIdSet"].([]any)); got != 4 {
		t.Errorf("%d instances, want 4", got)
	}
}

func TestRunInstancesRefusals(t *testing.T) {
	t.Parallel()
	const run = "RunInstances"
	var tests []refusal
	add := func(want string, prepare func(*apitest.Caller), more ...string) {
		name := strings.Join(more, " ")
		tests = append(tests, refusal{name[:min(len(name), 60)], func(c *apitest.Caller) {
			prepareLaunch(c)
			if prepare != nil {
				prepare(c)
			}
		}, run, launching(more...), want})
	}
	var tagged, groups []string
	for n := range 21 {
		tagged = append(tagged, fmt.Sprintf("Tag.%d.Key", n+1), fmt.Sprint(n))
	}
	for n := range 5 {
		groups = append(groups, "SecurityGroupIds."+strconv.Itoa(n+1), "sg-1")
	}
	add("MissingParameter", nil, "ImageId", "")
	add("MissingParameter", nil, "InstanceType", "")
	add("MissingParameter", nil, "VSwitchId", "")
	add("MissingParameter", nil, "SecurityGroupId", "")
	add("InvalidImageId.NotFound", nil, "ImageId", "m-none")
	add("InvalidInstanceType.ValueNotSupported", nil, "InstanceType", "ecs.none.large")
	add("ImageNotSupportInstanceType", nil, "InstanceType", "ecs.g8y.large")
	add("InvalidSystemDiskCategory.ValueNotSupported", nil, "SystemDisk.Category", "floppy")
	add("InvalidVSwitchId.NotFound", nil, "VSwitchId", "vsw-none")
	add("IncorrectVSwitchStatus", func(c *apitest.Caller) { c.Cloud.VSwitches["vsw-new"].PendingUntil = c.Now.Add(time.Second) })
	add("InvalidParameter.Mismatch", nil, "ZoneId", "cn-hangzhou-a")
	add("InvalidSecurityGroupId.NotFound", nil, "SecurityGroupId", "sg-none")
	add("InvalidParameter.Mismatch", nil, "SecurityGroupId", "sg-other")
	add("InvalidOperation.MultiGroupType", func(c *apitest.Caller) { c.Cloud.SecurityGroups["sg-2"].Type = "enterprise" },
		"SecurityGroupIds.1", "sg-2")
	add("JoinedGroupLimitExceed", nil, groups...)
	add("InvalidPrivateIpAddress.Malformed", nil, "PrivateIpAddress", "192.168.9.7")
	add("InvalidPrivateIpAddress.Malformed", nil, "PrivateIpAddress", "x")
	add("InvalidPrivateIpAddress.Duplicated", func(c *apitest.Caller) {
		c.Must(run, launching("PrivateIpAddress", "192.168.9.2")...)
	}, "PrivateIpAddress", "192.168.9.2")
	add("InvalidParameter", nil, "PrivateIpAddress", "192.168.9.2", "Amount", "2")
	add("InvalidParameter", nil, "MinAmount", "3", "Amount", "2")
	add("InvalidParameter", nil, "Amount", "101")
	add("InvalidInstanceName.Malformed", nil, "InstanceName", "1")
	add("InvalidDescription.Malformed", nil, "Description", "https://x")
	add("InvalidPassword.Malformed", nil, "Password", "short")
	add("InvalidTagKey.Malformed", nil, "Tag.1.Key", "acs:x")
	add("InvalidTagValue.Malformed", nil, "Tag.1.Key", "k", "Tag.1.Value", "http://x")
	add("Duplicate.TagKey", nil, "Tag.1.Key", "k", "Tag.2.Key", "k")
	add("QuotaExceed.Tags", nil, tagged...)
	add("IdempotentParameterMismatch", func(c *apitest.Caller) { c.Must(run, launching("ClientToken", "t")...) },
		"ClientToken", "t", "Amount", "2")
	add("DryRunOperation", nil, "DryRun", "true")
	add("InvalidUserData.Base64FormatInvalid", nil, "UserData", "#!")
	add("InvalidUserData.SizeExceeded", nil, "UserData", strings.Repeat("AAAA", 11000))
	add("InvalidKeyPairName.NotFound", nil, "KeyPairName", "none")
	add("InvalidDeploymentSetId.NotFound", nil, "DeploymentSetId", "ds-none")
	add("InvalidSystemDiskSize.ValueNotSupported", nil, "SystemDisk.Size", "5")
	add("InvalidPerformanceLevel.Malformed", nil, "SystemDisk.PerformanceLevel", "PL9")
	add("InvalidDataDiskCategory.ValueNotSupported", nil, "DataDisk.1.Category", "floppy", "DataDisk.1.Size", "20")
	add("InvalidDataDiskSize.ValueNotSupported", nil, "DataDisk.1.Size", "many")
	add("InvalidSnapshotId.NotFound", nil, "DataDisk.1.SnapshotId", "s-none")
	six := func(c *apitest.Caller) { c.Cloud.VSwitches["vsw-new"].Ipv6Cidr = "2408:4000:1:2::/64" }
	add("InvalidVSwitch.Ipv6NotTurnOn", nil, "Ipv6AddressCount", "1")
	add("InvalidIp.Address", six, "Ipv6Address.1", "2408::1")
	add("InvalidIp.IpRepeated", six, "Ipv6Address.1", "2408:4000:1:2::1", "Ipv6Address.2", "2408:4000:1:2::1")
	add("InvalidIp.IpAssigned", func(c *apitest.Caller) {
		six(c)
		c.Must(run, launching("Ipv6AddressCount", "1")...)
	}, "Ipv6Address.1", "2408:4000:1:2::1")
	add("InvalidParameter.Conflict", six, "Ipv6Address.1", "2408:4000:1:2::1", "Ipv6AddressCount", "1")
	add("InvalidOperation.Ipv6CountExceeded", six, "Ipv6AddressCount", "7")
	refuseInterfaces(add)
	testRefusals(t, tests)
}
