package slb

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAccessControlListCodes(t *testing.T) {
	t.Parallel()
	key := params{"AclId": "acl-1"}
	entry := func(e string) params { return key.with("AclEntrys", `[{"entry":"`+e+`"}]`) }
	var fifty []string
	for i := range 51 {
		fifty = append(fifty, fmt.Sprintf(`{"entry":"11.0.0.%d","comment":"c"}`, i))
	}
	for action, tests := range map[string][]codeTest{
		"CreateAccessControlList": {
			{"ok", params{"AclName": "n", "AddressIPVersion": "ipv6", "Tag.1.Key": "k"}, ""},
			{"long name", params{"AclName": strings.Repeat("x", 81)}, "InvalidParameter"},
		},
		"DeleteAccessControlList": {
			{"ok", params{"AclId": "acl-2"}, ""},
			{"used", key, "OperationFailed.AclBindedWithVip"},
			{"unknown", params{"AclId": "acl-x"}, "AclNotExist"},
		},
		"SetAccessControlListAttribute": {
			{"ok", key.with("AclName", "n"), ""},
			{"long name", key.with("AclName", strings.Repeat("x", 81)), "InvalidParameter"},
			{"unknown", params{"AclId": "acl-x", "AclName": "n"}, "AclNotExist"},
		},
		"DescribeAccessControlListAttribute": {
			{"ok", key, ""},
			{"page beyond the end", key.with("Page", "2147483647", "PageSize", "50"), ""},
			{"unknown", params{"AclId": "acl-x"}, "AclNotExist"},
		},
		"AddAccessControlListEntry": {
			{"network", entry("11.0.0.0/8"), ""},
			{"address", entry("11.0.0.1"), ""},
			{"fifty", key.with("AclEntrys", "["+strings.Join(fifty[:50], ",")+"]"), ""},
			{"fifty-one", key.with("AclEntrys", "["+strings.Join(fifty, ",")+"]"), "AclEntryExceedLimit"},
			{"exists", entry("10.0.0.0/8"), "InvalidParam.AclEntryExists"},
			{"twice", key.with("AclEntrys", `[{"entry":"11.0.0.1"},{"entry":"11.0.0.1/32"}]`), "InvalidParam.AclEntryExists"},
			{"no network", entry("x"), "AclEntryIllegal"},
			{"IPv6 in an IPv4 list", entry("fd00::/8"), "AclEntryIllegal"},
			{"long comment", key.with("AclEntrys", `[{"entry":"11.0.0.1","comment":"`+strings.Repeat("x", 257)+`"}]`), "InvalidParam.Comment"},
			{"no JSON", key.with("AclEntrys", "x"), "InvalidParameter"},
			{"none", key, "MissingParameter"},
			{"unknown", params{"AclId": "acl-x", "AclEntrys": "[]"}, "AclNotExist"},
		},
		"RemoveAccessControlListEntry": {
			{"ok", entry("10.0.0.0/8"), ""},
			{"one that is not there", entry("11.0.0.0/8"), ""},
			{"long comment", key.with("AclEntrys", `[{"entry":"10.0.0.0/8","comment":"`+strings.Repeat("x", 257)+`"}]`), ""},
			{"fifty-one", key.with("AclEntrys", "["+strings.Join(fifty, ",")+"]"), "AclEntryExceedLimit"},
			{"no network", entry("x"), "AclEntryIllegal"},
			{"no JSON", key.with("AclEntrys", "x"), "InvalidParameter"},
			{"of an empty list", entry("10.0.0.0/8").with("AclId", "acl-2"), "AclEntryEmpty"},
			{"none", key, "MissingParameter"},
			{"unknown", params{"AclId": "acl-x", "AclEntrys": "[]"}, "AclNotExist"},
		},
	} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			testCodes(t, action, tests)
		})
	}
}

func TestAccessControlLists(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.call("CreateAccessControlList", params{"AclName": "three", "Tag.1.Key": "k"}).text("AclId")
	c.call("AddAccessControlListEntry",
		params{"AclId": id, "AclEntrys": `[{"entry":"11.1.2.3/8","comment":"a"},{"entry":"12.0.0.1","comment":"b"}]`})
	got := c.call("DescribeAccessControlListAttribute", params{"AclId": id})
	if diff := cmp.Diff([]string{"11.0.0.0/8", "12.0.0.1/32"}, got.texts("AclEntrys.AclEntry", "AclEntryIP")); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	got = c.call("DescribeAccessControlListAttribute", params{"AclId": id, "AclEntryComment": "b"})
	if diff := cmp.Diff([]string{"12.0.0.1/32"}, got.texts("AclEntrys.AclEntry", "AclEntryIP")); diff != "" {
		t.Errorf("entries by comment (-want +got):\n%s", diff)
	}
	got = c.call("DescribeAccessControlListAttribute", params{"AclId": id, "Page": "2", "PageSize": "1"})
	if diff := cmp.Diff([]string{"12.0.0.1/32"}, got.texts("AclEntrys.AclEntry", "AclEntryIP")); diff != "" || got["TotalAclEntry"] != 2.0 {
		t.Errorf("second page of %v (-want +got):\n%s", got["TotalAclEntry"], diff)
	}
	c.call("RemoveAccessControlListEntry", params{"AclId": id, "AclEntrys": `[{"entry":"12.0.0.1/32"}]`})
	if got := c.call("DescribeAccessControlListAttribute", params{"AclId": id})["TotalAclEntry"]; got != 1.0 {
		t.Errorf("%v entries are left, want 1", got)
	}
	related := c.call("DescribeAccessControlListAttribute", params{"AclId": "acl-1"}).at("RelatedListeners.RelatedListener.0")
	want := map[string]any{"LoadBalancerId": "lb-1", "ListenerPort": 80.0, "Protocol": protoTCP, "AclType": "white"}
	if diff := cmp.Diff(want, related); diff != "" {
		t.Errorf("related listener (-want +got):\n%s", diff)
	}
	for name, tt := range map[string]struct {
		params params
		want   []string
	}{
		"by name":    {params{"AclName": "thr"}, []string{"three"}},
		"by version": {params{"AddressIPVersion": "ipv6"}, []string{"six"}},
		"by tag":     {params{"Tag.1.Key": "k"}, []string{"three"}},
		"by page":    {params{"AddressIPVersion": "ipv4", "PageNumber": "2", "PageSize": "2"}, []string{"three"}},
	} {
		if diff := cmp.Diff(tt.want, c.call("DescribeAccessControlLists", tt.params).texts("Acls.Acl", "AclName")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAccessControlListQuotas(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.settings.Quotas.Acls, c.settings.Quotas.AclEntries = 3, 1
	if got := c.code("CreateAccessControlList", params{"AclName": "n"}); got != "AclNumberOverLimit" {
		t.Errorf("got code %q, want AclNumberOverLimit", got)
	}
	if got := c.code("AddAccessControlListEntry",
		params{"AclId": "acl-1", "AclEntrys": `[{"entry":"1.1.1.1"}]`}); got != "AclEntryExceedLimit" {
		t.Errorf("got code %q, want AclEntryExceedLimit", got)
	}
}
