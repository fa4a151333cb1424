package slb

import (
	"cmp"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func aclActions() []api.Action {
	return []api.Action{
		api.Write("CreateAccessControlList", createACL, append(newTagCodes(), "AclNumberOverLimit", "InvalidParameter"),
			region(), api.Required("AclName"), api.OneOf("AddressIPVersion", "ipv4", "ipv6"),
			api.Optional("ResourceGroupId"), tags.Uncounted()),
		api.Write("DeleteAccessControlList", api.On(accessControlList, deleteACL),
			api.Words("AclNotExist OperationFailed.AclBindedWithVip"), region(), api.Required("AclId")),
		api.Write("SetAccessControlListAttribute", api.On(accessControlList, setACL),
			api.Words("AclNotExist InvalidParameter"), region(), api.Required("AclId"), api.Required("AclName")),
		api.Read("DescribeAccessControlLists", describeACLs, api.Words("MissingParam.TagKey SizeLimitExceeded.Tag"),
			append(listing.Params(50), region(), api.Optional("AclName"), api.Optional("AddressIPVersion"),
				api.Optional("ResourceGroupId"), tags.Uncounted())...),
		api.Read("DescribeAccessControlListAttribute", api.On(accessControlList, describeACL), api.Words("AclNotExist"),
			region(), api.Required("AclId"), api.Optional("AclEntryComment"), api.Number("Page", 1, 1<<31-1),
			api.Number("PageSize", 1, 50)),
	}
}

// accessControlList returns the list of the parameter AclId.
func accessControlList(c *api.Context) (*state.Acl, *api.Error) {
	return api.Named(c, c.State.Acls, "AclId", aclNotFound)
}

func createACL(c *api.Context) (any, *api.Error) {
	if !validName(c.Get("AclName")) {
		return nil, api.Invalid("AclName")
	}
	tags, err := newTags(c)
	if err != nil {
		return nil, err
	}
	if limit := c.Settings.Quotas.Acls; len(c.State.Acls) >= limit {
		return nil, api.BadRequest("AclNumberOverLimit", "The number of Acls exceeds the quota of %d.", limit)
	}
	acl := &state.Acl{
		ID: c.NewID("acl-bp1"), Name: c.Get("AclName"), IPVersion: cmp.Or(c.Get("AddressIPVersion"), "ipv4"), Tags: tags,
		Created: c.Now, ResourceGroupID: c.Get("ResourceGroupId"),
	}
	c.Keep("", &acl.Spelling)
	c.State.Acls[acl.ID] = acl
	return api.Object{"AclId", acl.ID}, nil
}

func deleteACL(c *api.Context, acl *state.Acl) (any, *api.Error) {
	if len(aclListeners(c, acl.ID)) > 0 {
		return nil, api.BadRequest("OperationFailed.AclBindedWithVip", "The Acl is used by a listener.")
	}
	delete(c.State.Acls, acl.ID)
	return nil, nil
}

func setACL(c *api.Context, acl *state.Acl) (any, *api.Error) {
	if !validName(c.Get("AclName")) {
		return nil, api.Invalid("AclName")
	}
	acl.Name = c.Get("AclName")
	return api.Object{"AclId", acl.ID}, nil
}

func aclListeners(c *api.Context, id string) []api.Object {
	out := []api.Object{}
	for _, lb := range sortedByID(c.State.LoadBalancers) {
		for _, l := range listenersAt(lb, 0, "") {
			if slices.Contains(l.AclIDs, id) {
				out = append(out, api.Object{
					"LoadBalancerId", lb.ID, "ListenerPort", l.Port, "Protocol", l.Protocol,
					"AclType", l.Attributes["AclType"],
				})
			}
		}
	}
	return out
}

func viewOfACL(acl *state.Acl) api.Object {
	return api.Object{
		"AclId", acl.ID, "AclName", acl.Name, "AddressIPVersion", acl.Spelling.Of("AddressIPVersion", acl.IPVersion),
		"ResourceGroupId", resourceGroup(acl.ResourceGroupID), "ServiceManagedMode", "Unmanaged",
		"CreateTime", stamp(acl.Created), "Tags", tags.Longs(acl.Tags),
	}
}

func describeACLs(c *api.Context) (any, *api.Error) {
	filter, err := tagCodes().KeysOf(c)
	if err != nil {
		return nil, err
	}
	var all []*state.Acl
	for _, acl := range sortedByID(c.State.Acls) {
		if strings.Contains(acl.Name, c.Get("AclName")) && filter.Match(acl.Tags) &&
			(!c.Has("AddressIPVersion") || strings.EqualFold(acl.IPVersion, c.Get("AddressIPVersion"))) && inResourceGroup(c,
			acl.ResourceGroupID) {
			all = append(all, acl)
		}
	}
	page, numbers := listing.Numbered(c, all)
	return append(numbers.Object(), "Count", len(page), "Acls", wrapped("Acl", page, viewOfACL)), nil
}

func describeACL(c *api.Context, acl *state.Acl) (any, *api.Error) {
	entries := []api.Object{}
	for _, e := range acl.Entries {
		if strings.Contains(e.Comment, c.Get("AclEntryComment")) {
			entries = append(entries, api.Object{"AclEntryIP", e.Entry, "AclEntryComment", e.Comment})
		}
	}
	total := len(entries)
	if c.Has("Page") || c.Has("PageSize") {
		entries, _ = listing.Cut(entries, c.Int("Page", 1), c.Int("PageSize", 50)) // this action alone calls it Page
	}
	return append(viewOfACL(acl), "TotalAclEntry", total, "AclEntrys", api.Object{"AclEntry", entries},
		"RelatedListeners", api.Object{"RelatedListener", aclListeners(c, acl.ID)}), nil
}
