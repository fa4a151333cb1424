// Package tags holds the three actions that put tags on the resources of VPC and ECS. The products differ in names and
// error codes only.
package tags

import (
	"maps"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// ECSList is the wrapped list of tags of a resource of ECS.
type ECSList struct {
	Tag []ecsView `json:"Tag"`
}

type ecsView struct {
	TagKey   string `json:"TagKey"`
	TagValue string `json:"TagValue"`
}

// ECS shows tags as ECS does.
func ECS(tags []state.Tag) ECSList {
	list := ECSList{Tag: make([]ecsView, 0, len(tags))}
	for _, t := range tags {
		list.Tag = append(list.Tag, ecsView{TagKey: t.Key, TagValue: t.Value})
	}
	return list
}

// VPCList is the wrapped list of tags of a resource of VPC.
type VPCList struct {
	Tag []vpcView `json:"Tag"`
}

type vpcView struct {
	Key   string `json:"Key"`
	Value string `json:"Value"`
}

// VPC shows tags as VPC does.
func VPC(tags []state.Tag) VPCList {
	list := VPCList{Tag: make([]vpcView, 0, len(tags))}
	for _, t := range tags {
		list.Tag = append(list.Tag, vpcView(t))
	}
	return list
}

// Param is the parameter Tag.N.
func Param() api.Param { return api.Param{Name: "Tag", Kind: api.Structs, Max: maxTags} }

// Uncounted is the parameter Tag.N of an action that has a code of its own for too many tags.
func Uncounted() api.Param { return api.Param{Name: "Tag", Kind: api.Structs} }

func given(c *api.Context) []state.Tag {
	var tags []state.Tag
	for _, item := range c.Items("Tag") {
		tags = append(tags, state.Tag{Key: item["key"], Value: item["value"]})
	}
	return tags
}

// Service describes how one product tags.
type Service struct {
	// Types finds the tags of a resource by type and id; nil if there is no such resource.
	Types map[string]func(c *state.Cloud, id string) *[]state.Tag
	// IDs lists the ids of a type, sorted.
	IDs func(c *state.Cloud, resourceType string) []string

	Untag  string // name of the action that removes tags
	MaxIDs int    // resources in one call
	Sized  bool   // clients choose how many resources a page of tags has
	Codes  Codes
}

// Actions returns the actions.
func (s Service) Actions() []api.Action {
	required := func(name string, kind api.Kind) api.Param {
		return api.Param{Name: name, Kind: kind, Required: true, Missing: s.Codes.missing(name)}
	}
	common := []api.Param{required("RegionId", api.String), required("ResourceType", api.String)}
	list := append(slices.Clone(common), api.Param{Name: "ResourceId", Kind: api.Strings}, Uncounted(), api.Param{Name: "NextToken"})
	if s.Sized {
		list = append(list, api.Param{Name: "MaxResults", Kind: api.Int, Min: 1, Max: pageSize})
	}
	write := append(slices.Clone(common), required("ResourceId", api.Strings))
	k := s.Codes
	codes := []string{k.Type, k.IDs, k.Tags, k.Key, k.Duplicate}
	return []api.Action{
		{
			Name: "TagResources", Mutating: true, Handle: s.tag, Codes: append(slices.Clone(codes), k.ID, k.Value, k.Quota),
			Params: append(slices.Clone(write), required("Tag", api.Structs)),
		},
		{
			Name: s.Untag, Mutating: true, Handle: s.untag, Codes: append(slices.Clone(codes), k.ID),
			Params: append(slices.Clone(write), api.Param{Name: "TagKey", Kind: api.Strings}, api.Param{Name: "All", Kind: api.Bool}),
		},
		{Name: "ListTagResources", Handle: s.list, Codes: append(slices.Clone(codes), k.Value, k.Neither, k.Token), Params: list},
	}
}

// resources returns the tags of the resources of the parameter ResourceId.
func (s Service) resources(c *api.Context) ([]*[]state.Tag, *api.Error) {
	find, err := s.finder(c)
	if err != nil {
		return nil, err
	}
	ids := c.List("ResourceId")
	if len(ids) > s.MaxIDs {
		return nil, s.Codes.err(s.Codes.IDs, "The number of resource ids exceeds %d.", s.MaxIDs)
	}
	var out []*[]state.Tag
	for _, id := range ids {
		tags := find(c.State, id)
		if tags == nil {
			return nil, s.Codes.err(s.Codes.ID, "The specified ResourceId %s does not exist.", id)
		}
		out = append(out, tags)
	}
	return out, nil
}

func (s Service) finder(c *api.Context) (func(*state.Cloud, string) *[]state.Tag, *api.Error) {
	find := s.Types[c.Get("ResourceType")]
	if find == nil {
		known := strings.Join(slices.Sorted(maps.Keys(s.Types)), ", ")
		return nil, s.Codes.err(s.Codes.Type, "The specified ResourceType %s is none of %s.", c.Get("ResourceType"), known)
	}
	return find, nil
}

func (s Service) tag(c *api.Context) (any, *api.Error) {
	resources, err := s.resources(c)
	if err != nil {
		return nil, err
	}
	tags := given(c)
	if err := s.Codes.checkCall(tags); err != nil {
		return nil, err
	}
	merged := make([][]state.Tag, len(resources))
	for i, r := range resources {
		if merged[i] = Merge(*r, tags); len(merged[i]) > c.Settings.Quotas.Tags {
			return nil, s.Codes.err(s.Codes.Quota, "A resource can have %d tags.", c.Settings.Quotas.Tags)
		}
	}
	for i, r := range resources {
		*r = merged[i]
	}
	return nil, nil
}

// Merge returns old tags with new ones added; a new tag replaces the value of an old one.
func Merge(old, added []state.Tag) []state.Tag {
	merged := slices.Clone(old)
	for _, t := range added {
		if i := slices.IndexFunc(merged, func(o state.Tag) bool { return o.Key == t.Key }); i >= 0 {
			merged[i] = t
		} else {
			merged = append(merged, t)
		}
	}
	return merged
}

func (s Service) untag(c *api.Context) (any, *api.Error) {
	resources, err := s.resources(c)
	if err != nil {
		return nil, err
	}
	keys := c.List("TagKey")
	named := make([]state.Tag, 0, len(keys))
	for _, key := range keys {
		named = append(named, state.Tag{Key: key})
	}
	if err := s.Codes.checkCall(named); err != nil {
		return nil, err
	}
	all := len(keys) == 0 && c.True("All")
	for _, r := range resources {
		*r = slices.DeleteFunc(slices.Clone(*r), func(t state.Tag) bool { return all || slices.Contains(keys, t.Key) })
	}
	return nil, nil
}

type listed struct {
	NextToken    string `json:"NextToken"`
	TagResources struct {
		TagResource []tagged `json:"TagResource"`
	} `json:"TagResources"`
}

type tagged struct {
	ResourceType string `json:"ResourceType"`
	ResourceID   string `json:"ResourceId"`
	TagKey       string `json:"TagKey"`
	TagValue     string `json:"TagValue"`
}

// pageSize is the number of resources whose tags are listed in one answer.
const pageSize = 50

func (s Service) list(c *api.Context) (any, *api.Error) {
	find, err := s.finder(c)
	if err != nil {
		return nil, err
	}
	ids, filter := c.List("ResourceId"), FilterOf(c)
	switch {
	case len(ids) == 0 && len(filter) == 0:
		return nil, s.Codes.err(s.Codes.Neither, "ResourceId and Tag can't both be empty.")
	case len(ids) > s.MaxIDs:
		return nil, s.Codes.err(s.Codes.IDs, "The number of resource ids exceeds %d.", s.MaxIDs)
	case len(ids) == 0:
		ids = s.IDs(c.State, c.Get("ResourceType"))
	}
	if err := s.Codes.checkCall(filter); err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(slices.Sorted(slices.Values(ids)), func(id string) bool {
		tags := find(c.State, id)
		return tags == nil || !filter.Match(*tags)
	})
	page, next, ok := listing.After(ids, func(id string) string { return id }, c.Get("NextToken"), c.Int("MaxResults", pageSize))
	if !ok {
		return nil, s.Codes.err(s.Codes.Token, "The specified parameter \"NextToken\" is not valid.")
	}
	out := listed{NextToken: next}
	out.TagResources.TagResource = []tagged{}
	for _, id := range page {
		for _, t := range *find(c.State, id) {
			out.TagResources.TagResource = append(out.TagResources.TagResource,
				tagged{ResourceType: c.Get("ResourceType"), ResourceID: id, TagKey: t.Key, TagValue: t.Value})
		}
	}
	return out, nil
}
