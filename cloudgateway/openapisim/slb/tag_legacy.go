package slb

import (
	"cmp"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Limits of the older tag actions, lower than those of TagResources.
const (
	legacyTagsPerCall     = 5
	legacyTagsPerResource = 10
	legacyTagsPerFilter   = 10
)

func legacyTagActions() []api.Action {
	return []api.Action{
		{
			Name: "AddTags", Mutating: true, Handle: addTags,
			Params: []api.Param{region(), required("LoadBalancerId"), mustWith(jsonText("Tags"), "MissingParameter.Tags")},
			Codes: []string{
				"Duplicate.TagKey", "InvalidLoadBalancerId.NotFound", "InvalidParameter.TagKey", "InvalidParameter.TagValue",
				"MissingParameter.Tags", "QuotaExceed.TagsPerResource", "QuotaExceeded.Tag",
			},
		},
		{
			Name: "RemoveTags", Mutating: true, Handle: removeTags,
			Params: []api.Param{region(), required("LoadBalancerId"), mustWith(jsonText("Tags"), "MissingParameter.Tags")},
			Codes:  []string{"InvalidLoadBalancerId.NotFound", "InvalidParameter.TagKey", "MissingParameter.Tags", "QuotaExceeded.Tag"},
		},
		{
			Name: "DescribeTags", Handle: describeTags,
			Params: append(paging(), region(), api.Optional("LoadBalancerId"), jsonText("Tags"), api.Flag("DistinctKey")),
			Codes:  []string{"InvalidParameter.TagKey"},
		},
	}
}

// legacyTagsParam reads the parameter Tags of a change.
func legacyTagsParam(c *api.Context) ([]state.Tag, *api.Error) {
	tags, ok := legacyTags(c.Get("Tags"))
	switch {
	case !ok:
		return nil, api.BadRequest("InvalidParameter.TagKey", "The specified parameter Tags is not valid.")
	case len(tags) == 0:
		return nil, api.BadRequest("MissingParameter.Tags", "The parameter Tags is missing.")
	case len(tags) > legacyTagsPerCall:
		return nil, api.BadRequest("QuotaExceeded.Tag", "The number of tags in one call exceeds %d.", legacyTagsPerCall)
	}
	return tags, nil
}

func addTags(c *api.Context) (any, *api.Error) {
	lb, err := loadBalancer(c)
	if err != nil {
		return nil, err
	}
	tags, err := legacyTagsParam(c)
	if err != nil {
		return nil, err
	}
	for i, tag := range tags {
		if hasKey(tags[:i], tag.Key) {
			return nil, api.BadRequest("Duplicate.TagKey", "The tag key %s is duplicated.", tag.Key)
		}
		if err := checkTag(tag); err != nil {
			err.Code = strings.Replace(err.Code, "InvalidParam.", "InvalidParameter.", 1)
			return nil, err
		}
	}
	next := merge(lb.Tags, tags)
	if len(next) > legacyTagsPerResource {
		return nil, api.BadRequest("QuotaExceed.TagsPerResource", "The number of tags of a resource exceeds %d.", legacyTagsPerResource)
	}
	setTags(c, lb, next)
	return nil, nil
}

// removeTags removes the tags that have both the key and the value, or the key if no value is given.
func removeTags(c *api.Context) (any, *api.Error) {
	lb, err := loadBalancer(c)
	if err != nil {
		return nil, err
	}
	tags, err := legacyTagsParam(c)
	if err != nil {
		return nil, err
	}
	setTags(c, lb, slices.DeleteFunc(slices.Clone(lb.Tags), func(t state.Tag) bool {
		return slices.ContainsFunc(tags, func(gone state.Tag) bool { return condition{gone.Key, gone.Value}.matches(t) })
	}))
	return nil, nil
}

type describedTags struct {
	PageNumber int `json:"PageNumber"`
	PageSize   int `json:"PageSize"`
	TotalCount int `json:"TotalCount"`
	TagSets    struct {
		TagSet []tagSet `json:"TagSet"`
	} `json:"TagSets"`
}

type tagSet struct {
	TagKey        string `json:"TagKey"`
	TagValue      string `json:"TagValue"`
	InstanceCount int    `json:"InstanceCount"`
}

func describeTags(c *api.Context) (any, *api.Error) {
	wanted, ok := legacyTags(c.Get("Tags"))
	if !ok {
		return nil, api.BadRequest("InvalidParameter.TagKey", "The specified parameter Tags is not valid.")
	}
	counts := map[state.Tag]int{}
	for _, lb := range c.State.LoadBalancers {
		if c.Has("LoadBalancerId") && lb.ID != c.Get("LoadBalancerId") {
			continue
		}
		for _, t := range lb.Tags {
			if len(wanted) > 0 && !slices.ContainsFunc(wanted, func(w state.Tag) bool { return condition{w.Key, w.Value}.matches(t) }) {
				continue
			}
			if c.True("DistinctKey") {
				t.Value = ""
			}
			counts[t]++
		}
	}
	sets := make([]tagSet, 0, len(counts))
	for t, n := range counts {
		sets = append(sets, tagSet{TagKey: t.Key, TagValue: t.Value, InstanceCount: n})
	}
	slices.SortFunc(sets, func(a, b tagSet) int {
		return cmp.Or(cmp.Compare(a.TagKey, b.TagKey), cmp.Compare(a.TagValue, b.TagValue))
	})
	var out describedTags
	out.TotalCount = len(sets)
	out.TagSets.TagSet, out.PageNumber, out.PageSize = page(c, sets, 50, 100)
	return out, nil
}
