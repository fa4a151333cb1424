package ecs

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func snapshotActions() []api.Action {
	return []api.Action{
		api.Read("DescribeSnapshots", describeSnapshots, api.Words("InvalidParameter InvalidSnapshotIds.Malformed DryRunOperation"),
			append(listing.Params(maxResults), region(), api.Param{Name: "SnapshotIds", Kind: api.JSON}, api.Optional("DiskId"),
				api.Optional("InstanceId"), api.Optional("SnapshotName"), api.OneOf("Status", "all", "progressing", "accomplished", "failed"),
				api.OneOf("SnapshotType", "all", "auto", "user"), api.OneOf("SourceDiskType", "system", "data"), api.Flag("Encrypted"),
				api.OneOf("Category", "standard", "flash"), api.Optional("ResourceGroupId"), tags.Param(), api.Optional("NextToken"),
				api.OneOf("Usage", "image", "disk", "image_disk", "none"), api.Optional("KMSKeyId"),
				api.Param{Name: "MaxResults", Kind: api.Int}, api.Flag("DryRun"))...),
		api.Write("CreateSnapshot", clienttoken.Once("ecs/CreateSnapshot", clienttoken.Show("SnapshotId"), createSnapshot),
			api.Words(`InvalidDiskId.NotFound IncorrectDiskStatus InvalidSnapshotName.Malformed InvalidDescription.Malformed
				InvalidTagKey.Malformed InvalidTagValue.Malformed Duplicate.TagKey QuotaExceed.Tags IdempotentParameterMismatch`),
			api.Required("DiskId"), api.Optional("SnapshotName"), api.Optional("Description"), api.Number("RetentionDays", 1, 65536),
			api.OneOf("Category", "standard", "flash"), api.Flag("InstantAccess"),
			api.Param{Name: "InstantAccessRetentionDays", Kind: api.Int}, api.Optional("ResourceGroupId"), tags.Uncounted(),
			api.Optional("ClientToken")),
		api.Write("DeleteSnapshot", api.On(snapshotByID, deleteSnapshot),
			api.Words("InvalidSnapshotId.NotFound SnapshotCreatedDisk"), api.Required("SnapshotId"), api.Flag("Force")),
	}
}

func snapshotByID(c *api.Context) (*state.Snapshot, *api.Error) {
	return api.Named(c, c.State.Snapshots, "SnapshotId", func() *api.Error {
		return api.NotFound("InvalidSnapshotId.NotFound", "The specified SnapshotId does not exist.")
	})
}

func createSnapshot(c *api.Context) (string, *api.Error) {
	d, err := diskByID(c)
	if err != nil {
		return "", err
	}
	if d.Status != available && d.Status != diskInUse {
		return "", wrongDiskStatus()
	}
	if err := checkDiskTexts(c.Get("SnapshotName"), c.Get("Description"), "InvalidSnapshotName.Malformed"); err != nil {
		return "", err
	}
	tagged := tags.FilterOf(c)
	if err := checkNewTags(c, tagged); err != nil {
		return "", err
	}
	s := &state.Snapshot{
		ID: c.NewID("s-bp1"), Name: c.Get("SnapshotName"), Description: c.Get("Description"), DiskID: d.ID, DiskType: d.Type, Size: d.Size,
		Category: cmp.Or(c.Get("Category"), "standard"), RetentionDays: c.Int("RetentionDays", 0), Encrypted: d.Encrypted,
		ResourceGroupID: c.Get("ResourceGroupId"), Tags: tagged, Created: c.Now, ReadyAt: c.Now.Add(c.Settings.SnapshotReady),
	}
	c.State.Snapshots[s.ID] = s
	return s.ID, nil
}

// deleteSnapshot needs Force for a snapshot from which disks were made.
func deleteSnapshot(c *api.Context, s *state.Snapshot) (any, *api.Error) {
	for _, d := range c.State.Disks {
		if d.SnapshotID == s.ID && !c.True("Force") {
			return nil, forbidden("SnapshotCreatedDisk", "Disk %s was made from the snapshot.", d.ID)
		}
	}
	delete(c.State.Snapshots, s.ID)
	return nil, nil
}

func snapshotStatus(c *api.Context, s *state.Snapshot) (status, progress string) {
	if c.Now.Before(s.ReadyAt) {
		return "progressing", "10%"
	}
	return "accomplished", "100%"
}

func describeSnapshots(c *api.Context) (any, *api.Error) {
	var ids []string
	if c.Has("SnapshotIds") && (json.Unmarshal([]byte(c.Get("SnapshotIds")), &ids) != nil || len(ids) > c.Settings.IDsPerCall) {
		return nil, api.BadRequest("InvalidSnapshotIds.Malformed", "The specified parameter \"SnapshotIds\" is not valid.")
	}
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	filter := tags.FilterOf(c)
	unlessAll := func(name string) string {
		if value := c.Get(name); value != "all" {
			return value
		}
		return ""
	}
	matching := listing.Find(c.State.Snapshots, func(s *state.Snapshot) bool {
		status, _ := snapshotStatus(c, s)
		of, key := "", ""
		if d := c.State.Disks[s.DiskID]; d != nil {
			of, key = d.InstanceID, d.KMSKeyID
		}
		return (!c.Has("SnapshotIds") || slices.Contains(ids, s.ID)) && listing.Match(c.Get("DiskId"), s.DiskID) &&
			listing.Match(c.Get("InstanceId"), of) && wildcard(c.Get("SnapshotName"), s.Name) && listing.Match(unlessAll("Status"), status) &&
			listing.Match(unlessAll("SnapshotType"), "user") && listing.Match(c.Get("SourceDiskType"), s.DiskType) &&
			listing.Match(c.Get("Category"), s.Category) && (!c.Has("Encrypted") || c.True("Encrypted") == s.Encrypted) &&
			listing.Match(c.Get("KMSKeyId"), key) && listing.Match(c.Get("Usage"), snapshotUsage(c, s)) &&
			listing.Match(c.Get("ResourceGroupId"), cmp.Or(s.ResourceGroupID, state.DefaultResourceGroup)) && filter.Match(s.Tags)
	})
	snapshots, answer, ok := page(c, matching, func(s *state.Snapshot) string { return s.ID },
		min(max(c.Int("MaxResults", minResults), minResults), maxResults))
	if !ok {
		return nil, api.Invalid("NextToken")
	}
	return append(answer, "Snapshots", api.Object{
		"Snapshot", api.Objects(snapshots, func(s *state.Snapshot) api.Object { return newSnapshotView(c, s) }),
	}), nil
}

// snapshotUsage is what was made from a snapshot. There are no images of snapshots.
func snapshotUsage(c *api.Context, s *state.Snapshot) string {
	for _, d := range c.State.Disks {
		if d.SnapshotID == s.ID {
			return "disk"
		}
	}
	return "none"
}

func newSnapshotView(c *api.Context, s *state.Snapshot) api.Object {
	status, progress := snapshotStatus(c, s)
	return api.Object{
		"SnapshotId", s.ID, "SnapshotName", s.Name, "Description", s.Description, "RegionId", c.Region, "Status", status,
		"Progress", progress, "Available", status == "accomplished", "SourceDiskId", s.DiskID, "SourceDiskType", s.DiskType,
		"SourceDiskSize", strconv.Itoa(s.Size), "SnapshotType", "user", "Category", s.Category, "Encrypted", s.Encrypted,
		"Usage", snapshotUsage(c, s),
		"RetentionDays", s.RetentionDays, "CreationTime", timeText(s.Created), "LastModifiedTime", timeText(s.Created),
		"InstantAccess", false, "RemainTime", 0, "ProductCode", "",
		"ResourceGroupId", cmp.Or(s.ResourceGroupID, state.DefaultResourceGroup), "Tags", tags.Longs(s.Tags),
	}
}
