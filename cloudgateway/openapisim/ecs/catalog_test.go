package ecs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/ecs"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// catalogTest is a read of the catalog, and the ids, or the error code, it answers.
type catalogTest struct {
	name, action string
	params       []string
	want         string
}

// What a first script needs is there in an empty cloud.
func TestCatalog(t *testing.T) {
	t.Parallel()
	const types, images = "DescribeInstanceTypes", "DescribeImages"
	lists := map[string][3]string{types: {"InstanceTypeId", "InstanceTypes", "InstanceType"}, images: {"ImageId", "Images", "Image"}}
	for _, tt := range []catalogTest{
		{"ids", types, []string{"InstanceTypes.1", "ecs.g7.large", "InstanceTypes.2", "ecs.none.large"}, "ecs.g7.large"},
		{
			"family", types, []string{"InstanceTypeFamily", "ecs.c7"},
			"ecs.c7.2xlarge ecs.c7.4xlarge ecs.c7.8xlarge ecs.c7.large ecs.c7.xlarge",
		},
		{"families", types, []string{"InstanceTypeFamilies.1", "ecs.c7", "MinimumCpuCoreCount", "32"}, "ecs.c7.8xlarge"},
		{"architecture", types, []string{"CpuArchitecture", "ARM", "MaximumCpuCoreCount", "2"}, "ecs.g8y.large"},
		{"memory", types, []string{"InstanceTypeFamily", "ecs.c7", "MinimumMemorySize", "4", "MaximumMemorySize", "7.5"}, "ecs.c7.large"},
		{"no memory", types, []string{"MinimumMemorySize", "much"}, "InvalidParameter"},
		{"no greatest memory", types, []string{"MaximumMemorySize", "-1"}, "InvalidParameter"},
		{"interfaces", types, []string{"InstanceTypeFamily", "ecs.r7", "MinimumEniQuantity", "8"}, "ecs.r7.4xlarge ecs.r7.8xlarge"},
		{"addresses", types, []string{"InstanceTypeFamily", "ecs.g7", "MinimumEniPrivateIpAddressQuantity", "30"},
			"ecs.g7.4xlarge ecs.g7.8xlarge"},
		{"accelerators", types, []string{"MinimumGPUAmount", "1"}, ""},
		{"no accelerators", types, []string{"InstanceTypeFamily", "ecs.t5", "MaximumGPUAmount", "0"}, "ecs.t5-lc1m1.small ecs.t5-lc1m2.small"},
		{"an accelerator by name", types, []string{"GpuSpecs.1", "NVIDIA A10"}, ""},
		{"local disks", types, []string{"LocalStorageCategory", "local_ssd_pro"}, ""},
		{"many local disks", types, []string{"MinimumLocalStorageAmount", "1"}, ""},
		{"RDMA", types, []string{"MinimumEriQuantity", "1"}, ""},
		{"category", types, []string{"InstanceCategory", "Burstable", "MaximumCpuCoreCount", "1"}, "ecs.t5-lc1m1.small ecs.t5-lc1m2.small"},
		{"categories", types, []string{"InstanceCategories.1", "Memory-optimized", "InstanceCategories.2", "Burstable",
			"MinimumCpuCoreCount", "32"},
			"ecs.r7.8xlarge"},
		{"level", types, []string{"InstanceFamilyLevel", "CreditEntryLevel", "MinimumCpuCoreCount", "2"}, "ecs.t6-c1m1.large ecs.t6-c1m2.large"},
		{"architectures", types, []string{"CpuArchitectures.1", "ARM", "MaximumCpuCoreCount", "2"}, "ecs.g8y.large"},
		{"bandwidth", types, []string{"InstanceTypeFamily", "ecs.g7", "MinimumInstanceBandwidthRx", "10240000"}, "ecs.g7.4xlarge ecs.g7.8xlarge"},
		{"packets", types, []string{"InstanceTypeFamily", "ecs.g7", "MinimumInstancePpsTx", "3000001"}, "ecs.g7.8xlarge"},
		{"addresses of IPv6", types, []string{"InstanceTypeFamily", "ecs.g7", "MinimumEniIpv6AddressQuantity", "16"},
			"ecs.g7.4xlarge ecs.g7.8xlarge"},
		{"disks", types, []string{"InstanceTypeFamily", "ecs.t5", "MinimumDiskQuantity", "17"}, "ecs.t5-lc1m1.small ecs.t5-lc1m2.small"},
		{"more disks", types, []string{"MinimumDiskQuantity", "18"}, ""},
		{"NVMe", types, []string{"InstanceTypeFamily", "ecs.t5", "NvmeSupport", "required"}, ""},
		{"page", types, []string{"InstanceTypeFamily", "ecs.c7", "MaxResults", "1"}, "ecs.c7.2xlarge"},
		{"strange token", types, []string{"NextToken", "x"}, "InvalidParameter"},
		{"public images", images, []string{"ImageOwnerAlias", "system", "ImageName", "ubuntu_*", "Architecture", "x86_64"},
			"ubuntu_24_04_x64_20G_alibase_20260101.vhd"},
		{"own images", images, []string{"ImageOwnerAlias", "self"}, ""},
		{"windows", images, []string{"OSType", "windows"}, ""},
		{"id", images, []string{"ImageId", "m-none,aliyun_3_x64_20G_alibase_20260101.vhd"}, "aliyun_3_x64_20G_alibase_20260101.vhd"},
		{
			"for an instance type", images, []string{"InstanceType", "ecs.g8y.large"},
			"aliyun_3_arm64_20G_alibase_20260101.vhd ubuntu_24_04_arm64_20G_alibase_20260101.vhd",
		},
		{"for an unknown type", images, []string{"InstanceType", "ecs.none.large"}, ""},
		{"in the family", images, []string{"ImageFamily", "acs:ubuntu_24_04_arm64", "IsSupportCloudinit", "true"},
			"ubuntu_24_04_arm64_20G_alibase_20260101.vhd"},
		{"expired ones, too", images, []string{"ShowExpired", "true", "ActionType", "ChangeOS", "ImageFamily", "acs:ubuntu_24_04_arm64"},
			"ubuntu_24_04_arm64_20G_alibase_20260101.vhd"},
		{"deprecated", images, []string{"Status", "Deprecated"}, ""},
		{"without cloud-init", images, []string{"IsSupportCloudinit", "false"}, ""},
		{"of a snapshot", images, []string{"SnapshotId", "s-1"}, ""},
		{"of a group", images, []string{"ResourceGroupId", "rg-1"}, ""},
		{"with a tag", images, []string{"Tag.1.Key", "k"}, ""},
		{"not public", images, []string{"IsPublic", "false"}, ""},
		{"idle", images, []string{"Usage", "none"}, ""},
		{"in use", images, []string{"Usage", "instance", "IsPublic", "true", "ImageFamily", "acs:ubuntu_24_04_x64"},
			"ubuntu_24_04_x64_20G_alibase_20260101.vhd"},
		{"dry run", images, []string{"DryRun", "true"}, "DryRunOperation"},
	} {
		t.Run(tt.action+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			answer, got := apitest.New(t, ecs.Product(), state.New(apitest.Region, apitest.Account)).Call(tt.action, tt.params...)
			if got == "" {
				list := lists[tt.action]
				got = strings.Join(apitest.List(answer, list[0], list[1], list[2]), " ")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// An empty cloud has zones, with instance types and disk categories, as clients read them before they make anything.
func TestZonesOfAnEmptyCloud(t *testing.T) {
	t.Parallel()
	c := apitest.New(t, ecs.Product(), state.New(apitest.Region, apitest.Account))
	answer := c.Must("DescribeZones")
	if got := apitest.List(answer, "ZoneId", "Zones", "Zone"); !cmp.Equal(got, []string{"cn-hangzhou-a", "cn-hangzhou-b"}) {
		t.Fatalf("zones %v", got)
	}
	zone := answer["Zones"].(map[string]any)["Zone"].([]any)[0].(map[string]any)
	types := zone["AvailableInstanceTypes"].(map[string]any)["InstanceTypes"].([]any)
	if len(types) != 47 || types[0] != "ecs.c7.large" {
		t.Errorf("instance types %v", types)
	}
	got := []any{zone["AvailableDiskCategories"], zone["AvailableResourceCreation"]}
	want := []any{
		map[string]any{"DiskCategories": []any{"cloud_auto", "cloud_efficiency", "cloud_essd", "cloud_essd_entry", "cloud_ssd"}},
		map[string]any{"ResourceTypes": []any{"VSwitch", "IoOptimized", "Instance", "Disk"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("zone (-want +got):\n%s", diff)
	}
}

// available are the values of a kind of resource in the first zone, and in how many zones there is one.
func available(t *testing.T, params ...string) string {
	t.Helper()
	c := apitest.New(t, ecs.Product(), state.New(apitest.Region, apitest.Account))
	answer, code := c.Call("DescribeAvailableResource", params...)
	if code != "" {
		return code
	}
	zones := answer["AvailableZones"].(map[string]any)["AvailableZone"].([]any)
	if len(zones) == 0 {
		return "nowhere"
	}
	zone := zones[0].(map[string]any)
	resources := zone["AvailableResources"].(map[string]any)["AvailableResource"].([]any)[0].(map[string]any)
	values := apitest.List(resources, "Value", "SupportedResources", "SupportedResource")
	return fmt.Sprint(len(zones), " ", zone["StatusCategory"], " ", resources["Type"], " ", strings.Join(values, " "))
}

func TestDescribeAvailableResource(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		params []string
		want   string
	}{
		{[]string{"DestinationResource", "InstanceType", "Cores", "2", "Memory", "8"},
			"2 WithStock InstanceType ecs.g7.large ecs.g8y.large ecs.g6.large ecs.sn2ne.large ecs.u1-c1m4.large"},
		{[]string{"DestinationResource", "InstanceType", "Cores", "1", "Memory", "2"},
			"2 WithStock InstanceType ecs.n4.small ecs.s6-c1m2.small ecs.t5-lc1m2.small"},
		{[]string{"DestinationResource", "Zone", "InstanceType", "ecs.c7.large", "ZoneId", "cn-hangzhou-b"},
			"1 WithStock InstanceType ecs.c7.large"},
		{[]string{"DestinationResource", "SystemDisk", "InstanceType", "ecs.c7.large"},
			"2 WithStock SystemDisk cloud_auto cloud_efficiency cloud_essd cloud_essd_entry cloud_ssd"},
		{[]string{"DestinationResource", "DataDisk", "DataDiskCategory", "cloud_essd"}, "2 WithStock DataDisk cloud_essd"},
		{[]string{"DestinationResource", "Network"}, "2 WithStock Network vpc"},
		{[]string{"DestinationResource", "IoOptimized"}, "2 WithStock IoOptimized optimized"},
		{[]string{"DestinationResource", "InstanceType", "InstanceType", "ecs.none.large"}, "nowhere"},
		{[]string{"DestinationResource", "InstanceType", "SystemDiskCategory", "floppy"}, "nowhere"},
		{[]string{"DestinationResource", "InstanceType", "NetworkCategory", "classic"}, "nowhere"},
		{[]string{"DestinationResource", "InstanceType", "ZoneId", "cn-hangzhou-z"}, "nowhere"},
		{[]string{"DestinationResource", "InstanceType", "Memory", "much"}, "InvalidParameter"},
		{[]string{"DestinationResource", "Elephant"}, "InvalidParameter"},
		{[]string{"DestinationResource", "Zone", "RegionId", ""}, "Invalid.RegionId"},
	} {
		if got := available(t, tt.params...); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.params, got, tt.want)
		}
	}
}
