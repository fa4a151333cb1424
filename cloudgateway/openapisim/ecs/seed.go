package ecs

import (
	"fmt"
	"maps"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// complete fills in what instances and network interfaces have without being asked for.
func complete(c, brought *state.Cloud) {
	primary := make(map[string]bool, len(c.Interfaces)) // instances that have their primary interface
	for _, eni := range c.Interfaces {
		primary[eni.InstanceID] = primary[eni.InstanceID] || eni.Type == "Primary"
	}
	for _, id := range slices.Sorted(maps.Keys(brought.Instances)) {
		completeInstance(c, brought.Instances[id], primary[id])
	}
	for _, eni := range brought.Interfaces {
		completeInterface(c, eni)
	}
	completeDisks(c, brought)
}

// completeDisks gives each instance its system disk, and each disk what it has without being asked for.
func completeDisks(c, brought *state.Cloud) {
	have := make(map[string]bool, len(c.Disks))
	for _, d := range c.Disks {
		if d.Type == systemDisk {
			have[d.InstanceID] = true
		}
	}
	for id, i := range brought.Instances {
		if !have[id] {
			d := newSystemDisk(i, "d-"+state.Suffix(id))
			c.Disks[d.ID] = d
		}
	}
	for _, d := range brought.Disks {
		status := available
		if d.InstanceID != "" {
			status = diskInUse
		}
		state.Fill(&d.Status, status)
		state.Fill(&d.Type, dataDisk)
		state.Fill(&d.Category, "cloud_essd")
		if d.Size == 0 {
			d.Size = defaultSystemSize
		}
		if i := c.Instances[d.InstanceID]; i != nil {
			state.Fill(&d.ZoneID, i.ZoneID)
		}
	}
}

// completeInstance fills in what an instance has without being asked for, its primary interface above all.
func completeInstance(c *state.Cloud, i *state.Instance, hasPrimary bool) {
	state.Fill(&i.Name, i.ID)
	state.Fill(&i.HostName, i.Name)
	state.Fill(&i.Status, "Running")
	state.Fill(&i.InstanceType, "ecs.g7.xlarge")
	state.Fill(&i.ChargeType, "PostPaid")
	state.Fill(&i.SpotStrategy, "NoSpot")
	if vsw := c.VSwitches[i.VSwitchID]; vsw != nil {
		state.Fill(&i.VpcID, vsw.VpcID)
		state.Fill(&i.ZoneID, vsw.ZoneID)
	}
	if hasPrimary || len(i.PrivateIPs) == 0 {
		return
	}
	c.Sequence++
	id := "eni-" + state.Suffix(i.ID)
	if c.Interfaces[id] != nil { // Another interface of the seed.
		id += "-primary"
	}
	c.Interfaces[id] = &state.NetworkInterface{
		ID: id, Type: "Primary", Status: "InUse", InstanceID: i.ID, VpcID: i.VpcID, VSwitchID: i.VSwitchID, ZoneID: i.ZoneID,
		MacAddress: fmt.Sprintf("00:16:3e:%02x:%02x:%02x", byte(c.Sequence>>16), byte(c.Sequence>>8), byte(c.Sequence)),
		PrimaryIP:  i.PrivateIPs[0], PrivateIPs: slices.Clone(i.PrivateIPs), SourceDestCheck: true,
		SecurityGroupIDs: slices.Clone(i.SecurityGroupIDs), ResourceGroupID: i.ResourceGroupID, Created: i.Created,
	}
}

func completeInterface(c *state.Cloud, eni *state.NetworkInterface) {
	status := "Available"
	if eni.InstanceID != "" {
		status = "InUse"
	}
	state.Fill(&eni.Status, status)
	state.Fill(&eni.Type, "Secondary")
	if vsw := c.VSwitches[eni.VSwitchID]; vsw != nil {
		state.Fill(&eni.VpcID, vsw.VpcID)
		state.Fill(&eni.ZoneID, vsw.ZoneID)
	}
	switch {
	case eni.PrimaryIP == "" && len(eni.PrivateIPs) > 0:
		eni.PrimaryIP = eni.PrivateIPs[0]
	case eni.PrimaryIP != "" && len(eni.PrivateIPs) == 0:
		eni.PrivateIPs = []string{eni.PrimaryIP}
	}
}
