package ecs_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// prepareDisks gives the stopped instance i-2 a system disk, and adds the free disk d-free in its zone and in that of i-1.
func prepareDisks(c *apitest.Caller) {
	c.Cloud.Disks["d-system"] = &state.Disk{
		ID: "d-system", Type: "system", Category: "cloud_essd", PerformanceLevel: "PL1", Size: 40, Status: "In_use", InstanceID: "i-2",
		ZoneID: "z-a", Device: "/dev/xvda", DeleteWithInstance: true,
	}
	c.Cloud.Disks["d-free"] = &state.Disk{
		ID: "d-free", Type: "data", Category: "cloud_essd", PerformanceLevel: "PL1", Size: 20, Status: "Available", ZoneID: "z-a", Name: "free",
	}
}

// describeDisk returns a disk as DescribeDisks shows it.
func describeDisk(t *testing.T, c *apitest.Caller, id string) map[string]any {
	t.Helper()
	list := c.Must("DescribeDisks", "DiskIds", `["`+id+`"]`)["Disks"].(map[string]any)["Disk"].([]any)
	if len(list) == 0 {
		return map[string]any{}
	}
	return list[0].(map[string]any)
}

// The calls of the CSI driver, in its order: a volume is made, attached, grown, snapshotted, detached, and deleted.
func TestVolumeLife(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareDisks(c)
	c.Settings.DiskChange, c.Settings.SnapshotReady = time.Second, 3*time.Second
	params := []string{
		"ZoneId", "z-a", "DiskCategory", "cloud_essd", "PerformanceLevel", "PL0", "Size", "20", "DiskName", "pvc", "ClientToken", "t",
		"Tag.1.Key", "createdby", "Tag.1.Value", "csi",
	}
	id := c.Must("CreateDisk", params...)["DiskId"].(string)
	if again := c.Must("CreateDisk", params...)["DiskId"]; again != id {
		t.Errorf("the repetition made %v", again)
	}
	expect := func(status, instance string) {
		t.Helper()
		if got := describeDisk(t, c, id); got["Status"] != status || got["InstanceId"] != instance {
			t.Errorf("it is %v at %q, want %s at %q", got["Status"], got["InstanceId"], status, instance)
		}
	}
	attachment := []string{"DiskId", id, "InstanceId", "i-1"}
	expect("Creating", "")
	if _, code := c.Call("AttachDisk", attachment...); code != "IncorrectDiskStatus" {
		t.Errorf("attached while it is made: %q", code)
	}
	c.Pass(time.Second)
	expect("Available", "")
	c.Must("AttachDisk", append(attachment, "DeleteWithInstance", "false")...)
	expect("Attaching", "i-1")
	c.Pass(time.Second)
	expect("In_use", "i-1")
	got := describeDisk(t, c, id)
	for name, want := range map[string]any{
		"Device": "/dev/xvdb", "SerialNumber": strings.TrimPrefix(id, "d-"), "Type": "data", "Category": "cloud_essd",
		"PerformanceLevel": "PL0", "Size": 20.0, "DiskName": "pvc", "DeleteWithInstance": false, "ResourceGroupId": state.DefaultResourceGroup,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	resize := []string{"DiskId", id, "NewSize", "30", "Type", "online", "ClientToken", "r"}
	c.Must("ResizeDisk", resize...)
	c.Must("ResizeDisk", resize...)
	snapshot := c.Must("CreateSnapshot", "DiskId", id, "SnapshotName", "backup", "ClientToken", "t")["SnapshotId"].(string)
	describe := func() map[string]any {
		answer := c.Must("DescribeSnapshots", "SnapshotIds", `["`+snapshot+`"]`, "Status", "all")
		return answer["Snapshots"].(map[string]any)["Snapshot"].([]any)[0].(map[string]any)
	}
	if s := describe(); s["Status"] != "progressing" || s["Available"] != false {
		t.Errorf("a new snapshot: %v", s)
	}
	c.Pass(3 * time.Second)
	if s := describe(); s["Status"] != "accomplished" || s["SourceDiskSize"] != "30" || s["SourceDiskId"] != id || s["Usage"] != "none" {
		t.Errorf("snapshot %v", s)
	}
	for filter, want := range map[string]float64{"none": 1, "disk": 0, "image": 0} {
		if got := c.Must("DescribeSnapshots", "Usage", filter)["TotalCount"]; got != want {
			t.Errorf("%v snapshots with the usage %s, want %v", got, filter, want)
		}
	}
	if got := c.Must("DescribeSnapshots", "KMSKeyId", "key-none")["TotalCount"]; got != 0.0 {
		t.Errorf("%v snapshots of a key that none has", got)
	}
	second := c.Must("CreateDisk", "ZoneId", "z-a", "SnapshotId", snapshot)["DiskId"].(string)
	if got := describeDisk(t, c, second); got["Size"] != 30.0 || got["SourceSnapshotId"] != snapshot {
		t.Errorf("the disk of the snapshot: %v", got)
	}
	if _, code := c.Call("DeleteSnapshot", "SnapshotId", snapshot); code != "SnapshotCreatedDisk" {
		t.Errorf("deleted the snapshot of a disk: %q", code)
	}
	c.Must("DeleteSnapshot", "SnapshotId", snapshot, "Force", "true")
	if _, code := c.Call("DeleteDisk", "DiskId", id); code != "IncorrectDiskStatus" {
		t.Errorf("deleted an attached disk: %q", code)
	}
	c.Must("DetachDisk", attachment...)
	expect("Detaching", "i-1")
	c.Pass(time.Second)
	expect("Available", "")
	c.Must("DeleteDisk", "DiskId", id)
	if got := describeDisk(t, c, id); len(got) > 0 {
		t.Errorf("it is still there: %v", got)
	}
}

// Each instance has the disks that it was made with, the system disk among them. They go with it, but for those that are to stay.
func TestDisksOfInstances(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareLaunch(c)
	sets := c.Must("RunInstances", launching("SystemDisk.Category", "cloud_efficiency", "SystemDisk.Size", "50", "SystemDisk.DiskName", "root",
		"DataDisk.1.Category", "cloud_essd", "DataDisk.1.Size", "30", "DataDisk.1.DeleteWithInstance", "false", "DataDisk.2.Size", "40",
		"ResourceGroupId", "rg-1")...)["InstanceIdSets"]
	id := sets.(map[string]any)["InstanceIdSet"].([]any)[0].(string)
	system := c.Must("DescribeDisks", "InstanceId", id, "DiskType", "system", "ResourceGroupId", "rg-1")
	disk := system["Disks"].(map[string]any)["Disk"].([]any)[0].(map[string]any)
	for name, want := range map[string]any{
		"Category": "cloud_efficiency", "Size": 50.0, "DiskName": "root", "Device": "/dev/xvda", "DeleteWithInstance": true,
		"Portable": false, "ImageId": launching()[1],
	} {
		if disk[name] != want {
			t.Errorf("%s of the system disk is %v, want %v", name, disk[name], want)
		}
	}
	data := func(filter ...string) []string {
		answer := c.Must("DescribeDisks", append([]string{"DiskType", "data"}, filter...)...)
		return slices.Sorted(slices.Values(apitest.List(answer, "Device", "Disks", "Disk")))
	}
	if diff := cmp.Diff([]string{"/dev/xvdb", "/dev/xvdc"}, data("InstanceId", id)); diff != "" {
		t.Errorf("data disks (-want +got):\n%s", diff)
	}
	if got := data("InstanceId", id, "DeleteWithInstance", "false", "Encrypted", "false", "Portable", "true"); len(got) != 1 {
		t.Errorf("disks that stay: %v", got)
	}
	for _, filter := range [][]string{
		{"AutoSnapshotPolicyId", "sp-1"}, {"LockReason", "financial"}, {"EnableAutomatedSnapshotPolicy", "true"}, {"EnableShared", "true"},
	} {
		if got := data(filter...); len(got) != 0 {
			t.Errorf("%v finds %v", filter, got)
		}
	}
	c.Must("JoinResourceGroup", "ResourceType", "instance", "ResourceId", id, "ResourceGroupId", "rg-2")
	if got := c.Must("DescribeDisks", "InstanceId", id, "DiskType", "system", "ResourceGroupId", "rg-2"); got["TotalCount"] != 1.0 {
		t.Errorf("the system disk did not follow its instance: %v", got)
	}
	c.Must("DeleteInstance", "InstanceId", id, "Force", "true")
	if diff := cmp.Diff([]string{""}, data()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if _, code := c.Call("DescribeDisks", "DryRun", "true"); code != "DryRunOperation" {
		t.Errorf("dry run: %q", code)
	}
}

// A disk made for an instance is attached to it. What is asked of a disk later changes it.
func TestDiskChanges(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	prepareDisks(c)
	id := c.Must("CreateDisk", "InstanceId", "i-1", "Size", "20")["DiskId"].(string)
	if got := describeDisk(t, c, id); got["Status"] != "In_use" || got["InstanceId"] != "i-1" || got["Category"] != "cloud_efficiency" {
		t.Errorf("disk %v", got)
	}
	c.Must("ModifyDiskAttribute", "DiskId", "d-free", "DiskName", "new", "Description", "text", "DeleteWithInstance", "true")
	c.Must("ModifyDiskSpec", "DiskId", "d-free", "PerformanceLevel", "PL0")
	got := describeDisk(t, c, "d-free")
	if got["DiskName"] != "new" || got["Description"] != "text" || got["PerformanceLevel"] != "PL0" || got["DeleteWithInstance"] != true {
		t.Errorf("disk %v", got)
	}
	c.Must("JoinResourceGroup", "ResourceType", "disk", "ResourceId", "d-free", "ResourceGroupId", "rg-1")
	c.Must("TagResources", "ResourceType", "disk", "ResourceId.1", "d-free", "Tag.1.Key", "k", "Tag.1.Value", "v")
	if got := c.Must("DescribeDisks", "Tag.1.Key", "k", "ResourceGroupId", "rg-1", "ZoneId", "z-a", "DiskName",
		"n*"); got["TotalCount"] != 1.0 {
		t.Errorf("found by its tag: %v", got)
	}

	// A stopped instance gets a new system disk with its new image, and loses its key pair.
	c.Cloud.Instances["i-2"].KeyPairName = "key"
	params := []string{"InstanceId", "i-2", "ImageId", "ubuntu_24_04_x64_20G_alibase_20260101.vhd", "SystemDisk.Size", "60",
		"ClientToken", "t"}
	replaced := c.Must("ReplaceSystemDisk", params...)["DiskId"].(string)
	if again := c.Must("ReplaceSystemDisk", params...)["DiskId"]; again != replaced {
		t.Errorf("the repetition made %v", again)
	}
	i := c.Cloud.Instances["i-2"]
	if got := describeDisk(t, c, replaced); got["Size"] != 60.0 || got["InstanceId"] != "i-2" || i.ImageID != params[3] ||
		i.KeyPairName != "" {
		t.Errorf("disk %v of %+v", got, i)
	}
	if got := describeDisk(t, c, "d-system"); len(got) > 0 {
		t.Errorf("the former disk is there: %v", got)
	}
}

func TestDiskRefusals(t *testing.T) {
	t.Parallel()
	var tests []refusal
	add := func(action, want string, prepare func(*apitest.Caller), params ...string) {
		name := strings.Join(append([]string{want}, params...), " ")
		tests = append(tests, refusal{name[:min(len(name), 80)], func(c *apitest.Caller) {
			prepareDisks(c)
			if prepare != nil {
				prepare(c)
			}
		}, action, params, want})
	}
	busyInstance := func(c *apitest.Caller) { c.Cloud.Instances["i-1"].Status = "Starting" }
	attached := func(c *apitest.Caller) {
		c.Cloud.Disks["d-free"].InstanceID, c.Cloud.Disks["d-free"].Status = "i-1", "In_use"
	}
	busyDisk := func(c *apitest.Caller) { c.Cloud.Disks["d-free"].Status = "Creating" }
	full := func(c *apitest.Caller) {
		for n := range 17 {
			id := "d-" + string(rune('a'+n))
			c.Cloud.Disks[id] = &state.Disk{ID: id, Type: "data", InstanceID: "i-1", Status: "In_use", Device: "/dev/xvd" + string(rune('b'+n))}
		}
	}
	var tagged []string
	for n := range 21 {
		tagged = append(tagged, "Tag."+string(rune('1'+n%9))+string(rune('0'+n/9))+".Key", string(rune('a'+n)))
	}
	labels := func(action string, params ...string) {
		with := func(more ...string) []string { return append(append([]string{}, params...), more...) }
		add(action, "InvalidDescription.Malformed", nil, with("Description", "http://x")...)
		add(action, "InvalidTagKey.Malformed", nil, with("Tag.1.Key", "acs:x")...)
		add(action, "InvalidTagValue.Malformed", nil, with("Tag.1.Key", "k", "Tag.1.Value", "http://x")...)
		add(action, "Duplicate.TagKey", nil, with("Tag.1.Key", "k", "Tag.2.Key", "k")...)
		add(action, "QuotaExceed.Tags", nil, with(tagged...)...)
		add(action, "IdempotentParameterMismatch", func(c *apitest.Caller) { c.Must(action, with("ClientToken", "t")...) },
			with("ClientToken", "t", "Description", "other")...)
	}
	labels("CreateDisk", "ZoneId", "z-a", "Size", "20")
	labels("CreateSnapshot", "DiskId", "d-free")
	for _, tt := range [][]string{
		{"MissingParameter", "Size", "20"},
		{"MissingParameter", "ZoneId", "z-a"},
		{"InvalidParameter.Conflict", "ZoneId", "z-a", "InstanceId", "i-1", "Size", "20"},
		{"InvalidZoneId.NotFound", "ZoneId", "z-none", "Size", "20"},
		{"InvalidInstanceId.NotFound", "InstanceId", "i-none", "Size", "20"},
		{"InvalidDiskCategory.ValueNotSupported", "ZoneId", "z-a", "Size", "20", "DiskCategory", "paper"},
		{"InvalidSize.ValueNotSupported", "ZoneId", "z-a", "Size", "5"},
		{"InvalidSize.ValueNotSupported", "ZoneId", "z-a", "Size", "400", "DiskCategory", "cloud_essd", "PerformanceLevel", "PL2"},
		{"InvalidSnapshotId.NotFound", "ZoneId", "z-a", "SnapshotId", "s-none"},
		{"InvalidPerformanceLevel.Malformed", "ZoneId", "z-a", "Size", "20", "PerformanceLevel", "PL9"},
		{"InvalidDiskName.Malformed", "ZoneId", "z-a", "Size", "20", "DiskName", "1"},
	} {
		add("CreateDisk", tt[0], nil, tt[1:]...)
	}
	add("CreateDisk", "IncorrectInstanceStatus", busyInstance, "InstanceId", "i-1", "Size", "20")
	add("CreateDisk", "InstanceDiskLimitExceeded", full, "InstanceId", "i-1", "Size", "20")
	for _, action := range []string{"AttachDisk", "DetachDisk"} {
		add(action, "InvalidDiskId.NotFound", nil, "DiskId", "d-none", "InstanceId", "i-1")
		add(action, "InvalidInstanceId.NotFound", nil, "DiskId", "d-free", "InstanceId", "i-none")
		add(action, "IncorrectDiskStatus", busyDisk, "DiskId", "d-free", "InstanceId", "i-1")
		add(action, "DiskNotPortable", nil, "DiskId", "d-system", "InstanceId", "i-2")
	}
	add("AttachDisk", "IncorrectInstanceStatus", busyInstance, "DiskId", "d-free", "InstanceId", "i-1")
	add("AttachDisk", "InstanceDiskLimitExceeded", full, "DiskId", "d-free", "InstanceId", "i-1")
	add("AttachDisk", "ResourcesNotInSameZone", nil, "DiskId", "d-free", "InstanceId", "i-3")
	add("DetachDisk", "DependencyViolation", attached, "DiskId", "d-free", "InstanceId", "i-2")
	both := func(c *apitest.Caller) { attached(c); busyInstance(c) }
	add("DetachDisk", "IncorrectInstanceStatus", both, "DiskId", "d-free", "InstanceId", "i-1")
	add("DeleteDisk", "InvalidDiskId.NotFound", nil, "DiskId", "d-none")
	add("DeleteDisk", "DiskNotPortable", nil, "DiskId", "d-system")
	add("ResizeDisk", "InvalidDiskId.NotFound", nil, "DiskId", "d-none", "NewSize", "30")
	add("ResizeDisk", "IncorrectDiskStatus", busyDisk, "DiskId", "d-free", "NewSize", "30")
	add("ResizeDisk", "IncorrectInstanceStatus", both, "DiskId", "d-free", "NewSize", "30")
	add("ResizeDisk", "InvalidDiskSize.TooSmall", nil, "DiskId", "d-free", "NewSize", "20")
	add("ResizeDisk", "InvalidDiskSize.NotSupported", nil, "DiskId", "d-system", "NewSize", "2049")
	add("ResizeDisk", "IdempotentParameterMismatch", func(c *apitest.Caller) {
		c.Must("ResizeDisk", "DiskId", "d-free", "NewSize", "30", "ClientToken", "t")
	}, "DiskId", "d-free", "NewSize", "40", "ClientToken", "t")
	add("ModifyDiskAttribute", "InvalidDiskId.NotFound", nil, "DiskIds.1", "d-none")
	add("ModifyDiskAttribute", "MissingParameter", nil)
	add("ModifyDiskAttribute", "InvalidDiskName.Malformed", nil, "DiskId", "d-free", "DiskName", "1")
	add("ModifyDiskAttribute", "InvalidDescription.Malformed", nil, "DiskId", "d-free", "Description", "http://x")
	add("ModifyDiskSpec", "InvalidDiskId.NotFound", nil, "DiskId", "d-none")
	add("ModifyDiskSpec", "IncorrectDiskStatus", busyDisk, "DiskId", "d-free", "PerformanceLevel", "PL0")
	add("ModifyDiskSpec", "InvalidDiskCategory.ValueNotSupported", nil, "DiskId", "d-free", "DiskCategory", "paper")
	add("ModifyDiskSpec", "InvalidSize.ValueNotSupported", nil, "DiskId", "d-free", "PerformanceLevel", "PL2")
	add("ModifyDiskSpec", "InvalidPerformanceLevel.Malformed", nil, "DiskId", "d-free", "PerformanceLevel", "PL9")
	add("ModifyDiskSpec", "DryRunOperation", nil, "DiskId", "d-free", "PerformanceLevel", "PL0", "DryRun", "true")
	const image = "ubuntu_24_04_x64_20G_alibase_20260101.vhd"
	const replace = "ReplaceSystemDisk"
	add(replace, "InvalidInstanceId.NotFound", nil, "InstanceId", "i-none", "ImageId", image)
	add(replace, "IncorrectInstanceStatus", nil, "InstanceId", "i-1", "ImageId", image)
	add(replace, "InvalidImageId.NotFound", nil, "InstanceId", "i-2", "ImageId", "m-none")
	add(replace, "ImageNotSupportInstanceType", nil, "InstanceId", "i-2", "ImageId", "ubuntu_24_04_arm64_20G_alibase_20260101.vhd")
	add(replace, "InvalidSystemDiskSize.ValueNotSupported", nil, "InstanceId", "i-2", "ImageId", image, "SystemDisk.Size", "5")
	add(replace, "IdempotentParameterMismatch", func(c *apitest.Caller) {
		c.Must(replace, "InstanceId", "i-2", "ImageId", image, "ClientToken", "t")
	}, "InstanceId", "i-2", "ImageId", image, "ClientToken", "t", "SystemDisk.Size", "60")
	add("CreateSnapshot", "InvalidDiskId.NotFound", nil, "DiskId", "d-none")
	add("CreateSnapshot", "IncorrectDiskStatus", busyDisk, "DiskId", "d-free")
	add("CreateSnapshot", "InvalidSnapshotName.Malformed", nil, "DiskId", "d-free", "SnapshotName", "1")
	add("DeleteSnapshot", "InvalidSnapshotId.NotFound", nil, "SnapshotId", "s-none")
	add("DescribeDisks", "InvalidDiskIds.ValueNotSupported", nil, "DiskIds", "{}")
	add("DescribeDisks", "InvalidParameter", nil, "NextToken", "x")
	add("DescribeSnapshots", "InvalidSnapshotIds.Malformed", nil, "SnapshotIds", "{}")
	add("DescribeSnapshots", "InvalidParameter", nil, "NextToken", "x")
	add("DescribeSnapshots", "DryRunOperation", nil, "DryRun", "true")
	testRefusals(t, tests)
}
