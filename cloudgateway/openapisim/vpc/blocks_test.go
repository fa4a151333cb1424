package vpc_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// A VPC gets further blocks, in which vSwitches can be, and loses them when nothing is in them, as the Terraform provider's alicloud_vpc
// (secondary_cidr_blocks) and alicloud_vpc_ipv4_cidr_block do it.
func TestSecondaryBlocks(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	of := func(more ...string) []string { return append([]string{"VpcId", "vpc-1"}, more...) }
	shown := func() map[string]any {
		return members(c.Must("DescribeVpcAttribute", of()...), "SecondaryCidrBlocks", "ClassicLinkEnabled", "Ipv6CidrBlock")
	}
	c.Must("AssociateVpcCidrBlock", of("SecondaryCidrBlock", "10.5.0.0/16", "IpVersion", "IPV4")...)
	c.Must("AssociateVpcCidrBlock", of("SecondaryCidrBlock", "10.6.0.0/16")...)
	c.Must("EnableVpcClassicLink", of()...)
	want := map[string]any{
		"SecondaryCidrBlocks": map[string]any{"SecondaryCidrBlock": []any{"10.5.0.0/16", "10.6.0.0/16"}}, "ClassicLinkEnabled": true,
		"Ipv6CidrBlock": "2408::/56",
	}
	if diff := cmp.Diff(want, shown()); diff != "" {
		t.Errorf("with two more (-want +got):\n%s", diff)
	}
	vsw := c.Must("CreateVSwitch", of("ZoneId", "z-a", "CidrBlock", "10.5.1.0/24")...)["VSwitchId"].(string)
	if _, code := c.Call("UnassociateVpcCidrBlock", of("SecondaryCidrBlock", "10.5.0.0/16")...); code != "DependencyViolation.VSwitch" {
		t.Errorf("a block with a vSwitch in it: %q", code)
	}
	c.Must("DeleteVSwitch", "VSwitchId", vsw)
	c.Must("UnassociateVpcCidrBlock", of("SecondaryCidrBlock", "10.5.0.0/16")...)
	c.Must("DisableVpcClassicLink", of()...)
	c.Must("AssociateVpcCidrBlock", of("IpVersion", "IPV6")...)
	c.Must("AssociateVpcCidrBlock", of("IPv6CidrBlock", "2409::/56")...)
	c.Must("UnassociateVpcCidrBlock", of("IPv6CidrBlock", "2409::/56")...)
	want["SecondaryCidrBlocks"], want["ClassicLinkEnabled"] = map[string]any{"SecondaryCidrBlock": []any{"10.6.0.0/16"}}, false
	if diff := cmp.Diff(want, shown()); diff != "" {
		t.Errorf("with one more (-want +got):\n%s", diff)
	}
	if n := len(c.Cloud.Vpcs["vpc-1"].Ipv6Cidrs); n != 2 {
		t.Errorf("%d IPv6 blocks, want the first and one of the cloud's", n)
	}
}

func TestRefusedBlocks(t *testing.T) {
	t.Parallel()
	of := func(more ...string) []string { return append([]string{"VpcId", "vpc-1"}, more...) }
	full := func(c *apitest.Caller) {
		for n := range 5 {
			c.Must("AssociateVpcCidrBlock", of("SecondaryCidrBlock", fmt.Sprintf("10.%d.0.0/16", n))...)
			c.Must("AssociateVpcCidrBlock", of("IpVersion", "IPV6")...)
		}
	}
	tests := []refusal{
		{"nothing", nil, "AssociateVpcCidrBlock", of(), "MissingParameter"},
		{"no block", nil, "AssociateVpcCidrBlock", of("SecondaryCidrBlock", "10.0.0.1/8"), "InvalidParameter"},
		{"reserved", nil, "AssociateVpcCidrBlock", of("SecondaryCidrBlock", "100.64.0.0/16"), "InvalidParameter"},
		{"no IPv6 block", nil, "AssociateVpcCidrBlock", of("IPv6CidrBlock", "2408::/64"), "InvalidParameter"},
		{"overlap", nil, "AssociateVpcCidrBlock", of("SecondaryCidrBlock", "192.168.4.0/24"), "OperationDenied.CidrConflictWithExistCidr"},
		{"there", nil, "AssociateVpcCidrBlock", of("IPv6CidrBlock", "2408::/56"), "OperationDenied.CidrConflictWithExistCidr"},
		{"sixth", full, "AssociateVpcCidrBlock", of("SecondaryCidrBlock", "10.9.0.0/16"), "QuotaExceeded.VpcCidrBlock"},
		{"sixth", full, "AssociateVpcCidrBlock", of("IpVersion", "IPV6"), "QuotaExceeded.VpcCidrBlock"},
		{"nothing", nil, "UnassociateVpcCidrBlock", of(), "MissingParameter"},
		{"the first one", nil, "UnassociateVpcCidrBlock", of("SecondaryCidrBlock", "192.168.0.0/16"), "InvalidParameter"},
	}
	pending := func(c *apitest.Caller) { c.Cloud.Vpcs["vpc-1"].PendingUntil = c.Now.Add(time.Second) }
	for _, action := range []string{"AssociateVpcCidrBlock", "UnassociateVpcCidrBlock", "EnableVpcClassicLink", "DisableVpcClassicLink"} {
		tests = append(tests,
			refusal{"unknown", nil, action, []string{"VpcId", "vpc-none"}, "InvalidVpcId.NotFound"},
			refusal{"pending", pending, action, of("SecondaryCidrBlock", "10.0.0.0/8"), "IncorrectVpcStatus"})
	}
	testRefusals(t, tests)
}

// A region has one default VPC, and each zone of it one default vSwitch (documents of CreateDefaultVpc and CreateDefaultVSwitch).
func TestDefaultNetwork(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	if _, code := c.Call("CreateDefaultVSwitch", "ZoneId", "z-a"); code != "InvalidDefaultVpc.NotFound" {
		t.Errorf("a vSwitch without a VPC: %q", code)
	}
	made := c.Must("CreateDefaultVpc", "EnableIpv6", "true", "ResourceGroupId", "rg-2", "ClientToken", "t")
	if diff := cmp.Diff(made, c.Must("CreateDefaultVpc", "EnableIpv6", "true", "ResourceGroupId", "rg-2", "ClientToken", "t")); diff != "" {
		t.Errorf("the repetition answers otherwise (-first +second):\n%s", diff)
	}
	id := made["VpcId"].(string)
	got := members(c.Must("DescribeVpcAttribute", "VpcId", id), "IsDefault", "CidrBlock", "ResourceGroupId", "Status")
	if diff := cmp.Diff(map[string]any{
		"IsDefault": true, "CidrBlock": "172.31.0.0/16", "ResourceGroupId": "rg-2", "Status": "Available",
	}, got); diff != "" {
		t.Errorf("the VPC (-want +got):\n%s", diff)
	}
	for zone, block := range map[string]string{"z-a": "172.31.0.0/20", "z-b": "172.31.16.0/20"} {
		if zone == "z-b" {
			continue
		}
		vsw := c.Must("CreateDefaultVSwitch", "ZoneId", zone, "Ipv6CidrBlock", "7", "ClientToken", zone)["VSwitchId"]
		shown := c.Must("DescribeVSwitchAttributes", "VSwitchId", fmt.Sprint(vsw))
		if shown["IsDefault"] != true || shown["CidrBlock"] != block || shown["VpcId"] != id || shown["ZoneId"] != zone {
			t.Errorf("the vSwitch of %s is %v", zone, shown)
		}
	}
	next := c.Must("CreateDefaultVSwitch", "ZoneId", "z-b")["VSwitchId"].(string)
	if got := c.Cloud.VSwitches[next].CidrBlock; got != "172.31.16.0/20" {
		t.Errorf("the second zone has %s", got)
	}
	if _, code := c.Call("ModifyVpcAttribute", "VpcId", id, "CidrBlock", "172.16.0.0/12"); code != "InvalidParameter" {
		t.Errorf("another block for the default VPC: %q", code)
	}
}

func TestRefusedDefaults(t *testing.T) {
	t.Parallel()
	there := func(c *apitest.Caller) { c.Must("CreateDefaultVpc", "ClientToken", "t") }
	changed := func(change func(*apitest.Caller, *state.Vpc)) func(*apitest.Caller) {
		return func(c *apitest.Caller) {
			there(c)
			for _, v := range c.Cloud.Vpcs {
				if v.Default {
					change(c, v)
				}
			}
		}
	}
	in := func(zone string, more ...string) []string { return append([]string{"ZoneId", zone}, more...) }
	testRefusals(t, []refusal{
		{"second", there, "CreateDefaultVpc", nil, "Forbidden.DefaultVpcExist"},
		{"token", there, "CreateDefaultVpc", []string{"ClientToken", "t", "EnableIpv6", "true"}, "IdempotentParameterMismatch"},
		{"quota", func(c *apitest.Caller) { c.Settings.Quotas.Vpcs = 1 }, "CreateDefaultVpc", nil, "QuotaExceeded.Vpc"},
		{"no IPv6", nil, "CreateDefaultVpc", []string{"Ipv6CidrBlock", "2408::/56"}, "MissingParam.EnableIpv6"},
		{"no block", nil, "CreateDefaultVpc", []string{"EnableIpv6", "true", "Ipv6CidrBlock", "x"}, "InvalidIpv6CidrBlock.Malformed"},
		{"no VPC", nil, "CreateDefaultVSwitch", in("z-a"), "InvalidDefaultVpc.NotFound"},
		{"pending", changed(func(c *apitest.Caller, v *state.Vpc) { v.PendingUntil = c.Now.Add(time.Second) }), "CreateDefaultVSwitch", in("z-a"),
			"IncorrectVpcStatus"},
		{"zone", there, "CreateDefaultVSwitch", in("us-west-1a"), "InvalidZoneId.NotFound"},
		{"second", func(c *apitest.Caller) {
			there(c)
			c.Must("CreateDefaultVSwitch", in("z-a")...)
		}, "CreateDefaultVSwitch", in("z-a"), "Forbidden.DefaultVSwitchExist"},
		{"no IPv6", there, "CreateDefaultVSwitch", in("z-a", "Ipv6CidrBlock", "1"), "OperationFailed.VpcIpv6Disabled"},
		{"IPv6 block", func(c *apitest.Caller) {
			c.Must("CreateDefaultVpc", "EnableIpv6", "true")
			c.Must("CreateDefaultVSwitch", in("z-a", "Ipv6CidrBlock", "1")...)
		}, "CreateDefaultVSwitch", in("z-b", "Ipv6CidrBlock", "1"), "OperationFailed.Ipv6CidrBlockExisted"},
		{"full", changed(func(c *apitest.Caller, v *state.Vpc) {
			for n := range 16 {
				c.Must("CreateVSwitch", "VpcId", v.ID, "ZoneId", "z-a", "CidrBlock", fmt.Sprintf("172.31.%d.0/24", n*16))
			}
		}), "CreateDefaultVSwitch", in("z-a"), "QuotaExceeded.VSwitch"},
		{"routes are written", changed(func(c *apitest.Caller, v *state.Vpc) {
			for _, table := range c.Cloud.RouteTables {
				if table.VpcID == v.ID {
					table.Entries[0].Status = "Modifying"
				}
			}
		}), "CreateDefaultVSwitch", in("z-a"), "TaskConflict"},
		{"token", func(c *apitest.Caller) {
			there(c)
			c.Must("CreateDefaultVSwitch", in("z-a", "ClientToken", "v")...)
		}, "CreateDefaultVSwitch", in("z-b", "ClientToken", "v"), "IdempotentParameterMismatch"},
	})
}
