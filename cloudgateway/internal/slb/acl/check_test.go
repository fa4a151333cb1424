package acl

import (
	"strings"
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

func TestChecks(t *testing.T) {
	long := strings.Repeat("x", 81)
	entry := func(cidr string) *slbv1.AccessControlEntry { return &slbv1.AccessControlEntry{Cidr: cidr} }
	const nothing = "name: at least one of name, add_entries, remove_entries, resource_group_id, set_tags, remove_tag_keys is required"
	checktest.Run(t, Checks(), []checktest.Case{
		{Request: &slbv1.GetAccessControlListRequest{AclId: "acl-1"}},
		{Request: &slbv1.GetAccessControlListRequest{}, Want: []string{"acl_id: is required"}},
		{Name: "of all", Request: &slbv1.ListAccessControlListsRequest{}},
		{Name: "by all filters", Request: &slbv1.ListAccessControlListsRequest{AclIds: []string{"acl-1"}, Name: long[:80],
			IpVersion: 1, ResourceGroupId: "rg-1"}},
		{Request: &slbv1.ListAccessControlListsRequest{AclIds: []string{""}, Name: long, IpVersion: 9, ResourceGroupId: "r g"}, Want: []string{
			"acl_ids[0]: is required", "name: is 81 characters long, must be 0 to 80", "ip_version: 9 is not known to this gateway",
			`resource_group_id: "r g" is not an id of the cloud`,
		}},
		{Name: "IPv4", Request: &slbv1.CreateAccessControlListRequest{RequestId: "r", Name: "n", Entries: []*slbv1.AccessControlEntry{
			{Cidr: "10.0.0.0/8", Comment: strings.Repeat("x", 256)}, entry("11.0.0.0/8"),
		}}},
		{Name: "IPv6", Request: &slbv1.CreateAccessControlListRequest{
			RequestId: "r", Name: "n", IpVersion: slbv1.IpVersion_IP_VERSION_IPV6, Entries: []*slbv1.AccessControlEntry{entry("fd00::/8")},
		}},
		{Request: &slbv1.CreateAccessControlListRequest{IpVersion: 9, ResourceGroupId: "r g", Entries: []*slbv1.AccessControlEntry{
			{Cidr: "10.0.0.0/8", Comment: strings.Repeat("x", 257)}, entry("10.0.0.0/8"), entry("10.1.0.0/8"), entry("fd00::/8"),
		}}, Want: []string{
			"request_id: must be 1 to 64 printable ASCII characters", "name: is 0 characters long, must be 1 to 80",
			"ip_version: 9 is not known to this gateway", `resource_group_id: "r g" is not an id of the cloud`,
			"entries[0].comment: is 257 characters long, must be 0 to 256", "entries[1].cidr: is the same network as entries[0].cidr",
			`entries[2].cidr: "10.1.0.0/8" has bits outside of its mask, write "10.0.0.0/8"`,
			`entries[3].cidr: "fd00::/8" is not of the list's family; a list takes either IPv4 or IPv6`,
		}},
		{Name: "of the other family", Request: &slbv1.CreateAccessControlListRequest{
			RequestId: "r", Name: "n", IpVersion: slbv1.IpVersion_IP_VERSION_IPV6, Entries: []*slbv1.AccessControlEntry{entry("10.0.0.0/8")},
		}, Want: []string{`entries[0].cidr: "10.0.0.0/8" is not of the list's family; a list takes either IPv4 or IPv6`}},
		{Name: "with too many", Request: &slbv1.CreateAccessControlListRequest{
			RequestId: "r", Name: "n", Entries: make([]*slbv1.AccessControlEntry, 20_001),
		}, Want: []string{"entries: has 20001 items, at most 20000 are allowed"}},
		{Name: "of the name", Request: &slbv1.UpdateAccessControlListRequest{AclId: "acl-1", Name: new("n")}},
		{Name: "of the group", Request: &slbv1.UpdateAccessControlListRequest{AclId: "acl-1", ResourceGroupId: new("rg-1")}},
		{Name: "of a tag", Request: &slbv1.UpdateAccessControlListRequest{AclId: "acl-1", SetTags: []*commonv1.Tag{{Key: "a"}}}},
		{Name: "without a tag", Request: &slbv1.UpdateAccessControlListRequest{AclId: "acl-1", RemoveTagKeys: []string{"a"}}},
		{Name: "with an entry", Request: &slbv1.UpdateAccessControlListRequest{AclId: "acl-1",
			AddEntries: []*slbv1.AccessControlEntry{entry("fd00::/8")}}},
		{Name: "without an entry", Request: &slbv1.UpdateAccessControlListRequest{AclId: "acl-1", RemoveEntries: []string{"fd00::/8"}}},
		{Name: "of one entry for another", Request: &slbv1.UpdateAccessControlListRequest{
			AclId: "acl-1", AddEntries: []*slbv1.AccessControlEntry{entry("10.0.0.0/8")}, RemoveEntries: []string{"11.0.0.0/8"},
		}},
		{Name: "of an entry and a tag", Request: &slbv1.UpdateAccessControlListRequest{
			AclId: "acl-1", AddEntries: []*slbv1.AccessControlEntry{entry("10.0.0.0/8")}, SetTags: []*commonv1.Tag{{Key: "a"}},
		}},
		{Name: "of one tag for another", Request: &slbv1.UpdateAccessControlListRequest{
			AclId: "acl-1", SetTags: []*commonv1.Tag{{Key: "a"}}, RemoveTagKeys: []string{"b"},
		}},
		{Name: "of nothing", Request: &slbv1.UpdateAccessControlListRequest{AclId: "acl-1"}, Want: []string{nothing}},
		{Request: &slbv1.UpdateAccessControlListRequest{
			Name: new(""), ResourceGroupId: new(""), AddEntries: []*slbv1.AccessControlEntry{entry("10.0.0.0/8")},
			RemoveEntries: []string{"fd00::/8", "fd00::/8"},
		}, Want: []string{
			"acl_id: is required", "name: is 0 characters long, must be 1 to 80", "resource_group_id: is required",
			`add_entries[0].cidr: "10.0.0.0/8" is not of the list's family; a list takes either IPv4 or IPv6`,
			"remove_entries[1]: is the same network as remove_entries[0]",
		}},
		{Name: "without too many", Request: &slbv1.UpdateAccessControlListRequest{AclId: "acl-1",
			RemoveEntries: make([]string, 20_001)}, Want: []string{
			"remove_entries: has 20001 items, at most 20000 are allowed",
		}},
		{Request: &slbv1.DeleteAccessControlListRequest{AclId: "acl-1"}},
		{Request: &slbv1.DeleteAccessControlListRequest{}, Want: []string{"acl_id: is required"}},
	})
}
