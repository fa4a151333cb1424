package writetest

import (
	"context"
	"fmt"
	"path"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"
)

func aclOperations() []Operation {
	return []Operation{
		{
			Name: "CreateAccessControlList", Actions: []string{"CreateAccessControlList", "AddAccessControlListEntry"}, Prepare: nothing,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.AccessControlLists.CreateAccessControlList(ctx, s.wantedACL())
				return err
			},
			Resume: resumeACL,
		},
		{
			Name: "UpdateAccessControlList", Prepare: withACL,
			Actions: []string{
				"SetAccessControlListAttribute", "AddAccessControlListEntry", "RemoveAccessControlListEntry", "TagResources", "UntagResources",
				"MoveResourceGroup",
			},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.AccessControlLists.UpdateAccessControlList(ctx, &slbv1.UpdateAccessControlListRequest{
					AclId: s.acl, Name: new(s.Name + "-renamed"), AddEntries: s.entries(60, 60), RemoveEntries: []string{entry(0), entry(1)},
					SetTags: []*commonv1.Tag{{Key: "more", Value: "1"}}, RemoveTagKeys: []string{"site"}, ResourceGroupId: new("rg-other"),
				})
				return err
			},
		},
		{
			Name: "DeleteAccessControlList", Actions: []string{"DeleteAccessControlList"}, Prepare: withACL,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.AccessControlLists.DeleteAccessControlList(ctx, &slbv1.DeleteAccessControlListRequest{AclId: s.acl})
				return err
			},
		},
	}
}

// wantedACL is what CreateAccessControlList creates: more entries than one call takes.
func (s *Site) wantedACL() *slbv1.CreateAccessControlListRequest {
	return &slbv1.CreateAccessControlListRequest{
		RequestId: path.Join(s.Name, "acl"), Name: s.Name, Tags: []*commonv1.Tag{{Key: "site", Value: s.Name}}, Entries: s.entries(0, 60),
	}
}

// entries makes entries on the networks from first on.
func (s *Site) entries(first, count int) []*slbv1.AccessControlEntry {
	list := make([]*slbv1.AccessControlEntry, count)
	for i := range list {
		list[i] = &slbv1.AccessControlEntry{Cidr: entry(first + i), Comment: "of " + s.Name}
	}
	return list
}

func entry(i int) string { return fmt.Sprintf("10.0.%d.0/24", i) }

func withACL(ctx context.Context, c *gateway.Client, s *Site) error {
	answer, err := c.AccessControlLists.CreateAccessControlList(ctx, s.wantedACL())
	s.acl = answer.GetAclId()
	return err
}

// resumeACL looks for the list by its name and adds the entries, of which those that are there do no harm.
func resumeACL(ctx context.Context, c *gateway.Client, s *Site) error {
	want := s.wantedACL()
	listed, err := c.AccessControlLists.ListAccessControlLists(ctx, &slbv1.ListAccessControlListsRequest{Name: want.GetName()})
	if err != nil {
		return err
	}
	if len(listed.GetAccessControlLists()) == 0 {
		_, err = c.AccessControlLists.CreateAccessControlList(ctx, want)
		return err
	}
	_, err = c.AccessControlLists.UpdateAccessControlList(ctx, &slbv1.UpdateAccessControlListRequest{
		AclId: listed.GetAccessControlLists()[0].GetAclId(), AddEntries: want.GetEntries(),
	})
	return err
}
