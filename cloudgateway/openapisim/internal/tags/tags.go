// Package tags holds the three actions that put tags on the resources of a product. The products differ in names and error codes
// only.
package tags

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Param is the parameter Tag.N.
func Param() api.Param { return api.Param{Name: "Tag", Kind: api.Structs, Max: maxTags} }

// Uncounted is the parameter Tag.N of an action that has a code of its own for too many tags.
func Uncounted() api.Param { return api.Param{Name: "Tag", Kind: api.Structs} }

// ListName is what the parameter is called in the lists of younger actions, and ListParam is it.
const ListName = "Tags"

// ListParam is the parameter Tags.N.
func ListParam() api.Param { return api.Param{Name: ListName, Kind: api.Structs, Max: maxTags} }

func given(c *api.Context) []state.Tag { return givenAs(c, "Tag") }

func givenAs(c *api.Context, name string) []state.Tag {
	var tags []state.Tag
	for _, item := range c.Items(name) {
		tags = append(tags, state.Tag{Key: item["key"], Value: item["value"]})
	}
	return tags
}

// Type is a type of resources that can have tags.
type Type struct {
	Find    func(c *state.Cloud, id string) *[]state.Tag // where the tags of a resource are; nil: there is no such resource
	IDs     func(c *state.Cloud) []string                // of all resources
	Unknown string                                       // code for a resource that does not exist; "": that of the product
}

// Of is the type of the resources in a map of the state.
func Of[T any](all func(*state.Cloud) map[string]*T, tags func(*T) *[]state.Tag) Type {
	return Type{
		Find: func(c *state.Cloud, id string) *[]state.Tag {
			if item := all(c)[id]; item != nil {
				return tags(item)
			}
			return nil
		},
		IDs: func(c *state.Cloud) []string { return slices.Collect(maps.Keys(all(c))) },
	}
}

// Service describes how one product tags.
type Service struct {
	Types map[string]Type // by ResourceType

	Untag  string // name of the action that removes tags
	MaxIDs int    // resources in one call
	Sized  bool   // clients choose how many tags a page has
	Strict bool   // ListTagResources refuses resources that do not exist, and takes keys that nothing can have
	Any    bool   // several tags of a filter are alternatives
	Codes  Codes
	// Before is called before the tags of a resource change. Nil: nothing is called.
	Before func(c *api.Context, resourceType, id string)
}

// Actions returns the actions.
func (s Service) Actions() []api.Action {
	required := func(name string, kind api.Kind) api.Param {
		return api.Param{Name: name, Kind: kind, Required: true, Missing: s.Codes.missing(name)}
	}
	region := required("RegionId", api.String)
	region.Required = region.Missing != nil
	common := []api.Param{region, required("ResourceType", api.String)}
	list := append(slices.Clone(common), api.Param{Name: "ResourceId", Kind: api.Strings}, Uncounted(), api.Optional("NextToken"))
	if s.Sized {
		list = append(list, api.Number("MaxResults", 1, pageSize))
	}
	write := append(slices.Clone(common), required("ResourceId", api.Strings))
	k := s.Codes
	codes := func(others ...string) []string {
		all := slices.Compact(slices.Sorted(slices.Values(append(others, k.Type, k.IDs, k.NoKey))))
		return slices.DeleteFunc(all, func(code string) bool { return code == "" })
	}
	listCodes := codes(k.Tags, k.Key, k.Duplicate, k.Value, k.Neither, k.Page)
	if s.Strict {
		listCodes = codes(k.Tags, k.Neither, k.Page, k.ID)
	}
	untagCodes := codes(cmp.Or(k.Keys, k.Tags), k.Key, k.Duplicate, k.ID)
	return []api.Action{
		{
			Name: "TagResources", Mutating: true, Handle: atOnce(s.Tag), Codes: codes(k.Tags, k.Key, k.Duplicate, k.ID, k.Value, k.Quota),
			Params: append(slices.Clone(write), required("Tag", api.Structs)),
		},
		{
			Name: s.Untag, Mutating: true, Handle: atOnce(s.Remove), Codes: untagCodes,
			Params: append(slices.Clone(write), api.Param{Name: "TagKey", Kind: api.Strings}, api.Flag("All")),
		},
		{Name: "ListTagResources", Handle: s.list, Codes: listCodes, Params: list},
	}
}

// atOnce handles a write that is complete when the call answers.
func atOnce(check func(*api.Context) (func(), *api.Error)) func(*api.Context) (any, *api.Error) {
	return func(c *api.Context) (any, *api.Error) {
		apply, err := check(c)
		if err == nil {
			apply()
		}
		return nil, err
	}
}

// typeOf returns the type that a call is about.
func (s Service) typeOf(c *api.Context) (Type, *api.Error) {
	t, known := s.Types[c.Get("ResourceType")]
	if !known {
		all := strings.Join(slices.Sorted(maps.Keys(s.Types)), ", ")
		return t, s.Codes.err(s.Codes.Type, "The specified ResourceType %s is none of %s.", c.Get("ResourceType"), all)
	}
	return t, nil
}

func (s Service) unknown(t Type, id string) *api.Error {
	return s.Codes.err(cmp.Or(t.Unknown, s.Codes.ID), "The specified ResourceId %s does not exist.", id)
}

// ids returns the parameter ResourceId.
func (s Service) ids(c *api.Context) ([]string, *api.Error) {
	ids := c.List("ResourceId")
	if len(ids) > s.MaxIDs {
		return nil, s.Codes.err(s.Codes.IDs, "The number of resource ids exceeds %d.", s.MaxIDs)
	}
	return ids, nil
}

// change checks a change of the tags of the resources in ResourceId.N and returns a function that carries it out.
func (s Service) change(c *api.Context, how func(old []state.Tag) []state.Tag) (func(), *api.Error) {
	t, err := s.typeOf(c)
	if err != nil {
		return nil, err
	}
	ids, err := s.ids(c)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		tags := t.Find(c.State, id)
		if tags == nil {
			return nil, s.unknown(t, id)
		}
		if most := c.Settings.Quotas.Tags; len(how(*tags)) > max(most, len(*tags)) {
			return nil, s.Codes.err(s.Codes.Quota, "A resource can have %d tags.", most)
		}
	}
	return func() {
		for _, id := range ids {
			if s.Before != nil {
				s.Before(c, c.Get("ResourceType"), id)
			}
			tags := t.Find(c.State, id)
			*tags = how(*tags)
		}
	}, nil
}

// Tag checks a call of TagResources and returns a function that carries it out.
func (s Service) Tag(c *api.Context) (func(), *api.Error) {
	added, err := s.Codes.New(c, maxTags)
	if err != nil {
		return nil, err
	}
	return s.change(c, func(old []state.Tag) []state.Tag { return Merge(old, added) })
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

// Remove checks a call that removes tags and returns a function that carries it out.
func (s Service) Remove(c *api.Context) (func(), *api.Error) {
	keys := c.List("TagKey")
	if err := s.Codes.count(len(keys), maxTags, cmp.Or(s.Codes.Keys, s.Codes.Tags)); err != nil {
		return nil, err
	}
	named := make([]state.Tag, 0, len(keys))
	for _, key := range keys {
		named = append(named, state.Tag{Key: key})
	}
	if err := s.Codes.CheckNew(named); err != nil {
		return nil, err
	}
	all := len(keys) == 0 && c.True("All")
	if len(keys) == 0 && !all && s.Codes.NoKey != "" {
		return nil, s.Codes.err(s.Codes.NoKey, "The tag key is missing.")
	}
	return s.change(c, func(old []state.Tag) []state.Tag {
		left := slices.DeleteFunc(slices.Clone(old), func(t state.Tag) bool { return all || slices.Contains(keys, t.Key) })
		if len(left) == 0 {
			return nil
		}
		return left
	})
}

// RemoveMatching checks a call that removes Tag.N, those without a value by key, and returns a function that carries it out.
func (s Service) RemoveMatching(c *api.Context) (func(), *api.Error) {
	gone := FilterOf(c)
	if err := s.Codes.count(len(gone), maxTags, s.Codes.Tags); err != nil {
		return nil, err
	}
	return s.change(c, func(old []state.Tag) []state.Tag {
		left := slices.DeleteFunc(slices.Clone(old), func(t state.Tag) bool { return len(gone) > 0 && gone.MatchAny([]state.Tag{t}) })
		if len(left) == 0 {
			return nil
		}
		return left
	})
}

// All returns the tags of all resources, of those of a type, or of one, each once and sorted.
func (s Service) All(c *api.Context, resourceType, id string) ([]state.Tag, *api.Error) {
	if _, known := s.Types[resourceType]; resourceType != "" && !known {
		return nil, s.Codes.err(s.Codes.Type, "The specified ResourceType %s is not known.", resourceType)
	}
	seen := map[state.Tag]bool{}
	for name, t := range s.Types {
		if !listing.Match(resourceType, name) {
			continue
		}
		for _, one := range t.IDs(c.State) {
			if tags := t.Find(c.State, one); tags != nil && listing.Match(id, one) {
				for _, tag := range *tags {
					seen[tag] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b state.Tag) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
	}), nil
}

// Tagged is a tag of a resource.
type Tagged struct {
	ResourceType string `json:"ResourceType"`
	ResourceID   string `json:"ResourceId"`
	TagKey       string `json:"TagKey"`
	TagValue     string `json:"TagValue"`
}

// Place is where a tag is in lists, which are sorted by it.
func (t Tagged) Place() string { return t.ResourceID + "/" + t.TagKey }

// Find returns the tags that a call of ListTagResources asks for, those of all resources in one list.
func (s Service) Find(c *api.Context) ([]Tagged, *api.Error) {
	t, err := s.typeOf(c)
	if err != nil {
		return nil, err
	}
	ids, err := s.ids(c)
	if err != nil {
		return nil, err
	}
	filter, err := s.filter(c)
	switch {
	case err != nil:
		return nil, err
	case len(ids) == 0 && len(filter) == 0 && s.Codes.Neither != "":
		return nil, s.Codes.err(s.Codes.Neither, "ResourceId and Tag can't both be empty.")
	case len(ids) == 0:
		ids = t.IDs(c.State)
	}
	found := []Tagged{}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		tags := t.Find(c.State, id)
		switch {
		case tags == nil && s.Strict:
			return nil, s.unknown(t, id)
		case tags == nil, s.Any && !filter.MatchAny(*tags), !s.Any && !filter.Match(*tags):
			continue
		}
		for _, tag := range *tags {
			found = append(found, Tagged{ResourceType: c.Get("ResourceType"), ResourceID: id, TagKey: tag.Key, TagValue: tag.Value})
		}
	}
	slices.SortFunc(found, func(a, b Tagged) int { return strings.Compare(a.Place(), b.Place()) })
	return found, nil
}

func (s Service) filter(c *api.Context) (Filter, *api.Error) {
	if s.Strict || s.Any {
		return s.Codes.KeysOf(c)
	}
	return s.Codes.New(c, maxTags)
}

type listed struct {
	NextToken    string `json:"NextToken"`
	TagResources struct {
		TagResource []Tagged `json:"TagResource"`
	} `json:"TagResources"`
}

// pageSize is the number of tags in one answer, and the most that a client can choose.
const pageSize = 50

func (s Service) list(c *api.Context) (any, *api.Error) {
	found, err := s.Find(c)
	if err != nil {
		return nil, err
	}
	page, next, ok := listing.After(found, Tagged.Place, c.Get("NextToken"), c.Int("MaxResults", pageSize))
	if !ok {
		return nil, s.Codes.err(s.Codes.Page, "The specified parameter \"NextToken\" is not valid.")
	}
	out := listed{NextToken: next}
	out.TagResources.TagResource = page
	return out, nil
}
