package ecs_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func withDisks(c *apitest.Caller) {
	for id, instance := range map[string]string{"d-1": "i-1", "d-2": "i-1", "d-3": "i-2"} {
		c.Cloud.Disks[id] = &state.Disk{ID: id, InstanceID: instance, Type: "data", Status: "In_use", Category: "cloud_essd", Size: 20}
	}
}

// The CSI driver takes the snapshots of a group of volumes together, and deletes them together.
func TestSnapshotGroups(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	withDisks(c)
	c.Settings.SnapshotReady = time.Second
	params := []string{"InstanceId", "i-1", "Name", "group", "Tag.1.Key", "k", "ClientToken", "t"}
	id := c.Must("CreateSnapshotGroup", params...)["SnapshotGroupId"].(string)
	if again := c.Must("CreateSnapshotGroup", params...)["SnapshotGroupId"]; again != id {
		t.Errorf("the repetition made %v", again)
	}
	list := func(params ...string) []string {
		return apitest.List(c.Must("DescribeSnapshotGroups", params...), "Status", "SnapshotGroups", "SnapshotGroup")
	}
	if got := list("SnapshotGroupId.1", id); !cmp.Equal(got, []string{"progressing"}) {
		t.Errorf("at once: %v", got)
	}
	c.Pass(time.Second)
	filters := []string{"InstanceId", "i-1", "Name", "group", "Tag.1.Key", "k", "Status.1", "accomplished"}
	if got := list(filters...); !cmp.Equal(got, []string{"accomplished"}) {
		t.Errorf("a second later: %v", got)
	}
	of := apitest.List(c.Must("DescribeSnapshots"), "SourceDiskId", "Snapshots", "Snapshot")
	if len(of) != 2 {
		t.Errorf("snapshots of %v", of)
	}
	one := c.Must("CreateSnapshotGroup", "InstanceId", "i-1", "ExcludeDiskId.1", "d-1")["SnapshotGroupId"].(string)
	if n := len(c.Cloud.SnapshotGroups[one].SnapshotIDs); n != 1 {
		t.Errorf("%d snapshots without one disk", n)
	}
	for _, group := range []string{id, one} {
		c.Must("DeleteSnapshotGroup", "SnapshotGroupId", group)
	}
	if len(c.Cloud.Snapshots) != 0 || len(list()) != 0 {
		t.Errorf("left %v", c.Cloud.Snapshots)
	}
	once := func(c *apitest.Caller) { withDisks(c); c.Must("CreateSnapshotGroup", params...) }
	moving := func(c *apitest.Caller) { withDisks(c); c.Cloud.Disks["d-1"].Status = "Detaching" }
	few := func(c *apitest.Caller) { withDisks(c); c.Settings.Quotas.Tags = 0 }
	create := func(more ...string) []string { return append([]string{"InstanceId", "i-1"}, more...) }
	testRefusals(t, []refusal{
		{"instance", nil, "CreateSnapshotGroup", []string{"InstanceId", "i-none"}, "InvalidInstanceId.NotFound"},
		{"disk of another", withDisks, "CreateSnapshotGroup", create("DiskId.1", "d-3"), "InvalidDiskId.NotFound"},
		{"busy disk", moving, "CreateSnapshotGroup", create(), "IncorrectDiskStatus"},
		{"both", withDisks, "CreateSnapshotGroup", create("DiskId.1", "d-1", "ExcludeDiskId.1", "d-2"), "InvalidParameter"},
		{"name", withDisks, "CreateSnapshotGroup", create("Name", "1"), "InvalidName.Malformed"},
		{"description", withDisks, "CreateSnapshotGroup", create("Description", "http://x"), "InvalidDescription.Malformed"},
		{"key", withDisks, "CreateSnapshotGroup", create("Tag.1.Key", "acs:x"), "InvalidTagKey.Malformed"},
		{"value", withDisks, "CreateSnapshotGroup", create("Tag.1.Key", "k", "Tag.1.Value", "http://x"), "InvalidTagValue.Malformed"},
		{"twice", withDisks, "CreateSnapshotGroup", create("Tag.1.Key", "k", "Tag.2.Key", "k"), "Duplicate.TagKey"},
		{"tags", few, "CreateSnapshotGroup", create("Tag.1.Key", "k"), "QuotaExceed.Tags"},
		{"token", once, "CreateSnapshotGroup", create("ClientToken", "t"), "IdempotentParameterMismatch"},
		{"token of a page", nil, "DescribeSnapshotGroups", []string{"NextToken", "x"}, "InvalidParameter"},
		{"none", nil, "DeleteSnapshotGroup", []string{"SnapshotGroupId", "ssg-none"}, "InvalidSnapshotGroupId.NotFound"},
	})
}

// ModifyDiskSpec begins a task, which the CSI driver follows to its end.
func TestTasks(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	withDisks(c)
	c.Settings.DiskChange = time.Second
	id := c.Must("ModifyDiskSpec", "DiskId", "d-1", "PerformanceLevel", "PL0")["TaskId"].(string)
	for _, want := range []string{"Processing", "Finished"} {
		list := c.Must("DescribeTasks", "TaskIds", id, "ResourceIds.1", "d-1", "TaskAction", "ModifyDiskSpec")
		if got := apitest.List(list, "TaskStatus", "TaskSet", "Task"); !cmp.Equal(got, []string{want}) {
			t.Errorf("listed as %v, want %s", got, want)
		}
		if got := c.Must("DescribeTaskAttribute", "TaskId", id)["TaskStatus"]; got != want {
			t.Errorf("described as %v, want %s", got, want)
		}
		c.Pass(time.Second)
	}
	// Tasks are those of the last day, or those that began in the time of the call.
	at := func(ago time.Duration) string { return c.Now.Add(-ago).Format("2006-01-02T15:04:05Z") }
	for _, tt := range []struct {
		later  time.Duration
		params []string
		want   int
	}{
		{0, nil, 1},
		{0, []string{"StartTime", at(time.Hour)}, 1},
		{0, []string{"StartTime", at(0)}, 0},
		{0, []string{"EndTime", at(0)}, 1},
		{0, []string{"EndTime", at(time.Hour)}, 0},
		{48 * time.Hour, nil, 0},
		{0, []string{"StartTime", at(time.Hour)}, 1},
	} {
		c.Pass(tt.later)
		if got := apitest.List(c.Must("DescribeTasks", tt.params...), "TaskId", "TaskSet", "Task"); len(got) != tt.want {
			t.Errorf("%v, %s later: %v, want %d", tt.params, tt.later, got, tt.want)
		}
	}
	testRefusals(t, []refusal{
		{"none", nil, "DescribeTaskAttribute", []string{"TaskId", "t-none"}, "InvalidTaskId.NotFound"},
		{"no start", nil, "DescribeTasks", []string{"StartTime", "soon"}, "InvalidParameter"},
		{"no end", nil, "DescribeTasks", []string{"EndTime", "soon"}, "InvalidParameter"},
	})
}

// A network interface can be lent to another account (alicloud_ecs_network_interface_permission).
func TestInterfacePermissions(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	of := func(account string) []string {
		return []string{"NetworkInterfaceId", "eni-pod", "AccountId", account, "Permission", "InstanceAttach"}
	}
	made := c.Must("CreateNetworkInterfacePermission", of("1234")...)["NetworkInterfacePermission"].(map[string]any)
	id := made["NetworkInterfacePermissionId"].(string)
	if made["AccountId"] != 1234.0 || made["PermissionState"] != "Granted" {
		t.Errorf("made %v", made)
	}
	list := func() []string {
		return apitest.List(c.Must("DescribeNetworkInterfacePermissions", "NetworkInterfaceId", "eni-pod"), "NetworkInterfacePermissionId",
			"NetworkInterfacePermissions", "NetworkInterfacePermission")
	}
	if got := list(); !cmp.Equal(got, []string{id}) {
		t.Errorf("permissions %v", got)
	}
	c.Must("DeleteNetworkInterfacePermission", "NetworkInterfacePermissionId", id, "Force", "true")
	if got := list(); len(got) != 0 {
		t.Errorf("left %v", got)
	}
	given := func(c *apitest.Caller) { c.Must("CreateNetworkInterfacePermission", of("1234")...) }
	testRefusals(t, []refusal{
		{"interface", nil, "CreateNetworkInterfacePermission", append(of("1"), "NetworkInterfaceId", "eni-none"), "InvalidEniId.NotFound"},
		{"account", nil, "CreateNetworkInterfacePermission", of("me"), "InvalidAccountId.Malformed"},
		{"twice", given, "CreateNetworkInterfacePermission", of("1234"), "NetworkInterfacePermission.AlreadyExist"},
		{"none", nil, "DeleteNetworkInterfacePermission", []string{"NetworkInterfacePermissionId", "none"},
			"InvalidNetworkInterfacePermissionId.NotFound"},
	})
}
