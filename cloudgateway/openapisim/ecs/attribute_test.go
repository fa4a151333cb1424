package ecs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// at walks through an answer by names, and into the first item of lists.
func at(answer any, path ...string) any {
	for _, step := range path {
		if list, ok := answer.([]any); ok {
			if len(list) == 0 {
				return nil
			}
			answer = list[0]
		}
		object, _ := answer.(map[string]any)
		answer = object[step]
	}
	return answer
}

// What Terraform's alicloud_instance sets when it makes an instance is what it reads back, by the calls that it makes.
func TestInstanceReadsBackWhatWasSet(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareLaunch(c)
	c.Cloud.VSwitches["vsw-new"].Ipv6Cidr = "2408:4000:1:2::/64"
	c.Must("CreateKeyPair", "KeyPairName", "key")
	made := c.Must("CreateDeploymentSet", "DeploymentSetName", "spread", "Strategy", "Availability", "ClientToken", "t")
	set := made["DeploymentSetId"].(string)
	sets := c.Must("RunInstances", launching("UserData", "I2Nsb3VkLWNvbmZpZw==", "RamRoleName", "role", "SpotStrategy", "SpotWithPriceLimit",
		"SpotPriceLimit", "1.5", "SpotDuration", "1", "CreditSpecification", "Unlimited", "AutoReleaseTime", "2026-05-01T00:00:00Z",
		"HttpEndpoint", "enabled", "HttpTokens", "required", "HttpPutResponseHopLimit", "2", "InternetMaxBandwidthIn", "50",
		"KeyPairName", "key", "DeploymentSetId", set, "Ipv6AddressCount", "1", "ImageOptions.LoginAsNonRoot", "true",
		"NetworkOptions.EnableJumboFrame", "true")...)["InstanceIdSets"]
	id := at(sets, "InstanceIdSet").([]any)[0].(string)
	instance := at(c.Must("DescribeInstances", "InstanceIds", `["`+id+`"]`), "Instances", "Instance").([]any)[0]
	for path, want := range map[string]any{
		"SpotPriceLimit": 1.5, "SpotDuration": 1.0, "CreditSpecification": "Unlimited", "AutoReleaseTime": "2026-05-01T00:00:00Z",
		"MetadataOptions HttpEndpoint": "enabled", "MetadataOptions HttpTokens": "required", "MetadataOptions HttpPutResponseHopLimit": 2.0,
		"InternetMaxBandwidthIn": 50.0, "KeyPairName": "key", "DeploymentSetId": set, "ImageOptions LoginAsNonRoot": true,
		"OSName": "Alibaba Cloud Linux 3.2104 LTS", "DedicatedHostAttribute DedicatedHostId": "",
		"NetworkInterfaces NetworkInterface Ipv6Sets Ipv6Set Ipv6Address": "2408:4000:1:2::1",
	} {
		if got := at(instance, strings.Fields(path)...); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if got := c.Must("DescribeUserData", "InstanceId", id)["UserData"]; got != "I2Nsb3VkLWNvbmZpZw==" {
		t.Errorf("user data %v", got)
	}
	roles := c.Must("DescribeInstanceRamRole", "InstanceIds", `["`+id+`"]`)
	if got := apitest.List(roles, "RamRoleName", "InstanceRamRoleSets", "InstanceRamRoleSet"); !cmp.Equal(got, []string{"role"}) {
		t.Errorf("roles %v", got)
	}
	if got := c.Must("DescribeInstanceRamRole")["TotalCount"]; got != 1.0 {
		t.Errorf("%v instances have a role, want 1", got)
	}
	if got := c.Must("DescribeInstanceAttribute", "InstanceId", id); got["EnableJumboFrame"] != true || got["InstanceId"] != id {
		t.Errorf("attribute %v", got)
	}
	maintenance := c.Must("DescribeInstanceMaintenanceAttributes", "InstanceId.1", id)
	if got := at(maintenance, "MaintenanceAttributes", "MaintenanceAttribute", "ActionOnMaintenance", "Value"); got != "AutoRecover" {
		t.Errorf("maintenance %v", maintenance)
	}
	c.Must("ModifyInstanceMaintenanceAttributes", "InstanceId.1", id, "ActionOnMaintenance", "Stop", "NotifyOnMaintenance", "true",
		"MaintenanceWindow.1.StartTime", "02:00:00Z", "MaintenanceWindow.1.EndTime", "06:00:00Z")
	maintenance = c.Must("DescribeInstanceMaintenanceAttributes", "InstanceId.1", id)
	of := at(maintenance, "MaintenanceAttributes", "MaintenanceAttribute").([]any)[0]
	got := []any{
		at(of, "ActionOnMaintenance", "Value"), at(of, "NotifyOnMaintenance"),
		at(of, "MaintenanceWindows", "MaintenanceWindow", "StartTime"), at(of, "MaintenanceWindows", "MaintenanceWindow", "EndTime"),
	}
	if diff := cmp.Diff([]any{"Stop", true, "02:00:00Z", "06:00:00Z"}, got); diff != "" {
		t.Errorf("maintenance (-want +got):\n%s", diff)
	}
	deployment := c.Must("DescribeDeploymentSets", "DeploymentSetIds", `["`+set+`"]`)
	if got := at(deployment, "DeploymentSets", "DeploymentSet", "InstanceAmount"); got != 1.0 {
		t.Errorf("deployment set %v", deployment)
	}
	c.Must("ModifyDeploymentSetAttribute", "DeploymentSetId", set, "DeploymentSetName", "wide", "Description", "text")
	c.Must("ModifyInstanceDeployment", "InstanceId", id, "DeploymentSetId", set, "RemoveFromDeploymentSet", "true")
	c.Must("DeleteDeploymentSet", "DeploymentSetId", set)
	for _, action := range []string{"DescribeDedicatedHosts", "DescribeElasticityAssurances"} {
		if got := c.Must(action)["TotalCount"]; got != 0.0 {
			t.Errorf("%s: %v", action, got)
		}
	}
	types := c.Must("DescribeImageSupportInstanceTypes", "ImageId", "ubuntu_24_04_arm64_20G_alibase_20260101.vhd")
	for _, name := range apitest.List(types, "InstanceTypeFamily", "InstanceTypes", "InstanceType") {
		if name != "ecs.g8y" {
			t.Errorf("an image for ARM runs on %s", name)
		}
	}
}

// What Terraform changes of an instance is what it reads back.
func TestInstanceChanges(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareLaunch(c)
	// i-2 is stopped, in z-a.
	c.Cloud.VSwitches["vsw-a"] = &state.VSwitch{ID: "vsw-a", VpcID: "vpc-1", ZoneID: "z-a", CidrBlock: "192.168.7.0/24"}
	c.Cloud.VSwitches["vsw-b"] = &state.VSwitch{ID: "vsw-b", VpcID: "vpc-2", ZoneID: "z-a", CidrBlock: "10.0.0.0/24"}
	id := []string{"InstanceId", "i-2"}
	do := func(action string, more ...string) { t.Helper(); c.Must(action, append(id, more...)...) }
	do("ModifyInstanceAttribute", "InstanceName", "name", "Description", "text", "HostName", "host", "UserData", "IyE=", "DeletionProtection",
		"false", "CreditSpecification", "Standard", "EnableJumboFrame", "true", "SecurityGroupIds.1", "sg-2", "Password", "Passw0rd!")
	do("ModifyInstanceSpec", "InstanceType", "ecs.c7.large", "ClientToken", "t")
	do("ModifyInstanceNetworkSpec", "InternetMaxBandwidthOut", "5", "NetworkChargeType", "PayByTraffic")
	if got := c.Must("AllocatePublicIpAddress", id...)["IpAddress"]; got != c.Cloud.Instances["i-2"].PublicIPs[0] {
		t.Errorf("public address %v", got)
	}
	do("ModifyInstanceNetworkSpec", "InternetMaxBandwidthOut", "0")
	do("ModifyInstanceNetworkSpec", "InternetMaxBandwidthOut", "7", "AllocatePublicIp", "true")
	do("ModifyInstanceMetadataOptions", "HttpEndpoint", "enabled", "HttpTokens", "required")
	do("ModifyInstanceAutoReleaseTime", "AutoReleaseTime", "2026-06-01T00:00:00Z")
	do("ModifyInstanceVpcAttribute", "VSwitchId", "vsw-a", "PrivateIpAddress", "192.168.7.9")
	i, eni := c.Cloud.Instances["i-2"], c.Cloud.Interfaces["eni-i-2"]
	got := []any{
		i.Name, i.Description, i.HostName, i.InstanceType, i.InternetBandwidth, len(i.PublicIPs), i.VSwitchID, i.PrivateIPs[0], eni.VSwitchID,
		eni.PrimaryIP, i.SecurityGroupIDs[0], eni.SecurityGroupIDs[0], i.Attributes["UserData"], i.Attributes["HttpTokens"],
	}
	want := []any{
		"name", "text", "host", "ecs.c7.large", 7, 1, "vsw-a", "192.168.7.9", "vsw-a", "192.168.7.9", "sg-2", "sg-2", "IyE=", "required",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("instance (-want +got):\n%s", diff)
	}
	do("ModifyInstanceVpcAttribute", "VSwitchId", "vsw-b", "VpcId", "vpc-2", "SecurityGroupId.1", "sg-other")
	if i.VpcID != "vpc-2" || i.PrivateIPs[0] != "10.0.0.1" || !cmp.Equal(i.SecurityGroupIDs, []string{"sg-other"}) {
		t.Errorf("in the other VPC: %+v", i)
	}

	c.Must("ModifyInstanceChargeType", "InstanceIds", `["i-2"]`, "InstanceChargeType", "PrePaid", "Period", "1", "PeriodUnit", "Month")
	do("ModifyInstanceAutoRenewAttribute", "RenewalStatus", "AutoRenewal", "Duration", "2", "PeriodUnit", "Month")
	renewal := c.Must("DescribeInstanceAutoRenewAttribute", id...)
	if of := at(renewal, "InstanceRenewAttributes", "InstanceRenewAttribute").([]any)[0]; at(of, "RenewalStatus") != "AutoRenewal" ||
		at(of, "Duration") != 2.0 || at(of, "PeriodUnit") != "Month" {
		t.Errorf("renewal %v", of)
	}
	do("ModifyPrepayInstanceSpec", "InstanceType", "ecs.c7.xlarge")
	if i.InstanceType != "ecs.c7.xlarge" {
		t.Errorf("type %s", i.InstanceType)
	}
	c.Must("ModifyInstanceChargeType", "InstanceIds", `["i-2"]`, "InstanceChargeType", "PostPaid")
	if i.ChargeType != "PostPaid" {
		t.Errorf("charge type %s", i.ChargeType)
	}

	c.Settings.InstanceStop, c.Settings.InstanceStart = time.Second, time.Second
	c.Must("RebootInstance", "InstanceId", "i-1")
	c.Pass(5 * time.Second)
	if status := apitest.List(c.Must("DescribeInstanceStatus", "InstanceId.1", "i-1"), "Status", "InstanceStatuses",
		"InstanceStatus"); !cmp.Equal(status, []string{"Running"}) {
		t.Errorf("after the reboot: %v", status)
	}

	for kind, resource := range map[string]string{"securitygroup": "sg-1", "eni": "eni-pod", "instance": "i-1"} {
		c.Must("JoinResourceGroup", "ResourceType", kind, "ResourceId", resource, "ResourceGroupId", "rg-1")
	}
	if groups := []string{c.Cloud.SecurityGroups["sg-1"].ResourceGroupID, c.Cloud.Interfaces["eni-pod"].ResourceGroupID,
		c.Cloud.Instances["i-1"].ResourceGroupID}; !cmp.Equal(groups, []string{"rg-1", "rg-1", "rg-1"}) {
		t.Errorf("resource groups %v", groups)
	}
	c.Must("ModifySecurityGroupPolicy", "SecurityGroupId", "sg-1", "InnerAccessPolicy", "Drop")
	if got := c.Must("DescribeSecurityGroupAttribute", "SecurityGroupId", "sg-1")["InnerAccessPolicy"]; got != "Drop" {
		t.Errorf("policy %v", got)
	}
}

// A key pair is made or imported, and given to instances.
func TestKeyPairs(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	made := c.Must("CreateKeyPair", "KeyPairName", "made", "Tag.1.Key", "k", "Tag.1.Value", "v")
	body, _ := made["PrivateKeyBody"].(string)
	if !strings.HasPrefix(body, "-----BEGIN RSA PRIVATE KEY-----") || made["KeyPairFingerPrint"] == "" {
		t.Errorf("key pair %v", made)
	}
	const public = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC9 user@host"
	c.Must("ImportKeyPair", "KeyPairName", "imported", "PublicKeyBody", public)
	names := func(filter ...string) []string {
		return apitest.List(c.Must("DescribeKeyPairs", filter...), "KeyPairName", "KeyPairs", "KeyPair")
	}
	if diff := cmp.Diff([]string{"imported", "made"}, names()); diff != "" {
		t.Errorf("key pairs (-want +got):\n%s", diff)
	}
	if got := names("Tag.1.Key", "k", "KeyPairName", "m*"); !cmp.Equal(got, []string{"made"}) {
		t.Errorf("found by tag and name: %v", got)
	}
	imported := c.Must("DescribeKeyPairs", "KeyPairName", "imported", "IncludePublicKey", "true")
	if got := apitest.List(imported, "PublicKey", "KeyPairs", "KeyPair"); !cmp.Equal(got, []string{public}) {
		t.Errorf("public key %v", got)
	}
	pair := []string{"KeyPairName", "made", "InstanceIds", `["i-1"]`}
	c.Must("AttachKeyPair", pair...)
	if _, code := c.Call("DeleteKeyPairs", "KeyPairNames", `["made"]`); code != "InvalidParameter.KeypairAlreadyAttachedInstance" {
		t.Errorf("deleted the key pair of an instance: %q", code)
	}
	c.Must("DetachKeyPair", pair...)
	c.Must("DeleteKeyPairs", "KeyPairNames", `["made","imported","none"]`)
	if got := names(); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

func TestInstanceAttributeRefusals(t *testing.T) {
	t.Parallel()
	var tests []refusal
	add := func(action, want string, prepare func(*apitest.Caller), params ...string) {
		name := strings.Join(append([]string{want}, params...), " ")
		tests = append(tests, refusal{name[:min(len(name), 80)], func(c *apitest.Caller) {
			c.Cloud.VSwitches["vsw-a"] = &state.VSwitch{ID: "vsw-a", VpcID: "vpc-1", ZoneID: "z-a", CidrBlock: "192.168.7.0/29"}
			c.Cloud.VSwitches["vsw-b"] = &state.VSwitch{ID: "vsw-b", VpcID: "vpc-2", ZoneID: "z-a", CidrBlock: "10.0.0.0/24"}
			c.Cloud.KeyPairs["key"] = &state.KeyPair{ID: "key"}
			c.Cloud.DeploymentSets["ds-1"] = &state.DeploymentSet{ID: "ds-1"}
			if prepare != nil {
				prepare(c)
			}
		}, action, params, want})
	}
	const one, two, none = "i-1", "i-2", "i-none"
	for _, tt := range []struct {
		action string
		params []string
	}{
		{"DescribeUserData", nil}, {"DescribeInstanceAttribute", nil}, {"DescribeInstanceAutoRenewAttribute", nil},
		{"ModifyInstanceAttribute", nil}, {"RebootInstance", nil}, {"ModifyInstanceSpec", []string{"InstanceType", "ecs.c7.large"}},
		{"ModifyPrepayInstanceSpec", []string{"InstanceType", "ecs.c7.large"}}, {"ModifyInstanceNetworkSpec", nil},
		{"AllocatePublicIpAddress", nil}, {"ModifyInstanceVpcAttribute", []string{"VSwitchId", "vsw-a"}},
		{"ModifyInstanceAutoReleaseTime", nil}, {"ModifyInstanceAutoRenewAttribute", nil},
		{"ModifyInstanceMetadataOptions", []string{"HttpEndpoint", "enabled"}}, {"ModifyInstanceDeployment", nil},
	} {
		add(tt.action, "InvalidInstanceId.NotFound", nil, append([]string{"InstanceId", none}, tt.params...)...)
	}
	add("ModifyInstanceMaintenanceAttributes", "InvalidInstanceId.NotFound", nil, "InstanceId.1", none)
	add("ModifyInstanceMaintenanceAttributes", "InvalidParameter", nil, "InstanceId.1", one, "MaintenanceWindow.1.StartTime", "2 o'clock")
	for action, more := range map[string][]string{
		"DescribeInstanceRamRole": nil, "ModifyInstanceChargeType": nil, "AttachKeyPair": {"KeyPairName", "key"},
		"DetachKeyPair": {"KeyPairName", "key"},
	} {
		add(action, "InvalidInstanceId.NotFound", nil, append([]string{"InstanceIds", `["i-none"]`}, more...)...)
		add(action, "InvalidParameter", nil, append([]string{"InstanceIds", `{}`}, more...)...)
	}
	stopped := func(c *apitest.Caller) { c.Must("StopInstance", "InstanceId", one) }
	add("ModifyInstanceSpec", "DryRunOperation", stopped, "InstanceId", one, "InstanceType", "ecs.c7.large", "DryRun", "true")
	add("ModifyInstanceChargeType", "DryRunOperation", nil, "InstanceIds", `["i-1"]`, "DryRun", "true")
	for action, params := range map[string][]string{
		"RebootInstance": {"InstanceId", two}, "ModifyInstanceSpec": {"InstanceId", one, "InstanceType", "ecs.c7.large"},
		"ModifyPrepayInstanceSpec":   {"InstanceId", one, "InstanceType", "ecs.c7.large"},
		"ModifyInstanceVpcAttribute": {"InstanceId", one, "VSwitchId", "vsw-a"},
	} {
		add(action, "IncorrectInstanceStatus", nil, params...)
	}
	add("AllocatePublicIpAddress", "IncorrectInstanceStatus", func(c *apitest.Caller) { c.Cloud.Instances[one].Status = "Starting" },
		"InstanceId", one)
	add("AllocatePublicIpAddress", "AllocatedAlready", nil, "InstanceId", one)
	add("AllocatePublicIpAddress", "InvalidInternetMaxBandwidthOut.ValueNotSupported", nil, "InstanceId", two)
	for _, action := range []string{"ModifyInstanceSpec", "ModifyPrepayInstanceSpec"} {
		add(action, "InvalidInstanceType.ValueNotSupported", nil, "InstanceId", two, "InstanceType", "ecs.none.large")
		add(action, "ImageNotSupportInstanceType", nil, "InstanceId", two, "InstanceType", "ecs.g8y.large")
		add(action, "IdempotentParameterMismatch", func(c *apitest.Caller) {
			c.Must(action, "InstanceId", two, "InstanceType", "ecs.c7.large", "ClientToken", "t")
		}, "InstanceId", two, "InstanceType", "ecs.c7.xlarge", "ClientToken", "t")
	}
	for action, more := range map[string][]string{
		"ModifyInstanceAttribute": {"InstanceName", "name"}, "ModifyInstanceNetworkSpec": {"InternetMaxBandwidthOut", "1"},
	} {
		add(action, "IdempotentParameterMismatch", func(c *apitest.Caller) { c.Must(action, "InstanceId", one, "ClientToken", "t") },
			append([]string{"InstanceId", one, "ClientToken", "t"}, more...)...)
	}
	six := make([]string, 0, 12)
	for _, n := range []string{"1", "2", "3", "4", "5", "6"} {
		six = append(six, "SecurityGroupIds."+n, "sg-1")
	}
	enterprise := func(c *apitest.Caller) { c.Cloud.SecurityGroups["sg-2"].Type = "enterprise" }
	for _, tt := range [][]string{
		{"InvalidInstanceName.Malformed", "InstanceName", "1"}, {"InvalidDescription.Malformed", "Description", "http://x"},
		{"InvalidPassword.Malformed", "Password", "x"}, {"InvalidUserData.SizeExceeded", "UserData", strings.Repeat("AAAA", 11000)},
		{"InvalidUserData.Base64FormatInvalid", "UserData", "#!"}, {"InvalidSecurityGroupId.NotFound", "SecurityGroupIds.1", "sg-none"},
		{"InvalidParameter.Mismatch", "SecurityGroupIds.1", "sg-other"}, append([]string{"JoinedGroupLimitExceed"}, six...),
		{"InvalidOperation.MultiGroupType", "SecurityGroupIds.1", "sg-1", "SecurityGroupIds.2", "sg-2"},
	} {
		add("ModifyInstanceAttribute", tt[0], enterprise, append([]string{"InstanceId", one}, tt[1:]...)...)
	}
	six = six[:0]
	for _, n := range []string{"1", "2", "3", "4", "5", "6"} {
		six = append(six, "SecurityGroupId."+n, "sg-1")
	}
	for _, tt := range [][]string{
		{"InvalidVSwitchId.NotFound", "vsw-none"}, {"InvalidParameter.Mismatch", "vsw-b"},
		{"MissingParameter", "vsw-b", "VpcId", "vpc-2"}, {"InvalidPrivateIpAddress.Malformed", "vsw-a", "PrivateIpAddress", "10.0.0.1"},
		{"InvalidPrivateIpAddress.Duplicated", "vsw-a", "PrivateIpAddress", "192.168.7.1"}, {"InvalidVSwitchId.IpNotEnough", "vsw-a"},
		{"InvalidSecurityGroupId.NotFound", "vsw-a", "SecurityGroupId.1", "sg-none"},
		{"InvalidOperation.MultiGroupType", "vsw-a", "SecurityGroupId.1", "sg-1", "SecurityGroupId.2", "sg-2"},
		append([]string{"JoinedGroupLimitExceed", "vsw-a"}, six...),
	} {
		add("ModifyInstanceVpcAttribute", tt[0], func(c *apitest.Caller) {
			enterprise(c)
			c.Cloud.Interfaces["eni-full"] = &state.NetworkInterface{
				ID: "eni-full", VSwitchID: "vsw-a", PrivateIPs: []string{"192.168.7.1", "192.168.7.2", "192.168.7.3", "192.168.7.4"},
			}
		}, append([]string{"InstanceId", two, "VSwitchId"}, tt[1:]...)...)
	}
	add("ModifyInstanceAutoReleaseTime", "InvalidAutoReleaseTime.Malformed", nil, "InstanceId", one, "AutoReleaseTime",
		"2020-01-01T00:00:00Z")
	add("ModifyInstanceAutoRenewAttribute", "InvalidInstanceChargeType.NotSupport", nil, "InstanceId", one)
	add("ModifyInstanceDeployment", "InvalidDeploymentSetId.NotFound", nil, "InstanceId", one, "DeploymentSetId", "ds-none")
	add("JoinResourceGroup", "InvalidResourceType.NotFound", nil, "ResourceType", "x", "ResourceId", one, "ResourceGroupId", "rg-1")
	for _, kind := range []string{"instance", "securitygroup", "eni", "disk", "snapshot", "keypair"} {
		add("JoinResourceGroup", "InvalidResourceId.NotFound", nil, "ResourceType", kind, "ResourceId", "none", "ResourceGroupId", "rg-1")
	}
	add("DescribeImageSupportInstanceTypes", "InvalidImageId.NotFound", nil, "ImageId", "m-none")
	add("ModifySecurityGroupPolicy", "InvalidSecurityGroupId.NotFound", nil, "SecurityGroupId", "sg-none", "InnerAccessPolicy", "Drop")
	add("ModifySecurityGroupPolicy", "InvalidOperation.InvalidSecurityGroupType", enterprise, "SecurityGroupId", "sg-2",
		"InnerAccessPolicy", "Drop")

	var tagged []string
	for n := range 21 {
		tagged = append(tagged, "Tag."+string(rune('1'+n%9))+string(rune('0'+n/9))+".Key", string(rune('a'+n)))
	}
	for _, action := range []string{"CreateKeyPair", "ImportKeyPair"} {
		of := func(name string, more ...string) []string {
			return append([]string{"KeyPairName", name, "PublicKeyBody", "ssh-rsa AAAA"}, more...)
		}
		add(action, "InvalidKeyPairName.Malformed", nil, of("1")...)
		add(action, "KeyPair.AlreadyExist", nil, of("key")...)
		add(action, "InvalidTagKey.Malformed", nil, of("new", "Tag.1.Key", "acs:x")...)
		add(action, "InvalidTagValue.Malformed", nil, of("new", "Tag.1.Key", "k", "Tag.1.Value", "http://x")...)
		add(action, "Duplicate.TagKey", nil, of("new", "Tag.1.Key", "k", "Tag.2.Key", "k")...)
		add(action, "QuotaExceed.Tags", nil, of("new", tagged...)...)
	}
	add("ImportKeyPair", "InvalidPublicKeyBody.Malformed", nil, "KeyPairName", "new", "PublicKeyBody", "dsa")
	add("ImportKeyPair", "InvalidPublicKeyBody.Malformed", nil, "KeyPairName", "new", "PublicKeyBody", "ssh-rsa #")
	add("DeleteKeyPairs", "InvalidParameter", nil, "KeyPairNames", "{}")
	for _, action := range []string{"AttachKeyPair", "DetachKeyPair"} {
		add(action, "InvalidKeyPairName.NotFound", nil, "KeyPairName", "none", "InstanceIds", `["i-1"]`)
	}
	add("CreateDeploymentSet", "InvalidDeploymentSetName.Malformed", nil, "DeploymentSetName", "1")
	add("CreateDeploymentSet", "InvalidDescription.Malformed", nil, "Description", "http://x")
	add("CreateDeploymentSet", "IdempotentParameterMismatch", func(c *apitest.Caller) { c.Must("CreateDeploymentSet", "ClientToken", "t") },
		"ClientToken", "t", "DeploymentSetName", "other")
	add("DescribeDeploymentSets", "InvalidParameter", nil, "DeploymentSetIds", "{}")
	for _, action := range []string{"ModifyDeploymentSetAttribute", "DeleteDeploymentSet"} {
		add(action, "InvalidDeploymentSetId.NotFound", nil, "DeploymentSetId", "ds-none")
	}
	add("ModifyDeploymentSetAttribute", "InvalidDeploymentSetName.Malformed", nil, "DeploymentSetId", "ds-1", "DeploymentSetName", "1")
	add("ModifyDeploymentSetAttribute", "InvalidDescription.Malformed", nil, "DeploymentSetId", "ds-1", "Description", "http://x")
	add("DeleteDeploymentSet", "DeploymentSet.NotEmpty", func(c *apitest.Caller) { c.Cloud.Instances[one].DeploymentSetID = "ds-1" },
		"DeploymentSetId", "ds-1")
	testRefusals(t, tests)
}
