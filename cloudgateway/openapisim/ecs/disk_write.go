package ecs

import (
	"cmp"
	"slices"
	"strconv"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/regions"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func diskWriteActions() []api.Action {
	id, instance := api.Required("DiskId"), api.Required("InstanceId")
	return []api.Action{
		api.Write("CreateDisk", clienttoken.Once("ecs/CreateDisk", clienttoken.Show("DiskId"), createDisk),
			api.Words(`MissingParameter InvalidParameter.Conflict InvalidZoneId.NotFound InvalidInstanceId.NotFound IncorrectInstanceStatus
				InvalidDiskCategory.ValueNotSupported InvalidSize.ValueNotSupported InvalidSnapshotId.NotFound
				InvalidPerformanceLevel.Malformed InvalidDiskName.Malformed InvalidDescription.Malformed InstanceDiskLimitExceeded
				InvalidTagKey.Malformed InvalidTagValue.Malformed Duplicate.TagKey QuotaExceed.Tags IdempotentParameterMismatch`),
			region(), api.Optional("ZoneId"), api.Optional("InstanceId"), api.Optional("DiskCategory"), api.Param{Name: "Size", Kind: api.Int},
			api.Optional("SnapshotId"), api.Optional("PerformanceLevel"), api.Optional("DiskName"), api.Optional("Description"),
			api.Flag("Encrypted"), api.Optional("KMSKeyId"), api.OneOf("MultiAttach", "Disabled", "Enabled"),
			api.Param{Name: "ProvisionedIops", Kind: api.Int}, api.Flag("BurstingEnabled"), api.Optional("ResourceGroupId"), tags.Uncounted(),
			api.Optional("ClientToken")),
		api.Write("AttachDisk", api.On2(diskAndInstance, attachDisk),
			api.Words(`InvalidDiskId.NotFound InvalidInstanceId.NotFound IncorrectDiskStatus IncorrectInstanceStatus
				ResourcesNotInSameZone InstanceDiskLimitExceeded DiskNotPortable`), id, instance, api.Flag("DeleteWithInstance"),
			api.Optional("Device")),
		api.Write("DetachDisk", api.On2(diskAndInstance, detachDisk),
			api.Words(`InvalidDiskId.NotFound InvalidInstanceId.NotFound IncorrectDiskStatus IncorrectInstanceStatus DiskNotPortable
				DependencyViolation`), id, instance),
		api.Write("DeleteDisk", api.On(diskByID, deleteDisk),
			api.Words("InvalidDiskId.NotFound IncorrectDiskStatus DiskNotPortable"), id),
		api.Write("ResizeDisk", clienttoken.Once("ecs/ResizeDisk", nil, resizeDisk),
			api.Words(`InvalidDiskId.NotFound IncorrectDiskStatus InvalidDiskSize.TooSmall InvalidDiskSize.NotSupported
				IncorrectInstanceStatus IdempotentParameterMismatch`), id,
			api.Param{Name: "NewSize", Kind: api.Int, Required: true}, api.OneOf("Type", "offline", "online"), api.Optional("ClientToken")),
		api.Write("ModifyDiskAttribute", modifyDisks,
			api.Words("InvalidDiskId.NotFound MissingParameter InvalidDiskName.Malformed InvalidDescription.Malformed"),
			api.Optional("RegionId"), api.Optional("DiskId"), api.Param{Name: "DiskIds", Kind: api.Strings, Max: 100},
			api.Optional("DiskName"), api.Optional("Description"), api.Flag("DeleteWithInstance"), api.Flag("DeleteAutoSnapshot"),
			api.Flag("EnableAutoSnapshot"), api.Flag("BurstingEnabled")),
		api.Write("ModifyDiskSpec", api.On(diskByID, modifyDiskSpec),
			api.Words(`InvalidDiskId.NotFound IncorrectDiskStatus InvalidDiskCategory.ValueNotSupported InvalidSize.ValueNotSupported
				InvalidPerformanceLevel.Malformed DryRunOperation`), id, api.Optional("DiskCategory"), api.Optional("PerformanceLevel"),
			api.Param{Name: "ProvisionedIops", Kind: api.Int}, api.Flag("DryRun")),
		api.Write("ReplaceSystemDisk", clienttoken.Once("ecs/ReplaceSystemDisk", clienttoken.Show("DiskId"), replaceSystemDisk),
			api.Words(`InvalidInstanceId.NotFound IncorrectInstanceStatus InvalidImageId.NotFound ImageNotSupportInstanceType
				InvalidSystemDiskSize.ValueNotSupported IdempotentParameterMismatch`), instance, api.Required("ImageId"),
			api.Param{Name: "SystemDisk.Size", Kind: api.Int}, api.Optional("KeyPairName"), api.Optional("Password"), api.Flag("PasswordInherit"),
			api.Flag("Encrypted"), api.Optional("KMSKeyId"), api.Optional("ClientToken")),
	}
}

func diskNotFound() *api.Error {
	return api.NotFound("InvalidDiskId.NotFound", "The specified disk does not exist.")
}

func diskByID(c *api.Context) (*state.Disk, *api.Error) {
	return api.Named(c, c.State.Disks, "DiskId", diskNotFound)
}

func diskAndInstance(c *api.Context) (*state.Disk, *state.Instance, *api.Error) {
	d, err := diskByID(c)
	if err != nil {
		return nil, nil, err
	}
	i, err := instanceByID(c)
	return d, i, err
}

func wrongDiskStatus() *api.Error {
	return forbidden("IncorrectDiskStatus", "The current disk status does not support this operation.")
}

// checkDiskTexts refuses names and descriptions that a disk or a snapshot can't have.
func checkDiskTexts(name, description, code string) *api.Error {
	if name != "" && !validName(name) {
		return api.BadRequest(code, "The specified name is not valid.")
	}
	if utf8.RuneCountInString(description) > 256 || link(description) {
		return api.BadRequest("InvalidDescription.Malformed", "The specified description is not valid.")
	}
	return nil
}

// createDisk makes a disk in a zone, or for an instance, to which it is attached then.
func createDisk(c *api.Context) (string, *api.Error) {
	zone, i := c.Get("ZoneId"), c.State.Instances[c.Get("InstanceId")]
	switch {
	case c.Has("ZoneId") && c.Has("InstanceId"):
		return "", api.BadRequest("InvalidParameter.Conflict", "ZoneId and InstanceId can't be given together.")
	case c.Has("InstanceId") && i == nil:
		return "", instanceNotFound()
	case !c.Has("InstanceId") && zone == "":
		return "", api.Missing("ZoneId")
	case i == nil && !slices.Contains(regions.Zones(c), zone):
		return "", api.NotFound("InvalidZoneId.NotFound", "The specified zone does not exist.")
	case !c.Has("Size") && !c.Has("SnapshotId"):
		return "", api.Missing("Size")
	}
	if i != nil {
		if err := roomForDisk(c, i); err != nil {
			return "", err
		}
		zone = i.ZoneID
	}
	if err := checkDiskTexts(c.Get("DiskName"), c.Get("Description"), "InvalidDiskName.Malformed"); err != nil {
		return "", err
	}
	tagged := tags.FilterOf(c)
	if err := checkNewTags(c, tagged); err != nil {
		return "", err
	}
	d, err := diskWish{kind: dataDisk, get: func(name string) string {
		if name == "Category" {
			return cmp.Or(c.Get("DiskCategory"), "cloud_efficiency")
		}
		return c.Get(name)
	}}.disk(c, zone)
	if err != nil {
		return "", err
	}
	d.ID, d.Tags, d.ResourceGroupID, d.MultiAttach = c.NewID("d-bp1"), tagged, c.Get("ResourceGroupId"), c.Get("MultiAttach") == "Enabled"
	c.State.Disks[d.ID] = d
	if i != nil {
		d.InstanceID, d.Device, d.Attached = i.ID, freeDevice(c.State, i.ID), c.Now
		turnDisk(c, d, attaching, diskInUse)
		return d.ID, nil
	}
	turnDisk(c, d, creating, available)
	return d.ID, nil
}

// roomForDisk refuses one more data disk for an instance that can't take it, or not now.
func roomForDisk(c *api.Context, i *state.Instance) *api.Error {
	switch {
	case !still(i):
		return incorrectStatus()
	case len(disksOf(c.State, i.ID)) > disksPerInstance: // the system disk doesn't count
		return api.BadRequest("InstanceDiskLimitExceeded", "An instance can have %d data disks.", disksPerInstance)
	}
	return nil
}

func notPortable() *api.Error {
	return forbidden("DiskNotPortable", "The specified disk is not portable.")
}

func attachDisk(c *api.Context, d *state.Disk, i *state.Instance) (any, *api.Error) {
	switch {
	case d.Type == systemDisk:
		return nil, notPortable()
	case d.Status != available:
		return nil, wrongDiskStatus()
	case d.ZoneID != i.ZoneID:
		return nil, forbidden("ResourcesNotInSameZone", "The specified instance and disk are not in the same zone.")
	}
	if err := roomForDisk(c, i); err != nil {
		return nil, err
	}
	d.Device = freeDevice(c.State, i.ID)
	d.InstanceID, d.Attached = i.ID, c.Now
	c.SetText("Device", &d.Device)
	d.DeleteWithInstance = c.True("DeleteWithInstance")
	turnDisk(c, d, attaching, diskInUse)
	return nil, nil
}

func detachDisk(c *api.Context, d *state.Disk, i *state.Instance) (any, *api.Error) {
	switch {
	case d.Type == systemDisk:
		return nil, notPortable()
	case d.Status == diskInUse && d.InstanceID != i.ID:
		return nil, api.BadRequest("DependencyViolation", "The disk is not attached to the specified instance.")
	case d.Status != diskInUse:
		return nil, wrongDiskStatus()
	case !still(i):
		return nil, incorrectStatus()
	}
	d.Detached = c.Now
	turnDisk(c, d, detaching, available)
	return nil, nil
}

func deleteDisk(c *api.Context, d *state.Disk) (any, *api.Error) {
	switch {
	case d.Type == systemDisk:
		return nil, notPortable()
	case d.Status != available:
		return nil, wrongDiskStatus()
	}
	delete(c.State.Disks, d.ID)
	return nil, nil
}

// resizeDisk makes a disk larger; none becomes smaller. Offline resizing of an attached disk needs a stopped instance.
func resizeDisk(c *api.Context) (string, *api.Error) {
	d, err := diskByID(c)
	if err != nil {
		return "", err
	}
	_, most := dataSizes(d.Category, d.PerformanceLevel)
	if d.Type == systemDisk {
		most = mostSystemSize
	}
	size, i := c.Int("NewSize", 0), c.State.Instances[d.InstanceID]
	switch {
	case d.Status != available && d.Status != diskInUse:
		return "", wrongDiskStatus()
	case i != nil && !still(i):
		return "", incorrectStatus()
	case size <= d.Size:
		return "", forbidden("InvalidDiskSize.TooSmall", "The new size must be greater than the %d GiB of the disk.", d.Size)
	case size > most:
		return "", forbidden("InvalidDiskSize.NotSupported", "The new size exceeds %d GiB.", most)
	}
	d.Size = size
	return d.ID, nil
}

func modifyDisks(c *api.Context) (any, *api.Error) {
	ids := c.List("DiskIds")
	if c.Has("DiskId") {
		ids = append(ids, c.Get("DiskId"))
	}
	if len(ids) == 0 {
		return nil, api.Missing("DiskId")
	}
	for _, id := range ids {
		if c.State.Disks[id] == nil {
			return nil, diskNotFound()
		}
	}
	if err := checkDiskTexts(c.Get("DiskName"), c.Get("Description"), "InvalidDiskName.Malformed"); err != nil {
		return nil, err
	}
	for _, id := range ids {
		d := c.State.Disks[id]
		setSent(c, "DiskName", &d.Name)
		setSent(c, "Description", &d.Description)
		c.SetFlag("DeleteWithInstance", &d.DeleteWithInstance)
		c.SetFlag("DeleteAutoSnapshot", &d.DeleteAutoSnapshot)
		c.SetFlag("EnableAutoSnapshot", &d.EnableAutoSnapshot)
		c.SetFlag("BurstingEnabled", &d.Bursting)
	}
	return nil, nil
}

// setSent changes a text if it was sent, be it empty.
func setSent(c *api.Context, name string, text *string) {
	if value, sent := c.Lookup(name); sent {
		*text = value
	}
}

func modifyDiskSpec(c *api.Context, d *state.Disk) (any, *api.Error) {
	wish := diskWish{kind: d.Type, get: func(name string) string {
		return map[string]string{
			"Category": cmp.Or(c.Get("DiskCategory"), d.Category), "PerformanceLevel": cmp.Or(c.Get("PerformanceLevel"), d.PerformanceLevel),
			"Size": strconv.Itoa(d.Size), "ProvisionedIops": cmp.Or(c.Get("ProvisionedIops"), strconv.Itoa(d.ProvisionedIops)),
		}[name]
	}}
	changed, err := wish.disk(c, d.ZoneID)
	switch {
	case d.Status != available && d.Status != diskInUse:
		return nil, wrongDiskStatus()
	case err != nil:
		return nil, err
	case c.True("DryRun"):
		return nil, api.DryRun()
	}
	d.Category, d.PerformanceLevel, d.ProvisionedIops = changed.Category, changed.PerformanceLevel, changed.ProvisionedIops
	return api.Object{"TaskId", newTask(c, "ModifyDiskSpec", d.ID, c.Settings.DiskChange), "OrderId", ""}, nil
}

// replaceSystemDisk gives a stopped instance a new system disk with another image.
func replaceSystemDisk(c *api.Context) (string, *api.Error) {
	i, err := inStatus(stopped)(c)
	if err != nil {
		return "", err
	}
	found, err := imageFor(c.Get("ImageId"), "", i.InstanceType)
	if err != nil {
		return "", err
	}
	d := newSystemDisk(i, "")
	for _, old := range disksOf(c.State, i.ID) {
		if old.Type == systemDisk {
			*d = *old
		}
	}
	if size := c.Int("SystemDisk.Size", d.Size); size < leastSystemSize || size > mostSystemSize {
		return "", diskWish{prefix: "SystemDisk"}.wrongSize()
	}
	delete(c.State.Disks, d.ID)
	d.ID, d.ImageID, d.Size, d.Created, d.Attached = c.NewID("d-bp1"), found.id, c.Int("SystemDisk.Size", d.Size), c.Now, c.Now
	c.SetFlag("Encrypted", &d.Encrypted)
	c.SetText("KMSKeyId", &d.KMSKeyID)
	c.State.Disks[d.ID] = d
	i.ImageID = found.id
	i.KeyPairName = c.Get("KeyPairName") // the former one was on the former disk
	return d.ID, nil
}
