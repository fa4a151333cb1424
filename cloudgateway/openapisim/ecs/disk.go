package ecs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The types of disks.
const (
	systemDisk = "system"
	dataDisk   = "data"
)

// diskInUse is the status of an attached disk; the others are spelt as those of network interfaces.
const diskInUse = "In_use"

// In GiB: the size of a system disk that nobody chose, and the limits of all.
const (
	defaultSystemSize = 40
	leastSystemSize   = 20
	mostSystemSize    = 2048
)

// disksPerInstance is how many data disks an instance can have.
const disksPerInstance = 16

// dataSizes are the least and the greatest size of a data disk of a category, in GiB.
func dataSizes(category, level string) (least, most int) {
	switch {
	case category == "cloud_auto", category == "cloud_essd" && level == "PL0":
		return 1, 65536
	case category == "cloud_essd_entry":
		return 10, 32768
	case category == "cloud_essd" && level == "PL2":
		return 461, 65536
	case category == "cloud_essd" && level == "PL3":
		return 1261, 65536
	case category == "cloud_essd":
		return 20, 65536
	}
	return 20, 32768
}

func diskActions() []api.Action {
	return []api.Action{
		api.Read("DescribeDisks", describeDisks, api.Words("InvalidParameter InvalidDiskIds.ValueNotSupported DryRunOperation"),
			append(listing.Params(maxResults), region(), api.Param{Name: "DiskIds", Kind: api.JSON}, api.Optional("InstanceId"),
				api.OneOf("DiskType", "all", systemDisk, dataDisk), api.Optional("Category"), api.Optional("Status"),
				api.Optional("ZoneId"), api.Optional("SnapshotId"), api.Optional("DiskName"), api.Flag("Portable"),
				api.Flag("DeleteWithInstance"), api.Flag("DeleteAutoSnapshot"), api.Flag("EnableAutoSnapshot"),
				api.Flag("Encrypted"), api.OneOf("DiskChargeType", "PrePaid", "PostPaid"), api.Optional("KMSKeyId"),
				api.OneOf("MultiAttach", "Disabled", "Enabled"), api.Optional("ResourceGroupId"), tags.Param(),
				api.Optional("AutoSnapshotPolicyId"), api.Flag("EnableAutomatedSnapshotPolicy"), api.Flag("EnableShared"),
				api.OneOf("LockReason", "financial", "security", "recycling", "dedicatedhostfinancial"),
				api.Optional("NextToken"), api.Param{Name: "MaxResults", Kind: api.Int}, api.Flag("DryRun"))...),
	}
}

// newSystemDisk is the disk that an instance has without being asked for.
func newSystemDisk(i *state.Instance, id string) *state.Disk {
	return &state.Disk{
		ID: id, Type: systemDisk, Category: "cloud_essd", PerformanceLevel: "PL1", Size: defaultSystemSize, Status: diskInUse,
		InstanceID: i.ID, ZoneID: i.ZoneID, Device: "/dev/xvda", ImageID: imageOf(i), DeleteWithInstance: true, Created: i.Created,
		Attached: i.Created,
	}
}

// settleDisks completes the changes of disks that have ended.
func settleDisks(c *api.Context) (next time.Time) {
	for _, d := range c.State.Disks {
		if !d.SettleAt.IsZero() && !c.Now.Before(d.SettleAt) {
			d.Status, d.SettleTo, d.SettleAt = d.SettleTo, "", time.Time{}
			if d.Status == available {
				d.InstanceID, d.Device = "", ""
			}
		}
		next = api.Earlier(next, d.SettleAt)
	}
	return next
}

// turnDisk lets a disk pass through a status on the way to another one.
func turnDisk(c *api.Context, d *state.Disk, passing, final string) {
	d.Status, d.SettleTo, d.SettleAt = passing, final, c.Now.Add(c.Settings.DiskChange)
	settleDisks(c)
}

// removeDisks takes away the disks of an instance that is gone. Those that are to outlive it are free then.
func removeDisks(c *api.Context, i *state.Instance) {
	for id, d := range c.State.Disks {
		switch {
		case d.InstanceID != i.ID:
		case d.DeleteWithInstance:
			delete(c.State.Disks, id)
		default:
			d.InstanceID, d.Device, d.Status, d.SettleTo, d.SettleAt, d.Detached = "", "", available, "", time.Time{}, c.Now
		}
	}
}

// disksOf returns the disks of an instance, the system disk first, in the order of their devices.
func disksOf(c *state.Cloud, instanceID string) []*state.Disk {
	found := listing.Find(c.Disks, func(d *state.Disk) bool { return d.InstanceID == instanceID })
	slices.SortStableFunc(found, func(a, b *state.Disk) int { return strings.Compare(a.Device, b.Device) })
	return found
}

// freeDevice is the name of the next device of an instance: /dev/xvdb, /dev/xvdc, …
func freeDevice(c *state.Cloud, instanceID string) string {
	taken := map[string]bool{}
	for _, d := range disksOf(c, instanceID) {
		taken[d.Device] = true
	}
	letter := 'b'
	for taken[fmt.Sprintf("/dev/xvd%c", letter)] {
		letter++
	}
	return fmt.Sprintf("/dev/xvd%c", letter)
}

func describeDisks(c *api.Context) (any, *api.Error) {
	var ids []string
	if c.Has("DiskIds") && (json.Unmarshal([]byte(c.Get("DiskIds")), &ids) != nil || len(ids) > c.Settings.IDsPerCall) {
		return nil, api.BadRequest("InvalidDiskIds.ValueNotSupported", "The specified parameter \"DiskIds\" is not valid.")
	}
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	filter := tags.FilterOf(c)
	matching := listing.Find(c.State.Disks, func(d *state.Disk) bool {
		return (!c.Has("DiskIds") || slices.Contains(ids, d.ID)) && matchDisk(c, d) && filter.Match(d.Tags)
	})
	disks, answer, ok := page(c, matching, func(d *state.Disk) string { return d.ID },
		min(max(c.Int("MaxResults", minResults), minResults), 500))
	if !ok {
		return nil, api.Invalid("NextToken")
	}
	return append(answer, "Disks", api.Object{
		"Disk", api.Objects(disks, func(d *state.Disk) api.Object { return newDiskView(c, d) }),
	}), nil
}

func diskGroup(c *state.Cloud, d *state.Disk) string {
	if i := c.Instances[d.InstanceID]; i != nil && d.Type == systemDisk {
		return cmp.Or(i.ResourceGroupID, state.DefaultResourceGroup)
	}
	return cmp.Or(d.ResourceGroupID, state.DefaultResourceGroup)
}

func multiAttach(d *state.Disk) string {
	if d.MultiAttach {
		return "Enabled"
	}
	return "Disabled"
}

func matchDisk(c *api.Context, d *state.Disk) bool {
	kind, status := c.Get("DiskType"), c.Get("Status")
	if kind == "all" {
		kind = ""
	}
	if status == "All" {
		status = ""
	}
	for _, pair := range [][2]string{
		{kind, d.Type}, {status, d.Status}, {c.Get("InstanceId"), d.InstanceID}, {c.Get("Category"), d.Category},
		{c.Get("ZoneId"), d.ZoneID}, {c.Get("SnapshotId"), d.SnapshotID}, {c.Get("KMSKeyId"), d.KMSKeyID},
		{c.Get("ResourceGroupId"), diskGroup(c.State, d)}, {c.Get("MultiAttach"), multiAttach(d)}, {c.Get("DiskChargeType"), "PostPaid"},
		{c.Get("AutoSnapshotPolicyId"), ""}, {c.Get("LockReason"), ""}, // no disk has either
	} {
		if !listing.Match(pair[0], pair[1]) {
			return false
		}
	}
	for name, value := range map[string]bool{
		"Portable": d.Type == dataDisk, "DeleteWithInstance": d.DeleteWithInstance, "DeleteAutoSnapshot": d.DeleteAutoSnapshot,
		"EnableAutoSnapshot": d.EnableAutoSnapshot, "Encrypted": d.Encrypted, "EnableAutomatedSnapshotPolicy": false, "EnableShared": false,
	} {
		if c.Has(name) && c.True(name) != value {
			return false
		}
	}
	return wildcard(c.Get("DiskName"), d.Name)
}

// timeText shows a time to the second, or nothing.
func timeText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func newDiskView(c *api.Context, d *state.Disk) api.Object {
	created := cmp.Or(timeText(d.Created), "2026-01-01T00:00:00Z")
	var attachments []api.Object
	if d.InstanceID != "" {
		attachments = []api.Object{{"InstanceId", d.InstanceID, "Device", d.Device, "AttachedTime", timeText(d.Attached)}}
	}
	iops, throughput := diskPerformance(d)
	return api.Object{
		"DiskId", d.ID, "DiskName", d.Name, "Description", d.Description, "RegionId", c.Region, "ZoneId", d.ZoneID, "Type", d.Type,
		"Category", d.Category, "PerformanceLevel", d.PerformanceLevel, "Size", d.Size, "Status", d.Status,
		"InstanceId", d.InstanceID, "Device", d.Device, "ImageId", d.ImageID, "SourceSnapshotId", d.SnapshotID,
		"Encrypted", d.Encrypted, "KMSKeyId", d.KMSKeyID, "MultiAttach", multiAttach(d), "Portable", d.Type == dataDisk,
		"DeleteWithInstance", d.DeleteWithInstance, "DeleteAutoSnapshot", d.DeleteAutoSnapshot,
		"EnableAutoSnapshot", d.EnableAutoSnapshot, "EnableAutomatedSnapshotPolicy", false, "AutoSnapshotPolicyId", "",
		"BurstingEnabled", d.Bursting, "ProvisionedIops", d.ProvisionedIops, "IOPS", iops, "IOPSRead", iops, "IOPSWrite", iops,
		"Throughput", throughput, "ThroughputRead", throughput, "ThroughputWrite", throughput,
		"DiskChargeType", "PostPaid", "ExpiredTime", never, "ProductCode", "", "CreationTime", created,
		"AttachedTime", timeText(d.Attached), "DetachedTime", timeText(d.Detached), "SerialNumber", strings.TrimPrefix(d.ID, "d-"),
		"StorageSetId", "", "StorageSetPartitionNumber", 0, "StorageClusterId", "", "BdfId", "",
		"ResourceGroupId", diskGroup(c.State, d), "Attachments", api.Object{"Attachment", attachments},
		"MountInstanceNum", 0, "MountInstances", api.Object{"MountInstance", []api.Object{}},
		"OperationLocks", api.Object{"OperationLock", []api.Object{}}, "Tags", tags.Longs(d.Tags),
	}
}

// diskPerformance is what the documents promise of a disk: operations a second, and MB/s. It grows with the size up to a limit.
func diskPerformance(d *state.Disk) (iops, throughput int) {
	switch d.Category {
	case "cloud_efficiency":
		return min(1800+8*d.Size, 5000), min(100+d.Size*15/100, 140)
	case "cloud_essd_entry":
		return min(1800+8*d.Size, 6000), min(100+d.Size*15/100, 150)
	case "cloud_ssd":
		return min(1800+30*d.Size, 25000), min(120+d.Size/2, 300)
	}
	most := map[string]int{"PL0": 10000, "PL2": 100000, "PL3": 1000000}
	return min(1800+50*d.Size+d.ProvisionedIops, cmp.Or(most[d.PerformanceLevel], 50000)), min(120+d.Size/2, 350)
}

// diskWish is what a call asks of a disk: one of its own, the system disk of an instance, or one of several data disks.
type diskWish struct {
	kind   string // system, data
	prefix string // of the codes that name the parameter: "", "SystemDisk", "DataDisk"
	get    func(name string) string
}

// disk makes what is asked for, without an id.
func (w diskWish) disk(c *api.Context, zone string) (*state.Disk, *api.Error) {
	category := cmp.Or(w.get("Category"), "cloud_essd")
	level := w.get("PerformanceLevel")
	snapshot := c.State.Snapshots[w.get("SnapshotId")]
	size, err := strconv.Atoi(w.get("Size"))
	switch {
	case !slices.Contains(diskCategories(), category):
		return nil, forbidden("Invalid"+cmp.Or(w.prefix, "Disk")+"Category.ValueNotSupported", "The disk category %s is not sold here.", category)
	case level != "" && !slices.Contains([]string{"PL0", "PL1", "PL2", "PL3"}, level):
		return nil, api.BadRequest("InvalidPerformanceLevel.Malformed", "The specified performance level is not valid.")
	case w.get("Size") != "" && err != nil:
		return nil, w.wrongSize()
	case w.get("SnapshotId") != "" && snapshot == nil:
		return nil, api.NotFound("InvalidSnapshotId.NotFound", "The specified SnapshotId does not exist.")
	case w.get("Size") == "" && snapshot != nil:
		size = snapshot.Size
	case w.get("Size") == "" && w.kind == systemDisk:
		size = defaultSystemSize
	}
	if category == "cloud_essd" {
		level = cmp.Or(level, "PL1")
	}
	least, most := dataSizes(category, level)
	if w.kind == systemDisk {
		least, most = leastSystemSize, mostSystemSize
	}
	if size < least || size > most || snapshot != nil && size < snapshot.Size {
		return nil, w.wrongSize()
	}
	iops, _ := strconv.Atoi(w.get("ProvisionedIops"))
	return &state.Disk{
		Type: w.kind, Category: category, PerformanceLevel: level, Size: size, ZoneID: zone, SnapshotID: w.get("SnapshotId"),
		Name: w.get("DiskName"), Description: w.get("Description"), Encrypted: w.get("Encrypted") == "true", KMSKeyID: w.get("KMSKeyId"),
		ProvisionedIops: iops, Bursting: w.get("BurstingEnabled") == "true", Created: c.Now,
	}, nil
}

func (w diskWish) wrongSize() *api.Error {
	return api.BadRequest("Invalid"+w.prefix+"Size.ValueNotSupported", "The specified size is beyond the range of the disk.")
}
