package ecs_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
)

// Terraform's acceptance tests make rules of security groups that name a prefix list, and change its entries meanwhile.
func TestPrefixLists(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	params := []string{"PrefixListName", "offices", "AddressFamily", "IPv4", "MaxEntries", "2", "Entry.1.Cidr", "192.0.2.0/24",
		"Entry.1.Description", "first", "ClientToken", "t"}
	id := c.Must("CreatePrefixList", params...)["PrefixListId"].(string)
	if again := c.Must("CreatePrefixList", params...)["PrefixListId"]; again != id {
		t.Errorf("the repetition made %v", again)
	}
	c.Must("ModifyPrefixList", "PrefixListId", id, "RemoveEntry.1.Cidr", "192.0.2.0/24", "AddEntry.1.Cidr", "198.51.100.0/24",
		"AddEntry.2.Cidr",
		"203.0.113.0/24", "Description", "of the company")
	shown := c.Must("DescribePrefixListAttributes", "PrefixListId", id)
	if got := apitest.List(shown, "Cidr", "Entries", "Entry"); !cmp.Equal(got, []string{"198.51.100.0/24", "203.0.113.0/24"}) ||
		shown["Description"] != "of the company" || shown["PrefixListName"] != "offices" || shown["MaxEntries"] != 2.0 {
		t.Errorf("it is %v", shown)
	}
	for _, tt := range []struct {
		params []string
		want   int
	}{
		{nil, 1}, {[]string{"PrefixListId.1", id, "PrefixListName", "offices", "AddressFamily", "IPv4"}, 1},
		{[]string{"AddressFamily", "IPv6"}, 0},
		{[]string{"PrefixListName", "others"}, 0}, {[]string{"PrefixListId.1", "pl-none"}, 0},
	} {
		if got := apitest.List(c.Must("DescribePrefixLists", tt.params...), "PrefixListId", "PrefixLists", "PrefixList"); len(got) != tt.want {
			t.Errorf("%v finds %v", tt.params, got)
		}
	}
	c.Must("AuthorizeSecurityGroup", "SecurityGroupId", "sg-1", "IpProtocol", "tcp", "PortRange", "80/80", "SourcePrefixListId", id)
	rules := c.Must("DescribeSecurityGroupAttribute", "SecurityGroupId", "sg-1")
	if got := apitest.List(rules, "SourcePrefixListId", "Permissions", "Permission"); !cmp.Equal(got, []string{id}) {
		t.Errorf("rules of %v", got)
	}
	used := c.Must("DescribePrefixListAssociations", "PrefixListId", id)
	if got := apitest.List(used, "ResourceId", "PrefixListAssociations", "PrefixListAssociation"); !cmp.Equal(got, []string{"sg-1"}) {
		t.Errorf("used by %v", got)
	}
	if _, code := c.Call("DeletePrefixList", "PrefixListId", id); code != "DependencyViolation" {
		t.Errorf("while it is used: %q", code)
	}
	c.Must("RevokeSecurityGroup", "SecurityGroupId", "sg-1", "IpProtocol", "tcp", "PortRange", "80/80", "SourcePrefixListId", id)
	c.Must("DeletePrefixList", "PrefixListId", id)
	made := func(c *apitest.Caller) { c.Must("CreatePrefixList", params...) }
	create := func(change ...string) []string {
		out := []string{"PrefixListName", "offices", "AddressFamily", "IPv4", "MaxEntries", "1"}
		return append(out, change...)
	}
	const bad = "InvalidParameter"
	testRefusals(t, []refusal{
		{"name", nil, "CreatePrefixList", create("PrefixListName", "1"), "InvalidPrefixListName.Malformed"},
		{"description", nil, "CreatePrefixList", create("Description", strings.Repeat("x", 257)), "InvalidDescription.Malformed"},
		{"block", nil, "CreatePrefixList", create("Entry.1.Cidr", "192.0.2.0"), bad},
		{"family", nil, "CreatePrefixList", create("Entry.1.Cidr", "2001:db8::/32"), bad},
		{"twice", nil, "CreatePrefixList", create("MaxEntries", "9", "Entry.1.Cidr", "192.0.2.0/24", "Entry.2.Cidr", "192.0.2.0/24"), bad},
		{"too many", nil, "CreatePrefixList", create("Entry.1.Cidr", "192.0.2.0/24", "Entry.2.Cidr", "198.51.100.0/24"), bad},
		{"token", made, "CreatePrefixList", create("ClientToken", "t"), "IdempotentParameterMismatch"},
		{"page", nil, "DescribePrefixLists", []string{"NextToken", "x"}, bad},
		{"none", nil, "DescribePrefixListAttributes", []string{"PrefixListId", "pl-none"}, "InvalidPrefixListId.NotFound"},
		{"none", nil, "DescribePrefixListAssociations", []string{"PrefixListId", "pl-none"}, "InvalidPrefixListId.NotFound"},
		{"none", nil, "ModifyPrefixList", []string{"PrefixListId", "pl-none"}, "InvalidPrefixListId.NotFound"},
		{"none", nil, "DeletePrefixList", []string{"PrefixListId", "pl-none"}, "InvalidPrefixListId.NotFound"},
	})
	id = c.Must("CreatePrefixList", create("PrefixListName", "others")...)["PrefixListId"].(string)
	for _, tt := range [][]string{
		{"InvalidPrefixListName.Malformed", "PrefixListName", "1"}, {"InvalidDescription.Malformed", "Description", "http://x"},
		{bad, "RemoveEntry.1.Cidr", "192.0.2.0/24"}, {bad, "AddEntry.1.Cidr", "x"},
	} {
		if _, code := c.Call("ModifyPrefixList", append([]string{"PrefixListId", id}, tt[1:]...)...); code != tt[0] {
			t.Errorf("%v: %q", tt[1:], code)
		}
	}
	if _, code := c.Call("DescribePrefixListAssociations", "PrefixListId", id, "NextToken", "x"); code != bad {
		t.Errorf("a strange token: %q", code)
	}
}
