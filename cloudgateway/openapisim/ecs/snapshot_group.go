package ecs

import (
	"cmp"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// disksPerSnapshotGroup is how many disks a group can have, by the documents.
const disksPerSnapshotGroup = 16

func snapshotGroupActions() []api.Action {
	list := func(name string) api.Param {
		return api.Param{Name: name, Kind: api.Strings, Max: disksPerSnapshotGroup}
	}
	return []api.Action{
		api.Write("CreateSnapshotGroup",
			clienttoken.Once("ecs/CreateSnapshotGroup", clienttoken.Show("SnapshotGroupId"), createSnapshotGroup),
			api.Words(`InvalidInstanceId.NotFound InvalidDiskId.NotFound IncorrectDiskStatus InvalidParameter InvalidName.Malformed
				InvalidDescription.Malformed InvalidTagKey.Malformed InvalidTagValue.Malformed Duplicate.TagKey QuotaExceed.Tags
				IdempotentParameterMismatch`), region(), api.Required("InstanceId"), api.Optional("Name"), api.Optional("Description"),
			list("DiskId"), list("ExcludeDiskId"), api.Optional("ResourceGroupId"), tags.Uncounted(), api.Optional("ClientToken")),
		api.Read("DescribeSnapshotGroups", describeSnapshotGroups, api.Words("InvalidParameter"), region(), list("SnapshotGroupId"),
			api.Optional("InstanceId"), api.Optional("Name"), api.Optional("ResourceGroupId"), api.Param{Name: "Status", Kind: api.Strings},
			tags.Param(), api.Optional("NextToken"), api.Param{Name: "MaxResults", Kind: api.Int}),
		api.Write("DeleteSnapshotGroup", api.On(snapshotGroupByID, deleteSnapshotGroup), api.Words("InvalidSnapshotGroupId.NotFound"),
			region(), api.Required("SnapshotGroupId")),
	}
}

func snapshotGroupByID(c *api.Context) (*state.SnapshotGroup, *api.Error) {
	return api.Named(c, c.State.SnapshotGroups, "SnapshotGroupId", func() *api.Error {
		return api.NotFound("InvalidSnapshotGroupId.NotFound", "The specified SnapshotGroupId does not exist.")
	})
}

// groupDisks are the disks of the instance that a call names, or all, or all but those that it names.
func groupDisks(c *api.Context, i *state.Instance) ([]*state.Disk, *api.Error) {
	wanted, left := c.List("DiskId"), c.List("ExcludeDiskId")
	if len(wanted) > 0 && len(left) > 0 {
		return nil, api.Invalid("ExcludeDiskId")
	}
	for _, id := range append(slices.Clone(wanted), left...) {
		if d := c.State.Disks[id]; d == nil || d.InstanceID != i.ID {
			return nil, diskNotFound()
		}
	}
	disks := listing.Find(c.State.Disks, func(d *state.Disk) bool {
		return d.InstanceID == i.ID && listing.Among(wanted, d.ID) && !slices.Contains(left, d.ID)
	})
	switch {
	case len(disks) == 0 || len(disks) > disksPerSnapshotGroup:
		return nil, api.Invalid("DiskId")
	case slices.ContainsFunc(disks, func(d *state.Disk) bool { return d.Status != diskInUse }):
		return nil, wrongDiskStatus()
	}
	return disks, nil
}

func createSnapshotGroup(c *api.Context) (string, *api.Error) {
	i, err := instanceByID(c)
	if err != nil {
		return "", err
	}
	disks, err := groupDisks(c, i)
	if err != nil {
		return "", err
	}
	if err := checkDiskTexts(c.Get("Name"), c.Get("Description"), "InvalidName.Malformed"); err != nil {
		return "", err
	}
	tagged := tags.FilterOf(c)
	if err := checkNewTags(c, tagged); err != nil {
		return "", err
	}
	g := &state.SnapshotGroup{
		ID: c.NewID("ssg-bp1"), Name: c.Get("Name"), Description: c.Get("Description"), InstanceID: i.ID,
		ResourceGroupID: c.Get("ResourceGroupId"), Tags: tagged, Created: c.Now,
	}
	for _, d := range disks {
		s := &state.Snapshot{
			ID: c.NewID("s-bp1"), DiskID: d.ID, DiskType: d.Type, Size: d.Size, Category: "standard", Encrypted: d.Encrypted,
			ResourceGroupID: g.ResourceGroupID, Created: c.Now, ReadyAt: c.Now.Add(c.Settings.SnapshotReady),
		}
		c.State.Snapshots[s.ID] = s
		g.SnapshotIDs = append(g.SnapshotIDs, s.ID)
	}
	c.State.SnapshotGroups[g.ID] = g
	return g.ID, nil
}

// snapshotsOf are those of a group that nobody has deleted.
func snapshotsOf(c *api.Context, g *state.SnapshotGroup) []*state.Snapshot {
	return listing.Find(c.State.Snapshots, func(s *state.Snapshot) bool { return slices.Contains(g.SnapshotIDs, s.ID) })
}

// deleteSnapshotGroup deletes the snapshots with their group.
func deleteSnapshotGroup(c *api.Context, g *state.SnapshotGroup) (any, *api.Error) {
	progress := api.Objects(snapshotsOf(c, g), func(s *state.Snapshot) api.Object {
		delete(c.State.Snapshots, s.ID)
		return api.Object{"OperationStatus", "Success", "ErrorCode", "", "ErrorMsg", "", "RelatedItemSet", api.Object{
			"RelatedItem", []api.Object{{"Name", "SnapshotId", "Value", s.ID}},
		}}
	})
	delete(c.State.SnapshotGroups, g.ID)
	return api.Object{"OperationProgressSet", api.Object{"OperationProgress", progress}}, nil
}

func snapshotGroupStatus(c *api.Context, g *state.SnapshotGroup) string {
	for _, s := range snapshotsOf(c, g) {
		if status, _ := snapshotStatus(c, s); status != "accomplished" {
			return status
		}
	}
	return "accomplished"
}

func describeSnapshotGroups(c *api.Context) (any, *api.Error) {
	filter := tags.FilterOf(c)
	matching := listing.Find(c.State.SnapshotGroups, func(g *state.SnapshotGroup) bool {
		return listing.Among(c.List("SnapshotGroupId"), g.ID) && listing.Match(c.Get("InstanceId"), g.InstanceID) &&
			listing.Match(c.Get("Name"), g.Name) && listing.Among(c.List("Status"), snapshotGroupStatus(c, g)) &&
			listing.Match(c.Get("ResourceGroupId"), cmp.Or(g.ResourceGroupID, state.DefaultResourceGroup)) && filter.Match(g.Tags)
	})
	page, next, ok := listing.After(matching, func(g *state.SnapshotGroup) string { return g.ID }, c.Get("NextToken"),
		min(max(c.Int("MaxResults", minResults), minResults), maxResults))
	if !ok {
		return nil, api.Invalid("NextToken")
	}
	return api.Object{"NextToken", next, "SnapshotGroups", api.Object{
		"SnapshotGroup", api.Objects(page, func(g *state.SnapshotGroup) api.Object {
			return api.Object{
				"SnapshotGroupId", g.ID, "Name", g.Name, "Description", g.Description, "InstanceId", g.InstanceID,
				"Status", snapshotGroupStatus(c, g), "ProgressStatus", "", "CreationTime", timeText(g.Created),
				"ResourceGroupId", cmp.Or(g.ResourceGroupID, state.DefaultResourceGroup), "Tags", tags.Longs(g.Tags),
				"Snapshots", api.Object{"Snapshot", api.Objects(snapshotsOf(c, g), func(s *state.Snapshot) api.Object {
					return newSnapshotView(c, s)
				})},
			}
		}),
	}}, nil
}
