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

type aclID struct {
	AclID string `json:"AclId"`
}

// accessControlList returns the list of the parameter AclId.
func accessControlList(c *api.Context) (*state.Acl, *api.Error) {
	acl := c.State.Acls[c.Get("AclId")]
	if acl == nil {
		return nil, aclNotFound()
	}
	return acl, nil
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
	c.State.Acls[acl.ID] = acl
	return aclID{AclID: acl.ID}, nil
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
	return aclID{AclID: acl.ID}, nil
}

// relatedListener is a listener that uses an access control list.
type relatedListener struct {
	LoadBalancerID string `json:"LoadBalancerId"`
	ListenerPort   int    `json:"ListenerPort"`
	Protocol       string `json:"Protocol"`
	AclType        string `json:"AclType"`
}

func aclListeners(c *api.Context, id string) []relatedListener {
	out := []relatedListener{}
	for _, lb := range sortedByID(c.State.LoadBalancers) {
		for _, l := range listenersAt(lb, 0, "") {
			if slices.Contains(l.AclIDs, id) {
				out = append(out, relatedListener{
					LoadBalancerID: lb.ID, ListenerPort: l.Port, Protocol: l.Protocol, AclType: l.Attributes["AclType"],
				})
			}
		}
	}
	return out
}

type describedACLs struct {
	listing.Page
	Count int `json:"Count"`
	Acls  struct {
		Acl []aclView `json:"Acl"`
	} `json:"Acls"`
}

type aclView struct {
	AclID              string        `json:"AclId"`
	AclName            string        `json:"AclName"`
	AddressIPVersion   string        `json:"AddressIPVersion"`
	ResourceGroupID    string        `json:"ResourceGroupId"`
	ServiceManagedMode string        `json:"ServiceManagedMode"`
	CreateTime         string        `json:"CreateTime"`
	Tags               tags.LongList `json:"Tags"`
}

func viewOfACL(acl *state.Acl) aclView {
	return aclView{
		AclID: acl.ID, AclName: acl.Name, AddressIPVersion: acl.IPVersion, ResourceGroupID: resourceGroup(acl.ResourceGroupID),
		ServiceManagedMode: "Unmanaged", CreateTime: stamp(acl.Created), Tags: tags.Longs(acl.Tags),
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
			(!c.Has("AddressIPVersion") || acl.IPVersion == c.Get("AddressIPVersion")) && inResourceGroup(c, acl.ResourceGroupID) {
			all = append(all, acl)
		}
	}
	var out describedACLs
	all, out.Page = listing.Numbered(c, all)
	out.Count = len(all)
	out.Acls.Acl = make([]aclView, 0, len(all))
	for _, acl := range all {
		out.Acls.Acl = append(out.Acls.Acl, viewOfACL(acl))
	}
	return out, nil
}

type describedACL struct {
	aclView
	TotalAclEntry int `json:"TotalAclEntry"`
	AclEntrys     struct {
		AclEntry []aclEntryView `json:"AclEntry"`
	} `json:"AclEntrys"`
	RelatedListeners struct {
		RelatedListener []relatedListener `json:"RelatedListener"`
	} `json:"RelatedListeners"`
}

type aclEntryView struct {
	AclEntryIP      string `json:"AclEntryIP"`
	AclEntryComment string `json:"AclEntryComment"`
}

func describeACL(c *api.Context, acl *state.Acl) (any, *api.Error) {
	out := describedACL{aclView: viewOfACL(acl)}
	entries := []aclEntryView{}
	for _, e := range acl.Entries {
		if strings.Contains(e.Comment, c.Get("AclEntryComment")) {
			entries = append(entries, aclEntryView{AclEntryIP: e.Entry, AclEntryComment: e.Comment})
		}
	}
	out.TotalAclEntry = len(entries)
	if c.Has("Page") || c.Has("PageSize") {
		entries, _ = listing.Cut(entries, c.Int("Page", 1), c.Int("PageSize", 50)) // this action alone calls it Page
	}
	out.AclEntrys.AclEntry = entries
	out.RelatedListeners.RelatedListener = aclListeners(c, acl.ID)
	return out, nil
}
