package vpc_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/cloudgateway/openapisim/vpc"
)

func TestCreateRouteEntry(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, table, cidr, nextHop, nextHopType, want string }{
		{"to an instance", "vtb-1", "10.0.0.0/24", "i-1", "", ""},
		{"to an interface", "vtb-1", "10.0.0.0/24", "eni-1", "NetworkInterface", ""},
		{"of a custom table", "vtb-custom", "10.0.0.0/24", "i-1", "Instance", ""},
		{"a bare address", "vtb-1", "10.0.0.7", "i-1", "", ""},
		{"IPv6", "vtb-1", "2001:db8::/64", "i-1", "", ""},
		{"around a vSwitch", "vtb-1", "192.168.0.0/16", "i-1", "", ""},
		{"within the services of the cloud", "vtb-1", "100.64.1.0/24", "i-1", "", ""},
		{"no such table", "vtb-none", "10.0.0.0/24", "i-1", "", "InvalidRouteTableId.NotFound"},
		{"no CIDR", "vtb-1", "10.0.0.0.0", "i-1", "", "InvalidCidrBlock.Malformed"},
		{"host bits", "vtb-1", "10.0.0.1/24", "i-1", "", "InvalidCidrBlock.Malformed"},
		{"a vSwitch", "vtb-1", "192.168.1.0/24", "i-1", "", "InvalidCidrBlock"},
		{"inside a vSwitch", "vtb-1", "192.168.0.128/25", "i-1", "", "InvalidCidrBlock"},
		{"a vSwitch of another VPC", "vtb-1", "172.16.0.0/24", "i-1", "", ""},
		{"services of the cloud", "vtb-1", "100.64.0.0/10", "i-1", "", "InvalidCidrBlock"},
		{"no such instance", "vtb-1", "10.0.0.0/24", "i-none", "", "InvalidNextHop.NotFound"},
		{"instance of another VPC", "vtb-1", "10.0.0.0/24", "i-other", "", "InvalidNextHop.NotFound"},
		{"instance not ready", "vtb-1", "10.0.0.0/24", "i-starting", "", "IncorrectInstanceStatus"},
		{"instance as interface", "vtb-1", "10.0.0.0/24", "i-1", "NetworkInterface", "InvalidNextHop.NotFound"},
		{"no such gateway", "vtb-1", "10.0.0.0/24", "ngw-1", "NatGateway", "InvalidNextHop.NotFound"},
		{"no such type", "vtb-1", "10.0.0.0/24", "i-1", "Pigeon", "InvalidNextHopType"},
		{"no next hop", "vtb-1", "10.0.0.0/24", "", "", "InvalidNexthopTypeAndList.BothNull"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t)
			params := []string{
				"RouteTableId", tt.table, "DestinationCidrBlock", tt.cidr, "NextHopId", tt.nextHop, "NextHopType", tt.nextHopType,
				"RouteEntryName", "n", "Description", "d",
			}
			want := tt.want
			if want == "" {
				want = "DryRunOperation"
			}
			if _, code := c.Call("CreateRouteEntry", append(params, "DryRun", "true")...); code != want {
				t.Errorf("dry run: %q, want %q", code, want)
			}
			if _, code := c.Call("CreateRouteEntry", params...); code != tt.want {
				t.Fatalf("%q, want %q", code, tt.want)
			}
			if tt.want != "" {
				return
			}
			e := c.Cloud.RouteTables[tt.table].Entries[1]
			if e.Status != "Available" || e.Type != "Custom" || e.NextHopID != tt.nextHop || e.Name != "n" || e.Description != "d" {
				t.Errorf("entry %+v", e)
			}
			if _, code := c.Call("CreateRouteEntry", params...); code != "InvalidCIDRBlock.Duplicate" {
				t.Errorf("again: %q", code)
			}
		})
	}
}

func TestRouteEntryQuota(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Settings.Quotas.RouteEntries = 3
	answer := c.Must("CreateRouteEntries", batch("vtb-1", "i-1", "10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24")...)
	if answer["SuccessCount"] != 3.0 || !cmp.Equal(failures(answer), []string{"10.0.3.0/24 QuotaExceeded"}) {
		t.Errorf("answer %v", answer)
	}
	if _, code := c.Call("CreateRouteEntry", "RouteTableId", "vtb-1", "DestinationCidrBlock", "10.0.4.0/24", "NextHopId",
		"i-1"); code != "QuotaExceeded" {
		t.Errorf("code %q", code)
	}
	// the quota is of the table
	c.Must("CreateRouteEntry", "RouteTableId", "vtb-custom", "DestinationCidrBlock", "10.0.4.0/24", "NextHopId", "i-1")
}

// batch is the parameters of a batch of entries with the same next hop.
func batch(table, nextHop string, cidrs ...string) []string {
	var params []string
	for i, cidr := range cidrs {
		n := "RouteEntries." + strconv.Itoa(i+1) + "."
		params = append(params, n+"RouteTableId", table, n+"DstCidrBlock", cidr, n+"NextHop", nextHop, n+"NextHopType", "Instance")
	}
	return params
}

// failures are the failed items of a batch as "cidr code".
func failures(answer map[string]any) []string {
	cidrs, codes := apitest.List(answer, "DstCidrBlock", "FailedRouteEntries"), apitest.List(answer, "FailedCode", "FailedRouteEntries")
	out := []string{}
	for i := range cidrs {
		out = append(out, cidrs[i]+" "+codes[i])
	}
	return out
}

// A batch succeeds as a call, however many of its items fail.
func TestRouteBatchesFailInParts(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	params := batch("vtb-1", "i-1", "10.0.0.0/24", "10.0.0.0/24", "not a CIDR", "192.168.0.0/24", "10.0.1.7",
		"10.0.2.0/24", "10.0.3.0/24", "10.0.4.0/24")
	params = append(params, "RouteEntries.6.NextHop", "i-none", "RouteEntries.7.RouteTableId", "vtb-none",
		"RouteEntries.8.NextHop", "i-starting")
	answer := c.Must("CreateRouteEntries", params...)
	want := []string{
		"10.0.0.0/24 VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE", "not a CIDR InvalidCidrBlock.Malformed", "192.168.0.0/24 InvalidCidrBlock",
		"10.0.2.0/24 InvalidNextHop.NotFound", "10.0.3.0/24 InvalidRouteTable.NotFound", "10.0.4.0/24 VPC_ROUTE_ENTRY_STATUS_ERROR",
	}
	if diff := cmp.Diff(want, failures(answer)); diff != "" {
		t.Errorf("failures of creation (-want +got):\n%s", diff)
	}
	ids := answer["RouteEntryIds"].([]any)
	if len(ids) != 2 || answer["SuccessCount"] != 2.0 || answer["FailedCount"] != 6.0 {
		t.Errorf("answer %v", answer)
	}
	answer = c.Must("DeleteRouteEntries",
		"RouteEntries.1.RouteTableId", "vtb-1", "RouteEntries.1.RouteEntryId", ids[0].(string),
		"RouteEntries.2.RouteTableId", "vtb-1", "RouteEntries.2.DstCidrBlock", "10.0.1.7", "RouteEntries.2.NextHop", "i-1",
		"RouteEntries.3.RouteTableId", "vtb-1", "RouteEntries.3.DstCidrBlock", "10.9.0.0/24", "RouteEntries.3.NextHop", "i-1",
		"RouteEntries.4.RouteTableId", "vtb-1", "RouteEntries.4.DstCidrBlock", "100.64.0.0/10",
		"RouteEntries.5.RouteTableId", "vtb-none", "RouteEntries.5.DstCidrBlock", "10.0.0.0/24",
	)
	want = []string{"10.9.0.0/24 VPC_ROUTER_ENTRY_NOT_EXIST", "100.64.0.0/10 OperationDenied", "10.0.0.0/24 InvalidRouteTable.NotFound"}
	if diff := cmp.Diff(want, failures(answer)); diff != "" || answer["SuccessCount"] != 2.0 {
		t.Errorf("failures of deletion (-want +got):\n%s", diff)
	}
	if _, ok := answer["RouteEntryIds"]; ok {
		t.Error("a deletion names no ids")
	}
	if entries := c.Cloud.RouteTables["vtb-1"].Entries; len(entries) != 1 {
		t.Errorf("left: %d entries", len(entries))
	}
}

func TestRouteBatchesRefused(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	var many []string
	for n := range 51 {
		many = append(many, fmt.Sprintf("10.0.%d.0/24", n))
	}
	one := batch("vtb-1", "i-1", "10.0.0.0/24")
	tests := []struct {
		name, action string
		params       []string
		want         string
	}{
		{"nothing", "CreateRouteEntries", nil, "MissingParameter"},
		{"nothing", "DeleteRouteEntries", nil, "MissingParameter"},
		{"too many", "CreateRouteEntries", batch("vtb-1", "i-1", many...), "InvalidParameter"},
		{"too many", "DeleteRouteEntries", batch("vtb-1", "i-1", many...), "InvalidParameter"},
		{"no table", "CreateRouteEntries", append(slices.Clone(one), "RouteEntries.1.RouteTableId", ""), "MissingParameter"},
		{"no next hop", "CreateRouteEntries", append(slices.Clone(one), "RouteEntries.1.NextHop", ""), "MissingParameter"},
		{"no entry", "DeleteRouteEntries", []string{"RouteEntries.1.RouteTableId", "vtb-1"}, "MissingParameter"},
		{"dry run", "CreateRouteEntries", append(slices.Clone(one), "DryRun", "true"), "DryRunOperation"},
		{"dry run", "DeleteRouteEntries", append(slices.Clone(one), "DryRun", "true"), "DryRunOperation"},
	}
	for _, tt := range tests {
		if _, code := c.Call(tt.action, tt.params...); code != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.action, tt.name, code, tt.want)
		}
	}
	c.Must("CreateRouteEntries", batch("vtb-1", "i-1", many[:50]...)...)
}

func TestDeleteRouteEntry(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	create := func(cidr string) string {
		return c.Must("CreateRouteEntry", "RouteTableId", "vtb-1", "DestinationCidrBlock", cidr, "NextHopId", "i-1")["RouteEntryId"].(string)
	}
	first := create("10.0.0.0/24")
	create("10.0.1.0/24")
	create("10.0.2.1")
	tests := []struct {
		name   string
		params []string
		want   string
	}{
		{"dry run", []string{"RouteEntryId", first, "DryRun", "true"}, "DryRunOperation"},
		{"by id", []string{"RouteEntryId", first}, ""},
		{"by id again", []string{"RouteEntryId", first}, "InvalidRouteEntryId.NotFound"},
		{"wrong next hop", []string{"RouteTableId", "vtb-1", "DestinationCidrBlock", "10.0.1.0/24", "NextHopId", "i-2"},
			"InvalidRouteEntry.NotFound"},
		{"by destination", []string{"RouteTableId", "vtb-1", "DestinationCidrBlock", "10.0.1.0/24", "NextHopId", "i-1"}, ""},
		{"bare address", []string{"RouteTableId", "vtb-1", "DestinationCidrBlock", "10.0.2.1", "NextHopId", "i-1"}, ""},
		{"system entry", []string{"RouteTableId", "vtb-1", "DestinationCidrBlock", "100.64.0.0/10"}, "OperationDenied"},
		{"no table", []string{"RouteTableId", "vtb-none", "DestinationCidrBlock", "10.0.1.0/24"}, "InvalidRouteTableId.NotFound"},
		{"no CIDR", []string{"RouteTableId", "vtb-1", "DestinationCidrBlock", "x"}, "InvalidCidrBlock.Malformed"},
		{"nothing named", nil, "MissingParameter"},
	}
	for _, tt := range tests {
		if _, code := c.Call("DeleteRouteEntry", tt.params...); code != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, code, tt.want)
		}
	}
}

// Pending and Deleting take their time, during which the VPC refuses other writes and other VPCs don't.
func TestRouteTransitions(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Settings = api.DefaultSettings()
	create := []string{"RouteTableId", "vtb-1", "DestinationCidrBlock", "10.0.0.0/24", "NextHopId", "i-1", "ClientToken", "t"}
	id := c.Must("CreateRouteEntry", create...)["RouteEntryId"].(string)
	status := func() string {
		list := c.Must("DescribeRouteEntryList", "RouteTableId", "vtb-1", "RouteEntryType", "Custom")
		return strings.Join(apitest.List(list, "Status", "RouteEntrys", "RouteEntry"), " ")
	}
	refused := func(when string) {
		t.Helper()
		for action, params := range map[string][]string{
			"CreateRouteEntry":   {"RouteTableId", "vtb-custom", "DestinationCidrBlock", "10.1.0.0/24", "NextHopId", "i-1"},
			"CreateRouteEntries": batch("vtb-1", "i-1", "10.1.0.0/24"),
			"DeleteRouteEntries": batch("vtb-1", "i-1", "10.0.0.0/24"),
		} {
			if _, code := c.Call(action, params...); code != "TaskConflict" {
				t.Errorf("%s %s: %q", when, action, code)
			}
		}
		if _, code := c.Call("DeleteRouteEntry", "RouteEntryId", id); code != "IncorrectRouteEntryStatus" {
			t.Errorf("%s: deletion: %q", when, code)
		}
	}
	refused("while pending")
	if got := c.Must("CreateRouteEntry", create...)["RouteEntryId"]; got != id { // a repetition is no second write
		t.Errorf("the same token gives %v and %v", id, got)
	}
	c.Must("CreateRouteEntry", "RouteTableId", "vtb-2", "DestinationCidrBlock", "10.0.0.0/24", "NextHopId", "i-other")
	c.Pass(c.Settings.RoutePending - 1)
	if got := status(); got != "Pending" {
		t.Errorf("status %q", got)
	}
	c.Pass(1)
	if got := status(); got != "Available" {
		t.Errorf("status %q", got)
	}
	c.Must("DeleteRouteEntry", "RouteEntryId", id)
	refused("while deleting")
	if got := status(); got != "Deleting" {
		t.Errorf("status %q", got)
	}
	c.Pass(c.Settings.RouteDeleting)
	if got := status(); got != "" {
		t.Errorf("status %q", got)
	}
}

func TestDescribeRouteEntryList(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Must("CreateRouteEntries", batch("vtb-1", "i-1", "10.0.0.0/24", "10.0.1.0/24")...)
	c.Must("CreateRouteEntry", "RouteTableId", "vtb-1", "DestinationCidrBlock", "10.0.2.0/24", "NextHopId", "i-2", "RouteEntryName", "named")
	c.Must("CreateRouteEntry", "RouteTableId", "vtb-1", "DestinationCidrBlock", "2001:db8::/64", "NextHopId", "eni-1",
		"NextHopType", "NetworkInterface")
	tests := []struct {
		name   string
		params []string
		want   string // sorted destinations
	}{
		{"all", nil, "10.0.0.0/24 10.0.1.0/24 10.0.2.0/24 100.64.0.0/10 2001:db8::/64"},
		{"custom", []string{"RouteEntryType", "Custom"}, "10.0.0.0/24 10.0.1.0/24 10.0.2.0/24 2001:db8::/64"},
		{"system", []string{"RouteEntryType", "System"}, "100.64.0.0/10"},
		{"unknown type", []string{"RouteEntryType", "X"}, "IllegalParam.RouteEntryType"},
		{"destination", []string{"DestinationCidrBlock", "10.0.1.0/24"}, "10.0.1.0/24"},
		{"destinations", []string{"DestCidrBlockList.1", "10.0.1.0/24", "DestCidrBlockList.2", "10.0.2.0/24"}, "10.0.1.0/24 10.0.2.0/24"},
		{"next hop", []string{"NextHopId", "i-2", "NextHopType", "Instance"}, "10.0.2.0/24"},
		{"next hop type", []string{"NextHopType", "NetworkInterface"}, "2001:db8::/64"},
		{"name", []string{"RouteEntryName", "named"}, "10.0.2.0/24"},
		{"IP version", []string{"IpVersion", "ipv6"}, "2001:db8::/64"},
		{"unknown IP version", []string{"IpVersion", "ipv5"}, "IllegalParam.IpVersion"},
		{"strange token", []string{"NextToken", "x"}, "IllegalParam.NextToken"},
		{"page larger than documented", []string{"MaxResult", "5000"}, "10.0.0.0/24 10.0.1.0/24 10.0.2.0/24 100.64.0.0/10 2001:db8::/64"},
	}
	for _, tt := range tests {
		answer, got := c.Call("DescribeRouteEntryList", append([]string{"RouteTableId", "vtb-1"}, tt.params...)...)
		if got == "" {
			cidrs := apitest.List(answer, "DestinationCidrBlock", "RouteEntrys", "RouteEntry")
			slices.Sort(cidrs)
			got = strings.Join(cidrs, " ")
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if _, code := c.Call("DescribeRouteEntryList", "RouteTableId", "vtb-none"); code != "InvalidRouteTable.NotFound" {
		t.Errorf("unknown table: %q", code)
	}
	seen, token := 0, ""
	for range 3 {
		answer := c.Must("DescribeRouteEntryList", "RouteTableId", "vtb-1", "MaxResult", "2", "NextToken", token)
		seen += len(apitest.List(answer, "RouteEntryId", "RouteEntrys", "RouteEntry"))
		token = answer["NextToken"].(string)
	}
	if seen != 5 || token != "" {
		t.Errorf("%d entries on three pages, token %q", seen, token)
	}
}

func TestRouteEntryShape(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	id := c.Must("CreateRouteEntry", "RouteTableId", "vtb-1", "DestinationCidrBlock", "10.0.0.0/24", "NextHopId", "i-1",
		"Description", "d")["RouteEntryId"]
	answer := c.Must("DescribeRouteEntryList", "RouteTableId", "vtb-1", "RouteEntryType", "Custom")
	want := map[string]any{
		"NextToken": "",
		"RouteEntrys": map[string]any{"RouteEntry": []any{map[string]any{
			"RouteEntryId": id, "RouteEntryName": "", "RouteTableId": "vtb-1", "DestinationCidrBlock": "10.0.0.0/24", "Type": "Custom",
			"Status": "Available", "IpVersion": "ipv4", "Description": "d", "Origin": "RouteTable", "InstanceId": "i-1", "NextHopType": "Instance",
			"NextHops": map[string]any{"NextHop": []any{map[string]any{
				"NextHopId": "i-1", "NextHopType": "Instance", "NextHopRegionId": "", "Enabled": 1.0, "Weight": 0.0,
			}}},
			"RoutePublishTargets": []any{},
		}}},
	}
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// Whatever is called in whatever order: destinations are unique in a table, ids everywhere, system entries stay, and the
// quota holds.
func TestRouteInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		cloud := newCloud()
		c := apitest.New(t, vpc.Product(), cloud)
		c.ByChance = true
		if rapid.Bool().Draw(rt, "slow") {
			c.Settings = api.DefaultSettings()
		}
		c.Settings.Quotas.RouteEntries = 5
		tables := rapid.SampledFrom([]string{"vtb-1", "vtb-custom", "vtb-2", "vtb-none"})
		cidrs := rapid.SampledFrom([]string{"10.0.0.0/24", "10.0.1.0/24", "10.0.2.7", "10.0.2.7/32", "10.0.0.0/8",
			"100.64.0.0/10", "192.168.0.0/24", "x", "10.3.0.0/16", "10.4.0.0/16", "10.5.0.0/16"})
		hops := rapid.SampledFrom([]string{"i-1", "i-2", "i-other", "i-none"})
		for range 25 {
			table, cidr, hop := tables.Draw(rt, "table"), cidrs.Draw(rt, "cidr"), hops.Draw(rt, "hop")
			switch rapid.IntRange(0, 4).Draw(rt, "action") {
			case 0:
				c.Call("CreateRouteEntry", "RouteTableId", table, "DestinationCidrBlock", cidr, "NextHopId", hop)
			case 1:
				c.Call("DeleteRouteEntry", "RouteTableId", table, "DestinationCidrBlock", cidr, "NextHopId", hop)
			case 2:
				c.Call("CreateRouteEntries", batch(table, hop, cidr, cidrs.Draw(rt, "other"), cidrs.Draw(rt, "third"))...)
			case 3:
				c.Call("DeleteRouteEntries", batch(table, hop, cidr, cidrs.Draw(rt, "other"))...)
			case 4:
				c.Pass(time.Duration(rapid.IntRange(0, 4).Draw(rt, "seconds")) * time.Second)
			}
			checkRoutes(rt, cloud, c.Settings.Quotas.RouteEntries)
		}
	})
}

func checkRoutes(rt *rapid.T, cloud *state.Cloud, quota int) {
	ids := map[string]bool{}
	for _, table := range cloud.RouteTables {
		destinations, custom, system := map[string]bool{}, 0, 0
		for _, e := range table.Entries {
			if ids[e.ID] || destinations[e.Cidr] {
				rt.Fatalf("%s: entry %s to %s is there twice", table.ID, e.ID, e.Cidr)
			}
			ids[e.ID], destinations[e.Cidr] = true, true
			if e.Type == "System" {
				system++
			} else {
				custom++
			}
			if (e.Status == "Available") != e.BusyUntil.IsZero() {
				rt.Fatalf("%s: entry %s is %s until %v", table.ID, e.ID, e.Status, e.BusyUntil)
			}
		}
		if system != 1 || custom > quota {
			rt.Fatalf("%s: %d system entries, %d custom ones", table.ID, system, custom)
		}
	}
}
