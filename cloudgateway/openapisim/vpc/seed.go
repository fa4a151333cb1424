package vpc

import (
	"fmt"
	"maps"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// complete gives every VPC a system route table, and that table the entries of its vSwitches and of the cloud's own
// services.
func complete(c, brought *state.Cloud) {
	system := map[string]*state.RouteTable{}
	for _, table := range c.RouteTables {
		state.Fill(&table.Type, "System")
		if table.Type == "System" {
			system[table.VpcID] = table
		}
	}
	for _, table := range c.RouteTables {
		completeEntries(table)
	}
	for id, vpc := range c.Vpcs {
		state.Fill(&vpc.CidrBlock, "192.168.0.0/16")
		if system[id] == nil {
			table := &state.RouteTable{ID: "vtb-" + state.Suffix(id), VpcID: id, Type: "System"}
			c.RouteTables[table.ID], system[id] = table, table
		}
		seedSystemEntry(system[id], "100.64.0.0/10")
	}
	for _, id := range slices.Sorted(maps.Keys(c.VSwitches)) {
		vsw := c.VSwitches[id]
		table := system[vsw.VpcID]
		if table == nil {
			continue
		}
		state.Fill(&vsw.RouteTableID, table.ID)
		seedSystemEntry(table, vsw.CidrBlock)
	}
	for _, eip := range brought.Eips {
		state.Fill(&eip.Status, available)
		state.Fill(&eip.Bandwidth, "5")
	}
}

// completeEntries makes entries that are a destination and a next hop only custom ones that are written.
func completeEntries(table *state.RouteTable) {
	for n, e := range table.Entries {
		state.Fill(&e.ID, fmt.Sprintf("rte-%s-seed-%d", state.Suffix(table.ID), n))
		state.Fill(&e.Type, "Custom")
		state.Fill(&e.NextHopType, "Instance")
		state.Fill(&e.Status, "Available")
	}
}

func seedSystemEntry(table *state.RouteTable, cidr string) {
	for _, e := range table.Entries {
		if e.Cidr == cidr {
			return
		}
	}
	table.Entries = append(table.Entries, &state.RouteEntry{
		ID: fmt.Sprintf("rte-%s-system-%d", state.Suffix(table.ID), len(table.Entries)), Cidr: cidr,
		NextHopType: "local", Type: "System", Status: "Available",
	})
}
