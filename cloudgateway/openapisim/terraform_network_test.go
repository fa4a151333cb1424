package openapisim_test

import (
	"slices"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// terraform calls as the Terraform provider does: after a write it describes until the answer shows what it waits for, and takes
// an error for a failure unless its code is one that it retries.
type terraform struct{ *client }

// until describes every three seconds until done, for two minutes of the cloud's clock.
func (c terraform) until(what string, done func() bool) {
	c.t.Helper()
	for range 40 {
		if done() {
			return
		}
		c.sim.Advance(3 * time.Second)
	}
	c.t.Fatalf("not in two minutes: %s", what)
}

// retry repeats a write as long as it is refused with one of the codes that the provider retries for it.
func (c terraform) retry(product, action string, codes []string, params ...string) map[string]any {
	c.t.Helper()
	var answer map[string]any
	c.until(action, func() bool {
		got, code := c.call(product, action, params...)
		if slices.Contains(codes, code) {
			return false
		}
		if code != "" {
			c.t.Fatalf("%s: %s", action, code)
		}
		answer = got
		return true
	})
	return answer
}

// A network is created and destroyed under default settings, in the order of the provider's acceptance tests for VPCs, vSwitches,
// route tables and their attachments.
func TestTerraformNetwork(t *testing.T) {
	t.Parallel()
	settings := api.DefaultSettings()
	sim := newCloud(t, openapisim.Config{Settings: &settings, LimitsOff: true})
	c := terraform{newClient(t, sim)}
	busy := []string{"TaskConflict", "IncorrectVSwitchStatus", "OperationConflict", "SystemBusy", "LastTokenProcessing"}

	zone := at(t, c.must("vpc", "DescribeZones"), "Zones", "Zone", 0, "ZoneId").(string)
	vpc := c.must("vpc", "CreateVpc", "CidrBlock", "10.1.0.0/16", "VpcName", "tf", "ClientToken", "1")["VpcId"].(string)
	c.until("the VPC is available", func() bool { return c.must("vpc", "DescribeVpcAttribute", "VpcId", vpc)["Status"] == "Available" })
	vsw := c.retry("vpc", "CreateVSwitch", busy, "VpcId", vpc, "ZoneId", zone, "CidrBlock", "10.1.0.0/24", "ClientToken",
		"2")["VSwitchId"].(string)
	c.until("the vSwitch is available", func() bool {
		return c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", vsw)["Status"] == "Available"
	})
	table := c.must("vpc", "CreateRouteTable", "VpcId", vpc, "ClientToken", "3")["RouteTableId"].(string)
	c.until("the table is available", func() bool {
		list := c.must("vpc", "DescribeRouteTableList", "RouteTableId", table)
		return at(t, list, "RouterTableList", "RouterTableListType", 0, "Status") == "Available"
	})
	c.retry("vpc", "AssociateRouteTable", busy, "RouteTableId", table, "VSwitchId", vsw, "ClientToken", "4")
	// A route of the second vSwitch is still being written when the table is to be unbound: that is refused, and repeated.
	other := c.retry("vpc", "CreateVSwitch", busy, "VpcId", vpc, "ZoneId", zone, "CidrBlock", "10.1.1.0/24", "ClientToken",
		"5")["VSwitchId"].(string)
	c.retry("vpc", "UnassociateRouteTable", busy, "RouteTableId", table, "VSwitchId", vsw, "ClientToken", "6")
	c.retry("vpc", "DeleteRouteTable", busy, "RouteTableId", table)
	for _, id := range []string{vsw, other} {
		c.retry("vpc", "DeleteVSwitch", append(busy, "DependencyViolation"), "VSwitchId", id)
		c.until("the vSwitch is gone", func() bool { return c.must("vpc", "DescribeVSwitchAttributes", "VSwitchId", id)["VSwitchId"] == "" })
	}
	c.retry("vpc", "DeleteVpc", busy, "VpcId", vpc)
	if _, code := c.call("vpc", "DescribeVpcAttribute", "VpcId", vpc); code != "InvalidVpcId.NotFound" {
		t.Errorf("the VPC is destroyed, but is described with %q", code)
	}
}
