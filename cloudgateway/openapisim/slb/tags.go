package slb

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// tagsPerCall is the number of tags and of resources in one call.
const tagsPerCall = 20

type tagList struct {
	Tag []tagView `json:"Tag"`
}

type tagView struct {
	TagKey   string `json:"TagKey"`
	TagValue string `json:"TagValue"`
}

func tagViews(tags []state.Tag) []tagView {
	out := make([]tagView, 0, len(tags))
	for _, t := range tags {
		out = append(out, tagView{TagKey: t.Key, TagValue: t.Value})
	}
	return out
}

func newTagList(tags []state.Tag) tagList { return tagList{Tag: tagViews(tags)} }

// newTagCodes are the codes of actions that tag what they create.
func newTagCodes() []string {
	return []string{"Duplicate.TagKey", "InvalidParam.TagKey", "InvalidParam.TagValue", "MissingParam.TagKey", "SizeLimitExceeded.Tag"}
}

// newTags checks the tags of a new resource, given as the items of Tag.N.
func newTags(items []map[string]string, limit int) ([]state.Tag, *api.Error) {
	if len(items) > min(limit, tagsPerCall) {
		return nil, api.BadRequest("SizeLimitExceeded.Tag", "The number of tags exceeds %d.", min(limit, tagsPerCall))
	}
	var tags []state.Tag
	for _, item := range items {
		tag := state.Tag{Key: item["key"], Value: item["value"]}
		if err := checkTag(tag); err != nil {
			return nil, err
		}
		if hasKey(tags, tag.Key) {
			return nil, api.BadRequest("Duplicate.TagKey", "The tag key %s is duplicated.", tag.Key)
		}
		tags = append(tags, tag)
	}
	return tags, nil
}

func checkTag(tag state.Tag) *api.Error {
	switch {
	case tag.Key == "":
		return api.BadRequest("MissingParam.TagKey", "The tag key is missing.")
	case utf8.RuneCountInString(tag.Key) > 64 || reserved(tag.Key):
		return api.BadRequest("InvalidParam.TagKey", "The tag key %s is not valid.", tag.Key)
	case utf8.RuneCountInString(tag.Value) > 128 || strings.Contains(tag.Value, "http://") || strings.Contains(tag.Value, "https://"):
		return api.BadRequest("InvalidParam.TagValue", "The tag value %s is not valid.", tag.Value)
	}
	return nil
}

func reserved(key string) bool {
	key = strings.ToLower(key)
	return strings.HasPrefix(key, "aliyun") || strings.HasPrefix(key, "acs:") ||
		strings.Contains(key, "http://") || strings.Contains(key, "https://")
}

func hasKey(tags []state.Tag, key string) bool {
	return slices.ContainsFunc(tags, func(t state.Tag) bool { return t.Key == key })
}

// merge returns the tags with others added; a tag with a known key replaces the value.
func merge(tags, others []state.Tag) []state.Tag {
	out := slices.Clone(tags)
	for _, t := range others {
		if i := slices.IndexFunc(out, func(old state.Tag) bool { return old.Key == t.Key }); i >= 0 {
			out[i].Value = t.Value
		} else {
			out = append(out, t)
		}
	}
	return out
}

// condition is one tag of a filter. Without a value it asks for the key only.
type condition struct {
	key, value string
}

func (f condition) matches(t state.Tag) bool {
	return t.Key == f.key && (f.value == "" || t.Value == f.value)
}

// matchTags tells whether all conditions are met.
func matchTags(tags []state.Tag, filter []condition) bool {
	return !slices.ContainsFunc(filter, func(f condition) bool { return !slices.ContainsFunc(tags, f.matches) })
}

// tagFilter reads the conditions of Tag.N and of the older parameter Tags, JSON text.
func tagFilter(c *api.Context) ([]condition, *api.Error) {
	filter, err := tagConditions(c)
	if err != nil {
		return nil, api.BadRequest("InvalidTag", "%s", err.Message)
	}
	if c.Has("Tags") {
		tags, ok := legacyTags(c.Get("Tags"))
		if !ok || len(tags) > legacyTagsPerFilter {
			return nil, api.BadRequest("InvalidTag", "The specified parameter Tags is not valid.")
		}
		for _, t := range tags {
			filter = append(filter, condition{key: t.Key, value: t.Value})
		}
	}
	return filter, nil
}

// tagConditions reads the conditions of Tag.N.
func tagConditions(c *api.Context) ([]condition, *api.Error) {
	var filter []condition
	for _, item := range c.Items("Tag") {
		if item["key"] == "" {
			return nil, api.BadRequest("MissingParam.TagKey", "The tag key is missing.")
		}
		filter = append(filter, condition{key: item["key"], value: item["value"]})
	}
	if len(filter) > tagsPerCall {
		return nil, api.BadRequest("SizeLimitExceeded.Tag", "The number of tags exceeds %d.", tagsPerCall)
	}
	return filter, nil
}

// legacyTags reads [{"TagKey":"k","TagValue":"v"}].
func legacyTags(text string) ([]state.Tag, bool) {
	items, ok := parseObjects(text)
	if !ok {
		return nil, false
	}
	var tags []state.Tag
	for _, item := range items {
		key := cmp.Or(item["tagkey"], item["key"])
		if key == "" {
			return nil, false
		}
		tags = append(tags, state.Tag{Key: key, Value: cmp.Or(item["tagvalue"], item["value"])})
	}
	return tags, true
}
