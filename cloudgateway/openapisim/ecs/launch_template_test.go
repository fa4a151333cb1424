package ecs_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// A launch template reads back as it was made, each version for itself (CreateLaunchTemplate: versions count from 1, and the first
// one is the default).
func TestLaunchTemplates(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	made := c.Must("CreateLaunchTemplate", "LaunchTemplateName", "karpenter/1", "ImageId", "ubuntu_24_04_x64_20G_alibase_20260101.vhd",
		"SecurityGroupIds.1", "sg-1", "SecurityGroupIds.2", "sg-2", "UserData", "IyE=",
		"SystemDisk.Category", "cloud_essd", "SystemDisk.Size", "40",
		"Tag.1.Key", "owner", "Tag.1.Value", "karpenter", "TemplateTag.1.Key", "cluster", "TemplateTag.1.Value", "c-1",
		"DataDisk.1.Size", "20", "NetworkInterface.1.VSwitchId", "vsw-1", "SpotPriceLimit", "0.5", "DeletionProtection", "true",
		"VersionDescription", "first")
	id := made["LaunchTemplateId"].(string)
	if made["LaunchTemplateVersionNumber"] != 1.0 {
		t.Errorf("made %v", made)
	}
	second := c.Must("CreateLaunchTemplateVersion", "LaunchTemplateId", id, "InstanceType", "ecs.g7.large")
	if second["LaunchTemplateVersionNumber"] != 2.0 {
		t.Errorf("second version %v", second)
	}
	list := func(params ...string) []string {
		return apitest.List(c.Must("DescribeLaunchTemplates", params...), "LaunchTemplateId", "LaunchTemplateSets", "LaunchTemplateSet")
	}
	for _, params := range [][]string{
		nil, {"LaunchTemplateName.1", "karpenter/1"}, {"LaunchTemplateId.1", id}, {"TemplateTag.1.Key", "cluster", "TemplateTag.1.Value", "c-1"},
	} {
		if got := list(params...); !cmp.Equal(got, []string{id}) {
			t.Errorf("%v finds %v", params, got)
		}
	}
	if got := list("TemplateTag.1.Key", "owner"); len(got) != 0 {
		t.Errorf("tags of instances find %v", got)
	}
	versions := func(params ...string) []any {
		answer := c.Must("DescribeLaunchTemplateVersions", append(params, "LaunchTemplateName", "karpenter/1")...)
		return answer["LaunchTemplateVersionSets"].(map[string]any)["LaunchTemplateVersionSet"].([]any)
	}
	if all, first := versions(), versions("DefaultVersion", "true"); len(all) != 2 || len(first) != 1 {
		t.Errorf("%d versions, %d of them the default", len(all), len(first))
	}
	if got := versions("MinVersion", "2", "MaxVersion", "9"); len(got) != 1 {
		t.Errorf("from the second on there are %d", len(got))
	}
	first := versions("LaunchTemplateVersion.1", "1")[0].(map[string]any)
	data := first["LaunchTemplateData"].(map[string]any)
	want := map[string]any{
		"ImageId": "ubuntu_24_04_x64_20G_alibase_20260101.vhd", "UserData": "IyE=", "SystemDisk.Category": "cloud_essd",
		"SystemDisk.Size": 40.0, "SpotPriceLimit": 0.5, "DeletionProtection": true,
		"SecurityGroupIds": map[string]any{"SecurityGroupId": []any{"sg-1", "sg-2"}},
		"Tags":             map[string]any{"InstanceTag": []any{map[string]any{"Key": "owner", "Value": "karpenter"}}},
	}
	for name, value := range want {
		if diff := cmp.Diff(value, data[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	gone := c.Must("DeleteLaunchTemplate", "LaunchTemplateName", "karpenter/1")
	if diff := cmp.Diff([]any{1.0, 2.0}, gone["LaunchTemplateVersionNumbers"].(map[string]any)["versionNumbers"]); diff != "" {
		t.Errorf("deleted versions (-want +got):\n%s", diff)
	}
	if left := list(); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// What a template says counts where the call says nothing, and is judged only when instances are made of it (documents of
// CreateLaunchTemplate).
func TestRunInstancesOfTemplate(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareLaunch(c)
	id := c.Must("CreateLaunchTemplate", "LaunchTemplateName", "nodes", "ImageId", "none", "InstanceType", "ecs.c7.large",
		"SecurityGroupIds.1", "sg-1", "HostName", "of-template", "Tag.1.Key", "a", "Tag.2.Key", "b", "SystemDisk.Size", "50",
		"SystemDisk.Category", "cloud_ssd")["LaunchTemplateId"].(string)
	if _, code := c.Call("RunInstances", "LaunchTemplateId", id, "VSwitchId", "vsw-new"); code != "InvalidImageId.NotFound" {
		t.Errorf("an image that is none: %q", code)
	}
	c.Must("CreateLaunchTemplateVersion", "LaunchTemplateName", "nodes", "ImageId", "aliyun_3_x64_20G_alibase_20260101.vhd", "InstanceType",
		"ecs.c7.large", "SecurityGroupIds.1", "sg-1", "HostName", "of-template", "Tag.1.Key", "a", "Tag.2.Key", "b", "SystemDisk.Size", "50",
		"SystemDisk.Category", "cloud_ssd", "InternetMaxBandwidthOut", "7")
	run := c.Must("RunInstances", "LaunchTemplateName", "nodes", "LaunchTemplateVersion", "2", "VSwitchId", "vsw-new", "Tag.1.Key", "own",
		"SystemDisk.Size", "60", "KeyPairName", "")
	made := run["InstanceIdSets"].(map[string]any)["InstanceIdSet"].([]any)[0].(string)
	i := c.Cloud.Instances[made]
	if i.HostName != "of-template" || i.InternetBandwidth != 7 || i.InstanceType != "ecs.c7.large" {
		t.Errorf("made %+v", i)
	}
	if diff := cmp.Diff([]state.Tag{{Key: "own"}}, i.Tags); diff != "" {
		t.Errorf("tags; those of the call stand for all of the template (-want +got):\n%s", diff)
	}
	for _, d := range c.Cloud.Disks {
		if d.InstanceID == made && (d.Size != 60 || d.Category != "cloud_ssd") {
			t.Errorf("disk %+v; the size is that of the call, the category that of the template", d)
		}
	}
}

func TestTemplateRefusals(t *testing.T) {
	t.Parallel()
	template := func(c *apitest.Caller) {
		prepareLaunch(c)
		c.Must("CreateLaunchTemplate", "LaunchTemplateName", "nodes", "Period", "61")
	}
	many := func(c *apitest.Caller) {
		for n := range 30 {
			c.Must("CreateLaunchTemplate", "LaunchTemplateName", fmt.Sprint("t-", n))
		}
	}
	versions := func(c *apitest.Caller) {
		template(c)
		for range 29 {
			c.Must("CreateLaunchTemplateVersion", "LaunchTemplateName", "nodes")
		}
	}
	var tagged []string
	for n := range 20 {
		tagged = append(tagged, fmt.Sprintf("TemplateTag.%d.Key", n+1), fmt.Sprint(n))
	}
	few := func(c *apitest.Caller) { c.Settings.Quotas.Tags = 19 }
	testRefusals(t, []refusal{
		{"name", nil, "CreateLaunchTemplate", []string{"LaunchTemplateName", "1"}, "InvalidLaunchTemplateName.Malformed"},
		{"same name", template, "CreateLaunchTemplate", []string{"LaunchTemplateName", "nodes"}, "LaunchTemplateName.Duplicated"},
		{"31 templates", many, "CreateLaunchTemplate", []string{"LaunchTemplateName", "nodes"}, "LaunchTemplateLimitExceed"},
		{"description", nil, "CreateLaunchTemplate", []string{"LaunchTemplateName", "nodes", "VersionDescription", "http://x"},
			"InvalidDescription.Malformed"},
		{"tag key", nil, "CreateLaunchTemplate", []string{"LaunchTemplateName", "nodes", "TemplateTag.1.Key", "acs:x"},
			"InvalidTagKey.Malformed"},
		{"tag value", nil, "CreateLaunchTemplate", []string{"LaunchTemplateName", "nodes", "TemplateTag.1.Key", "k", "TemplateTag.1.Value",
			"http://x"}, "InvalidTagValue.Malformed"},
		{"tag twice", nil, "CreateLaunchTemplate", []string{"LaunchTemplateName", "nodes", "TemplateTag.1.Key", "k", "TemplateTag.2.Key", "k"},
			"Duplicate.TagKey"},
		{"tags", few, "CreateLaunchTemplate", append([]string{"LaunchTemplateName", "nodes"}, tagged...), "QuotaExceed.Tags"},
		{"nothing", nil, "CreateLaunchTemplateVersion", nil, "MissingParameter"},
		{"none", nil, "CreateLaunchTemplateVersion", []string{"LaunchTemplateId", "lt-none"}, "InvalidLaunchTemplate.NotFound"},
		{"31 versions", versions, "CreateLaunchTemplateVersion", []string{"LaunchTemplateName", "nodes"}, "LaunchTemplateVersionLimitExceed"},
		{"description", template, "CreateLaunchTemplateVersion", []string{"LaunchTemplateName", "nodes", "VersionDescription", "http://x"},
			"InvalidDescription.Malformed"},
		{"none", nil, "DescribeLaunchTemplateVersions", []string{"LaunchTemplateName", "none"}, "InvalidLaunchTemplate.NotFound"},
		{"nothing", nil, "DescribeLaunchTemplateVersions", nil, "MissingParameter"},
		{"none", nil, "DeleteLaunchTemplate", []string{"LaunchTemplateId", "lt-none"}, "InvalidLaunchTemplate.NotFound"},
		{"nothing", nil, "DeleteLaunchTemplate", nil, "MissingParameter"},
		{"no such version", template, "RunInstances", launching("LaunchTemplateName", "nodes", "LaunchTemplateVersion", "2"),
			"InvalidLaunchTemplateVersion.NotFound"},
		{"a version of none", template, "RunInstances", launching("LaunchTemplateVersion", "1"), "MissingParameter"},
		{"a value of the template", template, "RunInstances", launching("LaunchTemplateName", "nodes"), "InvalidParameter"},
	})
}

// Karpenter of CloudPilot makes one instance by a group of the type instant, with several types to choose from, and reads the first result.
// Parameters and answer are those of its calls and of CreateAutoProvisioningGroup in version 1 of the SDK.
func TestAutoProvisioningGroup(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareLaunch(c)
	params := []string{
		"TotalTargetCapacity", "1", "AutoProvisioningGroupType", "instant", "PayAsYouGoAllocationStrategy", "lowest-price",
		"SpotAllocationStrategy", "lowest-price", "PayAsYouGoTargetCapacity", "1", "SpotTargetCapacity", "0",
		"ExcessCapacityTerminationPolicy", "termination",
		"LaunchConfiguration.ImageId", "aliyun_3_x64_20G_alibase_20260101.vhd", "LaunchConfiguration.SecurityGroupId", "sg-1",
		"LaunchConfiguration.SecurityGroupIds.1", "sg-1", "LaunchConfiguration.UserData", "IyE=", "LaunchConfiguration.SystemDiskSize", "40",
		"LaunchConfiguration.Tag.1.Key", "karpenter.sh/nodepool", "LaunchConfiguration.Tag.1.Value", "default",
		"SystemDiskConfig.1.DiskCategory", "cloud_essd", "ClientToken", "t",
		"LaunchTemplateConfig.1.InstanceType", "ecs.g7.xlarge", "LaunchTemplateConfig.1.VSwitchId", "vsw-new",
		"LaunchTemplateConfig.1.Priority", "1",
		"LaunchTemplateConfig.2.InstanceType", "ecs.c7.large", "LaunchTemplateConfig.2.VSwitchId", "vsw-none",
		"LaunchTemplateConfig.2.Priority", "2",
		"LaunchTemplateConfig.3.InstanceType", "ecs.g7.large", "LaunchTemplateConfig.3.VSwitchId", "vsw-new",
		"LaunchTemplateConfig.3.WeightedCapacity", "1", "LaunchTemplateConfig.3.Priority", "3",
	}
	results := func(answer map[string]any) []any {
		return answer["LaunchResults"].(map[string]any)["LaunchResult"].([]any)
	}
	answer := c.Must("CreateAutoProvisioningGroup", params...)
	got := results(answer)
	if len(got) != 2 {
		t.Fatalf("results %v, want the cheapest, which can't be, and the next", got)
	}
	failed, made := got[0].(map[string]any), got[1].(map[string]any)
	if failed["ErrorCode"] != "InvalidVSwitchId.NotFound" || made["InstanceType"] != "ecs.g7.large" || made["SpotStrategy"] != "NoSpot" {
		t.Errorf("results %v", got)
	}
	id := made["InstanceIds"].(map[string]any)["InstanceId"].([]any)[0].(string)
	i := c.Cloud.Instances[id]
	if diff := cmp.Diff([]state.Tag{{Key: "karpenter.sh/nodepool", Value: "default"}}, i.Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	again := c.Must("CreateAutoProvisioningGroup", params...)
	if len(results(again)) != 1 || again["AutoProvisioningGroupId"] != answer["AutoProvisioningGroupId"] {
		t.Errorf("the repetition answers %v", again)
	}
	c.Must("CreateLaunchTemplate", "LaunchTemplateName", "nodes", "ImageId", "aliyun_3_x64_20G_alibase_20260101.vhd", "InstanceType",
		"ecs.c7.large", "SecurityGroupId", "sg-1", "VSwitchId", "vsw-new")
	template := apitest.List(c.Must("DescribeLaunchTemplates"), "LaunchTemplateId", "LaunchTemplateSets", "LaunchTemplateSet")[0]
	of := results(c.Must("CreateAutoProvisioningGroup", "TotalTargetCapacity", "3", "AutoProvisioningGroupType", "instant",
		"PayAsYouGoTargetCapacity", "1", "LaunchTemplateId", template))
	if len(of) != 2 || of[0].(map[string]any)["Amount"] != 1.0 || of[1].(map[string]any)["SpotStrategy"] != "SpotAsPriceGo" ||
		of[1].(map[string]any)["Amount"] != 2.0 {
		t.Errorf("of a template: %v, want one by use and two spot instances, which is the default", of)
	}
}

func TestProvisioningRefusals(t *testing.T) {
	t.Parallel()
	of := func(more ...string) []string {
		return append([]string{"AutoProvisioningGroupType", "instant"}, more...)
	}
	config := []string{"TotalTargetCapacity", "1", "LaunchConfiguration.ImageId", "i", "LaunchTemplateConfig.1.InstanceType", "ecs.g7.large"}
	template := func(c *apitest.Caller) {
		c.Must("CreateLaunchTemplate", "LaunchTemplateName", "nodes")
		t := c.Cloud.LaunchTemplates
		for id, it := range t {
			delete(t, id)
			it.ID = "lt-1"
			t["lt-1"] = it
		}
	}
	once := func(c *apitest.Caller) {
		c.Must("CreateAutoProvisioningGroup", of(append(config, "ClientToken", "t")...)...)
	}
	testRefusals(t, []refusal{
		{"none", nil, "CreateAutoProvisioningGroup", of("TotalTargetCapacity", "0"), "InvalidTargetCapacity"},
		{"too much", nil, "CreateAutoProvisioningGroup", of("TotalTargetCapacity", "1", "SpotTargetCapacity", "2"), "InvalidTargetCapacity"},
		{"no image", nil, "CreateAutoProvisioningGroup", of("TotalTargetCapacity", "1"), "MissingParameter"},
		{"no type", nil, "CreateAutoProvisioningGroup", of(config[:4]...), "MissingParameter"},
		{"type of group", nil, "CreateAutoProvisioningGroup", append([]string{"AutoProvisioningGroupType", "maintain"}, config...),
			"InvalidParameter"},
		{"no template", nil, "CreateAutoProvisioningGroup", of("TotalTargetCapacity", "1", "LaunchTemplateId", "lt-none"),
			"InvalidLaunchTemplate.NotFound"},
		{"no version", template, "CreateAutoProvisioningGroup", of("TotalTargetCapacity", "1",
			"LaunchTemplateId", "lt-1", "LaunchTemplateVersion", "2"), "InvalidLaunchTemplateVersion.NotFound"},
		{"token", once, "CreateAutoProvisioningGroup", of("ClientToken", "t", "TotalTargetCapacity", "1"), "IdempotentParameterMismatch"},
	})
}

// Prices are made up, but larger types cost more, spot instances less, and each hour of the time that is asked for has one in each zone.
func TestPrices(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareLaunch(c)
	price := func(params ...string) float64 {
		info := c.Must("DescribePrice", append(params, "ResourceType", "instance")...)["PriceInfo"].(map[string]any)
		return info["Price"].(map[string]any)["TradePrice"].(float64)
	}
	small, large, spot := price("InstanceType", "ecs.g7.large"), price("InstanceType", "ecs.g7.xlarge"),
		price("InstanceType", "ecs.g7.large", "SpotStrategy", "SpotAsPriceGo")
	if !(0 < spot && spot < small && small < large) {
		t.Errorf("prices %g, %g, %g", spot, small, large)
	}
	history := c.Must("DescribeSpotPriceHistory", "InstanceType", "ecs.g7.large", "NetworkType", "vpc", "ZoneId", apitest.Region+"-b",
		"StartTime", "2026-01-01T09:30:00Z", "EndTime", "2026-01-01T11:59:00Z")
	want := []string{"2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"}
	if got := apitest.List(history, "Timestamp", "SpotPrices", "SpotPriceType"); !cmp.Equal(got, want) {
		t.Errorf("prices of %v, want those of %v", got, want)
	}
	c.Must("DescribeCapacityReservations")
	of := func(more ...string) []string {
		return append([]string{"InstanceType", "ecs.g7.large", "NetworkType", "vpc"}, more...)
	}
	testRefusals(t, []refusal{
		{"type", nil, "DescribePrice", []string{"InstanceType", "none"}, "InvalidInstanceType.ValueNotSupported"},
		{"type", nil, "DescribeSpotPriceHistory", []string{"InstanceType", "none", "NetworkType", "vpc"},
			"InvalidInstanceType.ValueNotSupported"},
		{"start", nil, "DescribeSpotPriceHistory", of("StartTime", "2025-11-01T00:00:00Z"), "InvalidStartTime.Malformed"},
		{"end", nil, "DescribeSpotPriceHistory", of("EndTime", "now"), "InvalidEndTime.Malformed"},
	})
}
