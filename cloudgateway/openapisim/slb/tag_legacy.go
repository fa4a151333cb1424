package slb

import (
	"cmp"
	"maps"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
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
		api.Write("AddTags", api.On(loadBalancer, addTags),
			api.Words(`Duplicate.TagKey InvalidLoadBalancerId.NotFound InvalidParameter.TagKey InvalidParameter.TagValue
				MissingParameter.Tags QuotaExceed.TagsPerResource QuotaExceeded.Tag`), region(),
			api.Required("LoadBalancerId"), mustWith(jsonText("Tags"), "MissingParameter.Tags")),
		api.Write("RemoveTags", api.On(loadBalancer, removeTags),
			api.Words("InvalidLoadBalancerId.NotFound InvalidParameter.TagKey MissingParameter.Tags QuotaExceeded.Tag"),
			region(), api.Required("LoadBalancerId"), mustWith(jsonText("Tags"), "MissingParameter.Tags")),
		api.Read("DescribeTags", describeTags, api.Words("InvalidParameter.TagKey"),
			append(listing.Params(100), region(), api.Optional("LoadBalancerId"), jsonText("Tags"), api.Flag("DistinctKey"))...),
	}
}

// legacyTagsParam reads the parameter Tags of a change.
func legacyTagsParam(c *api.Context) (tags.Filter, *api.Error) {
	given, ok := legacyTags(c.Get("Tags"))
	switch {
	case !ok:
		return nil, api.BadRequest("InvalidParameter.TagKey", "The specified parameter Tags is not valid.")
	case len(given) == 0:
		return nil, api.BadRequest("MissingParameter.Tags", "The parameter Tags is missing.")
	case len(given) > legacyTagsPerCall:
		return nil, api.BadRequest("QuotaExceeded.Tag", "The number of tags in one call exceeds %d.", legacyTagsPerCall)
	}
	return given, nil
}

func addTags(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	added, err := legacyTagsParam(c)
	if err != nil {
		return nil, err
	}
	k := tagCodes()
	k.Key, k.Value = "InvalidParameter.TagKey", "InvalidParameter.TagValue"
	if err := k.CheckNew(added); err != nil {
		return nil, err
	}
	next := tags.Merge(lb.Tags, added)
	if len(next) > legacyTagsPerResource {
		return nil, api.BadRequest("QuotaExceed.TagsPerResource", "The number of tags of a resource exceeds %d.", legacyTagsPerResource)
	}
	keepIndexed(c, lb)
	lb.Tags = next
	return nil, nil
}

// removeTags removes the tags that have both the key and the value, or the key if no value is given.
func removeTags(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	gone, err := legacyTagsParam(c)
	if err != nil {
		return nil, err
	}
	keepIndexed(c, lb)
	lb.Tags = slices.DeleteFunc(slices.Clone(lb.Tags), func(t state.Tag) bool { return gone.MatchAny([]state.Tag{t}) })
	return nil, nil
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
			if !wanted.MatchAny([]state.Tag{t}) {
				continue
			}
			if c.True("DistinctKey") {
				t.Value = ""
			}
			counts[t]++
		}
	}
	sets := slices.SortedFunc(maps.Keys(counts), func(a, b state.Tag) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
	})
	page, numbers := listing.Sized(c, sets, 50)
	return append(numbers.Object(), "TagSets", wrapped("TagSet", page, func(t state.Tag) api.Object {
		return api.Object{"TagKey", t.Key, "TagValue", t.Value, "InstanceCount", counts[t]}
	})), nil
}
