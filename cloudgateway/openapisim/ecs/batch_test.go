package ecs_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
)

// changes shows what a batch did, as "i-1 Running Stopping 200".
func changes(answer map[string]any) []string {
	var out []string
	for _, item := range answer["InstanceResponses"].(map[string]any)["InstanceResponse"].([]any) {
		r := item.(map[string]any)
		out = append(out, strings.Join([]string{
			r["InstanceId"].(string), r["PreviousStatus"].(string), r["CurrentStatus"].(string), r["Code"].(string),
		}, " "))
	}
	return out
}

// A batch does something to all of its instances or to none, unless it may do it to some. Answer and parameters are those of the SDKs
// (StartInstances, StopInstances, RebootInstances and DeleteInstances of version 1, v1.63.107).
func TestBatches(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	c.Settings.InstanceStop, c.Settings.InstanceStart = time.Second, time.Second
	both := []string{"InstanceId.1", "i-1", "InstanceId.2", "i-2"}
	if _, code := c.Call("StopInstances", both...); code != "IncorrectInstanceStatus" {
		t.Errorf("a batch with a stopped instance: %q", code)
	}
	for _, step := range []struct {
		action, how string
		want        []string
	}{
		{"StopInstances", "SuccessFirst", []string{"i-1 Running Stopping 200", "i-2 Stopped Stopped IncorrectInstanceStatus"}},
		{"StartInstances", "", []string{"i-1 Stopped Starting 200", "i-2 Stopped Starting 200"}},
		{"RebootInstances", "AllTogether", []string{"i-1 Running Stopping 200", "i-2 Running Stopping 200"}},
	} {
		params := both
		if step.how != "" {
			params = append(slices.Clone(both), "BatchOptimization", step.how)
		}
		if diff := cmp.Diff(step.want, changes(c.Must(step.action, params...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.action, diff)
		}
		c.Pass(time.Minute)
		c.Call("DescribeInstances") // settles
	}
	c.Settings.InstanceDelete = time.Second
	gone := append(slices.Clone(both), "Force", "true", "ClientToken", "t")
	if first, again := c.Must("DeleteInstances", gone...), c.Must("DeleteInstances", gone...); first["TaskGroupId"] != again["TaskGroupId"] {
		t.Errorf("the repetition answers %v, not %v", again, first)
	}
	c.Pass(time.Minute)
	if left := apitest.List(c.Must("DescribeInstances"), "InstanceId", "Instances", "Instance"); !cmp.Equal(left, []string{"i-3"}) {
		t.Errorf("left %v", left)
	}
}

func TestBatchRefusals(t *testing.T) {
	t.Parallel()
	protect := func(c *apitest.Caller) { c.Cloud.Instances["i-1"].DeletionProtection = true }
	once := func(c *apitest.Caller) { c.Must("DeleteInstances", "InstanceId.1", "i-2", "ClientToken", "t") }
	tests := []refusal{
		{"running", nil, "DeleteInstances", []string{"InstanceId.1", "i-2", "InstanceId.2", "i-1"}, "IncorrectInstanceStatus"},
		{"protected", protect, "DeleteInstances", []string{"InstanceId.1", "i-1", "Force", "true"}, "InvalidOperation.DeletionProtection"},
		{"token", once, "DeleteInstances", []string{"InstanceId.1", "i-1", "ClientToken", "t"}, "IdempotentParameterMismatch"},
		{"started", nil, "StartInstances", []string{"InstanceId.1", "i-1"}, "IncorrectInstanceStatus"},
		{"stopped", nil, "RebootInstances", []string{"InstanceId.1", "i-2"}, "IncorrectInstanceStatus"},
	}
	for action, ready := range map[string]string{
		"StartInstances": "i-2", "StopInstances": "i-1", "RebootInstances": "i-1", "DeleteInstances": "i-2",
	} {
		tests = append(tests,
			refusal{"unknown", nil, action, []string{"InstanceId.1", ready, "InstanceId.2", "i-none"}, "InvalidInstanceId.NotFound"},
			refusal{"dry run", nil, action, []string{"InstanceId.1", ready, "DryRun", "true"}, "DryRunOperation"},
			refusal{"nothing", nil, action, nil, "MissingParameter"})
	}
	testRefusals(t, tests)
}

// A role is given to an instance that has none, and taken from one that has it; what came of it is said for each.
func TestRoles(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	result := func(action, role string) string {
		t.Helper()
		params := []string{"InstanceIds", `["i-1"]`}
		if role != "" {
			params = append(params, "RamRoleName", role)
		}
		member := strings.TrimSuffix(action, "InstanceRamRole") + "InstanceRamRoleResult"
		codes := apitest.List(c.Must(action, params...), "Code", member+"s", member)
		return strings.Join(codes, " ")
	}
	for _, step := range []struct{ action, role, want, has string }{
		{"AttachInstanceRamRole", "a", "200", "a"}, {"AttachInstanceRamRole", "a", "200", "a"},
		{"AttachInstanceRamRole", "b", "InvalidRamRole.AlreadyAttached", "a"},
		{"DetachInstanceRamRole", "b", "InvalidInstance.UnAttached", "a"}, {"DetachInstanceRamRole", "a", "200", ""},
		{"DetachInstanceRamRole", "", "InvalidInstance.UnAttached", ""},
	} {
		if got := result(step.action, step.role); got != step.want {
			t.Errorf("%s %s: %s, want %s", step.action, step.role, got, step.want)
		}
		roles := c.Must("DescribeInstanceRamRole", "InstanceIds", `["i-1"]`)
		if got := apitest.List(roles, "RamRoleName", "InstanceRamRoleSets", "InstanceRamRoleSet"); !cmp.Equal(got, []string{step.has}) {
			t.Errorf("after %s %s the instance has %v", step.action, step.role, got)
		}
	}
	pools := c.Must("DescribeInstanceAttachmentAttributes", "InstanceIds", `["i-1","i-none"]`)
	if ids := apitest.List(pools, "InstanceId", "Instances", "Instance"); !cmp.Equal(ids, []string{"i-1"}) {
		t.Errorf("attachments of %v", ids)
	}
	testRefusals(t, []refusal{
		{"unknown", nil, "AttachInstanceRamRole", []string{"InstanceIds", `["i-none"]`, "RamRoleName", "a"}, "InvalidInstanceId.NotFound"},
		{"no list", nil, "AttachInstanceRamRole", []string{"InstanceIds", `i-1`, "RamRoleName", "a"}, "InvalidParameter"},
		{"unknown", nil, "DetachInstanceRamRole", []string{"InstanceIds", `["i-none"]`}, "InvalidInstanceId.NotFound"},
		{"no list", nil, "DetachInstanceRamRole", []string{"InstanceIds", `i-1`}, "InvalidParameter"},
		{"no list", nil, "DescribeInstanceAttachmentAttributes", []string{"InstanceIds", `i-1`}, "InvalidParameter"},
	})
}

// AddTags, DescribeTags and RemoveTags are what TagResources and its kin were called before; the CSI driver and Karpenter use them.
func TestLegacyTags(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	of := func(more ...string) []string {
		return append([]string{"ResourceType", "instance", "ResourceId", "i-1"}, more...)
	}
	list := func(params ...string) []string {
		return apitest.List(c.Must("DescribeTags", params...), "TagKey", "Tags", "Tag")
	}
	c.Must("AddTags", of("Tag.1.Key", "a", "Tag.1.Value", "1", "Tag.2.Key", "b", "Tag.2.Value", "2")...)
	if got := list(of()...); !cmp.Equal(got, []string{"a", "b", "k"}) {
		t.Errorf("tags %v", got)
	}
	if got := list("Tag.1.Key", "b"); !cmp.Equal(got, []string{"b"}) {
		t.Errorf("tags of that key %v", got)
	}
	c.Must("RemoveTags", of("Tag.1.Key", "a", "Tag.2.Key", "b", "Tag.2.Value", "other", "Tag.3.Key", "none")...)
	if got := list(of()...); !cmp.Equal(got, []string{"b", "k"}) {
		t.Errorf("left %v: the one with another value stays", got)
	}
	if got := list("ResourceType", "disk"); len(got) != 0 {
		t.Errorf("disks have %v", got)
	}
	var many, new21 []string
	for n := range 21 {
		many = append(many, "Tag."+string(rune('1'+n%9))+strings.Repeat("0", n/9)+".Key", "k"+string(rune('a'+n)))
		if n < 20 {
			new21 = append(new21, many[2*n], many[2*n+1])
		}
	}
	testRefusals(t, []refusal{
		{"type", nil, "AddTags", []string{"ResourceType", "cloud", "ResourceId", "i-1", "Tag.1.Key", "a"}, "InvalidResourceType.NotFound"},
		{"id", nil, "AddTags", []string{"ResourceType", "instance", "ResourceId", "i-none", "Tag.1.Key", "a"}, "InvalidResourceId.NotFound"},
		{"key", nil, "AddTags", of("Tag.1.Key", "acs:x"), "InvalidTagKey.Malformed"},
		{"value", nil, "AddTags", of("Tag.1.Key", "a", "Tag.1.Value", "http://x"), "InvalidTagValue.Malformed"},
		{"twice", nil, "AddTags", of("Tag.1.Key", "a", "Tag.2.Key", "a"), "Duplicate.TagKey"},
		{"21 tags", nil, "AddTags", of(many...), "NumberExceed.Tags"},
		{"20 more", nil, "AddTags", of(new21...), "QuotaExceed.Tags"},
		{"type", nil, "RemoveTags", []string{"ResourceType", "cloud", "ResourceId", "i-1", "Tag.1.Key", "a"}, "InvalidResourceType.NotFound"},
		{"id", nil, "RemoveTags", []string{"ResourceType", "disk", "ResourceId", "d-none", "Tag.1.Key", "a"}, "InvalidResourceId.NotFound"},
		{"21 tags", nil, "RemoveTags", of(many...), "NumberExceed.Tags"},
		{"type", nil, "DescribeTags", []string{"ResourceType", "cloud"}, "InvalidResourceType.NotFound"},
	})
}
